// Vector loads and stores: choice of path and the hot paths. The cold path is in memory_slow.cpp.
#include "backend-x86/lower/memory/memory.h"

#include "backend-x86/helpers/flat_lanes.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_address.h"
#include "backend-x86/lower/memory/memory_broadcast.h"
#include "backend-x86/lower/memory/memory_bytes.h"
#include "backend-x86/lower/memory/memory_contiguous.h"
#include "backend-x86/lower/memory/memory_edges.h"
#include "backend-x86/lower/memory/memory_groups.h"
#include "backend-x86/lower/memory/memory_lanes.h"
#include "backend-x86/lower/memory/memory_permuted.h"
#include "backend-x86/lower/memory/memory_shared.h"
#include "backend-x86/lower/memory/memory_slow.h"
#include "backend-x86/lower/memory/prefetch.h"
#include "backend-x86/lower/memory/walks.h"
#include "backend-x86/lower/plans/walks.h"
#include "backend-x86/lower/stack_rows.h"

namespace wavejit::backend {

using ir::Space;

// Offset of each lane's byte in the wave's swizzled scratch; offsets too large for 32 bits end up far beyond it.
Vec swizzle_scratch(Lowering& ctx, const Vec& byte, unsigned first_lane) {
  const Vec b = ctx.isa->make(I::kIdVpminud, byte, ctx.isa->c32(kLastScratchByte));
  const Vec rows = ctx.isa->shl32(ctx.isa->shr32(b, 2), 8);
  const Vec rest = ctx.isa->and_(b, ctx.isa->c32(3));
  return ctx.isa->make(I::kIdVpaddd, ctx.isa->make(I::kIdVpaddd, rows, rest), ctx.isa->lane_table(first_lane * 4, 4));
}

namespace {

// Indices that lanes have found one by one are hardly those of neighbours. Of others a profile may tell.
bool in_disorder(const MemoryAccess& access) {
  const ir::Profile& profile = access.ctx.function.profile;
  if (const auto known = profile.find(access.guest_pc); known != profile.end() && is_scattered(known->second))
    return true;
  if (!access.load || access.mem.count != 1 || access.mem.bytes != 4) return false;
  const Inst* address = lane_operand(access.inst);
  return address != nullptr && is_found_on_a_walk(*access.ctx.walks, address);
}

// may_be_equal: lanes may share an address
void join_cold_path(MemoryAccess& access, bool may_be_equal) {
  if (!access.slow_used) return;
  access.cc.bind(access.join);
  access.ctx.cold([&] {
    access.cc.bind(access.slow_label);
    if (access.served) {
      unserve(access);
    } else if (may_be_in_halves(access)) {
      load_if_in_halves(access);
    } else if (access.ctx.on(Optimisation::equal_addresses) && access.load && may_be_equal && access.mem.bytes == 4 &&
               !access.scratch_swizzled && !access.needs_whole_pairs() && access.mem.space != Space::flat &&
               access.kind != AddressKind::uniform && !is_shared(access))
      load_if_equal(access);
    if (!access.served && !is_shared(access)) load_if_in_groups(access);
    slow_path(access);
    access.cc.jmp(access.join);
  });
}

void emit_access(MemoryAccess& access) {
  if (fixed_lanes(access) == 0u) return zero_results(access);
  prepare_address(access);
  // A shorter register needs no mask.
  const bool is_row =
      access.known_stride == 4 && access.mem.bytes == 4 && access.mem.space != Space::flat && !access.slow_used;
  if (!access.active.full && !access.active.mask.isValid() && !(is_row && (access.load || access.mem.count == 1)))
    make_mask(access);
  if (access.are_joined_bytes()) return joined_bytes(access);
  if (const auto found = access.ctx.rows->walks.find(access.inst.id);
      found != access.ctx.rows->walks.end() && access.kind == AddressKind::address64)
    return serve_by_walk(access, found->second.rows[access.chunk - access.ctx.first_chunk()],
                         found->second.cursors[access.chunk - access.ctx.first_chunk()]);
  // Neighbouring lanes share dwords: each element is a vector of its own.
  if (access.load && !access.wide.any() && access.mem.bytes == 4 && access.known_stride == 4) access.lane_stride = 4;
  if (serve_permuted(access)) return join_cold_path(access, false);
  // No vector form for what the whole chunk accesses: straight to the general path.
  const bool interleaves = access.lane_stride == access.element_stride || access.scratch_swizzled ||
                           (access.mem.bytes == 4 && access.mem.count <= 4 &&
                            access.isa.can_interleave(access.mem.count) && access.ctx.on(Optimisation::interleaved));
  const bool scattered =
      access.known_stride && access.kind != AddressKind::uniform && *access.known_stride != access.lane_stride;
  const bool lane_by_lane = scattered && can_stride(access);
  const bool unknown = access.kind != AddressKind::strided && access.known_stride != access.lane_stride;
  if (access.served && !lane_by_lane &&
      (scattered || !interleaves || (access.kind == AddressKind::uniform && !access.load))) {
    // Nothing is gained by the number; the vector is right whatever the guards say.
    if (access.slow_used) access.cc.bind(access.slow_label);
    unserve(access);
    slow_path(access);
    return;
  }
  const bool swizzled_narrow = access.scratch_swizzled && access.mem.bytes < 4;
  if (access.kind == AddressKind::uniform && access.scratch_swizzled) {
    access_contiguous(access, access.base);
  } else if (access.kind == AddressKind::uniform && access.load) {
    uniform_load(access);
  } else if (lane_by_lane) {
    require_full_mask(access);
    strided_lanes(access, first_lane_pointer(access));
  } else if (access.kind == AddressKind::uniform || !interleaves || scattered || swizzled_narrow ||
             (unknown && (!access.ctx.on(Optimisation::contiguous) || in_disorder(access)))) {
    if (access.slow_used) access.cc.bind(access.slow_label);
    slow_path(access);
    return;
  } else {
    const Gp pointer = access.kind == AddressKind::strided ? strided_pointer(access) : find_contiguous(access);
    access_contiguous(access, pointer);
    prefetch_next(access, pointer);
  }
  join_cold_path(access, !lane_by_lane);
}

}  // namespace

bool emit_memory(Lowering& ctx, const Inst& inst, unsigned chunk) {
  if (inst.op == Op::load_edges || inst.op == Op::store_edges) {
    MemoryAccess access(ctx, inst, chunk);
    emit_edges(access);
    return true;
  }
  if (inst.op != Op::load && inst.op != Op::store) return false;
  if (inst.mem.bytes != 1 && inst.mem.bytes != 2 && inst.mem.bytes != 4) {
    ctx.fail(inst, "element size");
    return true;
  }
  MemoryAccess access(ctx, inst, chunk);
  emit_access(access);
  return true;
}

bool emit_load_scalar(Lowering& ctx, const Inst& inst) {
  if (inst.op != Op::load_scalar) return false;
  Gp base = ctx.gp(inst.operands[0]);
  if (inst.operands.size() > 1) {
    Gp sum = ctx.cc.new_gp64();
    ctx.cc.emit(I::kIdMov, sum.r32(), ctx.gp_operand(inst.operands[1]));
    ctx.cc.add(sum, base);
    base = sum;
  }
  auto disp = static_cast<int64_t>(inst.imm);
  if (disp != static_cast<int32_t>(disp) || disp + 256 != static_cast<int32_t>(disp + 256)) {
    Gp sum = ctx.cc.new_gp64();
    ctx.cc.mov(sum, disp);
    ctx.cc.add(sum, base);
    base = sum;
    disp = 0;
  }
  const FaultRange range{.guest_pc = inst.guest_pc, .first_lane = 64};
  const unsigned count = inst.type.count;
  for (unsigned i = 0; i < count; ++i) {
    Gp t = inst.type.kind == ir::TypeKind::i64 ? Gp(ctx.cc.new_gp64()) : Gp(ctx.cc.new_gp32());
    if (count > 1) t = ctx.dst_gp(inst, i);
    ctx.faults.mark(range);
    ctx.cc.mov(t, x86::ptr(base, static_cast<int32_t>(disp + i * t.size()), t.size()));
    if (count == 1) ctx.cc.mov(ctx.dst_gp(inst), t);
  }
  return true;
}

}  // namespace wavejit::backend
