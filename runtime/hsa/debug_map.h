// The list of code objects that debuggers read: _amdgpu_r_debug, which has the layout of the dynamic linker's r_debug.
#pragma once

#include "runtime/hsa/loader_state.h"

namespace wavejit::hsa {

// Adds an object, once; its `debug_entry` is part of the list until retract(). Thread-safe.
void publish(LoadedObject& object);
// Does nothing if the object is not in the list.
void retract(LoadedObject& object);

}  // namespace wavejit::hsa
