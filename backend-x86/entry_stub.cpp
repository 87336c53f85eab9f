// The fixed trampoline between the runtime and translated code.
#include <xbyak/xbyak.h>

#include "backend-x86/compiler.h"

namespace wavejit::backend {
namespace {

using StubFn = uint32_t (*)(WaveState* wave, uint32_t entry_index, CompiledCode::EntryFn code, uint32_t mxcsr);

// Switches MXCSR around the call and clears the upper vector halves before returning to code that may use legacy SSE.
class EntryStub : public Xbyak::CodeGenerator {
 public:
  EntryStub() : Xbyak::CodeGenerator(4096, Xbyak::DontSetProtectRWE) {
    push(rbp);
    mov(rbp, rsp);
    sub(rsp, 16);
    stmxcsr(dword[rsp + 8]);
    mov(dword[rsp], ecx);
    ldmxcsr(dword[rsp]);
    call(rdx);
    ldmxcsr(dword[rsp + 8]);
    vzeroupper();
    leave();
    ret();
    setProtectModeRE();
  }
};

// Stubs are never destroyed: threads that run kernels may outlive static destruction.
StubFn entry_stub() {
  static const EntryStub& stub = *new EntryStub;
  return stub.getCode<StubFn>();
}

// The same without MXCSR.
class PlainEntryStub : public Xbyak::CodeGenerator {
 public:
  PlainEntryStub() : Xbyak::CodeGenerator(4096, Xbyak::DontSetProtectRWE) {
    sub(rsp, 8);
    call(rdx);
    vzeroupper();
    add(rsp, 8);
    ret();
    setProtectModeRE();
  }
};

// The f32 fields of MODE as MXCSR: exceptions masked, rounding, FTZ and DAZ where denormals are flushed.
uint32_t mxcsr_of(uint32_t wave_mode) {
  static constexpr uint32_t kRounding[4] = {0, 2, 1,
                                            3};  // GCN: even, +inf, -inf, zero; MXCSR.RC: even, -inf, +inf, zero
  uint32_t value = 0x1f80 | kRounding[wave_mode >> mode::kRoundF32Shift & 3] << 13;
  if (!(wave_mode >> mode::kDenormF32Shift & 1)) value |= 1u << 6;
  if (!(wave_mode >> mode::kDenormF32Shift & 2)) value |= 1u << 15;
  return value;
}

}  // namespace

ExitReason enter(const CompiledCode& code, WaveState& wave, uint32_t entry_index) {
  return static_cast<ExitReason>(entry_stub()(&wave, entry_index, code.entry(), mxcsr_of(wave.mode)));
}

PlainEntryFn plain_entry() {
  static const PlainEntryStub& stub = *new PlainEntryStub;
  return stub.getCode<PlainEntryFn>();
}

}  // namespace wavejit::backend
