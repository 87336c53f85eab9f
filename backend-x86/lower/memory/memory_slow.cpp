// The path that serves any addresses: gathers, scatters, and loops over the active lanes.
#include "backend-x86/lower/memory/memory_slow.h"

#include <bit>

#include "backend-x86/helpers/flat_lanes.h"
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_lanes.h"
#include "backend-x86/lower/memory/memory_shared.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;
using ir::Space;
using x86::CondCode;

Vec64 host_addresses(Lowering& ctx, const Gp& base, const GatherIndex& index) {
  Vec64 d = ctx.isa->vec64();
  index.is_signed ? ctx.isa->sext64(d, index.index) : ctx.isa->zext64(d, index.index);
  Vec splat = ctx.isa->vec();
  ctx.isa->splat64(splat, base);
  for (Vec& part : d.part) {
    if (index.shift != 0) ctx.cc.emit(I::kIdVpsllq, part, part, imm(index.shift));
    ctx.cc.emit(I::kIdVpaddq, part, part, splat);
  }
  return d;
}

namespace {

// Whether dwords of lanes at any addresses are loaded (stored) by one instruction rather than one by one.
bool gathers(const Lowering& ctx) {
  const HostChoices& choices = ctx.options.choices;
  return ctx.on(Optimisation::gathers) && (ctx.isa->lanes == 16 ? choices.gather16 : choices.gather8);
}
bool scatters(const Lowering& ctx) {
  return ctx.on(Optimisation::scatters) && ctx.isa->has_scatter() && ctx.options.choices.scatter16;
}

// Those in scratch are left as they are.
Vec64 resolve_lds(Lowering& ctx, const Vec64& address, unsigned access_bytes, MaskReg& lanes) {
  Vec lo = ctx.isa->vec(), hi = ctx.isa->vec();
  ctx.isa->lo32(lo, address);
  ctx.isa->hi32(hi, address);
  const MaskReg shared = cmp(ctx, ICmp::eq, hi, ctx.isa->c32(kSharedApertureHi));
  // Accesses that reach beyond its size do nothing.
  Gp limit = ctx.cc.new_gp32(), zero = ctx.cc.new_gp32(), base = ctx.cc.new_gp64();
  ctx.cc.xor_(zero, zero);
  ctx.cc.mov(limit, ctx.wave_field(offsetof(WaveState, lds_size), 4));
  ctx.cc.sub(limit, access_bytes - 1);
  ctx.cc.emit(x86::Inst::cmovccFromCond(CondCode::kC), limit, zero);
  Vec bound = ctx.isa->vec();
  ctx.isa->splat32(bound, limit);
  MaskReg out = ctx.isa->mask(), kept = ctx.isa->mask();
  ctx.isa->cmp32(out, ICmp::uge, lo, bound, &shared);
  ctx.isa->mask_andn(kept, lanes, out);
  lanes = kept;
  ctx.cc.mov(base, ctx.wave_field(offsetof(WaveState, lds_base), 8));
  const Vec64 in_lds = host_addresses(ctx, base, {lo});
  const Mask64 shared64 = ctx.isa->split(shared);
  Vec64 d;
  for (unsigned i = 0; i < 2; ++i) d.part[i] = ctx.isa->sel64(shared64.part[i], in_lds.part[i], address.part[i]);
  return d;
}

}  // namespace

Vec64 resolve_flat(Lowering& ctx, const Vec64& address, unsigned access_bytes, unsigned first_lane, MaskReg& lanes) {
  const Vec64 resolved = resolve_lds(ctx, address, access_bytes, lanes);
  Vec lo = ctx.isa->vec(), hi = ctx.isa->vec();
  ctx.isa->lo32(lo, address);
  ctx.isa->hi32(hi, address);
  const Mask64 private64 = ctx.isa->split(cmp(ctx, ICmp::eq, hi, ctx.isa->c32(kPrivateApertureHi)));
  Gp scratch = ctx.cc.new_gp64();
  ctx.cc.mov(scratch, ctx.wave_field(offsetof(WaveState, scratch_base), 8));
  const Vec64 in_scratch = host_addresses(ctx, scratch, {swizzle_scratch(ctx, lo, first_lane)});
  Vec64 d;
  for (unsigned i = 0; i < 2; ++i) d.part[i] = ctx.isa->sel64(private64.part[i], in_scratch.part[i], resolved.part[i]);
  return d;
}

