// Source lines of code objects that were compiled with debug information (DWARF, read with elfutils' libdw if the system
// has it, see libdw.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace wavejit::codeobject {

// "file:line" of the instruction at the ELF address; nothing where the object does not say. Malformed debug information
// counts as none. Slow: it reads the line tables anew.
[[nodiscard]] std::optional<std::string> find_source_line(std::span<const uint8_t> elf, uint64_t address);

}  // namespace wavejit::codeobject
