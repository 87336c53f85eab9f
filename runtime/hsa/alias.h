// Second addresses of host memory. Programs that lock their memory for devices (hipHostRegister) get an address for
// the devices; libamdhip64 keeps both in one table and ends the process if they are the same.
//
// To get one, the pages are moved to shared memory, where they stay at their address, and are mapped again elsewhere.
// Threads that write to them meanwhile are made to wait (runtime/memory/fault.h, PageMove). A child process after fork() has
// copies of its own. What is a shared mapping already is only mapped again. Where no signals are handled (WAVEJIT_SIGNALS),
// no thread could be made to wait, and no pages move.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavejit::hsa {

// Another address of the same memory, or nullptr: it is neither the process's own writable memory nor a shared mapping,
// or it holds the calling thread's stack, or its pages may not move. remove_alias() once for each; a process does not free memory that has one.
// Thread-safe.
[[nodiscard]] void* add_alias(void* host, size_t bytes);
void remove_alias(void* alias);

// Puts `memory`, a mapping of as many bytes (whole pages), in the place of the pages at `place`, with their contents.
// False if the system does not: all is as before, and `memory` still mapped.
[[nodiscard]] bool replace_pages(void* place, size_t bytes, void* memory);

}  // namespace wavejit::hsa
