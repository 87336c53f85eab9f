// The table opcode -> handler. Each unit (SALU, VALU integer, DS, ...) has its own file and adds its rows.
#pragma once

#include <array>

#include "frontend/isa/instruction.h"

namespace wavejit::lift {

class Context;
using Handler = void (*)(Context&);

class HandlerTable {
 public:
  void add(isa::Opcode opcode, Handler handler);
  [[nodiscard]] Handler find(isa::Opcode opcode) const { return handlers_[static_cast<unsigned>(opcode)]; }

 private:
  std::array<Handler, isa::kNumOpcodes> handlers_{};
};

void add_control(HandlerTable& table);
void add_salu(HandlerTable& table);
void add_salu_compare(HandlerTable& table);
void add_smem(HandlerTable& table);
void add_valu_int(HandlerTable& table);
void add_valu_int16(HandlerTable& table);
void add_valu_fp32(HandlerTable& table);
void add_valu_fp64(HandlerTable& table);
void add_valu_fp16(HandlerTable& table);
void add_packed(HandlerTable& table);
void add_convert(HandlerTable& table);
void add_fp8(HandlerTable& table);
void add_compare(HandlerTable& table);
void add_cross_lane(HandlerTable& table);
void add_matrix(HandlerTable& table);
void add_ds(HandlerTable& table);
void add_flat(HandlerTable& table);
void add_buffer(HandlerTable& table);
void add_buffer_format(HandlerTable& table);
void add_mimg(HandlerTable& table);
void add_indexing(HandlerTable& table);

[[nodiscard]] Handler handler_for(isa::Opcode opcode);  // null when there is none

// In waves that record exceptions: in front of each vector instruction.
void record_exceptions(Context& c);

// Whether the instruction multiplies dense matrices.
[[nodiscard]] bool is_matrix_product(isa::Opcode opcode);

// Whether a matrix instruction has modifiers that exist; true for all others.
[[nodiscard]] bool can_lift_matrix(const isa::Instruction& inst);

// Whether this instruction, with its modifiers and operands, can be lifted.
[[nodiscard]] bool can_lift(const isa::Instruction& inst);

}  // namespace wavejit::lift
