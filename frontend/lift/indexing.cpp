// Register indexing at run time: v_movrel*, and v_mov_b32 between s_set_gpr_idx_on and s_set_gpr_idx_off. Registers are
// SSA values here, so an access is a choice between all registers it may mean.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

// Enable bits of M0[15:12].
enum Enable : unsigned { kSource0 = 1, kDestination = 8 };

Inst* is_row(Context& c, Inst* index, unsigned distance) {
  return c.b.icmp(ICmp::eq, index, c.b.i32(distance));
}

Inst* read_indexed(Context& c, unsigned base, Inst* index) {
  Inst* value = c.ssa.read_row(base);
  for (unsigned row = base + 1; row <= c.last_indexed_row; ++row)
    value = c.b.select(is_row(c, index, row - base), c.ssa.read_row(row), value);
  return value;
}

void write_indexed(Context& c, unsigned base, Inst* index, Inst* value) {
  Inst* mask = c.exec();
  for (unsigned row = base; row <= c.last_indexed_row; ++row) {
    Inst* here = c.and_(mask, c.b.op(Op::splat_mask, {is_row(c, index, row - base)}));
    c.ssa.write_row(row, c.b.select(here, value, c.ssa.read_row(row)));
  }
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
void s_set_gpr_idx_off(Context& c) {
  c.index_enables = 0;
}

Inst* source(Context& c, bool indexed, Inst* index) {
  const Operand& operand = c.operand(Slot::src0);
  if (indexed && operand.kind == OperandKind::vgpr) return read_indexed(c, operand.reg, index);
  return c.src32(Slot::src0);
}

template <bool kSource, bool kDst>
void v_movrel(Context& c) {
  Inst* index = c.m0();
  Inst* value = source(c, kSource, index);
  if (kDst)
    write_indexed(c, c.operand(Slot::vdst).reg, index, value);
  else
    c.set_v32(value);
}

}  // namespace

void lift_indexed_move(Context& c) {
  Inst* index = c.and_(c.m0(), c.b.i32(0xff));
  Inst* value = source(c, c.index_enables & kSource0, index);
  if (c.index_enables & kDestination)
    write_indexed(c, c.operand(Slot::vdst).reg, index, value);
  else
    c.set_v32(value);
}

void add_indexing(HandlerTable& t) {
  t.add(Opcode::s_set_gpr_idx_on, s_set_gpr_idx_on);
  t.add(Opcode::s_set_gpr_idx_idx, s_set_gpr_idx_idx);
  t.add(Opcode::s_set_gpr_idx_mode, s_set_gpr_idx_mode);
  t.add(Opcode::s_set_gpr_idx_off, s_set_gpr_idx_off);
  t.add(Opcode::v_movrels_b32, v_movrel<true, false>);
  t.add(Opcode::v_movreld_b32, v_movrel<false, true>);
  t.add(Opcode::v_movrelsd_b32, v_movrel<true, true>);
}

}  // namespace wavejit::lift
