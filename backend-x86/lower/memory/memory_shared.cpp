// Lanes at any addresses, and under masks, by a function that all accesses of a size share (helpers/chunk_access.h). Cold paths are
// emitted for each chunk of each access, and most are never executed: what they cost is their translation.
#include <utility>

#include "backend-x86/helpers/chunk_access.h"
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/stack_rows.h"

namespace wavejit::backend {

// Prefetches for the next work-group are in code of the access's own. What loops do is mostly done often.
bool MemoryAccess::is_shared() const {
  if (ctx_.blocks_of_loops.contains(inst_.parent)) return false;
  if (isa_.lanes != ChunkAccess::kLanes || !ctx_.on(Optimisation::shared_accesses) || scratch_swizzled_) return false;
  if (mem_.bytes == 4 ? mem_.count > ChunkAccess::kMaxCount : mem_.count != 1) return false;
  return chunk_access_stub(load_, mem_.bytes * mem_.count) != 0 && next_group().isNone();
}

// form: all of it but the mask.
void MemoryAccess::call_shared(uint32_t form) {
  const Mem access = ctx_.scratch_row(ctx_.rows->chunk_access, sizeof(ChunkAccess));
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = access.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  const auto values = [&](unsigned element) {
    return field(offsetof(ChunkAccess, values) + element * sizeof(ChunkAccess::values[0]), isa_.bytes());
  };
  if (active_.full) {
    form |= ChunkAccess::all_lanes;
  } else {
    isa_.store(field(offsetof(ChunkAccess, mask), isa_.bytes()), isa_.mask_vec(active_.mask), nullptr);
  }
  if ((form & ChunkAccess::wide) == 0) cc_.mov(field(offsetof(ChunkAccess, base), 8), base_);
  cc_.mov(field(offsetof(ChunkAccess, displacement), 8), static_cast<int32_t>(disp_));
  for (unsigned element = 0; !load_ && element < mem_.count; ++element)
    isa_.store(values(element), data(element), nullptr);
  cc_.push(ctx_.address_of(access.cloneAdjusted(form)));
  ctx_.faults.mark({.guest_pc = guest_pc_,
                    .first_lane = static_cast<uint8_t>(first_lane()),
                    .lanes = static_cast<uint8_t>(isa_.lanes),
                    .element_bytes = static_cast<uint8_t>(mem_.bytes * mem_.count),
                    .write = !load_});
  cc_.emit(I::kIdCall, ctx_.pool.function(chunk_access_stub(load_, mem_.bytes * mem_.count)));
  if (load_ && mem_.bytes < 4) {
    const InstId widen = mem_.bytes == 1 ? (mem_.sign_extend ? I::kIdVpmovsxbd : I::kIdVpmovzxbd)
                                         : (mem_.sign_extend ? I::kIdVpmovsxwd : I::kIdVpmovzxwd);
    cc_.emit(widen, result(0), field(offsetof(ChunkAccess, values), mem_.bytes * isa_.lanes));
    return;
  }
  for (unsigned element = 0; load_ && element < mem_.count; ++element)
    isa_.load(result(element), values(element), nullptr);
}

void MemoryAccess::shared_any() {
  const Mem access = ctx_.scratch_row(ctx_.rows->chunk_access, sizeof(ChunkAccess));
  if (kind_ == Kind::address64) {
    for (unsigned part = 0; part < 2; ++part)
      isa_.store(access.cloneAdjusted(offsetof(ChunkAccess, parts) + part * isa_.bytes()), address_.part[part],
                 nullptr);
    return call_shared(ChunkAccess::wide);
  }
  const bool is_signed = kind_ == Kind::indexed && index_.is_signed;
  const unsigned shift = kind_ == Kind::indexed ? index_.shift : 0;
  isa_.store(access.cloneAdjusted(offsetof(ChunkAccess, index)),
             kind_ == Kind::indexed ? index_.index : isa_.const32(0), nullptr);
  call_shared((is_signed ? ChunkAccess::signed_index : 0U) | shift);
}

// Out of line, at `masked`: the lanes are neighbours, and not all of them are on. Hot code goes on behind this.
void MemoryAccess::shared_contiguous(const Gp& pointer, const Label& masked) {
  const Label done = cc_.new_label();
  cc_.bind(done);
  ctx_.cold([&] {
    cc_.bind(masked);
    const Gp base = std::exchange(base_, pointer);
    call_shared(ChunkAccess::contiguous);
    base_ = base;
    finish_wide();
    cc_.jmp(done);
  });
}

}  // namespace wavejit::backend
