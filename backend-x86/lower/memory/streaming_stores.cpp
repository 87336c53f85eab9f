// Stores past the caches (non-temporal), for launches that write more than caches keep until it is read. Such a store needs
// no line from memory first.
//
// The processor does not order these stores, neither among each other nor with later ones. So only a kernel with a single
// store outside of loops can have them: a wave executes it at most once, and others see nothing else of the wave. The runtime
// executes a fence before others see that the launch has ended.
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

namespace {
// What a launch writes, in bytes, for this to pay. On an Intel Xeon (model 207, 2 MiB of second-level cache) 32 MiB and more
// gain even if they are read again at once, and 8 MiB lose if they are (docs/performance.md).
constexpr uint32_t kManyBytes = 32u << 20;
}  // namespace

// Emits the access of a chunk whose lanes are all on. The launch decides between two copies of a store.
void MemoryAccess::all_lanes(const Gp& pointer, const std::function<void()>& access) {
  if (&inst_ != ctx_.streaming_store) return access();
  const Label streaming = cc_.new_label(), plain = cc_.new_label(), done = cc_.new_label();
  const uint32_t items = kManyBytes / (mem_.bytes * mem_.count);
  cc_.cmp(ctx_.wave_field(offsetof(WaveState, streamed_items), 4), asmjit::imm(items));
  cc_.j(x86::CondCode::kAE, streaming);
  cc_.bind(plain);
  access();
  cc_.bind(done);
  ctx_.cold([&] {
    cc_.bind(streaming);
    const Gp address = cc_.new_gp64();
    cc_.lea(address, x86::ptr(pointer, static_cast<int32_t>(disp_)));
    cc_.test(address.r32(), asmjit::imm(isa_.bytes() - 1));
    cc_.j(x86::CondCode::kNE, plain);
    streaming_ = true;
    access();
    streaming_ = false;
    cc_.jmp(done);
  });
}

void MemoryAccess::store_all_lanes(const Mem& at, const Vec& v) {
  streaming_ ? isa_.stream(at, v) : isa_.store(at, v, nullptr);
}

}  // namespace wavejit::backend