namespace {

// Loads of 8 or 16 bytes a lane, by gathers of 64-bit elements. False: they are none, or better served otherwise.
bool gather_pairs(MemoryAccess& access) {
  const bool pairs = access.load && access.mem.bytes == 4 && (access.mem.count == 2 || access.mem.count == 4) &&
                     access.lane_stride == 4 * access.mem.count;
  if (!pairs || !gathers(access.ctx) || access.scratch_swizzled || access.mem.space == Space::flat ||
      access.needs_whole_pairs() || is_shared(access) ||
      (access.kind != AddressKind::indexed && access.kind != AddressKind::address64))
    return false;
  const Vec64 address =
      access.kind == AddressKind::indexed ? host_addresses(access.ctx, access.base, access.index) : access.address;
  for (unsigned i = 0; i < access.mem.count; i += 2) {
    const auto disp = static_cast<int32_t>(access.disp + 4 * i);
    if (access.wide.any()) {
      access.isa.gather64(access.ctx.dst64(*access.wide.pairs[i / 2], access.chunk), address, disp, access.active.get(),
                          fault_range(access, false));
      continue;
    }
    const Vec64 pair = access.isa.vec64();
    access.isa.gather64(pair, address, disp, access.active.get(), fault_range(access, false));
    access.isa.lo32(result_of(access, i), pair);
    access.isa.hi32(result_of(access, i + 1), pair);
  }
  return true;
}

// Jumps to `done` if all active lanes access aligned dwords of their scratch: a row of memory if they have one address, as
// variables have at -O0, else lane by lane.
void flat_scratch(MemoryAccess& access, const MaskReg& in_scratch, const Label& done) {
  const Label by_function = access.cc.new_label(), apart = access.cc.new_label();
  const Vec low = access.isa.vec(), first = access.isa.vec();
  access.isa.lo32(low, access.address);
  MaskReg aligned = access.isa.mask(), differ = access.isa.mask();
  access.isa.cmp32(aligned, ICmp::eq, access.isa.and_(low, access.isa.c32(3)), access.isa.const32(0), &in_scratch);
  if (access.active.full) {
    access.cc.j(x86::negateCond(access.isa.test_all({&aligned, 1})), by_function);
  } else {
    MaskReg others = access.isa.mask();
    access.isa.mask_andn(others, access.active.mask, aligned);
    access.cc.j(access.isa.test_any({&others, 1}), by_function);
  }
  access.cc.emit(I::kIdVpbroadcastd, first, low.xmm());
  access.isa.cmp32(differ, ICmp::ne, low, first, access.active.get());
  access.cc.j(access.isa.test_any({&differ, 1}), apart);
  const Gp row = access.cc.new_gp64();
  access.isa.low32(row, low);
  access.cc.cmp(row.r32(), kLastScratchByte - 4 * access.mem.count);
  access.cc.ja(apart);
  access.cc.shl(row, 6);
  access.cc.add(row, access.ctx.wave_field(offsetof(WaveState, scratch_base), 8));
  for (unsigned element = 0; element < access.mem.count; ++element) {
    const Mem at = x86::ptr(row, static_cast<int32_t>(element * 4 * kWaveSize + access.first_lane() * 4));
    if (access.load) {
      access.ctx.faults.mark(fault_range(access, true));
      access.isa.load(result_of(access, element), at, access.active.get());
    } else if (access.active.full) {
      access.ctx.faults.mark(fault_range(access, true));
      access.isa.store(at, data_of(access, element), nullptr);
    } else {
      access.isa.store_merged(at, data_of(access, element), access.active.mask, fault_range(access, true));
    }
  }
  access.cc.jmp(done);
  access.cc.bind(apart);
  access.base = access.cc.new_gp64();
  access.cc.mov(access.base, access.ctx.wave_field(offsetof(WaveState, scratch_base), 8));
  const GatherIndex index{swizzle_scratch(access.ctx, low, access.first_lane())};
  for (unsigned element = 0; element < access.mem.count; ++element)
    slow_element(access, element, AddressKind::indexed, index, {}, static_cast<int32_t>(element * 4 * kWaveSize),
                 access.active);
  access.cc.jmp(done);
  access.cc.bind(by_function);
}

void call_for_flat_lanes(MemoryAccess& access) {
  const Mem record = access.ctx.scratch_row(access.ctx.rows->flat_lanes, sizeof(FlatLanes));
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = record.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  const auto row = [&](unsigned element) {
    return record.cloneAdjusted(offsetof(FlatLanes, values) + element * sizeof(FlatLanes::values[0]));
  };
  if (access.mem.count > (access.mem.bytes == 4 ? FlatLanes::kMaxCount : 1))
    return access.ctx.fail(access.inst, "elements of a flat access");
  access.isa.store_row64(record.cloneAdjusted(offsetof(FlatLanes, addresses)), access.address);
  for (unsigned element = 0; !access.load && element < access.mem.count; ++element)
    access.isa.store(row(element), data_of(access, element), nullptr);
  if (access.active.full) {
    access.cc.mov(field(offsetof(FlatLanes, lanes), 4), access.lane_bits());
  } else {
    access.cc.mov(field(offsetof(FlatLanes, lanes), 4), access.isa.mask_bits(access.active.mask));
  }
  const Gp pc = access.cc.new_gp64();
  access.cc.mov(pc, access.guest_pc);
  access.cc.mov(field(offsetof(FlatLanes, guest_pc), 8), pc);
  access.cc.mov(field(offsetof(FlatLanes, wave), 8), access.ctx.wave);
  const FlatShape shape{.bytes = static_cast<uint8_t>(access.mem.bytes),
                        .count = static_cast<uint8_t>(access.mem.count),
                        .first_lane = static_cast<uint8_t>(access.first_lane()),
                        .flags = static_cast<uint8_t>((access.load ? FlatShape::kLoad : 0) |
                                                      (access.mem.sign_extend ? FlatShape::kSignExtend : 0))};
  access.cc.mov(field(offsetof(FlatLanes, shape), 4), std::bit_cast<uint32_t>(shape));
  access.cc.push(access.ctx.address_of(record));
  access.cc.emit(I::kIdCall, access.ctx.pool.function(flat_stub(access.isa.lanes == 16 ? Tier::avx512 : Tier::avx2)));
  for (unsigned element = 0; access.load && element < access.mem.count; ++element)
    access.isa.load(result_of(access, element), row(element), nullptr);
}

// Chunks without a lane in scratch are served as in global memory. A function serves those that mix scratch with other memory,
// and narrow or unaligned elements in scratch.
void slow_flat(MemoryAccess& access) {
  if (access.kind == AddressKind::indexed) {
    access.address = host_addresses(access.ctx, access.base, access.index);
  } else if (access.kind == AddressKind::uniform) {
    access.address = host_addresses(access.ctx, access.base, {access.isa.const32(0)});
  }
  access.kind = AddressKind::address64;
  const Vec64 place = access.isa.vec64();
  if (access.disp != 0) {
    Gp delta = access.cc.new_gp64();
    access.cc.mov(delta, access.disp);
    Vec splat = access.isa.vec();
    access.isa.splat64(splat, delta);
    for (unsigned i = 0; i < 2; ++i) access.cc.emit(I::kIdVpaddq, place.part[i], access.address.part[i], splat);
    access.disp = 0;
  } else {
    for (unsigned i = 0; i < 2; ++i) access.isa.mov(place.part[i], access.address.part[i]);
  }
  MaskReg lanes = access.isa.mask();
  if (access.active.full) {
    access.isa.set_mask_const(lanes, ~0u);
  } else {
    access.isa.mov_mask(lanes, access.active.mask);
  }
  const Label plain = access.cc.new_label(), scratch = access.cc.new_label(), done = access.cc.new_label();
  // Upper halves from one aperture to the other; what lies between them is not in the way.
  static_assert(kPrivateApertureHi == 2 * kSharedApertureHi);
  const Vec high = access.isa.vec();
  access.isa.hi32(high, place);
  MaskReg in_aperture = access.isa.mask(), in_scratch = access.isa.mask();
  access.isa.cmp32(in_aperture, ICmp::ule, access.isa.make(I::kIdVpsubd, high, access.isa.c32(kSharedApertureHi)),
                   access.isa.c32(kPrivateApertureHi - kSharedApertureHi), access.active.get());
  access.cc.j(x86::negateCond(access.isa.test_any({&in_aperture, 1})), plain);
  access.isa.cmp32(in_scratch, ICmp::eq, high, access.isa.c32(kPrivateApertureHi), access.active.get());
  access.cc.j(access.isa.test_any({&in_scratch, 1}), scratch);
  MaskReg kept = lanes;
  const Vec64 resolved = resolve_lds(access.ctx, place, access.mem.bytes * access.mem.count, kept);
  access.isa.mov_mask(lanes, kept);
  for (unsigned i = 0; i < 2; ++i) access.isa.mov(place.part[i], resolved.part[i]);
  access.cc.bind(plain);
  const ChunkLanes active = access.active;
  access.active = {.full = false, .mask = lanes};
  access.address = place;
  if (!serve_lanes(access)) {
    for (unsigned element = 0; element < access.mem.count; ++element)
      slow_element(access, element, access.kind, {}, access.address, static_cast<int32_t>(element * access.mem.bytes),
                   access.active);
  }
  access.active = active;
  access.cc.jmp(done);
  access.cc.bind(scratch);
  if (access.mem.bytes == 4) flat_scratch(access, in_scratch, done);
  call_for_flat_lanes(access);
  access.cc.bind(done);
}

// Byte `byte` of element `element`, as an offset in the lane's scratch.
Vec scratch_place(MemoryAccess& access, unsigned element, unsigned byte) {
  const Vec start = access.scratch_byte.isValid()
                        ? access.scratch_byte
                        : access.isa.const32(static_cast<uint32_t>((access.disp - access.first_lane() * 4) / 64));
  const unsigned more = element * access.mem.bytes + byte;
  return more == 0 ? start : access.isa.make(I::kIdVpaddd, start, access.isa.c32(more));
}

// Emits a loop over the lanes around a loop over the bytes. Unaligned stores are rare, but most accesses need code for them.
void store_scratch_bytes(MemoryAccess& access, const Vec& v, const Gp& base, const Vec& start,
                         const ChunkLanes& lanes) {
  const Mem starts = access.ctx.scratch_row(access.ctx.rows->addresses, 2 * access.isa.bytes()),
            values = access.ctx.scratch_row(access.ctx.rows->results, 2 * access.isa.bytes());
  access.isa.store(starts, start, nullptr);
  access.isa.store(values, v, nullptr);
  const Gp first_start = access.ctx.address_of(starts), first_value = access.ctx.address_of(values),
           last = access.cc.new_gp32();
  access.cc.mov(last, kLastScratchByte);
  for_each_lane(access.ctx, lanes.get(), access.first_lane(), [&](const Gp& lane) {
    const Gp place = access.cc.new_gp32(), value = access.cc.new_gp32(), left = access.cc.new_gp32(),
             at = access.cc.new_gp64(), rest = access.cc.new_gp32(), column = access.cc.new_gp64();
    const Label next = access.cc.new_label();
    access.cc.mov(place, x86::dword_ptr(first_start, lane, 2));
    access.cc.mov(value, x86::dword_ptr(first_value, lane, 2));
    access.cc.lea(column, x86::ptr(base, lane, 2, static_cast<int32_t>(access.first_lane() * 4)));
    access.cc.mov(left, access.mem.bytes);
    access.cc.bind(next);
    access.cc.mov(at.r32(), place);
    access.cc.cmp(at.r32(), last);
    access.cc.cmova(at.r32(), last);
    access.cc.mov(rest, at.r32());
    access.cc.and_(rest, 3);
    access.cc.shr(at.r32(), 2);
    access.cc.shl(at.r32(), 8);
    access.cc.add(at.r32(), rest);
    access.ctx.faults.mark({.guest_pc = access.guest_pc,
                            .first_lane = static_cast<uint8_t>(access.first_lane()),
                            .lanes = static_cast<uint8_t>(access.isa.lanes),
                            .element_bytes = 1,
                            .write = true,
                            .lane_in_state = true});
    access.cc.mov(x86::byte_ptr(column, at), value.r8());
    access.cc.shr(value, 8);
    access.cc.add(place, 1);
    access.cc.sub(left, 1);
    access.cc.jnz(next);
  });
}

// Elements of two and four bytes in swizzled scratch, `start` their offsets in the lanes' scratch, aligned or not: the
// bytes of an unaligned one lie in two rows.
void slow_scratch_unaligned(MemoryAccess& access, unsigned element, const Gp& base, const Vec& start,
                            const ChunkLanes& lanes) {
  if (access.load) {
    const Vec aligned = access.isa.and_(start, access.isa.c32(~3u));
    Vec low = access.isa.vec(), high = access.isa.vec();
    access.isa.gather(low, base, {swizzle_scratch(access.ctx, aligned, access.first_lane())}, 0, lanes.get(),
                      fault_range(access, false));
    const Vec shift = access.isa.shl32(access.isa.and_(start, access.isa.c32(3)), 3);
    MaskReg second = access.isa.mask();  // lanes that reach into the next row
    access.isa.cmp32(second, ICmp::ugt, shift, access.isa.c32(32 - 8 * access.mem.bytes), lanes.get());
    const Vec next = access.isa.make(I::kIdVpaddd, aligned, access.isa.c32(4));
    access.isa.gather(high, base, {swizzle_scratch(access.ctx, next, access.first_lane())}, 0, &second,
                      fault_range(access, false));
    const Vec down = access.isa.make(I::kIdVpsrlvd, low, shift);
    const Vec up = access.isa.make(I::kIdVpsllvd, high, access.isa.make(I::kIdVpsubd, access.isa.const32(32), shift));
    Vec whole = access.isa.or_(down, up);  // shifts by 32 give 0
    if (access.mem.bytes == 2) {
      whole = access.isa.shl32(whole, 16);
      whole = access.mem.sign_extend ? access.isa.sar32(whole, 16) : access.isa.shr32(whole, 16);
    }
    access.isa.mov(result_of(access, element), whole);
    return;
  }
  store_scratch_bytes(access, data_of(access, element), base, start, lanes);
}

void serve_all(MemoryAccess& access) {
  if (access.mem.space == Space::flat) return slow_flat(access);
  if (!access.scratch_swizzled && serve_lanes(access)) return;
  GatherIndex index = access.index;
  AddressKind kind = access.kind;
  if (access.kind == AddressKind::uniform) {
    kind = AddressKind::indexed;
    index = {access.isa.const32(0)};
  }
  for (unsigned element = 0; element < access.mem.count; ++element) {
    const ChunkLanes lanes = access.active;
    if (access.scratch_swizzled) {
      if (access.mem.bytes == 1) {
        const Vec byte = scratch_place(access, element, 0);
        slow_element(access, element, AddressKind::indexed, {swizzle_scratch(access.ctx, byte, access.first_lane())},
                     {}, 0, lanes);
      } else {
        slow_scratch_unaligned(access, element, access.base, scratch_place(access, element, 0), lanes);
      }
      continue;
    }
    slow_element(access, element, kind, index, access.address,
                 static_cast<int32_t>(access.disp + element * access.element_stride), lanes);
  }
}

}  // namespace

