// How does the copy engine bring slabs into shared memory and results out of it, and how does who needs them wait?

struct alignas(128) Map {
  u64 opaque[16];
};

// Brings what describes an operand close, so that the first fetch need not wait for it.
__device__ __forceinline__ void know(const Map& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

__device__ __forceinline__ void make_barrier(u32 at, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void wait(u32 at, u32 parity) {
  asm volatile(
      "{\n\t.reg .pred done;\n"
      "again:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t}" ::"r"(at), "r"(parity) : "memory");
}

__device__ __forceinline__ void expect(u32 at, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

__device__ __forceinline__ void fetch(u32 to, const Map& map, int k, int row, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               ::"r"(to), "l"(&map), "r"(k), "r"(row), "r"(barrier) : "memory");
}

// What lanes have laid into shared memory is seen by the copy engine once each has said so and all have met.
__device__ __forceinline__ void laid_out() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void lay(u32 at, float2 x) { asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x.x), "f"(x.y) : "memory"); }
__device__ __forceinline__ void lay(u32 at, int2 x) { asm volatile("st.shared.v2.s32 [%0], {%1, %2};" ::"r"(at), "r"(x.x), "r"(x.y) : "memory"); }
__device__ __forceinline__ void lay(u32 at, u32 x) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(x) : "memory"); }

// Writes a box to byte k of a row and of those below it.
__device__ __forceinline__ void store(const Map& map, u32 from, int k, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n\t"
      "cp.async.bulk.commit_group;" ::"l"(&map), "r"(k), "r"(row), "r"(from) : "memory");
}

// Until all but the last MAY_RUN boxes of this thread have been read.
template <int MAY_RUN>
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(MAY_RUN) : "memory");
}
