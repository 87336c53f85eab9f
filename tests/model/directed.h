// Writes the files of tests/isa for instructions of the vector ALU: corner values, modifiers and modes, with what the
// model expects.
#pragma once

#include <string>

namespace wavejit::model {

// A file <directory>/<opcode>.isa for each that raises exceptions, with what it leaves in TRAPSTS.
[[nodiscard]] unsigned write_exceptions(const std::string& directory, const std::string& only);

// A file <directory>/<format>/<opcode>.isa for each opcode that `only` matches; the number of files.
[[nodiscard]] unsigned write_directed(const std::string& directory, const std::string& only);

}  // namespace wavejit::model
