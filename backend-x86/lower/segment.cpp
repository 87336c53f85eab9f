// Which instructions form a segment, and the order in which its chunks are emitted.
#include "backend-x86/lower/segment.h"

#include <algorithm>
#include <utility>

#include "backend-x86/lower/environment.h"
#include "backend-x86/lower/interleaving.h"
#include "backend-x86/lower/lds_ranges.h"
#include "backend-x86/lower/matrix/matrix_product.h"
#include "backend-x86/lower/matrix/matrix_rows.h"
#include "backend-x86/lower/operations.h"
#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/rolled_segment.h"
#include "backend-x86/lower/row_homes.h"
#include "backend-x86/lower/segment_order.h"
#include "backend-x86/lower/segment_values.h"
#include "backend-x86/lower/vector/vector_float16.h"
#include "internal/stop_scope.h"
#include "ir/matrix.h"

namespace wavejit::backend {

using ir::Effect;
using ir::Space;

namespace {

// Instructions of a segment from which its order is looked at.
constexpr size_t kMinScheduled = 32;

// Memory that an access may touch, as a set: flat addresses reach all of it.
unsigned space_bits(Space space) {
  switch (space) {
    case Space::global:
      return 1;
    case Space::lds:
      return 2;
    case Space::scratch:
      return 4;
    case Space::flat:
      return 7;
  }
  return 7;
}

// Scalar registers [first, first + count) that an access to the wave state covers.
struct StateRange {
  uint64_t first, count;
};
StateRange state_range(const Inst& inst) {
  switch (inst.op) {
    case Op::get_sgpr:
    case Op::set_sgpr:
      return {inst.imm, 1};
    case Op::get_sgpr64:
    case Op::set_sgpr64:
    case Op::get_mask:
    case Op::set_mask:
      return {inst.imm, 2};
    default:
      return {0, 0};
  }
}
bool overlap(StateRange a, StateRange b) {
  return a.count != 0 && b.count != 0 && a.first < b.first + b.count && b.first < a.first + a.count;
}

// One register for all chunks, which is also its phi's: written behind the last chunk, as all of them may read what is
// there before.
bool is_deferred(const Lowering& ctx, const Inst& inst) {
  return ctx.classes.is_shared(&inst) && !inst.type.is_scalar() && ctx.is_invariant(&inst);
}

// Whether the segment, chunk after chunk, might order the memory access and those before it in another way than lockstep.
// Those of the LDS are emit_chunks' business, unless scalar code overtakes them.
bool conflicts_with_segment(const Lowering& ctx, const Inst& inst) {
  const bool loads = inst.op == Op::load || inst.op == Op::load_edges || inst.op == Op::load_scalar;
  const bool stores = inst.op == Op::store || inst.op == Op::store_edges;
  if (!loads && !stores) return false;
  if (inst.op == Op::load_scalar) return ctx.segment->facts.stores != 0;
  const unsigned spaces = space_bits(inst.mem.space) & ~space_bits(Space::lds);
  return (spaces & ctx.segment->facts.stores) != 0 || (stores && (spaces & ctx.segment->facts.loads) != 0);
}

// Whether the instruction, or one that is emitted with it, reads the registers of `own`.
bool reads_class(const Lowering& ctx, const Inst& inst, const Inst* own) {
  return std::any_of(inst.operands.begin(), inst.operands.end(), [&](const Inst* operand) {
    return ctx.classes.representative(operand) == own || (ctx.is_fused(operand) && reads_class(ctx, *operand, own));
  });
}

}  // namespace

bool must_flush_before(const Lowering& ctx, const Inst& inst, Shape shape) {
  if (ctx.segment->insts.empty()) return false;
  if (shape == Shape::barrier || shape == Shape::terminator || !ctx.on(Optimisation::segments)) return true;
  if (shape == Shape::chunk) {
    const bool matrix = ir::is_matrix_op(inst.op);
    if (matrix != ir::is_matrix_op(ctx.segment->insts.back()->op) ||
        (matrix && reads_lanes_of(inst, ctx.segment->insts)))
      return true;
    // One environment per segment, so that it is not switched in every chunk.
    const auto need = env_with_fused(ctx, inst);
    if (need && ctx.segment->env && ((need->bits ^ ctx.segment->env->bits) & need->care & ctx.segment->env->care) != 0)
      return true;
  }
  const bool shared = ctx.classes.is_shared(&inst);
  const Inst* own = ctx.classes.representative(&inst);
  if (conflicts_with_segment(ctx, inst)) return true;
  const bool read = ctx.segment->read[own->id] == ctx.segment->number;
  if (shape == Shape::chunk) {
    // What those that wait for the last chunk are to read or have made.
    const auto& deferred = ctx.segment->facts.deferred;
    if (std::any_of(deferred.begin(), deferred.end(), [&](const Inst* pending) {
          return (shared && !is_deferred(ctx, inst) && reads_class(ctx, *pending, own)) ||
                 reads_class(ctx, inst, ctx.classes.representative(pending));
        })) {
      return true;
    }
    return read && is_deferred(ctx, inst) && !ir::is_pure(inst.op);
  }
  // Scalar instructions overtake the pending segment.
  if (shared && read) return true;
  const StateRange range = state_range(inst);
  const auto& state = ctx.segment->facts.state;
  return range.count != 0 && std::any_of(state.begin(), state.end(), [&](const Inst* pending) {
           const bool writes =
               ir::op_info(inst.op).effect == Effect::writes || ir::op_info(pending->op).effect == Effect::writes;
           return writes && overlap(range, state_range(*pending));
         });
}

namespace {

// reads_class for all classes.
void note_reads(Lowering& ctx, const Inst& inst) {
  for (const Inst* operand : inst.operands) {
    ctx.segment->read[ctx.classes.representative(operand)->id] = ctx.segment->number;
    if (ctx.is_fused(operand)) note_reads(ctx, *operand);
  }
}

}  // namespace

void add_to_segment(Lowering& ctx, const Inst& inst) {
  ctx.segment->insts.push_back(&inst);
  const bool loads = inst.op == Op::load || inst.op == Op::load_edges;
  if (loads || inst.op == Op::store || inst.op == Op::store_edges) {
    (loads ? ctx.segment->facts.loads : ctx.segment->facts.stores) |= space_bits(inst.mem.space);
  }
  if (is_deferred(ctx, inst)) ctx.segment->facts.deferred.push_back(&inst);
  if (state_range(inst).count != 0) ctx.segment->facts.state.push_back(&inst);
  note_reads(ctx, inst);
}

namespace {

void emit_segment(Lowering& ctx) {
  std::vector<uint32_t> order;
  std::vector<schedule::Node> nodes;
  if (ctx.on(Optimisation::sums_first) && ctx.segment->insts.size() >= kMinScheduled) {
    nodes = segment_nodes(ctx);
    order = schedule::order_by_sums(nodes, ctx.isa->budget().vectors);
  }
  if (order.empty()) return emit_chunks(ctx, ctx.segment->insts);
  if (const auto parts = rolled_parts(ctx, nodes, order)) return emit_rolled(ctx, *parts);
  std::vector<const Inst*> ordered;
  ordered.reserve(order.size());
  for (const uint32_t i : order) ordered.push_back(ctx.segment->insts[i]);
  emit_chunks(ctx, ordered);
}

}  // namespace

void flush_segment(Lowering& ctx) {
  if (ctx.segment->env) set_env(ctx, *ctx.segment->env);
  const bool matrix = !ctx.segment->insts.empty() && ir::is_matrix_op(ctx.segment->insts[0]->op);
  if (matrix) emit_matrix_segment(ctx);
  if (!matrix) emit_segment(ctx);
  *ctx.halves = {};
  for (const Inst* inst : ctx.segment->insts) {
    if (ctx.error || matrix || !is_deferred(ctx, *inst) || !ir::is_pure(inst->op)) continue;
    ctx.annotate(*inst);
    emit_chunk(ctx, *inst, ctx.first_chunk());
  }
  ctx.segment->insts.clear();
  ctx.segment->facts = {};
  ++ctx.segment->number;
  ctx.segment->env.reset();
  ctx.reused->uniform_pointers.clear();
  ctx.reused->stream_distances.clear();
  ctx.reused->advance_distances.clear();
  ctx.reused->clamp_tests.clear();
  ctx.reused->odd_divisions.clear();
  ctx.reused->odd_floats.clear();
}

namespace {

void emit_chunks_in_any_order(Lowering& ctx, std::span<const Inst* const> insts) {
  std::vector<const Inst*> late;
  if (ctx.on(Optimisation::late_reads)) insts = late = with_late_reads(ctx, insts);
  begin_shared_halves(ctx, insts);
  const unsigned together = ctx.on(Optimisation::interleaving) ? chunks_side_by_side(ctx, insts) : 1;
  for (unsigned first = ctx.first_chunk(); first < ctx.end_chunk(); first += together) {
    const unsigned end = std::min(first + together, ctx.end_chunk());
    for (const Inst* inst : insts) {
      if (is_deferred(ctx, *inst) && ir::is_pure(inst->op)) continue;
      for (unsigned chunk = first; chunk < end; ++chunk) {
        if (ctx.error) return;
        if (chunk > ctx.first_chunk() && ctx.is_invariant(inst)) break;
        if (ctx.idle->wanted_in(*inst, chunk) == 0) continue;
        StopScope::check();
        ctx.annotate(*inst);
        emit_chunk(ctx, *inst, chunk);
        store_home(ctx, *inst, chunk);
        store_made_rows(ctx, *inst, chunk);
      }
    }
  }
}

}  // namespace

void emit_chunks(Lowering& ctx, std::span<const Inst* const> insts) {
  std::vector<LdsAccess> accesses;
  for (size_t i = 0; i < insts.size(); ++i) {
    if (!accesses_lds(*insts[i])) continue;
    const LdsAccess access = lds_access(ctx, *insts[i]);
    if (std::any_of(accesses.begin(), accesses.end(), [&](const LdsAccess& a) { return access.conflicts(a); })) {
      emit_chunks_in_any_order(ctx, insts.first(i));
      insts = insts.subspan(i);
      i = 0;
      accesses.clear();
    }
    accesses.push_back(access);
  }
  emit_chunks_in_any_order(ctx, insts);
}

}  // namespace wavejit::backend
