// Software prefetches for access patterns that the processor's prefetchers do not detect.
//
// Lanes that each read their own memory sequentially, as in the rows of a sparse matrix, are too many streams. At the
// entry of such a loop, each lane's first lines are prefetched. Lanes mostly end where their neighbours begin, so these
// are the lines of all of them.
//
// Waves that go through an array together in strides of the whole grid leave the page with each step. There each access
// prefetches for the next iteration.
//
// Loops around matrix products load much at once and then compute for a long time. There the loads of factors prefetch
// for the next iteration.
//
// Tiles of two-dimensional arrays are short pieces of many rows, and so are records that a three-dimensional grid
// writes. There the accesses of a work-group prefetch for the next one, if the address determines how far that is.
#include "backend-x86/lower/plans/prefetches.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/address_terms.h"
#include "ir/analysis/dominators.h"
#include "ir/analysis/loops.h"
#include "ir/matrix.h"

namespace wavejit::backend {

namespace {
constexpr int64_t kLine = 64;

using AdvanceMemo = std::map<const Inst*, std::optional<Advance>>;
// By whether it is a VGPR, and number; of a pair that is written whole, the lower one.
using RegisterWrites = std::map<std::pair<bool, uint64_t>, std::vector<const Inst*>>;

// through_phis: a phi advances like the first of its operands that advances at all.
std::optional<Advance> advance_of(const Lowering& ctx, const Inst* value, AdvanceMemo& memo, bool through_phis);

// The lanes' number in a loop that they leave one by one: compared with a bound, and advanced by the same everywhere.
bool counts_lanes(const Inst& phi, const Inst& next) {
  const auto compared = [](const Inst& value) {
    return std::any_of(value.users.begin(), value.users.end(), [](const Inst* user) { return user->op == Op::icmp; });
  };
  return compared(phi) || compared(next);
}

// By how many bytes an address grows with an iteration of a loop of one block; 0 if that is not known.
uint64_t step_of(const ir::Block& loop, const Inst& address, unsigned depth = 6) {
  if (address.parent != &loop || depth == 0) return 0;
  switch (address.op) {
    case Op::phi: {
      const auto& from = loop.predecessors;
      const auto latch = static_cast<size_t>(std::find(from.begin(), from.end(), &loop) - from.begin());
      const Inst* next = address.operands[latch];
      const bool steps = next->op == Op::add && next->operands[0] == &address && next->operands[1]->is_const();
      return steps ? next->operands[1]->imm : 0;
    }
    case Op::add:
      return step_of(loop, *address.operands[0], depth - 1) + step_of(loop, *address.operands[1], depth - 1);
    case Op::splat64:
      return step_of(loop, *address.operands[0], depth - 1);
    default:
      return 0;
  }
}

// By how much the value grows from one work-group to the next, taking it that nothing wraps around. Zero for what does
// not depend on the work-group, as far as is looked: this decides about prefetches only.
std::optional<Advance> find_advance(const Lowering& ctx, const Inst* value, AdvanceMemo& memo, bool through_phis) {
  if (value->op == Op::get_sgpr && static_cast<int>(value->imm) == ctx.function.group_id_sgpr)
    return Advance{1, nullptr};
  if (value->op == Op::phi && through_phis) {
    for (const Inst* operand : value->operands) {
      const std::optional<Advance> advance = advance_of(ctx, operand, memo, true);
      if (advance && advance->factor != 0) return advance;
    }
  }
  if (value->op == Op::phi || !ir::is_pure(value->op)) return Advance{};
  std::vector<Advance> operands;
  for (const Inst* operand : value->operands) {
    const std::optional<Advance> advance = advance_of(ctx, operand, memo, through_phis);
    if (!advance) return std::nullopt;
    operands.push_back(*advance);
  }
  if (std::all_of(operands.begin(), operands.end(), [](const Advance& a) { return a.factor == 0; })) return Advance{};
  const auto is_const = [&](unsigned i) { return value->operands[i]->is_const(); };
  switch (value->op) {
    case Op::splat:
    case Op::splat64:
    case Op::zext64:
    case Op::sext64:
    case Op::lo32:
    case Op::readlane:
      return operands[0];
    case Op::pack64:  // a carry is as rare as the wrapping around
      return operands[0];
    case Op::hi32:
      return Advance{};
    case Op::and_:  // a bound
    case Op::umin:
      if (is_const(1)) return operands[0];
      return std::nullopt;
    case Op::add:
    case Op::or_: {
      if (operands[0].factor == 0) return operands[1];
      if (operands[1].factor == 0) return operands[0];
      if (!operands[0].same_scale(operands[1])) return std::nullopt;
      return Advance{operands[0].factor + operands[1].factor, operands[0].scale, operands[0].sgpr};
    }
    case Op::shl:
      if (is_const(1) && value->operands[1]->imm < 32)
        return Advance{operands[0].factor << value->operands[1]->imm, operands[0].scale, operands[0].sgpr};
      return std::nullopt;
    case Op::mul: {
      const unsigned grows = operands[0].factor == 0;
      if (operands[!grows].factor != 0) return std::nullopt;
      const Inst* by = value->operands[!grows];
      if (by->is_const())
        return Advance{operands[grows].factor * static_cast<int64_t>(by->imm), operands[grows].scale,
                       operands[grows].sgpr};
      if (by->op == Op::splat) by = by->operands[0];
      if (by->type != ir::kI32 || operands[grows].scale != nullptr || operands[grows].sgpr >= 0) return std::nullopt;
      return Advance{operands[grows].factor, by};
    }
    default:
      return std::nullopt;
  }
}

std::optional<Advance> advance_of(const Lowering& ctx, const Inst* value, AdvanceMemo& memo, bool through_phis) {
  if (const auto known = memo.find(value); known != memo.end()) return known->second;
  if (through_phis) memo[value] = Advance{};  // the way round a loop
  const std::optional<Advance> found = find_advance(ctx, value, memo, through_phis);
  memo[value] = found;
  return found;
}

// The same for what is accessed.
std::optional<Advance> access_advance(const Lowering& ctx, const Inst& access, AdvanceMemo& memo, bool through_phis) {
  std::optional<Advance> advance = advance_of(ctx, lane_operand(access), memo, through_phis);
  if (!advance || access.mem.form != ir::AddressForm::base_offset) return advance;
  const std::optional<Advance> base = advance_of(ctx, access.operands[1], memo, through_phis);
  if (!base || (base->factor != 0 && advance->factor != 0 && !base->same_scale(*advance))) return std::nullopt;
  if (base->factor != 0) advance = Advance{advance->factor + base->factor, base->scale, base->sgpr};
  return advance;
}

// Where a wave's lanes are one row the processor sees what comes. What a loop loads is mostly more than there is room
// for until the next work-group wants it.
void plan_group_prefetches(const Lowering& ctx, Prefetches& plan, const std::vector<ir::Loop>& loops) {
  if (ctx.function.group_id_sgpr < 0) return;
  AdvanceMemo memo;
  for (const auto& block : ctx.function.blocks) {
    if (std::any_of(loops.begin(), loops.end(), [&](const ir::Loop& loop) { return loop.body.contains(block.get()); }))
      continue;
    std::vector<const Inst*> seen;
    std::vector<std::pair<const Inst*, AddressTerms>> rows;  // with a prefetch
    for (const Inst* inst : block->insts) {
      if ((inst->op != Op::load && inst->op != Op::store) || inst->mem.space != ir::Space::global) continue;
      if (lane_operand(*inst) == nullptr) continue;
      if (ctx.lane_addresses.serves(*inst)) {
        const LaneAddress& address = ctx.lane_addresses.of(lane_operand(*inst));
        if (address.stride == 0 || address.wave) continue;
      } else {
        // Lane by lane: the members of a lane's structure are one line.
        const bool near = std::any_of(seen.begin(), seen.end(), [&](const Inst* other) {
          const int64_t distance = inst->mem.imm - other->mem.imm;
          return lane_operand(*other) == lane_operand(*inst) && distance < kLine && distance > -kLine;
        });
        if (near) continue;
        seen.push_back(inst);
      }
      const std::optional<Advance> advance = access_advance(ctx, *inst, memo, false);
      constexpr int64_t kFar = 1 << 24;
      if (!advance || advance->factor == 0 || advance->factor > kFar || advance->factor < -kFar) continue;
      if (advance->scale != nullptr && (advance->scale->is_const() || ctx.classes.is_shared(advance->scale))) continue;
      if (ctx.lane_addresses.serves(*inst)) {
        // Neighbours, as in a stencil, share the lines. The last one has those that the others do not reach.
        AddressTerms place = address_terms(*inst);
        const auto near = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
          const int64_t distance = place.bytes - row.second.bytes;
          return row.first->op == inst->op && row.second.values == place.values && distance < kLine &&
                 distance > -kLine;
        });
        if (near == rows.end()) {
          rows.emplace_back(inst, std::move(place));
        } else if ((near->second.bytes < place.bytes) == (advance->factor > 0)) {
          plan.advances.erase(near->first);
          *near = {inst, std::move(place)};
        } else {
          continue;
        }
      }
      plan.advances.emplace(inst, *advance);
    }
  }
}

