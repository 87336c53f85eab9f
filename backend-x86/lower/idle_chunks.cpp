// Chunks that nobody asks for. Where a mask is a constant, as behind `if (local_id < 16)` or in the last wave of a
// work-group, stores and loads leave out the chunks without a lane, and what is computed for them alone goes, too.
#include "backend-x86/lower/emitter.h"
#include "ir/matrix.h"

namespace wavejit::backend {

namespace {
constexpr uint8_t kAllChunks = 0xff;
static_assert(kWaveSize / 8 <= 8, "a bit for each chunk");
}  // namespace

// The chunks in which a constant mask has a lane.
uint8_t Emitter::chunks_of(const Inst* mask) const {
  if (!mask->is_const()) return kAllChunks;
  uint8_t chunks = 0;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    const uint64_t lanes = (uint64_t{1} << isa_->lanes) - 1;
    if ((mask->imm >> chunk * isa_->lanes & lanes) != 0) chunks |= static_cast<uint8_t>(1u << chunk);
  }
  return chunks;
}

// The LDS does not fault: what nobody wants need not be loaded.
bool Emitter::may_be_idle(const Inst& inst) const {
  if (shape(inst) != Shape::chunk || is_invariant(&inst) || classes_.is_shared(&inst)) return false;
  if (lane_addresses_.is_scalar(&inst) || ir::is_matrix_op(inst.op)) return false;
  return ir::is_pure(inst.op) || (inst.op == Op::load && inst.mem.space == ir::Space::lds);
}

// The chunks of its operands that a user reads.
uint8_t Emitter::chunks_read_by(const Inst& user) const {
  if (user.op == Op::store && shape(user) == Shape::chunk) return chunks_of(user.operands[0]);
  const uint8_t wanted = may_be_idle(user) ? wanted_chunks_[user.id] : kAllChunks;
  return user.op == Op::load && !is_invariant(&user) ? wanted & chunks_of(user.operands[0]) : wanted;
}

// Behind decide_invariance(). Values for other blocks are wanted as a whole.
void Emitter::plan_idle_chunks() {
  for (const auto& block : function_.blocks) {
    for (auto it = block->insts.rbegin(); it != block->insts.rend(); ++it) {
      const Inst& inst = **it;
      if (!may_be_idle(inst)) continue;
      uint8_t wanted = 0;
      for (const Inst* user : inst.users)
        wanted |= user->parent != block.get() || user->op == Op::phi ? kAllChunks : chunks_read_by(*user);
      wanted_chunks_[inst.id] = wanted;
    }
  }
}

}  // namespace wavejit::backend
