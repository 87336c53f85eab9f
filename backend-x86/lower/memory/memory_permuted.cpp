// LDS accesses whose lanes are constant distances apart, in no simple order: butterflies, tree reductions, columns of
// small arrays. The dwords around them are loaded as they are and brought to their lanes by shuffles, and stored the
// other way round. That is for the LDS alone: it is there as a whole, and a work-group has it for itself.
#include "backend-x86/lower/memory/memory_permuted.h"

#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_contiguous.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;
using x86::CondCode;

namespace {

struct LaneDistances {
  std::array<int64_t, 16> bytes{};
  bool wrap_free = false;  // no address wraps around between the lanes
};

struct Permutation {
  unsigned registers = 0;
  int32_t first = 0;  // bytes from the address of the chunk's first lane to the lowest one
  bool wrap_free = false;
  std::array<uint8_t, 16> place{};    // of a lane's first element, in dwords past the lowest address
  std::array<uint8_t, 64> element{};  // by place: lane * count + element
};
// More of them than a gather is worth.
constexpr unsigned kMostRegisters = 4;
static_assert(kMostRegisters * 64 <= kLdsSlack);
// How far the chunk's lanes are from the first one, if that is known.
std::optional<LaneDistances> lane_distances(MemoryAccess& access) {
  if (access.mem.form != ir::AddressForm::lds_offset || access.mem.bytes != 4 || access.kind == AddressKind::uniform)
    return std::nullopt;
  LaneDistances d;
  if (access.known_stride) {
    if (*access.known_stride == access.lane_stride) return std::nullopt;
    for (unsigned l = 0; l < access.isa.lanes; ++l) d.bytes[l] = *access.known_stride * l;
    d.wrap_free = access.kind == AddressKind::strided || access.known_wrap_free;
  } else {
    const ir::LaneTable* table = access.ctx.lane_tables.of(access.inst.operands[1]);
    if (table == nullptr) return std::nullopt;
    const auto at = [&](unsigned l) { return static_cast<uint32_t>(table->step[access.first_lane() + l]); };
    for (unsigned l = 0; l < access.isa.lanes; ++l) d.bytes[l] = static_cast<int32_t>(at(l) - at(0));
    const uint64_t most = access.ctx.shapes.bits().of(access.inst.operands[1]).maximum;
    d.wrap_free = table->is_union() || most <= uint64_t{INT32_MAX};
  }
  return d;
}

std::optional<Permutation> find_permutation(MemoryAccess& access, const LaneDistances& distances) {
  if (access.mem.count > (access.load ? 4u : 2u)) return std::nullopt;
  const auto& distance = distances.bytes;
  Permutation p;
  p.wrap_free = distances.wrap_free;
  const int64_t most = kMostRegisters * access.isa.bytes();
  p.element.fill(VectorIsa::kAnyLane);
  const auto lanes = std::span(distance).first(access.isa.lanes);
  const auto [low, high] = std::minmax_element(lanes.begin(), lanes.end());
  if (*low < -most || *high - *low + access.lane_stride > most) return std::nullopt;
  p.first = static_cast<int32_t>(*low);
  p.registers =
      static_cast<unsigned>((*high - *low + access.lane_stride + access.isa.bytes() - 1) / access.isa.bytes());
  // Where the lanes' dwords are few among others, what is loaded next is mostly part of several such stores, and waits
  // for all of them.
  if (!access.load && access.isa.has_scatter() && p.registers > 3 * access.mem.count) return std::nullopt;
  for (unsigned l = 0; l < access.isa.lanes; ++l) {
    const int64_t byte = distance[l] - p.first;
    if (byte % 4 != 0) return std::nullopt;
    p.place[l] = static_cast<uint8_t>(byte / 4);
    for (unsigned e = 0; e < access.mem.count; ++e) {
      uint8_t& element = p.element[p.place[l] + e];
      // Which of several lanes' stores to a place comes last is for the general path.
      if (!access.load && element != VectorIsa::kAnyLane) return std::nullopt;
      element = static_cast<uint8_t>(l * access.mem.count + e);
    }
  }
  return p;
}

// The address of the first lane, `first` bytes further on, as a register and a displacement, which comes in as that of the
// access.
Gp first_pointer(MemoryAccess& access, int32_t first, int64_t& disp) {
  if (access.kind == AddressKind::strided) {
    disp += first;
    return access.base;
  }
  const Gp pointer = access.cc.new_gp64();
  access.isa.low32(pointer, access.index.index);
  if (first != 0) access.cc.add(pointer.r32(), first);
  access.cc.add(pointer, access.base);
  return pointer;
}

// Stores of lanes that are further apart: the dwords are brought into the order of their addresses, and stored by as many of
// them as are neighbours. A tile that is transposed on its way into the LDS consists of such rows of four lanes.
bool store_runs(MemoryAccess& access, const LaneDistances& distances) {
  if (access.load || !access.active.full || !distances.wrap_free || access.mem.count > 4) return false;
  struct Dword {
    int64_t at;
    uint8_t source;  // in the concatenation of the elements
  };
  std::vector<Dword> dwords;
  for (unsigned e = 0; e < access.mem.count; ++e)
    for (unsigned l = 0; l < access.isa.lanes; ++l)
      dwords.push_back({distances.bytes[l] + 4 * e, static_cast<uint8_t>(e * access.isa.lanes + l)});
  std::sort(dwords.begin(), dwords.end(), [](const Dword& a, const Dword& b) { return a.at < b.at; });
  if (dwords.front().at < INT32_MIN / 2 || dwords.back().at > INT32_MAX / 2) return false;
  for (size_t i = 1; i < dwords.size(); ++i)
    if (dwords[i].at < dwords[i - 1].at + 4) return false;  // which of two stores comes last is for the general path
  const auto are_neighbours = [&](size_t i, size_t n) {
    return dwords[i + n - 1].at == dwords[i].at + int64_t(4 * (n - 1));
  };
  size_t stores = 0;
  for (size_t i = 0; i < dwords.size(); i += 4)
    stores += are_neighbours(i, 4) ? 1 : 4 - are_neighbours(i, 2) - are_neighbours(i + 2, 2);
  if (access.isa.has_scatter() && stores > dwords.size() / 2) return false;

  int64_t disp = access.disp;
  const Gp pointer = first_pointer(access, 0, disp);
  std::vector<Vec> elements;
  elements.reserve(access.mem.count);
  for (unsigned e = 0; e < access.mem.count; ++e) elements.push_back(data_of(access, e));
  for (size_t first = 0; first < dwords.size(); first += access.isa.lanes) {
    std::array<uint8_t, 16> from{};
    for (unsigned i = 0; i < access.isa.lanes; ++i) from[i] = dwords[first + i].source;
    const Vec v = access.isa.vec();
    access.isa.shuffle(v, elements, from);
    for (unsigned g = 0; g < access.isa.lanes / 4; ++g) {
      const size_t i = first + size_t{4} * g;
      const auto at = [&](unsigned place) {
        return x86::ptr(pointer, static_cast<int32_t>(disp + dwords[i + place].at));
      };
      if (are_neighbours(i, 4)) {
        access.ctx.faults.mark(fault_range(access, true));
        access.isa.store_group(at(0), v, g);
        continue;
      }
      const Vec four = access.isa.group(v, g);
      for (unsigned place = 0; place < 4; place += 2) {
        if (are_neighbours(i + place, 2)) {
          access.ctx.faults.mark(fault_range(access, true));
          access.cc.emit(place == 0 ? I::kIdVmovlps : I::kIdVmovhps, at(place), four.xmm());
          continue;
        }
        for (unsigned k = place; k < place + 2; ++k) {
          access.ctx.faults.mark(fault_range(access, true));
          access.cc.emit(I::kIdVpextrd, at(k), four.xmm(), imm(k));
        }
      }
    }
  }
  return true;
}

void load_permuted(MemoryAccess& access, const Permutation& p, const Gp& pointer, int32_t disp) {
  std::vector<Vec> memory(p.registers);
  for (unsigned r = 0; r < p.registers; ++r) {
    memory[r] = access.isa.vec();
    access.ctx.faults.mark(fault_range(access, true));
    access.isa.load(memory[r], x86::ptr(pointer, disp + static_cast<int32_t>(r * access.isa.bytes())), nullptr);
  }
  if (access.wide.any() && access.active.full) {
    for (unsigned pair = 0; pair < access.mem.count / 2; ++pair) {
      const Vec64 value = access.ctx.dst64(*access.wide.pairs[pair], access.chunk);
      for (unsigned part = 0; part < 2; ++part)
        shuffle_whole(access, value.part[part], part, memory, [&](unsigned lane) { return p.place[lane] + 2 * pair; });
    }
    return;
  }
  std::array<uint8_t, 16> from{};
  for (unsigned e = 0; e < access.mem.count; ++e) {
    for (unsigned l = 0; l < access.isa.lanes; ++l) from[l] = static_cast<uint8_t>(p.place[l] + e);
    const Vec v = access.active.full ? result_of(access, e) : access.isa.vec();
    access.isa.shuffle(v, memory, from);
    if (!access.active.full) access.isa.zero_unless(result_of(access, e), access.active.mask, v);
  }
  finish_wide(access);
}

void store_permuted(MemoryAccess& access, const Permutation& p, const Gp& pointer, int32_t disp) {
  std::vector<Vec> elements;
  elements.reserve(access.mem.count);
  for (unsigned e = 0; e < access.mem.count; ++e) elements.push_back(data_of(access, e));
  const uint32_t all = (1u << access.isa.lanes) - 1;
  for (unsigned r = 0; r < p.registers; ++r) {
    std::array<uint8_t, 16> from{}, lane{};  // by place in the register
    uint32_t used = 0;
    for (unsigned i = 0; i < access.isa.lanes; ++i) {
      const uint8_t element = p.element[r * access.isa.lanes + i];
      from[i] = lane[i] = VectorIsa::kAnyLane;
      if (element == VectorIsa::kAnyLane) continue;
      lane[i] = static_cast<uint8_t>(element / access.mem.count);
      from[i] = static_cast<uint8_t>(element % access.mem.count * access.isa.lanes + lane[i]);
      used |= 1u << i;
    }
    if (used == 0) continue;
    Vec v = access.isa.vec();
    access.isa.shuffle(v, elements, from);
    const Mem at = x86::ptr(pointer, disp + static_cast<int32_t>(r * access.isa.bytes()));
    MaskReg places = access.isa.mask();
    if (used != all || !access.active.full) access.isa.set_mask_const(places, used);
    if (!access.active.full) {
      Vec on = access.isa.vec();
      const Vec lanes = access.isa.mask_vec(access.active.mask);
      access.isa.shuffle(on, {&lanes, 1}, lane);
      MaskReg some = access.isa.mask();
      access.isa.cmp32(some, ICmp::slt, on, access.isa.const32(0), used == all ? nullptr : &places);
      places = some;
    }
    const bool plain = used == all && access.active.full;
    if (!plain) {
      // Loads do not get what they want from a masked store before it is in the cache, and it takes AVX2 processors
      // longer than storing what was there. No other thread sees it.
      const Vec old = access.isa.vec();
      access.ctx.faults.mark(fault_range(access, true));
      access.isa.load(old, at, nullptr);
      v = access.isa.sel(places, v, old);
    }
    access.ctx.faults.mark(fault_range(access, true));
    access.isa.store(at, v, nullptr);
  }
}

}  // namespace

