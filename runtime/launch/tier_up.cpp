#include "runtime/launch/tier_up.h"

#include <algorithm>
#include <utility>

#include "runtime/threads/thread_pool.h"

namespace wavejit::runtime {
namespace {

// What the translation of a byte of GCN code takes: 25 us for an instruction of 6 bytes (docs/performance.md,
// perf/translation_bench).
constexpr uint64_t kNsPerByte = 4'000;
constexpr uint64_t kLeastNs = 1'000'000;  // for a kernel of some ten instructions
constexpr uint64_t kPartWithCpu = 4;

// For how long the process's kernels were interpreted, apart from those that were translated for it, and less what the
// translations that end() has begun were expected to take.
std::atomic<int64_t> g_left_ns{0};

}  // namespace

uint64_t expected_translation_ns(const codeobject::Kernel& kernel) {
  return std::max(kernel.code_size * kNsPerByte, kLeastNs);
}

TierUp::TierUp(std::shared_ptr<Module> module, const codeobject::Kernel& kernel,
               std::vector<TranslationCache::Query> starts, uint32_t threads)
    : module_(std::move(module)),
      starts_(std::move(starts)),
      interpreted_ns_(module_->times(kernel).interpreted_ns),
      expected_ns_(starts_.size() * expected_translation_ns(kernel)),
      enough_ns_(threads < available_cpus() ? expected_ns_ / kPartWithCpu : expected_ns_) {
  add(0);
}

void TierUp::add(uint64_t ns) {
  const uint64_t all = interpreted_ns_.fetch_add(ns, std::memory_order_relaxed) + ns;
  g_left_ns.fetch_add(static_cast<int64_t>(ns), std::memory_order_relaxed);
  if (all >= enough_ns_ && !translation()) begin(std::min(all, expected_ns_));
}

void TierUp::end() {
  if (!translation() && g_left_ns.load(std::memory_order_relaxed) >= static_cast<int64_t>(expected_ns_))
    begin(expected_ns_);
}

void TierUp::begin(uint64_t charge_ns) {
  const std::lock_guard lock(mutex_);
  if (translation_) return;
  BackgroundJob job = translate_in_background(module_, starts_);
  translation_ = std::move(job.translation);
  if (job.is_new) g_left_ns.fetch_sub(static_cast<int64_t>(charge_ns), std::memory_order_relaxed);
  begun_.store(translation_.get(), std::memory_order_release);
}

}  // namespace wavejit::runtime
