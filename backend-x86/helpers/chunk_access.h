// Loads and stores of a chunk's lanes at any addresses, for the cold paths of AVX2 code (lower/memory_shared.cpp): one function
// for all accesses of a size, instead of code at each of them.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <optional>
#include <span>

namespace wavejit::backend {

// On the stack of translated code, aligned to 64 bytes. Rows are in the order of the chunk's lanes unless they say otherwise.
struct ChunkAccess {
  static constexpr unsigned kLanes = 8, kMaxCount = 4;

  int32_t mask[kLanes];  // -1 or 0
  union {
    uint32_t index[kLanes];  // Form::indexed
    uint64_t parts[2][4];    // Form::wide, in the order of Vec64: lanes 0 1 4 5, then 2 3 6 7
  };
  uint64_t base;  // indexed; contiguous: the address of the chunk's first lane
  int64_t displacement;
  uint64_t nothing[2];         // where lanes that are off read zeros and write
  uint64_t addresses[kLanes];  // the function's
  // By element. A load of elements of one or two bytes leaves them packed in the first row. Lanes that are off get 0.
  uint32_t values[kMaxCount][kLanes];
  uint64_t saved[5][4];  // the caller's vector registers

  // How the addresses are given. Added to the address of the ChunkAccess, with the shift in the lowest two bits.
  enum Form : uint32_t {
    shift_bits = 3,
    indexed = 0,       // base + (index << shift) + displacement
    signed_index = 4,  // with `indexed`: the index is sign-extended, not zero-extended
    wide = 8,          // parts + displacement
    contiguous = 16,   // base + displacement + bytes of a lane * number of the lane
    all_lanes = 32,    // with any: the mask is full
  };
};

// The address of the function for lanes of so many bytes, in elements of one, two or four bytes; 0: there is none. The caller
// pushes the address of a ChunkAccess with its form, which the function pops. It keeps all registers but the flags.
[[nodiscard]] uintptr_t chunk_access_stub(bool load, unsigned lane_bytes);
// All of them, always in the same order.
[[nodiscard]] std::span<const uintptr_t> chunk_access_stubs();

// The access that one of these functions executes.
struct RunningChunkAccess {
  uint64_t return_address;
  const ChunkAccess* access;
  uint32_t form;
  [[nodiscard]] bool is_active(unsigned lane) const;
  [[nodiscard]] uint64_t address(unsigned lane, unsigned lane_bytes) const;
};
// Nothing if the machine is elsewhere. Async-signal-safe.
[[nodiscard]] std::optional<RunningChunkAccess> find_chunk_access(const ucontext_t& context);

}  // namespace wavejit::backend
