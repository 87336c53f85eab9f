// Division sequences folded into one division for ordinary numbers.
#pragma once

#include <cstdint>
#include <map>

#include "ir/function.h"

namespace wavejit::backend {

struct Fusions;
struct Lowering;

struct Divisions {
  // By the id of the last step, v_div_fixup. Value: one of the multiply-adds, all of which have the same mode.
  std::map<uint32_t, const ir::Inst*> steps;
};

[[nodiscard]] Divisions plan_divisions(const Lowering& ctx, Fusions& fusions);

[[nodiscard]] inline bool keeps_denormals(const ir::Inst& inst) {
  constexpr uint32_t kKept = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  return (inst.attr & kKept) == kKept;
}

}  // namespace wavejit::backend
