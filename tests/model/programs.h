// What the two runners share: engines, and assembling many programs at once.
#pragma once

#include <string>
#include <vector>

#include "internal/error.h"
#include "tests/model/form.h"
#include "tests/model/runner.h"
#include "tests/support/engine_runner.h"

namespace wavejit::model {

inline constexpr unsigned kMostFailures = 100, kMostText = 2000;  // that are printed

// Processors of one number have the same meaning of an instruction.
[[nodiscard]] unsigned group_of(isa::Target target, std::string_view opcode);
[[nodiscard]] std::vector<test::EngineConfig> chosen_engines(const RunOptions& options);
// Machine code of each program, from one run of the assembler.
[[nodiscard]] Expected<std::vector<std::vector<uint8_t>>> assemble_programs(isa::Target target,
                                                                            const std::vector<std::string>& programs);

// Programs that read TRAPSTS: of instructions (program() of form.h) in the copies 0, 1, ... of Registers.
namespace recording {
inline constexpr uint32_t kMode = 1u << 22;         // of WaveState::mode: the wave records exceptions
inline constexpr unsigned kLane = 90, kFlags = 92;  // SGPRs
inline constexpr unsigned kExceptions = 15;         // of the copy's VGPRs

// With nothing in TRAPSTS in front of the instruction, and what it leaves there in kFlags.
[[nodiscard]] std::string recorded(const std::string& instruction);
// Lane after lane alone: kExceptions of each copy holds what that lane raises.
[[nodiscard]] std::string lane_by_lane(const std::vector<std::string>& instructions);
}  // namespace recording

}  // namespace wavejit::model
