// Vector loads and stores: choice of path and the hot paths. The cold path is in memory_slow.cpp.
#include "backend-x86/lower/memory/memory.h"

#include "backend-x86/helpers/flat_lanes.h"
#include "backend-x86/lower/memory/lane_address_code.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/prefetch.h"
#include "backend-x86/lower/plans/walks.h"
#include "backend-x86/lower/plans/wide_accesses.h"
#include "backend-x86/lower/rolled_segment.h"
#include "backend-x86/lower/segment_values.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using ir::AddressForm;
using ir::ICmp;
using ir::Op;
using ir::Space;
using x86::CondCode;

MemoryAccess::MemoryAccess(Lowering& ctx, const ir::Inst& inst, unsigned chunk)
    : ctx_(ctx),
      isa_(*ctx.isa),
      cc_(ctx.cc),
      inst_(inst),
      mem_(inst.mem),
      chunk_(chunk),
      load_(inst.op == Op::load || inst.op == Op::load_edges),
      guest_pc_(inst.guest_pc),
      wide_(ctx.wide->values[inst.id]) {
  lane_stride_ = mem_.bytes * mem_.count;
  element_stride_ = mem_.bytes;
}

Vec MemoryAccess::data(unsigned element) {
  if (!wide_.any()) return ctx_.v32(inst_.operands[first_data_ + element], chunk_);
  const Vec64 whole = ctx_.v64(wide_.pairs[0], chunk_);
  const Vec half = isa_.vec();
  element == 0 ? isa_.lo32(half, whole) : isa_.hi32(half, whole);
  return half;
}

Vec MemoryAccess::result(unsigned element) {
  if (!wide_.any()) return ctx_.dst(inst_, chunk_, element);
  if (!halves_[element]) halves_[element] = isa_.vec();
  return *halves_[element];
}

// Behind a path that has loaded the halves.
void MemoryAccess::finish_wide() {
  for (unsigned i = 0; load_ && wide_.any() && i < mem_.count; i += 2) {
    const Vec64 pair = ctx_.dst64(*wide_.pairs[i / 2], chunk_);
    WAVEJIT_CHECK(pair.part[0].id() != pair.part[1].id(), "one register for both halves of %{}, whose lanes may differ",
                  wide_.pairs[i / 2]->id);
    isa_.pack64(pair, result(i), result(i + 1));
  }
}

void MemoryAccess::add_immediate(int64_t imm_value) {
  disp_ = imm_value;
  const int64_t last = disp_ + int64_t{mem_.count} * 256 + 1024;
  if (disp_ == static_cast<int32_t>(disp_) && last == static_cast<int32_t>(last)) return;
  // Too far for a displacement.
  disp_ = 0;
  Gp t = cc_.new_gp64();
  cc_.mov(t, imm_value);
  if (kind_ == Kind::address64) {
    Vec splat = isa_.vec();
    isa_.splat64(splat, t);
    // Not as one braced assignment: gcc 12 builds the new parts in place, on top of the operands.
    const Vec low = isa_.make(I::kIdVpaddq, address_.part[0], splat),
              high = isa_.make(I::kIdVpaddq, address_.part[1], splat);
    address_ = {{low, high}};
  } else {
    cc_.add(t, base_);
    base_ = t;
  }
}

void MemoryAccess::exclude(const MaskReg& lanes) {
  if (excluded_.full) {
    excluded_ = {.full = false, .mask = lanes};
  } else {
    excluded_.mask = either(ctx_, excluded_.mask, lanes);
  }
}

void MemoryAccess::to_slow_if(CondCode condition) {
  slow_used_ = true;
  cc_.j(condition, slow_label_);
}

// base + zero-extended offset that all lanes of the chunk share; computed once in a segment. Null base: the LDS.
Gp MemoryAccess::uniform_pointer(const ir::Inst* base, const ir::Inst* offset) {
  const unsigned chunk = ctx_.is_uniform(offset) ? 0 : chunk_;
  const auto [entry, inserted] = ctx_.reused->uniform_pointers.try_emplace({base, offset, chunk});
  Gp& pointer = entry->second;
  if (!inserted && ctx_.on(Optimisation::segment_reuse)) return pointer;
  pointer = cc_.new_gp64();
  if (offset->is_const()) {
    cc_.mov(pointer.r32(), static_cast<uint32_t>(offset->imm));
  } else if (offset->op == Op::splat && !ctx_.classes.is_shared(offset->operands[0])) {
    cc_.emit(I::kIdMov, pointer.r32(), ctx_.gp_operand(offset->operands[0]));
  } else {
    isa_.low32(pointer, ctx_.v32(offset, chunk_));
  }
  if (base != nullptr) {
    cc_.add(pointer, ctx_.gp(base));
  } else {
    cc_.add(pointer, ctx_.wave_field(offsetof(WaveState, lds_base), 8));
  }
  return pointer;
}

// The chunk's lanes of the mask if it is a constant.
std::optional<uint32_t> MemoryAccess::fixed_lanes() const {
  const ir::Inst* mask = inst_.operands[0];
  if (!mask->is_const()) return std::nullopt;
  return static_cast<uint32_t>(mask->imm >> first_lane()) & all_lanes();
}

