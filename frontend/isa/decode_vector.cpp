// VOP1, VOP2, VOPC with their SDWA and DPP forms, and VINTRP.
#include "frontend/isa/decode_state.h"

namespace wavejit::isa {
namespace {

// Source modifiers of SDWA and DPP follow from the type alone: floats have neg and abs, SDWA integers have sext.
struct SourceMods {
  bool neg, abs, sext;
};

// GFX940: a 64-bit result, too.
bool is_64bit_dpp(const Decoding& d) {
  for (const OperandSpec& spec : d.row->specs())
    if ((spec.slot == Slot::src0 || (spec.slot == Slot::vdst && d.gfx940())) && spec.dwords == 2) return true;
  return false;
}

// SDWA second word (GCN3 and Vega ISA, "SDWA"): src0, selects, sext/neg/abs per source; GFX9 adds omod, scalar sources
// and, for VOPC, an SGPR destination.
class SdwaWord {
 public:
  SdwaWord(Decoding& d, Format format) : d_(d), w_(d.word(1)), vopc_(format == Format::vopc) {}

  void modifiers() {
    Instruction& out = d_.out;
    const bool gfx9 = !d_.before_gfx9();
    if (d_.row->has(flag::fp8)) {
      d_.reject_if(bits(w_, 10, 8) != static_cast<unsigned>(SdwaSelect::dword) || bits(w_, 12, 11) == 3);
      d_.reject_if(bits(w_, 29, 24) != 0 || bit(w_, 31));
      out.clamp = bit(w_, 13);
      out.omod = static_cast<uint8_t>(bits(w_, 15, 14));
      return;
    }
    if (!vopc_ || !gfx9) out.clamp = bit(w_, 13);
    if (!vopc_) {
      out.sdwa_dst_sel = select(bits(w_, 10, 8));
      const unsigned unused = bits(w_, 12, 11);
      d_.reject_if(unused == 3);
      out.sdwa_dst_unused = static_cast<SdwaUnused>(unused % 3);
      if (gfx9) {
        out.omod = static_cast<uint8_t>(bits(w_, 15, 14));
        d_.reject_if(out.omod != 0 && !float_result());
      }
    }
    if (sources() < 2) d_.reject_if(bits(w_, 29, 24) != 0 || (gfx9 && bit(w_, 31)));
  }

  void source(const OperandSpec& spec, unsigned index, unsigned vgpr) {
    const bool scalar = !d_.before_gfx9() && bit(w_, index == 0 ? 23 : 31);
    d_.source(spec, scalar ? vgpr : kVgprBase + vgpr);
    Operand& op = d_.out.operands[d_.out.num_operands - 1];
    const unsigned base = index == 0 ? 16 : 24;
    op.sdwa_sel = select(bits(w_, base + 2, base));
    op.sext = bit(w_, base + 3);
    op.neg = bit(w_, base + 4);
    op.abs = bit(w_, base + 5);
    // v_cndmask_b32 has the modifiers of floating point, which encodings before GFX940 ignore here.
    const bool as_float = is_float(spec.type) || (spec.mods == Mods::both && d_.gfx940());
    d_.reject_if(as_float ? op.sext : op.neg || op.abs);
  }

  void vopc_result(const OperandSpec& spec) {
    if (!d_.before_gfx9() && bit(w_, 15))
      d_.scalar(spec, bits(w_, 14, 8));
    else
      d_.vcc(spec);
  }

 private:
  SdwaSelect select(unsigned value) {
    d_.reject_if(value == 7);
    return static_cast<SdwaSelect>(value % 7);
  }
  bool float_result() const {
    for (const OperandSpec& spec : d_.row->specs())
      if (spec.slot == Slot::vdst) return is_float(spec.type);
    return false;
  }
  unsigned sources() const {
    unsigned count = 0;
    for (const OperandSpec& spec : d_.row->specs()) count += spec.slot == Slot::src0 || spec.slot == Slot::src1;
    return count;
  }

