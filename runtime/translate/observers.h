// Finds the kernels that must record exceptions: those whose code can observe them.
#pragma once

#include <cstdint>

#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"

namespace wavejit::runtime {

// Returns true if the kernel's own code has no instruction of isa::observes_exceptions() and never leaves itself. Most
// kernels are like this; the next two functions decide about others.
[[nodiscard]] bool is_blind(const codeobject::CodeObject& object, isa::Target target, const codeobject::Kernel& kernel);
// Returns true if any word of the code could begin an instruction of isa::observes_exceptions(). As fast as memory.
[[nodiscard]] bool has_observers(const codeobject::CodeObject& object, isa::Target target);
// Returns true if such an instruction is reachable from `entry`. An indirect jump may reach every one that
// has_observers() has found.
[[nodiscard]] bool reaches_observer(const codeobject::CodeObject& object, isa::Target target, uint64_t entry);

}  // namespace wavejit::runtime