// How many lanes a constant mask has, if they are the chunk's first ones and a shorter vector register holds them; 0
// otherwise.
unsigned MemoryAccess::first_lanes() const {
  const std::optional<uint32_t> lanes = fixed_lanes();
  if (!lanes || !ctx_.on(Optimisation::idle_chunks)) return 0;
  for (unsigned count = 1; count < isa_.lanes; count *= 2)
    if (*lanes == (1u << count) - 1) return count;
  return 0;
}

void MemoryAccess::make_mask() {
  if (!active_.full) active_.mask = ctx_.mask(inst_.operands[0], chunk_);
}

void MemoryAccess::prepare() {
  const auto operand = [&](unsigned i) { return inst_.operands[i]; };
  active_.full = fixed_lanes() == all_lanes();
  if (first_lanes() == 0 || !ctx_.lane_addresses.serves(inst_)) make_mask();
  slow_label_ = cc_.new_label();
  join_ = cc_.new_label();
  if (ctx_.rolled != nullptr) {
    first_data_ = 2;
    const auto [pointer, offset] = rolled_pointer(ctx_, inst_);
    base_ = pointer;
    known_stride_ = chunk_stride(ctx_, inst_);
    kind_ = *known_stride_ == 0 ? Kind::uniform : Kind::strided;
    return add_immediate(mem_.imm + offset);
  }
  if (ctx_.lane_addresses.serves(inst_)) return prepare_served();
  advance_distance(ctx_, inst_);  // in front of all branches, as other chunks use it, too
  auto immediate = static_cast<uint64_t>(mem_.imm);
  const auto use_offset = [&](const ir::Inst* base, const ir::Inst* offset) {
    const ir::LaneShape shape = known_shape(offset);
    if (shape.stride == 0 && shape.group >= isa_.lanes) {
      kind_ = Kind::uniform;
      base_ = uniform_pointer(base, offset);
      return;
    }
    kind_ = Kind::indexed;
    if (shape.group >= isa_.lanes) {
      known_stride_ = shape.stride;
      known_wrap_free_ = ctx_.shapes.extended(offset, false).group >= isa_.lanes;
    }
    if (base != nullptr) {
      base_ = ctx_.gp(base);
    } else {
      base_ = cc_.new_gp64();
      cc_.mov(base_, ctx_.wave_field(offsetof(WaveState, lds_base), 8));
    }
    index_ = {ctx_.v32(offset, chunk_)};
  };
  switch (mem_.form) {
    case AddressForm::base_only:
      base_ = ctx_.gp(operand(1));
      first_data_ = 2;
      break;
    case AddressForm::base_offset:
      first_data_ = 3;
      use_offset(operand(1), operand(2));
      break;
    case AddressForm::vector64:
      if (const IndexedAddress* indexed = ctx_.indexed_addresses.of(inst_)) {
        first_data_ = 2;
        kind_ = Kind::indexed;
        base_ = ctx_.gp(indexed->base);
        index_ = {ctx_.v32(indexed->index, chunk_), indexed->is_signed, indexed->shift};
        immediate += static_cast<uint64_t>(indexed->disp);
        break;
      }
      kind_ = Kind::address64;
      address_ = ctx_.v64(operand(1), chunk_);
      if (const ir::LaneShape shape = known_shape(operand(1)); shape.group >= isa_.lanes) {
        known_stride_ = shape.stride;
        if (shape.stride == 0 && mem_.space != Space::flat) {
          kind_ = Kind::uniform;
          base_ = cc_.new_gp64();
          isa_.low64(base_, address_.part[0]);
        }
      }
      first_data_ = 2;
      break;
    case AddressForm::lds_offset:
      // Lanes beyond the end of the LDS are not in the mask; the memory behind it is not accessible.
      first_data_ = 2;
      use_offset(nullptr, operand(1));
      break;
    case AddressForm::scratch_off:
    case AddressForm::scratch_base:
      prepare_scratch();
      return;
  }
  add_immediate(static_cast<int64_t>(immediate));
}

