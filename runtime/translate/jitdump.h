// Names and bytes of translated code for profilers. With WAVEJIT_JITDUMP=DIRECTORY in the environment the process writes
// DIRECTORY/jit-PID.dump, which `perf inject --jit` reads (docs/performance.md, "Profiles of your own"). The format is
// tools/perf/Documentation/jitdump-specification.txt of Linux, version 1.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wavejit::runtime {

// Whether the variable is set.
[[nodiscard]] bool writes_jitdump();

// Adds a unit of translated code. A child process begins a file of its own, without what its parent has translated. If the file
// cannot be written, one line on stderr says so, and nothing else happens. Thread-safe.
void add_to_jitdump(std::span<const uint8_t> code, std::string_view name);

}  // namespace wavejit::runtime
