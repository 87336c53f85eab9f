#include "backend-x86/lower/memory/prefetch.h"

#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/plans/prefetches.h"
#include "backend-x86/lower/segment_values.h"
#include "backend-x86/lower/stack_rows.h"

namespace wavejit::backend {

namespace {
constexpr int32_t kLines = 4;  // of a lane
}  // namespace

Gp stream_distance(Lowering& ctx, const Inst& access) {
  const auto found = ctx.prefetches->streams.find(&access);
  if (found == ctx.prefetches->streams.end()) return {};
  const Stream& stream = found->second;
  const auto [entry, inserted] =
      ctx.reused->stream_distances.try_emplace({stream.step, stream.shift, stream.is_signed});
  if (!inserted) return entry->second;
  const Gp d = entry->second = ctx.cc.new_gp64();
  const Gp step = ctx.gp(stream.step);
  if (step.size() == 8) {
    ctx.cc.mov(d, step);
  } else if (stream.is_signed) {
    ctx.cc.movsxd(d, step);
  } else {
    ctx.cc.mov(d.r32(), step);
  }
  if (stream.shift != 0) ctx.cc.shl(d, stream.shift);
  return d;
}

Operand advance_distance(Lowering& ctx, const Inst& access) {
  const auto found = ctx.prefetches->advances.find(&access);
  if (found == ctx.prefetches->advances.end()) return {};
  const auto [factor, scale, sgpr] = found->second;
  if (scale == nullptr && sgpr < 0) return asmjit::imm(factor);
  const auto [entry, inserted] = ctx.reused->advance_distances.try_emplace({factor, scale, sgpr});
  if (inserted) {
    entry->second = ctx.cc.new_gp64();
    if (scale != nullptr) {
      ctx.cc.mov(entry->second.r32(), ctx.gp(scale));
    } else {
      ctx.cc.movsxd(entry->second, ctx.wave_field(offsetof(WaveState, sgpr) + 4 * static_cast<size_t>(sgpr), 4));
    }
    ctx.cc.imul(entry->second, entry->second, asmjit::imm(factor));
  }
  return entry->second;
}

// Prefetches do not fault: that goes for lanes that are off, too.
void emit_prefetches(Lowering& ctx, const ir::Block& block) {
  const auto found = ctx.prefetches->at_ends.find(block.id);
  if (found == ctx.prefetches->at_ends.end()) return;
  for (const LanePrefetch& prefetch : found->second) {
    const Mem row = ctx.scratch_row(ctx.rows->addresses, 2 * ctx.isa->bytes());
    for (unsigned chunk = ctx.first_chunk(); chunk < ctx.end_chunk(); ++chunk) {
      ctx.isa->store_row64(row, ctx.v64(prefetch.address, chunk));
      for (unsigned lane = 0; lane < ctx.isa->lanes; ++lane) {
        const Gp pointer = ctx.cc.new_gp64();
        ctx.cc.mov(pointer, row.cloneAdjusted(lane * 8).cloneResized(8));
        for (int32_t line = 0; line < kLines; ++line) ctx.cc.prefetcht0(x86::ptr(pointer, line * prefetch.distance));
      }
    }
  }
}

void prefetch_next(MemoryAccess& access, const Gp& pointer) {
  const auto bytes = static_cast<int32_t>(access.isa.lanes * access.lane_stride);
  if (access.chunk * access.isa.lanes * access.lane_stride % 64 != 0) return;  // in the line of the chunk before
  const auto disp = static_cast<int32_t>(access.disp);
  std::optional<Mem> next;
  if (const Operand distance = next_group(access); distance.isImm()) {
    next = x86::ptr(pointer, disp + distance.as<asmjit::Imm>().valueAs<int32_t>());
  } else if (distance.isReg()) {
    next = x86::ptr(pointer, distance.as<Gp>(), 0, disp);
  } else if (const Gp step = stream_distance(access.ctx, access.inst); step.isValid()) {
    next = x86::ptr(pointer, step, 0, disp);
  }
  for (int32_t line = 0; next && line < bytes; line += 64) prefetch_line(access, next->cloneAdjusted(line));
}

Operand next_group(const MemoryAccess& access) {
  constexpr int64_t kFar = 1 << 30;
  return access.disp < kFar && access.disp > -kFar ? advance_distance(access.ctx, access.inst) : Operand();
}

// Lines that are to be written are taken away from other caches at once. Processors without the instruction, which are
// older than AVX-512, do nothing.
void prefetch_line(MemoryAccess& access, const Mem& at) {
  access.load ? access.cc.prefetcht0(at) : access.cc.prefetchw(at);
}

}  // namespace wavejit::backend
