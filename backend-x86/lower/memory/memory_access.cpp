#include "backend-x86/lower/memory/memory_access.h"

#include <optional>
#include <span>

#include "backend-x86/lower/plans/wide_accesses.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using x86::CondCode;

MemoryAccess::MemoryAccess(Lowering& lowering, const Inst& access, unsigned chunk_number)
    : ctx(lowering),
      isa(*ctx.isa),
      cc(ctx.cc),
      inst(access),
      mem(inst.mem),
      chunk(chunk_number),
      load(inst.op == Op::load || inst.op == Op::load_edges),
      guest_pc(inst.guest_pc),
      wide(ctx.wide->values[inst.id]) {
  lane_stride = mem.bytes * mem.count;
  element_stride = mem.bytes;
}

Vec data_of(MemoryAccess& access, unsigned element) {
  if (!access.wide.any()) return access.ctx.v32(access.inst.operands[access.first_data + element], access.chunk);
  const Vec64 whole = access.ctx.v64(access.wide.pairs[0], access.chunk);
  const Vec half = access.isa.vec();
  element == 0 ? access.isa.lo32(half, whole) : access.isa.hi32(half, whole);
  return half;
}

Vec result_of(MemoryAccess& access, unsigned element) {
  if (!access.wide.any()) return access.ctx.dst(access.inst, access.chunk, element);
  if (!access.halves[element]) access.halves[element] = access.isa.vec();
  return *access.halves[element];
}

void finish_wide(MemoryAccess& access) {
  for (unsigned i = 0; access.load && access.wide.any() && i < access.mem.count; i += 2) {
    const Vec64 pair = access.ctx.dst64(*access.wide.pairs[i / 2], access.chunk);
    WAVEJIT_CHECK(pair.part[0].id() != pair.part[1].id(), "one register for both halves of %{}, whose lanes may differ",
                  access.wide.pairs[i / 2]->id);
    access.isa.pack64(pair, result_of(access, i), result_of(access, i + 1));
  }
}

void add_immediate(MemoryAccess& access, int64_t imm_value) {
  access.disp = imm_value;
  const int64_t last = access.disp + int64_t{access.mem.count} * 256 + 1024;
  if (access.disp == static_cast<int32_t>(access.disp) && last == static_cast<int32_t>(last)) return;
  // Too far for a displacement.
  access.disp = 0;
  Gp t = access.cc.new_gp64();
  access.cc.mov(t, imm_value);
  if (access.kind == AddressKind::address64) {
    Vec splat = access.isa.vec();
    access.isa.splat64(splat, t);
    // Not as one braced assignment: gcc 12 builds the new parts in place, on top of the operands.
    const Vec low = access.isa.make(I::kIdVpaddq, access.address.part[0], splat),
              high = access.isa.make(I::kIdVpaddq, access.address.part[1], splat);
    access.address = {{low, high}};
  } else {
    access.cc.add(t, access.base);
    access.base = t;
  }
}

void exclude_lanes(MemoryAccess& access, const MaskReg& lanes) {
  if (access.excluded.full) {
    access.excluded = {.full = false, .mask = lanes};
  } else {
    access.excluded.mask = either(access.ctx, access.excluded.mask, lanes);
  }
}

void to_slow_if(MemoryAccess& access, CondCode condition) {
  access.slow_used = true;
  access.cc.j(condition, access.slow_label);
}

std::optional<uint32_t> fixed_lanes(const MemoryAccess& access) {
  const Inst* mask = access.inst.operands[0];
  if (!mask->is_const()) return std::nullopt;
  return static_cast<uint32_t>(mask->imm >> access.first_lane()) & access.lane_bits();
}

unsigned first_lanes(const MemoryAccess& access) {
  const std::optional<uint32_t> lanes = fixed_lanes(access);
  if (!lanes || !access.ctx.on(Optimisation::idle_chunks)) return 0;
  for (unsigned count = 1; count < access.isa.lanes; count *= 2)
    if (*lanes == (1u << count) - 1) return count;
  return 0;
}

void make_mask(MemoryAccess& access) {
  if (!access.active.full) access.active.mask = access.ctx.mask(access.inst.operands[0], access.chunk);
}

FaultRange fault_range(const MemoryAccess& access, bool contiguous, unsigned first) {
  return {.guest_pc = access.inst.guest_pc,
          .first_lane = static_cast<uint8_t>(access.first_lane() + first),
          .lanes = static_cast<uint8_t>(access.isa.lanes - first),
          .element_bytes = static_cast<uint8_t>(access.lane_stride),
          .contiguous = contiguous,
          .write = !access.load};
}

void require_full_mask(MemoryAccess& access) {
  if (!access.active.full) to_slow_if(access, x86::negateCond(access.isa.test_all({&access.active.mask, 1})));
}

void zero_results(MemoryAccess& access) {
  if (access.load && access.wide.any()) {
    for (const Inst* whole : std::span(access.wide.pairs).first(access.mem.count / 2))
      for (const Vec& part : access.ctx.dst64(*whole, access.chunk).part) access.isa.set_const32(part, 0);
    return;
  }
  for (unsigned element = 0; access.load && element < access.mem.count; ++element)
    access.isa.set_const32(result_of(access, element), 0);
}

// A masked access to memory that is not there takes the processor hundreds of cycles even if no lane is on, as behind
// the end of an array.
void skip_without_lanes(MemoryAccess& access, const Label& done) {
  const Label some = access.cc.new_label();
  access.cc.j(access.isa.test_any({&access.active.mask, 1}), some);
  zero_results(access);
  access.cc.jmp(done);
  access.cc.bind(some);
}

void set_loaded(MemoryAccess& access, unsigned element, const Vec& v, const ChunkLanes& lanes) {
  if (lanes.full) {
    access.isa.mov(result_of(access, element), v);
  } else {
    access.isa.zero_unless(result_of(access, element), lanes.mask, v);
  }
}

}  // namespace wavejit::backend
