#include "backend-x86/lower/operations.h"

#include <algorithm>
#include <iterator>

#include "backend-x86/lower/helper_calls.h"
#include "backend-x86/lower/lane_loops.h"
#include "backend-x86/lower/memory/lane_address_code.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/scalar.h"
#include "backend-x86/lower/state.h"
#include "backend-x86/lower/vector/convert.h"
#include "backend-x86/lower/vector/cross_lane.h"
#include "backend-x86/lower/vector/division.h"
#include "backend-x86/lower/vector/masks.h"
#include "backend-x86/lower/vector/transcendental.h"
#include "backend-x86/lower/vector/vector_float.h"
#include "backend-x86/lower/vector/vector_float16.h"
#include "backend-x86/lower/vector/vector_int.h"
#include "backend-x86/lower/vector/vector_int64.h"

namespace wavejit::backend {

using ir::Effect;

namespace {

// A function for each kind of operation, in the order in which they are asked: false for operations of another kind.
constexpr bool (*kChunkKinds[])(Lowering&, const Inst&, unsigned chunk) = {emit_ternary,
                                                                           emit_simple,
                                                                           emit_state,
                                                                           emit_int32,
                                                                           emit_int64,
                                                                           emit_mask,
                                                                           emit_float,
                                                                           emit_float16,
                                                                           emit_transcendental,
                                                                           emit_convert,
                                                                           emit_memory,
                                                                           emit_division,
                                                                           emit_out_of_line_chunk};
constexpr bool (*kScalarKinds[])(Lowering&, const Inst&) = {emit_scalar_state, emit_scalar_arithmetic,
                                                            emit_load_scalar};
constexpr bool (*kBarrierKinds[])(Lowering&, const Inst&) = {emit_lane_loop, emit_mask_number,   emit_cross_lane,
                                                             emit_atomic,    emit_store_of_wave, emit_out_of_line};

}  // namespace

Shape shape_of(const Inst& inst) {
  const ir::OpInfo& info = ir::op_info(inst.op);
  if (info.effect == Effect::control) return Shape::terminator;
  if (info.whole_wave || is_store_of_wave(inst)) return Shape::barrier;
  // Operations on scalars only are scalar; everything else that remains works lane by lane.
  const auto lanes = [](ir::Type t) { return t.is_vector() || t.is_mask(); };
  const bool any = lanes(inst.type) || std::any_of(inst.operands.begin(), inst.operands.end(),
                                                   [&](const Inst* o) { return lanes(o->type); });
  return any ? Shape::chunk : Shape::scalar;
}

void emit_chunk(Lowering& ctx, const Inst& inst, unsigned chunk) {
  if (inst.op == Op::const_ || inst.op == Op::undef || inst.op == Op::lane_id) return;  // made where they are used
  if (inst.op == Op::extract && !ctx.classes.is_shared(&inst)) return;  // an alias of a tuple's register
  if (ctx.lane_addresses.is_scalar(&inst)) return emit_lane_address(ctx, inst, chunk);
  ctx.cc.set_narrow(ctx.is_narrow(&inst));
  const bool loaded = inst.op == Op::splat && ctx.is_fused(inst.operands[0]);
  if (loaded) emit_load_for_all_lanes(ctx, inst, chunk);
  const bool done = loaded || std::any_of(std::begin(kChunkKinds), std::end(kChunkKinds),
                                          [&](auto* kind) { return kind(ctx, inst, chunk); });
  ctx.cc.set_narrow(false);
  if (!done) ctx.fail(inst);
}

void emit_scalar(Lowering& ctx, const Inst& inst) {
  if (inst.op == Op::const_ || inst.op == Op::undef) return;
  if (inst.op == Op::extract && !ctx.classes.is_shared(&inst)) return;
  if (std::none_of(std::begin(kScalarKinds), std::end(kScalarKinds), [&](auto* kind) { return kind(ctx, inst); }))
    ctx.fail(inst);
}

void emit_barrier(Lowering& ctx, const Inst& inst) {
  if (std::none_of(std::begin(kBarrierKinds), std::end(kBarrierKinds), [&](auto* kind) { return kind(ctx, inst); }))
    ctx.fail(inst);
}

}  // namespace wavejit::backend
