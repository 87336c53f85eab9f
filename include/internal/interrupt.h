// S_SENDMSG with MSG_INTERRUPT, by which waves tell the host that they have changed something it waits for.
#pragma once

#include <atomic>
#include <cstdint>

namespace wavejit {

// `data` is M0[23:0]. Called by the threads that execute waves, several at a time; must return soon and not throw.
using InterruptHandler = void (*)(uint32_t data);

// Of the process; null where nobody listens, as nobody does but the HSA runtime.
inline std::atomic<InterruptHandler> g_interrupt_handler{nullptr};

inline void raise_interrupt(uint32_t m0) {
  if (const InterruptHandler handler = g_interrupt_handler.load(std::memory_order_acquire)) handler(m0 & 0xffffff);
}

}  // namespace wavejit
