// LDS accesses whose lanes are constant distances apart, in no simple order: butterflies, tree reductions, columns of
// small arrays. The dwords around them are loaded as they are and brought to their lanes by shuffles, and stored the
// other way round. That is for the LDS alone: it is there as a whole, and a work-group has it for itself.
#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;
using x86::CondCode;

namespace {
// More of them than a gather is worth.
constexpr unsigned kMostRegisters = 4;
static_assert(kMostRegisters * 64 <= kLdsSlack);
}  // namespace

// How far the chunk's lanes are from the first one, if that is known.
std::optional<MemoryAccess::LaneDistances> MemoryAccess::lane_distances() {
  if (mem_.form != ir::AddressForm::lds_offset || mem_.bytes != 4 || kind_ == Kind::uniform) return std::nullopt;
  LaneDistances d;
  if (known_stride_) {
    if (*known_stride_ == lane_stride_) return std::nullopt;
    for (unsigned l = 0; l < isa_.lanes; ++l) d.bytes[l] = *known_stride_ * l;
    d.wrap_free = kind_ == Kind::strided || known_wrap_free_;
  } else {
    const ir::LaneTable* table = ctx_.lane_tables.of(inst_.operands[1]);
    if (table == nullptr) return std::nullopt;
    const auto at = [&](unsigned l) { return static_cast<uint32_t>(table->step[first_lane() + l]); };
    for (unsigned l = 0; l < isa_.lanes; ++l) d.bytes[l] = static_cast<int32_t>(at(l) - at(0));
    const uint64_t most = ctx_.shapes.bits().of(inst_.operands[1]).maximum;
    d.wrap_free = table->is_union() || most <= uint64_t{INT32_MAX};
  }
  return d;
}

std::optional<MemoryAccess::Permutation> MemoryAccess::find_permutation(const LaneDistances& distances) {
  if (mem_.count > (load_ ? 4u : 2u)) return std::nullopt;
  const auto& distance = distances.bytes;
  Permutation p;
  p.wrap_free = distances.wrap_free;
  const int64_t most = kMostRegisters * isa_.bytes();
  p.element.fill(VectorIsa::kAnyLane);
  const auto lanes = std::span(distance).first(isa_.lanes);
  const auto [low, high] = std::minmax_element(lanes.begin(), lanes.end());
  if (*low < -most || *high - *low + lane_stride_ > most) return std::nullopt;
  p.first = static_cast<int32_t>(*low);
  p.registers = static_cast<unsigned>((*high - *low + lane_stride_ + isa_.bytes() - 1) / isa_.bytes());
  // Where the lanes' dwords are few among others, what is loaded next is mostly part of several such stores, and waits
  // for all of them.
  if (!load_ && isa_.has_scatter() && p.registers > 3 * mem_.count) return std::nullopt;
  for (unsigned l = 0; l < isa_.lanes; ++l) {
    const int64_t byte = distance[l] - p.first;
    if (byte % 4 != 0) return std::nullopt;
    p.place[l] = static_cast<uint8_t>(byte / 4);
    for (unsigned e = 0; e < mem_.count; ++e) {
      uint8_t& element = p.element[p.place[l] + e];
      // Which of several lanes' stores to a place comes last is for the general path.
      if (!load_ && element != VectorIsa::kAnyLane) return std::nullopt;
      element = static_cast<uint8_t>(l * mem_.count + e);
    }
  }
  return p;
}

bool MemoryAccess::permuted() {
  if (!ctx_.on(Optimisation::permuted_lds)) return false;
  const std::optional<LaneDistances> distances = lane_distances();
  if (!distances) return false;
  const std::optional<Permutation> p = find_permutation(*distances);
  if (!p) return store_runs(*distances);
  int64_t disp = disp_;
  const Gp pointer = first_pointer(p->first, disp);
  if (!active_.full || !p->wrap_free) {
    // The lowest address may be of a lane that is off, or before a wrap: anywhere.
    Gp start = cc_.new_gp64(), size = cc_.new_gp64();
    cc_.lea(start, x86::ptr(pointer, static_cast<int32_t>(disp)));
    cc_.sub(start, ctx_.wave_field(offsetof(WaveState, lds_base), 8));
    cc_.mov(size.r32(), ctx_.wave_field(offsetof(WaveState, lds_size), 4));
    cc_.cmp(start, size);
    to_slow_if(CondCode::kA);
  }
  if (load_) {
    load_permuted(*p, pointer, static_cast<int32_t>(disp));
  } else {
    store_permuted(*p, pointer, static_cast<int32_t>(disp));
  }
  return true;
}

// The address of the first lane, `first` bytes further on, as a register and a displacement, which comes in as that of the
// access.
Gp MemoryAccess::first_pointer(int32_t first, int64_t& disp) {
  if (kind_ == Kind::strided) {
    disp += first;
    return base_;
  }
  const Gp pointer = cc_.new_gp64();
  isa_.low32(pointer, index_.index);
  if (first != 0) cc_.add(pointer.r32(), first);
  cc_.add(pointer, base_);
  return pointer;
}

