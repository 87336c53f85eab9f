// Keeps random sequences from showing NaN payloads. Which payload and sign a NaN result has is up to each engine
// (docs/isa-decisions.md), so a register that a floating-point instruction wrote may afterwards only be read as a float
// of the same type: NaN in gives NaN out, or a result that does not depend on the payload. Memory after a
// floating-point atomic may only be accessed as whole dwords, or by the same kind of atomic.
#pragma once

#include <array>

#include "frontend/isa/instruction.h"

namespace wavejit::test {

class NanTaint {
 public:
  // Whether `inst` may follow what was accepted so far; if so, notes what it writes.
  [[nodiscard]] bool accept(const isa::Instruction& inst);

  // Nothing accepted so far can have made a NaN in a register, or in memory.
  [[nodiscard]] bool registers_are_exact() const;
  [[nodiscard]] bool memory_is_exact() const { return memory_ == Content::exact; }

 private:
  enum class Content : uint8_t { exact, f16, f32, f64_lo, f64_hi, mixed };
  static Content content_of(isa::Type type, unsigned dword);

  [[nodiscard]] bool memory_allows(const isa::Instruction& inst) const;

  std::array<Content, 512> registers_{};  // VGPRs, then AGPRs
  Content memory_ = Content::exact;       // of any kind, after floating-point atomics
};

}  // namespace wavejit::test