// The address of the chunk's first lane is a number.
void MemoryAccess::prepare_served() {
  served_ = true;
  // In front of all branches, as other chunks use them, too.
  stream_distance(ctx_, inst_);
  advance_distance(ctx_, inst_);
  const ir::Inst* value = lane_operand(inst_);
  const LaneAddress& fact = ctx_.lane_addresses.of(value);
  std::vector<const ir::Inst*> clamps, extensions;
  for (const ir::Inst* guard : fact.guards) (is_clamp(guard->op) ? clamps : extensions).push_back(guard);
  const int64_t advance = fact.wave ? fact.stride * first_lane() : 0;
  if (mem_.form == AddressForm::vector64) {
    first_data_ = 2;
    base_ = lane_base(ctx_, value, chunk_, fact.wave).as<Gp>();
  } else {
    const ir::Inst* base = mem_.form == AddressForm::base_offset ? inst_.operands[1] : nullptr;
    first_data_ = base != nullptr ? 3 : 2;
    if (fact.stride != 0 && ctx_.shapes.extended(value, false).group < (fact.wave ? kWaveSize : isa_.lanes))
      extensions.push_back(value);
    const auto [entry, inserted] = ctx_.reused->uniform_pointers.try_emplace({base, value, fact.wave ? 0 : chunk_});
    if (inserted || !ctx_.on(Optimisation::segment_reuse)) {
      entry->second = cc_.new_gp64();
      cc_.mov(entry->second.r32(), lane_base(ctx_, value, chunk_, fact.wave).as<Gp>());
      if (base != nullptr) {
        cc_.add(entry->second, ctx_.gp(base));
      } else {
        cc_.add(entry->second, ctx_.wave_field(offsetof(WaveState, lds_base), 8));
      }
    }
    base_ = entry->second;
  }
  known_stride_ = fact.stride;
  kind_ = fact.stride == 0 ? Kind::uniform : Kind::strided;
  add_immediate(mem_.imm + advance);
  // The cold path may need a mask, which is to be there before the branches to it.
  const bool guarded = !clamps.empty() || !extensions.empty();
  if (guarded && !active_.mask.isValid()) make_mask();
  if (!clamps.empty()) {
    const Gp failed = clamp_test(ctx_, clamps, chunk_);
    cc_.test(failed, failed);
    to_slow_if(CondCode::kS);
  }
  for (const ir::Inst* guard : extensions) to_slow_if(test_guard(ctx_, guard, chunk_));
}

// For the cold path: the addresses as a vector.
void MemoryAccess::unserve() {
  const ir::Inst* value = lane_operand(inst_);
  if (mem_.form == AddressForm::vector64) {
    kind_ = Kind::address64;
    address_ = lane_vector64(ctx_, value, chunk_);
  } else {
    kind_ = Kind::indexed;
    index_ = {lane_vector32(ctx_, value, chunk_)};
    if (mem_.form == AddressForm::base_offset) {
      base_ = ctx_.gp(inst_.operands[1]);
    } else {
      base_ = cc_.new_gp64();
      cc_.mov(base_, ctx_.wave_field(offsetof(WaveState, lds_base), 8));
    }
  }
  add_immediate(mem_.imm);
}

// Byte b of a lane is at base + (b / 4) * 256 + lane * 4 + b % 4.
void MemoryAccess::prepare_scratch() {
  scratch_swizzled_ = true;
  lane_stride_ = 4;
  element_stride_ = mem_.bytes == 4 ? 256 : mem_.bytes;
  base_ = ctx_.gp(inst_.operands[1]);
  const bool has_offset = mem_.form == AddressForm::scratch_off;
  first_data_ = has_offset ? 3 : 2;
  const bool constant = !has_offset || inst_.operands[2]->is_const();
  if (constant) {
    const int64_t byte = mem_.imm + (has_offset ? static_cast<int64_t>(inst_.operands[2]->imm) : 0);
    if (mem_.bytes == 4 && mem_.count <= 16 && byte % 4 == 0 && byte >= 0 && byte < (1 << 22)) {
      kind_ = Kind::uniform;
      disp_ = byte / 4 * 256 + int64_t{first_lane()} * 4;
      return;
    }
    scratch_byte_ = isa_.const32(static_cast<uint32_t>(byte));
  } else {
    scratch_byte_ = ctx_.v32(inst_.operands[2], chunk_);
    if (mem_.imm != 0)
      scratch_byte_ = isa_.make(I::kIdVpaddd, scratch_byte_, isa_.c32(static_cast<uint32_t>(mem_.imm)));
  }
  kind_ = Kind::indexed;
  index_ = {swizzle_scratch(ctx_, scratch_byte_, first_lane())};
  if (mem_.bytes == 4) {
    const Vec misaligned = isa_.and_(scratch_byte_, isa_.c32(3));
    MaskReg bad = isa_.mask();
    isa_.cmp32(bad, ICmp::ne, misaligned, isa_.const32(0), active_.get());
    exclude(bad);
  }
}

// Offset of each lane's byte in the wave's swizzled scratch; offsets too large for 32 bits end up far beyond it.
Vec swizzle_scratch(Lowering& ctx, const Vec& byte, unsigned first_lane) {
  const Vec b = ctx.isa->make(I::kIdVpminud, byte, ctx.isa->c32(kLastScratchByte));
  const Vec rows = ctx.isa->shl32(ctx.isa->shr32(b, 2), 8);
  const Vec rest = ctx.isa->and_(b, ctx.isa->c32(3));
  return ctx.isa->make(I::kIdVpaddd, ctx.isa->make(I::kIdVpaddd, rows, rest), ctx.isa->lane_table(first_lane * 4, 4));
}

FaultRange MemoryAccess::range(bool contiguous, unsigned first) const {
  return {.guest_pc = inst_.guest_pc,
          .first_lane = static_cast<uint8_t>(first_lane() + first),
          .lanes = static_cast<uint8_t>(isa_.lanes - first),
          .element_bytes = static_cast<uint8_t>(lane_stride_),
          .contiguous = contiguous,
          .write = !load_};
}

