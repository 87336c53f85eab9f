// WAVEJIT_REPORT=FILE: what the kernels of the process have executed, and how faithful that is, as JSON.
#pragma once

#include <string_view>

#include "runtime/launch/launch.h"

namespace wavejit::hsa {

// Whether a report is wanted.
[[nodiscard]] bool reports();

// Adds a dispatch that has ended. Thread-safe. If it has failed, the file is written: HIP ends the process by abort().
void add_to_report(const runtime::LaunchRequest& request, const runtime::OpcodeCounts& executed, bool failed);

// Writes the file with what has been added so far; done at the last hsa_shut_down and at the end of the process. A child of
// fork() leaves it to its parent.
void write_report();

}  // namespace wavejit::hsa