  Decoding& d_;
  uint32_t w_;
  bool vopc_;
};

bool sdwa_legal(const Decoding& d) {
  if (d.before_gfx8()) return false;
  return d.row->has(flag::sdwa) || (d.before_gfx9() && d.row->has(flag::sdwa8));
}
bool dpp_legal(const Decoding& d) {
  if (d.before_gfx8()) return false;
  return d.row->has(flag::dpp) || (d.gfx90a_on() && d.row->has(flag::dpp90a));
}

// DPP_CTRL values (GCN3 and Vega ISA, "DPP"; row_newbcast: MI200 ISA).
bool dpp_ctrl_legal(unsigned ctrl, bool gfx90a, bool has64) {
  const bool row_newbcast = gfx90a && ctrl >= 0x150 && ctrl <= 0x15f;
  if (has64) return row_newbcast;
  if (ctrl <= 0xff) return true;                                 // quad_perm
  if (ctrl >= 0x101 && ctrl <= 0x12f) return (ctrl & 0xf) != 0;  // row_shl, row_shr, row_ror
  switch (ctrl) {
    case 0x130:
    case 0x134:
    case 0x138:
    case 0x13c:  // wave_shl, wave_rol, wave_shr, wave_ror
    case 0x140:
    case 0x141:
    case 0x142:
    case 0x143:
      return true;  // mirrors, row_bcast
    default:
      return row_newbcast;
  }
}

class DppWord {
 public:
  explicit DppWord(Decoding& d) : d_(d), w_(d.word(1)) {}

  void modifiers() {
    Dpp& dpp = d_.out.dpp;
    dpp.ctrl = static_cast<uint16_t>(bits(w_, 16, 8));
    dpp.bound_ctrl = bit(w_, 19);
    dpp.bank_mask = static_cast<uint8_t>(bits(w_, 27, 24));
    dpp.row_mask = static_cast<uint8_t>(bits(w_, 31, 28));
    d_.reject_if(!dpp_ctrl_legal(dpp.ctrl, d_.gfx90a_on(), is_64bit_dpp(d_)));
    bool source_present[2] = {};
    for (const OperandSpec& spec : d_.row->specs()) {
      if (spec.slot == Slot::src0) source_present[0] = true;
      if (spec.slot == Slot::src1) source_present[1] = true;
    }
    for (unsigned i = 0; i < 2; ++i) d_.reject_if(!source_present[i] && bits(w_, 21 + 2 * i, 20 + 2 * i) != 0);
  }

  void source(const OperandSpec& spec, unsigned index, unsigned vgpr) {
    d_.vector(spec, vgpr);
    Operand& op = d_.out.operands[d_.out.num_operands - 1];
    const bool neg = bit(w_, 20 + 2 * index), abs = bit(w_, 21 + 2 * index);
    if (is_float(spec.type) || spec.type == Type::v2f16 || (spec.mods == Mods::both && d_.gfx940())) {
      op.neg = neg;
      op.abs = abs;
    } else if (spec.mods == Mods::sext) {
      op.sext = neg;
    } else if (spec.mods == Mods::standard) {
      d_.reject_if(neg || abs);
    }
  }

