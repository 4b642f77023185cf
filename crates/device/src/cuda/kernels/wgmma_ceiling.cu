// WORKERS warpgroups a block, each with CHAINS accumulators of 64 x TILE_N that every instruction raises by exactly 1.
//
// A and B stay in shared memory and hold a one in the first k of each instruction, zeros elsewhere. Chain i starts at start + i, in
// every round anew; after a round's last instruction every element must be start + i + steps: a thread stores how many are not.

extern "C" __global__ void __launch_bounds__(128 * WORKERS, 1) ceiling(int* wrong, int start, int steps, int rounds) {
  const u32 at = shared_start();
  u8* shared = dynamic_shared + (at - shared_address(dynamic_shared));
  for (int i = threadIdx.x; i < (64 + TILE_N) * 8; i += 128 * WORKERS) {
    const int row = i / 8, chunk = i % 8;
    uint4 words = make_uint4(0, 0, 0, 0);
    if (chunk % 2 == 0) words.x = ONE;
    *reinterpret_cast<uint4*>(shared + row * SLAB + ((chunk ^ (row & 7)) << 4)) = words;
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const u64 slab_a = described(at), slab_b = described(at + 64 * SLAB);
  int bad = 0;
  for (int round = 0; round < rounds; ++round) {
    Accumulator sums[CHAINS][SUMS];
#pragma unroll
    for (int i = 0; i < CHAINS * SUMS; ++i) (&sums[0][0])[i] = accumulator(start + i / SUMS);
    open_multiplications();
    for (int step = 0; step < steps; step += 4) {
      open_multiplications();
#pragma unroll
      for (int again = 0; again < 4; ++again)
#pragma unroll
        for (int i = 0; i < CHAINS; ++i) multiply(sums[i], slab_a + again * NEXT_STEP, slab_b + again * NEXT_STEP, 1);
      close_multiplications();
      wait_for_multiplications<1>();
    }
    wait_for_multiplications<0>();
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) settled(sums[i]);
#pragma unroll
    for (int i = 0; i < CHAINS * SUMS; ++i) bad += (&sums[0][0])[i] != accumulator(start + i / SUMS + steps);
  }
  wrong[blockIdx.x * blockDim.x + threadIdx.x] = bad;
}
