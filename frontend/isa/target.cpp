#include "frontend/isa/target.h"

#include <array>

#include "internal/check.h"

namespace wavejit::isa {
namespace {

struct TargetRow {
  Target target;
  std::string_view name;
  Family family;
  uint32_t mach;  // EF_AMDGPU_MACH_AMDGCN_*, LLVM AMDGPU User Guide, "AMDGPU ELF Header e_flags"
};

constexpr TargetRow kTargets[] = {
    {Target::gfx600, "gfx600", Family::gfx6, 0x20},   {Target::gfx601, "gfx601", Family::gfx6, 0x21},
    {Target::gfx602, "gfx602", Family::gfx6, 0x3a},   {Target::gfx700, "gfx700", Family::gfx7, 0x22},
    {Target::gfx701, "gfx701", Family::gfx7, 0x23},   {Target::gfx702, "gfx702", Family::gfx7, 0x24},
    {Target::gfx703, "gfx703", Family::gfx7, 0x25},   {Target::gfx704, "gfx704", Family::gfx7, 0x26},
    {Target::gfx705, "gfx705", Family::gfx7, 0x3b},   {Target::gfx801, "gfx801", Family::gfx8, 0x28},
    {Target::gfx802, "gfx802", Family::gfx8, 0x29},   {Target::gfx803, "gfx803", Family::gfx8, 0x2a},
    {Target::gfx805, "gfx805", Family::gfx8, 0x3c},   {Target::gfx810, "gfx810", Family::gfx8, 0x2b},
    {Target::gfx900, "gfx900", Family::gfx9, 0x2c},   {Target::gfx902, "gfx902", Family::gfx9, 0x2d},
    {Target::gfx904, "gfx904", Family::gfx9, 0x2e},   {Target::gfx906, "gfx906", Family::gfx9, 0x2f},
    {Target::gfx908, "gfx908", Family::gfx9, 0x30},   {Target::gfx909, "gfx909", Family::gfx9, 0x31},
    {Target::gfx90a, "gfx90a", Family::gfx90a, 0x3f}, {Target::gfx90c, "gfx90c", Family::gfx9, 0x32},
    {Target::gfx940, "gfx940", Family::gfx940, 0x40}, {Target::gfx941, "gfx941", Family::gfx940, 0x4b},
    {Target::gfx942, "gfx942", Family::gfx940, 0x4c},
};

constexpr auto kAllTargets = [] {
  std::array<Target, std::size(kTargets)> all{};
  for (size_t i = 0; i < std::size(kTargets); ++i) all[i] = kTargets[i].target;
  return all;
}();

// Rows are looked up by index.
static_assert([] {
  for (size_t i = 0; i < std::size(kTargets); ++i)
    if (static_cast<size_t>(kTargets[i].target) != i) return false;
  return true;
}());

const TargetRow& row(Target target) {
  const auto index = static_cast<size_t>(target);
  WAVEJIT_CHECK(index < std::size(kTargets));
  return kTargets[index];
}

}  // namespace

Family family_of(Target target) {
  return row(target).family;
}
bool d16_loads_clear(Target target, bool ecc_off) {
  if (family_of(target) >= Family::gfx90a) return true;
  return (target == Target::gfx906 || target == Target::gfx908) && !ecc_off;
}
std::string_view to_string(Target target) {
  return row(target).name;
}
uint32_t mach_of(Target target) {
  return row(target).mach;
}
std::span<const Target> all_targets() {
  return kAllTargets;
}

std::optional<Target> parse_target(std::string_view name) {
  for (const TargetRow& t : kTargets)
    if (t.name == name) return t.target;
  return std::nullopt;
}

std::optional<Target> target_from_mach(uint32_t ef_amdgpu_mach) {
  for (const TargetRow& t : kTargets)
    if (t.mach == ef_amdgpu_mach) return t.target;
  return std::nullopt;
}

}  // namespace wavejit::isa
