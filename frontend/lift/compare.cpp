// VOPC: compares and class tests. Lanes outside EXEC get 0; the cmpx forms write EXEC as well.
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

using ir::FCmp;

void set_result(Context& c, Inst* mask, bool writes_exec) {
  mask = c.and_(c.write_enable(), mask);
  c.set_smask(Slot::sdst, mask);
  if (writes_exec) c.ssa.write_mask(sreg::kExecLo, mask);
}

template <FCmp kPredicate, bool kExec>
void f32(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  set_result(c, c.fp(Op::fcmp_f32, {x, y}, c.env32() | static_cast<uint32_t>(kPredicate) << ir::fpenv::kFCmpShift),
             kExec);
}
template <FCmp kPredicate, bool kExec>
void f16(Context& c) {
  Inst* x = c.src32(Slot::src0);
  Inst* y = c.src32(Slot::src1);
  set_result(c, c.fp(Op::fcmp_f16, {x, y}, c.env16() | static_cast<uint32_t>(kPredicate) << ir::fpenv::kFCmpShift),
             kExec);
}
template <FCmp kPredicate, bool kExec>
void f64(Context& c) {
  Inst* x = c.src64(Slot::src0);
  Inst* y = c.src64(Slot::src1);
  set_result(c, c.fp(Op::fcmp_f64, {x, y}, c.env64() | static_cast<uint32_t>(kPredicate) << ir::fpenv::kFCmpShift),
             kExec);
}

template <ICmp kPredicate, bool kExec>
void i32(Context& c) {
  Inst* x = c.src32(Slot::src0);
  set_result(c, c.b.icmp(kPredicate, x, c.src32(Slot::src1)), kExec);
}
template <ICmp kPredicate, bool kExec>
void i64(Context& c) {
  Inst* x = c.src64(Slot::src0);
  set_result(c, c.b.icmp(kPredicate, x, c.src64(Slot::src1)), kExec);
}
template <ICmp kPredicate, bool kExec>
void i16(Context& c) {
  Inst* x = c.src_i16(Slot::src0);
  set_result(c, c.b.icmp(kPredicate, x, c.src_i16(Slot::src1)), kExec);
}
template <ICmp kPredicate, bool kExec>
void u16(Context& c) {
  Inst* x = c.src_u16(Slot::src0);
  set_result(c, c.b.icmp(kPredicate, x, c.src_u16(Slot::src1)), kExec);
}
template <bool kValue, bool kExec>
void always(Context& c) {
  set_result(c, c.b.mask(kValue ? ~uint64_t{0} : 0), kExec);
}

template <Op kOp, bool kExec>
void classify(Context& c) {
  Inst* x = kOp == Op::fclass_f64 ? c.src64(Slot::src0) : c.src32(Slot::src0);
  set_result(c, c.b.op(kOp, {x, c.src32(Slot::src1)}), kExec);
}

}  // namespace

