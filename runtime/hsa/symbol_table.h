// Symbols of all executables, by handle.
#pragma once

#include <hsa/hsa.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "frontend/codeobject/code_object.h"
#include "runtime/hsa/agent.h"

namespace wavejit::hsa {

struct Symbol {
  hsa_symbol_kind_t kind = HSA_SYMBOL_KIND_VARIABLE;
  bool defined_by_program = false;                 // a variable that no code object holds
  bool constant = false;                           // a variable that its code object declares as such
  uint32_t kernel = 0;                             // index of a kernel in `object`
  Agent* agent = nullptr;                          // null for program scope
  std::string_view name;                           // of the executable's memory
  uint64_t address = 0;                            // of a variable, or of a kernel's descriptor: its kernel object
  uint64_t bytes = 0;                              // of a variable
  const codeobject::CodeObject* object = nullptr;  // of a kernel
};

// A handle is the number of a slot, the generation of its contents, and a bit that says whether it is a kernel's. Slots stay
// allocated, so find() takes any number: nothing is dereferenced that a caller made up. Handles of removed symbols are not
// given out again until their slot has had 2^31 other symbols.
//
// find() and is_kernel() take no lock and run beside add() and remove(). As with every object of the HSA API, the caller
// does not destroy an executable while it uses one of its symbols. The table lives as long as the process.
class SymbolTable {
 public:
  constexpr SymbolTable() = default;
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // Throws std::bad_alloc when all slots are in use.
  [[nodiscard]] uint64_t add(const Symbol& symbol);
  // The handle must be one that add() returned.
  void remove(uint64_t handle);

  // Returns null if `handle` is not that of a symbol.
  [[nodiscard]] const Symbol* find(uint64_t handle) const {
    const Chunk* chunk = chunk_of(handle);
    return chunk && holds(*chunk, handle) ? &chunk->slots[slot_of(handle)].symbol : nullptr;
  }
  // Returns true if `handle` is that of a kernel's symbol.
  [[nodiscard]] bool is_kernel(uint64_t handle) const {
    const Chunk* chunk = chunk_of(handle);
    return chunk && (handle & kKernelBit) != 0 && holds(*chunk, handle);
  }

 private:
  static constexpr uint32_t kChunkBits = 12, kChunkSlots = 1u << kChunkBits, kChunks = 4096;  // 16 million symbols
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint64_t kKernelBit = uint64_t{1} << 63;

  struct Slot {
    uint32_t generation = 0;     // of the last symbol; 31 bits; mutex_
    uint32_t next_free = kNone;  // mutex_
    Symbol symbol;
  };
  // The handles are apart from the symbols: whoever asks something of all symbols reads little memory.
  struct Chunk {
    std::array<std::atomic<uint64_t>, kChunkSlots> handles{};  // 0: free
    std::array<Slot, kChunkSlots> slots;
  };

  static uint32_t slot_of(uint64_t handle) { return static_cast<uint32_t>(handle) & (kChunkSlots - 1); }
  static bool holds(const Chunk& chunk, uint64_t handle) {
    return chunk.handles[slot_of(handle)].load(std::memory_order_acquire) == handle && handle != 0;
  }
  [[nodiscard]] Chunk* chunk_of(uint64_t handle) const {
    const uint32_t index = static_cast<uint32_t>(handle) >> kChunkBits;
    return index < kChunks ? chunks_[index].load(std::memory_order_acquire) : nullptr;
  }

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  std::mutex mutex_;       // of what is below
  uint32_t used_ = 0;      // slots that ever had a symbol
  uint32_t free_ = kNone;  // first of the list of free ones
};

// Initialised at compile time, never destroyed.
extern constinit SymbolTable symbol_table;

}  // namespace wavejit::hsa
