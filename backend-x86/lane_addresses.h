// Which vector values need not be vectors: addresses and what only addresses are computed from, where they are the same
// constant distance apart from lane to lane. For such a value one number a chunk, that of its first lane, says it all,
// and the address arithmetic is done in general registers.
//
// A value that a 32-bit index was extended to is such a one as long as the index does not wrap around inside the chunk.
// Where that cannot be shown, the extension is a guard, tested at each access; when it fails the vector of addresses is
// made from the numbers, out of line. The same goes for an index that is clamped, as at the edges of an image: inside
// the bounds a minimum or maximum is the index itself.
#pragma once

#include <optional>
#include <vector>

#include "backend-x86/phi_classes.h"
#include "ir/analysis/lane_shape.h"
#include "ir/function.h"

namespace wavejit::backend {

// value[l] = first + stride * l for the lanes l of a chunk, if the guards hold.
struct LaneAddress {
  int64_t stride = 0;
  bool wave = false;                    // for all lanes of the wave, not only inside each chunk
  std::vector<const ir::Inst*> guards;  // extensions (zext64, sext64) and clamps (smin, smax, umin, umax)
};

[[nodiscard]] inline bool is_clamp(ir::Op op) {
  return op == ir::Op::smin || op == ir::Op::smax || op == ir::Op::umin || op == ir::Op::umax;
}

class LaneAddresses {
 public:
  // lanes: those of a chunk. wanted: otherwise there are none.
  LaneAddresses(const ir::Function& function, const ir::LaneShapes& shapes, unsigned lanes, bool wanted = true,
                bool clamped = true);

  // The value lives in a general register: one a chunk, or one for the wave when its LaneAddress says so.
  [[nodiscard]] bool is_scalar(const ir::Inst* inst) const { return scalar_[inst->id]; }
  // What is known of a value that is_scalar(), or of the address of an access that is served by such values.
  [[nodiscard]] const LaneAddress& of(const ir::Inst* inst) const { return *facts_[inst->id]; }
  // Whether the address operand of this load or store is_scalar().
  [[nodiscard]] bool serves(const ir::Inst& access) const;

 private:
  [[nodiscard]] std::optional<LaneAddress> derive(const ir::Inst& inst) const;
  [[nodiscard]] std::optional<LaneAddress> derive_guarded32(const ir::Inst& inst) const;
  [[nodiscard]] bool keeps(const ir::Inst& inst) const;

  const ir::LaneShapes& shapes_;
  const unsigned lanes_;
  const bool clamped_;                             // whether indices with clamps are wanted, too
  std::vector<std::optional<LaneAddress>> facts_;  // by instruction id
  std::vector<bool> scalar_;
};

// The operand of a vector load or store that differs from lane to lane; null when there is none.
[[nodiscard]] const ir::Inst* lane_operand(const ir::Inst& access);

}  // namespace wavejit::backend
