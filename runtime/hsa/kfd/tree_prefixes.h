// What the preload library must know of the synthetic tree.
#pragma once

namespace wavejit::hsa {

// Prefixes of the paths that the preload library looks for in the tree, each followed by a slash or the end. A path that
// the tree does not have stays the host's.
inline constexpr const char* kTreePrefixes[] = {
    "/dev/kfd",       "/dev/dri",         "/sys/class/kfd", "/sys/module/amdgpu",
    "/sys/class/drm", "/sys/class/hwmon", "/sys/bus/pci",   "/sys/devices/wavejit"};
// The variable that names the tree's directory to the preload library.
inline constexpr const char* kTreeVariable = "WAVEJIT_DRIVER_TREE";

}  // namespace wavejit::hsa
