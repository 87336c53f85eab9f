// A decoded instruction: everything an engine, the lifter or the printer needs, with no encoding left to interpret.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "frontend/isa/opcode.h"
#include "frontend/isa/target.h"

namespace wavejit::isa {

enum class Format : uint8_t {
  sop1,
  sop2,
  sopc,
  sopk,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3b,
  vop3p,
  mai,
  vintrp,
  ds,
  flat,
  mubuf,
  mtbuf,
  mimg,
  exp,
};

// What an operand is used for: its field name in the ISA manuals. `Instruction::find` looks operands up by it.
enum class Slot : uint8_t {
  none,
  vdst,
  sdst,  // results (VOP3b and carry-out VOP2 have both; v_readlane's result is sdst)
  src0,
  src1,
  src2,  // SALU and VALU sources
  // Vector memory. MUBUF, MTBUF and MIMG have one data register, vdata: source, result, or both (atomic with glc). FLAT
  // has two: loads and atomics with glc write vdst, stores and atomics read vdata.
  vaddr,
  saddr,
  srsrc,
  ssamp,
  soffset,
  vdata,
  sbase,
  sdata,  // SMEM; soffset or the immediate `offset` completes the address
  addr,
  data0,
  data1,     // DS
  simm16,    // SOPK/SOPP immediate
  target,    // branch target: `value` is the signed byte distance from the *next* instruction
  implicit,  // printed but fixed, none of the above
  literal,   // K of v_madmk (src0 * K + src1) and v_madak (src0 * src1 + K)
  src3,      // EXP
};

// Data type of an operand: decides width, what neg/abs/sext mean and how inline constants expand.
enum class Type : uint8_t {
  none,
  b16,
  i16,
  u16,
  f16,
  b32,
  i32,
  u32,
  f32,
  b64,
  i64,
  u64,
  f64,
  v2b16,
  v2i16,
  v2u16,
  v2f16,
  v2f32,
  b96,
  b128,
  b160,
  b192,
  b224,
  b256,
  b512,
  b1024,
  mask64,  // one bit per lane (VCC, compare results, carry in/out)
};

/// Of immediates: 64 bits of one number.
[[nodiscard]] constexpr bool is_64bit(Type type) {
  return type == Type::b64 || type == Type::i64 || type == Type::u64 || type == Type::f64 || type == Type::mask64;
}

enum class OperandKind : uint8_t {
  none,
  sgpr,       // reg = scalar operand encoding 0..127 (includes flat_scratch, vcc, ttmp, m0, exec); `dwords` consecutive
  vgpr,       // reg = 0..255; `dwords` consecutive
  agpr,       // reg = 0..255
  constant,   // inline or literal constant: `value` holds its bits, expanded for `type`
  special,    // scalar operand without a register, see Special in `reg`
  off,        // absent address or offset operand ("off")
  immediate,  // simm16, branch distance, hwreg, message, ...: `value`
};

enum class Special : uint16_t {  // values are operand encodings
  null = 125,                    // reserved before GFX10; decoded because LLVM does, no engine needs to execute it
  shared_base = 235,
  shared_limit = 236,
  private_base = 237,
  private_limit = 238,
  pops_exiting_wave_id = 239,
  vccz = 251,
  execz = 252,
  scc = 253,
  lds_direct = 254,
};

// SDWA selects. `dword` is also the value for "not SDWA".
enum class SdwaSelect : uint8_t { byte_0, byte_1, byte_2, byte_3, word_0, word_1, dword };
enum class SdwaUnused : uint8_t { pad, sext, preserve };

struct Operand {
  OperandKind kind = OperandKind::none;
  Slot slot = Slot::none;
  Type type = Type::none;
  bool is_dst = false;
  bool is_src = false;  // a read-modify-write operand (v_mac, v_writelane, atomics with return) is both
  uint8_t dwords = 0;   // registers covered: 1 for anything up to 32 bits
  uint16_t reg = 0;
  uint64_t value =
      0;  // constant bits (zero-extended from the type's width; packed types have both halves) or immediate
  bool is_literal = false;  // the constant came from a 32-bit literal
  uint16_t encoding = 0;    // the raw source field (0..511), for printing

