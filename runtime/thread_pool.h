// The process's worker threads. Created on demand, kept for good.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace wavejit::runtime {

// Runs `work(index)` for index 0 .. threads - 1 on that many threads, the caller being index 0, and returns when all
// have returned. Indices other than 0 may be left out when index 0 has returned before a pool thread got to them, so
// the work must be shared out dynamically. Several callers may do this at once. `work` must not throw.
void run_on_threads(uint32_t threads, const std::function<void(uint32_t index)>& work);

// CPUs that the process may run on (affinity mask).
[[nodiscard]] uint32_t available_cpus();

}  // namespace wavejit::runtime
