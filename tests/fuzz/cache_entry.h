// What the fuzzer of translations on disk does with one input. The regression tests replay saved inputs through it.
#pragma once

#include <cstdint>
#include <span>

namespace wavejit::fuzz {

// A packed unit (runtime/translate/stored_unit.h), as a file holds it behind its head and checksum. Returns whether it was
// accepted. Aborts if what was accepted refers to bytes outside the input, or does not come back when it is packed again.
// The code is placed, and not executed.
bool fuzz_cache_unit(std::span<const uint8_t> input);

// A packed profile (runtime/translate/kept_profile.h) of code made up for it. Returns whether it was accepted. Aborts if what
// was accepted is outside the code, has counts that contradict each other, or is refused when it is packed again.
bool fuzz_kept_profile(std::span<const uint8_t> input);

}  // namespace wavejit::fuzz
