// Client quirks: what single versions of programs ask for besides files of the driver, and the answers. One row for each,
// with its reason; the test hip.rocminfo runs the client that the machine has.
#pragma once

namespace wavejit::hsa {

struct CommandQuirk {
  const char* client;
  const char* reason;
  const char* command;      // as the client gives it to popen()
  const char* replacement;  // the shell runs this instead
};

inline constexpr CommandQuirk kCommandQuirks[] = {
    {"rocminfo 5.0 to 5.4", "looks for the driver in the output of lsmod, which containers often do not have",
     "lsmod | grep amdgpu", "echo amdgpu"},
};

}  // namespace wavejit::hsa
