// Optimisations of the backend. Each can be switched off by name; results are the same bit by bit.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace wavejit::backend {

enum class Optimisation : uint8_t {
#define WAVEJIT_OPTIMISATION(enumerator, name, meaning) enumerator,
#include "backend-x86/optimisations.def"
#undef WAVEJIT_OPTIMISATION
};

struct OptimisationInfo {
  Optimisation optimisation;
  std::string_view name;
  std::string_view meaning;
};
[[nodiscard]] std::span<const OptimisationInfo> optimisations();

// A set of optimisations. Initially all are in it.
class OptimisationSet {
 public:
  [[nodiscard]] bool has(Optimisation o) const { return (removed_ >> static_cast<unsigned>(o) & 1) == 0; }
  void remove(Optimisation o) { removed_ |= uint64_t{1} << static_cast<unsigned>(o); }
  bool operator==(const OptimisationSet&) const = default;

 private:
  uint64_t removed_ = 0;
};

}  // namespace wavejit::backend
