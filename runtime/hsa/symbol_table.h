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
  bool defined_by_program = false;             // a variable that no code object holds
  bool constant = false;                       // a variable that its code object declares as such
  Agent* agent = nullptr;                      // null for program scope
  std::string_view name;                       // of the executable's memory
  uint64_t address = 0;                        // of a variable, or of a kernel's descriptor: its kernel object
  uint64_t bytes = 0;                          // of a variable
  const codeobject::Kernel* kernel = nullptr;  // null for variables
};

// A handle is the number of a slot and the generation of its contents. Slots stay allocated, so find() takes any
// number: nothing is dereferenced that a caller made up. Handles of removed symbols are not given out again until their
// slot has had 2^32 other symbols.
//
// find() takes no lock and runs beside add() and remove(). As with every object of the HSA API, the caller does not
// destroy an executable while it uses one of its symbols. The table lives as long as the process.
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
    const Slot* slot = slot_of(static_cast<uint32_t>(handle));
    return slot && slot->handle.load(std::memory_order_acquire) == handle && handle != 0 ? &slot->symbol : nullptr;
  }

 private:
  static constexpr uint32_t kChunkBits = 12, kChunkSlots = 1u << kChunkBits, kChunks = 4096;  // 16 million symbols
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Slot {
    std::atomic<uint64_t> handle{0};  // 0: free
    uint32_t generation = 0;          // of the last symbol; mutex_
    uint32_t next_free = kNone;       // mutex_
    Symbol symbol;
  };

  [[nodiscard]] Slot* slot_of(uint32_t index) const {
    if (index >> kChunkBits >= kChunks) return nullptr;
    Slot* chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
    return chunk ? chunk + (index & (kChunkSlots - 1)) : nullptr;
  }

  std::array<std::atomic<Slot*>, kChunks> chunks_{};
  std::mutex mutex_;       // of what is below
  uint32_t used_ = 0;      // slots that ever had a symbol
  uint32_t free_ = kNone;  // first of the list of free ones
};

// Initialised at compile time, never destroyed.
extern constinit SymbolTable symbol_table;

}  // namespace wavejit::hsa