void slow_path(MemoryAccess& access) {
  const Label done = access.cc.new_label();
  // A gather or scatter without lanes costs as much as one with few.
  if (!access.active.full && !fixed_lanes(access)) skip_without_lanes(access, done);
  if (!gather_pairs(access)) {
    serve_all(access);
    finish_wide(access);
  }
  access.cc.bind(done);
}

// base_ is the base of the index.
void slow_element(MemoryAccess& access, unsigned element, AddressKind kind, const GatherIndex& index,
                  const Vec64& address, int32_t disp, const ChunkLanes& lanes) {
  if (access.mem.bytes == 4 && access.load && gathers(access.ctx)) {
    if (kind == AddressKind::indexed) {
      access.isa.gather(result_of(access, element), access.base, index, disp, lanes.get(), fault_range(access, false));
    } else {
      access.isa.gather(result_of(access, element), address, disp, lanes.get(), fault_range(access, false));
    }
  } else if (access.mem.bytes == 4 && !access.load && scatters(access.ctx)) {
    if (kind == AddressKind::indexed) {
      access.isa.scatter(data_of(access, element), access.base, index, disp, lanes.get(), fault_range(access, false));
    } else {
      access.isa.scatter(data_of(access, element), address, disp, lanes.get(), fault_range(access, false));
    }
  } else {
    const Vec64 at = kind == AddressKind::indexed ? host_addresses(access.ctx, access.base, index) : address;
    if (access.load) {
      const LanePlaces staged{.row = stage_addresses(access, at, disp, lanes), .first = {}, .disp = disp};
      access.mem.bytes == 4 ? set_loaded(access, element, singles_at(access, staged), lanes)
                            : load_narrow_lanes(access, element, staged, lanes);
    } else {
      store_lanes_of(access, data_of(access, element), access.mem.bytes, at, disp, lanes);
    }
  }
}