// Jumps to the cold path unless the active lanes' addresses are consecutive; the address of lane 0 of the chunk.
Gp MemoryAccess::find_contiguous() {
  Gp pointer = cc_.new_gp64();
  if (kind_ == Kind::indexed) {
    const Vec& index = index_.index;
    const uint32_t step = lane_stride_ >> index_.shift;
    isa_.low32(pointer, index);
    if (is_lds_offset()) {
      extend_lds_offset(pointer);
    } else if (!known_wrap_free_) {
      // Extended indices must not wrap inside the chunk.
      const uint32_t end = index_.is_signed ? 0x80000000u : 0;
      cc_.cmp(pointer.r32(), static_cast<int32_t>(end - isa_.lanes * step));
      to_slow_if(index_.is_signed ? CondCode::kG : CondCode::kA);
    }
    if (known_stride_ != lane_stride_) {
      Vec first = isa_.vec();
      cc_.emit(I::kIdVpbroadcastd, first, index.xmm());
      const Vec relative = isa_.make(I::kIdVpsubd, index, first);
      MaskReg differs = isa_.mask();
      isa_.cmp32(differs, ICmp::ne, relative, isa_.lane_table(0, step), active_.get());
      exclude(differs);
    }
    index_to_pointer(pointer);
  } else {
    isa_.low64(pointer, address_.part[0]);
    if (known_stride_ == lane_stride_) {
      if (mem_.space == Space::flat) check_aperture(pointer);
      return pointer;
    }
    Vec first = isa_.vec();
    cc_.emit(I::kIdVpbroadcastq, first, address_.part[0].xmm());
    Mask64 halves;
    for (unsigned i = 0; i < 2; ++i) {
      const Vec relative = isa_.make(I::kIdVpsubq, address_.part[i], first);
      halves.part[i] = isa_.cmp64_half(ICmp::ne, relative, isa_.lane_table64(i, lane_stride_));
    }
    MaskReg differs = isa_.mask();
    isa_.join(differs, halves);
    if (!active_.full) differs = both(ctx_, differs, active_.mask);
    exclude(differs);
  }
  if (!excluded_.full) to_slow_if(isa_.test_any({&excluded_.mask, 1}));
  if (mem_.space == Space::flat) check_aperture(pointer);
  return pointer;
}

Gp MemoryAccess::strided_pointer() {
  if (mem_.space == Space::flat) check_aperture(base_);
  return base_;
}

// Active lanes are inside of the LDS. A lane that is off may have an offset from which the others' are reached by wrapping around:
// as a signed number it is as far from the LDS as they say.
void MemoryAccess::extend_lds_offset(const Gp& offset) {
  if (!known_wrap_free_) cc_.movsxd(offset, offset.r32());
}

// From the index of a lane, in the low half of the register, to its address.
void MemoryAccess::index_to_pointer(const Gp& index) {
  if (index_.is_signed) cc_.movsxd(index, index.r32());
  if (index_.shift == 0) {
    cc_.add(index, base_);
  } else {
    cc_.lea(index, x86::ptr(base_, index, index_.shift));
  }
}

// The address of the chunk's first lane, where the distance of the others is known.
Gp MemoryAccess::first_lane_pointer() {
  if (kind_ == Kind::strided) return strided_pointer();
  Gp pointer = cc_.new_gp64();
  if (kind_ == Kind::indexed) {
    isa_.low32(pointer, index_.index);
    if (is_lds_offset()) {
      extend_lds_offset(pointer);
    } else if (!known_wrap_free_) {
      // The index must not wrap on the way to the last lane.
      const auto last = static_cast<int32_t>(*known_stride_ * (isa_.lanes - 1));
      cc_.cmp(pointer.r32(), last > 0 ? ~last : -last);
      to_slow_if(last > 0 ? CondCode::kA : CondCode::kB);
    }
    index_to_pointer(pointer);
  } else {
    isa_.low64(pointer, address_.part[0]);
  }
  if (mem_.space == Space::flat) check_aperture(pointer);
  return pointer;
}

void MemoryAccess::check_aperture(const Gp& pointer) {
  static_assert(kPrivateApertureHi == 2 * kSharedApertureHi);
  // Upper halves from one aperture to the other; the cold path looks closer.
  Gp high = cc_.new_gp64();
  if (disp_ != 0) {
    cc_.lea(high, x86::ptr(pointer, static_cast<int32_t>(disp_)));
  } else {
    cc_.mov(high, pointer);
  }
  cc_.shr(high, 32);
  cc_.sub(high.r32(), kSharedApertureHi);
  cc_.cmp(high.r32(), kPrivateApertureHi - kSharedApertureHi);
  to_slow_if(CondCode::kBE);
}

void MemoryAccess::require_full_mask() {
  if (!active_.full) to_slow_if(x86::negateCond(isa_.test_all({&active_.mask, 1})));
}

// Two dwords for all lanes, in one access to memory.
void MemoryAccess::broadcast_pair(unsigned element, Mem at, const FaultRange& range) {
  const Gp pair = cc_.new_gp64();
  at.setSize(8);
  ctx_.faults.mark(range);
  cc_.mov(pair, at);
  for (unsigned i = 0; i < 2; ++i) {
    const Vec all = isa_.vec();
    isa_.splat32(all, pair.r32());
    set_loaded(element + i, all, active_);
    if (i == 0) cc_.shr(pair, 32);
  }
}

