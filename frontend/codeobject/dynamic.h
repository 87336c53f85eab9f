// The dynamic section: what a loader needs of an ELF file that may have no section headers.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/codeobject/elf_file.h"
#include "frontend/codeobject/image.h"

namespace wavejit::codeobject {

// ELF addresses and byte sizes; 0 for what is absent.
struct DynamicTable {
  bool has_symbols = false;
  uint64_t symbols = 0, strings = 0, string_size = 0;
  uint64_t hash = 0, gnu_hash = 0;
  uint64_t rela = 0, rela_size = 0, jump = 0, jump_size = 0;
  uint64_t rel_size = 0, relr_size = 0;
};

[[nodiscard]] Expected<DynamicTable> read_dynamic_table(const ElfFile& elf);
// The dynamic symbols, counted by the hash tables, for a file of `file_size` bytes. `names` becomes a copy of the string
// table, which the symbols' names point into: the guest may change what is loaded.
[[nodiscard]] Expected<std::vector<ElfSymbol>> read_dynamic_symbols(const DynamicTable& table, const LoadedImage& image,
                                                                    uint64_t file_size, std::vector<uint8_t>& names);

}  // namespace wavejit::codeobject
