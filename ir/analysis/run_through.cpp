#include "ir/analysis/run_through.h"

#include "internal/wave_state.h"
#include "ir/call_shape.h"

namespace wavejit::ir {

bool runs_through(const Function& function) {
  for (const auto& block : function.blocks)
    for (const Inst* inst : block->insts) switch (inst->op) {
        case Op::set_sgpr:
        case Op::set_sgpr64:
        case Op::set_mask:
        case Op::set_vgpr:
        case Op::set_scc:
        case Op::set_vccz:
        case Op::set_field:
        case Op::exit_jump:
        case Op::poll:
          return false;
        case Op::call:
          if (static_cast<Call>(inst->attr) == Call::record_exceptions) return false;
          break;
        case Op::exit:
          switch (static_cast<ExitReason>(inst->attr)) {
            case ExitReason::kEnd:
            case ExitReason::kUnsupported:
            case ExitReason::kIllegal:
              break;
            default:
              return false;
          }
          break;
        default:
          break;
      }
  return true;
}

}  // namespace wavejit::ir
