// What a row of frontend/isa/tables says, as data. Internal to the ISA library.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "frontend/isa/info.h"
#include "frontend/isa/instruction.h"
#include "frontend/isa/opcode.h"
#include "frontend/isa/target.h"

namespace wavejit::isa {

// Processor features that decide, within a family, whether an instruction exists (LLVM AMDGPU User Guide,
// "Processors").
enum class Needs : uint8_t {
  any,
  mad_mix,      // gfx900, gfx902, gfx909, gfx90c
  fma_mix,      // gfx904, gfx906 and later
  dl,           // v_fmac_f32, v_xnor_b32: gfx906 and later
  dot,          // dot products of gfx906
  dot_c,        // dot products of gfx908 (v_dot2c_f32_f16 and relatives, v_pk_fmac_f16)
  mai,          // matrix instructions, gfx908
  atomic_fadd,  // f32 and packed f16 atomic add, gfx908
};

namespace flag {
inline constexpr uint64_t none = 0;
// Implicit state beyond the operands.
inline constexpr uint64_t reads_scc = 1ull << 0, writes_scc = 1ull << 1, reads_vcc = 1ull << 2, writes_vcc = 1ull << 3,
                          reads_exec = 1ull << 4, writes_exec = 1ull << 5, reads_m0 = 1ull << 6, writes_m0 = 1ull << 7,
                          reads_mode = 1ull << 8, writes_mode = 1ull << 9;
// Control flow.
inline constexpr uint64_t branches_always = 1ull << 10, branches = 1ull << 11, jumps = 1ull << 12, calls = 1ull << 13,
                          ends = 1ull << 14, barrier = 1ull << 15, traps = 1ull << 16, forks = 1ull << 17;
// Memory and communication.
inline constexpr uint64_t memory = 1ull << 18, store = 1ull << 19, atomic = 1ull << 20, cross_lane = 1ull << 21,
                          graphics = 1ull << 22, image = 1ull << 23;
// Encodings of vector ALU rows. VOP3 forms of VOP1/VOP2/VOPC exist unless no_e64.
inline constexpr uint64_t no_e64 = 1ull << 24, no_suffix = 1ull << 25, sdwa = 1ull << 26,
                          sdwa8 = 1ull << 27 /* GFX8 only */, dpp = 1ull << 28,
                          dpp90a = 1ull << 29 /* 64-bit operands: from gfx90a on */;
// VOP3 fields that are legal; neg/abs follow from the operands.
inline constexpr uint64_t clamp = 1ull << 30, omod = 1ull << 31, op_sel = 1ull << 32, mix = 1ull << 33;
// DS, FLAT and MUBUF particulars.
inline constexpr uint64_t offset2 = 1ull << 34, gds_only = 1ull << 35, no_gds = 1ull << 36, flat_segment = 1ull << 37,
                          global_segment = 1ull << 38, scratch_segment = 1ull << 39,
                          lds_load = 1ull << 40 /* LDS bit: the data goes to LDS instead of VGPRs */,
                          d16_legal = 1ull << 41 /* MIMG with a D16 form */;
inline constexpr uint64_t dot_e64 = 1ull << 42 /* a VOP3 form that LLVM has from 17 on (GFX940: always) */,
                          fp8 = 1ull << 43 /* SDWA: only the source select */,
                          stochastic = 1ull << 44 /* op_sel[3:2]: which byte of the result */;

}  // namespace flag

// Opcode numbers: -1 absent; kVop3Only + n: the family has the instruction only as VOP3 opcode n.
inline constexpr int kVop3Only = 0x400;

enum class RegClass : uint8_t { any, scalar, vector, accumulator };

// Source modifiers the VOP3 encoding of an operand accepts. `standard` follows from the type: floating point has neg
// and abs.
enum class Mods : uint8_t {
  standard,
  both,     // "~m": neg and abs (for VOP3P neg_lo and neg_hi) although the type is not floating point
  sext,     // "~s": the neg bit is printed as sext, abs is ignored
  ignored,  // "~i": bits may be set without effect
};

// Operand mini-language: "slot=type" is a result, "slot:type" a source, "slot+type" both (read-modify-write); "!v" "!s"
// "!a" restrict the register file, "~x" states modifiers. Without type: "simm16", "target", "attr". Further words:
// "literal" is the K of v_madmk/v_madak, "vsrc" the VGPR of interpolation. d16xN is N 16-bit components: one register
// each on GFX8 (without packed D16), two per register later.
struct OperandSpec {
  Slot slot = Slot::none;
  Type type = Type::none;
  uint8_t dwords = 0;
  uint8_t d16_components = 0;
  bool dst = false, src = false;
  bool is_literal = false, is_attr = false;
  RegClass reg_class = RegClass::any;
  Mods mods = Mods::standard;
};

struct Row {
  static constexpr unsigned kMaxOperands = 5;
  std::string_view name;
  std::string_view gfx8_name;    // printed for GFX8; empty: same as name
  std::string_view gfx6_name;    // printed for GFX6 and GFX7; empty: same as name
  std::string_view gfx940_name;  // printed for GFX940; empty: same as name
  Format format{};
  Needs needs{};
  uint64_t flags = 0;
  std::array<int16_t, kNumFamilies> number{};
  uint8_t num_operands = 0;
  std::array<OperandSpec, kMaxOperands> operands{};