// Active lanes of a chunk in ascending order; `body` gets the lane's number in the chunk. The wave's lane number is
// kept in WaveState::fault_lane for the fault handler.
void for_each_lane(Lowering& ctx, const MaskReg* lanes, unsigned first_lane,
                   const std::function<void(const Gp&)>& body) {
  Gp left = ctx.cc.new_gp32(), lane = ctx.cc.new_gp64(), number = ctx.cc.new_gp32();
  if (lanes != nullptr) {
    ctx.cc.mov(left, ctx.isa->mask_bits(*lanes));
  } else {
    ctx.cc.mov(left, (1u << ctx.isa->lanes) - 1);
  }
  const Label top = ctx.cc.new_label(), done = ctx.cc.new_label();
  ctx.cc.test(left, left);
  ctx.cc.jz(done);
  ctx.cc.bind(top);
  ctx.cc.tzcnt(lane.r32(), left);
  if (first_lane == 0) {
    ctx.cc.mov(ctx.wave_field(offsetof(WaveState, fault_lane), 4), lane.r32());
  } else {
    ctx.cc.lea(number, x86::ptr(lane, static_cast<int32_t>(first_lane)));
    ctx.cc.mov(ctx.wave_field(offsetof(WaveState, fault_lane), 4), number);
  }
  body(lane);
  ctx.cc.blsr(left, left);
  ctx.cc.jnz(top);
  ctx.cc.bind(done);
}

}  // namespace wavejit::backend
