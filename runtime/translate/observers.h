// Which kernels have to record exceptions: those whose code can tell.
#pragma once

#include <cstdint>

#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"

namespace wavejit::runtime {

// Returns true if the kernel's own code has no instruction of isa::observes_exceptions() and no way out: all that it can
// get to is there. Most kernels are like this; of others the next two functions say more.
[[nodiscard]] bool is_blind(const codeobject::CodeObject& object, isa::Target target, const codeobject::Kernel& kernel);
// Whether any word of the code could begin an instruction of isa::observes_exceptions(). As fast as memory.
[[nodiscard]] bool has_observers(const codeobject::CodeObject& object, isa::Target target);
// Whether the code from `entry` on can get to one: by direct branches, or, behind an indirect jump, to any that
// has_observers() has found.
[[nodiscard]] bool reaches_observer(const codeobject::CodeObject& object, isa::Target target, uint64_t entry);

}  // namespace wavejit::runtime
