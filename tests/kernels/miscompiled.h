// Code objects that are wrong through no fault of an engine.
#pragma once

#include <string_view>

namespace wavejit::kernels {

// Why; nullptr for code that has to run right. `directory` is "gfx906" or "gfx906-clang14".
inline const char* miscompiled(std::string_view object, std::string_view directory, std::string_view level) {
  // The IR of this kernel at -O1 is right: llc-15 makes a right code object of it, llc-14 one that inverts the mask of
  // the lanes that leave the loop by `return`, so that the last store is skipped.
  if (object == "stack_machine" && directory.ends_with("-clang14") && level == "O1") return "LLVM 14 miscompiles it";
  // Spilled VGPRs are reloaded before EXEC is restored, so that lanes keep what was in the registers: in __shfl_xor where
  // its branches meet (buffer_load_dword, then s_or_b64 exec), in hip_virtual behind the loop of a virtual call.
  if (WAVEJIT_LLVM == 17 && level == "O0" && (object == "hip_wave_ops" || object == "hip_virtual"))
    return "LLVM 17 reloads registers for some lanes only";
  return nullptr;
}

}  // namespace wavejit::kernels
