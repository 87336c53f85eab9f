// Coalesces phis with their operands: values that share the registers of a phi need no copy at the end of a
// predecessor.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/function.h"

namespace wavejit::backend {

// Values live into and out of each block. A phi's operands are live at the end of the predecessor, not into the phi's
// block. Kept as lists: most values are live in one block only, most others in few.
class Liveness {
 public:
  explicit Liveness(const ir::Function& function);
  [[nodiscard]] bool live_in(const ir::Block& block, const ir::Inst& value) const { return has(live_in(block), value); }
  [[nodiscard]] bool live_out(const ir::Block& block, const ir::Inst& value) const {
    return has(live_out(block), value);
  }
  // Sorted by id.
  using Values = std::vector<const ir::Inst*>;
  [[nodiscard]] const Values& live_in(const ir::Block& block) const { return in_[block.id]; }
  [[nodiscard]] const Values& live_out(const ir::Block& block) const { return out_[block.id]; }
  // Returns true if `value` is live after `point` (an instruction; for a phi, after all phis of the block).
  [[nodiscard]] bool live_after(const ir::Inst& value, const ir::Inst& point) const;
  [[nodiscard]] uint32_t position(const ir::Inst& inst) const { return position_[inst.id]; }

 private:
  [[nodiscard]] static bool has(const Values& values, const ir::Inst& value);
  std::vector<Values> in_, out_;    // by block id
  std::vector<uint32_t> position_;  // index in the block, by value id
};

class PhiClasses {
 public:
  // may_share: returns true if an operand may be computed directly in the registers of its phi.
  PhiClasses(const ir::Function& function, const Liveness& liveness,
             const std::function<bool(const ir::Inst& phi, const ir::Inst& operand)>& may_share = {});

  // The phi whose registers the value uses; the value itself if it has its own.
  [[nodiscard]] const ir::Inst* representative(const ir::Inst* inst) const { return representative_[inst->id]; }
  // Returns true for phis and for members of their classes: such registers are written more than once.
  [[nodiscard]] bool is_shared(const ir::Inst* inst) const { return shared_[inst->id]; }
  // Returns true if a member of `value`'s class is written between the two instructions (exclusive), which are in the
  // block of the value's users.
  [[nodiscard]] bool rewritten_between(const ir::Inst* value, const ir::Inst& from, const ir::Inst& to) const;
  [[nodiscard]] const Liveness& liveness() const { return liveness_; }

 private:
  const Liveness& liveness_;
  std::vector<const ir::Inst*> representative_;
  std::vector<bool> shared_;
};

}  // namespace wavejit::backend
