// VOP3, VOP3b, VOP3P and MAI. Fields that an instruction does not use must be zero; which modifiers exist follows from
// the operand types and the row's flags.
#include "frontend/isa/decode_state.h"

namespace wavejit::isa {
namespace {

struct Vop3Fields {
  explicit Vop3Fields(const Decoding& d) : w0(d.word(0)), w1(d.word(1)), clamp_bit(d.before_gfx8() ? 11 : 15) {}
  [[nodiscard]] unsigned vdst() const { return bits(w0, 7, 0); }
  [[nodiscard]] unsigned sdst() const { return bits(w0, 14, 8); }
  [[nodiscard]] unsigned src(unsigned i) const { return w1 >> (9 * i) & 0x1ff; }
  [[nodiscard]] unsigned neg() const { return bits(w1, 31, 29); }
  [[nodiscard]] unsigned abs() const { return bits(w0, 10, 8); }      // VOP3P: neg_hi
  [[nodiscard]] unsigned op_sel() const { return bits(w0, 14, 11); }  // VOP3P: op_sel[2:0], op_sel_hi[2]
  [[nodiscard]] unsigned omod() const { return bits(w1, 28, 27); }    // VOP3P: op_sel_hi[1:0]
  [[nodiscard]] bool clamp() const { return bit(w0, clamp_bit); }
  uint32_t w0, w1;
  unsigned clamp_bit;
};

// The source number of an operand, or -1.
int source_index(Slot slot) {
  switch (slot) {
    case Slot::src0:
      return 0;
    case Slot::src1:
      return 1;
    case Slot::src2:
      return 2;
    default:
      return -1;
  }
}

bool has_attr(const Row& row) {
  for (const OperandSpec& spec : row.specs())
    if (spec.is_attr) return true;
  return false;
}

bool has_float_result(const Row& row) {
  for (const OperandSpec& spec : row.specs())
    if (spec.slot == Slot::vdst) return is_float(spec.type) || spec.type == Type::v2f16;
  return false;
}

bool has_f16_result(const Row& row) {
  return row.num_operands != 0 && row.operands[0].slot == Slot::vdst && row.operands[0].type == Type::f16;
}

bool decode_vop3_plain(Decoding& d, const Vop3Fields& f, bool with_sdst) {
  const Row& row = *d.row;
  Instruction& out = d.out;
  unsigned used = 0, neg_allowed = 0, abs_allowed = 0;
  const bool interp = has_attr(row);
  for (const OperandSpec& spec : row.specs()) {
    // Interpolation has its VGPR in src1 and the attribute in src0.
    const int index = interp && spec.slot == Slot::src0 ? 1 : source_index(spec.slot);
    if (spec.is_attr) {
      used |= 1;
      out.attr = static_cast<uint8_t>(f.src(0) & 63);
      out.attr_chan = static_cast<uint8_t>(f.src(0) >> 6 & 3);
      d.reject_if(row.format == Format::vintrp && f.src(0) > 0xff);
      out.op_sel = static_cast<uint8_t>(f.src(0) >> 8);  // "high": the 16-bit half
      continue;
    }
    if (index < 0) {
      if (spec.slot == Slot::vdst)
        d.vector(spec, f.vdst());
      else if (with_sdst)
        d.scalar(spec, f.sdst());
      else {  // VOPC results, v_readlane_b32
        d.reject_if(f.vdst() > 127);
        d.scalar(spec, f.vdst() & 127);
      }
      continue;
    }
    used |= 1u << index;
    if (out.opcode == Opcode::v_interp_mov_f32) {
      d.immediate(spec, f.src(1));
      d.reject_if(f.src(1) > 2);
      continue;
    }
    if (spec.type == Type::mask64) {
      d.scalar(spec, f.src(2) & 127);
      d.reject_if(f.src(2) > 127 || (d.gfx940() && f.src(2) >= kExec));
      continue;
    }
    d.source(spec, f.src(static_cast<unsigned>(index)));
    Operand& op = out.operands[out.num_operands - 1];
    if (d.gfx940()) {  // a lane's value and number are scalar
      const bool scalar_only =
          out.opcode == Opcode::v_writelane_b32 || (out.opcode == Opcode::v_readlane_b32 && spec.slot == Slot::src1);
      d.reject_if(scalar_only && (op.kind == OperandKind::vgpr || op.encoding == kLdsDirect));
    }
    const unsigned mask = 1u << index;
    const bool neg = (f.neg() & mask) != 0, abs = !with_sdst && (f.abs() & mask) != 0;
    const bool is_number = is_float(spec.type) || (spec.type == Type::v2f16 && row.has(flag::dot_e64));
    const Mods mods = spec.mods == Mods::standard && is_number ? Mods::both : spec.mods;
    if (mods != Mods::standard) {
      neg_allowed |= mask;
      abs_allowed |= mask;
    }
    if (mods == Mods::both) {
      op.neg = neg;
      op.abs = abs;
    } else if (mods == Mods::sext) {
      op.sext = neg;
    }
  }
  d.reject_if(row.num_operands == 0 && f.vdst() != 0);
  for (unsigned i = 0; i < 3; ++i) d.reject_if((used >> i & 1) == 0 && f.src(i) != 0);
  if (row.has(flag::stochastic)) {  // the modifiers of a source that is not there are ignored
    neg_allowed |= 4;
    abs_allowed |= 4;
  }
  d.reject_if((f.neg() & ~neg_allowed) != 0);
  // VOP3b of GFX6 and GFX7 has the scalar result where VOP3a has clamp.
  const bool clamp = f.clamp() && !(with_sdst && d.before_gfx8());
  d.reject_if(!row.has(flag::clamp | flag::dot_e64) && clamp);
  const bool omod = row.has(flag::omod) || (row.has(flag::dot_e64) && has_float_result(row)) ||
                    (d.gfx940() && row.has(flag::op_sel) && has_f16_result(row));
  d.reject_if(!omod && f.omod() != 0);
  out.clamp = clamp;
  out.omod = static_cast<uint8_t>(f.omod());
  if (d.before_gfx8()) {
    // Integer results have no clamp.
    d.reject_if(out.clamp && !has_float_result(row));
    d.reject_if(bits(f.w0, 16, with_sdst ? 15 : 12) != 0);
  }
  if (with_sdst) return true;
  d.reject_if((f.abs() & ~abs_allowed) != 0);
  if (row.has(flag::op_sel)) {
    out.op_sel = static_cast<uint8_t>(f.op_sel());
    d.reject_if((f.op_sel() & 7 & ~used) != 0 && !row.has(flag::stochastic));
  }
  return true;
}

bool decode_vop3p(Decoding& d, const Vop3Fields& f) {
  const Row& row = *d.row;
  Instruction& out = d.out;
  out.op_sel = static_cast<uint8_t>(f.op_sel() & 7);
  out.op_sel_hi = static_cast<uint8_t>(f.omod() | (f.op_sel() >> 3) << 2);
  out.neg_lo = static_cast<uint8_t>(f.neg());
  out.neg_hi = static_cast<uint8_t>(f.abs());
  out.clamp = f.clamp();
  const bool mix = row.has(flag::mix);
  unsigned used = 0, neg_allowed = 0;
  for (OperandSpec spec : row.specs()) {
    const int index = source_index(spec.slot);
    if (index < 0) {
      d.vector(spec, f.vdst());
      continue;
    }
    const unsigned mask = 1u << index;
    used |= mask;
    // v_mad_mix and v_fma_mix: op_sel_hi says whether the source is an f16 half; neg_hi is abs.
    if (mix && (out.op_sel_hi & mask) != 0) spec.type = Type::f16;
    d.source(spec, f.src(static_cast<unsigned>(index)));
    if (mix) {
      Operand& op = out.operands[out.num_operands - 1];
      op.neg = (out.neg_lo & mask) != 0;
      op.abs = (out.neg_hi & mask) != 0;
    }
    if (spec.mods == Mods::both || is_float(spec.type) || spec.type == Type::v2f16 || spec.type == Type::v2f32)
      neg_allowed |= mask;
  }
  for (unsigned i = 0; i < 3; ++i) d.reject_if((used >> i & 1) == 0 && f.src(i) != 0);
  // LLVM 19, which knows GFX940, gives all sources both bits.
  d.reject_if(((out.neg_lo | out.neg_hi) & ~(d.gfx940() ? used : neg_allowed)) != 0);
  d.reject_if(!row.has(flag::clamp) && out.clamp);
  d.reject_if((out.op_sel & ~used) != 0);
  return true;
}

// MFMA: accumulation registers for src0/src1 by one bit each; vdst and src2 are AGPRs on gfx908, chosen by bit 15 on
// gfx90a.
bool decode_mai(Decoding& d, const Vop3Fields& f) {
  Instruction& out = d.out;
  const bool acc_cd = d.gfx90a_on() ? f.clamp() : true;
  const bool sparse = d.row->operands[0].src;  // v_smfmac: src2 is the index
  const bool mfma = out.opcode != Opcode::v_accvgpr_read_b32 && out.opcode != Opcode::v_accvgpr_write_b32;
  unsigned used = 0;
  for (OperandSpec spec : d.row->specs()) {
    const int index = source_index(spec.slot);
    if (index < 0) {
      if (mfma && acc_cd) spec.reg_class = RegClass::accumulator;
      d.vector(spec, f.vdst());
      continue;
    }
    used |= 1u << index;
    const unsigned field = f.src(static_cast<unsigned>(index));
    if (!mfma && spec.reg_class == RegClass::accumulator) {
      d.vector(spec, field & 0xff);
      d.reject_if(d.gfx940() && field < kVgprBase);
      continue;
    }
    if (mfma) {
      const bool acc = index == 2 ? acc_cd && !sparse : (f.omod() >> index & 1) != 0;
      if (acc && field >= kVgprBase) spec.reg_class = RegClass::accumulator;
    }
    d.source(spec, field);
    // The accumulators' type tells their number only; constants are of the elements' type.
    Operand& source = out.operands[out.num_operands - 1];
    if (mfma && source.kind == OperandKind::constant && !source.is_literal && out.get(Slot::src0).type == Type::f64)
      source.value = inline_constant(field, Type::f64);
    // Scalar registers are not legal sources; only src2 may be an inline constant (MI100 ISA, "VOP3P-MAI").
    const OperandKind kind = out.operands[out.num_operands - 1].kind;
    if (mfma)
      d.reject_if(kind == OperandKind::sgpr || kind == OperandKind::special ||
                  ((index < 2 || sparse) && kind == OperandKind::constant));
  }
  if (mfma) {
    out.cbsz = static_cast<uint8_t>(f.abs());
    out.abid = static_cast<uint8_t>(f.op_sel());
    out.blgp = static_cast<uint8_t>(f.neg());
    d.reject_if(sparse && out.blgp != 0);
    return true;
  }
  for (unsigned i = 0; i < 3; ++i) d.reject_if((used >> i & 1) == 0 && f.src(i) != 0);
  d.reject_if(bits(f.w0, 13, 8) != 0 || f.neg() != 0);
  return true;
}

}  // namespace

bool decode_vop3(Decoding& d) {
  const uint32_t w0 = d.word(0);
  if (!d.begin(Space::vop3, d.before_gfx8() ? bits(w0, 25, 17) : bits(w0, 25, 16), Format::vop3)) return false;
  if (!d.need(2)) return true;
  const Vop3Fields fields(d);
  const Row& row = *d.row;
  d.out.format = row.format == Format::vop3b || row.format == Format::vop3p || row.format == Format::mai ? row.format
                                                                                                         : Format::vop3;
  if (row.format == Format::vop3p) return decode_vop3p(d, fields);
  if (row.format == Format::mai) return decode_mai(d, fields);
  d.out.is_e64 = row.number[static_cast<size_t>(d.family)] < kVop3Only &&
                 (row.format == Format::vop1 || row.format == Format::vop2 || row.format == Format::vopc ||
                  row.format == Format::vintrp);
  bool with_sdst = row.format == Format::vop3b;
  if (row.format == Format::vop2)
    for (const OperandSpec& spec : row.specs()) with_sdst |= spec.slot == Slot::sdst && spec.type == Type::mask64;
  if (with_sdst) d.out.format = Format::vop3b;
  return decode_vop3_plain(d, fields, with_sdst);
}

}  // namespace wavejit::isa
