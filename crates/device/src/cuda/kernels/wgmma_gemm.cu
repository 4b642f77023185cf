// Tiles of C by wgmma: one warp fetches slabs through the copy engine, WORKERS warpgroups multiply them.
//
// With TURNS the workers take whole tiles in turn: while one writes its results, the other multiplies. Without, each takes its part of the
// rows of every tile.
//
// Blocks stay and take tile after tile, so that slabs of the next tile are fetched while results of the last are written. A
// block holds STAGES slabs of A (TILE_M rows) and B (TILE_N rows). A stage is full when its bytes have arrived and empty when
// every warp of the workers has said so. With CLUSTER = 2 two blocks work on tiles below each other: each fetches half of the
// slab of B for both, so a stage is empty only when the workers of both have said so.
// A and B are rows x pitch bytes, padded with zeros to whole slabs; rows beyond their end read as zeros.
//
// A warp's results are 16 rows. It lays 128 bytes of each into shared memory, in one of two places in turn, and the copy engine writes them to C,
// inside its rows and its pitch: stored by lanes, eight rows an instruction, they would keep a multiprocessor longer than GELU does.

#define WORKER_ROWS (TURNS ? TILE_M : TILE_M / WORKERS)
#define BLOCKS_M (WORKER_ROWS / 64)
#define BYTES_A (TILE_M * SLAB)
#define BYTES_B (TILE_N * SLAB)
#define STAGE_BYTES (BYTES_A + BYTES_B)
#define THREADS (128 * (WORKERS + 1))
#define COLUMNS (SLAB / int(sizeof(Out)))
#define LAID (16 * SLAB)

// Workers that take turns wait for each other's last slab: a stage's barrier tells rounds apart by parity alone, so nobody may wait for
// a round that is not the next.
__device__ __forceinline__ void await_turn(int worker) {
#if TURNS
  asm volatile("barrier.cta.sync %0, 256;" ::"r"(1 + worker) : "memory");
#endif
}

__device__ __forceinline__ void give_turn(int worker) {
#if TURNS
  asm volatile("barrier.cta.arrive %0, 256;" ::"r"(1 + worker) : "memory");
#endif
}

__device__ __forceinline__ u32 rank_in_cluster() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void synchronise() {
#if CLUSTER > 1
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}

// Tells the block of this rank in the cluster that a warp is done with a stage.
__device__ __forceinline__ void release(u32 at, u32 rank) {
#if CLUSTER > 1
  asm volatile(
      "{\n\t.reg .b32 there;\n\t"
      "mapa.shared::cluster.u32 there, %0, %1;\n\t"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(at), "r"(rank) : "memory");
#else
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
#endif
}

#if CLUSTER > 1
__device__ __forceinline__ void fetch_for_all(u32 to, const Map& map, int k, int row, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
      "[%4], %5;" ::"r"(to), "l"(&map), "r"(k), "r"(row), "r"(barrier), "h"((unsigned short)((1 << CLUSTER) - 1)) : "memory");
}
#endif

// The tiles of one cluster, in bands of GROUP rows of tiles, so that operands are found in the L2 cache.
struct Tiles {
  int next, step, rows, columns;
  __device__ __forceinline__ Tiles(int tiles_m, int tiles_n)
      : next(blockIdx.x / CLUSTER), step(gridDim.x / CLUSTER), rows((tiles_m + CLUSTER - 1) / CLUSTER), columns(tiles_n) {}
  __device__ __forceinline__ bool take(u32 rank, int& row, int& column) {
    if (next >= rows * columns) return false;
    const int band = GROUP * columns, first = next / band * GROUP, high = min(rows - first, GROUP), inside = next % band;
    row = ((first + inside % high) * CLUSTER + rank) * TILE_M;
    column = inside / high * TILE_N;
    next += step;
    return true;
  }
};

