// A hash table from 64-bit keys to small values, for analyses that ask millions of times.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavejit {

// Open addressing in one array; clear() takes constant time. Keys that have been inserted stay until then. V is copied.
// Not thread-safe.
template <typename V>
class KeyTable {
 public:
  KeyTable() = default;
  // With room for that many keys.
  explicit KeyTable(size_t keys) : slots_(std::bit_ceil(std::max(2 * keys, kLeast))), shift_(shift()) {}

  // Null if there is none. Valid until the next insertion.
  [[nodiscard]] V* find(uint64_t key) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slot_of(key);
    return slot.time == time_ ? &slot.value : nullptr;
  }

  // Replaces the value that there may be.
  void set(uint64_t key, const V& value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(key);
    count_ += slot.time != time_;
    slot = {key, value, time_};
  }

  // The key's value, a new V{} if there has been none. Valid until the next insertion.
  [[nodiscard]] V& at(uint64_t key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(key);
    if (slot.time != time_) {
      ++count_;
      slot = {key, V{}, time_};
    }
    return slot.value;
  }

  void clear() {
    count_ = 0;
    if (++time_ != 0) return;
    slots_.clear();
    time_ = 1;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    V value{};
    uint32_t time = 0;  // time_, if it is in use
  };

  // The key's, or a free one.
  [[nodiscard]] Slot& slot_of(uint64_t key) {
    const size_t mask = slots_.size() - 1;
    size_t i = key * 0x9e3779b97f4a7c15 >> shift_;  // the highest bits depend on all of the key
    while (slots_[i].time == time_ && slots_[i].key != key) i = (i + 1) & mask;
    return slots_[i];
  }

  [[nodiscard]] unsigned shift() const { return 64 - static_cast<unsigned>(std::countr_zero(slots_.size())); }
  void grow() {
    std::vector<Slot> old(std::max(2 * slots_.size(), kLeast));
    old.swap(slots_);
    shift_ = shift();
    for (const Slot& slot : old)
      if (slot.time == time_) slot_of(slot.key) = slot;
  }

  static constexpr size_t kLeast = 64;
  std::vector<Slot> slots_;  // a power of two of them
  unsigned shift_ = 0;       // 64 minus the logarithm of their number
  size_t count_ = 0;
  uint32_t time_ = 1;
};

}  // namespace wavejit
