// Accesses that are neither contiguous nor worth a gather or scatter: lane by lane, unrolled, several dwords of a lane
// at once. What a lane holds is moved to and from registers in 128-bit groups; group g of a register has lanes 4g to 4g
// + 3.
#include "backend-x86/lower/memory/memory_lanes.h"

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_shared.h"
#include "backend-x86/lower/memory/prefetch.h"
#include "backend-x86/lower/stack_rows.h"

namespace wavejit::backend {

using asmjit::imm;

// A row of 64-bit addresses. Inactive lanes get a place on the stack.
Mem stage_addresses(MemoryAccess& access, const Vec64& address, int32_t disp, const ChunkLanes& lanes) {
  const Mem row = access.ctx.scratch_row(access.ctx.rows->addresses, 2 * access.isa.bytes());
  if (lanes.full) {
    access.isa.store_row64(row, address);
    return row;
  }
  const Gp harmless = access.ctx.address_of(access.ctx.scratch_row(access.ctx.rows->results, 2 * access.isa.bytes()));
  if (disp != 0) access.cc.sub(harmless, disp);
  Vec splat = access.isa.vec();
  access.isa.splat64(splat, harmless);
  const Mask64 active = access.isa.split(lanes.mask);
  const Vec low = access.isa.sel64(active.part[0], address.part[0], splat),
            high = access.isa.sel64(active.part[1], address.part[1], splat);
  access.isa.store_row64(row, {low, high});
  return row;
}

namespace {

Mem lane_place(MemoryAccess& access, const LanePlaces& at, unsigned lane, unsigned bytes, int32_t offset) {
  if (at.first.isValid()) return x86::ptr(at.first, at.disp + static_cast<int32_t>(lane) * at.stride + offset, bytes);
  const Gp pointer = access.cc.new_gp64();
  Mem slot = at.row.cloneAdjusted(lane * 8);
  slot.setSize(8);
  access.cc.mov(pointer, slot);
  return x86::ptr(pointer, at.disp + offset, bytes);
}

}  // namespace

// The memory of a lane; the next instruction is the one that accesses it.
Mem lane_at(MemoryAccess& access, const LanePlaces& at, unsigned lane, unsigned bytes, int32_t offset) {
  const Mem place = lane_place(access, at, lane, bytes, offset);
  const auto line = [&](unsigned l) { return static_cast<int32_t>(l) * at.stride / 64; };
  const bool new_line = offset == 0 && (lane == 0 || !at.first.isValid() || line(lane) != line(lane - 1));
  if (at.ahead.isImm() && new_line) {
    prefetch_line(access, place.cloneAdjusted(at.ahead.as<asmjit::Imm>().value()));
  } else if (at.ahead.isReg() && new_line) {
    Mem next = place;
    next.setIndex(at.ahead.as<Gp>());
    prefetch_line(access, next);
  }
  access.ctx.faults.mark({.guest_pc = access.guest_pc,
                          .first_lane = static_cast<uint8_t>(access.first_lane() + lane),
                          .lanes = 1,
                          .element_bytes = static_cast<uint8_t>(bytes),
                          .write = !access.load});
  return place;
}

namespace {

// Lanes in ascending order: of lanes that store to the same address, the last wins.
void store_pairs(MemoryAccess& access, const LanePlaces& at) {
  const Vec a = data_of(access, 0), b = data_of(access, 1);
  const Vec halves[2] = {access.isa.make(I::kIdVpunpckldq, a, b), access.isa.make(I::kIdVpunpckhdq, a, b)};
  for (unsigned g = 0; g < access.isa.lanes / 4; ++g) {
    for (unsigned h = 0; h < 2; ++h) {
      const Vec group = access.isa.group(halves[h], g);
      const Mem low = lane_at(access, at, 4 * g + 2 * h, 8);
      access.cc.emit(I::kIdVmovlps, low, group.xmm());
      const Mem high = lane_at(access, at, 4 * g + 2 * h + 1, 8);
      access.cc.emit(I::kIdVmovhps, high, group.xmm());
    }
  }
}

void load_quads(MemoryAccess& access, const LanePlaces& at) {
  const Vec lanes[4] = {access.isa.vec(), access.isa.vec(), access.isa.vec(),
                        access.isa.vec()};  // group g of the i-th has lane 4g + i
  for (unsigned lane = 0; lane < access.isa.lanes; ++lane) {
    if (access.mem.count == 3) {
      const Vec group = lane < 4 ? lanes[lane] : access.isa.vec();
      const Mem low = lane_at(access, at, lane, 8);
      access.cc.emit(I::kIdVmovq, group.xmm(), low);
      const Mem high = lane_at(access, at, lane, 4, 8);
      access.cc.emit(I::kIdVpinsrd, group.xmm(), group.xmm(), high, imm(2));
      if (lane >= 4) access.isa.insert_group(lanes[lane % 4], group.xmm(), lane / 4);
      continue;
    }
    const Mem m = lane_at(access, at, lane, 16);
    if (lane < 4) {
      access.cc.emit(I::kIdVmovdqu, lanes[lane].xmm(), m);
    } else {
      access.isa.insert_group(lanes[lane % 4], m, lane / 4);
    }
  }
  const Vec low01 = access.isa.make(I::kIdVpunpckldq, lanes[0], lanes[1]),
            high01 = access.isa.make(I::kIdVpunpckhdq, lanes[0], lanes[1]);
  const Vec low23 = access.isa.make(I::kIdVpunpckldq, lanes[2], lanes[3]),
            high23 = access.isa.make(I::kIdVpunpckhdq, lanes[2], lanes[3]);
  set_loaded(access, 0, access.isa.make(I::kIdVpunpcklqdq, low01, low23), access.active);
  set_loaded(access, 1, access.isa.make(I::kIdVpunpckhqdq, low01, low23), access.active);
  set_loaded(access, 2, access.isa.make(I::kIdVpunpcklqdq, high01, high23), access.active);
  if (access.mem.count == 4) set_loaded(access, 3, access.isa.make(I::kIdVpunpckhqdq, high01, high23), access.active);
}

void store_quads(MemoryAccess& access, const LanePlaces& at) {
  const Vec a = data_of(access, 0), b = data_of(access, 1), c = data_of(access, 2),
            d = access.mem.count == 4 ? data_of(access, 3) : c;
  const Vec low01 = access.isa.make(I::kIdVpunpckldq, a, b), high01 = access.isa.make(I::kIdVpunpckhdq, a, b);
  const Vec low23 = access.isa.make(I::kIdVpunpckldq, c, d), high23 = access.isa.make(I::kIdVpunpckhdq, c, d);
  const Vec lanes[4] = {
      access.isa.make(I::kIdVpunpcklqdq, low01, low23), access.isa.make(I::kIdVpunpckhqdq, low01, low23),
      access.isa.make(I::kIdVpunpcklqdq, high01, high23), access.isa.make(I::kIdVpunpckhqdq, high01, high23)};
  for (unsigned lane = 0; lane < access.isa.lanes; ++lane) {
    if (access.mem.count == 3) {
      const Vec group = access.isa.group(lanes[lane % 4], lane / 4);
      const Mem low = lane_at(access, at, lane, 8);
      access.cc.emit(I::kIdVmovlps, low, group.xmm());
      const Mem high = lane_at(access, at, lane, 4, 8);
      access.cc.emit(I::kIdVpextrd, high, group.xmm(), imm(2));
      continue;
    }
    const Mem m = lane_at(access, at, lane, 16);
    access.isa.store_group(m, lanes[lane % 4], lane / 4);
  }
}

void store_lanes(MemoryAccess& access, const Vec& v, unsigned bytes, const LanePlaces& at) {
  const InstId id = bytes == 1 ? I::kIdVpextrb : bytes == 2 ? I::kIdVpextrw : I::kIdVpextrd;
  Vec group;
  for (unsigned lane = 0; lane < access.isa.lanes; ++lane) {
    if (lane % 4 == 0) group = access.isa.group(v, lane / 4);
    const Mem m = lane_at(access, at, lane, bytes);
    access.cc.emit(id, m, group.xmm(), imm(lane % 4 * (4 / bytes)));
  }
}

void lanes_at(MemoryAccess& access, const LanePlaces& at) {
  if (access.mem.bytes == 4 && access.mem.count == 1 && access.load)
    return set_loaded(access, 0, singles_at(access, at), access.active);
  if (access.mem.bytes == 4 && access.mem.count == 2) {
    if (!access.load) return store_pairs(access, at);
    const std::array<Vec, 2> pair = pairs_at(access, at);
    for (unsigned i = 0; i < 2; ++i) set_loaded(access, i, pair[i], access.active);
    return;
  }
  if (access.mem.bytes == 4 && access.mem.count <= 4 && access.mem.count > 2)
    return access.load ? load_quads(access, at) : store_quads(access, at);
  LanePlaces element_at = at;
  for (unsigned element = 0; element < access.mem.count; ++element) {
    if (access.load) {
      load_narrow_lanes(access, element, element_at, access.active);
    } else {
      store_lanes(access, data_of(access, element), access.mem.bytes, element_at);
    }
    element_at.disp += static_cast<int32_t>(access.mem.bytes);
    element_at.ahead = Operand();
  }
}

}  // namespace

bool serve_lanes(MemoryAccess& access) {
  if (is_shared(access)) return shared_any(access), true;
  const bool several = access.mem.bytes == 4 && access.mem.count >= 2 && access.mem.count <= 4;
  if (!several && access.mem.bytes == 4 && (access.load || access.isa.has_scatter())) return false;
  if (access.kind == AddressKind::uniform && access.load) return false;
  Vec64 address = access.address;
  if (access.kind == AddressKind::indexed) {
    address = host_addresses(access.ctx, access.base, access.index);
  } else if (access.kind == AddressKind::uniform) {
    address = host_addresses(access.ctx, access.base, {access.isa.const32(0)});
  }
  lanes_at(access, {.row = stage_addresses(access, address, static_cast<int32_t>(access.disp), access.active),
                    .first = {},
                    .disp = static_cast<int32_t>(access.disp),
                    .ahead = next_group(access)});
  return true;
}

// Whether all lanes' places can be reached by displacements from the first lane's.
bool can_stride(const MemoryAccess& access) {
  if (!access.ctx.on(Optimisation::strided_lanes) || !access.known_stride || access.scratch_swizzled ||
      access.mem.count > 4)
    return false;
  if (access.kind == AddressKind::indexed && !access.known_wrap_free &&
      (access.index.is_signed || access.index.shift != 0))
    return false;
  constexpr int64_t kFar = 1 << 20;
  return *access.known_stride != 0 && *access.known_stride > -kFar && *access.known_stride < kFar &&
         access.disp < INT32_MAX / 2 && access.disp > INT32_MIN / 2;
}

// All lanes are on. No vector of addresses: lane l is at pointer + l * stride.
void strided_lanes(MemoryAccess& access, const Gp& pointer) {
  const ChunkLanes active = access.active;
  access.active = {};
  lanes_at(access, {.row = {},
                    .first = pointer,
                    .stride = static_cast<int32_t>(*access.known_stride),
                    .disp = static_cast<int32_t>(access.disp),
                    .ahead = next_group(access)});
  finish_wide(access);
  access.active = active;
}

// Lanes in ascending order, so that the first one that faults is the first one accessed.
Vec singles_at(MemoryAccess& access, const LanePlaces& at) {
  const Vec all = access.isa.vec();
  for (unsigned g = 0; g < access.isa.lanes / 4; ++g) {
    const Vec group = g == 0 ? all : access.isa.vec();
    for (unsigned i = 0; i < 4; ++i) {
      const Mem m = lane_at(access, at, 4 * g + i, 4);
      if (i == 0) {
        access.cc.emit(I::kIdVmovd, group.xmm(), m);
      } else {
        access.cc.emit(I::kIdVpinsrd, group.xmm(), group.xmm(), m, imm(i));
      }
    }
    if (g > 0) access.isa.insert_group(all, group.xmm(), g);
  }
  return all;
}

void load_narrow_lanes(MemoryAccess& access, unsigned element, const LanePlaces& at, const ChunkLanes& lanes) {
  const bool bytes = access.mem.bytes == 1;
  std::vector<Vec> parts;  // eight lanes each
  for (unsigned lane = 0; lane < access.isa.lanes; ++lane) {
    if (lane % 8 == 0) parts.push_back(access.isa.const32(0));
    const Vec& part = parts.back();
    const Mem m = lane_at(access, at, lane, access.mem.bytes);
    access.cc.emit(bytes ? I::kIdVpinsrb : I::kIdVpinsrw, part.xmm(), part.xmm(), m, imm(lane % 8));
  }
  Vec all = parts[0];
  if (parts.size() == 2 && bytes) {
    access.cc.emit(I::kIdVpunpcklqdq, all.xmm(), all.xmm(), parts[1].xmm());
  } else if (parts.size() == 2) {
    access.isa.insert_group(all, parts[1].xmm(), 1);
  }
  Vec wide = access.isa.vec();
  access.isa.widen_narrow(wide, all, access.mem.bytes, access.mem.sign_extend);
  set_loaded(access, element, wide, lanes);
}

std::array<Vec, 2> pairs_at(MemoryAccess& access, const LanePlaces& at) {
  // Group g of the first has the pairs of lanes 4g and 4g + 1, of the second those of the next two. In the order of the
  // lanes, so that the first one that faults is the first one accessed.
  const Vec halves[2] = {access.isa.vec(), access.isa.vec()};
  for (unsigned g = 0; g < access.isa.lanes / 4; ++g) {
    for (unsigned h = 0; h < 2; ++h) {
      const Vec group = g == 0 ? halves[h] : access.isa.vec();
      const Mem low = lane_at(access, at, 4 * g + 2 * h, 8);
      access.cc.emit(I::kIdVmovq, group.xmm(), low);
      const Mem high = lane_at(access, at, 4 * g + 2 * h + 1, 8);
      access.cc.emit(I::kIdVmovhps, group.xmm(), group.xmm(), high);
      if (g > 0) access.isa.insert_group(halves[h], group.xmm(), g);
    }
  }
  const Vec first = access.isa.make(I::kIdVshufps, halves[0], halves[1], imm(0x88));
  return {first, access.isa.make(I::kIdVshufps, halves[0], halves[1], imm(0xdd))};
}

void store_lanes_of(MemoryAccess& access, const Vec& v, unsigned bytes, const Vec64& address, int32_t disp,
                    const ChunkLanes& lanes) {
  store_lanes(access, v, bytes, {.row = stage_addresses(access, address, disp, lanes), .disp = disp});
}

}  // namespace wavejit::backend