 private:
  Decoding& d_;
  uint32_t w_;
};

}  // namespace

namespace {

// The common shape of VOP1, VOP2 and VOPC.
bool decode_vop(Decoding& d, uint32_t w, unsigned vdst, unsigned vsrc1) {
  const unsigned src0 = bits(w, 8, 0);
  d.reject_if(d.row->num_operands == 0 && vdst != 0);  // v_nop, v_clrexcp
  if ((src0 == kSdwa && sdwa_legal(d)) || (src0 == kDpp && dpp_legal(d))) {
    if (!d.need(2)) return true;
    const uint32_t w1 = d.word(1);
    (src0 == kSdwa ? d.out.is_sdwa : d.out.is_dpp) = true;
    SdwaWord sdwa(d, d.out.format);
    DppWord dpp(d);
    if (d.out.is_dpp)
      dpp.modifiers();
    else if (d.row->num_operands != 0)
      sdwa.modifiers();
    for (const OperandSpec& spec : d.row->specs()) {
      const unsigned index = spec.slot == Slot::src1 ? 1 : 0;
      const unsigned vgpr = index == 0 ? w1 & 0xff : vsrc1;
      switch (spec.slot) {
        case Slot::vdst:
          d.vector(spec, vdst);
          break;
        case Slot::sdst:
          if (d.out.format == Format::vopc && d.out.is_sdwa)
            sdwa.vopc_result(spec);
          else
            d.vcc(spec);
          break;
        case Slot::src2:
          d.vcc(spec);
          break;
        default:
          if (d.out.is_sdwa)
            sdwa.source(spec, index, vgpr);
          else
            dpp.source(spec, index, vgpr);
          break;
      }
    }
    return true;
  }
  d.literal_allowed = true;
  for (const OperandSpec& spec : d.row->specs()) {
    switch (spec.slot) {
      case Slot::vdst:
        d.vector(spec, vdst);
        break;
      case Slot::sdst:
        if (spec.type == Type::mask64) {
          d.vcc(spec);
        } else {  // v_readfirstlane_b32, v_readlane_b32
          d.reject_if(vdst > 127);
          d.scalar(spec, vdst & 127);
        }
        break;
      case Slot::src0:
        if (spec.reg_class == RegClass::accumulator || spec.dst)  // v_accvgpr_mov_b32, v_swap_b32: registers only
          d.vector(spec, src0 & 0xff), d.reject_if(d.gfx940() && src0 < kVgprBase);
        else
          d.source(spec, src0);
        d.reject_if(d.out.opcode == Opcode::v_writelane_b32 && src0 >= kLiteral);
        break;
      case Slot::src1:
        if (d.out.opcode == Opcode::v_readlane_b32 || d.out.opcode == Opcode::v_writelane_b32) {
          d.source(spec, vsrc1);  // the lane: a scalar source (GFX6 and GFX7)
          d.reject_if(vsrc1 == kLiteral);
        } else {
          d.vector(spec, vsrc1);
        }
        break;
      case Slot::src2:
        d.vcc(spec);
        break;
      case Slot::literal:
        d.literal_operand(spec);
        break;
      default:
        break;
    }
  }
  if (d.out.opcode == Opcode::v_readfirstlane_b32) {
    const OperandKind kind = d.out.operands[1].kind;
    d.reject_if(kind == OperandKind::constant || (kind == OperandKind::sgpr && d.gfx940()));
  }
  return true;
}

}  // namespace

bool decode_vop1(Decoding& d) {
  const uint32_t w = d.word(0);
  return d.begin(Space::vop1, bits(w, 16, 9), Format::vop1) && decode_vop(d, w, bits(w, 24, 17), 0);
}

bool decode_vop2(Decoding& d) {
  const uint32_t w = d.word(0);
  return d.begin(Space::vop2, bits(w, 30, 25), Format::vop2) && decode_vop(d, w, bits(w, 24, 17), bits(w, 16, 9));
}

bool decode_vopc(Decoding& d) {
  const uint32_t w = d.word(0);
  return d.begin(Space::vopc, bits(w, 24, 17), Format::vopc) && decode_vop(d, w, 0, bits(w, 16, 9));
}

bool decode_vintrp(Decoding& d) {
  const uint32_t w = d.word(0);
  if (!d.begin(Space::vintrp, bits(w, 17, 16), Format::vintrp)) return false;
  for (const OperandSpec& spec : d.row->specs()) {
    if (spec.slot == Slot::vdst) {
      d.vector(spec, bits(w, 25, 18));
    } else if (d.out.opcode == Opcode::v_interp_mov_f32 && !spec.is_attr) {
      d.immediate(spec, bits(w, 7, 0));  // which vertex parameter
      d.reject_if(bits(w, 7, 0) > 2);
    } else if (!spec.is_attr) {
      d.vector(spec, bits(w, 7, 0));
    }
  }
  d.out.attr = static_cast<uint8_t>(bits(w, 15, 10));
  d.out.attr_chan = static_cast<uint8_t>(bits(w, 9, 8));
  return true;
}

}  // namespace wavejit::isa
