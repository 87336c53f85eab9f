// How a 32-bit vector value varies over the lanes: the same everywhere, or a multiple of the lane number plus a uniform
// value.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

enum class LaneShapeKind : uint8_t { uniform, affine, unknown };

// affine: value[l] = u + stride * l (mod 2^32, for v64: mod 2^64) for some wave-uniform u. uniform is the case stride =
// 0.
struct LaneShape {
  LaneShapeKind kind = LaneShapeKind::unknown;
  int64_t stride = 0;

  bool operator==(const LaneShape&) const = default;
};

// Facts about the lanes of every v32 and v64 value; lanes outside any mask count too. Scalars are uniform; masks and
// tuples are unknown unless all lanes agree. Valid until the function changes.
class LaneShapes {
 public:
  explicit LaneShapes(const Function& function);
  [[nodiscard]] LaneShape of(const Inst* inst) const;

 private:
  std::vector<LaneShape> shapes_;  // by instruction id
};

}  // namespace wavejit::ir