void MemoryAccess::uniform_load() {
  const auto at = [&](unsigned element) {
    return x86::ptr(base_, static_cast<int32_t>(disp_ + element * element_stride_));
  };
  if (mem_.space == Space::flat) check_aperture(base_);
  FaultRange whole = range(false);
  whole.lanes = 1;
  whole.lane_in_state = false;
  const bool narrow = mem_.bytes < 4;
  if (!active_.full && !fixed_lanes() && (narrow || needs_whole_pairs() || !isa_.has_masked_narrow()))
    to_slow_if(x86::negateCond(isa_.test_any({&active_.mask, 1})));
  if (wide_.any() && active_.full) {
    for (unsigned pair = 0; pair < mem_.count / 2; ++pair) {
      // In the cold path lanes may have addresses, or scratch, of their own.
      const Vec64 value =
          slow_used_ ? ctx_.dst64(*wide_.pairs[pair], chunk_) : ctx_.alike64(*wide_.pairs[pair], chunk_);
      for (unsigned part = 0; part < (value.part[0] == value.part[1] ? 1U : 2U); ++part) {
        ctx_.faults.mark(whole);
        isa_.load_broadcast64(value.part[part], at(2 * pair));
      }
    }
    return;
  }
  for (unsigned element = 0; element < mem_.count; ++element) {
    if (element + 1 < mem_.count && needs_whole_pairs()) {
      broadcast_pair(element, at(element), whole);
      ++element;
    } else if (narrow) {
      Gp t = cc_.new_gp32();
      Mem m = at(element);
      m.setSize(mem_.bytes);
      ctx_.faults.mark(whole);
      if (mem_.sign_extend) {
        cc_.movsx(t, m);
      } else {
        cc_.movzx(t, m);
      }
      Vec all = isa_.vec();
      isa_.splat32(all, t);
      if (active_.full) {
        isa_.mov(result(element), all);
      } else {
        isa_.zero_unless(result(element), active_.mask, all);
      }
    } else {
      ctx_.faults.mark(whole);
      isa_.load_broadcast(result(element), at(element), active_.get());
    }
  }
  finish_wide();
}

// What the next iteration of the loop accesses, or the next work-group.
void MemoryAccess::prefetch_next(const Gp& pointer) {
  const auto bytes = static_cast<int32_t>(isa_.lanes * lane_stride_);
  if (chunk_ * isa_.lanes * lane_stride_ % 64 != 0) return;  // in the line of the chunk before
  const auto disp = static_cast<int32_t>(disp_);
  std::optional<Mem> next;
  if (const Operand distance = next_group(); distance.isImm()) {
    next = x86::ptr(pointer, disp + distance.as<asmjit::Imm>().valueAs<int32_t>());
  } else if (distance.isReg()) {
    next = x86::ptr(pointer, distance.as<Gp>(), 0, disp);
  } else if (const Gp step = stream_distance(ctx_, inst_); step.isValid()) {
    next = x86::ptr(pointer, step, 0, disp);
  }
  for (int32_t line = 0; next && line < bytes; line += 64) prefetch(next->cloneAdjusted(line));
}

// From here to what the next work-group accesses; none where that is not known, or no displacement.
Operand MemoryAccess::next_group() const {
  constexpr int64_t kFar = 1 << 30;
  return disp_ < kFar && disp_ > -kFar ? advance_distance(ctx_, inst_) : Operand();
}

// Lines that are to be written are taken away from other caches at once. Processors without the instruction, which are
// older than AVX-512, do nothing.
void MemoryAccess::prefetch(const Mem& at) {
  load_ ? cc_.prefetcht0(at) : cc_.prefetchw(at);
}

