// AMDGPU targets (processors) and the opcode columns ("families") they share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace wavejit::isa {

// Processors of the LLVM AMDGPU User Guide, "Processors" table. e_flags mach values are in target.cpp.
enum class Target : uint8_t {
  gfx600,
  gfx601,
  gfx602,
  gfx700,
  gfx701,
  gfx702,
  gfx703,
  gfx704,
  gfx705,
  gfx801,
  gfx802,
  gfx803,
  gfx805,
  gfx810,
  gfx900,
  gfx902,
  gfx904,
  gfx906,
  gfx908,
  gfx909,
  gfx90a,
  gfx90c,
  gfx940,
  gfx941,
  gfx942,
};

// One opcode column of the instruction tables. Within a family, targets differ only by features.
enum class Family : uint8_t { gfx6, gfx7, gfx8, gfx9, gfx90a, gfx940 };
inline constexpr unsigned kNumFamilies = 6;

[[nodiscard]] Family family_of(Target target);
// Whether M0 limits how far LDS instructions reach (up to GFX8; M0 is an LDS operand no longer in GFX9).
[[nodiscard]] constexpr bool m0_limits_lds(Family family) {
  return family <= Family::gfx8;
}
// Returns true if D16 loads write 0 to the other half of their register. Processors with SRAM ECC write registers as a
// whole; GFX90A and later do so in every mode, gfx906 and gfx908 unless ECC is off. `ecc_off` says that the code is
// compiled for ECC that is off (sramecc-) and may therefore rely on the other half (docs/isa-decisions.md, "VMEM").
[[nodiscard]] bool d16_loads_clear(Target target, bool ecc_off);
[[nodiscard]] std::string_view to_string(Target target);                  // "gfx906"
[[nodiscard]] std::optional<Target> parse_target(std::string_view name);  // "gfx906" only, without feature suffixes
[[nodiscard]] std::optional<Target> target_from_mach(uint32_t ef_amdgpu_mach);
[[nodiscard]] uint32_t mach_of(Target target);  // EF_AMDGPU_MACH value
[[nodiscard]] std::span<const Target> all_targets();

}  // namespace wavejit::isa
