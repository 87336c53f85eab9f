// Facts about an opcode that do not depend on its operands, straight from its table row.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/isa/instruction.h"

namespace wavejit::isa {

// Implicit state an instruction reads or writes beyond its operands.
struct Implicit {
  bool reads_scc : 1, writes_scc : 1;
  bool reads_vcc : 1, writes_vcc : 1;    // only where VCC is not an operand (v_div_fmas, s_cbranch_vccz)
  bool reads_exec : 1, writes_exec : 1;  // s_*_saveexec, v_cmpx; every VALU/memory op depends on EXEC anyway
  bool reads_m0 : 1, writes_m0 : 1;
  bool reads_mode : 1, writes_mode : 1;
};

enum class ControlFlow : uint8_t {
  none,
  branch,       // to operand `target`
  cond_branch,  // to operand `target`
  jump,         // to an address in registers: s_setpc, s_rfe
  fork,         // s_cbranch_g_fork, s_cbranch_i_fork, s_cbranch_join: here or elsewhere, as a stack of addresses has it
  call,         // s_swappc (address in src0), s_call (operand `target`)
  end,
  barrier,
  trap,
};

struct OpcodeInfo {
  std::string_view name;
  Format format;  // base format of the row
  Implicit implicit;
  ControlFlow control_flow;
  bool is_memory;  // SMEM and vector memory
  bool is_store;
  bool is_atomic;
  bool is_cross_lane;  // reads other lanes' registers irrespective of DPP (readlane, permute, swizzle, mfma, ...)
  bool is_graphics;    // EXP, VINTRP, image sampling with derivatives: decoded and printed, never executed
  std::array<int16_t, kNumFamilies> number;  // opcode number in the base format per family; -1 where absent
};

[[nodiscard]] const OpcodeInfo& info(Opcode opcode);
// Where an instruction with an operand `target` branches to.
[[nodiscard]] std::optional<uint64_t> branch_target(const Instruction& inst);
[[nodiscard]] bool available(Opcode opcode, Target target);

}  // namespace wavejit::isa
