// Register indexing at run time: s_movrel*, v_movrel*, and VGPR indexing (s_set_gpr_idx_*). Registers are SSA values
// here, so an access is a choice between all registers it may mean.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

bool is_movrel(Opcode opcode) {
  return opcode == Opcode::v_movrels_b32 || opcode == Opcode::v_movreld_b32 || opcode == Opcode::v_movrelsd_b32;
}

Inst* is_at(Context& c, Inst* index, uint32_t distance) {
  return c.b.icmp(ICmp::eq, index, c.b.i32(distance));
}

void set_index(Context& c, Inst* index) {
  c.ssa.write32(sreg::kM0, c.b.op(Op::bfi, {c.b.i32(0xff), index, c.m0()}));
}
void set_enables(Context& c, unsigned enables) {
  c.index_enables = enables;
  c.ssa.write32(sreg::kM0, c.b.op(Op::bfi, {c.b.i32(0xf000), c.b.i32(enables << 12), c.m0()}));
}

void s_set_gpr_idx_on(Context& c) {
  set_index(c, c.s32(Slot::src0));
  set_enables(c, c.inst->words[0] >> 8 & 15);
}
void s_set_gpr_idx_idx(Context& c) {
  set_index(c, c.s32(Slot::src0));
}
void s_set_gpr_idx_mode(Context& c) {
  set_enables(c, c.simm16() & 15);
}
void s_set_gpr_idx_off(Context&) {}  // MODE is followed by mode_behind()

template <bool kSource, bool kDst>
void v_movrel(Context& c) {
  const Operand& src = c.operand(Slot::src0);
  const Operand& dst = c.operand(Slot::vdst);
  const auto relative = [&](const Operand& operand) {
    return Context::RelativeRow{.base = operand.reg, .dwords = 1, .index = c.m0(), .wraps = true};
  };
  Inst* value = kSource && src.kind == OperandKind::vgpr ? c.read_relative(relative(src), 0) : c.src32(Slot::src0);
  if (kDst)
    c.write_relative(relative(dst), 0, value, c.exec());
  else
    c.set_v32(value);
}

Inst* read_sgpr(Context& c, unsigned reg, bool wide) {
  return wide ? c.ssa.read64(reg) : c.ssa.read32(reg);
}

template <bool kWide>
void s_movrels(Context& c) {
  const unsigned base = c.operand(Slot::src0).reg;
  Inst* index = c.m0();
  Inst* value = read_sgpr(c, 0, kWide);  // out of range
  for (unsigned reg = 0; reg + kWide < kGeneralSgprs; ++reg)
    value = c.b.select(is_at(c, index, reg - base), read_sgpr(c, reg, kWide), value);
  kWide ? c.set_s64(Slot::sdst, value) : c.set_s32(Slot::sdst, value);
}

template <bool kWide>
void s_movreld(Context& c) {
  const unsigned base = c.operand(Slot::sdst).reg;
  Inst* index = c.m0();
  Inst* value = kWide ? c.s64(Slot::src0) : c.s32(Slot::src0);
  Inst* parts[2] = {value, nullptr};
  if (kWide) {
    parts[0] = c.b.op(Op::lo32, {value});
    parts[1] = c.b.op(Op::hi32, {value});
  }
  Inst* written[kGeneralSgprs];
  for (unsigned reg = 0; reg < kGeneralSgprs; ++reg) written[reg] = c.ssa.read32(reg);
  for (unsigned reg = 0; reg + kWide < kGeneralSgprs; ++reg) {
    Inst* here = is_at(c, index, reg - base);
    for (unsigned k = 0; k <= kWide; ++k) written[reg + k] = c.b.select(here, parts[k], written[reg + k]);
  }
  for (unsigned reg = 0; reg < kGeneralSgprs; ++reg) c.ssa.write32(reg, written[reg]);
}

}  // namespace

// Vega ISA manual, "VGPR indexing".
Inst* Context::gpr_index(unsigned position) {
  if (!(mode & mode::kGprIdxEn)) return nullptr;
  switch (inst->format) {
    case isa::Format::vop1:
    case isa::Format::vop2:
    case isa::Format::vopc:
    case isa::Format::vop3:
    case isa::Format::vop3b:
    case isa::Format::vop3p:
      break;
    default:
      return nullptr;
  }
  if (is_movrel(inst->opcode)) return nullptr;
  if (index_enables && !(*index_enables >> position & 1)) return nullptr;
  Inst* index = and_(m0(), b.i32(0xff));
  if (index_enables) return index;
  return b.op(Op::mul, {index, and_(lshr(m0(), 12 + position), b.i32(1))});
}

unsigned Context::position_of(const Operand& operand) const {
  if (operand.is_dst) return kSource2;  // v_mac, and results that keep a part of the register
  switch (operand.slot) {
    case Slot::src0:
      return kSource0;
    case Slot::src1:  // v_madmk executes as src0 * K + src2
      return inst->opcode == Opcode::v_madmk_f32 || inst->opcode == Opcode::v_madmk_f16 ||
                     inst->opcode == Opcode::v_fmamk_f32
                 ? kSource2
                 : kSource1;
    default:
      return kSource2;
  }
}

Inst* Context::in_range(const RelativeRow& row) {
  const unsigned above = kNumVgprs + 1 - row.dwords;
  return row.base < above ? b.icmp(ICmp::ult, row.index, b.i32(above - row.base)) : b.i1(false);
}

Inst* Context::read_relative(const RelativeRow& row, unsigned k) {
  Inst* value = ssa.read_row(k);
  for (unsigned reg = row.wraps ? 0 : row.base; reg <= last_indexed_row && reg + row.dwords <= kNumVgprs; ++reg)
    value = b.select(is_at(*this, row.index, reg - row.base), ssa.read_row(reg + k), value);
  return value;
}

void Context::write_relative(const RelativeRow& row, unsigned k, Inst* value, Inst* mask) {
  for (unsigned reg = row.wraps ? 0 : row.base; reg <= last_indexed_row && reg + row.dwords <= kNumVgprs; ++reg) {
    Inst* here = and_(mask, b.op(Op::splat_mask, {is_at(*this, row.index, reg - row.base)}));
    ssa.write_row(reg + k, b.select(here, value, ssa.read_row(reg + k)));
  }
}

void add_indexing(HandlerTable& t) {
  t.add(Opcode::s_set_gpr_idx_on, s_set_gpr_idx_on);
  t.add(Opcode::s_set_gpr_idx_idx, s_set_gpr_idx_idx);
  t.add(Opcode::s_set_gpr_idx_mode, s_set_gpr_idx_mode);
  t.add(Opcode::s_set_gpr_idx_off, s_set_gpr_idx_off);
  t.add(Opcode::s_movrels_b32, s_movrels<false>);
  t.add(Opcode::s_movrels_b64, s_movrels<true>);
  t.add(Opcode::s_movreld_b32, s_movreld<false>);
  t.add(Opcode::s_movreld_b64, s_movreld<true>);
  t.add(Opcode::v_movrels_b32, v_movrel<true, false>);
  t.add(Opcode::v_movreld_b32, v_movrel<false, true>);
  t.add(Opcode::v_movrelsd_b32, v_movrel<true, true>);
}

}  // namespace wavejit::lift