// Stores of lanes that are further apart: the dwords are brought into the order of their addresses, and stored by as many of
// them as are neighbours. A tile that is transposed on its way into the LDS consists of such rows of four lanes.
bool MemoryAccess::store_runs(const LaneDistances& distances) {
  if (load_ || !active_.full || !distances.wrap_free || mem_.count > 4) return false;
  struct Dword {
    int64_t at;
    uint8_t source;  // in the concatenation of the elements
  };
  std::vector<Dword> dwords;
  for (unsigned e = 0; e < mem_.count; ++e)
    for (unsigned l = 0; l < isa_.lanes; ++l)
      dwords.push_back({distances.bytes[l] + 4 * e, static_cast<uint8_t>(e * isa_.lanes + l)});
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
  if (isa_.has_scatter() && stores > dwords.size() / 2) return false;

  int64_t disp = disp_;
  const Gp pointer = first_pointer(0, disp);
  std::vector<Vec> elements;
  elements.reserve(mem_.count);
  for (unsigned e = 0; e < mem_.count; ++e) elements.push_back(data(e));
  for (size_t first = 0; first < dwords.size(); first += isa_.lanes) {
    std::array<uint8_t, 16> from{};
    for (unsigned i = 0; i < isa_.lanes; ++i) from[i] = dwords[first + i].source;
    const Vec v = isa_.vec();
    isa_.shuffle(v, elements, from);
    for (unsigned g = 0; g < isa_.lanes / 4; ++g) {
      const size_t i = first + size_t{4} * g;
      const auto at = [&](unsigned place) {
        return x86::ptr(pointer, static_cast<int32_t>(disp + dwords[i + place].at));
      };
      if (are_neighbours(i, 4)) {
        ctx_.faults.mark(range(true));
        isa_.store_group(at(0), v, g);
        continue;
      }
      const Vec four = isa_.group(v, g);
      for (unsigned place = 0; place < 4; place += 2) {
        if (are_neighbours(i + place, 2)) {
          ctx_.faults.mark(range(true));
          cc_.emit(place == 0 ? I::kIdVmovlps : I::kIdVmovhps, at(place), four.xmm());
          continue;
        }
        for (unsigned k = place; k < place + 2; ++k) {
          ctx_.faults.mark(range(true));
          cc_.emit(I::kIdVpextrd, at(k), four.xmm(), imm(k));
        }
      }
    }
  }
  return true;
}

void MemoryAccess::load_permuted(const Permutation& p, const Gp& pointer, int32_t disp) {
  std::vector<Vec> memory(p.registers);
  for (unsigned r = 0; r < p.registers; ++r) {
    memory[r] = isa_.vec();
    ctx_.faults.mark(range(true));
    isa_.load(memory[r], x86::ptr(pointer, disp + static_cast<int32_t>(r * isa_.bytes())), nullptr);
  }
  if (wide_.any() && active_.full) {
    for (unsigned pair = 0; pair < mem_.count / 2; ++pair) {
      const Vec64 value = ctx_.dst64(*wide_.pairs[pair], chunk_);
      for (unsigned part = 0; part < 2; ++part)
        shuffle_whole(value.part[part], part, memory, [&](unsigned lane) { return p.place[lane] + 2 * pair; });
    }
    return;
  }
  std::array<uint8_t, 16> from{};
  for (unsigned e = 0; e < mem_.count; ++e) {
    for (unsigned l = 0; l < isa_.lanes; ++l) from[l] = static_cast<uint8_t>(p.place[l] + e);
    const Vec v = active_.full ? result(e) : isa_.vec();
    isa_.shuffle(v, memory, from);
    if (!active_.full) isa_.zero_unless(result(e), active_.mask, v);
  }
  finish_wide();
}

void MemoryAccess::store_permuted(const Permutation& p, const Gp& pointer, int32_t disp) {
  std::vector<Vec> elements;
  elements.reserve(mem_.count);
  for (unsigned e = 0; e < mem_.count; ++e) elements.push_back(data(e));
  const uint32_t all = (1u << isa_.lanes) - 1;
  for (unsigned r = 0; r < p.registers; ++r) {
    std::array<uint8_t, 16> from{}, lane{};  // by place in the register
    uint32_t used = 0;
    for (unsigned i = 0; i < isa_.lanes; ++i) {
      const uint8_t element = p.element[r * isa_.lanes + i];
      from[i] = lane[i] = VectorIsa::kAnyLane;
      if (element == VectorIsa::kAnyLane) continue;
      lane[i] = static_cast<uint8_t>(element / mem_.count);
      from[i] = static_cast<uint8_t>(element % mem_.count * isa_.lanes + lane[i]);
      used |= 1u << i;
    }
    if (used == 0) continue;
    Vec v = isa_.vec();
    isa_.shuffle(v, elements, from);
    const Mem at = x86::ptr(pointer, disp + static_cast<int32_t>(r * isa_.bytes()));
    MaskReg places = isa_.mask();
    if (used != all || !active_.full) isa_.set_mask_const(places, used);
    if (!active_.full) {
      Vec on = isa_.vec();
      const Vec lanes = isa_.mask_vec(active_.mask);
      isa_.shuffle(on, {&lanes, 1}, lane);
      MaskReg some = isa_.mask();
      isa_.cmp32(some, ICmp::slt, on, isa_.const32(0), used == all ? nullptr : &places);
      places = some;
    }
    const bool plain = used == all && active_.full;
    if (!plain) {
      // Loads do not get what they want from a masked store before it is in the cache, and it takes AVX2 processors
      // longer than storing what was there. No other thread sees it.
      const Vec old = isa_.vec();
      ctx_.faults.mark(range(true));
      isa_.load(old, at, nullptr);
      v = isa_.sel(places, v, old);
    }
    ctx_.faults.mark(range(true));
    isa_.store(at, v, nullptr);
  }
}

}  // namespace wavejit::backend
