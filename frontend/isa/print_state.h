// Helpers shared by the disassembler's files. Internal to the ISA library.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/isa/instruction.h"

namespace wavejit::isa {

// Registers, constants, special sources and "off", without source modifiers.
void print_plain_operand(std::string& out, const Instruction& inst, const Operand& op);
// With neg/abs/sext as LLVM writes them.
void print_operand(std::string& out, const Instruction& inst, const Operand& op);

// Immediates with a syntax of their own.
void print_waitcnt(std::string& out, const Instruction& inst, uint32_t imm);
void print_hwreg(std::string& out, const Instruction& inst, uint32_t imm);
void print_sendmsg(std::string& out, const Instruction& inst, uint32_t imm);
void print_gpr_idx(std::string& out, uint32_t imm);
void print_swizzle(std::string& out, uint32_t offset);
void print_buffer_format(std::string& out, const Instruction& inst);
void print_dpp_ctrl(std::string& out, unsigned ctrl);

}  // namespace wavejit::isa
