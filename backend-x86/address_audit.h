// Looks for addresses of this process in emitted code. Code that is kept for other processes must hold none: its way to
// anything outside are the slots of DataPool::function(). This is the check that whoever emits has kept to that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>

#include "backend-x86/compiler.h"

namespace wavejit::backend {

class AddressAudit {
 public:
  // Addresses in `fixed` mean the same wherever the code is used.
  explicit AddressAudit(const AddressRange& fixed) : fixed_(fixed) {}

  // A number in the code, or data next to it.
  void look_at(uint64_t value);
  void look_at_data(const void* bytes, size_t size);
  // A memory operand with nothing but a displacement.
  void found_absolute_operand() { found_ = true; }
  [[nodiscard]] bool found() const { return found_; }

 private:
  const AddressRange fixed_;
  std::set<uint64_t> pages_;  // that are known not to be mapped
  bool found_ = false;
};

}  // namespace wavejit::backend
