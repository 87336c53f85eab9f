// What LLVM 17 and later spell differently from LLVM 15, whose spelling the tests have.
#pragma once

#include <string>
#include <string_view>

namespace wavejit::test {

// `source`, one instruction a line, as the assembler of this version of LLVM takes it. The encodings stay the same:
//   buffer_load_dword v8, ... tfe      the register of the status belongs to the operand: v[8:9]
//   image_sample_d v0, v[0:15], ...    no more address registers than the instruction has: v[0:8]
//   v_cndmask_b32_sdwa ... sext(v4)    is no operand of GFX8 and GFX9 any more: the two words as numbers
[[nodiscard]] std::string in_syntax_of(unsigned llvm, std::string_view source);

}  // namespace wavejit::test
