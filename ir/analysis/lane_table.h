// Finds vectors that are a uniform number plus a constant for each lane, such as the addresses of a butterfly or of a
// tree reduction. More general than LaneShape; computed on demand.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/analysis/lane_shape.h"
#include "ir/function.h"

namespace wavejit::ir {

// value[l] = u + step[l], mod 2^32 (for v64: mod 2^64), where u is the same for all lanes and has `zeros` zeros at its
// low end (all bits of the type: u is 0).
struct LaneTable {
  std::array<uint64_t, 64> step{};
  unsigned zeros = 0;

  // Returns true if each step fits the trailing zeros of u. Then the sum has no carry and does not wrap around.
  [[nodiscard]] bool is_union() const;
};

class LaneTables {
 public:
  // Both arguments must outlive this object.
  LaneTables(const Function& function, const LaneShapes& shapes);
  // Null if nothing is known. Valid for the life of this object.
  [[nodiscard]] const LaneTable* of(const Inst* inst);

 private:
  using Entry = std::unique_ptr<LaneTable>;
  [[nodiscard]] Entry derive(const Inst& inst);
  [[nodiscard]] Entry combine(const Inst& inst);

  const LaneShapes& shapes_;
  std::vector<Entry> tables_;  // by instruction id
  std::vector<char> visited_;
};

}  // namespace wavejit::ir