void MemoryAccess::contiguous(const Gp& pointer) {
  if (lane_stride_ != element_stride_ && !scratch_swizzled_) return contiguous_interleaved(pointer);
  // The rows of scratch that active lanes access are there for lanes that are off, too, and nobody else's. Without an active
  // lane there is no such row: the offset is whatever the registers hold.
  const bool merges = scratch_swizzled_ && (isa_.has_masked_narrow() || ctx_.on(Optimisation::merged_scratch));
  const auto access = [&](const MaskReg* lanes) {
    if (mem_.bytes < 4) return contiguous_narrow(pointer, lanes);
    for (unsigned i = 0; i < mem_.count; ++i) {
      const Mem at = x86::ptr(pointer, static_cast<int32_t>(disp_ + i * element_stride_));
      const unsigned first = lanes != nullptr && !merges ? first_lanes() : 0;
      if (load_) {
        ctx_.faults.mark(range(true));
        first != 0 ? isa_.load_first(result(i), at, first) : isa_.load(result(i), at, lanes);
      } else {
        const Vec v = data(i);
        if (first != 0) {
          ctx_.faults.mark(range(true));
          isa_.store_first(at, v, first);
          continue;
        }
        if (merges && lanes != nullptr) {
          isa_.store_merged(at, v, *lanes, range(true));
          continue;
        }
        ctx_.faults.mark(range(true));
        lanes != nullptr ? isa_.store(at, v, lanes) : store_all_lanes(at, v);
      }
    }
  };
  const auto access_all = [&] { all_lanes(pointer, [&] { access(nullptr); }); };
  if (active_.full) return access_all();
  if (mem_.bytes < 4 && !isa_.has_masked_narrow()) {
    if (is_shared() && !slow_used_) {
      const Label masked = cc_.new_label();
      cc_.j(x86::negateCond(isa_.test_all({&active_.mask, 1})), masked);
      access(nullptr);
      return shared_contiguous(pointer, masked);
    }
    require_full_mask();
    return access(nullptr);
  }
  if (merges && !load_ && !isa_.has_masked_narrow() && !fixed_lanes()) {
    const Label done = cc_.new_label();
    cc_.j(x86::negateCond(isa_.test_any({&active_.mask, 1})), done);
    access(active_.get());
    cc_.bind(done);
    return;
  }
  if ((scratch_swizzled_ && load_) || merges || fixed_lanes()) return access(active_.get());
  // The plain access when all lanes are on; the masked one is out of line.
  const Label masked = cc_.new_label(), done = cc_.new_label();
  cc_.j(x86::negateCond(isa_.test_all({&active_.mask, 1})), masked);
  access_all();
  cc_.bind(done);
  ctx_.cold([&] {
    cc_.bind(masked);
    if (!scratch_swizzled_) skip_without_lanes(done);
    access(active_.get());
    cc_.jmp(done);
  });
}

void MemoryAccess::zero_results() {
  if (load_ && wide_.any()) {
    for (const ir::Inst* whole : std::span(wide_.pairs).first(mem_.count / 2))
      for (const Vec& part : ctx_.dst64(*whole, chunk_).part) isa_.set_const32(part, 0);
    return;
  }
  for (unsigned element = 0; load_ && element < mem_.count; ++element) isa_.set_const32(result(element), 0);
}

// A masked access to memory that is not there takes the processor hundreds of cycles even if no lane is on, as behind
// the end of an array.
void MemoryAccess::skip_without_lanes(const Label& done) {
  const Label some = cc_.new_label();
  cc_.j(isa_.test_any({&active_.mask, 1}), some);
  zero_results();
  cc_.jmp(done);
  cc_.bind(some);
}

void MemoryAccess::contiguous_interleaved(const Gp& pointer) {
  const auto access_all = [&] { all_lanes(pointer, [&] { interleaved(pointer, {}); }); };
  if (active_.full) return access_all();
  const auto masked_access = [&] {
    std::vector<MaskReg> masks(mem_.count);
    for (MaskReg& m : masks) m = isa_.mask();
    isa_.repeat_mask(active_.mask, masks);
    interleaved(pointer, masks);
  };
  if (fixed_lanes()) return masked_access();
  const bool shared = is_shared() && !wide_.any();
  if (shared && slow_used_ && !(load_ && mem_.count == 2)) {
    // The same function would do it, lane by lane.
    require_full_mask();
    return interleaved(pointer, {});
  }
  const Label masked = cc_.new_label(), done = cc_.new_label();
  cc_.j(x86::negateCond(isa_.test_all({&active_.mask, 1})), masked);
  access_all();
  if (shared) return shared_contiguous(pointer, masked);
  cc_.bind(done);
  ctx_.cold([&] {
    cc_.bind(masked);
    skip_without_lanes(done);
    masked_access();
    cc_.jmp(done);
  });
}

// The elements of all lanes lie one after the other. `masks`: of the registers that hold them in this order; none: all
// are accessed.
void MemoryAccess::interleaved(const Gp& pointer, std::span<const MaskReg> masks) {
  if (wide_.any()) return mem_.count == 2 ? whole_pairs(pointer, masks) : two_whole_pairs(pointer, masks);
  const unsigned n = mem_.count;
  std::vector<Vec> memory(n), lanes(n);
  for (unsigned i = 0; i < n; ++i) {
    memory[i] = isa_.vec();
    lanes[i] = load_ ? result(i) : data(i);
  }
  const auto at = [&](unsigned i) { return x86::ptr(pointer, static_cast<int32_t>(disp_ + i * isa_.bytes())); };
  const auto mask = [&](unsigned i) { return masks.empty() ? nullptr : &masks[i]; };
  if (load_ && n == 4 && masks.empty() && mem_.space == Space::lds && isa_.load_quads(at(0), lanes)) return;
  if (load_) {
    for (unsigned i = 0; i < n; ++i) {
      mark_interleaved(i);
      isa_.load(memory[i], at(i), mask(i));
    }
    isa_.deinterleave(memory, lanes);
  } else {
    isa_.interleave(lanes, memory);
    for (unsigned i = 0; i < n; ++i) {
      mark_interleaved(i);
      masks.empty() ? store_all_lanes(at(i), memory[i]) : isa_.store(at(i), memory[i], mask(i));
    }
  }
}

// The next instruction accesses the i-th of the registers that hold the elements in the order of memory.
void MemoryAccess::mark_interleaved(unsigned i) {
  const unsigned n = mem_.count;
  FaultRange part = range(true, i * isa_.lanes / n);
  part.lane_elements = static_cast<uint8_t>(n);
  part.skipped_elements = static_cast<uint8_t>(i * isa_.lanes % n);
  ctx_.faults.mark(part);
}

