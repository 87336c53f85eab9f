// The floating-point environment (MXCSR) that operations need.
#pragma once

#include <cstdint>
#include <optional>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

struct EnvNeed {
  uint32_t bits, care;  // MXCSR, and the bits of it that matter
};
inline constexpr uint32_t kEnvRounding = 0x6000, kEnvInputDenorm = 0x40, kEnvAll = 0xe040;

[[nodiscard]] uint32_t mxcsr(uint32_t attr);  // of an operation's mode
[[nodiscard]] std::optional<EnvNeed> env_needed(const Inst& inst);
// The same for an instruction and those fused into it.
[[nodiscard]] std::optional<EnvNeed> env_with_fused(const Lowering& ctx, const Inst& inst);
void set_env(Lowering& ctx, const EnvNeed& need);

}  // namespace wavejit::backend
