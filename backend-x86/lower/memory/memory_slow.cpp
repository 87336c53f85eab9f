// The path that serves any addresses: gathers, scatters, and loops over the active lanes.
#include <bit>

#include "backend-x86/helpers/flat_lanes.h"
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
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

void MemoryAccess::slow() {
  const Label done = cc_.new_label();
  // A gather or scatter without lanes costs as much as one with few.
  if (!active_.full && !fixed_lanes()) skip_without_lanes(done);
  if (!gather_pairs()) {
    serve_all();
    finish_wide();
  }
  cc_.bind(done);
}

// Loads of 8 or 16 bytes a lane, by gathers of 64-bit elements. False: they are none, or better served otherwise.
bool MemoryAccess::gather_pairs() {
  const bool pairs = load_ && mem_.bytes == 4 && (mem_.count == 2 || mem_.count == 4) && lane_stride_ == 4 * mem_.count;
  if (!pairs || !gathers(ctx_) || scratch_swizzled_ || mem_.space == Space::flat || needs_whole_pairs() ||
      is_shared() || (kind_ != Kind::indexed && kind_ != Kind::address64))
    return false;
  const Vec64 address = kind_ == Kind::indexed ? host_addresses(ctx_, base_, index_) : address_;
  for (unsigned i = 0; i < mem_.count; i += 2) {
    const auto disp = static_cast<int32_t>(disp_ + 4 * i);
    if (wide_.any()) {
      isa_.gather64(ctx_.dst64(*wide_.pairs[i / 2], chunk_), address, disp, active_.get(), range(false));
      continue;
    }
    const Vec64 pair = isa_.vec64();
    isa_.gather64(pair, address, disp, active_.get(), range(false));
    isa_.lo32(result(i), pair);
    isa_.hi32(result(i + 1), pair);
  }
  return true;
}

void MemoryAccess::serve_all() {
  if (mem_.space == Space::flat) return slow_flat();
  if (!scratch_swizzled_ && serve_lanes()) return;
  GatherIndex index = index_;
  Kind kind = kind_;
  if (kind_ == Kind::uniform) {
    kind = Kind::indexed;
    index = {isa_.const32(0)};
  }
  for (unsigned element = 0; element < mem_.count; ++element) {
    const Lanes lanes = active_;
    if (scratch_swizzled_) {
      if (mem_.bytes == 1) {
        const Vec byte = scratch_place(element, 0);
        slow_element(element, Kind::indexed, {swizzle_scratch(ctx_, byte, first_lane())}, {}, 0, lanes);
      } else {
        slow_scratch_unaligned(element, base_, scratch_place(element, 0), lanes);
      }
      continue;
    }
    slow_element(element, kind, index, address_, static_cast<int32_t>(disp_ + element * element_stride_), lanes);
  }
}

// base_ is the base of the index.
void MemoryAccess::slow_element(unsigned element, Kind kind, const GatherIndex& index, const Vec64& address,
                                int32_t disp, const Lanes& lanes) {
  if (mem_.bytes == 4 && load_ && gathers(ctx_)) {
    if (kind == Kind::indexed) {
      isa_.gather(result(element), base_, index, disp, lanes.get(), range(false));
    } else {
      isa_.gather(result(element), address, disp, lanes.get(), range(false));
    }
  } else if (mem_.bytes == 4 && !load_ && scatters(ctx_)) {
    if (kind == Kind::indexed) {
      isa_.scatter(data(element), base_, index, disp, lanes.get(), range(false));
    } else {
      isa_.scatter(data(element), address, disp, lanes.get(), range(false));
    }
  } else {
    const Vec64 at = kind == Kind::indexed ? host_addresses(ctx_, base_, index) : address;
    if (load_) {
      const LaneAddresses staged{.row = stage_addresses(at, disp, lanes), .first = {}, .disp = disp};
      mem_.bytes == 4 ? set_loaded(element, singles_at(staged), lanes) : load_narrow_lanes(element, staged, lanes);
    } else {
      store_lanes_of(data(element), mem_.bytes, at, disp, lanes);
    }
  }
}

