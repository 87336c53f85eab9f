// Finds vectors that are kept as scalars: addresses, and values from which only addresses are computed, with a constant
// stride from lane to lane. Such a value is represented by the element of the first lane of each chunk, and address
// arithmetic uses general registers.
//
// An extended 32-bit index has this form as long as it does not wrap around inside the chunk. If the analysis cannot
// prove that, the extension is a guard, tested at each access. If a guard fails, out-of-line code makes the vector of
// addresses from the scalars. Clamped indices, as at the edges of an image, are guards too: inside the bounds a minimum
// or maximum is the index itself.
#pragma once

#include <optional>
#include <vector>

#include "backend-x86/lower/plans/phi_classes.h"
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
  // lanes: lanes of a chunk. wanted: if false, no value is kept like this.
  LaneAddresses(const ir::Function& function, const ir::LaneShapes& shapes, unsigned lanes, bool wanted = true,
                bool clamped = true);

  // Returns true if the value lives in a general register: one per chunk, or one per wave if LaneAddress::wave.
  [[nodiscard]] bool is_scalar(const ir::Inst* inst) const { return scalar_[inst->id]; }
  // Facts about a value that is_scalar(), or about the address of an access that such values serve.
  [[nodiscard]] const LaneAddress& of(const ir::Inst* inst) const { return *facts_[inst->id]; }
  // Returns true if the address operand of this load or store is_scalar().
  [[nodiscard]] bool serves(const ir::Inst& access) const;

 private:
  [[nodiscard]] std::optional<LaneAddress> derive(const ir::Inst& inst) const;
  [[nodiscard]] std::optional<LaneAddress> derive_guarded32(const ir::Inst& inst) const;
  [[nodiscard]] bool keeps(const ir::Inst& inst) const;

  const ir::LaneShapes& shapes_;
  const unsigned lanes_;
  const bool clamped_;                             // clamped indices are included
  std::vector<std::optional<LaneAddress>> facts_;  // by instruction id
  std::vector<bool> scalar_;
};

// The divergent address operand of a vector load or store; null if there is none.
[[nodiscard]] const ir::Inst* lane_operand(const ir::Inst& access);

}  // namespace wavejit::backend
