// softmax(Q * K^T / sqrt(HEAD)) * V by wgmma in one kernel: 64 queries a warpgroup, TILE_N keys at a time.
//
// One warp fetches slabs of Q, K and V through the copy engine, WORKERS warpgroups compute. Scores leave the matrix unit in registers, become
// weights there and go back as A from registers. The scores of one tile are multiplied while the weights of the one before still meet
// their values. V lies with its columns side by side, so wgmma reads it transposed: 64 columns a slab, eight keys every 1024 bytes.

#define SLABS (HEAD / 64)
#define TILE_M (64 * WORKERS)
#define BYTES_Q (TILE_M * HEAD * 2)
#define BYTES_K (TILE_N * HEAD * 2)
#define THREADS (128 * (WORKERS + 1))

// Describes values to wgmma: slabs of 64 columns TILE_N rows apart, eight keys every 1024 bytes, 128-byte swizzle.
__device__ __forceinline__ u64 described_values(u32 at) {
  return u64((at & 0x3FFFF) >> 4) | u64(TILE_N * SLAB >> 4) << 16 | u64(64) << 32 | u64(1) << 62;
}

__device__ __forceinline__ void done_with(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention(const __grid_constant__ Map map_q, const __grid_constant__ Map map_k, const __grid_constant__ Map map_v, float* o, int keys) {
  const int first = blockIdx.x * TILE_M, head = first / keys * keys, tiles = keys / TILE_N;
  const u32 at_q = shared_start(), at_k = at_q + BYTES_Q, at_v = at_k + STAGES * BYTES_K, barriers = at_v + STAGES * BYTES_K;
  const u32 full_q = barriers, full_k = barriers + 8, full_v = full_k + 8 * STAGES, empty_k = full_v + 8 * STAGES,
            empty_v = empty_k + 8 * STAGES;
  if (threadIdx.x == 0) {
    make_barrier(full_q, 1);
    for (int stage = 0; stage < STAGES; ++stage) {
      make_barrier(full_k + 8 * stage, 1);
      make_barrier(full_v + 8 * stage, 1);
      make_barrier(empty_k + 8 * stage, 4 * WORKERS);
      make_barrier(empty_v + 8 * stage, 4 * WORKERS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      expect(full_q, BYTES_Q);
      for (int slab = 0; slab < SLABS; ++slab) fetch(at_q + slab * TILE_M * SLAB, map_q, slab * SLAB, first, full_q);
      u32 stage = 0, round = 0;
      for (int tile = 0; tile < tiles; ++tile) {
        const int row = head + tile * TILE_N;
        wait(empty_k + 8 * stage, round ^ 1);
        expect(full_k + 8 * stage, BYTES_K);
        for (int slab = 0; slab < SLABS; ++slab)
          fetch(at_k + stage * BYTES_K + slab * TILE_N * SLAB, map_k, slab * SLAB, row, full_k + 8 * stage);
        wait(empty_v + 8 * stage, round ^ 1);
        expect(full_v + 8 * stage, BYTES_K);
        for (int slab = 0; slab < SLABS; ++slab)
          fetch(at_v + stage * BYTES_K + slab * TILE_N * SLAB, map_v, slab * SLAB, row, full_v + 8 * stage);
        if (++stage == STAGES) stage = 0, round ^= 1;
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const int worker = threadIdx.x / 128 - 1, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    float scores[TILE_N / 2], sums[HEAD / 2];
    u32 weights[TILE_N / 16][4];
    Row rows[2];

    auto multiply_keys = [&](u32 stage) {
#pragma unroll
      for (int slab = 0; slab < SLABS; ++slab) {
        const u64 left = described(at_q + slab * TILE_M * SLAB + worker * 64 * SLAB);
        const u64 right = described(at_k + stage * BYTES_K + slab * TILE_N * SLAB);
#pragma unroll
        for (int step = 0; step < 4; ++step) multiply_scores(scores, left + step * NEXT_STEP, right + step * NEXT_STEP, slab > 0 || step > 0);
      }
      close_multiplications();
    };
    auto multiply_values = [&](u32 stage, int add) {
      const u64 right = described_values(at_v + stage * BYTES_K);
#pragma unroll
      for (int step = 0; step < TILE_N / 16; ++step)
        multiply_output(sums, weights[step], right + step * (16 * SLAB >> 4), add || step > 0);
      close_multiplications();
    };
    // Scores become weights in place; by what earlier sums shrink.
    auto weigh = [&](float (&shrink)[2]) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float most = -INFINITY;
#pragma unroll
        for (int j = 0; j < TILE_N / 8; ++j) most = fmaxf(most, fmaxf(scores[4 * j + 2 * half], scores[4 * j + 2 * half + 1]));
        shrink[half] = rows[half].grow(largest_of<4>(most));
#pragma unroll
        for (int j = 0; j < TILE_N / 8; ++j)
#pragma unroll
          for (int e = 4 * j + 2 * half; e < 4 * j + 2 * half + 2; ++e) scores[e] = rows[half].weight(scores[e]);
      }
    };
    auto hand_over = [&] {
#pragma unroll
      for (int step = 0; step < TILE_N / 16; ++step)
#pragma unroll
        for (int e = 0; e < 4; ++e) weights[step][e] = halves(scores[8 * step + 2 * e], scores[8 * step + 2 * e + 1]);
    };

    float shrink[2];
    u32 stage = 0, round = 0;
    wait(full_q, 0);
    wait(full_k, 0);
    open_multiplications();
    multiply_keys(0);
    wait_for_multiplications<0>();
    settled_scores(scores);
    if (lane == 0) done_with(empty_k);
    weigh(shrink);
    hand_over();
    for (int tile = 1; tile < tiles; ++tile) {
      const u32 before = stage, earlier = round;
      if (++stage == STAGES) stage = 0, round ^= 1;
      wait(full_k + 8 * stage, round);
      open_multiplications();
      multiply_keys(stage);
      wait(full_v + 8 * before, earlier);
      multiply_values(before, tile > 1);
      wait_for_multiplications<1>();
      settled_scores(scores);
      if (lane == 0) done_with(empty_k + 8 * stage);
      weigh(shrink);
      wait_for_multiplications<0>();
      settled_output(sums);
      if (lane == 0) done_with(empty_v + 8 * before);
#pragma unroll
      for (int e = 0; e < HEAD / 2; ++e) sums[e] *= shrink[e / 2 % 2];
      hand_over();
    }
    wait(full_v + 8 * stage, round);
    open_multiplications();
    multiply_values(stage, tiles > 1);
    wait_for_multiplications<0>();
    settled_output(sums);

#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float share = 1.0f / sum_of<4>(rows[half].sum);
      float* to = o + size_t(first + worker * 64 + warp * 16 + half * 8 + lane / 4) * HEAD + lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < HEAD / 8; ++j)
        *reinterpret_cast<float2*>(to + j * 8) = make_float2(sums[4 * j + 2 * half] * share, sums[4 * j + 2 * half + 1] * share);
    }
  }
}
