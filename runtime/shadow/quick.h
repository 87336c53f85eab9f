// The quick comparison, which nearly all dispatches pass: both engines one after the other in this process, which gets its
// memory back afterwards.
#pragma once

#include <optional>

#include "runtime/shadow/comparison.h"
#include "runtime/shadow/memory.h"

namespace wavejit::runtime::shadow {

// For the child, once. The answer, or nothing if the engines seem to differ or there is too much to remember: `memory` is as
// it was. May end the process with an answer in the report.
[[nodiscard]] std::optional<Verdict> compare_quickly(const LaunchRequest& interpreted, const LaunchRequest& translated,
                                                     const WatchedMemory& memory, double limit_s,
                                                     const AfterRun& after_run, Report& report);

}  // namespace wavejit::runtime::shadow
