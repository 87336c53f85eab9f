// What the fuzzers of code object reading do with one input. The regression tests replay saved inputs through the same
// functions.
#pragma once

#include <cstdint>
#include <span>

namespace wavejit::fuzz {

// Each returns whether the input was accepted. They abort if what was accepted contradicts itself.
bool fuzz_container(std::span<const uint8_t> input);    // containers, and then each ELF image in them
bool fuzz_code_object(std::span<const uint8_t> input);  // one ELF image with its metadata
// The first byte selects the syntax (even: MsgPack, odd: YAML), the rest is the metadata note.
bool fuzz_metadata(std::span<const uint8_t> input);

}  // namespace wavejit::fuzz
