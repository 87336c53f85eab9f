// Scalars as parts of addresses, and in vector registers.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

struct ScalarValues {
  enum class Extension : uint8_t { unknown, assumed, zero, none };

  std::unordered_map<const Inst*, Gp> indices;  // copies made in the block
  std::vector<Extension> extensions;            // of values in general registers, by id
  std::unordered_map<const Inst*, Vec>
      loaded_numbers;  // that loads for one lane have made for splats which share registers
};

// A 64-bit register with the number, as part of an address. For code that is always executed with its block.
[[nodiscard]] Gp as_index(Lowering& ctx, const Inst* value);

}  // namespace wavejit::backend
