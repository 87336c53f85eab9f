// What a sample of a kernel's waves did in the interpreter. Passes and the backend choose by it between ways of which each
// is right for all waves.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace wavejit::ir {

// At one guest instruction.
struct LaneSample {
  uint64_t executed = 0;  // by waves
  uint64_t lanes = 0;     // that were active, in all of these together
  // Of an access to memory or the LDS: groups of four neighbouring lanes of which two or more accessed something, those
  // of them whose lanes were at one place, and those whose lanes were side by side.
  uint64_t groups = 0, same = 0, consecutive = 0;

  void add(const LaneSample& other);
};

// By the instruction's address.
using Profile = std::unordered_map<uint64_t, LaneSample>;

// On average; 0 if it was not executed.
[[nodiscard]] double active_lanes(const LaneSample& sample);

// Whether lanes access memory neither side by side nor at one place, so that looking for that is a waste of time.
[[nodiscard]] bool is_scattered(const LaneSample& sample);

// Whether code that is made by `now` would be better than code made by `before`: an access is in order that was not, or the other way
// round, or far fewer lanes are active.
[[nodiscard]] bool suggests_other_code(const LaneSample& before, const LaneSample& now);

}  // namespace wavejit::ir
