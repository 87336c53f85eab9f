// Lanes that nobody asks for. Where a mask is a constant, as behind `if (local_id < 16)` or in the last wave of a
// work-group, stores and loads leave out the chunks without a lane, and what is computed for them alone goes, too. So does
// one register of the two that a 64-bit value has in a chunk.
#include "backend-x86/lower/plans/idle_halves.h"

#include <algorithm>
#include <cstddef>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/operations.h"
#include "ir/matrix.h"

namespace wavejit::backend {
namespace {

static_assert(kWaveSize / 8 <= 8, "two bits for each chunk");

// Whether an access may take the value for that of the chunk's first lane, on or off.
bool is_address_of(const Inst& value, const Inst& user) {
  if (user.op != Op::load && user.op != Op::store) return false;
  const size_t data = user.op == Op::store ? user.mem.count : 0;
  const auto end = user.operands.end() - static_cast<ptrdiff_t>(data);
  return std::find(user.operands.begin(), end, &value) != end;
}
uint16_t whole_chunks(uint16_t halves) {
  constexpr unsigned kFirst = 0x5555;
  const unsigned some = (halves | halves >> 1) & kFirst;
  return static_cast<uint16_t>(some | some << 1);
}

// The halves of chunks in which a constant mask has a lane.
uint16_t halves_of(const Lowering& ctx, const Inst* mask) {
  if (!mask->is_const()) return IdleHalves::kAll;
  unsigned halves = 0;
  for (unsigned half = 0; half < 2 * ctx.chunks; ++half) {
    for (unsigned i = 0; i < ctx.isa->lanes / 2; ++i) {
      const unsigned lane = half / 2 * ctx.isa->lanes + ctx.isa->lane_of64(half % 2, i);
      halves |= static_cast<unsigned>(mask->imm >> lane & 1) << half;
    }
  }
  return static_cast<uint16_t>(halves);
}

// The LDS does not fault: what nobody wants need not be loaded.
bool may_be_idle(const Lowering& ctx, const Inst& inst) {
  if (shape_of(inst) != Shape::chunk || ctx.is_invariant(&inst) || ctx.classes.is_shared(&inst)) return false;
  if (ctx.lane_addresses.is_scalar(&inst) || ir::is_matrix_op(inst.op)) return false;
  return ir::is_pure(inst.op) || (inst.op == Op::load && inst.mem.space == ir::Space::lds);
}

// The halves of its operands that a user reads.
uint16_t halves_read_by(const Lowering& ctx, const IdleHalves& plan, const Inst& user) {
  if (user.op == Op::store && shape_of(user) == Shape::chunk) return halves_of(ctx, user.operands[0]);
  const uint16_t wanted = may_be_idle(ctx, user) ? plan.wanted[user.id] : IdleHalves::kAll;
  return user.op == Op::load && !ctx.is_invariant(&user) ? wanted & halves_of(ctx, user.operands[0]) : wanted;
}

}  // namespace

// Values for other blocks are wanted as a whole.
IdleHalves plan_idle_halves(const Lowering& ctx) {
  IdleHalves plan(ctx.function.num_values());
  if (!ctx.on(Optimisation::idle_chunks)) return plan;
  for (const auto& block : ctx.function.blocks) {
    for (auto it = block->insts.rbegin(); it != block->insts.rend(); ++it) {
      const Inst& inst = **it;
      if (!may_be_idle(ctx, inst)) continue;
      uint16_t wanted = 0;
      for (const Inst* user : inst.users) {
        if (user->parent != block.get() || user->op == Op::phi) {
          wanted = IdleHalves::kAll;
        } else {
          const uint16_t read = halves_read_by(ctx, plan, *user);
          wanted |= is_address_of(inst, *user) ? whole_chunks(read) : read;
        }
      }
      plan.wanted[inst.id] = wanted;
    }
  }
  return plan;
}

}  // namespace wavejit::backend
