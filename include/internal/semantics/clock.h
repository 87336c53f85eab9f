// What s_memrealtime counts, and with it the ticks of an HSA agent: the host's steady clock at 100 MHz (Vega ISA manual,
// S_MEMREALTIME: "64-bit 'real time' counter (RTC)"; HIP's wall_clock64). Processors differ in hardware, from 25 to 100 MHz.
#pragma once

#include <chrono>
#include <cstdint>

namespace wavejit {

inline constexpr uint64_t kRealtimeFrequency = 100'000'000;                  // ticks a second
inline constexpr uint64_t kRealtimeNs = 1'000'000'000 / kRealtimeFrequency;  // nanoseconds a tick

[[nodiscard]] inline uint64_t realtime() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) / kRealtimeNs;
}

}  // namespace wavejit
