// Sources weighted to corner values.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "frontend/isa/instruction.h"
#include "tests/model/opcodes.h"

namespace wavejit::model {

// Random bits of a type: half of them corner values, small numbers, numbers near one or near the range of integers.
// 16-bit types have other bits above.
[[nodiscard]] Bits random_value(isa::Type type, std::mt19937_64& rng);
// Sources of one lane whose result is hard to round: significands with few or many bits set, sums that cancel, products
// and quotients at the ends of the range and next to halfway cases. `types` are those of the sources.
void hard_values(std::span<const isa::Type> types, std::mt19937_64& rng, Bits* values);
// Corner values of a type, in an order that is good for tables.
[[nodiscard]] std::vector<Bits> corners(isa::Type type);

// Rows of 64 values each.
class Pool {
 public:
  static constexpr unsigned kRows = 2048;
  explicit Pool(uint64_t seed) : seed_(seed) {}
  // The rows of one operand: one for each register.
  [[nodiscard]] std::array<const uint32_t*, 4> rows(isa::Type type, unsigned index);

 private:
  using Row = std::array<uint32_t, 64>;
  uint64_t seed_;
  std::array<std::vector<std::array<Row, 4>>, 32> rows_;
};

}  // namespace wavejit::model
