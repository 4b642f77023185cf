// One wgmma a warpgroup on a batch: a launch is 128 lanes, a block one launch. B comes from shared memory, A from there too or from
// registers; C and D are registers.
//
// Row r of batch_a (registers only), batch_c and batch_d is the registers of lane r % 128 of launch r / 128. A and B for shared memory
// come as plain rows of 32 bytes (64 rows of A, TILE_N of B a launch) and are laid out here.

#if defined(A_IN_REGISTERS)
#define ROWS_A 0
#else
#define ROWS_A 64
#endif

extern "C" __global__ void __launch_bounds__(128)
unit(const u8* batch_a, const u8* batch_b, const Accumulator* batch_c, Accumulator* batch_d) {
  const u32 at = shared_start();
  u8* shared = dynamic_shared + (at - shared_address(dynamic_shared));
  const size_t launch = blockIdx.x, lane = launch * 128 + threadIdx.x;
  for (int i = threadIdx.x; i < (ROWS_A + TILE_N) * 2; i += 128) {
    const int row = i / 2, chunk = i % 2;
    const u8* from = row < ROWS_A ? batch_a + (launch * 64 + row) * 32 : batch_b + (launch * TILE_N + row - ROWS_A) * 32;
    *reinterpret_cast<uint4*>(shared + row * SLAB + ((chunk ^ (row & 7)) << 4)) = *reinterpret_cast<const uint4*>(from + chunk * 16);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  Accumulator sums[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; ++i) sums[i] = batch_c[lane * SUMS + i];
#if defined(A_IN_REGISTERS)
  u32 a[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = reinterpret_cast<const u32*>(batch_a)[lane * 4 + i];
#else
  const u64 a = described(at);
#endif
  open_multiplications();
  multiply(sums, a, described(at + ROWS_A * SLAB), 1);
  close_multiplications();
  wait_for_multiplications<0>();
  settled(sums);
#pragma unroll
  for (int i = 0; i < SUMS; ++i) batch_d[lane * SUMS + i] = sums[i];
}
