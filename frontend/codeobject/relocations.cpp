// Dynamic relocations. Facts: AMDGPUUsage "Relocation Records".
//
// A linked code object has ABS64 and RELATIVE64 (GOT entries are filled by these); the 32-bit forms appear in
// hand-written objects. GOTPCREL* need the linker's GOT and never survive a link.
#include <cstring>

#include "frontend/codeobject/dynamic.h"
#include "frontend/codeobject/image.h"

namespace wavejit::codeobject {
namespace {

enum Relocation : uint32_t {
  kNone = 0,
  kAbs32Lo = 1,
  kAbs32Hi = 2,
  kAbs64 = 3,
  kRel32 = 4,
  kRel64 = 5,
  kAbs32 = 6,
  kGotPcRel = 7,
  kGotPcRel32Lo = 8,
  kGotPcRel32Hi = 9,
  kRel32Lo = 10,
  kRel32Hi = 11,
  kRelative64 = 13,
  kRel16 = 14,
};

class Relocator {
 public:
  Relocator(const LoadedImage& image, const DynamicTable& table, const SymbolResolver& resolver)
      : image_(image), table_(table), resolver_(resolver) {}

  Expected<void> apply(uint64_t address, uint64_t size) {
    if (size == 0) return {};
    if (image_.segment_of(address, size) == nullptr) {
      return bad("The relocation table of {} bytes at address {:#x} is outside the loaded segments.", size, address);
    }
    if (size % sizeof(Elf64_Rela) != 0) {
      return bad("The relocation table at address {:#x} has {} bytes, not a multiple of {}.", address, size,
                 sizeof(Elf64_Rela));
    }
    // A relocation may overwrite the table itself; entries are read one by one, so that stays harmless.
    for (uint64_t at = address; at < address + size; at += sizeof(Elf64_Rela)) {
      Elf64_Rela entry;
      std::memcpy(&entry, image_.at(at, sizeof(entry)).data(), sizeof(entry));
      if (auto done = apply_one(entry); !done) return done;
    }
    return {};
  }

 private:
  // The loaded address of a symbol. Undefined weak symbols are 0.
  Expected<uint64_t> symbol_value(uint32_t index) {
    if (index == 0) return 0;
    const uint64_t at = table_.symbols + uint64_t{index} * sizeof(Elf64_Sym);
    if (!table_.has_symbols || at < table_.symbols || image_.segment_of(at, sizeof(Elf64_Sym)) == nullptr) {
      return bad("A relocation refers to dynamic symbol {}, which does not exist.", index);
    }
    Elf64_Sym symbol;
    std::memcpy(&symbol, image_.at(at, sizeof(symbol)).data(), sizeof(symbol));
    if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
    if (symbol.st_shndx != SHN_UNDEF) return symbol.st_value + image_.bias();
    if (resolver_)
      if (const std::optional<uint64_t> address = resolver_(symbol_name(symbol))) return *address;
    if (ELF64_ST_BIND(symbol.st_info) == STB_WEAK) return 0;
    return bad("The code object needs the symbol \"{}\", which it does not define.", symbol_name(symbol));
  }

  std::string symbol_name(const Elf64_Sym& symbol) {
    if (image_.segment_of(table_.strings, table_.string_size) == nullptr) return fmt::format("#{}", symbol.st_name);
    const auto name = ByteView(image_.at(table_.strings, table_.string_size)).c_string(symbol.st_name, kMaxSymbolName);
    return name ? printable(*name) : fmt::format("#{}", symbol.st_name);
  }

  Expected<void> apply_one(const Elf64_Rela& entry) {
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info));
    if (type == kNone) return {};
    const uint64_t place = entry.r_offset + image_.bias();  // P
    const auto addend = static_cast<uint64_t>(entry.r_addend);

    unsigned size = 4;
    if (type == kAbs64 || type == kRel64 || type == kRelative64) size = 8;
    if (type == kRel16) size = 2;
    if (image_.segment_of(entry.r_offset, size) == nullptr) {
      return bad("A relocation of type {} changes {} bytes at address {:#x}, outside the loaded segments.", type, size,
                 entry.r_offset);
    }
    uint64_t value = 0;
    if (type == kRelative64) {
      value = image_.bias() + addend;
    } else {
      auto symbol = symbol_value(static_cast<uint32_t>(ELF64_R_SYM(entry.r_info)));
      if (!symbol) return forward_error(std::move(symbol));
      value = *symbol + addend;
    }
    switch (type) {
      case kAbs64:
      case kRelative64:
        break;
      case kAbs32Lo:
        value &= 0xffffffffu;
        break;
      case kAbs32Hi:
        value >>= 32;
        break;
      case kAbs32:
        if (value > 0xffffffffu) {
          return bad("R_AMDGPU_ABS32 at address {:#x}: the value {:#x} does not fit into 32 bits.", entry.r_offset,
                     value);
        }
        break;
      case kRel32:
      case kRel32Lo:
        value = (value - place) & 0xffffffffu;
        break;
      case kRel32Hi:
        value = (value - place) >> 32;
        break;
      case kRel64:
        value -= place;
        break;
      case kRel16: {
        // s_branch's SIMM16: dwords from the next instruction.
        const auto distance = static_cast<int64_t>(value - place - 4);
        if (distance % 4 != 0 || distance / 4 < INT16_MIN || distance / 4 > INT16_MAX) {
          return bad("R_AMDGPU_REL16 at address {:#x}: the target is {} bytes away, out of reach.", entry.r_offset,
                     distance);
        }
        value = static_cast<uint16_t>(distance / 4);
        break;
      }
      case kGotPcRel:
      case kGotPcRel32Lo:
      case kGotPcRel32Hi:
        return bad("Relocation type {} at address {:#x} needs a linker: link the object with ld.lld -shared.", type,
                   entry.r_offset);
      default:
        return bad("Relocation type {} at address {:#x} is unknown.", type, entry.r_offset);
    }
    std::memcpy(image_.at(entry.r_offset, size).data(), &value, size);
    return {};
  }

  const LoadedImage& image_;
  const DynamicTable& table_;
  const SymbolResolver& resolver_;
};

}  // namespace

Expected<void> LoadedImage::relocate(const ElfFile& elf, const SymbolResolver& resolver) {
  auto read = read_dynamic_table(elf);
  if (!read) return forward_error(std::move(read));
  const DynamicTable& table = *read;
  if (table.rel_size != 0)
    return bad("The code object has relocations without addends (DT_REL), which AMDGPU does not use.");
  if (table.relr_size != 0) return bad("The code object has packed relocations (DT_RELR), which are not supported.");
  // Tables come from the file; one in .bss would be all zeros and could be of any size.
  if (table.rela_size > elf.bytes().size() || table.jump_size > elf.bytes().size()) {
    return bad("The relocation tables ({} and {} bytes) are larger than the file.", table.rela_size, table.jump_size);
  }
  Relocator relocator(*this, table, resolver);
  if (auto done = relocator.apply(table.rela, table.rela_size); !done) return done;
  return relocator.apply(table.jump, table.jump_size);
}

}  // namespace wavejit::codeobject
