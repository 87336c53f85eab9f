// Which devices the process has, and how they present themselves: the boards that WAVEJIT_TARGET or WAVEJIT_BOARD name,
// and the variables that ROCr has for choosing among devices.
//
// Facts: ROCR-Runtime (amd_filter_device.cpp, amd_topology.cpp, flag.h) and libhsakmt (topology.c).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "runtime/hsa/board.h"

namespace wavejit::hsa {

// The boards of a comma-separated list of processors; the error is a complete sentence.
[[nodiscard]] tl::expected<std::vector<Board>, std::string> boards_of_list(std::string_view list);
// Those that the environment names, kDefaultProcessor's if it names none.
[[nodiscard]] tl::expected<std::vector<Board>, std::string> configured_boards();

struct Device {
  Board board;
  uint32_t index = 0;                        // among the configured boards, hidden ones included
  isa::Target target = isa::Target::gfx906;  // that it presents: the board's, or HSA_OVERRIDE_GFX_VERSION's
  codeobject::TargetId target_id;            // the same, with the settings that code objects must match
  std::string uuid;                          // "GPU-0000000077610000"; "GPU-XX" for boards without a serial number
  // The CPUs are node 0.
  [[nodiscard]] uint32_t node() const { return index + 1; }
};

// The variables that select and change devices, null where they are not set.
struct DeviceVariables {
  const char* rocr_visible_devices = nullptr;
  const char* hsa_xnack = nullptr;
  // Of HSA_OVERRIDE_GFX_VERSION_<node>, or else of HSA_OVERRIDE_GFX_VERSION.
  const char* (*gfx_version)(uint32_t node) = nullptr;
  [[nodiscard]] static DeviceVariables of_environment();
};

// The devices of the boards, in the order in which programs find them. The error is a complete sentence: a gfx version
// that is none, or that is of no processor in the table.
[[nodiscard]] tl::expected<std::vector<Device>, std::string> select_devices(std::vector<Board> boards,
                                                                            const DeviceVariables& variables);
[[nodiscard]] std::string uuid_of(const Board& board, uint32_t index);
// Indices of the devices that a value of ROCR_VISIBLE_DEVICES names, in its order. Entries are indices (decimal, or with
// a prefix as in C) and beginnings of UUIDs that fit one device only; the first that is neither, or a device for the
// second time, ends the list.
[[nodiscard]] std::vector<uint32_t> visible_devices(std::string_view value, std::span<const std::string> uuids);

}  // namespace wavejit::hsa