bool serve_permuted(MemoryAccess& access) {
  if (!access.ctx.on(Optimisation::permuted_lds)) return false;
  const std::optional<LaneDistances> distances = lane_distances(access);
  if (!distances) return false;
  const std::optional<Permutation> p = find_permutation(access, *distances);
  if (!p) return store_runs(access, *distances);
  int64_t disp = access.disp;
  const Gp pointer = first_pointer(access, p->first, disp);
  if (!access.active.full || !p->wrap_free) {
    // The lowest address may be of a lane that is off, or before a wrap: anywhere.
    Gp start = access.cc.new_gp64(), size = access.cc.new_gp64();
    access.cc.lea(start, x86::ptr(pointer, static_cast<int32_t>(disp)));
    access.cc.sub(start, access.ctx.wave_field(offsetof(WaveState, lds_base), 8));
    access.cc.mov(size.r32(), access.ctx.wave_field(offsetof(WaveState, lds_size), 4));
    access.cc.cmp(start, size);
    to_slow_if(access, CondCode::kA);
  }
  if (access.load) {
    load_permuted(access, *p, pointer, static_cast<int32_t>(disp));
  } else {
    store_permuted(access, *p, pointer, static_cast<int32_t>(disp));
  }
  return true;
}

}  // namespace wavejit::backend
