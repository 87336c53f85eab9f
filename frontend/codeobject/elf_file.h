// Bounds-checked view of an ELF64 little-endian file: headers, sections, notes, symbols. Used for code objects and for
// the host executables and libraries that carry them. Facts: System V gABI; AMDGPUUsage "ELF Code Object".
#pragma once

#include <elf.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "frontend/codeobject/bytes.h"

namespace wavejit::codeobject {

inline constexpr uint16_t kMachineAmdgpu = 224;      // EM_AMDGPU
inline constexpr uint8_t kOsAbiAmdgpuHsa = 64;       // ELFOSABI_AMDGPU_HSA
inline constexpr uint8_t kSymbolTypeHsaKernel = 10;  // STT_AMDGPU_HSA_KERNEL (V2)

struct ElfNote {
  std::string_view name;  // without the terminating NUL
  uint32_t type = 0;
  ByteView description;
  uint64_t offset = 0;  // of the description in the file
};

inline constexpr uint64_t kMaxSectionName = 4096;
inline constexpr uint64_t kMaxSymbolName = 1u << 20;  // template-heavy C++ reaches tens of KiB

// Bounds the work that a small file can cause by naming the same bytes again and again.
class WorkBudget {
 public:
  explicit WorkBudget(uint64_t limit) : left_(limit) {}
  [[nodiscard]] bool spend(uint64_t amount) {
    if (amount > left_) return false;
    left_ -= amount;
    return true;
  }

 private:
  uint64_t left_;
};
// Symbol names in tables of a file of this size; linkers share tails of names at most a few times.
[[nodiscard]] inline WorkBudget symbol_name_budget(uint64_t file_size) {
  return WorkBudget(4 * file_size + 65536);
}

struct ElfSymbol {
  std::string_view name;
  Elf64_Sym raw{};
  [[nodiscard]] uint8_t type() const { return ELF64_ST_TYPE(raw.st_info); }
  [[nodiscard]] uint8_t binding() const { return ELF64_ST_BIND(raw.st_info); }
  [[nodiscard]] bool defined() const { return raw.st_shndx != SHN_UNDEF; }
};

// The views point into the bytes that were parsed.
class ElfFile {
 public:
  [[nodiscard]] static bool is_elf(ByteView bytes) { return bytes.starts_with("\177ELF"); }
  // Checks the ELF header and both header tables, not what they refer to.
  [[nodiscard]] static Expected<ElfFile> parse(ByteView bytes);

  [[nodiscard]] const Elf64_Ehdr& header() const { return header_; }
  [[nodiscard]] ByteView bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<Elf64_Shdr>& sections() const { return sections_; }

  [[nodiscard]] Expected<std::string_view> section_name(const Elf64_Shdr& section) const;
  [[nodiscard]] Expected<ByteView> section_bytes(const Elf64_Shdr& section) const;
  // Of all PT_NOTE segments, or else of all SHT_NOTE sections.
  [[nodiscard]] Expected<std::vector<ElfNote>> notes() const;
  // Defined symbols with a name and an address, of the section of `section_type` (SHT_SYMTAB or SHT_DYNSYM). `wanted`
  // chooses among them, before their names are read: hand-written assembly has hundreds of thousands of labels.
  [[nodiscard]] Expected<std::vector<ElfSymbol>> symbols(uint32_t section_type, bool (*wanted)(const Elf64_Sym&)) const;

 private:
  ByteView bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace wavejit::codeobject