// How far `value` gets from one iteration of the loop to the next, if that is one scalar, shifted.
std::optional<Stream> stream_step(const Lowering& ctx, const ir::Loop& loop, const Inst* value) {
  if (!loop.body.contains(value->parent)) return Stream{};
  const auto of = [&](unsigned i) { return stream_step(ctx, loop, value->operands[i]); };
  switch (value->op) {
    case Op::phi: {
      if (value->parent != loop.header || loop.latches.size() != 1) return std::nullopt;
      const auto& from = loop.header->predecessors;
      const auto latch = static_cast<size_t>(std::find(from.begin(), from.end(), loop.latches[0]) - from.begin());
      const Inst* next = value->operands[latch];
      if (next->op != Op::add || !counts_lanes(*value, *next)) return std::nullopt;
      const Inst* step = next->operands[next->operands[0] == value];
      if (next->operands[0] != value && next->operands[1] != value) return std::nullopt;
      if (loop.body.contains(step->parent)) return std::nullopt;
      if (step->type == ir::kI32) return Stream{.step = step};
      if (step->op != Op::splat && step->op != Op::splat64) return std::nullopt;
      return Stream{.step = step->operands[0]};
    }
    case Op::splat64:
      return of(0);
    case Op::zext64:
    case Op::sext64: {
      std::optional<Stream> stream = of(0);
      if (stream && stream->step) {
        if (stream->shift != 0) return std::nullopt;
        stream->is_signed = value->op == Op::sext64;
      }
      return stream;
    }
    case Op::shl: {
      if (!value->operands[1]->is_const()) return std::nullopt;
      std::optional<Stream> stream = of(0);
      if (stream && stream->step) stream->shift += static_cast<unsigned>(value->operands[1]->imm);
      return stream;
    }
    case Op::add: {
      std::optional<Stream> a = of(0), b = of(1);
      if (!a || !b || (a->step && b->step)) return std::nullopt;
      return a->step ? a : b;
    }
    default:
      return std::nullopt;
  }
}