  // Source modifiers of VOP3/SDWA/DPP, applied abs first, then neg. For packed (VOP3P) sources see
  // Instruction::neg_lo/hi.
  bool abs = false;
  bool neg = false;
  bool sext = false;  // SDWA integer sources
  SdwaSelect sdwa_sel = SdwaSelect::dword;

  [[nodiscard]] bool is_reg() const {
    return kind == OperandKind::sgpr || kind == OperandKind::vgpr || kind == OperandKind::agpr;
  }
};

struct Dpp {
  uint16_t ctrl = 0;  // 9-bit DPP_CTRL
  uint8_t row_mask = 0xf;
  uint8_t bank_mask = 0xf;
  bool bound_ctrl = false;  // the encoding bit BOUND_CTRL: out-of-range lanes read 0 instead of disabling the write
};

struct Instruction {
  static constexpr unsigned kMaxOperands = 8;

  Opcode opcode{};
  Format format{};
  Target target{};
  uint8_t size = 4;     // bytes: 4, 8 or 12
  bool is_e64 = false;  // VOP1/VOP2/VOPC opcode in its VOP3 encoding (format stays that of the encoding: vop3/vop3b)
  bool is_sdwa = false;
  bool is_dpp = false;
  uint64_t pc = 0;  // address given to the decoder
  std::array<uint32_t, 3> words{};

  // In assembly order: results first. Implicit VCC of VOP2 carry ops, v_cndmask and VOPC is explicit here (slot sdst or
  // src2).
  uint8_t num_operands = 0;
  std::array<Operand, kMaxOperands> operands{};

  // VALU result modifiers.
  bool clamp = false;
  uint8_t omod = 0;       // 0 none, 1 *2, 2 *4, 3 /2
  uint8_t op_sel = 0;     // VOP3/VOP3P: bit i = source i takes its high half; bit 3 = result to high half (VOP3 only)
  uint8_t op_sel_hi = 0;  // VOP3P: bit i = the high result's source i takes its high half
  uint8_t neg_lo = 0, neg_hi = 0;  // VOP3P per-source bits
  SdwaSelect sdwa_dst_sel = SdwaSelect::dword;
  SdwaUnused sdwa_dst_unused = SdwaUnused::pad;
  Dpp dpp{};

  // Memory modifiers.
  int64_t offset = 0;  // immediate byte offset, 32 bits but for SMRD literals (34 bits; DS: offset, or offset0 |
                       // offset1 << 8 for read2/write2 forms)
  bool glc = false, slc = false, scc = false, nv = false, tfe = false, lds = false, lwe = false;
  bool offen = false, idxen = false, addr64 = false, gds = false;
  bool unorm = false, da = false, r128 = false, a16 = false, d16 = false;
  uint8_t dmask = 0, dfmt = 0, nfmt = 0;
  bool offset_is_sgpr = false;  // SMEM: the offset is operand soffset (GFX9 may have both)

  // MFMA.
  uint8_t cbsz = 0, abid = 0, blgp = 0;

  // EXP / VINTRP.
  uint8_t exp_target = 0, exp_enable = 0, attr = 0, attr_chan = 0;
  bool exp_compr = false, exp_done = false, exp_vm = false;

  [[nodiscard]] const Operand* find(Slot slot) const {
    for (unsigned i = 0; i < num_operands; ++i)
      if (operands[i].slot == slot) return &operands[i];
    return nullptr;
  }
  // The operand in `slot`; the row guarantees that it exists.
  [[nodiscard]] const Operand& get(Slot slot) const { return *find(slot); }
  [[nodiscard]] uint64_t next_pc() const { return pc + size; }
};

}  // namespace wavejit::isa
