// An object with threads or locks, of which each process has its own.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>

namespace wavejit {

// After fork() the child lacks the object's threads, and has its locks as they were: the child makes a new object at its
// first use, and the parent's is left as it is. Never destroyed, as threads may outlive static destruction.
// Thread-safe. The handler of fork() only stores a pointer, as it must not allocate memory (runtime/hsa/alias.cpp).
template <class T>
class PerProcess {
 public:
  static T& get() {
    static const int begun = pthread_atfork(nullptr, nullptr, [] { g_instance.store(nullptr); });
    (void)begun;
    T* known = g_instance.load(std::memory_order_acquire);
    if (known) return *known;
    auto created = std::make_unique<T>();
    if (g_instance.compare_exchange_strong(known, created.get(), std::memory_order_acq_rel)) known = created.release();
    return *known;
  }

  // Null before the first use.
  static T* if_made() { return g_instance.load(std::memory_order_acquire); }

 private:
  static inline constinit std::atomic<T*> g_instance{nullptr};
};

}  // namespace wavejit