// Chunks without a lane in scratch are served as in global memory. A function serves those that mix scratch with other memory,
// and narrow or unaligned elements in scratch.
void MemoryAccess::slow_flat() {
  if (kind_ == Kind::indexed) {
    address_ = host_addresses(ctx_, base_, index_);
  } else if (kind_ == Kind::uniform) {
    address_ = host_addresses(ctx_, base_, {isa_.const32(0)});
  }
  kind_ = Kind::address64;
  const Vec64 place = isa_.vec64();
  if (disp_ != 0) {
    Gp delta = cc_.new_gp64();
    cc_.mov(delta, disp_);
    Vec splat = isa_.vec();
    isa_.splat64(splat, delta);
    for (unsigned i = 0; i < 2; ++i) cc_.emit(I::kIdVpaddq, place.part[i], address_.part[i], splat);
    disp_ = 0;
  } else {
    for (unsigned i = 0; i < 2; ++i) isa_.mov(place.part[i], address_.part[i]);
  }
  MaskReg lanes = isa_.mask();
  if (active_.full) {
    isa_.set_mask_const(lanes, ~0u);
  } else {
    isa_.mov_mask(lanes, active_.mask);
  }
  const Label plain = cc_.new_label(), scratch = cc_.new_label(), done = cc_.new_label();
  // Upper halves from one aperture to the other; what lies between them is not in the way.
  static_assert(kPrivateApertureHi == 2 * kSharedApertureHi);
  const Vec high = isa_.vec();
  isa_.hi32(high, place);
  MaskReg in_aperture = isa_.mask(), in_scratch = isa_.mask();
  isa_.cmp32(in_aperture, ICmp::ule, isa_.make(I::kIdVpsubd, high, isa_.c32(kSharedApertureHi)),
             isa_.c32(kPrivateApertureHi - kSharedApertureHi), active_.get());
  cc_.j(x86::negateCond(isa_.test_any({&in_aperture, 1})), plain);
  isa_.cmp32(in_scratch, ICmp::eq, high, isa_.c32(kPrivateApertureHi), active_.get());
  cc_.j(isa_.test_any({&in_scratch, 1}), scratch);
  MaskReg kept = lanes;
  const Vec64 resolved = resolve_lds(ctx_, place, mem_.bytes * mem_.count, kept);
  isa_.mov_mask(lanes, kept);
  for (unsigned i = 0; i < 2; ++i) isa_.mov(place.part[i], resolved.part[i]);
  cc_.bind(plain);
  const Lanes active = active_;
  active_ = {.full = false, .mask = lanes};
  address_ = place;
  if (!serve_lanes()) {
    for (unsigned element = 0; element < mem_.count; ++element)
      slow_element(element, kind_, {}, address_, static_cast<int32_t>(element * mem_.bytes), active_);
  }
  active_ = active;
  cc_.jmp(done);
  cc_.bind(scratch);
  if (mem_.bytes == 4) flat_scratch(in_scratch, done);
  call_for_flat_lanes();
  cc_.bind(done);
}