// The same for 64-bit values: memory has them as registers do, but for the order of the lanes.
void MemoryAccess::whole_pairs(const Gp& pointer, std::span<const MaskReg> masks) {
  const bool ordered = isa_.lane_of64(1, 0) == isa_.lanes / 2;
  const Vec64 value = load_ ? ctx_.dst64(*wide_.pairs[0], chunk_) : ctx_.v64(wide_.pairs[0], chunk_);
  Vec64 memory = value;
  if (!ordered) memory = isa_.vec64();
  if (!ordered && !load_) isa_.swap_row64(memory, value);
  for (unsigned i = 0; i < 2; ++i) {
    const Mem at = x86::ptr(pointer, static_cast<int32_t>(disp_ + i * isa_.bytes()));
    const MaskReg* mask = masks.empty() ? nullptr : &masks[i];
    mark_interleaved(i);
    if (load_) {
      isa_.load(memory.part[i], at, mask);
    } else {
      masks.empty() ? store_all_lanes(at, memory.part[i]) : isa_.store(at, memory.part[i], mask);
    }
  }
  if (!ordered && load_) isa_.swap_row64(value, memory);
}

// Loads of two 64-bit values a lane.
void MemoryAccess::two_whole_pairs(const Gp& pointer, std::span<const MaskReg> masks) {
  const std::array<Vec64, 2> values = {ctx_.dst64(*wide_.pairs[0], chunk_), ctx_.dst64(*wide_.pairs[1], chunk_)};
  const auto at = [&](unsigned i) { return x86::ptr(pointer, static_cast<int32_t>(disp_ + i * isa_.bytes())); };
  if (masks.empty() && mem_.space == Space::lds && isa_.load_pairs64(at(0), values)) return;
  std::array<Vec, 4> memory;
  for (unsigned i = 0; i < memory.size(); ++i) {
    memory[i] = isa_.vec();
    mark_interleaved(i);
    isa_.load(memory[i], at(i), masks.empty() ? nullptr : &masks[i]);
  }
  take_apart(memory);
}

// The results of a load of two or four dwords a lane, from registers that hold them in the order of memory.
void MemoryAccess::take_apart(std::span<const Vec> memory) {
  if (!wide_.any()) {
    std::vector<Vec> results;
    results.reserve(mem_.count);
    for (unsigned element = 0; element < mem_.count; ++element) results.push_back(result(element));
    return isa_.deinterleave(memory, results);
  }
  if (mem_.count == 2) return isa_.swap_row64(ctx_.dst64(*wide_.pairs[0], chunk_), {memory[0], memory[1]});
  for (unsigned pair = 0; pair < 2; ++pair) {
    const Vec64 value = ctx_.dst64(*wide_.pairs[pair], chunk_);
    for (unsigned part = 0; part < 2; ++part)
      shuffle_whole(value.part[part], part, memory, [&](unsigned lane) { return 4 * lane + 2 * pair; });
  }
}

// A part of a 64-bit value from the dwords of registers: first_dword(lane) is the place of a lane's lower half.
void MemoryAccess::shuffle_whole(const Vec& to, unsigned part, std::span<const Vec> memory,
                                 const std::function<unsigned(unsigned lane)>& first_dword) {
  std::array<uint8_t, 16> from{};
  for (unsigned i = 0; i < isa_.lanes; ++i)
    from[i] = static_cast<uint8_t>(first_dword(isa_.lane_of64(part, i / 2)) + i % 2);
  isa_.shuffle(to, memory, from);
}

void MemoryAccess::contiguous_narrow(const Gp& pointer, const MaskReg* lanes) {
  const Mem at = x86::ptr(pointer, static_cast<int32_t>(disp_));
  if (load_) {
    ctx_.faults.mark(range(true));
    isa_.load_narrow(result(0), at, mem_.bytes, mem_.sign_extend, lanes);
  } else {
    const Vec v = data(0);
    ctx_.faults.mark(range(true));
    isa_.store_narrow(at, v, mem_.bytes, lanes);
  }
}

// Indices that lanes have found one by one are hardly those of neighbours. Of others a profile may tell.
bool MemoryAccess::in_disorder() const {
  const ir::Profile& profile = ctx_.function.profile;
  if (const auto known = profile.find(guest_pc_); known != profile.end() && is_scattered(known->second)) return true;
  if (!load_ || mem_.count != 1 || mem_.bytes != 4) return false;
  const ir::Inst* address = lane_operand(inst_);
  return address != nullptr && is_found_on_a_walk(*ctx_.walks, address);
}