#if CLUSTER > 1
#define CLUSTERED __cluster_dims__(CLUSTER, 1, 1)
#else
#define CLUSTERED
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1) CLUSTERED
gemm(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, const __grid_constant__ Map map_c, int slabs, int tiles_m,
     int tiles_n BIAS) {
  const u32 start = shared_start(), laid = start + STAGES * STAGE_BYTES, full = laid + WORKERS * 8 * LAID, empty = full + 8 * STAGES;
  const u32 rank = CLUSTER > 1 ? rank_in_cluster() : 0;
  if (threadIdx.x == 0) {
    know(map_a);
    know(map_b);
    know(map_c);
    for (int stage = 0; stage < STAGES; ++stage) {
      make_barrier(full + 8 * stage, 1);
      make_barrier(empty + 8 * stage, (TURNS ? 1 : WORKERS) * 4 * CLUSTER);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  synchronise();
  Tiles tiles(tiles_m, tiles_n);
  int row, column;
  u32 stage = 0, round = 0;

  if (threadIdx.x < 128) {
#if WORKERS > 1
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#endif
    if (threadIdx.x == 0) {
      while (tiles.take(rank, row, column)) {
        for (int slab = 0; slab < slabs; ++slab) {
          const u32 at = start + stage * STAGE_BYTES, arrived = full + 8 * stage;
          wait(empty + 8 * stage, round ^ 1);
          expect(arrived, STAGE_BYTES);
          fetch(at, map_a, slab * SLAB, row, arrived);
#if CLUSTER > 1
          fetch_for_all(at + BYTES_A + rank * (BYTES_B / CLUSTER), map_b, slab * SLAB, column + rank * (TILE_N / CLUSTER), arrived);
#else
          fetch(at + BYTES_A, map_b, slab * SLAB, column, arrived);
#endif
          if (++stage == STAGES) stage = 0, round ^= 1;
        }
      }
    }
  } else {
#if WORKERS > 1
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#endif
    const int worker = threadIdx.x / 128 - 1, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    const u32 own = laid + (threadIdx.x / 32 - 4) * 2 * LAID;
    u32 place = 0;
    if (worker == 1) give_turn(0);
    for (int turn = 0; tiles.take(rank, row, column); ++turn) {
      if (TURNS && turn % WORKERS != worker) {
        // The stages of this tile are another worker's.
        stage += slabs;
        round ^= stage / STAGES & 1;
        stage %= STAGES;
        continue;
      }
      Accumulator sums[BLOCKS_M][SUMS];
#if defined(EPILOGUE)
      // Taken before the multiplications, which hide that they are on their way.
      float2 biases[TILE_N / 8];
#pragma unroll
      for (int j = 0; j < TILE_N / 8; ++j) biases[j] = bias_of(bias, column + 8 * j + lane % 4 * 2);
#endif
      u32 before = 0;
      await_turn(worker);
      for (int slab = 0; slab < slabs; ++slab) {
        const u32 at = start + stage * STAGE_BYTES;
        const u64 slab_a = described(at + (TURNS ? 0 : worker * WORKER_ROWS * SLAB)), slab_b = described(at + BYTES_A);
        wait(full + 8 * stage, round);
        open_multiplications();
#pragma unroll
        for (int step = 0; step < 4; ++step)
#pragma unroll
          for (int block = 0; block < BLOCKS_M; ++block)
            multiply(sums[block], slab_a + block * (64 * SLAB >> 4) + step * NEXT_STEP, slab_b + step * NEXT_STEP, slab > 0 || step > 0);
        close_multiplications();
        wait_for_multiplications<1>();
        if (slab > 0 && lane < CLUSTER) release(empty + 8 * before, lane);
        before = stage;
        if (++stage == STAGES) stage = 0, round ^= 1;
      }
      give_turn(worker ^ 1);
      wait_for_multiplications<0>();
#pragma unroll
      for (int block = 0; block < BLOCKS_M; ++block) settled(sums[block]);
      if (lane < CLUSTER) release(empty + 8 * before, lane);
#pragma unroll
      for (int block = 0; block < BLOCKS_M; ++block)
#pragma unroll
        for (int piece = 0; piece < TILE_N / COLUMNS; ++piece) {
          const u32 at = own + place * LAID;
          place ^= 1;
          if (lane == 0) wait_for_stores<1>();
          __syncwarp();
#pragma unroll
          for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int inside = 0; inside < COLUMNS / 8; ++inside) {
              const int j = piece * (COLUMNS / 8) + inside, r = lane / 4 + 8 * half;
              const u32 byte = inside * 8 * sizeof(Out) + lane % 4 * sizeof(Pair);
              lay(at + r * SLAB + ((byte / 16 ^ r % 8) * 16 | byte % 16), FINISHED(pair(sums[block], j, half), biases[j]));
            }
          laid_out();
          __syncwarp();
          if (lane == 0)
            store(map_c, at, (column + piece * COLUMNS) * int(sizeof(Out)), row + (TURNS ? 0 : worker * WORKER_ROWS) + block * 64 + warp * 16);
        }
    }
    if (lane == 0) wait_for_stores<0>();
  }
  // A block that left while its neighbour still writes into its shared memory would take that away.
  synchronise();
}
