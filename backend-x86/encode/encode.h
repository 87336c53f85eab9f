// LIR with host registers -> machine code.
#pragma once

#include <cstdint>
#include <vector>

#include "backend-x86/lir/function.h"

namespace wavejit::backend {

// Offsets [begin, end) of the instruction that carries the mark (lir::Node::mark).
struct MarkedCode {
  uint32_t mark, begin, end;
};

struct EncodedFunction {
  std::vector<MarkedCode> marked;  // in the order of the code
  uint32_t instructions = 0;
};

// Appends the function to the assembler's code, which must have no labels yet: the function's labels get the same ids there.
// If the code has a logger, comments and instructions are logged with their offsets. Errors of the assembler go to its error
// handler; what is encoded then is of no use.
[[nodiscard]] EncodedFunction encode(const lir::Function& function, x86::Assembler& assembler);

}  // namespace wavejit::backend