void MemoryAccess::emit() {
  if (fixed_lanes() == 0u) return zero_results();
  prepare();
  // A shorter register needs no mask.
  const bool is_row = known_stride_ == 4 && mem_.bytes == 4 && mem_.space != Space::flat && !slow_used_;
  if (!active_.full && !active_.mask.isValid() && !(is_row && (load_ || mem_.count == 1))) make_mask();
  if (are_joined_bytes()) return joined_bytes();
  if (const auto found = ctx_.rows->walks.find(inst_.id); found != ctx_.rows->walks.end() && kind_ == Kind::address64)
    return walk(found->second.rows[chunk_ - ctx_.first_chunk()], found->second.cursors[chunk_ - ctx_.first_chunk()]);
  // Neighbouring lanes share dwords: each element is a vector of its own.
  if (load_ && !wide_.any() && mem_.bytes == 4 && known_stride_ == 4) lane_stride_ = 4;
  if (permuted()) return join_cold_path(false);
  // No vector form for what the whole chunk accesses: straight to the general path.
  const bool interleaves =
      lane_stride_ == element_stride_ || scratch_swizzled_ ||
      (mem_.bytes == 4 && mem_.count <= 4 && isa_.can_interleave(mem_.count) && ctx_.on(Optimisation::interleaved));
  const bool scattered = known_stride_ && kind_ != Kind::uniform && *known_stride_ != lane_stride_;
  const bool lane_by_lane = scattered && can_stride();
  const bool unknown = kind_ != Kind::strided && known_stride_ != lane_stride_;
  if (served_ && !lane_by_lane && (scattered || !interleaves || (kind_ == Kind::uniform && !load_))) {
    // Nothing is gained by the number; the vector is right whatever the guards say.
    if (slow_used_) cc_.bind(slow_label_);
    unserve();
    slow();
    return;
  }
  const bool swizzled_narrow = scratch_swizzled_ && mem_.bytes < 4;
  if (kind_ == Kind::uniform && scratch_swizzled_) {
    contiguous(base_);
  } else if (kind_ == Kind::uniform && load_) {
    uniform_load();
  } else if (lane_by_lane) {
    require_full_mask();
    strided_lanes(first_lane_pointer());
  } else if (kind_ == Kind::uniform || !interleaves || scattered || swizzled_narrow ||
             (unknown && (!ctx_.on(Optimisation::contiguous) || in_disorder()))) {
    if (slow_used_) cc_.bind(slow_label_);
    slow();
    return;
  } else {
    const Gp pointer = kind_ == Kind::strided ? strided_pointer() : find_contiguous();
    contiguous(pointer);
    prefetch_next(pointer);
  }
  join_cold_path(!lane_by_lane);
}

void MemoryAccess::join_cold_path(bool may_be_equal) {
  if (!slow_used_) return;
  cc_.bind(join_);
  ctx_.cold([&] {
    cc_.bind(slow_label_);
    if (served_) {
      unserve();
    } else if (may_be_in_halves()) {
      load_if_in_halves();
    } else if (ctx_.on(Optimisation::equal_addresses) && load_ && may_be_equal && mem_.bytes == 4 &&
               !scratch_swizzled_ && !needs_whole_pairs() && mem_.space != Space::flat && kind_ != Kind::uniform &&
               !is_shared())
      load_if_equal();
    if (!served_ && !is_shared()) load_if_in_groups();
    slow();
    cc_.jmp(join_);
  });
}

// All active lanes of the chunk at one address, as where a row of a tile is read by the lanes of a row: one broadcast
// an element.
void MemoryAccess::load_if_equal() {
  const Label differ = cc_.new_label();
  if (!active_.full && !fixed_lanes()) {
    // Broadcasts that are not masked need an active lane; for the others see skip_without_lanes().
    cc_.j(x86::negateCond(isa_.test_any({&active_.mask, 1})), differ);
  }
  Gp pointer = cc_.new_gp64();
  MaskReg differs = isa_.mask();
  Vec first = isa_.vec();
  if (kind_ == Kind::indexed) {
    cc_.emit(I::kIdVpbroadcastd, first, index_.index.xmm());
    isa_.cmp32(differs, ICmp::ne, index_.index, first, active_.get());
    isa_.low32(pointer, index_.index);
  } else {
    cc_.emit(I::kIdVpbroadcastq, first, address_.part[0].xmm());
    isa_.cmp64(differs, ICmp::ne, address_, {first, first}, active_.get());
    isa_.low64(pointer, address_.part[0]);
  }
  cc_.j(isa_.test_any({&differs, 1}), differ);
  if (kind_ == Kind::indexed) index_to_pointer(pointer);
  FaultRange whole = range(false);
  whole.lanes = 1;
  for (unsigned element = 0; element < mem_.count; ++element) {
    ctx_.faults.mark(whole);
    isa_.load_broadcast(result(element), x86::ptr(pointer, static_cast<int32_t>(disp_ + element * element_stride_)),
                        active_.get());
  }
  finish_wide();
  cc_.jmp(join_);
  cc_.bind(differ);
}

bool emit_memory(Lowering& ctx, const Inst& inst, unsigned chunk) {
  if (inst.op == Op::load_edges || inst.op == Op::store_edges) {
    MemoryAccess(ctx, inst, chunk).emit_edges();
    return true;
  }
  if (inst.op != Op::load && inst.op != Op::store) return false;
  if (inst.mem.bytes != 1 && inst.mem.bytes != 2 && inst.mem.bytes != 4) {
    ctx.fail(inst, "element size");
    return true;
  }
  MemoryAccess(ctx, inst, chunk).emit();
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
