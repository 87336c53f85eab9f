#include "backend-x86/lower/plans/tile_regions.h"

#include <algorithm>
#include <functional>

#include "ir/analysis/divergent_loop.h"
#include "ir/analysis/loops.h"

namespace wavejit::backend {
namespace {

using ir::Op;

bool lanes_share(const ir::Inst& store) {
  return store.mem.form != ir::AddressForm::scratch_off && store.mem.form != ir::AddressForm::scratch_base;
}

// The way through the loop must be the same each time it is taken: it may not depend on memory that another work-group
// could be writing.
bool reads_memory(const ir::Inst* value, const ir::Loop& loop, std::unordered_set<const ir::Inst*>& seen) {
  if (!loop.body.contains(value->parent) || !seen.insert(value).second) return false;
  if (value->op == Op::load_scalar) return true;
  return std::any_of(value->operands.begin(), value->operands.end(),
                     [&](const ir::Inst* operand) { return reads_memory(operand, loop, seen); });
}

// What only the loop's own last branch looks at: whether lanes stay in it.
bool decides_the_end(const ir::Inst& inst, const ir::Loop& loop) {
  const ir::Inst* value = &inst;
  while (value->users.size() == 1 && value->users[0]->op == Op::not_) value = value->users[0];
  return inst.op == Op::mask_any && value->users.size() == 1 && value->users[0]->op == Op::cond_br &&
         value->users[0]->parent == loop.latches[0];
}

bool is_sound(const ir::Loop& loop, bool divergent, bool (*lane_wise)(const ir::Inst&)) {
  std::unordered_set<const ir::Inst*> seen;
  for (const ir::Block* block : loop.body) {
    for (const ir::Inst* inst : block->insts) {
      if (inst->op == Op::poll) continue;  // one tile after the other waits
      if (!lane_wise(*inst) && !(divergent && decides_the_end(*inst, loop))) return false;
      if (inst->op == Op::store && lanes_share(*inst)) return false;
      const ir::Effect effect = ir::op_info(inst->op).effect;
      if (effect == ir::Effect::writes && inst->op != Op::store) return false;
      if (inst->op == Op::cond_br && reads_memory(inst->operands[0], loop, seen)) return false;
    }
  }
  const auto& entries = loop.header->predecessors;
  return std::count_if(entries.begin(), entries.end(), [&](const ir::Block* p) { return !loop.body.contains(p); }) == 1;
}

// Whether lanes stay in the loop about equally long: as long as they do by numbers a constant distance apart.
bool ends_evenly(const ir::Inst* mask, const ir::Loop& loop, const ir::LaneShapes& shapes, unsigned depth = 8) {
  if (mask->is_const() || !loop.body.contains(mask->parent) || mask->op == Op::phi) return true;
  if (depth == 0) return false;
  switch (mask->op) {
    case Op::and_:
    case Op::andn:
    case Op::or_:
    case Op::not_:
      return std::all_of(mask->operands.begin(), mask->operands.end(),
                         [&](const ir::Inst* operand) { return ends_evenly(operand, loop, shapes, depth - 1); });
    case Op::icmp:
      return std::all_of(mask->operands.begin(), mask->operands.end(),
                         [&](const ir::Inst* operand) { return shapes.of(operand).group == kWaveSize; });
    default:
      return false;
  }
}

// Half cycles that an iteration for one chunk keeps the vector units busy, and what the longest chain of results from
// one iteration to the next takes. Estimates.
struct Effort {
  unsigned work = 0, latency = 0;
};

Effort effort_of(const ir::Loop& loop, const ir::LaneShapes& shapes) {
  struct Cost {
    unsigned work, latency;
  };
  const auto cost = [&](const ir::Inst& inst) -> Cost {
    if (inst.type.is_scalar() || inst.op == Op::phi || inst.op == Op::extract || inst.is_const()) return {0, 0};
    const unsigned parts = inst.type.kind == ir::TypeKind::v64 ? 2 : 1;
    if (inst.op == Op::load) return shapes.of(&inst).is_uniform() ? Cost{2, 12} : Cost{32, 40};
    if (inst.op == Op::store) return {4, 0};
    if (shapes.of(&inst).is_uniform()) return {0, 2};
    if (inst.type.is_mask()) {
      const bool compares = inst.op == Op::icmp || inst.op >= Op::fadd_f32;
      return compares ? Cost{parts, 8} : Cost{1, 2};
    }
    if (inst.op == Op::mul || inst.op == Op::mul_wide_u || inst.op == Op::mul_wide_s) return {2 * parts, 6};
    if (inst.op == Op::mulhi_u || inst.op == Op::mulhi_s) return {4, 10};
    if (inst.op >= Op::frcp_f32 && inst.op <= Op::fcos_f32) return {16, 40};
    if (inst.op >= Op::fadd_f32 && inst.op <= Op::cvt_u16_f16) return {parts, 8};
    return {parts, 2};
  };
  Effort effort;
  std::unordered_map<const ir::Inst*, unsigned> ready;
  const std::function<unsigned(const ir::Inst*)> end_of = [&](const ir::Inst* inst) -> unsigned {
    if (!loop.body.contains(inst->parent)) return 0;
    const auto [it, inserted] = ready.try_emplace(inst, 0);
    if (!inserted) return it->second;
    unsigned start = 0;
    if (inst->op != Op::phi || inst->parent != loop.header) {
      for (const ir::Inst* operand : inst->operands) start = std::max(start, end_of(operand));
    }
    return ready[inst] = start + cost(*inst).latency;
  };
  for (const ir::Block* block : loop.body)
    for (const ir::Inst* inst : block->insts) effort.work += cost(*inst).work;
  for (const ir::Inst* phi : loop.header->insts) {
    if (phi->op != Op::phi) break;
    for (const ir::Inst* value : phi->operands) effort.latency = std::max(effort.latency, end_of(value));
  }
  return effort;
}

// Loops that read about as much as they compute wait for memory, which likes whole rows of the wave: tile by tile they
// would go through it once for each tile.
bool streams(const ir::Loop& loop, const ir::LaneShapes& shapes) {
  size_t rows = 0, work = 0;
  for (const ir::Block* block : loop.body) {
    for (const ir::Inst* inst : block->insts) {
      rows +=
          inst->op == Op::load && inst->mem.space == ir::Space::global && !shapes.of(inst->operands[1]).is_uniform();
      work += inst->op != Op::phi && inst->type.kind == ir::TypeKind::v32 && !shapes.of(inst).is_uniform();
    }
  }
  return 4 * rows >= work;
}

// Registers that a loop needs at its most crowded place.
class Pressure {
 public:
  Pressure(const Liveness& liveness, const ir::LaneShapes& shapes, const RegisterBudget& budget)
      : liveness_(liveness), shapes_(shapes), budget_(budget) {}

