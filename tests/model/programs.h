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

}  // namespace wavejit::model
