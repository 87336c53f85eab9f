#include "backend-x86/lower/environment.h"

#include <algorithm>

#include "backend-x86/helpers/helpers.h"
#include "backend-x86/lower/plans/divisions.h"

namespace wavejit::backend {

using ir::Space;
namespace fpenv = ir::fpenv;

uint32_t mxcsr(uint32_t attr) {
  return rounding::mxcsr(attr & fpenv::kRoundMask, (attr & fpenv::kKeepInputDenorm) != 0,
                         (attr & fpenv::kKeepOutputDenorm) != 0);
}

std::optional<EnvNeed> env_needed(const Inst& inst) {
  constexpr uint32_t kKeep = fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm;
  const auto exactly = [](uint32_t attr) { return EnvNeed{mxcsr(attr), kEnvAll}; };
  const auto rounding = [](uint32_t attr) { return EnvNeed{mxcsr((attr & fpenv::kRoundMask) | kKeep), kEnvRounding}; };
  switch (ir::op_info(inst.op).environment) {
    case ir::FpUse::none:
      return std::nullopt;
    case ir::FpUse::mode:
      return exactly(inst.attr);
    case ir::FpUse::rounding:
      return rounding(inst.attr);
    case ir::FpUse::nearest:
      return rounding(0);
    case ir::FpUse::nearest_mode:
      return exactly(inst.attr & kKeep);
    case ir::FpUse::input_denorms:
      return EnvNeed{mxcsr(inst.attr), kEnvInputDenorm};
    case ir::FpUse::any_helper:
      return EnvNeed{kHelperEnv, 0};
    case ir::FpUse::helper:
      return EnvNeed{kHelperEnv, kEnvAll};
    case ir::FpUse::atomic:
      break;
  }
  // Atomics on LDS follow MODE; on other memory they keep denormals whatever MODE says.
  const ir::AtomicOp op = inst.mem.atomic_op;
  const bool is_float =
      (op >= ir::AtomicOp::fadd_f32 && op <= ir::AtomicOp::pk_fadd_bf16) || op >= ir::AtomicOp::fcmpswap_f32;
  if (!is_float) return std::nullopt;
  return exactly(inst.mem.space == Space::lds ? inst.attr : kKeep);
}

std::optional<EnvNeed> env_with_fused(const Lowering& ctx, const Inst& inst) {
  if (const auto folded = ctx.divisions->steps.find(inst.id); folded != ctx.divisions->steps.end())
    return env_needed(*folded->second);
  if (const auto need = env_needed(inst)) return need;
  for (const Inst* operand : inst.operands) {
    if (!ctx.is_fused(operand)) continue;
    if (const auto need = env_with_fused(ctx, *operand)) return need;
  }
  return std::nullopt;
}

void set_env(Lowering& ctx, const EnvNeed& need) {
  if ((ctx.env & need.care) == (need.bits & need.care)) return;
  ctx.cc.ldmxcsr(ctx.pool.get(&need.bits, 4));
  ctx.env = need.bits;
}

}  // namespace wavejit::backend