// Jumps to `done` if all active lanes access aligned dwords of their scratch: a row of memory if they have one address, as
// variables have at -O0, else lane by lane.
void MemoryAccess::flat_scratch(const MaskReg& in_scratch, const Label& done) {
  const Label by_function = cc_.new_label(), apart = cc_.new_label();
  const Vec low = isa_.vec(), first = isa_.vec();
  isa_.lo32(low, address_);
  MaskReg aligned = isa_.mask(), differ = isa_.mask();
  isa_.cmp32(aligned, ICmp::eq, isa_.and_(low, isa_.c32(3)), isa_.const32(0), &in_scratch);
  if (active_.full) {
    cc_.j(x86::negateCond(isa_.test_all({&aligned, 1})), by_function);
  } else {
    MaskReg others = isa_.mask();
    isa_.mask_andn(others, active_.mask, aligned);
    cc_.j(isa_.test_any({&others, 1}), by_function);
  }
  cc_.emit(I::kIdVpbroadcastd, first, low.xmm());
  isa_.cmp32(differ, ICmp::ne, low, first, active_.get());
  cc_.j(isa_.test_any({&differ, 1}), apart);
  const Gp row = cc_.new_gp64();
  isa_.low32(row, low);
  cc_.cmp(row.r32(), kLastScratchByte - 4 * mem_.count);
  cc_.ja(apart);
  cc_.shl(row, 6);
  cc_.add(row, ctx_.wave_field(offsetof(WaveState, scratch_base), 8));
  for (unsigned element = 0; element < mem_.count; ++element) {
    const Mem at = x86::ptr(row, static_cast<int32_t>(element * 4 * kWaveSize + first_lane() * 4));
    if (load_) {
      ctx_.faults.mark(range(true));
      isa_.load(result(element), at, active_.get());
    } else if (active_.full) {
      ctx_.faults.mark(range(true));
      isa_.store(at, data(element), nullptr);
    } else {
      isa_.store_merged(at, data(element), active_.mask, range(true));
    }
  }
  cc_.jmp(done);
  cc_.bind(apart);
  base_ = cc_.new_gp64();
  cc_.mov(base_, ctx_.wave_field(offsetof(WaveState, scratch_base), 8));
  const GatherIndex index{swizzle_scratch(ctx_, low, first_lane())};
  for (unsigned element = 0; element < mem_.count; ++element)
    slow_element(element, Kind::indexed, index, {}, static_cast<int32_t>(element * 4 * kWaveSize), active_);
  cc_.jmp(done);
  cc_.bind(by_function);
}

void MemoryAccess::call_for_flat_lanes() {
  const Mem access = ctx_.scratch_row(ctx_.rows->flat_lanes, sizeof(FlatLanes));
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = access.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  const auto row = [&](unsigned element) {
    return access.cloneAdjusted(offsetof(FlatLanes, values) + element * sizeof(FlatLanes::values[0]));
  };
  if (mem_.count > (mem_.bytes == 4 ? FlatLanes::kMaxCount : 1)) return ctx_.fail(inst_, "elements of a flat access");
  isa_.store_row64(access.cloneAdjusted(offsetof(FlatLanes, addresses)), address_);
  for (unsigned element = 0; !load_ && element < mem_.count; ++element)
    isa_.store(row(element), data(element), nullptr);
  if (active_.full) {
    cc_.mov(field(offsetof(FlatLanes, lanes), 4), all_lanes());
  } else {
    cc_.mov(field(offsetof(FlatLanes, lanes), 4), isa_.mask_bits(active_.mask));
  }
  const Gp pc = cc_.new_gp64();
  cc_.mov(pc, guest_pc_);
  cc_.mov(field(offsetof(FlatLanes, guest_pc), 8), pc);
  cc_.mov(field(offsetof(FlatLanes, wave), 8), ctx_.wave);
  const FlatShape shape{
      .bytes = static_cast<uint8_t>(mem_.bytes),
      .count = static_cast<uint8_t>(mem_.count),
      .first_lane = static_cast<uint8_t>(first_lane()),
      .flags = static_cast<uint8_t>((load_ ? FlatShape::kLoad : 0) | (mem_.sign_extend ? FlatShape::kSignExtend : 0))};
  cc_.mov(field(offsetof(FlatLanes, shape), 4), std::bit_cast<uint32_t>(shape));
  cc_.push(ctx_.address_of(access));
  cc_.emit(I::kIdCall, ctx_.pool.function(flat_stub(isa_.lanes == 16 ? Tier::avx512 : Tier::avx2)));
  for (unsigned element = 0; load_ && element < mem_.count; ++element)
    isa_.load(result(element), row(element), nullptr);
}

// Byte `byte` of element `element`, as an offset in the lane's scratch.
Vec MemoryAccess::scratch_place(unsigned element, unsigned byte) {
  const Vec start =
      scratch_byte_.isValid() ? scratch_byte_ : isa_.const32(static_cast<uint32_t>((disp_ - first_lane() * 4) / 64));
  const unsigned more = element * mem_.bytes + byte;
  return more == 0 ? start : isa_.make(I::kIdVpaddd, start, isa_.c32(more));
}

