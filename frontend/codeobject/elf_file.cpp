#include "frontend/codeobject/elf_file.h"

#include <cstring>

namespace wavejit::codeobject {
namespace {

// Entries of a header table; their number is bounded by the file's size before anything is allocated.
template <typename Entry>
Expected<std::vector<Entry>> read_table(ByteView bytes, uint64_t offset, uint64_t count, std::string_view what) {
  if (count > bytes.size() / sizeof(Entry) || !bytes.contains(offset, count * sizeof(Entry))) {
    return bad("The {} header table ({} entries at offset {:#x}) ends beyond the {} bytes of the file.", what, count,
               offset, bytes.size());
  }
  std::vector<Entry> entries(count);
  if (count != 0) std::memcpy(entries.data(), bytes.data() + offset, count * sizeof(Entry));
  return entries;
}

Expected<void> append_notes(ByteView notes, uint64_t file_offset, uint64_t alignment, std::vector<ElfNote>& out) {
  const uint64_t align = alignment == 8 ? 8 : 4;
  uint64_t at = 0;
  while (at < notes.size()) {
    const auto header = notes.get<Elf64_Nhdr>(at);
    if (!header) return bad("The note header at offset {:#x} is cut short.", file_offset + at);
    const uint64_t name_at = at + sizeof(Elf64_Nhdr);
    const uint64_t desc_at = (name_at + header->n_namesz + align - 1) & ~(align - 1);
    const auto name = notes.slice(name_at, header->n_namesz);
    const auto desc = notes.slice(desc_at, header->n_descsz);
    if (!name || !desc) {
      return bad("The note at offset {:#x} (name {} bytes, description {} bytes) ends beyond its section.",
                 file_offset + at, header->n_namesz, header->n_descsz);
    }
    std::string_view text(reinterpret_cast<const char*>(name->data()), name->size());
    text = text.substr(0, text.find('\0'));
    out.push_back({.name = text, .type = header->n_type, .description = *desc, .offset = file_offset + desc_at});
    at = (desc_at + header->n_descsz + align - 1) & ~(align - 1);
  }
  return {};
}

}  // namespace

Expected<ElfFile> ElfFile::parse(ByteView bytes) {
  const auto header = bytes.get<Elf64_Ehdr>(0);
  if (!is_elf(bytes)) return bad("Not an ELF file: it does not start with \\x7fELF.");
  if (!header) return bad("The ELF header is cut short: {} of {} bytes.", bytes.size(), sizeof(Elf64_Ehdr));
  if (header->e_ident[EI_CLASS] != ELFCLASS64) return bad("ELF class {} is not 64-bit.", header->e_ident[EI_CLASS]);
  if (header->e_ident[EI_DATA] != ELFDATA2LSB)
    return bad("ELF data encoding {} is not little-endian.", header->e_ident[EI_DATA]);
  if (header->e_ident[EI_VERSION] != EV_CURRENT) return bad("ELF version {} is unknown.", header->e_ident[EI_VERSION]);
  ElfFile file;
  file.bytes_ = bytes;
  file.header_ = *header;

  if (header->e_phnum != 0) {
    if (header->e_phnum == PN_XNUM) return bad("ELF files with 65535 or more program headers are not supported.");
    if (header->e_phentsize != sizeof(Elf64_Phdr)) {
      return bad("Program headers have {} bytes instead of {}.", header->e_phentsize, sizeof(Elf64_Phdr));
    }
    auto segments = read_table<Elf64_Phdr>(bytes, header->e_phoff, header->e_phnum, "program");
    if (!segments) return forward_error(std::move(segments));
    file.segments_ = *std::move(segments);
  }
  if (header->e_shoff != 0) {
    if (header->e_shentsize != sizeof(Elf64_Shdr)) {
      return bad("Section headers have {} bytes instead of {}.", header->e_shentsize, sizeof(Elf64_Shdr));
    }
    uint64_t count = header->e_shnum;
    if (count == 0) {  // gABI: the real number is in the size field of section 0
      const auto first = bytes.get<Elf64_Shdr>(header->e_shoff);
      if (!first)
        return bad("The section header table at offset {:#x} is beyond the end of the file.", header->e_shoff);
      count = first->sh_size;
    }
    auto sections = read_table<Elf64_Shdr>(bytes, header->e_shoff, count, "section");
    if (!sections) return forward_error(std::move(sections));
    file.sections_ = *std::move(sections);
  }
  return file;
}

Expected<std::string_view> ElfFile::section_name(const Elf64_Shdr& section) const {
  uint32_t index = header_.e_shstrndx;
  if (index == SHN_XINDEX && !sections_.empty()) index = sections_[0].sh_link;
  if (index >= sections_.size()) return bad("The section name table is section {} of {}.", index, sections_.size());
  auto names = section_bytes(sections_[index]);
  if (!names) return forward_error(std::move(names));
  const auto name = names->c_string(section.sh_name, kMaxSectionName);
  if (!name) return bad("A section name at {:#x} is beyond the section name table.", section.sh_name);
  return *name;
}

Expected<ByteView> ElfFile::section_bytes(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return ByteView();
  const auto bytes = bytes_.slice(section.sh_offset, section.sh_size);
  if (!bytes) {
    return bad("A section of {} bytes at offset {:#x} ends beyond the {} bytes of the file.", section.sh_size,
               section.sh_offset, bytes_.size());
  }
  return *bytes;
}

Expected<std::vector<ElfNote>> ElfFile::notes() const {
  std::vector<ElfNote> notes;
  WorkBudget budget(bytes_.size());  // note segments do not overlap
  bool has_segment = false;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE) continue;
    has_segment = true;
    const auto bytes = bytes_.slice(segment.p_offset, segment.p_filesz);
    if (!bytes || !budget.spend(segment.p_filesz)) {
      return bad(
          "The note segment of {} bytes at offset {:#x} ends beyond the {} bytes of the file or overlaps another.",
          segment.p_filesz, segment.p_offset, bytes_.size());
    }
    if (auto done = append_notes(*bytes, segment.p_offset, segment.p_align, notes); !done)
      return forward_error(std::move(done));
  }
  if (has_segment) return notes;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_NOTE) continue;
    auto bytes = section_bytes(section);
    if (!bytes) return forward_error(std::move(bytes));
    if (!budget.spend(section.sh_size))
      return bad("The note section at offset {:#x} overlaps another.", section.sh_offset);
    if (auto done = append_notes(*bytes, section.sh_offset, section.sh_addralign, notes); !done) {
      return forward_error(std::move(done));
    }
  }
  return notes;
}

