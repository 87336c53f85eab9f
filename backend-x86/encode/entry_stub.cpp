// The fixed trampolines between the runtime and translated code. They are part of the program: the interpreter works where
// memory that was written cannot be executed.
#include <cstddef>

#include "backend-x86/compiler.h"
#include "internal/semantics/rounding.h"
#include "internal/wave_state.h"

namespace wavejit::backend {
namespace {

// Both align the stack to what frames of translated code need, so that those hold no older stack pointer and can be moved
// (parking.h), and note where those frames begin.
constexpr int kRunner = offsetof(WaveState, runner_stack);

// Switches MXCSR around the call and clears the upper vector halves before returning to code that may use legacy SSE.
// Arguments: the wave's state, the index of the entry, the code, MXCSR.
__attribute__((naked)) uint32_t entry_stub(WaveState*, uint32_t, CompiledCode::EntryFn, uint32_t) {
  __asm__(
      "push %%rbp\n"
      ".cfi_adjust_cfa_offset 8\n"
      ".cfi_rel_offset %%rbp, 0\n"
      "mov %%rsp, %%rbp\n"
      ".cfi_def_cfa_register %%rbp\n"
      "sub $16, %%rsp\n"
      "and $-64, %%rsp\n"
      "stmxcsr 8(%%rsp)\n"
      "mov %%ecx, (%%rsp)\n"
      "ldmxcsr (%%rsp)\n"
      "mov %%rsp, %c0(%%rdi)\n"
      "call *%%rdx\n"
      "ldmxcsr 8(%%rsp)\n"
      "vzeroupper\n"
      "leave\n"
      ".cfi_def_cfa %%rsp, 8\n"
      "ret" ::"i"(kRunner));
}

// The same without MXCSR.
__attribute__((naked)) uint32_t plain_entry_stub(WaveState*, uint32_t, CompiledCode::EntryFn) {
  __asm__(
      "push %%rbp\n"
      ".cfi_adjust_cfa_offset 8\n"
      ".cfi_rel_offset %%rbp, 0\n"
      "mov %%rsp, %%rbp\n"
      ".cfi_def_cfa_register %%rbp\n"
      "and $-64, %%rsp\n"
      "mov %%rsp, %c0(%%rdi)\n"
      "call *%%rdx\n"
      "vzeroupper\n"
      "leave\n"
      ".cfi_def_cfa %%rsp, 8\n"
      "ret" ::"i"(kRunner));
}

// The f32 fields of MODE as MXCSR: exceptions masked, rounding, FTZ and DAZ where denormals are flushed.
uint32_t mxcsr_of(uint32_t wave_mode) {
  const uint32_t denormals = wave_mode >> mode::kDenormF32Shift;
  return rounding::mxcsr(wave_mode >> mode::kRoundF32Shift, (denormals & 1) != 0, (denormals & 2) != 0);
}

}  // namespace

ExitReason enter(const CompiledCode& code, WaveState& wave, uint32_t entry_index) {
  return static_cast<ExitReason>(entry_stub(&wave, entry_index, code.entry(), mxcsr_of(wave.mode)));
}

PlainEntryFn plain_entry() {
  return plain_entry_stub;
}

}  // namespace wavejit::backend
