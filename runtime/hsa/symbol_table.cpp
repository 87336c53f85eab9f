#include "runtime/hsa/symbol_table.h"

#include <new>
#include <type_traits>

#include "internal/check.h"

namespace wavejit::hsa {

constinit SymbolTable symbol_table;
static_assert(std::is_trivially_destructible_v<SymbolTable>);

uint64_t SymbolTable::add(const Symbol& symbol) {
  const std::lock_guard lock(mutex_);
  uint32_t index = free_;
  if (index != kNone) {
    free_ = slot_of(index)->next_free;
  } else {
    index = used_;
    if (index >> kChunkBits >= kChunks) throw std::bad_alloc();
    if (!slot_of(index)) chunks_[index >> kChunkBits].store(new Slot[kChunkSlots], std::memory_order_release);
    ++used_;
  }
  Slot& slot = *slot_of(index);
  if (++slot.generation == 0) slot.generation = 1;
  slot.symbol = symbol;
  const uint64_t handle = uint64_t{slot.generation} << 32 | index;
  slot.handle.store(handle, std::memory_order_release);
  return handle;
}

void SymbolTable::remove(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<uint32_t>(handle);
  Slot* slot = slot_of(index);
  WAVEJIT_CHECK(slot && slot->handle.load(std::memory_order_relaxed) == handle);
  slot->handle.store(0, std::memory_order_release);
  slot->symbol = {};
  slot->next_free = free_;
  free_ = index;
}

}  // namespace wavejit::hsa
