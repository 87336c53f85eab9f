// WAVEJIT_PROFILE=FILE: what the instructions of the process's kernels did, as annotated disassembly.
#pragma once

#include "frontend/interp/profile.h"
#include "runtime/launch/launch.h"

namespace wavejit::hsa {

// Whether profiles are wanted; kernels are interpreted then.
[[nodiscard]] bool profiles();

// Adds a dispatch that has ended. Thread-safe. If it has failed, the file is written: HIP ends the process by abort().
void add_to_profile(const runtime::LaunchRequest& request, const interp::Profile& profile, bool failed);

// Writes the file with what has been added so far; done at the last hsa_shut_down and at the end of the process. A child of
// fork() leaves it to its parent.
void write_profile();

}  // namespace wavejit::hsa