Expected<std::vector<ElfSymbol>> ElfFile::symbols(uint32_t section_type, bool (*wanted)(const Elf64_Sym&)) const {
  std::vector<ElfSymbol> symbols;
  WorkBudget budget = symbol_name_budget(bytes_.size());
  bool seen = false;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != section_type) continue;
    // gABI: at most one of each kind. Reading many that overlap would let a small file cost a lot.
    if (seen) return bad("The ELF file has more than one symbol table of type {}.", section_type);
    seen = true;
    if (section.sh_entsize != sizeof(Elf64_Sym)) {
      return bad("The symbol table at offset {:#x} has entries of {} bytes instead of {}.", section.sh_offset,
                 section.sh_entsize, sizeof(Elf64_Sym));
    }
    auto table = section_bytes(section);
    if (!table) return forward_error(std::move(table));
    if (section.sh_link >= sections_.size()) {
      return bad("The symbol table at offset {:#x} names string table {} of {} sections.", section.sh_offset,
                 section.sh_link, sections_.size());
    }
    auto strings = section_bytes(sections_[section.sh_link]);
    if (!strings) return forward_error(std::move(strings));
    const uint64_t count = table->size() / sizeof(Elf64_Sym);
    for (uint64_t i = 1; i < count; ++i) {
      ElfSymbol symbol{.raw = *table->get<Elf64_Sym>(i * sizeof(Elf64_Sym))};
      if (symbol.raw.st_name == 0 || !symbol.defined() || symbol.raw.st_shndx == SHN_ABS || !wanted(symbol.raw))
        continue;
      const auto name = strings->c_string(symbol.raw.st_name, kMaxSymbolName);
      if (!name || !budget.spend(name->size())) {
        return bad(
            "The name of symbol {} of the table at offset {:#x} is beyond its string table, or the names are "
            "impossibly long.",
            i, section.sh_offset);
      }
      symbol.name = *name;
      symbols.push_back(symbol);
    }
  }
  return symbols;
}

}  // namespace wavejit::codeobject
