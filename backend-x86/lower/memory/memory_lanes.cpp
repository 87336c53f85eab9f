// Accesses that are neither contiguous nor worth a gather or scatter: lane by lane, unrolled, several dwords of a lane
// at once. What a lane holds is moved to and from registers in 128-bit groups; group g of a register has lanes 4g to 4g
// + 3.
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/stack_rows.h"

namespace wavejit::backend {

using asmjit::imm;

// A row of 64-bit addresses. Inactive lanes get a place on the stack.
Mem MemoryAccess::stage_addresses(const Vec64& address, int32_t disp, const Lanes& lanes) {
  const Mem row = ctx_.scratch_row(ctx_.rows->addresses, 2 * isa_.bytes());
  if (lanes.full) {
    isa_.store_row64(row, address);
    return row;
  }
  const Gp harmless = ctx_.address_of(ctx_.scratch_row(ctx_.rows->results, 2 * isa_.bytes()));
  if (disp != 0) cc_.sub(harmless, disp);
  Vec splat = isa_.vec();
  isa_.splat64(splat, harmless);
  const Mask64 active = isa_.split(lanes.mask);
  const Vec low = isa_.sel64(active.part[0], address.part[0], splat),
            high = isa_.sel64(active.part[1], address.part[1], splat);
  isa_.store_row64(row, {low, high});
  return row;
}

// The memory of a lane; the next instruction is the one that accesses it.
Mem MemoryAccess::lane_at(const LaneAddresses& at, unsigned lane, unsigned bytes, int32_t offset) {
  const Mem place = lane_place(at, lane, bytes, offset);
  const auto line = [&](unsigned l) { return static_cast<int32_t>(l) * at.stride / 64; };
  const bool new_line = offset == 0 && (lane == 0 || !at.first.isValid() || line(lane) != line(lane - 1));
  if (at.ahead.isImm() && new_line) {
    prefetch(place.cloneAdjusted(at.ahead.as<asmjit::Imm>().value()));
  } else if (at.ahead.isReg() && new_line) {
    Mem next = place;
    next.setIndex(at.ahead.as<Gp>());
    prefetch(next);
  }
  ctx_.faults.mark({.guest_pc = guest_pc_,
                    .first_lane = static_cast<uint8_t>(first_lane() + lane),
                    .lanes = 1,
                    .element_bytes = static_cast<uint8_t>(bytes),
                    .write = !load_});
  return place;
}

Mem MemoryAccess::lane_place(const LaneAddresses& at, unsigned lane, unsigned bytes, int32_t offset) {
  if (at.first.isValid()) return x86::ptr(at.first, at.disp + static_cast<int32_t>(lane) * at.stride + offset, bytes);
  const Gp pointer = cc_.new_gp64();
  Mem slot = at.row.cloneAdjusted(lane * 8);
  slot.setSize(8);
  cc_.mov(pointer, slot);
  return x86::ptr(pointer, at.disp + offset, bytes);
}

void MemoryAccess::set_loaded(unsigned element, const Vec& v, const Lanes& lanes) {
  if (lanes.full) {
    isa_.mov(result(element), v);
  } else {
    isa_.zero_unless(result(element), lanes.mask, v);
  }
}

bool MemoryAccess::serve_lanes() {
  if (is_shared()) return shared_any(), true;
  const bool several = mem_.bytes == 4 && mem_.count >= 2 && mem_.count <= 4;
  if (!several && mem_.bytes == 4 && (load_ || isa_.has_scatter())) return false;
  if (kind_ == Kind::uniform && load_) return false;
  Vec64 address = address_;
  if (kind_ == Kind::indexed) {
    address = host_addresses(ctx_, base_, index_);
  } else if (kind_ == Kind::uniform) {
    address = host_addresses(ctx_, base_, {isa_.const32(0)});
  }
  lanes_at({.row = stage_addresses(address, static_cast<int32_t>(disp_), active_),
            .first = {},
            .disp = static_cast<int32_t>(disp_),
            .ahead = next_group()});
  return true;
}

void MemoryAccess::lanes_at(const LaneAddresses& at) {
  if (mem_.bytes == 4 && mem_.count == 1 && load_) return set_loaded(0, singles_at(at), active_);
  if (mem_.bytes == 4 && mem_.count == 2) {
    if (!load_) return store_pairs(at);
    const std::array<Vec, 2> pair = pairs_at(at);
    for (unsigned i = 0; i < 2; ++i) set_loaded(i, pair[i], active_);
    return;
  }
  if (mem_.bytes == 4 && mem_.count <= 4 && mem_.count > 2) return load_ ? load_quads(at) : store_quads(at);
  LaneAddresses element_at = at;
  for (unsigned element = 0; element < mem_.count; ++element) {
    if (load_) {
      load_narrow_lanes(element, element_at, active_);
    } else {
      store_lanes(data(element), mem_.bytes, element_at);
    }
    element_at.disp += static_cast<int32_t>(mem_.bytes);
    element_at.ahead = Operand();
  }
}

// Whether all lanes' places can be reached by displacements from the first lane's.
bool MemoryAccess::can_stride() const {
  if (!ctx_.on(Optimisation::strided_lanes) || !known_stride_ || scratch_swizzled_ || mem_.count > 4) return false;
  if (kind_ == Kind::indexed && !known_wrap_free_ && (index_.is_signed || index_.shift != 0)) return false;
  constexpr int64_t kFar = 1 << 20;
  return *known_stride_ != 0 && *known_stride_ > -kFar && *known_stride_ < kFar && disp_ < INT32_MAX / 2 &&
         disp_ > INT32_MIN / 2;
}

// All lanes are on. No vector of addresses: lane l is at pointer + l * stride.
void MemoryAccess::strided_lanes(const Gp& pointer) {
  const Lanes active = active_;
  active_ = {};
  lanes_at({.row = {},
            .first = pointer,
            .stride = static_cast<int32_t>(*known_stride_),
            .disp = static_cast<int32_t>(disp_),
            .ahead = next_group()});
  finish_wide();
  active_ = active;
}

// Lanes in ascending order, so that the first one that faults is the first one accessed.
Vec MemoryAccess::singles_at(const LaneAddresses& at) {
  const Vec all = isa_.vec();
  for (unsigned g = 0; g < isa_.lanes / 4; ++g) {
    const Vec group = g == 0 ? all : isa_.vec();
    for (unsigned i = 0; i < 4; ++i) {
      const Mem m = lane_at(at, 4 * g + i, 4);
      if (i == 0) {
        cc_.emit(I::kIdVmovd, group.xmm(), m);
      } else {
        cc_.emit(I::kIdVpinsrd, group.xmm(), group.xmm(), m, imm(i));
      }
    }
    if (g > 0) isa_.insert_group(all, group.xmm(), g);
  }
  return all;
}

void MemoryAccess::load_narrow_lanes(unsigned element, const LaneAddresses& at, const Lanes& lanes) {
  const bool bytes = mem_.bytes == 1;
  std::vector<Vec> parts;  // eight lanes each
  for (unsigned lane = 0; lane < isa_.lanes; ++lane) {
    if (lane % 8 == 0) parts.push_back(isa_.const32(0));
    const Vec& part = parts.back();
    const Mem m = lane_at(at, lane, mem_.bytes);
    cc_.emit(bytes ? I::kIdVpinsrb : I::kIdVpinsrw, part.xmm(), part.xmm(), m, imm(lane % 8));
  }
  Vec all = parts[0];
  if (parts.size() == 2 && bytes) {
    cc_.emit(I::kIdVpunpcklqdq, all.xmm(), all.xmm(), parts[1].xmm());
  } else if (parts.size() == 2) {
    isa_.insert_group(all, parts[1].xmm(), 1);
  }
  Vec wide = isa_.vec();
  isa_.widen_narrow(wide, all, mem_.bytes, mem_.sign_extend);
  set_loaded(element, wide, lanes);
}

std::array<Vec, 2> MemoryAccess::pairs_at(const LaneAddresses& at) {
  // Group g of the first has the pairs of lanes 4g and 4g + 1, of the second those of the next two. In the order of the
  // lanes, so that the first one that faults is the first one accessed.
  const Vec halves[2] = {isa_.vec(), isa_.vec()};
  for (unsigned g = 0; g < isa_.lanes / 4; ++g) {
    for (unsigned h = 0; h < 2; ++h) {
      const Vec group = g == 0 ? halves[h] : isa_.vec();
      const Mem low = lane_at(at, 4 * g + 2 * h, 8);
      cc_.emit(I::kIdVmovq, group.xmm(), low);
      const Mem high = lane_at(at, 4 * g + 2 * h + 1, 8);
      cc_.emit(I::kIdVmovhps, group.xmm(), group.xmm(), high);
      if (g > 0) isa_.insert_group(halves[h], group.xmm(), g);
    }
  }
  const Vec first = isa_.make(I::kIdVshufps, halves[0], halves[1], imm(0x88));
  return {first, isa_.make(I::kIdVshufps, halves[0], halves[1], imm(0xdd))};
}

void MemoryAccess::load_quads(const LaneAddresses& at) {
  const Vec lanes[4] = {isa_.vec(), isa_.vec(), isa_.vec(), isa_.vec()};  // group g of the i-th has lane 4g + i
  for (unsigned lane = 0; lane < isa_.lanes; ++lane) {
    if (mem_.count == 3) {
      const Vec group = lane < 4 ? lanes[lane] : isa_.vec();
      const Mem low = lane_at(at, lane, 8);
      cc_.emit(I::kIdVmovq, group.xmm(), low);
      const Mem high = lane_at(at, lane, 4, 8);
      cc_.emit(I::kIdVpinsrd, group.xmm(), group.xmm(), high, imm(2));
      if (lane >= 4) isa_.insert_group(lanes[lane % 4], group.xmm(), lane / 4);
      continue;
    }
    const Mem m = lane_at(at, lane, 16);
    if (lane < 4) {
      cc_.emit(I::kIdVmovdqu, lanes[lane].xmm(), m);
    } else {
      isa_.insert_group(lanes[lane % 4], m, lane / 4);
    }
  }
  const Vec low01 = isa_.make(I::kIdVpunpckldq, lanes[0], lanes[1]),
            high01 = isa_.make(I::kIdVpunpckhdq, lanes[0], lanes[1]);
  const Vec low23 = isa_.make(I::kIdVpunpckldq, lanes[2], lanes[3]),
            high23 = isa_.make(I::kIdVpunpckhdq, lanes[2], lanes[3]);
  set_loaded(0, isa_.make(I::kIdVpunpcklqdq, low01, low23), active_);
  set_loaded(1, isa_.make(I::kIdVpunpckhqdq, low01, low23), active_);
  set_loaded(2, isa_.make(I::kIdVpunpcklqdq, high01, high23), active_);
  if (mem_.count == 4) set_loaded(3, isa_.make(I::kIdVpunpckhqdq, high01, high23), active_);
}

// Lanes in ascending order: of lanes that store to the same address, the last wins.
void MemoryAccess::store_pairs(const LaneAddresses& at) {
  const Vec a = data(0), b = data(1);
  const Vec halves[2] = {isa_.make(I::kIdVpunpckldq, a, b), isa_.make(I::kIdVpunpckhdq, a, b)};
  for (unsigned g = 0; g < isa_.lanes / 4; ++g) {
    for (unsigned h = 0; h < 2; ++h) {
      const Vec group = isa_.group(halves[h], g);
      const Mem low = lane_at(at, 4 * g + 2 * h, 8);
      cc_.emit(I::kIdVmovlps, low, group.xmm());
      const Mem high = lane_at(at, 4 * g + 2 * h + 1, 8);
      cc_.emit(I::kIdVmovhps, high, group.xmm());
    }
  }
}

void MemoryAccess::store_quads(const LaneAddresses& at) {
  const Vec a = data(0), b = data(1), c = data(2), d = mem_.count == 4 ? data(3) : c;
  const Vec low01 = isa_.make(I::kIdVpunpckldq, a, b), high01 = isa_.make(I::kIdVpunpckhdq, a, b);
  const Vec low23 = isa_.make(I::kIdVpunpckldq, c, d), high23 = isa_.make(I::kIdVpunpckhdq, c, d);
  const Vec lanes[4] = {isa_.make(I::kIdVpunpcklqdq, low01, low23), isa_.make(I::kIdVpunpckhqdq, low01, low23),
                        isa_.make(I::kIdVpunpcklqdq, high01, high23), isa_.make(I::kIdVpunpckhqdq, high01, high23)};
  for (unsigned lane = 0; lane < isa_.lanes; ++lane) {
    if (mem_.count == 3) {
      const Vec group = isa_.group(lanes[lane % 4], lane / 4);
      const Mem low = lane_at(at, lane, 8);
      cc_.emit(I::kIdVmovlps, low, group.xmm());
      const Mem high = lane_at(at, lane, 4, 8);
      cc_.emit(I::kIdVpextrd, high, group.xmm(), imm(2));
      continue;
    }
    const Mem m = lane_at(at, lane, 16);
    isa_.store_group(m, lanes[lane % 4], lane / 4);
  }
}

void MemoryAccess::store_lanes(const Vec& v, unsigned bytes, const LaneAddresses& at) {
  const InstId id = bytes == 1 ? I::kIdVpextrb : bytes == 2 ? I::kIdVpextrw : I::kIdVpextrd;
  Vec group;
  for (unsigned lane = 0; lane < isa_.lanes; ++lane) {
    if (lane % 4 == 0) group = isa_.group(v, lane / 4);
    const Mem m = lane_at(at, lane, bytes);
    cc_.emit(id, m, group.xmm(), imm(lane % 4 * (4 / bytes)));
  }
}

void MemoryAccess::store_lanes_of(const Vec& v, unsigned bytes, const Vec64& address, int32_t disp,
                                  const Lanes& lanes) {
  store_lanes(v, bytes, {.row = stage_addresses(address, disp, lanes), .disp = disp});
}

}  // namespace wavejit::backend
