#include "runtime/translate/later_samples.h"

#include <utility>

namespace wavejit::runtime {

uint64_t LaterSamples::due_from(uint64_t group) {
  constexpr uint64_t kTimes = 8, kLast = uint64_t{1} << 60;
  for (uint64_t first = kFirst; first < kLast; first *= kTimes)
    for (uint64_t i = 0; i < kGroups; ++i)
      if (const uint64_t due = first + i * first / kTimes; due >= group) return due;
  return UINT64_MAX;
}

std::optional<uint32_t> LaterSamples::add(const interp::Profile& profile, LaneSamples& samples) {
  const std::lock_guard lock(mutex_);
  for (const auto& [pc, at] : profile) sum_[pc].add(sampled(at));
  if (++sampled_ % kGroups != 0) return std::nullopt;
  const SampledCode later = std::exchange(sum_, {});
  const uint32_t anew = anew_.load(std::memory_order_relaxed);
  if (anew == kMostAnew || !samples.replace_if_other(later)) return std::nullopt;
  anew_.store(anew + 1, std::memory_order_release);
  return anew + 1;
}

}  // namespace wavejit::runtime
