#include "backend-x86/optimisations.h"

namespace wavejit::backend {
namespace {

constexpr OptimisationInfo kOptimisations[] = {
#define WAVEJIT_OPTIMISATION(enumerator, name, meaning) {Optimisation::enumerator, name, meaning},
#include "backend-x86/optimisations.def"
#undef WAVEJIT_OPTIMISATION
};
static_assert(std::size(kOptimisations) <= 64, "OptimisationSet has 64 bits");

}  // namespace

std::span<const OptimisationInfo> optimisations() {
  return kOptimisations;
}

}  // namespace wavejit::backend
