// The memory that a kernel and the host share, as shadow mode needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/memory/memory_registry.h"
#include "runtime/shadow/write_log.h"

namespace wavejit::runtime::shadow {

struct WatchedMemory {
  std::vector<Interval> bytes;  // registered or allocated, and the variables of code objects; of merged()
  std::vector<Interval> pages;  // that hold these and may be written to; of merged()
  bool has_foreign = false;     // make_own() has something to do
};

// Thread-safe.
[[nodiscard]] WatchedMemory watched_memory();

// For a child process, before anything else runs in it: replaces the shared mappings among the memory by private copies,
// and leaves out of `pages` what cannot be written to. False if there is no memory for that.
[[nodiscard]] bool make_own(WatchedMemory& memory);

}  // namespace wavejit::runtime::shadow
