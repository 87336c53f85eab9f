// What samples of a kernel's waves say, beside its instructions. Thread-safe.
#pragma once

#include <string>

#include "frontend/codeobject/code_object.h"
#include "internal/error.h"
#include "runtime/api/inspect.h"
#include "runtime/translate/lane_samples.h"
#include "runtime/translate/module.h"

namespace wavejit::runtime {

// dump_gcn() of the kernel, with a line above each basic block, executions by waves and mean active lanes in front of each
// instruction, and behind it the pattern of an access, the trips of a loop, and the choices of a translation for `options`
// that follow from the samples. Errors: those of dump_gcn() and of the lifter.
[[nodiscard]] Expected<std::string> sampled_text(const Module& module, const codeobject::Kernel& kernel,
                                                 const SampledCode& samples, const DumpOptions& options);

}  // namespace wavejit::runtime
