// Addresses of accesses as sums, to see how far apart two of them are.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace wavejit::backend {

// The values whose sum is the address, each shifted left, and a number of bytes. Taking it that nothing wraps around: for
// decisions that affect speed only.
struct AddressTerms {
  std::vector<std::pair<const ir::Inst*, unsigned>> values;  // in a fixed order
  int64_t bytes = 0;

  bool operator==(const AddressTerms&) const = default;
};

// Of a load or store with a lane_operand().
[[nodiscard]] AddressTerms address_terms(const ir::Inst& access);

}  // namespace wavejit::backend
