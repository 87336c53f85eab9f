// Memory ranges known by name, for fault messages, and guarded buffers. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "internal/error.h"

namespace wavejit::runtime {

void register_memory(uint64_t address, uint64_t bytes, std::string name);
void unregister_memory(uint64_t address);

// Zero-filled memory aligned to 64 bytes whose last cache line is followed by an inaccessible page.
[[nodiscard]] Expected<void*> allocate_buffer(size_t bytes);
void free_buffer(void* pointer);

// "16 bytes past the end of buffer 'x' (4096 bytes at 0x...)": the closest known range, or "" when none is near (1
// GiB).
[[nodiscard]] std::string describe_address(uint64_t address);

}  // namespace wavejit::runtime
