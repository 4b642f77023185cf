// What does a warpgroup need to multiply operands in shared memory?
//
// A slab is 128 bytes of k: rows of 128 bytes, chunk j of row r at j ^ (r & 7), as the copy engine writes it and wgmma reads it
// ("128-byte swizzle"); eight rows are 1024 bytes and start at a multiple of that. One instruction takes 32 bytes of k.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SLAB 128

extern __shared__ u8 dynamic_shared[];

__device__ __forceinline__ u32 shared_address(const void* at) { return u32(__cvta_generic_to_shared(at)); }

// The first multiple of 1024 in dynamic shared memory; the host asks for 1024 bytes more than it needs.
__device__ __forceinline__ u32 shared_start() { return (shared_address(dynamic_shared) + 1023) & ~1023u; }

// Describes a slab to wgmma: address, 1024 bytes from eight rows to the next, 128-byte swizzle.
__device__ __forceinline__ u64 described(u32 at) {
  return u64((at & 0x3FFFF) >> 4) | u64(1) << 16 | u64(64) << 32 | u64(1) << 62;
}

// Bytes of k of one instruction, as descriptors count addresses.
#define NEXT_STEP (32 >> 4)

__device__ __forceinline__ void open_multiplications() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void close_multiplications() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int MAY_RUN>
__device__ __forceinline__ void wait_for_multiplications() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(MAY_RUN) : "memory");
}
