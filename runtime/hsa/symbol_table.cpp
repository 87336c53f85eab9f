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
    free_ = chunk_of(index)->slots[slot_of(index)].next_free;
  } else {
    index = used_;
    if (index >> kChunkBits >= kChunks) throw std::bad_alloc();
    if (!chunk_of(index)) chunks_[index >> kChunkBits].store(new Chunk, std::memory_order_release);
    ++used_;
  }
  Chunk& chunk = *chunk_of(index);
  Slot& slot = chunk.slots[slot_of(index)];
  slot.generation = (slot.generation + 1) & 0x7fffffff;
  if (slot.generation == 0) slot.generation = 1;
  slot.symbol = symbol;
  const uint64_t kernel = symbol.kind == HSA_SYMBOL_KIND_KERNEL ? kKernelBit : 0;
  const uint64_t handle = kernel | uint64_t{slot.generation} << 32 | index;
  chunk.handles[slot_of(index)].store(handle, std::memory_order_release);
  return handle;
}

void SymbolTable::remove(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  Chunk* chunk = chunk_of(handle);
  WAVEJIT_CHECK(chunk && holds(*chunk, handle));
  chunk->handles[slot_of(handle)].store(0, std::memory_order_release);
  Slot& slot = chunk->slots[slot_of(handle)];
  slot.symbol = {};
  slot.next_free = free_;
  free_ = static_cast<uint32_t>(handle);
}

}  // namespace wavejit::hsa
