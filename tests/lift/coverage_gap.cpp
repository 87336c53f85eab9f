// Opcodes that the reference interpreter executes and the lifter does not, one a line.
#include <fmt/format.h>

#include "frontend/interp/interpreter.h"
#include "frontend/isa/info.h"
#include "frontend/lift/lifter.h"

int main() {
  using namespace wavejit;
  for (unsigned i = 0; i < isa::kNumOpcodes; ++i) {
    const auto opcode = static_cast<isa::Opcode>(i);
    if (interp::Interpreter::supports(opcode) && !lift::supports(static_cast<uint16_t>(i)))
      fmt::print("{}\n", isa::opcode_name(opcode));
  }
}
