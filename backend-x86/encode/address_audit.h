// Checks that emitted code holds no address of this process. Code that is kept for other processes may refer to the
// outside only through the slots of DataPool::function().
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>

#include "backend-x86/compiler.h"

namespace wavejit::backend {

class AddressAudit {
 public:
  // Addresses in `fixed` are the same in every process that uses the code.
  explicit AddressAudit(const AddressRange& fixed) : fixed_(fixed) {}

  // Checks an immediate of the code, or the data next to it.
  void look_at(uint64_t value);
  void look_at_data(const void* bytes, size_t size);
  // Reports a memory operand that consists of a displacement alone.
  void found_absolute_operand() { found_ = true; }
  [[nodiscard]] bool found() const { return found_; }

 private:
  const AddressRange fixed_;
  std::set<uint64_t> pages_;  // pages known not to be mapped
  bool found_ = false;
};

}  // namespace wavejit::backend
