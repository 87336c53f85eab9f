// Every AMDGPU processor that a code object can name, also those wavejit cannot run: containers hold them side by side.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "frontend/codeobject/code_object.h"

namespace wavejit::codeobject {

struct Processor {
  std::string_view name;  // "gfx906"
  uint32_t mach;          // EF_AMDGPU_MACH value
  uint8_t major;          // GFX major version
  bool xnack, sramecc;    // whether the processor has the feature (AMDGPUUsage "Processors", column Target Features)
  bool agprs;             // has accumulation VGPRs (MAI)
  bool unified_vgprs;     // AGPRs are the upper part of the VGPR allocation (GFX90A on)
};

[[nodiscard]] std::span<const Processor> all_processors();
[[nodiscard]] const Processor* find_processor(std::string_view name);
[[nodiscard]] const Processor* find_processor_by_mach(uint32_t mach);
// Whether `generic` ("gfx9-generic") covers `processor`.
[[nodiscard]] bool generic_covers(std::string_view generic, std::string_view processor);

// Like parse_target_id, but a processor that is not in the table is kept by name: a bundle may be newer than wavejit.
[[nodiscard]] Expected<TargetId> parse_target_id_any_processor(std::string_view text);

// Target id of an ELF from its ABI version and e_flags (V3 on; V2 uses its ISA note, see v2_target_id).
[[nodiscard]] Expected<TargetId> target_id_from_flags(unsigned version, uint32_t e_flags);
// Target id of a V2 code object from note NT_AMD_HSA_ISA_VERSION.
[[nodiscard]] Expected<TargetId> v2_target_id(uint32_t major, uint32_t minor, uint32_t stepping);

}  // namespace wavejit::codeobject
