#include "frontend/codeobject/source_line.h"

#include <elfutils/libdw.h>
#include <fmt/format.h>
#include <libelf.h>

#include <memory>

namespace wavejit::codeobject {
namespace {

// The line of `address` in one unit's table: that of the last entry at or before it in the same sequence.
std::optional<std::string> line_in_unit(Dwarf_Die& unit, uint64_t address) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return std::nullopt;
  for (size_t i = 0; i + 1 < count; ++i) {
    Dwarf_Line* const line = dwarf_onesrcline(lines, i);
    Dwarf_Addr begin = 0, end = 0;
    bool ends_sequence = false;
    if (dwarf_lineaddr(line, &begin) != 0 || dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) != 0 ||
        dwarf_lineendsequence(line, &ends_sequence) != 0)
      return std::nullopt;
    if (ends_sequence || address < begin || address >= end) continue;
    int number = 0;
    const char* const file = dwarf_linesrc(line, nullptr, nullptr);
    if (!file || dwarf_lineno(line, &number) != 0 || number == 0) return std::nullopt;
    return fmt::format("{}:{}", file, number);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_source_line(std::span<const uint8_t> elf, uint64_t address) {
  elf_version(EV_CURRENT);
  // libelf does not write to what it is given without having been asked to.
  const std::unique_ptr<Elf, int (*)(Elf*)> file(
      elf_memory(reinterpret_cast<char*>(const_cast<uint8_t*>(elf.data())), elf.size()), elf_end);
  if (!file) return std::nullopt;
  const std::unique_ptr<Dwarf, int (*)(Dwarf*)> dwarf(dwarf_begin_elf(file.get(), DWARF_C_READ, nullptr), dwarf_end);
  if (!dwarf) return std::nullopt;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
    if (std::optional<std::string> line = line_in_unit(die, address)) return line;
  return std::nullopt;
}

}  // namespace wavejit::codeobject
