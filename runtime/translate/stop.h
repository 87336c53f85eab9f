// Translations that nobody waits for any more: they end between two passes, by an exception.
#pragma once

#include <atomic>

namespace wavejit::runtime {

// Thrown out of a translation; no error of it.
struct TranslationStopped {};

// While it lives, translations of this thread end when the flag is set. Nested scopes: the inner one counts.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>& flag) : outer_(flag_) { flag_ = &flag; }
  ~StopScope() { flag_ = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // Throws TranslationStopped if it is time.
  static void check() {
    if (flag_ != nullptr && flag_->load(std::memory_order_relaxed)) throw TranslationStopped();
  }

 private:
  inline static thread_local const std::atomic<bool>* flag_ = nullptr;
  const std::atomic<bool>* const outer_;
};

}  // namespace wavejit::runtime
