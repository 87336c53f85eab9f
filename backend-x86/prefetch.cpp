// What the processor's prefetchers do not see.
//
// Lanes that walk through memory of their own, as through the rows of a sparse matrix, are too many streams. Where such
// a loop is entered, each lane's first lines are asked for: lanes mostly go on where their neighbours begin, so that
// these are the lines of all of them.
//
// Waves that go through an array together in strides of the whole grid leave the page with each step. There each access
// asks for what the next iteration wants.
#include <algorithm>

#include "backend-x86/emitter.h"
#include "ir/analysis/loops.h"

namespace wavejit::backend {

namespace {
constexpr int64_t kLine = 64;
constexpr int32_t kLines = 4;

// The lanes' number in a loop that they leave one by one: compared with a bound, and advanced by the same everywhere.
bool counts_lanes(const ir::Inst& phi, const ir::Inst& next) {
  const auto compared = [](const ir::Inst& value) {
    return std::any_of(value.users.begin(), value.users.end(),
                       [](const ir::Inst* user) { return user->op == ir::Op::icmp; });
  };
  return compared(phi) || compared(next);
}
}  // namespace

void Emitter::plan_prefetches() {
  const ir::Dominators dominators(function_);
  for (const ir::Loop& loop : ir::find_loops(dominators)) {
    plan_streams(loop);
    const ir::Block* header = loop.header;
    if (header->predecessors.size() != loop.latches.size() + 1) continue;
    const auto entry = std::find_if(header->predecessors.begin(), header->predecessors.end(),
                                    [&](const ir::Block* b) { return !loop.body.contains(b); });
    if (entry == header->predecessors.end() || (*entry)->terminator()->op != Op::br || regions_.of(*entry) != nullptr)
      continue;
    const auto from = static_cast<size_t>(entry - header->predecessors.begin());
    for (const Inst* phi : header->insts) {
      if (phi->op != Op::phi || phi->type != ir::kV64 || lane_addresses_.is_scalar(phi)) continue;
      if (shapes_.of(phi).group >= isa_->lanes || phi->operands[from]->is_const()) continue;
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
      prefetches_[(*entry)->id].push_back({phi->operands[from], static_cast<int32_t>(step > 0 ? kLine : -kLine)});
    }
  }
}

// How far `value` gets from one iteration of the loop to the next, if that is one scalar, shifted.
std::optional<Emitter::Stream> Emitter::stream_step(const ir::Loop& loop, const Inst* value) const {
  if (!loop.body.contains(value->parent)) return Stream{};
  const auto of = [&](unsigned i) { return stream_step(loop, value->operands[i]); };
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
      if (step->op != Op::splat && step->op != Op::splat64) return std::nullopt;
      return Stream{.step = step->operands[0]};
    }
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

void Emitter::plan_streams(const ir::Loop& loop) {
  std::vector<std::pair<const Inst*, Stream>> found;
  unsigned bytes = 0;  // a lane's, of an iteration
  for (const ir::Block* block : loop.body) {
    for (const Inst* inst : block->insts) {
      if ((inst->op != Op::load && inst->op != Op::store) || inst->mem.space != ir::Space::global) continue;
      if (!lane_addresses_.serves(*inst)) continue;
      const std::optional<Stream> stream = stream_step(loop, lane_operand(*inst));
      if (!stream || !stream->step || stream->shift >= 32) continue;
      found.emplace_back(inst, *stream);
      bytes += inst->mem.bytes * inst->mem.count;
    }
  }
  // So many bytes of the wave are to be under way.
  constexpr unsigned kAhead = 4096;
  unsigned iterations = 0;
  while (bytes != 0 && bytes * tile_ << iterations < kAhead && iterations < 2) ++iterations;
  for (auto& [inst, stream] : found) {
    stream.shift += iterations;
    streams_.emplace(inst, stream);
  }
}

// From an address to that of the next iteration, in bytes. Null: there is none.
Gp Emitter::stream_distance(const Inst& access) {
  const auto found = streams_.find(&access);
  if (found == streams_.end()) return {};
  const Stream& stream = found->second;
  const auto [entry, inserted] = stream_distances_.try_emplace({stream.step, stream.shift, stream.is_signed});
  if (!inserted) return entry->second;
  const Gp d = entry->second = cc_.newUInt64();
  const Gp step = gp(stream.step);
  if (step.size() == 8) {
    cc_.mov(d, step);
  } else if (stream.is_signed) {
    cc_.movsxd(d, step);
  } else {
    cc_.mov(d.r32(), step);
  }
  if (stream.shift != 0) cc_.shl(d, stream.shift);
  return d;
}

// Prefetches do not fault: that goes for lanes that are off, too.
void Emitter::emit_prefetches(const ir::Block& block) {
  const auto found = prefetches_.find(block.id);
  if (found == prefetches_.end()) return;
  for (const Prefetch& prefetch : found->second) {
    const Mem row = scratch_row(address_row_, 2 * isa_->bytes());
    for (unsigned chunk = first_chunk(); chunk < end_chunk(); ++chunk) {
      isa_->recycle();
      isa_->store_row64(row, v64(prefetch.address, chunk));
      for (unsigned lane = 0; lane < isa_->lanes; ++lane) {
        const Gp pointer = cc_.newUInt64();
        cc_.mov(pointer, row.cloneAdjusted(lane * 8).cloneResized(8));
        for (int32_t line = 0; line < kLines; ++line) cc_.prefetcht0(x86::ptr(pointer, line * prefetch.distance));
      }
    }
  }
}

}  // namespace wavejit::backend
