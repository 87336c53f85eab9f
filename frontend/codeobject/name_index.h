// Numbers by name, for tens of thousands of long names: a hash table in one piece of memory. It does not copy the names.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "internal/hash.h"

namespace wavejit::codeobject {

class NameIndex {
 public:
  NameIndex() : NameIndex(0) {}
  explicit NameIndex(size_t expected) : slots_(std::bit_ceil(expected + expected / 2 + 8)) {}

  // The number of the name, which is `number` if the name is new. Valid until the next call.
  uint32_t& add(std::string_view name, uint32_t number) {
    if ((used_ + 1) * 3 > slots_.size() * 2) grow();
    const uint32_t hash = hash_of(name);
    Slot& slot = slots_[place_of(name, hash)];
    if (slot.name.data() == nullptr) {
      slot = {.name = name, .hash = hash, .number = number};
      ++used_;
    }
    return slot.number;
  }
  // Null if there is no such name.
  [[nodiscard]] const uint32_t* find(std::string_view name) const {
    const Slot& slot = slots_[place_of(name, hash_of(name))];
    return slot.name.data() == nullptr ? nullptr : &slot.number;
  }

 private:
  struct Slot {
    std::string_view name;  // data() is null in an empty slot
    uint32_t hash = 0;
    uint32_t number = 0;
  };

  static uint32_t hash_of(std::string_view name) {
    return static_cast<uint32_t>(hash128({reinterpret_cast<const uint8_t*>(name.data()), name.size()})[0]);
  }
  // Of the slot that has the name, or else of the one where it belongs.
  [[nodiscard]] size_t place_of(std::string_view name, uint32_t hash) const {
    const size_t mask = slots_.size() - 1;
    size_t i = hash & mask;
    while (slots_[i].name.data() != nullptr && (slots_[i].hash != hash || slots_[i].name != name)) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    for (const Slot& slot : old)
      if (slot.name.data() != nullptr) slots_[place_of(slot.name, slot.hash)] = slot;
  }

  std::vector<Slot> slots_;  // a power of two
  size_t used_ = 0;
};

}  // namespace wavejit::codeobject
