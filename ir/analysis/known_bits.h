// Finds the bits of integer values that can be set, from local facts: masks, shifts, lane numbers.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir {

// A superset of the bits that are one in some lane of some execution, and an upper bound of the unsigned value.
struct BitFacts {
  uint64_t possible = ~uint64_t{0};
  uint64_t maximum = ~uint64_t{0};

  bool operator==(const BitFacts&) const = default;
};

// Local queries with bounded work, for passes that change the function meanwhile.
[[nodiscard]] uint64_t possible_bits(const Inst* inst, unsigned depth = 6);
[[nodiscard]] uint64_t unsigned_maximum(const Inst* inst, unsigned depth = 6);  // at least as tight as possible_bits

// A lower bound of the number of trailing zeros; 64 if the value is zero.
[[nodiscard]] unsigned trailing_zeros(uint64_t possible);

// Facts about all values of a function, by iteration over loops. Valid until the function changes.
class KnownBits {
 public:
  // `assumed`: bits that values can have for another reason, such as what is written to the registers that they are read from.
  KnownBits(const Function& function, const Dominators& dominators,
            const std::unordered_map<const Inst*, uint64_t>& assumed = {});
  // Group 1: facts about any lane. Group 8, 16, 32 or 64: about the lanes whose number is a multiple of it.
  [[nodiscard]] BitFacts of(const Inst* inst, unsigned group = 1) const;

 private:
  static constexpr unsigned kGroups = 5;
  void evaluate(const Dominators& dominators, const std::unordered_map<const Inst*, uint64_t>& assumed);
  [[nodiscard]] bool update(const Inst& inst, bool widen);
  [[nodiscard]] BitFacts at(const Inst* inst, unsigned index) const;

  std::vector<std::array<BitFacts, kGroups>> facts_;  // by instruction id
  std::vector<char> evaluated_;
};

}  // namespace wavejit::ir
