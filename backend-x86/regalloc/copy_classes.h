// Copy classes: virtual registers that copies join and that are never alive at the same time. Copies within a class are no
// instructions where both registers have the same home.
#pragma once

#include <cstdint>
#include <vector>

#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {

class CopyClasses {
 public:
  explicit CopyClasses(const Lives& lives);

  struct Class {
    uint32_t first, members;     // the first member, an index of a Lifetime, and how many there are
    uint32_t first_span, spans;  // all members' together, ascending
    uint8_t home = kNoRegister;  // the preferred host register; assign_homes() sets it
  };
  // Null if no copy joins the register with another one.
  [[nodiscard]] Class* of(uint32_t reg) {
    const uint32_t number = class_of_[reg];
    return number == kNoIndex || classes_[number].members < 2 ? nullptr : &classes_[number];
  }
  // Calls visit(reg) for each.
  template <typename Visit>
  void for_each_member(const Class& one, Visit&& visit) const {
    for (uint32_t reg = one.first, i = 0; i < one.members; ++i, reg = next_[reg]) visit(reg);
  }
  // How often copies from or to the register are executed, as far as their places say.
  [[nodiscard]] float weight(uint32_t reg) const { return weights_[reg]; }

 private:
  uint32_t class_with(const Lives& lives, uint32_t reg);
  [[nodiscard]] bool may_join(const Class& a, const Class& b) const;
  void join(uint32_t into, uint32_t other);

  std::vector<Class> classes_;
  std::vector<LiveSpan> spans_;            // of classes, also of those that have been joined
  std::vector<uint32_t> class_of_, next_;  // by register
  std::vector<float> weights_;
};

}  // namespace wavejit::backend