void plan_streams(const Lowering& ctx, Prefetches& plan, const ir::Loop& loop) {
  std::vector<std::pair<const Inst*, Stream>> found;
  unsigned bytes = 0;  // a lane's, of an iteration
  for (const ir::Block* block : loop.body) {
    for (const Inst* inst : block->insts) {
      if ((inst->op != Op::load && inst->op != Op::store) || inst->mem.space != ir::Space::global) continue;
      if (!ctx.lane_addresses.serves(*inst)) continue;
      const std::optional<Stream> stream = stream_step(ctx, loop, lane_operand(*inst));
      if (!stream || !stream->step || stream->shift >= 32) continue;
      found.emplace_back(inst, *stream);
      bytes += inst->mem.bytes * inst->mem.count;
    }
  }
  // So many bytes of the wave are to be under way.
  constexpr unsigned kAhead = 4096;
  unsigned iterations = 0;
  while (bytes != 0 && bytes * ctx.tile << iterations < kAhead && iterations < 2) ++iterations;
  for (auto& [inst, stream] : found) {
    stream.shift += iterations;
    plan.streams.emplace(inst, stream);
  }
}

void plan_matrix_prefetches(Prefetches& plan, const ir::Loop& loop) {
  if (loop.body.size() != 1) return;
  const auto& insts = loop.header->insts;
  if (std::none_of(insts.begin(), insts.end(), [](const Inst* inst) { return ir::is_matrix_op(inst->op); })) return;
  for (const Inst* inst : insts) {
    if (inst->op != Op::load || inst->mem.space != ir::Space::global || lane_operand(*inst) == nullptr) continue;
    const auto step = static_cast<int64_t>(step_of(*loop.header, *lane_operand(*inst)));
    constexpr int64_t kFar = 1 << 24;
    if (step != 0 && step < kFar && step > -kFar) plan.advances.emplace(inst, Advance{step});
  }
}

