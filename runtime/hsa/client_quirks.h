// Client quirks: what single versions of libraries and programs need beyond HSA and the driver's files. Each with its reason and
// the test that shows it.
#pragma once

#include <chrono>
#include <string_view>

namespace wavejit::hsa {

// HIP 6.4 destroys the object of a mapping while the handler of a kernel that has ended still uses it: a driver's unmapping takes
// longer than an interrupt. hsa_amd_vmem_unmap() waits at most this long for handlers. Test:
// hsa.VirtualMemoryTest.HandlersBeforeUnmapping; with HIP 6.4 tests/hip/virtual_memory.cpp.
inline constexpr std::chrono::milliseconds kUnmapWaitsForHandlers{200};

// libamdhip64, all versions: its handlers of signals use objects that the end of the process destroys. A device has long finished
// by then; a translator at its first launches has not. At exit, work gets at most this long, and so do its handlers. Test:
// hsa.HandlersEndBeforeTheProgram.
inline constexpr std::chrono::milliseconds kExitWaitsForWork{200};

// HIP 6.4 launches its own copy kernel with 512 work-items and says 256 in its metadata. Of HIP's kernels there is no warning, as
// whoever reads it cannot change them. Test: hsa.HsaTest.GroupsBeyondTheSizeOfTheMetadata has the warning of other kernels.
[[nodiscard]] inline bool is_kernel_of_hip(std::string_view kernel) {
  return kernel.starts_with("__amd_rocclr_");
}

struct CommandQuirk {
  const char* client;
  const char* reason;
  const char* command;      // as the client gives it to popen()
  const char* replacement;  // the shell runs this instead
};

// The test hip.rocminfo runs the client that the machine has.
inline constexpr CommandQuirk kCommandQuirks[] = {
    {"rocminfo 5.0 to 5.4", "looks for the driver in the output of lsmod, which containers often do not have",
     "lsmod | grep amdgpu", "echo amdgpu"},
};

}  // namespace wavejit::hsa
