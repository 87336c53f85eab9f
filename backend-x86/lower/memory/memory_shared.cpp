// Lanes at any addresses, and under masks, by a function that all accesses of a size share (helpers/chunk_access.h). Cold paths are
// emitted for each chunk of each access, and most are never executed: what they cost is their translation.
#include "backend-x86/lower/memory/memory_shared.h"

#include <utility>

#include "backend-x86/helpers/chunk_access.h"
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/prefetch.h"
#include "backend-x86/lower/stack_rows.h"

namespace wavejit::backend {

// Prefetches for the next work-group are in code of the access's own. What loops do is mostly done often.
bool is_shared(const MemoryAccess& access) {
  if (access.ctx.blocks_of_loops.contains(access.inst.parent)) return false;
  if (access.isa.lanes != ChunkAccess::kLanes || !access.ctx.on(Optimisation::shared_accesses) ||
      access.scratch_swizzled)
    return false;
  if (access.mem.bytes == 4 ? access.mem.count > ChunkAccess::kMaxCount : access.mem.count != 1) return false;
  return chunk_access_stub(access.load, access.mem.bytes * access.mem.count) != 0 && next_group(access).isNone();
}

namespace {

// form: all of it but the mask.
void call_shared(MemoryAccess& access, uint32_t form) {
  const Mem record = access.ctx.scratch_row(access.ctx.rows->chunk_access, sizeof(ChunkAccess));
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = record.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  const auto values = [&](unsigned element) {
    return field(offsetof(ChunkAccess, values) + element * sizeof(ChunkAccess::values[0]), access.isa.bytes());
  };
  if (access.active.full) {
    form |= ChunkAccess::all_lanes;
  } else {
    access.isa.store(field(offsetof(ChunkAccess, mask), access.isa.bytes()), access.isa.mask_vec(access.active.mask),
                     nullptr);
  }
  if ((form & ChunkAccess::wide) == 0) access.cc.mov(field(offsetof(ChunkAccess, base), 8), access.base);
  access.cc.mov(field(offsetof(ChunkAccess, displacement), 8), static_cast<int32_t>(access.disp));
  for (unsigned element = 0; !access.load && element < access.mem.count; ++element)
    access.isa.store(values(element), data_of(access, element), nullptr);
  access.cc.push(access.ctx.address_of(record.cloneAdjusted(form)));
  access.ctx.faults.mark({.guest_pc = access.guest_pc,
                          .first_lane = static_cast<uint8_t>(access.first_lane()),
                          .lanes = static_cast<uint8_t>(access.isa.lanes),
                          .element_bytes = static_cast<uint8_t>(access.mem.bytes * access.mem.count),
                          .write = !access.load});
  access.cc.emit(I::kIdCall,
                 access.ctx.pool.function(chunk_access_stub(access.load, access.mem.bytes * access.mem.count)));
  if (access.load && access.mem.bytes < 4) {
    const InstId widen = access.mem.bytes == 1 ? (access.mem.sign_extend ? I::kIdVpmovsxbd : I::kIdVpmovzxbd)
                                               : (access.mem.sign_extend ? I::kIdVpmovsxwd : I::kIdVpmovzxwd);
    access.cc.emit(widen, result_of(access, 0),
                   field(offsetof(ChunkAccess, values), access.mem.bytes * access.isa.lanes));
    return;
  }
  for (unsigned element = 0; access.load && element < access.mem.count; ++element)
    access.isa.load(result_of(access, element), values(element), nullptr);
}

}  // namespace

void shared_any(MemoryAccess& access) {
  const Mem record = access.ctx.scratch_row(access.ctx.rows->chunk_access, sizeof(ChunkAccess));
  if (access.kind == AddressKind::address64) {
    for (unsigned part = 0; part < 2; ++part)
      access.isa.store(record.cloneAdjusted(offsetof(ChunkAccess, parts) + part * access.isa.bytes()),
                       access.address.part[part], nullptr);
    return call_shared(access, ChunkAccess::wide);
  }
  const bool is_signed = access.kind == AddressKind::indexed && access.index.is_signed;
  const unsigned shift = access.kind == AddressKind::indexed ? access.index.shift : 0;
  access.isa.store(record.cloneAdjusted(offsetof(ChunkAccess, index)),
                   access.kind == AddressKind::indexed ? access.index.index : access.isa.const32(0), nullptr);
  call_shared(access, (is_signed ? ChunkAccess::signed_index : 0U) | shift);
}

// Out of line, at `masked`: the lanes are neighbours, and not all of them are on. Hot code goes on behind this.
void shared_contiguous(MemoryAccess& access, const Gp& pointer, const Label& masked) {
  const Label done = access.cc.new_label();
  access.cc.bind(done);
  access.ctx.cold([&] {
    access.cc.bind(masked);
    const Gp base = std::exchange(access.base, pointer);
    call_shared(access, ChunkAccess::contiguous);
    access.base = base;
    finish_wide(access);
    access.cc.jmp(done);
  });
}

}  // namespace wavejit::backend
