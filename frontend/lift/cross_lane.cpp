// Lane access: readlane, writelane, readfirstlane, and the DS instructions that only move data between lanes.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

void v_readlane_b32(Context& c) {
  Inst* source = c.raw32(c.operand(Slot::src0));
  c.set_s32_of_lane(Slot::sdst, c.b.op(Op::readlane, {source, c.s32(Slot::src1)}));
}

void v_readfirstlane_b32(Context& c) {
  const Operand& source = c.operand(Slot::src0);
  if (source.kind == OperandKind::vgpr || source.kind == OperandKind::agpr)
    c.set_s32_of_lane(Slot::sdst, c.b.op(Op::readfirstlane, {c.raw32(source), c.exec()}));
  else
    c.set_s32_of_lane(Slot::sdst, c.s32(source));
}

// Ignores EXEC.
void v_writelane_b32(Context& c) {
  const Operand& dst = c.operand(Slot::vdst);
  Inst* value = c.s32(Slot::src0);
  Inst* lane = c.s32(Slot::src1);
  if (Inst* index = dst.kind == OperandKind::vgpr ? c.gpr_index(Context::kDestination) : nullptr) {
    const Context::RelativeRow relative{.base = dst.reg, .dwords = 1, .index = index};
    Inst* old = c.read_relative(relative, 0);
    return c.write_relative(relative, 0, c.b.op(Op::writelane, {old, value, lane}), c.b.mask(~uint64_t{0}));
  }
  c.ssa.write_row(first_row(dst), c.b.op(Op::writelane, {c.ssa.read_row(first_row(dst)), value, lane}));
}

void ds_swizzle_b32(Context& c) {
  Inst* source = c.row(c.operand(Slot::addr));
  auto offset = static_cast<uint32_t>(c.inst->offset) & 0xffff;
  // GFX9 took bits 14:13 of the quad permutation, which ignores them, for the rotate and FFT modes.
  if (!c.gfx9_plus() && (offset & 0x8000) != 0) offset &= 0x80ff;
  c.set_v32(c.b.op(Op::swizzle, {source, c.exec()}, offset));
}

template <Op kOp>
void permute(Context& c) {
  Inst* address = c.row(c.operand(Slot::addr));
  Inst* source = c.row(c.operand(Slot::data0));
  c.set_v32(c.b.op(kOp, {address, source, c.exec()}, 0, static_cast<uint64_t>(c.inst->offset)));
}

}  // namespace

void add_cross_lane(HandlerTable& t) {
  t.add(Opcode::v_readlane_b32, v_readlane_b32);
  t.add(Opcode::v_readfirstlane_b32, v_readfirstlane_b32);
  t.add(Opcode::v_writelane_b32, v_writelane_b32);
  t.add(Opcode::ds_swizzle_b32, ds_swizzle_b32);
  t.add(Opcode::ds_permute_b32, permute<Op::permute>);
  t.add(Opcode::ds_bpermute_b32, permute<Op::bpermute>);
}

}  // namespace wavejit::lift
