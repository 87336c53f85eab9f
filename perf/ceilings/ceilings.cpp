#include "ceilings/ceilings.h"

namespace wavejit::perf {

CeilingFunction ceiling_function(std::string_view case_name, CeilingTier tier) {
#define WAVEJIT_FIND_CEILING(name) \
  if (case_name == #name) return tier == CeilingTier::avx512 ? ceilings_avx512::name : ceilings_avx2::name;
  WAVEJIT_CEILINGS(WAVEJIT_FIND_CEILING)
#undef WAVEJIT_FIND_CEILING
  return nullptr;
}

double fma_peak(CeilingTier tier, uint64_t rounds) {
  return tier == CeilingTier::avx512 ? ceilings_avx512::fma_peak(rounds) : ceilings_avx2::fma_peak(rounds);
}

}  // namespace wavejit::perf
