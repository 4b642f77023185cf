// CHAINS independent accumulators a warp, each of which a step raises by exactly 1 in every element.
//
// Only k = 0 of A and B holds a one. Chain i starts at start + i, in every round anew; after a round's last step every element
// must be start + i + steps: a thread stores how many are not.
// `nothing` is 0, which the compiler cannot know. It is added to A before every step and sets the chains' operands B apart: where an
// instruction is emulated by a product that c is added to afterwards, the compiler would else multiply A and B once for all steps
// and chains.

#if defined(DOUBLES)
#define OPERANDS 1
#else
#define OPERANDS CHAINS
#endif

extern "C" __global__ void ceiling(int* wrong, int start, int steps, int rounds, int nothing) {
  Register x[REGISTERS_A], y[OPERANDS][REGISTERS_B];
#pragma unroll
  for (int i = 0; i < REGISTERS_A; ++i) x[i] = 0;
  if (threadIdx.x % 4 == 0) x[0] = x[1] = ONE;
#pragma unroll
  for (int i = 0; i < OPERANDS; ++i) {
    y[i][0] = x[0];
#pragma unroll
    for (int j = 1; j < REGISTERS_B; ++j) y[i][j] = nothing * i;
  }
  int bad = 0;
  for (int round = 0; round < rounds; ++round) {
    Accumulator sums[CHAINS][SUMS];
#pragma unroll
    for (int i = 0; i < CHAINS * SUMS; ++i) (&sums[0][0])[i] = accumulator(start + i / SUMS);
    for (int step = 0; step < steps; step += 4) {
#pragma unroll
      for (int again = 0; again < 4; ++again) {
#if !defined(DOUBLES)
        x[0] += nothing;
#endif
#pragma unroll
        for (int i = 0; i < CHAINS; ++i) multiply(sums[i], x, y[i % OPERANDS]);
      }
    }
#pragma unroll
    for (int i = 0; i < CHAINS * SUMS; ++i) bad += (&sums[0][0])[i] != accumulator(start + i / SUMS + steps);
  }
  wrong[blockIdx.x * blockDim.x + threadIdx.x] = bad;
}
