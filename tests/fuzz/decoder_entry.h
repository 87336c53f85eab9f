#pragma once

#include <cstddef>
#include <cstdint>

namespace wavejit::test {

// Decodes `data` as a stream of instructions (the first byte chooses the target) and checks what every consumer relies
// on: sizes within the input, registers within their files, printable text. Aborts when something is wrong.
void fuzz_decoder(const uint8_t* data, size_t size);

}  // namespace wavejit::test
