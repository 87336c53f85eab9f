// Which kernels have to record exceptions: those whose code can tell.
#pragma once

#include <cstdint>

#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"

namespace wavejit::runtime {

// Whether any word of the code could begin an instruction of isa::observes_exceptions(). As fast as memory.
[[nodiscard]] bool has_observers(const codeobject::CodeObject& object, isa::Target target);
// Whether the code from `entry` on can get to one: by direct branches, or, behind an indirect jump, to any that
// has_observers() has found.
[[nodiscard]] bool reaches_observer(const codeobject::CodeObject& object, isa::Target target, uint64_t entry);

}  // namespace wavejit::runtime
