// Translations that nobody waits for any more: they end by an exception.
//
// The steps of a translation call StopScope::check() wherever they may have taken long since the last call, about every
// thousand instructions. They leave nothing behind but what destructors release, as for any other exception.
#pragma once

#include <atomic>

namespace wavejit {

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

}  // namespace wavejit
