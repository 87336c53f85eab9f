// State that all launches on one device share.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/launch/global_sync.h"

namespace wavejit::runtime {

// Default number of waves that a device holds at a time: 64 compute units of GCN, with 40 waves each.
inline constexpr uint32_t kDeviceWaves = 64 * 40;

// Thread-safe. Outlives its launches.
class Device {
 public:
  explicit Device(uint32_t waves = kDeviceWaves) : waves_(waves) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The device of launches that name none.
  static Device& of_process();

  [[nodiscard]] uint32_t waves() const { return waves_; }  // the number that may wait for each other
  [[nodiscard]] GlobalSync& sync() { return sync_; }
  // The global data share: zeros at first, kept from launch to launch, shared by all work-groups.
  [[nodiscard]] std::span<uint8_t> gds() { return gds_; }

 private:
  uint32_t waves_;
  GlobalSync sync_;
  alignas(64) std::array<uint8_t, 64 * 1024> gds_{};  // 64 KiB up to GFX90A
};

}  // namespace wavejit::runtime