// Elements of two and four bytes in swizzled scratch, `start` their offsets in the lanes' scratch, aligned or not: the
// bytes of an unaligned one lie in two rows.
void MemoryAccess::slow_scratch_unaligned(unsigned element, const Gp& base, const Vec& start, const Lanes& lanes) {
  if (load_) {
    const Vec aligned = isa_.and_(start, isa_.c32(~3u));
    Vec low = isa_.vec(), high = isa_.vec();
    isa_.gather(low, base, {swizzle_scratch(ctx_, aligned, first_lane())}, 0, lanes.get(), range(false));
    const Vec shift = isa_.shl32(isa_.and_(start, isa_.c32(3)), 3);
    MaskReg second = isa_.mask();  // lanes that reach into the next row
    isa_.cmp32(second, ICmp::ugt, shift, isa_.c32(32 - 8 * mem_.bytes), lanes.get());
    const Vec next = isa_.make(I::kIdVpaddd, aligned, isa_.c32(4));
    isa_.gather(high, base, {swizzle_scratch(ctx_, next, first_lane())}, 0, &second, range(false));
    const Vec down = isa_.make(I::kIdVpsrlvd, low, shift);
    const Vec up = isa_.make(I::kIdVpsllvd, high, isa_.make(I::kIdVpsubd, isa_.const32(32), shift));
    Vec whole = isa_.or_(down, up);  // shifts by 32 give 0
    if (mem_.bytes == 2) {
      whole = isa_.shl32(whole, 16);
      whole = mem_.sign_extend ? isa_.sar32(whole, 16) : isa_.shr32(whole, 16);
    }
    isa_.mov(result(element), whole);
    return;
  }
  store_scratch_bytes(data(element), base, start, lanes);
}

// Emits a loop over the lanes around a loop over the bytes. Unaligned stores are rare, but most accesses need code for them.
void MemoryAccess::store_scratch_bytes(const Vec& v, const Gp& base, const Vec& start, const Lanes& lanes) {
  const Mem starts = ctx_.scratch_row(ctx_.rows->addresses, 2 * isa_.bytes()),
            values = ctx_.scratch_row(ctx_.rows->results, 2 * isa_.bytes());
  isa_.store(starts, start, nullptr);
  isa_.store(values, v, nullptr);
  const Gp first_start = ctx_.address_of(starts), first_value = ctx_.address_of(values), last = cc_.new_gp32();
  cc_.mov(last, kLastScratchByte);
  for_each_lane(ctx_, lanes.get(), first_lane(), [&](const Gp& lane) {
    const Gp place = cc_.new_gp32(), value = cc_.new_gp32(), left = cc_.new_gp32(), at = cc_.new_gp64(),
             rest = cc_.new_gp32(), column = cc_.new_gp64();
    const Label next = cc_.new_label();
    cc_.mov(place, x86::dword_ptr(first_start, lane, 2));
    cc_.mov(value, x86::dword_ptr(first_value, lane, 2));
    cc_.lea(column, x86::ptr(base, lane, 2, static_cast<int32_t>(first_lane() * 4)));
    cc_.mov(left, mem_.bytes);
    cc_.bind(next);
    cc_.mov(at.r32(), place);
    cc_.cmp(at.r32(), last);
    cc_.cmova(at.r32(), last);
    cc_.mov(rest, at.r32());
    cc_.and_(rest, 3);
    cc_.shr(at.r32(), 2);
    cc_.shl(at.r32(), 8);
    cc_.add(at.r32(), rest);
    ctx_.faults.mark({.guest_pc = guest_pc_,
                      .first_lane = static_cast<uint8_t>(first_lane()),
                      .lanes = static_cast<uint8_t>(isa_.lanes),
                      .element_bytes = 1,
                      .write = true,
                      .lane_in_state = true});
    cc_.mov(x86::byte_ptr(column, at), value.r8());
    cc_.shr(value, 8);
    cc_.add(place, 1);
    cc_.sub(left, 1);
    cc_.jnz(next);
  });
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
