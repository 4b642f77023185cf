// One wgmma a warpgroup on a batch: a launch is 128 lanes, a block one launch. B comes from shared memory, A from there too or from
// registers; C and D are registers.
//
// Row r of batch_a (registers only), batch_c and batch_d is the registers of lane r % 128 of launch r / 128. A and B for shared memory
// come in one of two ways. With `window` 0 they are plain rows of 32 bytes (64 rows of A, TILE_N of B a launch) and are laid out here.
// Else they are what shared memory is to hold, byte by byte: 2048 bytes of A and `window` bytes of B a launch. Nothing is moved, and the
// descriptor says eight rows of 32 bytes, 256 bytes to the next eight, and the 32-byte swizzle.

#if defined(A_IN_REGISTERS)
#define ROWS_A 0
#else
#define ROWS_A 64
#endif

// Describes rows of 32 bytes to wgmma: address, 256 bytes from eight rows to the next, 32-byte swizzle.
__device__ __forceinline__ u64 described_window(u32 at) {
  return u64((at & 0x3FFFF) >> 4) | u64(1) << 16 | u64(16) << 32 | u64(3) << 62;
}

extern "C" __global__ void __launch_bounds__(128)
unit(const u8* batch_a, const u8* batch_b, const Accumulator* batch_c, Accumulator* batch_d, int window) {
  const u32 at = shared_start();
  u8* shared = dynamic_shared + (at - shared_address(dynamic_shared));
  const size_t launch = blockIdx.x, lane = launch * 128 + threadIdx.x;
  if (window != 0) {
    const int words_a = ROWS_A * 8, words_b = window / 4;
    for (int i = threadIdx.x; i < words_a + words_b; i += 128)
      reinterpret_cast<u32*>(shared)[i] = i < words_a ? reinterpret_cast<const u32*>(batch_a)[launch * words_a + i]
                                                      : reinterpret_cast<const u32*>(batch_b)[launch * words_b + i - words_a];
  } else for (int i = threadIdx.x; i < (ROWS_A + TILE_N) * 2; i += 128) {
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
  const u64 a = window != 0 ? described_window(at) : described(at);
#endif
  const u64 b = window != 0 ? described_window(at + ROWS_A * 32) : described(at + ROWS_A * SLAB);
  open_multiplications();
  multiply(sums, a, b, 1);
  close_multiplications();
  wait_for_multiplications<0>();
  settled(sums);
#pragma unroll
  for (int i = 0; i < SUMS; ++i) batch_d[lane * SUMS + i] = sums[i];
}
