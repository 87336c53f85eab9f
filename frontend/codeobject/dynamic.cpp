#include "frontend/codeobject/dynamic.h"

#include <algorithm>
#include <cstring>

namespace wavejit::codeobject {
namespace {

// Reads a T of the loaded image at an ELF address.
template <typename T>
std::optional<T> load(const LoadedImage& image, uint64_t vaddr) {
  if (image.segment_of(vaddr, sizeof(T)) == nullptr) return std::nullopt;
  T value;
  std::memcpy(&value, image.at(vaddr, sizeof(T)).data(), sizeof(T));
  return value;
}

// Number of dynamic symbols. DT_HASH states it; DT_GNU_HASH implies it: the last chain ends at the last symbol.
Expected<uint64_t> count_symbols(const DynamicTable& table, const LoadedImage& image, uint64_t file_size) {
  if (table.hash != 0) {
    const auto chains = load<uint32_t>(image, table.hash + 4);
    if (!chains) return bad("The symbol hash table at address {:#x} is outside the loaded segments.", table.hash);
    return *chains;
  }
  if (table.gnu_hash == 0) return 0;
  const auto buckets = load<uint32_t>(image, table.gnu_hash);
  const auto first = load<uint32_t>(image, table.gnu_hash + 4);
  const auto bloom_words = load<uint32_t>(image, table.gnu_hash + 8);
  const auto outside =
      bad("The GNU symbol hash table at address {:#x} ends outside the loaded segments.", table.gnu_hash);
  if (!buckets || !first || !bloom_words) return outside;
  const uint64_t bucket_at = table.gnu_hash + 16 + uint64_t{*bloom_words} * 8;
  const uint64_t chain_at = bucket_at + uint64_t{*buckets} * 4;
  if (*buckets > file_size / 4 || image.segment_of(bucket_at, uint64_t{*buckets} * 4) == nullptr) return outside;
  uint64_t last = 0;
  for (uint64_t i = 0; i < *buckets; ++i) last = std::max<uint64_t>(last, *load<uint32_t>(image, bucket_at + i * 4));
  if (last < *first) return *first;
  for (;; ++last) {
    const auto hash = load<uint32_t>(image, chain_at + (last - *first) * 4);
    if (!hash || last > file_size) return outside;
    if ((*hash & 1) != 0) return last + 1;
  }
}

}  // namespace

Expected<DynamicTable> read_dynamic_table(const ElfFile& elf) {
  DynamicTable table;
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type != PT_DYNAMIC) continue;
    const auto bytes = elf.bytes().slice(segment.p_offset, segment.p_filesz);
    if (!bytes) {
      return bad("The dynamic segment of {} bytes at offset {:#x} ends beyond the file.", segment.p_filesz,
                 segment.p_offset);
    }
    for (uint64_t at = 0;; at += sizeof(Elf64_Dyn)) {
      const auto entry = bytes->get<Elf64_Dyn>(at);
      if (!entry || entry->d_tag == DT_NULL) break;
      const uint64_t value = entry->d_un.d_val;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          table.symbols = value;
          table.has_symbols = true;
          break;
        case DT_STRTAB:
          table.strings = value;
          break;
        case DT_STRSZ:
          table.string_size = value;
          break;
        case DT_HASH:
          table.hash = value;
          break;
        case DT_GNU_HASH:
          table.gnu_hash = value;
          break;
        case DT_RELA:
          table.rela = value;
          break;
        case DT_RELASZ:
          table.rela_size = value;
          break;
        case DT_JMPREL:
          table.jump = value;
          break;
        case DT_PLTRELSZ:
          table.jump_size = value;
          break;
        case DT_RELSZ:
          table.rel_size = value;
          break;
        case 35:  // DT_RELRSZ
          table.relr_size = value;
          break;
        default:
          break;
      }
    }
    break;  // gABI: there is at most one
  }
  return table;
}

Expected<std::vector<ElfSymbol>> read_dynamic_symbols(const DynamicTable& table, const LoadedImage& image,
                                                      uint64_t file_size, std::vector<uint8_t>& names) {
  std::vector<ElfSymbol> symbols;
  if (!table.has_symbols) return symbols;
  const auto count = count_symbols(table, image, file_size);
  if (!count) return tl::make_unexpected(count.error());
  if (*count <= 1) return symbols;
  // .bss could make a short file claim a long table.
  if (*count > file_size / sizeof(Elf64_Sym) || table.string_size > file_size ||
      image.segment_of(table.symbols, *count * sizeof(Elf64_Sym)) == nullptr ||
      image.segment_of(table.strings, table.string_size) == nullptr) {
    return bad("The dynamic symbol table ({} symbols at address {:#x}) or its names are outside the loaded segments.",
               *count, table.symbols);
  }
  const std::span<const uint8_t> loaded = image.at(table.strings, table.string_size);
  names.assign(loaded.begin(), loaded.end());
  const ByteView strings{std::span<const uint8_t>(names)};
  symbols.reserve(*count - 1);
  WorkBudget budget = symbol_name_budget(file_size);
  for (uint64_t i = 1; i < *count; ++i) {
    ElfSymbol symbol{.raw = *load<Elf64_Sym>(image, table.symbols + i * sizeof(Elf64_Sym))};
    const auto name = strings.c_string(symbol.raw.st_name, kMaxSymbolName);
    if (!name || !budget.spend(name->size()))
      return bad("The name of dynamic symbol {} is beyond the string table, or the names are impossibly long.", i);
    symbol.name = *name;
    symbols.push_back(symbol);
  }
  return symbols;
}

}  // namespace wavejit::codeobject
