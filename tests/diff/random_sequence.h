// Random straight-line sequences for comparing engines: instructions of all formats, changes of MODE and EXEC, and
// regions of VGPR indexing and skipped vector instructions.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/diff/nan_taint.h"
#include "tests/diff/random_instruction.h"

namespace wavejit::test {

using Words = std::vector<uint32_t>;

// Instructions that belong together.
struct Step {
  std::vector<Words> instructions;
  bool is_region = false;  // the first and the last instruction need each other, not what is between them
};

struct Sequence {
  std::vector<Step> steps;
  uint32_t mode = 0;    // at the start
  bool floats = false;  // memory may hold NaNs of any payload
};

// MODE of a dispatch, or one with other rounding and denormal modes.
[[nodiscard]] uint32_t random_mode(Rng& rng);
// To be added to it: mostly 0, else that the wave records exceptions (internal/semantics/exceptions.h), and perhaps which trap.
[[nodiscard]] uint32_t random_recording(Rng& rng, bool traps);

// A candidate as it may stand anywhere: with an M0 that is small, or with what ends its effect. Empty if nothing fits
// behind what `taint` has seen.
[[nodiscard]] Step random_step(const Candidate& candidate, const std::vector<Candidate>& pool, isa::Target target,
                               NanTaint& taint, Rng& rng);

[[nodiscard]] Sequence random_sequence(const std::vector<Candidate>& pool, isa::Target target, unsigned length,
                                       Rng& rng);

[[nodiscard]] Words flatten(const Step& step);
[[nodiscard]] Words flatten(const Sequence& sequence);
[[nodiscard]] unsigned count(const Sequence& sequence);  // instructions

// Smaller or simpler variants: without a step, without an instruction of a region, with fewer modifiers.
[[nodiscard]] std::vector<Sequence> shrunk(const Sequence& sequence, isa::Target target);

}  // namespace wavejit::test