// By how much a register, or the lower one of a pair, grows from one time that a wave comes back from the barrier to the
// next.
Advance round_advance(const Inst* read, const RegisterWrites& writes) {
  constexpr unsigned kDepth = 16;
  const auto origin = [](const Inst* value) {
    for (unsigned depth = 0; depth < kDepth; ++depth) {
      if (value->op == Op::select && value->type == ir::kI32) {
        // A step that is another one at the end of a row: the last operand is the usual one.
        value = value->operands[2];
      } else if (value->op == Op::splat || value->op == Op::readlane || value->op == Op::lo32 || value->op == Op::phi ||
                 value->op == Op::zext64 || value->op == Op::pack64 ||
                 (value->op == Op::and_ && value->operands[1]->is_const())) {
        value = value->operands[0];
      } else {
        break;
      }
    }
    return value;
  };
  // The scalar register that a step is, whole or as a half of a pair.
  const auto register_of = [&](const Inst* step) -> std::optional<int> {
    const unsigned half = step->op == Op::hi32;
    if (half != 0) {
      step = step->operands[0];
      for (unsigned depth = 0; depth < kDepth && step->op == Op::phi; ++depth) step = step->operands[0];
      if (step->op != Op::get_sgpr64) return std::nullopt;
    }
    if (step->op != Op::get_sgpr64 && (step->op != Op::get_sgpr || half != 0)) return std::nullopt;
    return static_cast<int>(step->imm + half);
  };
  const auto found = writes.find({read->op == Op::get_vgpr, read->imm});
  if (found == writes.end()) return {};
  for (const Inst* write : found->second) {
    const Inst* sum = origin(write->operands[0]);
    if (sum->op != Op::add) continue;
    for (unsigned i = 0; i < 2; ++i) {
      const Inst* before = origin(sum->operands[i]);
      const Inst* step = origin(sum->operands[1 - i]);
      const bool is_read = before->op == Op::get_vgpr || before->op == Op::get_sgpr || before->op == Op::get_sgpr64;
      if (!is_read || before->type.is_vector() != read->type.is_vector() || before->imm != read->imm) continue;
      if (step->is_const()) return Advance{static_cast<int32_t>(step->imm)};
      int64_t factor = 1;
      if (step->op == Op::shl && step->operands[1]->is_const() && step->operands[1]->imm < 16) {
        factor <<= step->operands[1]->imm;
        step = origin(step->operands[0]);
      }
      if (const std::optional<int> sgpr = register_of(step)) return Advance{factor, nullptr, *sgpr};
    }
  }
  return {};
}