  [[nodiscard]] bool fits(const ir::Loop& loop, unsigned width) {
    return std::all_of(loop.body.begin(), loop.body.end(), [&](const ir::Block* block) {
      const Need& need = of(*block);
      // Two registers are for temporaries.
      return need.shared + need.across * width + need.local + 2 <= budget_.vectors &&
             (budget_.masks == 0 || need.masks * width + 1 <= budget_.masks);
    });
  }

  // Whether an iteration for that many chunks would load and store a lot compared with what it computes.
  [[nodiscard]] bool spills_much(const ir::Loop& loop, unsigned width) {
    unsigned most = 0, work = 0;
    for (const ir::Block* block : loop.body) {
      const Need& need = of(*block);
      most = std::max(most, need.shared + need.across * width);
      work += static_cast<unsigned>(std::count_if(block->insts.begin(), block->insts.end(), [&](const ir::Inst* inst) {
        return inst->op != Op::phi && cost(*inst).vectors != 0;
      }));
    }
    return most > budget_.vectors && 4 * (most - budget_.vectors) > work * width;
  }

 private:
  // Vector registers for one chunk: `across` are live over a block's boundaries, `local` only inside; `shared` serve
  // all chunks. Mask registers for one chunk.
  struct Need {
    unsigned shared = 0, across = 0, local = 0, masks = 0;
  };

  struct Cost {
    unsigned shared = 0, vectors = 0, masks = 0;
  };
  [[nodiscard]] Cost cost(const ir::Inst& inst) const {
    if (inst.op == Op::extract && inst.operands[0]->type.is_tuple() && inst.operands[0]->parent == inst.parent)
      return {};
    const unsigned registers = inst.type.count * (inst.type.kind == ir::TypeKind::v64 ? 2 : 1);
    if (inst.type.is_mask() && budget_.masks != 0) return {.masks = registers};
    if (inst.op == Op::lane_id || inst.op == Op::undef) return {};
    if (shapes_.of(&inst).is_uniform()) return {.shared = registers};
    return {.vectors = registers};
  }

