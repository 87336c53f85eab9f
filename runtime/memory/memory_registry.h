// Memory ranges known by name, for fault messages, and guarded buffers. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "internal/error.h"

namespace wavejit::runtime {

enum class MemoryKind : uint8_t {
  own,      // private pages that may be read and written, all of them
  foreign,  // mapped by somebody else, shared, or partly inaccessible
  lent,     // the program's own, whole pages of it, for copies: other things of the program are in them
};

void register_memory(uint64_t address, uint64_t bytes, std::string name, MemoryKind kind = MemoryKind::foreign);
void unregister_memory(uint64_t address);

// Zero-filled memory aligned to 64 bytes whose last cache line is followed by an inaccessible page.
[[nodiscard]] Expected<void*> allocate_buffer(size_t bytes);
void free_buffer(void* pointer);

struct RegisteredMemory {
  uint64_t address = 0, bytes = 0;
  MemoryKind kind = MemoryKind::foreign;
};
// By address. They may overlap.
[[nodiscard]] std::vector<RegisteredMemory> registered_memory();

// For a fork(), whose child is to find the registry unlocked.
[[nodiscard]] std::unique_lock<std::mutex> lock_registry();

// "16 bytes past the end of buffer 'x' (4096 bytes at 0x...)": the closest known range, or "" when none is near (1
// GiB).
[[nodiscard]] std::string describe_address(uint64_t address);

}  // namespace wavejit::runtime
