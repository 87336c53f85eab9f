#include "runtime/hsa/debug_map.h"

#include <link.h>

#include <atomic>
#include <mutex>

// A debugger that sets a breakpoint here is told of every change.
extern "C" __attribute__((noinline)) void wavejit_loader_debug_state() {
  asm volatile("");
}

// r_version counts ROCm's interface to the trap handler; 11 is that of ROCm 7.2 (ROCR-Runtime, Runtime::Load). The engine
// has no trap handler that a debugger could use: a debugger finds the code, and attaches to no wave.
extern "C" __attribute__((visibility("default"))) r_debug _amdgpu_r_debug;
r_debug _amdgpu_r_debug = {11, nullptr, 0, r_debug::RT_CONSISTENT, 0};

namespace wavejit::hsa {
namespace {

std::mutex& list_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

template <typename Change>
void change_list(decltype(r_debug::r_state) state, Change&& change) {
  const std::lock_guard lock(list_mutex());
  _amdgpu_r_debug.r_brk = reinterpret_cast<ElfW(Addr)>(&wavejit_loader_debug_state);
  const std::atomic_ref current(_amdgpu_r_debug.r_state);
  current.store(state, std::memory_order_release);
  wavejit_loader_debug_state();
  change();
  current.store(r_debug::RT_CONSISTENT, std::memory_order_release);
  wavejit_loader_debug_state();
}

}  // namespace

void publish(LoadedObject& object) {
  change_list(r_debug::RT_ADD, [&] {
    link_map& entry = object.debug_entry;
    if (entry.l_name) return;
    entry.l_addr = object.module->object().load_bias();
    entry.l_name = object.uri.data();
    // At the end, as the dynamic linker does.
    link_map** next = &_amdgpu_r_debug.r_map;
    while (*next) {
      entry.l_prev = *next;
      next = &(*next)->l_next;
    }
    *next = &entry;
  });
}

void retract(LoadedObject& object) {
  change_list(r_debug::RT_DELETE, [&] {
    link_map& entry = object.debug_entry;
    if (!entry.l_name) return;
    (entry.l_prev ? entry.l_prev->l_next : _amdgpu_r_debug.r_map) = entry.l_next;
    if (entry.l_next) entry.l_next->l_prev = entry.l_prev;
    entry = {};
  });
}

}  // namespace wavejit::hsa