void add_compare(HandlerTable& t) {
  t.add(Opcode::v_cmp_class_f32, classify<Op::fclass_f32, false>);
  t.add(Opcode::v_cmp_f_f32, always<false, false>);
  t.add(Opcode::v_cmp_lt_f32, f32<FCmp::lt, false>);
  t.add(Opcode::v_cmp_eq_f32, f32<FCmp::eq, false>);
  t.add(Opcode::v_cmp_le_f32, f32<FCmp::le, false>);
  t.add(Opcode::v_cmp_gt_f32, f32<FCmp::gt, false>);
  t.add(Opcode::v_cmp_lg_f32, f32<FCmp::lg, false>);
  t.add(Opcode::v_cmp_ge_f32, f32<FCmp::ge, false>);
  t.add(Opcode::v_cmp_o_f32, f32<FCmp::o, false>);
  t.add(Opcode::v_cmp_u_f32, f32<FCmp::u, false>);
  t.add(Opcode::v_cmp_nge_f32, f32<FCmp::nge, false>);
  t.add(Opcode::v_cmp_nlg_f32, f32<FCmp::nlg, false>);
  t.add(Opcode::v_cmp_ngt_f32, f32<FCmp::ngt, false>);
  t.add(Opcode::v_cmp_nle_f32, f32<FCmp::nle, false>);
  t.add(Opcode::v_cmp_neq_f32, f32<FCmp::neq, false>);
  t.add(Opcode::v_cmp_nlt_f32, f32<FCmp::nlt, false>);
  t.add(Opcode::v_cmp_tru_f32, always<true, false>);
  t.add(Opcode::v_cmp_class_f16, classify<Op::fclass_f16, false>);
  t.add(Opcode::v_cmp_f_f16, always<false, false>);
  t.add(Opcode::v_cmp_lt_f16, f16<FCmp::lt, false>);
  t.add(Opcode::v_cmp_eq_f16, f16<FCmp::eq, false>);
  t.add(Opcode::v_cmp_le_f16, f16<FCmp::le, false>);
  t.add(Opcode::v_cmp_gt_f16, f16<FCmp::gt, false>);
  t.add(Opcode::v_cmp_lg_f16, f16<FCmp::lg, false>);
  t.add(Opcode::v_cmp_ge_f16, f16<FCmp::ge, false>);
  t.add(Opcode::v_cmp_o_f16, f16<FCmp::o, false>);
  t.add(Opcode::v_cmp_u_f16, f16<FCmp::u, false>);
  t.add(Opcode::v_cmp_nge_f16, f16<FCmp::nge, false>);
  t.add(Opcode::v_cmp_nlg_f16, f16<FCmp::nlg, false>);
  t.add(Opcode::v_cmp_ngt_f16, f16<FCmp::ngt, false>);
  t.add(Opcode::v_cmp_nle_f16, f16<FCmp::nle, false>);
  t.add(Opcode::v_cmp_neq_f16, f16<FCmp::neq, false>);
  t.add(Opcode::v_cmp_nlt_f16, f16<FCmp::nlt, false>);
  t.add(Opcode::v_cmp_tru_f16, always<true, false>);
  t.add(Opcode::v_cmp_class_f64, classify<Op::fclass_f64, false>);
  t.add(Opcode::v_cmp_f_f64, always<false, false>);
  t.add(Opcode::v_cmp_lt_f64, f64<FCmp::lt, false>);
  t.add(Opcode::v_cmp_eq_f64, f64<FCmp::eq, false>);
  t.add(Opcode::v_cmp_le_f64, f64<FCmp::le, false>);
  t.add(Opcode::v_cmp_gt_f64, f64<FCmp::gt, false>);
  t.add(Opcode::v_cmp_lg_f64, f64<FCmp::lg, false>);
  t.add(Opcode::v_cmp_ge_f64, f64<FCmp::ge, false>);
  t.add(Opcode::v_cmp_o_f64, f64<FCmp::o, false>);
  t.add(Opcode::v_cmp_u_f64, f64<FCmp::u, false>);
  t.add(Opcode::v_cmp_nge_f64, f64<FCmp::nge, false>);
  t.add(Opcode::v_cmp_nlg_f64, f64<FCmp::nlg, false>);
  t.add(Opcode::v_cmp_ngt_f64, f64<FCmp::ngt, false>);
  t.add(Opcode::v_cmp_nle_f64, f64<FCmp::nle, false>);
  t.add(Opcode::v_cmp_neq_f64, f64<FCmp::neq, false>);
  t.add(Opcode::v_cmp_nlt_f64, f64<FCmp::nlt, false>);
  t.add(Opcode::v_cmp_tru_f64, always<true, false>);
  t.add(Opcode::v_cmp_f_i32, always<false, false>);
  t.add(Opcode::v_cmp_lt_i32, i32<ICmp::slt, false>);
  t.add(Opcode::v_cmp_eq_i32, i32<ICmp::eq, false>);
  t.add(Opcode::v_cmp_le_i32, i32<ICmp::sle, false>);
  t.add(Opcode::v_cmp_gt_i32, i32<ICmp::sgt, false>);
  t.add(Opcode::v_cmp_ne_i32, i32<ICmp::ne, false>);
  t.add(Opcode::v_cmp_ge_i32, i32<ICmp::sge, false>);
  t.add(Opcode::v_cmp_t_i32, always<true, false>);
  t.add(Opcode::v_cmp_f_u32, always<false, false>);
  t.add(Opcode::v_cmp_lt_u32, i32<ICmp::ult, false>);
  t.add(Opcode::v_cmp_eq_u32, i32<ICmp::eq, false>);
  t.add(Opcode::v_cmp_le_u32, i32<ICmp::ule, false>);
  t.add(Opcode::v_cmp_gt_u32, i32<ICmp::ugt, false>);
  t.add(Opcode::v_cmp_ne_u32, i32<ICmp::ne, false>);
  t.add(Opcode::v_cmp_ge_u32, i32<ICmp::uge, false>);
  t.add(Opcode::v_cmp_t_u32, always<true, false>);
  t.add(Opcode::v_cmp_f_i64, always<false, false>);
  t.add(Opcode::v_cmp_lt_i64, i64<ICmp::slt, false>);
  t.add(Opcode::v_cmp_eq_i64, i64<ICmp::eq, false>);
  t.add(Opcode::v_cmp_le_i64, i64<ICmp::sle, false>);
  t.add(Opcode::v_cmp_gt_i64, i64<ICmp::sgt, false>);
  t.add(Opcode::v_cmp_ne_i64, i64<ICmp::ne, false>);
  t.add(Opcode::v_cmp_ge_i64, i64<ICmp::sge, false>);
  t.add(Opcode::v_cmp_t_i64, always<true, false>);
  t.add(Opcode::v_cmp_f_u64, always<false, false>);
  t.add(Opcode::v_cmp_lt_u64, i64<ICmp::ult, false>);
  t.add(Opcode::v_cmp_eq_u64, i64<ICmp::eq, false>);
  t.add(Opcode::v_cmp_le_u64, i64<ICmp::ule, false>);
  t.add(Opcode::v_cmp_gt_u64, i64<ICmp::ugt, false>);
  t.add(Opcode::v_cmp_ne_u64, i64<ICmp::ne, false>);
  t.add(Opcode::v_cmp_ge_u64, i64<ICmp::uge, false>);
  t.add(Opcode::v_cmp_t_u64, always<true, false>);
  t.add(Opcode::v_cmp_f_i16, always<false, false>);
  t.add(Opcode::v_cmp_lt_i16, i16<ICmp::slt, false>);
  t.add(Opcode::v_cmp_eq_i16, i16<ICmp::eq, false>);
  t.add(Opcode::v_cmp_le_i16, i16<ICmp::sle, false>);
  t.add(Opcode::v_cmp_gt_i16, i16<ICmp::sgt, false>);
  t.add(Opcode::v_cmp_ne_i16, i16<ICmp::ne, false>);
  t.add(Opcode::v_cmp_ge_i16, i16<ICmp::sge, false>);
  t.add(Opcode::v_cmp_t_i16, always<true, false>);
  t.add(Opcode::v_cmp_f_u16, always<false, false>);
  t.add(Opcode::v_cmp_lt_u16, u16<ICmp::ult, false>);
  t.add(Opcode::v_cmp_eq_u16, u16<ICmp::eq, false>);
  t.add(Opcode::v_cmp_le_u16, u16<ICmp::ule, false>);
  t.add(Opcode::v_cmp_gt_u16, u16<ICmp::ugt, false>);
  t.add(Opcode::v_cmp_ne_u16, u16<ICmp::ne, false>);
  t.add(Opcode::v_cmp_ge_u16, u16<ICmp::uge, false>);
  t.add(Opcode::v_cmp_t_u16, always<true, false>);
  t.add(Opcode::v_cmpx_class_f32, classify<Op::fclass_f32, true>);
  t.add(Opcode::v_cmpx_f_f32, always<false, true>);
  t.add(Opcode::v_cmpx_lt_f32, f32<FCmp::lt, true>);
  t.add(Opcode::v_cmpx_eq_f32, f32<FCmp::eq, true>);
  t.add(Opcode::v_cmpx_le_f32, f32<FCmp::le, true>);
  t.add(Opcode::v_cmpx_gt_f32, f32<FCmp::gt, true>);
  t.add(Opcode::v_cmpx_lg_f32, f32<FCmp::lg, true>);
  t.add(Opcode::v_cmpx_ge_f32, f32<FCmp::ge, true>);
  t.add(Opcode::v_cmpx_o_f32, f32<FCmp::o, true>);
  t.add(Opcode::v_cmpx_u_f32, f32<FCmp::u, true>);
  t.add(Opcode::v_cmpx_nge_f32, f32<FCmp::nge, true>);
  t.add(Opcode::v_cmpx_nlg_f32, f32<FCmp::nlg, true>);
  t.add(Opcode::v_cmpx_ngt_f32, f32<FCmp::ngt, true>);
  t.add(Opcode::v_cmpx_nle_f32, f32<FCmp::nle, true>);
  t.add(Opcode::v_cmpx_neq_f32, f32<FCmp::neq, true>);
  t.add(Opcode::v_cmpx_nlt_f32, f32<FCmp::nlt, true>);
  t.add(Opcode::v_cmpx_tru_f32, always<true, true>);
  t.add(Opcode::v_cmpx_class_f16, classify<Op::fclass_f16, true>);
  t.add(Opcode::v_cmpx_f_f16, always<false, true>);
  t.add(Opcode::v_cmpx_lt_f16, f16<FCmp::lt, true>);
  t.add(Opcode::v_cmpx_eq_f16, f16<FCmp::eq, true>);
  t.add(Opcode::v_cmpx_le_f16, f16<FCmp::le, true>);
  t.add(Opcode::v_cmpx_gt_f16, f16<FCmp::gt, true>);
  t.add(Opcode::v_cmpx_lg_f16, f16<FCmp::lg, true>);
  t.add(Opcode::v_cmpx_ge_f16, f16<FCmp::ge, true>);
  t.add(Opcode::v_cmpx_o_f16, f16<FCmp::o, true>);
  t.add(Opcode::v_cmpx_u_f16, f16<FCmp::u, true>);
  t.add(Opcode::v_cmpx_nge_f16, f16<FCmp::nge, true>);
  t.add(Opcode::v_cmpx_nlg_f16, f16<FCmp::nlg, true>);
  t.add(Opcode::v_cmpx_ngt_f16, f16<FCmp::ngt, true>);
  t.add(Opcode::v_cmpx_nle_f16, f16<FCmp::nle, true>);
  t.add(Opcode::v_cmpx_neq_f16, f16<FCmp::neq, true>);
  t.add(Opcode::v_cmpx_nlt_f16, f16<FCmp::nlt, true>);
  t.add(Opcode::v_cmpx_tru_f16, always<true, true>);
  t.add(Opcode::v_cmpx_class_f64, classify<Op::fclass_f64, true>);
  t.add(Opcode::v_cmpx_f_f64, always<false, true>);
  t.add(Opcode::v_cmpx_lt_f64, f64<FCmp::lt, true>);
  t.add(Opcode::v_cmpx_eq_f64, f64<FCmp::eq, true>);
  t.add(Opcode::v_cmpx_le_f64, f64<FCmp::le, true>);
  t.add(Opcode::v_cmpx_gt_f64, f64<FCmp::gt, true>);
  t.add(Opcode::v_cmpx_lg_f64, f64<FCmp::lg, true>);
  t.add(Opcode::v_cmpx_ge_f64, f64<FCmp::ge, true>);
  t.add(Opcode::v_cmpx_o_f64, f64<FCmp::o, true>);
  t.add(Opcode::v_cmpx_u_f64, f64<FCmp::u, true>);
  t.add(Opcode::v_cmpx_nge_f64, f64<FCmp::nge, true>);
  t.add(Opcode::v_cmpx_nlg_f64, f64<FCmp::nlg, true>);
  t.add(Opcode::v_cmpx_ngt_f64, f64<FCmp::ngt, true>);
  t.add(Opcode::v_cmpx_nle_f64, f64<FCmp::nle, true>);
  t.add(Opcode::v_cmpx_neq_f64, f64<FCmp::neq, true>);
  t.add(Opcode::v_cmpx_nlt_f64, f64<FCmp::nlt, true>);
  t.add(Opcode::v_cmpx_tru_f64, always<true, true>);
  t.add(Opcode::v_cmpx_f_i32, always<false, true>);
  t.add(Opcode::v_cmpx_lt_i32, i32<ICmp::slt, true>);
  t.add(Opcode::v_cmpx_eq_i32, i32<ICmp::eq, true>);
  t.add(Opcode::v_cmpx_le_i32, i32<ICmp::sle, true>);
  t.add(Opcode::v_cmpx_gt_i32, i32<ICmp::sgt, true>);
  t.add(Opcode::v_cmpx_ne_i32, i32<ICmp::ne, true>);
  t.add(Opcode::v_cmpx_ge_i32, i32<ICmp::sge, true>);
  t.add(Opcode::v_cmpx_t_i32, always<true, true>);
  t.add(Opcode::v_cmpx_f_u32, always<false, true>);
  t.add(Opcode::v_cmpx_lt_u32, i32<ICmp::ult, true>);
  t.add(Opcode::v_cmpx_eq_u32, i32<ICmp::eq, true>);
  t.add(Opcode::v_cmpx_le_u32, i32<ICmp::ule, true>);
  t.add(Opcode::v_cmpx_gt_u32, i32<ICmp::ugt, true>);
  t.add(Opcode::v_cmpx_ne_u32, i32<ICmp::ne, true>);
  t.add(Opcode::v_cmpx_ge_u32, i32<ICmp::uge, true>);
  t.add(Opcode::v_cmpx_t_u32, always<true, true>);
  t.add(Opcode::v_cmpx_f_i64, always<false, true>);
  t.add(Opcode::v_cmpx_lt_i64, i64<ICmp::slt, true>);
  t.add(Opcode::v_cmpx_eq_i64, i64<ICmp::eq, true>);
  t.add(Opcode::v_cmpx_le_i64, i64<ICmp::sle, true>);
  t.add(Opcode::v_cmpx_gt_i64, i64<ICmp::sgt, true>);
  t.add(Opcode::v_cmpx_ne_i64, i64<ICmp::ne, true>);
  t.add(Opcode::v_cmpx_ge_i64, i64<ICmp::sge, true>);
  t.add(Opcode::v_cmpx_t_i64, always<true, true>);
  t.add(Opcode::v_cmpx_f_u64, always<false, true>);
  t.add(Opcode::v_cmpx_lt_u64, i64<ICmp::ult, true>);
  t.add(Opcode::v_cmpx_eq_u64, i64<ICmp::eq, true>);
  t.add(Opcode::v_cmpx_le_u64, i64<ICmp::ule, true>);
  t.add(Opcode::v_cmpx_gt_u64, i64<ICmp::ugt, true>);
  t.add(Opcode::v_cmpx_ne_u64, i64<ICmp::ne, true>);
  t.add(Opcode::v_cmpx_ge_u64, i64<ICmp::uge, true>);
  t.add(Opcode::v_cmpx_t_u64, always<true, true>);
  t.add(Opcode::v_cmpx_f_i16, always<false, true>);
  t.add(Opcode::v_cmpx_lt_i16, i16<ICmp::slt, true>);
  t.add(Opcode::v_cmpx_eq_i16, i16<ICmp::eq, true>);
  t.add(Opcode::v_cmpx_le_i16, i16<ICmp::sle, true>);
  t.add(Opcode::v_cmpx_gt_i16, i16<ICmp::sgt, true>);
  t.add(Opcode::v_cmpx_ne_i16, i16<ICmp::ne, true>);
  t.add(Opcode::v_cmpx_ge_i16, i16<ICmp::sge, true>);
  t.add(Opcode::v_cmpx_t_i16, always<true, true>);
  t.add(Opcode::v_cmpx_f_u16, always<false, true>);
  t.add(Opcode::v_cmpx_lt_u16, u16<ICmp::ult, true>);
  t.add(Opcode::v_cmpx_eq_u16, u16<ICmp::eq, true>);
  t.add(Opcode::v_cmpx_le_u16, u16<ICmp::ule, true>);
  t.add(Opcode::v_cmpx_gt_u16, u16<ICmp::ugt, true>);
  t.add(Opcode::v_cmpx_ne_u16, u16<ICmp::ne, true>);
  t.add(Opcode::v_cmpx_ge_u16, u16<ICmp::uge, true>);
  t.add(Opcode::v_cmpx_t_u16, always<true, true>);
  // The signalling compares of GFX6 and GFX7 differ in the exceptions that they raise only.
#define WAVEJIT_SIGNALLING(condition)                                   \
  t.add(Opcode::v_cmps_##condition##_f32, f32<FCmp::condition, false>); \
  t.add(Opcode::v_cmps_##condition##_f64, f64<FCmp::condition, false>); \
  t.add(Opcode::v_cmpsx_##condition##_f32, f32<FCmp::condition, true>); \
  t.add(Opcode::v_cmpsx_##condition##_f64, f64<FCmp::condition, true>);
  WAVEJIT_SIGNALLING(lt)
  WAVEJIT_SIGNALLING(eq)
  WAVEJIT_SIGNALLING(le)
  WAVEJIT_SIGNALLING(gt)
  WAVEJIT_SIGNALLING(lg)
  WAVEJIT_SIGNALLING(ge)
  WAVEJIT_SIGNALLING(o)
  WAVEJIT_SIGNALLING(u)
  WAVEJIT_SIGNALLING(nge)
  WAVEJIT_SIGNALLING(nlg)
  WAVEJIT_SIGNALLING(ngt)
  WAVEJIT_SIGNALLING(nle)
  WAVEJIT_SIGNALLING(neq)
  WAVEJIT_SIGNALLING(nlt)
#undef WAVEJIT_SIGNALLING
  t.add(Opcode::v_cmps_f_f32, always<false, false>);
  t.add(Opcode::v_cmps_tru_f32, always<true, false>);
  t.add(Opcode::v_cmps_f_f64, always<false, false>);
  t.add(Opcode::v_cmps_tru_f64, always<true, false>);
  t.add(Opcode::v_cmpsx_f_f32, always<false, true>);
  t.add(Opcode::v_cmpsx_tru_f32, always<true, true>);
  t.add(Opcode::v_cmpsx_f_f64, always<false, true>);
  t.add(Opcode::v_cmpsx_tru_f64, always<true, true>);
}

}  // namespace wavejit::lift
