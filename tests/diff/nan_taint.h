// Keeps random sequences from showing NaN payloads. Which payload and sign a NaN result has is up to each engine
// (docs/isa-decisions.md), so a register that a floating-point instruction wrote may afterwards only be read as a float
// of the same type: NaN in gives NaN out, or a result that does not depend on the payload.
#pragma once

#include <array>

#include "frontend/isa/instruction.h"

namespace wavejit::test {

class NanTaint {
 public:
  // Whether `inst` may follow what was accepted so far; if so, notes what it writes.
  [[nodiscard]] bool accept(const isa::Instruction& inst);

 private:
  enum class Content : uint8_t { exact, f16, f32, f64_lo, f64_hi, mixed };
  static Content content_of(isa::Type type, unsigned dword);

  std::array<Content, 512> registers_{};  // VGPRs, then AGPRs
};

}  // namespace wavejit::test
