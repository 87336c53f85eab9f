#include "runtime/hsa/caller.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace wavejit::hsa {

bool is_hip(const void* address) {
  // Each thread waits in a few places only.
  thread_local const void* last = nullptr;
  thread_local bool answer = false;
  if (address != last) {
    Dl_info info;
    answer = dladdr(address, &info) != 0 && info.dli_fname && std::strstr(info.dli_fname, "libamdhip64.so");
    last = address;
  }
  return answer;
}

bool hip_waits_on(unsigned long timeout) {
  constexpr unsigned long kFirst = 100'000, kLongest = 1'000'000'000'000;
  // A limit of the user's could be the same.
  static const bool changed = std::getenv("ROC_ACTIVE_WAIT_TIMEOUT") != nullptr;
  return timeout >= kLongest || (timeout == kFirst && !changed);
}

}  // namespace wavejit::hsa
