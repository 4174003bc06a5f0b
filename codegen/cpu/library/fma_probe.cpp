//===- fma_probe.cpp - what the FMA units of a core can do ----------------===//
//
// Seven chains of 16 lanes are 14 AVX registers beside the factor's one: more
// would spill, and would measure the stack.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

BATON_TASK float baton_task_fma_probe(int64_t iterations) {
  constexpr int chains = 7;
  static_assert(BATON_FMA_PROBE_OPERATIONS == chains * lanes * 2);
  Vector value[chains];
  // Hidden from the optimiser, which would notice that nothing changes.
  float seed = static_cast<float>(iterations);
  __asm__ volatile("" : "+m"(seed));
  BATON_UNROLL
  for (int chain = 0; chain < chains; ++chain)
    value[chain] = splat(seed + static_cast<float>(chain));
  // Small enough to round away: values neither grow nor become subnormal.
  const Vector factor = splat(0x1p-40f);
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    BATON_UNROLL
    for (int chain = 0; chain < chains; ++chain)
      value[chain] = fma(value[chain], factor, value[chain]);
  }
  Vector sum = value[0];
  BATON_UNROLL
  for (int chain = 1; chain < chains; ++chain)
    sum += value[chain];
  return reduce_sum(sum);
}
