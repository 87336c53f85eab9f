// The files by which programs recognise the kernel driver and its devices, as a directory tree: /dev/kfd, /dev/dri,
// /sys/class/kfd, /sys/module/amdgpu, /sys/class/drm, /sys/class/hwmon, /sys/bus/pci. The tree is generated from the boards;
// the preload library (preload.cpp) redirects paths to it. wavejit's own libraries use none of it.
//
// Facts: Linux, Documentation/gpu/amdgpu, amdkfd/kfd_topology.c and kfd_crat.h (names, order and units of properties).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/hsa/board.h"
#include "runtime/hsa/kfd/tree_prefixes.h"

namespace wavejit::hsa {

struct TreeEntry {
  enum class Kind : uint8_t { file, link };
  std::string path;  // absolute, as programs name it
  Kind kind = Kind::file;
  std::string content;  // of a file, or the target of a link
};

// What the tree has from the machine on which it is made.
struct HostFacts {
  uint32_t cpus = 1;
  uint64_t memory_bytes = 0;
  // Names that exist already, which the tree's own must not hide: they are linked to as they are.
  std::vector<std::string> dri_devices;  // in /dev/dri: "card0", "renderD128", "by-path"
  std::vector<std::string> drm_devices;  // in /sys/class/drm: "card0", "version"
  std::vector<std::string> monitors;     // in /sys/class/hwmon: "hwmon0"
  std::vector<std::string> pci_devices;  // in /sys/bus/pci/devices: "0000:01:00.0"
  [[nodiscard]] static HostFacts read();
};

[[nodiscard]] std::vector<TreeEntry> driver_tree(std::span<const Board> boards, const HostFacts& host);

// Writes the tree below `parent`, in a directory named after its content, and returns that. If it is there already, it is
// used as it is. Throws std::filesystem::filesystem_error.
[[nodiscard]] std::filesystem::path write_tree(const std::filesystem::path& parent, std::span<const TreeEntry> entries);

}  // namespace wavejit::hsa
