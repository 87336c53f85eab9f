// Which bits of an integer value can be set, from local facts: masks, shifts, lane numbers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir {

// Bits that are one in some lane of some execution (a superset), and an upper bound of the value (unsigned).
struct BitFacts {
  uint64_t possible = ~uint64_t{0};
  uint64_t maximum = ~uint64_t{0};

  bool operator==(const BitFacts&) const = default;
};

// Bounded work per query, for passes that change the function as they go.
[[nodiscard]] uint64_t possible_bits(const Inst* inst, unsigned depth = 6);
[[nodiscard]] uint64_t unsigned_maximum(const Inst* inst, unsigned depth = 6);  // at least as tight as possible_bits

// The number of zeros at the low end that the value surely has; 64 if it is zero.
[[nodiscard]] unsigned trailing_zeros(uint64_t possible);

// Facts about all values of a function, loops included. Valid until the function changes.
class KnownBits {
 public:
  KnownBits(const Function& function, const Dominators& dominators);
  // group 1: in any lane. 8, 16, 32, 64: in the lanes whose number is a multiple of that.
  [[nodiscard]] BitFacts of(const Inst* inst, unsigned group = 1) const;

 private:
  static constexpr unsigned kGroups = 5;
  [[nodiscard]] bool update(const Inst& inst, bool widen);
  [[nodiscard]] BitFacts at(const Inst* inst, unsigned index) const;

  std::vector<std::array<BitFacts, kGroups>> facts_;  // by instruction id
  std::vector<char> evaluated_;
};

}  // namespace wavejit::ir