  const Need& of(const ir::Block& block) {
    const auto [it, inserted] = needs_.try_emplace(&block);
    Need& need = it->second;
    if (!inserted) return need;
    Cost in, out;
    std::unordered_set<const ir::Inst*> live;
    const auto add = [](Cost& sum, const Cost& c) {
      sum.shared += c.shared;
      sum.vectors += c.vectors;
      sum.masks += c.masks;
    };
    const auto counts = [](const ir::Inst* value) {
      return !value->type.is_scalar() && value->type.kind != ir::TypeKind::none && !value->is_const();
    };
    for (const ir::Inst* value : liveness_.live_in(block))
      if (counts(value)) add(in, cost(*value));
    for (const ir::Inst* value : liveness_.live_out(block)) {
      if (!counts(value)) continue;
      add(out, cost(*value));
      live.insert(value);
    }
    need.shared = std::max(in.shared, out.shared);
    need.across = std::max(in.vectors, out.vectors);
    // Backwards through the block: what is live between two instructions.
    Cost now = out, most = out;
    for (auto i = block.insts.rbegin(); i != block.insts.rend(); ++i) {
      const ir::Inst& inst = **i;
      if (live.erase(&inst) != 0) {
        const Cost c = cost(inst);
        now.vectors -= c.vectors;
        now.masks -= c.masks;
      }
      if (inst.op == Op::phi) break;
      for (const ir::Inst* operand : inst.operands) {
        if (operand->is_const() || operand->type.is_scalar()) continue;
        if (live.insert(operand).second) add(now, cost(*operand));
      }
      most.vectors = std::max(most.vectors, now.vectors);
      most.masks = std::max(most.masks, now.masks);
    }
    need.local = most.vectors > need.across ? most.vectors - need.across : 0;
    need.masks = std::max({in.masks, out.masks, most.masks});
    return need;
  }

  const Liveness& liveness_;
  const ir::LaneShapes& shapes_;
  const RegisterBudget& budget_;
  std::unordered_map<const ir::Block*, Need> needs_;
};

}  // namespace

TileRegions::TileRegions(const ir::Function& function, const Liveness& liveness, const ir::LaneShapes& shapes,
                         const RegisterBudget& budget, unsigned chunks, bool (*lane_wise)(const ir::Inst&), bool wanted,
                         bool divergent_wanted)
    : by_block_(function.num_block_ids()) {
  if (!wanted && !divergent_wanted) return;
  const ir::Dominators dominators(function);
  const std::vector<ir::Loop> loops = ir::find_loops(dominators);
  if (loops.empty()) return;
  Pressure pressure(liveness, shapes, budget);
  // Outer loops first.
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    if (of(loop->header) != nullptr) continue;
    const bool divergent = ir::staying_lanes(*loop) != nullptr;
    if (divergent ? !divergent_wanted : !wanted) continue;
    if (!is_sound(*loop, divergent, lane_wise) || (divergent && !ir::leaves_lane_by_lane(*loop))) continue;
    unsigned width = chunks;
    if (divergent) {
      if (ends_evenly(ir::staying_lanes(*loop), *loop, shapes)) continue;
      // Lanes that leave early save their part of the work, but few chunks at a time wait for each other's results.
      const Effort effort = effort_of(*loop, shapes);
      width = 1;
      while (width < chunks && 2 * effort.work * width < 3 * effort.latency) width *= 2;
      if (width >= chunks) continue;
    } else {
      while (width > 1 && !pressure.fits(*loop, width)) width /= 2;
      // Lockstep shares the scalar work and has more that is independent to do at a time.
      if (width == chunks || !pressure.fits(*loop, width) || !pressure.spills_much(*loop, chunks)) continue;
      if (streams(*loop, shapes)) continue;
    }
    auto region = std::make_unique<TileRegion>();
    region->header = loop->header;
    region->width = width;
    region->body = loop->body;
    region->blocks.push_back(loop->header);
    std::unordered_set<const ir::Inst*> used;
    for (const auto& block : function.blocks) {
      if (!region->contains(block.get())) continue;
      by_block_[block->id] = region.get();
      if (block.get() != loop->header) region->blocks.push_back(block.get());
      for (const ir::Inst* inst : block->insts) {
        for (size_t i = 0; i < inst->operands.size(); ++i) {
          const ir::Inst* value = inst->operands[i];
          if (inst->op == Op::phi && !region->contains(block->predecessors[i])) continue;
          if (value->is_const() || region->contains(value->parent) || !used.insert(value).second) continue;
          region->live_in.push_back(value);
        }
      }
    }
    regions_.push_back(std::move(region));
  }
}

}  // namespace wavejit::backend
