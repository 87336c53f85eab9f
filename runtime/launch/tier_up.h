// Decides when a kernel that begins in the interpreter is worth translating.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/kernel/kernel_times.h"
#include "runtime/translate/background.h"
#include "runtime/translate/module.h"
#include "runtime/translate/translation_cache.h"

namespace wavejit::runtime {

// What the translation of the code that a kernel's waves start in is expected to take.
[[nodiscard]] uint64_t expected_translation_ns(const codeobject::Kernel& kernel);

// Of one launch. Thread-safe.
//
// A program that runs a kernel for a moment ends before its translation does, and a thread that translates takes a CPU
// from those that interpret if they use all. So a kernel is translated once it has been interpreted, in all launches and
// threads, for as long as its translation is expected to take, or for a quarter of that if there is a CPU to spare. A
// program of many kernels of which none runs for that long has some of them translated all the same, for as long as it
// has interpreted in all: the next process finds them on disk.
class TierUp {
 public:
  // `threads`: of the launch.
  TierUp(std::shared_ptr<Module> module, const codeobject::Kernel& kernel, std::vector<TranslationCache::Query> starts,
         uint32_t threads);
  TierUp(const TierUp&) = delete;
  TierUp& operator=(const TierUp&) = delete;

  // Says that a thread has interpreted the kernel for `ns` nanoseconds more. May begin its translation.
  void add(uint64_t ns);
  // Says that the launch has ended. May begin the translation for later processes.
  void end();

  // For how long the kernel must have been interpreted to be translated.
  [[nodiscard]] uint64_t enough_ns() const { return enough_ns_; }
  // Of the kernel; null before it has begun. Lives as long as this object.
  [[nodiscard]] const BackgroundTranslation* translation() const { return begun_.load(std::memory_order_acquire); }

 private:
  void begin(uint64_t charge_ns);

  const std::shared_ptr<Module> module_;
  const std::vector<TranslationCache::Query> starts_;
  std::atomic<uint64_t>& interpreted_ns_;  // the kernel's
  const uint64_t expected_ns_;             // to translate it
  const uint64_t enough_ns_;               // of interpreted_ns_
  std::mutex mutex_;
  std::shared_ptr<const BackgroundTranslation> translation_;  // under the lock
  std::atomic<const BackgroundTranslation*> begun_{nullptr};  // *translation_
};

}  // namespace wavejit::runtime
