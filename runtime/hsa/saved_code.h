// WAVEJIT_SAVE_CODE=DIRECTORY: keeps the code objects that the process loads, for `wavejit disasm` and other tools. Compilers
// at run time (hiprtc, OpenCL) leave no other file.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wavejit::hsa {

// Writes the code object to the directory, which is made if it does not exist, as TARGET-HASH.co: the same contents have the
// same name, in every process. Does nothing unless the variable is set. What cannot be written is said once. Thread-safe.
void save_code(std::span<const uint8_t> image, std::string_view target);

}  // namespace wavejit::hsa
