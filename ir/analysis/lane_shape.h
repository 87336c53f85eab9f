// Stride analysis: finds vectors that grow by a constant from lane to lane, over the whole wave or within groups of
// consecutive lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/analysis/known_bits.h"
#include "ir/function.h"

namespace wavejit::ir {

// value[l] = w[l / group] + stride * (l % group), mod 2^32 (for v64: mod 2^64), with any number w[i] for each group.
// A group of 64 lanes is the wave. A shape with a group also has every smaller group.
struct LaneShape {
  uint8_t group = 1;  // 8, 16, 32 or 64; 1: nothing is known
  int64_t stride = 0;

  [[nodiscard]] bool known() const { return group > 1; }
  [[nodiscard]] bool is_uniform() const { return group == 64 && stride == 0; }  // the same in all lanes
  bool operator==(const LaneShape&) const = default;
};

// The shape of every v32 and v64 value. All lanes count, also inactive ones. Scalars are uniform. Masks and tuples have
// a stride of 0 or an unknown shape. Valid until the function changes.
class LaneShapes {
 public:
  explicit LaneShapes(const Function& function);
  [[nodiscard]] LaneShape of(const Inst* inst) const;
  // The shape of a v32 value zero- or sign-extended to 64 bits.
  [[nodiscard]] LaneShape extended(const Inst* inst, bool is_signed) const;
  [[nodiscard]] const KnownBits& bits() const { return bits_; }

 private:
  LaneShapes(const Function& function, const Dominators& dominators);
  [[nodiscard]] LaneShape transfer(const Inst& inst) const;
  [[nodiscard]] LaneShape phi(const Inst& inst) const;
  [[nodiscard]] LaneShape masked(const Inst& value, uint64_t mask) const;
  [[nodiscard]] LaneShape shifted_right(const Inst& value, unsigned amount, uint64_t mask) const;
  [[nodiscard]] bool apart(const Inst* inst, unsigned group, int64_t stride) const;

  const KnownBits bits_;
  std::vector<LaneShape> shapes_;  // by instruction id
  std::vector<char> evaluated_;
};

}  // namespace wavejit::ir
