// The GPUs that wavejit has devices of, as the HSA runtime describes them and `wavejit exec --target` names them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "frontend/isa/target.h"

namespace wavejit::hsa {

// What is said of a processor: the figures of the usual board with it, as ROCm's tools print them.
struct Board {
  std::string_view processor;  // "gfx906"
  isa::Target target;
  const char* product;
  uint32_t chip_id;   // the PCI device id
  uint32_t revision;  // rocSPARSE and rocPRIM take gfx908 below 2 for silicon that cannot wait without sleeping
  uint32_t compute_units;
  uint32_t clock_mhz;
  uint32_t memory_clock_mhz;
  uint32_t memory_bus_bits;
  uint32_t l2_bytes;
  uint32_t shader_engines;
};

inline constexpr std::array<Board, 5> kBoards = {{
    {"gfx803", isa::Target::gfx803, "AMD Radeon RX 580 (wavejit)", 0x67df, 1, 36, 1340, 2000, 256, 2 << 20, 4},
    {"gfx900", isa::Target::gfx900, "AMD Radeon RX Vega 64 (wavejit)", 0x687f, 1, 64, 1630, 945, 2048, 4 << 20, 4},
    {"gfx906", isa::Target::gfx906, "AMD Radeon VII (wavejit)", 0x66af, 1, 60, 1800, 1000, 4096, 8 << 20, 4},
    {"gfx908", isa::Target::gfx908, "AMD Instinct MI100 (wavejit)", 0x738c, 2, 120, 1502, 1200, 4096, 8 << 20, 8},
    {"gfx90a", isa::Target::gfx90a, "AMD Instinct MI210 (wavejit)", 0x740f, 1, 104, 1700, 1600, 4096, 8 << 20, 8},
}};
inline constexpr const char* kDefaultProcessor = "gfx906";

// Null if there is no such device.
[[nodiscard]] inline const Board* find_board(std::string_view processor) {
  const auto* board =
      std::find_if(kBoards.begin(), kBoards.end(), [&](const Board& b) { return b.processor == processor; });
  return board == kBoards.end() ? nullptr : board;
}

// "gfx803, gfx900, ..."
[[nodiscard]] inline std::string board_names() {
  std::string names;
  for (const Board& board : kBoards) (names += names.empty() ? "" : ", ") += board.processor;
  return names;
}

// Calls f(name) for the names of a comma-separated list, which may be empty ones, until it returns false.
template <typename F>
void for_each_processor(std::string_view list, F f) {
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (!f(list.substr(at, end - at))) return;
    at = end + 1;
  }
}

}  // namespace wavejit::hsa
