#include "frontend/codeobject/identity.h"

#include <optional>

#include "frontend/codeobject/processors.h"

namespace wavejit::codeobject {
namespace {

constexpr uint32_t kNoteIsaVersion = 3;    // NT_AMD_HSA_ISA_VERSION, owner "AMD" (V2)
constexpr unsigned kNewestAbiVersion = 4;  // ELFABIVERSION_AMDGPU_HSA_V6

std::string_view os_abi_name(unsigned os_abi) {
  switch (os_abi) {
    case 65:
      return "amdpal";
    case 66:
      return "mesa3d";
    default:
      return "not amdhsa";
  }
}

}  // namespace

Expected<CodeObjectIdentity> identify_code_object(const ElfFile& elf, const std::vector<ElfNote>& notes) {
  const Elf64_Ehdr& header = elf.header();
  if (header.e_machine != kMachineAmdgpu) {
    return bad("The ELF file is for machine {}, not AMDGPU ({}).", header.e_machine, kMachineAmdgpu);
  }
  const unsigned os_abi = header.e_ident[EI_OSABI], abi_version = header.e_ident[EI_ABIVERSION];
  if (os_abi != kOsAbiAmdgpuHsa) {
    return make_error(ErrorCode::kUnsupported,
                      fmt::format("The code object's OS ABI is {} ({}); wavejit runs amdhsa ({}) code objects.", os_abi,
                                  os_abi_name(os_abi), kOsAbiAmdgpuHsa));
  }
  if (abi_version > kNewestAbiVersion) {
    return make_error(ErrorCode::kUnsupported,
                      fmt::format("The code object's ABI version is {}; wavejit reads V2 to V6 (0 to {}).", abi_version,
                                  kNewestAbiVersion));
  }
  if (header.e_type == ET_REL) {
    return bad(
        "This is a relocatable object file (ET_REL), not a linked code object; link it: ld.lld -shared FILE.o -o "
        "FILE.co");
  }
  if (header.e_type != ET_DYN) return bad("The ELF type is {}, not a shared object (ET_DYN).", header.e_type);

  CodeObjectIdentity identity{.version = abi_version + 2};
  std::optional<Expected<TargetId>> target;
  if (identity.version == 2) {
    for (const ElfNote& note : notes) {
      if (note.name != "AMD" || note.type != kNoteIsaVersion) continue;
      // vendor and architecture name sizes (u16), then major, minor, stepping (u32), then the names.
      const auto major = note.description.get<uint32_t>(4);
      const auto minor = note.description.get<uint32_t>(8);
      const auto stepping = note.description.get<uint32_t>(12);
      if (!major || !minor || !stepping) return bad("The ISA note at offset {:#x} is cut short.", note.offset);
      target = v2_target_id(*major, *minor, *stepping);
      break;
    }
  }
  if (!target) target = target_id_from_flags(identity.version, header.e_flags);
  if (!*target) return forward_error(std::move(*target));
  identity.target = **std::move(target);
  return identity;
}

}  // namespace wavejit::codeobject
