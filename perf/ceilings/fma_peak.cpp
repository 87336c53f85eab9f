// The most multiplications and additions that a core does: independent chains in all registers, no memory.
#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {

double fma_peak(uint64_t rounds) {
  constexpr int kChains = kWide ? 24 : 12;
  F chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = splat(static_cast<float>(i));
  const F factor = splat(0.999f), step = splat(0.001f);
  for (uint64_t k = 0; k < rounds; ++k) {
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) chains[i] = fma(chains[i], factor, step);
  }
  F total = chains[0];
  for (int i = 1; i < kChains; ++i) total = total + chains[i];
  // Uses the result, so that the work is not left out.
  return sum(total) == -1.0f ? 0.0 : 2.0 * kChains * kLanes * static_cast<double>(rounds);
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
