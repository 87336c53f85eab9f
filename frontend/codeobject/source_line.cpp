#include "frontend/codeobject/source_line.h"

#include <fmt/format.h>

#include <memory>

#include "frontend/codeobject/libdw.h"

namespace wavejit::codeobject {
namespace {

// The line of `address` in one unit's table: that of the last entry at or before it in the same sequence.
std::optional<std::string> line_in_unit(const Libdw& dw, Dwarf_Die& unit, uint64_t address) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dw.dwarf_getsrclines(&unit, &lines, &count) != 0) return std::nullopt;
  for (size_t i = 0; i + 1 < count; ++i) {
    Dwarf_Line* const line = dw.dwarf_onesrcline(lines, i);
    Dwarf_Addr begin = 0, end = 0;
    bool ends_sequence = false;
    if (dw.dwarf_lineaddr(line, &begin) != 0 || dw.dwarf_lineaddr(dw.dwarf_onesrcline(lines, i + 1), &end) != 0 ||
        dw.dwarf_lineendsequence(line, &ends_sequence) != 0)
      return std::nullopt;
    if (ends_sequence || address < begin || address >= end) continue;
    int number = 0;
    const char* const file = dw.dwarf_linesrc(line, nullptr, nullptr);
    if (!file || dw.dwarf_lineno(line, &number) != 0 || number == 0) return std::nullopt;
    return fmt::format("{}:{}", file, number);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_source_line(std::span<const uint8_t> elf, uint64_t address) {
  const Libdw* const dw = libdw();
  if (!dw) return std::nullopt;
  dw->elf_version(EV_CURRENT);
  // libelf does not write to what it is given without having been asked to.
  const std::unique_ptr<Elf, int (*)(Elf*)> file(
      dw->elf_memory(reinterpret_cast<char*>(const_cast<uint8_t*>(elf.data())), elf.size()), dw->elf_end);
  if (!file) return std::nullopt;
  const std::unique_ptr<Dwarf, int (*)(Dwarf*)> dwarf(dw->dwarf_begin_elf(file.get(), DWARF_C_READ, nullptr),
                                                      dw->dwarf_end);
  if (!dwarf) return std::nullopt;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dw->dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
    if (std::optional<std::string> line = line_in_unit(*dw, die, address)) return line;
  return std::nullopt;
}

}  // namespace wavejit::codeobject
