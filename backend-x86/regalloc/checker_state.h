// Where the values of virtual registers are at one place of the code, as far as the checker of register allocation knows.
//
// A place is a host register or a stack slot. It holds values of virtual registers: the current ones only, since a write of
// the register makes a new version, of which nothing else knows. Of each value the place holds some bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backend-x86/regalloc/recorded_program.h"

namespace wavejit::backend {

struct HeldValue {
  uint32_t reg;
  uint32_t version;
  uint64_t held;  // bytes of the register that the place holds
  uint64_t zero;  // bytes of the register that are 0, by what wrote it
};

// The same as it is kept for a label, by place and register.
struct KeptValue {
  uint32_t place, reg;
  uint64_t held, zero;
  bool operator==(const KeptValue&) const = default;
};

struct KeptState {
  uint32_t next = 0;                // the instruction of the recorded program that is executed next
  int32_t stack = 0;                // the stack pointer, relative to what it is at the function's entry
  std::vector<KeptValue> values;    // sorted
  std::vector<uint32_t> undefined;  // sorted: registers that have never been written; any place holds what they have
};

// Leaves in `state` what holds on both edges of a join. All else in the two states must be equal. Returns whether `state` changes.
[[nodiscard]] bool meet(KeptState& state, const KeptState& other);

class CheckerState {
 public:
  explicit CheckerState(size_t registers)
      : places_(kHostRegisters),
        used_(1),
        versions_(registers),
        undefined_(registers),
        last_places_(registers, kNowhere) {}

  // Those of KeptState.
  uint32_t next = 0;
  int32_t stack = 0;

  void load(const KeptState& state);
  // Leaves out values that do not matter past the next label or branch.
  void save(KeptState& state, const RecordedProgram& program);

  // The place of the stack slot at `at`, relative to the stack pointer at the function's entry. It is known from then on
  // which slots overlap.
  uint32_t slot(int32_t at, uint32_t bytes);
  struct Slot {
    int32_t at;
    uint32_t bytes;
  };
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }

  [[nodiscard]] bool is_undefined(uint32_t reg) const { return undefined_[reg] == versions_[reg] + 1; }
  [[nodiscard]] bool holds(uint32_t place, uint32_t reg, uint64_t bytes) const;
  // The value of the register in the place, or nothing.
  [[nodiscard]] const HeldValue* find(uint32_t place, uint32_t reg) const;

  // The register gets a new value, of which `place` holds `held`.
  void define(uint32_t reg, uint32_t place, uint64_t held, uint64_t zero);
  // `to` gets a copy of the value of `from`, wherever that is: the bytes `copied`, and `zeroed`.
  void define_as_copy(uint32_t to, uint32_t from, uint64_t copied, uint64_t zeroed);
  // `to` gets the low bytes of what `from` holds; those above are 0 if `extends`.
  void copy(uint32_t to, uint32_t from, uint32_t bytes, bool extends);
  void exchange(uint32_t a, uint32_t b, uint32_t bytes);
  // The place holds nothing any more above its low bytes, but what is 0 if `zeroes`.
  void forget(uint32_t place, uint32_t kept_bytes, bool zeroes);

  static constexpr uint32_t kNowhere = UINT32_MAX;
  // Where the register's value has been put last.
  [[nodiscard]] uint32_t last_place(uint32_t reg) const { return last_places_[reg]; }
  [[nodiscard]] std::vector<uint32_t> places_of(uint32_t reg) const;

 private:
  [[nodiscard]] bool is_current(const HeldValue& value) const { return versions_[value.reg] == value.version; }
  void put(uint32_t place, const HeldValue& value);
  // Calls visit(place) for each in use, in ascending order.
  template <typename Visit>
  void for_each_used(Visit&& visit) const {
    for (size_t word = 0; word < used_.size(); ++word)
      for (uint64_t bits = used_[word]; bits != 0; bits &= bits - 1)
        visit(static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(bits)));
  }
  // The place is given something else; slots that overlap it hold nothing.
  void clear(uint32_t place);

  std::vector<std::vector<HeldValue>> places_;  // host registers, then slots; may hold values that are not current
  std::vector<uint64_t> used_;                  // bits of places that may hold something
  std::vector<uint32_t> versions_;              // by register
  std::vector<uint32_t> undefined_;             // by register: the version that is undefined, and 1
  std::vector<uint32_t> last_places_;           // by register
  std::vector<uint32_t> undefined_list_;
  // Kept for their memory.
  std::vector<HeldValue> copied_, exchanged_;
  std::vector<uint32_t> copied_to_;
  std::vector<Slot> slots_;
  std::vector<std::vector<uint32_t>> overlaps_;  // by slot: places
  std::unordered_map<int32_t, uint32_t> by_address_;
};

}  // namespace wavejit::backend
