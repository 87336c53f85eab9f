// Trees of bitwise operations on up to three values as one vpternlogd each (AVX-512).
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "ir/function.h"

namespace wavejit::backend {

struct Fusions;
struct Lowering;

struct Ternary {
  std::array<const ir::Inst*, 3> operands;
  uint8_t table = 0;  // bit (a << 2 | b << 1 | c): the result where the operands have the bits a, b and c
};

struct TernaryLogic {
  std::map<uint32_t, Ternary> trees;  // by the id of the root
};

[[nodiscard]] TernaryLogic plan_ternary_logic(const Lowering& ctx, Fusions& fusions);

}  // namespace wavejit::backend
