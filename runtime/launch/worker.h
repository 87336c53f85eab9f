// A host thread's part in a launch.
#pragma once

#include "runtime/launch/launch_state.h"

namespace wavejit::runtime {

// Runs work-groups until none is left that has not begun, and all that this thread has begun have ended, or until the launch
// stops. Errors end the launch (LaunchState::fail).
void run_worker(LaunchState& shared);

}  // namespace wavejit::runtime
