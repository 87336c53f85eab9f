// Whether waves of a translated kernel still do what they did when it was translated.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "frontend/interp/profile.h"
#include "runtime/translate/lane_samples.h"

namespace wavejit::runtime {

// Of a kernel. Thread-safe.
//
// Some of its work-groups are interpreted for it, in the order in which they begin in all launches: four from the 4,096th on,
// and four each time that there have been eight times as many.
class LaterSamples {
 public:
  static constexpr uint64_t kFirst = 1 << 12, kGroups = 4;
  static constexpr uint32_t kMostAnew = 2;

  // The first work-group at or behind `group` that is interpreted.
  [[nodiscard]] static uint64_t due_from(uint64_t group);

  // Of launches that have ended.
  void count(uint64_t groups) { groups_.fetch_add(groups, std::memory_order_relaxed); }
  [[nodiscard]] uint64_t groups() const { return groups_.load(std::memory_order_relaxed); }

  // Adds what a work-group did. With the last one of four: if a translation that chooses by them would be another one than that
  // by `samples`, they take the place of these, and the kernel is to be translated anew. Returns how often that has been so.
  [[nodiscard]] std::optional<uint32_t> add(const interp::Profile& profile, LaneSamples& samples);
  // How often the kernel is, or is about to be, translated anew.
  [[nodiscard]] uint32_t anew() const { return anew_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> groups_{0};
  std::atomic<uint32_t> anew_{0};
  std::mutex mutex_;  // of what is below
  SampledCode sum_;
  uint64_t sampled_ = 0;  // work-groups
};

}  // namespace wavejit::runtime
