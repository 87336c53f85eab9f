// Stores past the caches (non-temporal), for launches that write more than caches keep until it is read. Such a store needs
// no line from memory first.
//
// The processor does not order these stores, neither among each other nor with later ones. So only a kernel with a single
// store outside of loops can have them: a wave executes it at most once, and others see nothing else of the wave. The runtime
// executes a fence before others see that the launch has ended.
#include "backend-x86/lower/memory/streaming_stores.h"

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

namespace {
// What a launch writes, in bytes, for this to pay. On an Intel Xeon (model 207, 2 MiB of second-level cache) 32 MiB and more
// gain even if they are read again at once, and 8 MiB lose if they are (docs/performance.md).
constexpr uint32_t kManyBytes = 32u << 20;
}  // namespace

void all_lanes(MemoryAccess& access, const Gp& pointer, const std::function<void()>& body) {
  if (&access.inst != access.ctx.streaming_store) return body();
  const Label streaming = access.cc.new_label(), plain = access.cc.new_label(), done = access.cc.new_label();
  const uint32_t items = kManyBytes / (access.mem.bytes * access.mem.count);
  access.cc.cmp(access.ctx.wave_field(offsetof(WaveState, streamed_items), 4), asmjit::imm(items));
  access.cc.j(x86::CondCode::kAE, streaming);
  access.cc.bind(plain);
  body();
  access.cc.bind(done);
  access.ctx.cold([&] {
    access.cc.bind(streaming);
    const Gp address = access.cc.new_gp64();
    access.cc.lea(address, x86::ptr(pointer, static_cast<int32_t>(access.disp)));
    access.cc.test(address.r32(), asmjit::imm(access.isa.bytes() - 1));
    access.cc.j(x86::CondCode::kNE, plain);
    access.streaming = true;
    body();
    access.streaming = false;
    access.cc.jmp(done);
  });
}

void store_all_lanes(MemoryAccess& access, const Mem& at, const Vec& v) {
  access.streaming ? access.isa.stream(at, v) : access.isa.store(at, v, nullptr);
}

}  // namespace wavejit::backend
