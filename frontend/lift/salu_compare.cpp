// SOPC and the compares of SOPK.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

template <ICmp kPredicate>
void compare32(Context& c) {
  Inst* x = c.s32(Slot::src0);
  c.set_scc(c.b.icmp(kPredicate, x, c.s32(Slot::src1)));
}

// On VCC, EXEC or compare results against zero the question is whether the mask is empty.
template <bool kEqual>
void compare64(Context& c) {
  const Operand& x = c.operand(Slot::src0);
  const Operand& y = c.operand(Slot::src1);
  const bool against_zero = y.kind == OperandKind::constant && y.value == 0;
  if (against_zero && x.kind == OperandKind::sgpr && (Context::is_mask_register(x) || c.ssa.is_mask(x.reg))) {
    Inst* any = c.b.op(Op::mask_any, {c.smask(x)});
    c.set_scc(kEqual ? c.b.op(Op::not_, {any}) : any);
    return;
  }
  Inst* left = c.s64(x);
  c.set_scc(c.b.icmp(kEqual ? ICmp::eq : ICmp::ne, left, c.s64(y)));
}

template <ICmp kPredicate, bool kSigned>
void compare_imm(Context& c) {
  const uint16_t imm = c.simm16();
  const uint32_t value = kSigned ? static_cast<uint32_t>(static_cast<int16_t>(imm)) : imm;
  Inst* x = c.s32(Slot::src0);
  c.set_scc(c.b.icmp(kPredicate, x, c.b.i32(value)));
}

template <bool kOne, bool kWide>
void bit_compare(Context& c) {
  Inst* x = kWide ? c.s64(Slot::src0) : c.s32(Slot::src0);
  Inst* bit = c.s32(Slot::src1);
  if (kWide) bit = c.b.op(Op::zext64, {bit});
  Inst* one = c.and_(c.b.op(Op::lshr, {x, bit}), c.like(x, 1));
  c.set_scc(c.b.icmp(kOne ? ICmp::ne : ICmp::eq, one, c.like(x, 0)));
}

}  // namespace

void add_salu_compare(HandlerTable& t) {
  t.add(Opcode::s_cmp_eq_i32, compare32<ICmp::eq>);
  t.add(Opcode::s_cmp_lg_i32, compare32<ICmp::ne>);
  t.add(Opcode::s_cmp_gt_i32, compare32<ICmp::sgt>);
  t.add(Opcode::s_cmp_ge_i32, compare32<ICmp::sge>);
  t.add(Opcode::s_cmp_lt_i32, compare32<ICmp::slt>);
  t.add(Opcode::s_cmp_le_i32, compare32<ICmp::sle>);
  t.add(Opcode::s_cmp_eq_u32, compare32<ICmp::eq>);
  t.add(Opcode::s_cmp_lg_u32, compare32<ICmp::ne>);
  t.add(Opcode::s_cmp_gt_u32, compare32<ICmp::ugt>);
  t.add(Opcode::s_cmp_ge_u32, compare32<ICmp::uge>);
  t.add(Opcode::s_cmp_lt_u32, compare32<ICmp::ult>);
  t.add(Opcode::s_cmp_le_u32, compare32<ICmp::ule>);
  t.add(Opcode::s_cmp_eq_u64, compare64<true>);
  t.add(Opcode::s_cmp_lg_u64, compare64<false>);
  t.add(Opcode::s_bitcmp0_b32, bit_compare<false, false>);
  t.add(Opcode::s_bitcmp1_b32, bit_compare<true, false>);
  t.add(Opcode::s_bitcmp0_b64, bit_compare<false, true>);
  t.add(Opcode::s_bitcmp1_b64, bit_compare<true, true>);
  t.add(Opcode::s_cmpk_eq_i32, compare_imm<ICmp::eq, true>);
  t.add(Opcode::s_cmpk_lg_i32, compare_imm<ICmp::ne, true>);
  t.add(Opcode::s_cmpk_gt_i32, compare_imm<ICmp::sgt, true>);
  t.add(Opcode::s_cmpk_ge_i32, compare_imm<ICmp::sge, true>);
  t.add(Opcode::s_cmpk_lt_i32, compare_imm<ICmp::slt, true>);
  t.add(Opcode::s_cmpk_le_i32, compare_imm<ICmp::sle, true>);
  t.add(Opcode::s_cmpk_eq_u32, compare_imm<ICmp::eq, false>);
  t.add(Opcode::s_cmpk_lg_u32, compare_imm<ICmp::ne, false>);
  t.add(Opcode::s_cmpk_gt_u32, compare_imm<ICmp::ugt, false>);
  t.add(Opcode::s_cmpk_ge_u32, compare_imm<ICmp::uge, false>);
  t.add(Opcode::s_cmpk_lt_u32, compare_imm<ICmp::ult, false>);
  t.add(Opcode::s_cmpk_le_u32, compare_imm<ICmp::ule, false>);
}

}  // namespace wavejit::lift
