// SOP2, SOP1, SOPK, SOPC, SOPP and SMEM.
#include "frontend/isa/decode_state.h"

namespace wavejit::isa {
namespace {

uint64_t branch_distance(uint32_t word) {
  return static_cast<uint64_t>(static_cast<int64_t>(sign_extend(word & 0xffff, 16)) * 4);
}

bool decode_sop2(Decoding& d, uint32_t w) {
  if (!d.begin(Space::sop2, bits(w, 29, 23), Format::sop2)) return false;
  for (const OperandSpec& spec : d.row->specs()) {
    switch (spec.slot) {
      case Slot::sdst:
        d.scalar(spec, bits(w, 22, 16));
        break;
      case Slot::src0:
        d.source(spec, bits(w, 7, 0));
        break;
      default:
        d.source(spec, bits(w, 15, 8));
        break;
    }
  }
  return true;
}

bool decode_sop1(Decoding& d, uint32_t w) {
  if (!d.begin(Space::sop1, bits(w, 15, 8), Format::sop1)) return false;
  for (const OperandSpec& spec : d.row->specs()) {
    if (spec.slot == Slot::sdst)
      d.scalar(spec, bits(w, 22, 16));
    else
      d.source(spec, bits(w, 7, 0));
  }
  return true;
}

bool decode_sopc(Decoding& d, uint32_t w) {
  if (!d.begin(Space::sopc, bits(w, 22, 16), Format::sopc)) return false;
  for (const OperandSpec& spec : d.row->specs()) {
    switch (spec.slot) {
      case Slot::src0:
        d.source(spec, bits(w, 7, 0));
        break;
      case Slot::simm16:
        d.immediate(spec, bits(w, 15, 8));
        break;
      default:
        d.source(spec, bits(w, 15, 8));
        break;
    }
  }
  return true;
}

bool decode_sopk(Decoding& d, uint32_t w) {
  if (!d.begin(Space::sopk, bits(w, 27, 23), Format::sopk)) return false;
  for (const OperandSpec& spec : d.row->specs()) {
    switch (spec.slot) {
      case Slot::simm16:
        d.immediate(spec, w & 0xffff);
        break;
      case Slot::target:
        d.immediate(spec, branch_distance(w));
        break;
      default:
        if (d.out.opcode == Opcode::s_setreg_imm32_b32)
          d.literal_operand(spec);
        else
          d.scalar(spec, bits(w, 22, 16));
        break;
    }
  }
  return true;
}

bool decode_sopp(Decoding& d, uint32_t w) {
  if (!d.begin(Space::sopp, bits(w, 22, 16), Format::sopp)) return false;
  for (const OperandSpec& spec : d.row->specs())
    d.immediate(spec, spec.slot == Slot::target ? branch_distance(w) : w & 0xffff);
  d.reject_if(d.row->num_operands == 0 && (w & 0xffff) != 0);
  return true;
}

}  // namespace

bool decode_scalar_alu(Decoding& d) {
  const uint32_t w = d.word(0);
  d.literal_allowed = true;
  switch (bits(w, 29, 23)) {
    case 0x7d:
      return decode_sop1(d, w);
    case 0x7e:
      return decode_sopc(d, w);
    case 0x7f:
      return decode_sopp(d, w);
    default:
      return bits(w, 29, 28) == 3 ? decode_sopk(d, w) : decode_sop2(d, w);
  }
}

// Southern Islands ISA, "SMRD": an 8-bit offset in dwords, or an SGPR with one in bytes. Sea Islands ISA: the SGPR
// field 255 stands for a literal in dwords.
bool decode_smrd(Decoding& d) {
  const uint32_t w = d.word(0);
  if (!d.begin(Space::smem, bits(w, 26, 22), Format::smem)) return false;
  bool has_address = false;
  for (const OperandSpec& spec : d.row->specs()) {
    if (spec.slot == Slot::sdata) {
      d.scalar(spec, bits(w, 21, 15));
      d.reject_if(bits(w, 21, 15) >= kM0);
    } else {
      d.scalar(spec, bits(w, 14, 9) * 2);
      has_address = true;
    }
  }
  if (!has_address) return true;
  const unsigned field = bits(w, 7, 0);
  if (bit(w, 8)) {
    d.out.offset = field * 4;
  } else if (field == kLiteral && d.family == Family::gfx7) {
    d.out.offset = static_cast<int64_t>(d.literal()) * 4;
  } else {
    d.out.offset_is_sgpr = true;
    d.reject_if(field >= kInlineIntZero);
    d.scalar({.slot = Slot::soffset, .type = Type::u32, .dwords = 1, .src = true}, field & 127);
  }
  return true;
}

// GCN3 ISA: offset is 20 bits unsigned or an SGPR. Vega ISA: 21 bits signed, or an SGPR (imm = 0), or both
// (soffset_en).
bool decode_smem(Decoding& d) {
  const uint32_t w0 = d.word(0);
  if (!d.begin(Space::smem, bits(w0, 25, 18), Format::smem)) return false;
  if (!d.need(2)) return true;
  const uint32_t w1 = d.word(1);
  Instruction& out = d.out;
  bool has_address = false;
  const bool loads_or_stores = d.row->has(flag::memory);
  for (OperandSpec spec : d.row->specs()) {
    switch (spec.slot) {
      case Slot::sdata:
        if (d.row->has(flag::atomic)) spec.dst = bit(w0, 16);
        if (d.gfx940()) d.reject_if(bits(w0, 12, 6) == kM0 || bits(w0, 12, 6) >= kExec);
        d.scalar(spec, bits(w0, 12, 6));
        break;
      case Slot::simm16:
        d.immediate(spec, bits(w0, 12, 6));
        break;
      default:
        d.scalar(spec, bits(w0, 5, 0) * 2);
        has_address = true;
        break;
    }
  }
  const bool imm = bit(w0, 17);
  if (has_address) {
    const bool soffset_en = !d.before_gfx9() && bit(w0, 14);
    if (imm) out.offset = d.before_gfx9() ? static_cast<int32_t>(bits(w1, 19, 0)) : sign_extend(bits(w1, 20, 0), 21);
    if (soffset_en || !imm) {
      out.offset_is_sgpr = true;
      d.scalar({.slot = Slot::soffset, .type = Type::u32, .dwords = 1, .src = true},
               soffset_en ? bits(w1, 31, 25) : bits(w1, 6, 0));
    }
  } else {
    d.reject_if(imm);
  }
  out.glc = loads_or_stores && bit(w0, 16);
  return true;
}

}  // namespace wavejit::isa
