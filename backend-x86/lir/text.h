// Text form of LIR, for tests, messages and dumps. A line is a node:
//
//   function avx512 stack 64
//   registers v0:r64 "state" v1:r64 v2:zmm v3:mask16 v4:zmm
//   variable v5 256 align 64
//   arguments v0 v1
//   L0:
//     ; a comment
//     vaddps v2{v3}{z}, v4, [v0 + v1*8 + 16]:64
//     vmulps v2, v4, v2, {rz-sae}
//     vmulps v2, v4, [L9]:4{1to16}
//     lock xadd [v0]:4, v1.r32 !mark 3
//     lea v1, [v5]
//     call [L8]:8 (v1) -> v1
//     result v1
//   exit L1:
//
// Virtual registers are v and their index. They are declared in order, before their use. Operands name the view of a
// register where it is not the whole register (v1.r32). Host registers have their x86 names. A memory operand is base +
// index * scale + displacement; its size is in bytes. A memory operand without a base has an absolute address of 64
// bits. `home` precedes the base if the operand is a register's place on the stack.
//
// Parsing what print() gives makes an equal function, with two exceptions: Node::recorded is not part of the text, and
// labels that no node names are lost.
#pragma once

#include <string>
#include <string_view>

#include "backend-x86/lir/function.h"
#include "internal/error.h"

namespace wavejit::backend::lir {

[[nodiscard]] std::string print(const Function& function);
// One line without indentation and end of line.
[[nodiscard]] std::string print(const Function& function, const Node& node);
// Fills a new function. Errors name the line; the function is incomplete after one.
[[nodiscard]] Expected<void> parse(std::string_view text, Function& into);

}  // namespace wavejit::backend::lir
