// The GPUs that wavejit can present, one for each processor: what the HSA runtime, the synthetic driver files and
// `wavejit exec --target` say of a device comes from this table or from a user's file (board_file.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"

namespace wavejit::hsa {

// One GPU as the driver describes it. Sizes and clocks are the hardware's; nothing in the engine depends on them.
struct Board {
  std::string processor;  // "gfx906"
  isa::Target target;
  std::string name;            // marketing name, as libdrm's amdgpu.ids has it
  std::string asic;            // the driver's name of the chip: "vega20"
  uint32_t family_id = 0;      // AMDGPU_FAMILY_* of amdgpu_drm.h
  uint32_t chip_id = 0;        // PCI device id
  uint32_t pci_revision = 0;   // PCI revision id
  uint32_t revision = 0;       // ASIC revision, HSA_AMD_AGENT_INFO_ASIC_REVISION
  uint32_t compute_units = 0;  // of the whole device
  uint32_t simds_per_cu = 4;
  uint32_t waves_per_simd = 0;  // 10, since GFX90A 8
  uint32_t shader_engines = 0;  // of the whole device
  uint32_t arrays_per_engine = 1;
  uint32_t xccs = 1;              // accelerator complex dies
  uint32_t clock_mhz = 0;         // highest
  uint32_t memory_clock_mhz = 0;  // highest
  uint32_t memory_bus_bits = 0;
  uint32_t memory_mib = 0;  // of the device's own memory; 0: the host's
  uint32_t l1_kib = 0;      // of a compute unit
  uint32_t l2_kib = 0;      // of an XCC
  uint32_t l3_kib = 0;      // of the device; 0: none
  uint32_t cache_line_bytes = 64;
  uint32_t lds_kib = 64;  // of a compute unit
  // As its code objects must have it: unsupported, off or on.
  codeobject::FeatureSetting xnack = codeobject::FeatureSetting::unsupported;
  codeobject::FeatureSetting sramecc = codeobject::FeatureSetting::unsupported;
  bool apu = false;        // shares the host's memory
  bool unique_id = false;  // has a serial number, of which its UUID is made
  // Debian's ROCm libraries have code for it; tests and scripts run on these processors if not told otherwise.
  bool packaged = false;

  [[nodiscard]] uint32_t waves_per_cu() const { return simds_per_cu * waves_per_simd; }
  bool operator==(const Board&) const = default;
};

// The table, in the order of the processors' names.
[[nodiscard]] std::span<const Board> all_boards();
inline constexpr const char* kDefaultProcessor = "gfx906";

// Null if there is no such device.
[[nodiscard]] const Board* find_board(std::string_view processor);
[[nodiscard]] std::string board_names();  // "gfx700, gfx701, ..."

// Major, minor and stepping version of the ISA. gfx90a is 9.0.10.
struct GfxVersion {
  uint32_t major = 0, minor = 0, stepping = 0;
  bool operator==(const GfxVersion&) const = default;
  // As the driver's files have it: 90010.
  [[nodiscard]] uint32_t packed() const { return major * 10000 + minor * 100 + stepping; }
};
[[nodiscard]] GfxVersion gfx_version(std::string_view processor);
// Null if no processor of the table has this version.
[[nodiscard]] const Board* find_board(const GfxVersion& version);

}  // namespace wavejit::hsa