// Tiles that a work-group goes through with barriers in between: loads ask for what the next round will load.
void plan_round_prefetches(const Lowering& ctx, Prefetches& plan) {
  std::vector<const ir::Block*> work;
  for (const ir::Entry& entry : ctx.function.entries)
    if (entry.resumed_only) work.push_back(entry.block);
  if (work.empty()) return;
  RegisterWrites writes;
  for (const auto& block : ctx.function.blocks)
    for (const Inst* inst : block->insts)
      if (inst->op == Op::set_sgpr || inst->op == Op::set_sgpr64 || inst->op == Op::set_vgpr)
        writes[{inst->op == Op::set_vgpr, inst->imm}].push_back(inst);
  AdvanceMemo memo;
  bool any = false;
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::get_sgpr && inst->op != Op::get_sgpr64 && inst->op != Op::get_vgpr) continue;
      const Advance advance = round_advance(inst, writes);
      memo[inst] = advance;
      any |= advance.factor != 0;
    }
  }
  if (!any) return;
  std::set<const ir::Block*> reached(work.begin(), work.end());
  while (!work.empty()) {
    const ir::Block* block = work.back();
    work.pop_back();
    for (const ir::Block* next : block->successors)
      if (reached.insert(next).second) work.push_back(next);
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::load || inst->mem.space != ir::Space::global || lane_operand(*inst) == nullptr ||
          inst->mem.bytes != 4)
        continue;
      const std::optional<Advance> advance = access_advance(ctx, *inst, memo, true);
      constexpr int64_t kFar = 1 << 24;
      // A scale behind a phi need not have been computed on the way here.
      if (!advance || advance->scale != nullptr || advance->factor == 0 || advance->factor > kFar ||
          advance->factor < -kFar)
        continue;
      if (!plan.streams.contains(inst)) plan.advances.emplace(inst, *advance);
    }
  }
}

}  // namespace

Prefetches plan_prefetches(const Lowering& ctx) {
  Prefetches plan;
  if (!ctx.on(Optimisation::prefetch)) return plan;
  const ir::Dominators dominators(ctx.function);
  const std::vector<ir::Loop> loops = ir::find_loops(dominators);
  plan_group_prefetches(ctx, plan, loops);
  for (const ir::Loop& loop : loops) {
    plan_streams(ctx, plan, loop);
    plan_matrix_prefetches(plan, loop);
    const ir::Block* header = loop.header;
    if (header->predecessors.size() != loop.latches.size() + 1) continue;
    const auto entry = std::find_if(header->predecessors.begin(), header->predecessors.end(),
                                    [&](const ir::Block* b) { return !loop.body.contains(b); });
    if (entry == header->predecessors.end() || (*entry)->terminator()->op != Op::br ||
        ctx.regions.of(*entry) != nullptr)
      continue;
    const auto from = static_cast<size_t>(entry - header->predecessors.begin());
    for (const Inst* phi : header->insts) {
      if (phi->op != Op::phi || phi->type != ir::kV64 || ctx.lane_addresses.is_scalar(phi)) continue;
      if (ctx.shapes.of(phi).group >= ctx.isa->lanes || phi->operands[from]->is_const()) continue;
      const bool loaded = std::any_of(phi->users.begin(), phi->users.end(), [&](const Inst* user) {
        return user->op == Op::load && user->mem.form == ir::AddressForm::vector64 &&
               user->mem.space == ir::Space::global && loop.body.contains(user->parent);
      });
      // Small steps: a line lasts for several iterations.
      int64_t step = 0;
      for (size_t i = 0; i < phi->operands.size() && loaded; ++i) {
        const Inst* next = phi->operands[i];
        if (i == from) continue;
        step = next->op == Op::add && next->operands[0] == phi && next->operands[1]->is_const()
                   ? static_cast<int64_t>(next->operands[1]->imm)
                   : 0;
      }
      if (step == 0 || step >= kLine || step <= -kLine) continue;
      plan.at_ends[(*entry)->id].push_back({phi->operands[from], static_cast<int32_t>(step > 0 ? kLine : -kLine)});
    }
  }
  plan_round_prefetches(ctx, plan);
  return plan;
}

}  // namespace wavejit::backend
