// What the interpreter has counted of a kernel's instructions, as rows and as a listing. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/interp/profile.h"
#include "internal/error.h"
#include "runtime/translate/module.h"

namespace wavejit::runtime {

// What the profile has of the module's code: address in the ELF file, and counts; in the order of addresses.
[[nodiscard]] std::vector<std::pair<uint64_t, interp::InstructionProfile>> profile_of(const Module& module,
                                                                                      const interp::Profile& profile);

// A summary (profile_summary.h), and dump_gcn() of the kernel and of what else was executed, with two columns in front,
// executions by waves and active lanes on average, and behind each line what the branch or the access did. Lines of the
// source and names of functions stand in between where the code object knows them. `profile`: of this kernel alone.
[[nodiscard]] Expected<std::string> profile_text(const Module& module, const codeobject::Kernel& kernel,
                                                 const interp::Profile& profile);

}  // namespace wavejit::runtime
