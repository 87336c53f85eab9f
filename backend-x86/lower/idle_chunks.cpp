// Lanes that nobody asks for. Where a mask is a constant, as behind `if (local_id < 16)` or in the last wave of a
// work-group, stores and loads leave out the chunks without a lane, and what is computed for them alone goes, too. So does
// one register of the two that a 64-bit value has in a chunk.
#include <algorithm>
#include <cstddef>

#include "backend-x86/lower/emitter.h"
#include "ir/matrix.h"

namespace wavejit::backend {
namespace {

static_assert(kWaveSize / 8 <= 8, "two bits for each chunk");

// Whether an access may take the value for that of the chunk's first lane, on or off.
bool is_address_of(const ir::Inst& value, const ir::Inst& user) {
  if (user.op != ir::Op::load && user.op != ir::Op::store) return false;
  const size_t data = user.op == ir::Op::store ? user.mem.count : 0;
  const auto end = user.operands.end() - static_cast<ptrdiff_t>(data);
  return std::find(user.operands.begin(), end, &value) != end;
}
uint16_t whole_chunks(uint16_t halves) {
  constexpr unsigned kFirst = 0x5555;
  const unsigned some = (halves | halves >> 1) & kFirst;
  return static_cast<uint16_t>(some | some << 1);
}

}  // namespace

// The halves of chunks in which a constant mask has a lane.
uint16_t Emitter::halves_of(const Inst* mask) const {
  if (!mask->is_const()) return kAllHalves;
  unsigned halves = 0;
  for (unsigned half = 0; half < 2 * chunks_; ++half) {
    for (unsigned i = 0; i < isa_->lanes / 2; ++i) {
      const unsigned lane = half / 2 * isa_->lanes + isa_->lane_of64(half % 2, i);
      halves |= static_cast<unsigned>(mask->imm >> lane & 1) << half;
    }
  }
  return static_cast<uint16_t>(halves);
}

// The LDS does not fault: what nobody wants need not be loaded.
bool Emitter::may_be_idle(const Inst& inst) const {
  if (shape(inst) != Shape::chunk || is_invariant(&inst) || classes_.is_shared(&inst)) return false;
  if (lane_addresses_.is_scalar(&inst) || ir::is_matrix_op(inst.op)) return false;
  return ir::is_pure(inst.op) || (inst.op == Op::load && inst.mem.space == ir::Space::lds);
}

// The halves of its operands that a user reads.
uint16_t Emitter::halves_read_by(const Inst& user) const {
  if (user.op == Op::store && shape(user) == Shape::chunk) return halves_of(user.operands[0]);
  const uint16_t wanted = may_be_idle(user) ? wanted_halves_[user.id] : kAllHalves;
  return user.op == Op::load && !is_invariant(&user) ? wanted & halves_of(user.operands[0]) : wanted;
}

Emitter::WantedParts Emitter::wanted_parts(const Inst& inst, unsigned chunk) {
  if (!is_half_wanted(inst, chunk)) return {dst64(inst, chunk), 0, 2};
  const unsigned wanted = wanted_in(inst, chunk);
  const Vec64 to = alike64(inst, chunk);
  WAVEJIT_CHECK(to.part[0].id() == to.part[1].id(), "%{} has registers already", inst.id);
  return {to, wanted - 1, wanted};
}

// Behind decide_invariance(). Values for other blocks are wanted as a whole.
void Emitter::plan_idle_chunks() {
  for (const auto& block : function_.blocks) {
    for (auto it = block->insts.rbegin(); it != block->insts.rend(); ++it) {
      const Inst& inst = **it;
      if (!may_be_idle(inst)) continue;
      uint16_t wanted = 0;
      for (const Inst* user : inst.users) {
        if (user->parent != block.get() || user->op == Op::phi) {
          wanted = kAllHalves;
        } else {
          const uint16_t read = halves_read_by(*user);
          wanted |= is_address_of(inst, *user) ? whole_chunks(read) : read;
        }
      }
      wanted_halves_[inst.id] = wanted;
    }
  }
}

}  // namespace wavejit::backend
