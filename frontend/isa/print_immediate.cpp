// Immediates that have a syntax of their own: s_waitcnt, hwreg, sendmsg, gpr_idx, swizzle, buffer formats, DPP
// controls.
#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <string_view>

#include "frontend/isa/decode_state.h"
#include "frontend/isa/print_state.h"

namespace wavejit::isa {
namespace {

template <typename... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

bool before_gfx9(const Instruction& inst) {
  return family_of(inst.target) < Family::gfx9;
}

}  // namespace

// vmcnt has six bits in two pieces from GFX9 on. A counter that is not waited for (all ones) is left out.
void print_waitcnt(std::string& out, const Instruction& inst, uint32_t imm) {
  const bool old = before_gfx9(inst);
  const uint32_t vm = bits(imm, 3, 0) | (old ? 0 : bits(imm, 15, 14) << 4), vm_max = old ? 15 : 63;
  const uint32_t exp = bits(imm, 6, 4), lgkm = bits(imm, 11, 8);
  const bool all = vm == vm_max && exp == 7 && lgkm == 15;
  const char* space = "";
  if (all || vm != vm_max) {
    append(out, "vmcnt({})", vm);
    space = " ";
  }
  if (all || exp != 7) {
    append(out, "{}expcnt({})", space, exp);
    space = " ";
  }
  if (all || lgkm != 15) append(out, "{}lgkmcnt({})", space, lgkm);
}

void print_hwreg(std::string& out, const Instruction& inst, uint32_t imm) {
  static constexpr std::string_view kNames[] = {"",
                                                "MODE",
                                                "STATUS",
                                                "TRAPSTS",
                                                "HW_ID",
                                                "GPR_ALLOC",
                                                "LDS_ALLOC",
                                                "IB_STS",
                                                "",
                                                "",
                                                "",
                                                "",
                                                "",
                                                "",
                                                "",
                                                "SH_MEM_BASES",
                                                "TBA_LO",
                                                "TBA_HI",
                                                "TMA_LO",
                                                "TMA_HI",
                                                "XCC_ID",
                                                "SQ_PERF_SNAPSHOT_DATA",
                                                "SQ_PERF_SNAPSHOT_DATA1",
                                                "SQ_PERF_SNAPSHOT_PC_LO",
                                                "SQ_PERF_SNAPSHOT_PC_HI"};
  constexpr unsigned kFirstOfGfx940 = 20;
  const unsigned id = bits(imm, 5, 0), offset = bits(imm, 10, 6), width = bits(imm, 15, 11) + 1;
  const unsigned known = before_gfx9(inst)                          ? 8
                         : family_of(inst.target) == Family::gfx940 ? std::size(kNames)
                                                                    : kFirstOfGfx940;
  out += "hwreg(";
  if (id < known && !kNames[id].empty())
    append(out, "HW_REG_{}", kNames[id]);
  else
    append(out, "{}", id);
  if (offset != 0 || width != 32) append(out, ", {}, {}", offset, width);
  out += ')';
}

void print_sendmsg(std::string& out, const Instruction& inst, uint32_t imm) {
  static constexpr std::string_view kMessages[] = {"",
                                                   "INTERRUPT",
                                                   "GS",
                                                   "GS_DONE",
                                                   "SAVEWAVE",
                                                   "STALL_WAVE_GEN",
                                                   "HALT_WAVES",
                                                   "ORDERED_PS_DONE",
                                                   "EARLY_PRIM_DEALLOC",
                                                   "GS_ALLOC_REQ",
                                                   "GET_DOORBELL",
                                                   "",
                                                   "",
                                                   "",
                                                   "",
                                                   "SYSMSG"};
  static constexpr std::string_view kGsOps[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
  static constexpr std::string_view kSystemOps[] = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD",
                                                    "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC"};
  const unsigned id = bits(imm, 3, 0), op = bits(imm, 6, 4), stream = bits(imm, 9, 8);
  const bool gs = id == 2 || id == 3, system = id == 15;
  const bool gfx940 = family_of(inst.target) == Family::gfx940;  // has no SYSMSG_OP_HOST_TRAP_ACK
  std::string_view name = kMessages[id];
  if (before_gfx9(inst) && id >= 5 && id <= 10) name = "";
  if (family_of(inst.target) < Family::gfx8 && id == 4) name = "";
  const bool op_valid = gs       ? op <= 3 && (op != 0 || id == 3)
                        : system ? op >= 1 && op <= 4 && (op != 3 || !gfx940)
                                 : op == 0;
  const bool has_stream = gs && op != 0;
  if (!name.empty() && op_valid && (has_stream || stream == 0)) {
    append(out, "sendmsg(MSG_{}", name);
    if (gs) append(out, ", {}", kGsOps[op]);
    if (system) append(out, ", {}", kSystemOps[op]);
    if (has_stream) append(out, ", {}", stream);
    out += ')';
  } else if ((id | op << 4 | stream << 8) == imm) {
    append(out, "sendmsg({}, {}, {})", id, op, stream);
  } else {
    append(out, "{}", imm);
  }
}

void print_gpr_idx(std::string& out, uint32_t imm) {
  static constexpr std::string_view kModes[] = {"SRC0", "SRC1", "SRC2", "DST"};
  if (imm > 15) return append(out, "{:#x}", imm);
  out += "gpr_idx(";
  const char* comma = "";
  for (unsigned i = 0; i < 4; ++i) {
    if (!bit(imm, i)) continue;
    append(out, "{}{}", comma, kModes[i]);
    comma = ",";
  }
  out += ')';
}

// ds_swizzle_b32 patterns (Vega ISA, DS_SWIZZLE_B32).
void print_swizzle(std::string& out, uint32_t offset) {
  if (offset == 0) return;
  out += " offset:";
  if ((offset & 0xff00) == 0x8000) {
    append(out, "swizzle(QUAD_PERM,{},{},{},{})", offset & 3, offset >> 2 & 3, offset >> 4 & 3, offset >> 6 & 3);
    return;
  }
  if ((offset & 0x8000) != 0) return append(out, "{}", offset);
  const uint32_t and_mask = bits(offset, 4, 0), or_mask = bits(offset, 9, 5), xor_mask = bits(offset, 14, 10);
  if (and_mask == 31 && or_mask == 0 && std::popcount(xor_mask) == 1) return append(out, "swizzle(SWAP,{})", xor_mask);
  if (and_mask == 31 && or_mask == 0 && xor_mask > 0 && std::has_single_bit(xor_mask + 1))
    return append(out, "swizzle(REVERSE,{})", xor_mask + 1);
  const uint32_t group = 32 - and_mask;
  if (xor_mask == 0 && group > 1 && std::has_single_bit(group) && or_mask < group)
    return append(out, "swizzle(BROADCAST,{},{})", group, or_mask);
  out += "swizzle(BITMASK_PERM,\"";
  for (unsigned i = 5; i-- > 0;) {
    const bool and_bit = bit(and_mask, i), or_bit = bit(or_mask, i), xor_bit = bit(xor_mask, i);
    const bool from0 = or_bit != xor_bit, from1 = (and_bit || or_bit) != xor_bit;
    // What becomes of a lane-number bit: constant, preserved, or inverted.
    out += from0 == from1 ? (from0 ? '1' : '0') : (from0 ? 'i' : 'p');
  }
  out += "\")";
}

void print_buffer_format(std::string& out, const Instruction& inst) {
  static constexpr std::string_view kData[] = {
      "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
      "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
  static constexpr std::string_view kNumeric[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                                  "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
  constexpr unsigned kDefaultData = 1, kDefaultNumeric = 0;
  if (inst.dfmt == kDefaultData && inst.nfmt == kDefaultNumeric) return;
  out += " format:[";
  if (inst.dfmt != kDefaultData) append(out, "BUF_DATA_FORMAT_{}", kData[inst.dfmt]);
  if (inst.dfmt != kDefaultData && inst.nfmt != kDefaultNumeric) out += ',';
  if (inst.nfmt != kDefaultNumeric) append(out, "BUF_NUM_FORMAT_{}", kNumeric[inst.nfmt]);
  out += ']';
}

void print_dpp_ctrl(std::string& out, unsigned ctrl) {
  if (ctrl <= 0xff)
    append(out, " quad_perm:[{},{},{},{}]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6 & 3);
  else if (ctrl <= 0x10f)
    append(out, " row_shl:{}", ctrl & 15);
  else if (ctrl <= 0x11f)
    append(out, " row_shr:{}", ctrl & 15);
  else if (ctrl <= 0x12f)
    append(out, " row_ror:{}", ctrl & 15);
  else if (ctrl == 0x130)
    out += " wave_shl:1";
  else if (ctrl == 0x134)
    out += " wave_rol:1";
  else if (ctrl == 0x138)
    out += " wave_shr:1";
  else if (ctrl == 0x13c)
    out += " wave_ror:1";
  else if (ctrl == 0x140)
    out += " row_mirror";
  else if (ctrl == 0x141)
    out += " row_half_mirror";
  else if (ctrl == 0x142)
    out += " row_bcast:15";
  else if (ctrl == 0x143)
    out += " row_bcast:31";
  else
    append(out, " row_newbcast:{}", ctrl & 15);
}

}  // namespace wavejit::isa