  [[nodiscard]] constexpr bool has(uint64_t f) const { return (flags & f) != 0; }
  [[nodiscard]] constexpr std::span<const OperandSpec> specs() const { return {operands.data(), num_operands}; }
};

[[nodiscard]] const Row& row_of(Opcode opcode);
[[nodiscard]] std::string_view printed_name(Opcode opcode, Family family);

// ---- Types ----

[[nodiscard]] constexpr unsigned type_dwords(Type type) {
  switch (type) {
    case Type::none:
      return 0;
    case Type::b64:
    case Type::i64:
    case Type::u64:
    case Type::f64:
    case Type::v2f32:
    case Type::mask64:
      return 2;
    case Type::b96:
      return 3;
    case Type::b128:
      return 4;
    case Type::b160:
      return 5;
    case Type::b192:
      return 6;
    case Type::b224:
      return 7;
    case Type::b256:
      return 8;
    case Type::b512:
      return 16;
    case Type::b1024:
      return 32;
    default:
      return 1;
  }
}
[[nodiscard]] constexpr bool is_float(Type type) {
  return type == Type::f16 || type == Type::f32 || type == Type::f64;
}
[[nodiscard]] constexpr bool is_packed(Type type) {
  return type == Type::v2b16 || type == Type::v2i16 || type == Type::v2u16 || type == Type::v2f16 ||
         type == Type::v2f32;
}
[[nodiscard]] constexpr bool is_16bit(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16;
}

// ---- Opcode lookup ----

// Targets with the same instruction set.
enum class Column : uint8_t { gfx6, gfx7, gfx8, gfx900, gfx904, gfx906, gfx908, gfx90a, gfx940, none };
inline constexpr unsigned kNumColumns = 9;
[[nodiscard]] Column column_of(Target target);
[[nodiscard]] bool has_feature(Column column, Needs needs);

// Opcode spaces, one after the other in the lookup table. VOP3P and MAI lie inside VOP3 (from 0x380), as in the
// encoding.
enum class Space : uint16_t {
  sop2 = 0,
  sopk = sop2 + 128,
  sop1 = sopk + 32,
  sopc = sop1 + 256,
  sopp = sopc + 128,
  smem = sopp + 128,
  vop2 = smem + 256,
  vop1 = vop2 + 64,
  vopc = vop1 + 256,
  vop3 = vopc + 256,
  vintrp = vop3 + 1024,
  ds = vintrp + 4,
  flat = ds + 256,
  scratch = flat + 128,
  global = scratch + 128,
  mubuf = global + 128,
  mtbuf = mubuf + 128,
  mimg = mtbuf + 16,
  exp = mimg + 128,
  end = exp + 1,
};

// The opcode with this number, or kCount.
[[nodiscard]] Opcode lookup(Column column, Space space, unsigned number);

}  // namespace wavejit::isa
