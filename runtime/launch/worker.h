// A host thread's part in a launch.
#pragma once

#include "runtime/launch/launch_state.h"

namespace wavejit::runtime {

// Runs work-groups until all have begun and all begun by this thread have ended, or until the launch stops. Errors end
// the launch (LaunchState::fail).
void run_worker(LaunchState& shared);

}  // namespace wavejit::runtime
