// The driver: plans, prologue, the order of blocks, and the instructions of a block.
#include "backend-x86/lower/lower.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "backend-x86/lower/control.h"
#include "backend-x86/lower/environment.h"
#include "backend-x86/lower/matrix/matrix_rows.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/operations.h"
#include "backend-x86/lower/plans/divisions.h"
#include "backend-x86/lower/plans/fusions.h"
#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/plans/invariance.h"
#include "backend-x86/lower/plans/narrow_values.h"
#include "backend-x86/lower/plans/prefetches.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/plans/streaming_store.h"
#include "backend-x86/lower/plans/ternary_logic.h"
#include "backend-x86/lower/plans/walks.h"
#include "backend-x86/lower/plans/wide_accesses.h"
#include "backend-x86/lower/scalar_values.h"
#include "backend-x86/lower/segment.h"
#include "backend-x86/lower/vector/cross_lane.h"
#include "ir/analysis/dominators.h"
#include "ir/analysis/loops.h"
#include "ir/matrix.h"

namespace wavejit::backend {

namespace {

// Each plan may read those before it.
void make_plans(Lowering& ctx) {
  if (ctx.on(Optimisation::narrow_values)) ctx.narrow = find_narrow_values(ctx.function, ctx.shapes);
  for (const ir::Loop& loop : ir::find_loops(ir::Dominators(ctx.function)))
    ctx.blocks_of_loops.insert(loop.body.begin(), loop.body.end());
  Fusions fusions(ctx.function.num_values());
  ctx.divisions = std::make_unique<const Divisions>(plan_divisions(ctx, fusions));
  plan_conditions(ctx, fusions);
  plan_fusions(ctx, fusions);
  plan_negations(ctx, fusions);
  ctx.ternaries = std::make_unique<const TernaryLogic>(plan_ternary_logic(ctx, fusions));
  ctx.fusions = std::move(fusions);
  ctx.wide = std::make_unique<const WideAccesses>(plan_wide_accesses(ctx));
  ctx.walks = std::make_unique<const Walks>(plan_walks(ctx));
  ctx.prefetches = std::make_unique<const Prefetches>(plan_prefetches(ctx));
  ctx.streaming_store = plan_streaming_store(ctx);
  ctx.invariant = plan_invariance(ctx);
  ctx.idle = std::make_unique<const IdleHalves>(plan_idle_halves(ctx));
}

void emit_prologue(Lowering& ctx) {
  ctx.cc.function().avx512 = ctx.options.tier == Tier::avx512;
  // The trampolines align the stack for all that frames hold. A frame that did it itself would keep an older stack
  // pointer, and could not be moved (parking.h).
  ctx.cc.function().stack_alignment = kStackAlignment;
  ctx.wave = ctx.cc.new_gp64("wave");
  ctx.entry_index = ctx.cc.new_gp32("entry");
  ctx.cc.function().arguments = {ctx.wave, ctx.entry_index};
  // Cold code goes behind the exit.
  lir::Node* const begin = ctx.cc.cursor();
  ctx.cc.finish();
  ctx.cc.set_cursor(begin);

  // The environment that most operations want is the one between blocks.
  std::map<uint32_t, size_t> wanted;
  for (const auto& block : ctx.function.blocks) {
    ctx.labels[block->id] = ctx.cc.new_label();
    for (const Inst* inst : block->insts) {
      if (const auto need = env_needed(*inst)) wanted[need->bits] += need->care != 0 ? 1 : 0;
    }
  }
  const auto most =
      std::max_element(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != wanted.end()) {
    ctx.env = ~most->first;  // unknown: every bit that matters differs
    ctx.canonical_env = most->first;
    set_env(ctx, {ctx.canonical_env, kEnvAll});
  } else {
    ctx.env = ctx.canonical_env = mxcsr(0);  // nobody sets it: denormals may be taken for 0
  }
  ctx.homes = std::make_unique<const RowHomes>(plan_row_homes(ctx));
  emit_entry_dispatch(ctx);
}

void emit_block(Lowering& ctx, const ir::Block& block) {
  ctx.cc.bind(ctx.pass ? ctx.pass->labels[block.id] : ctx.labels[block.id]);
  ctx.env = ctx.canonical_env;
  ctx.scalars->indices.clear();
  forget_rows(ctx);
  plan_matrix_rows(ctx, block);
  for (const Inst* inst : block.insts) {
    if (ctx.error) return;
    if (ctx.is_left_out(*inst)) continue;
    const Shape s = shape_of(*inst);
    if (must_flush_before(ctx, *inst, s)) flush_segment(ctx);
    switch (s) {
      case Shape::terminator:
        break;
      case Shape::chunk:
        if (const auto need = env_with_fused(ctx, *inst)) {
          // It agrees with what the segment needs so far, and may need more.
          const EnvNeed before = ctx.segment->env.value_or(*need);
          ctx.segment->env = EnvNeed{(before.bits & ~need->care) | (need->bits & need->care), before.care | need->care};
        }
        if (ir::is_matrix_op(inst->op)) store_matrix_rows(ctx, *inst);
        add_to_segment(ctx, *inst);
        break;
      case Shape::scalar:
        ctx.annotate(*inst);
        emit_scalar(ctx, *inst);
        break;
      case Shape::barrier:
        ctx.annotate(*inst);
        if (const auto need = env_with_fused(ctx, *inst)) set_env(ctx, *need);
        emit_barrier(ctx, *inst);
        break;
    }
  }
}

// The passes one after another: each loads its values, runs the whole loop, and hands its results over.
void emit_region(Lowering& ctx, const TileRegion& region, const Label& next) {
  ctx.cc.bind(ctx.labels[region.header->id]);
  size_t outside = 0;
  while (region.contains(region.header->predecessors[outside])) ++outside;
  Label start;
  for (unsigned chunk = 0; chunk < ctx.chunks && !ctx.error; chunk += region.width) {
    Pass pass{.region = &region,
              .begin = chunk,
              .end = chunk + region.width,
              .final = chunk + region.width == ctx.chunks,
              .next = {},
              .labels = std::vector<Label>(ctx.labels.size()),
              .values = std::vector<Storage>(ctx.values.size()),
              .local = std::vector<bool>(ctx.values.size())};
    if (!pass.final) pass.next = ctx.cc.new_label();
    for (const ir::Block* block : region.blocks) pass.labels[block->id] = ctx.cc.new_label();
    if (start.isValid()) ctx.cc.bind(start);
    start = pass.next;

    for (const Inst* value : region.live_in) {
      const Op op = value->op;
      if (op != Op::undef && op != Op::lane_id) pass.local[ctx.resolve(value).inst->id] = true;
    }
    std::vector<Copy> copies;
    for (const Inst* phi : region.header->insts) {
      if (phi->op != Op::phi) break;
      if (!phi->users.empty()) add_copies(ctx, copies, phi, &pass, phi->operands[outside], nullptr);
    }
    std::set<const Inst*> copied;
    for (const Inst* value : region.live_in) {
      const Inst* place = ctx.resolve(value).inst;
      if (pass.local[place->id] && copied.insert(place).second) add_copies(ctx, copies, place, &pass, place, nullptr);
    }
    emit_copies(ctx, std::move(copies));
    start_walks(ctx, pass);

    ctx.pass = &pass;
    for (size_t i = 0; i < region.blocks.size() && !ctx.error; ++i) {
      Label behind = pass.final ? next : pass.next;
      if (i + 1 < region.blocks.size()) behind = pass.labels[region.blocks[i + 1]->id];
      emit_block(ctx, *region.blocks[i]);
      if (!ctx.error) emit_terminator(ctx, *region.blocks[i], behind);
    }
    ctx.pass = nullptr;
  }
}

}  // namespace

Expected<void> lower(Lowering& ctx) {
  make_plans(ctx);
  emit_prologue(ctx);
  // Blocks in layout order; a tile region stands where its first block does. Rare blocks are cold code.
  std::vector<const ir::Block*> order, rare;
  std::set<const TileRegion*> listed;
  for (const auto& block : ctx.function.blocks) {
    const TileRegion* region = ctx.regions.of(block.get());
    if (region == nullptr) {
      (block->rare ? rare : order).push_back(block.get());
    } else if (listed.insert(region).second) {
      order.push_back(region->header);
    }
  }
  for (size_t i = 0; i < order.size() && !ctx.error; ++i) {
    const Label next = i + 1 < order.size() ? ctx.labels[order[i + 1]->id] : Label();
    if (const TileRegion* region = ctx.regions.of(order[i])) {
      emit_region(ctx, *region, next);
    } else {
      emit_block(ctx, *order[i]);
      if (!ctx.error) emit_terminator(ctx, *order[i], next);
    }
  }
  for (size_t i = 0; i < rare.size() && !ctx.error; ++i) {
    ctx.annotated = nullptr;
    ctx.cold([&] {
      emit_block(ctx, *rare[i]);
      if (!ctx.error) emit_terminator(ctx, *rare[i], Label());
    });
  }
  if (ctx.error) return tl::make_unexpected(*ctx.error);
  return {};
}

}  // namespace wavejit::backend
