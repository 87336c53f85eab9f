// LDS accesses whose lanes are constant distances apart, in no simple order: butterflies, tree reductions, columns of
// small arrays. The dwords around them are loaded as they are and brought to their lanes by shuffles, and stored the
// other way round. That is for the LDS alone: it is there as a whole, and a work-group has it for itself.
#include <algorithm>

#include "backend-x86/memory_access.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;
using x86::CondCode;

namespace {
// More of them than a gather is worth.
constexpr unsigned kMostRegisters = 4;
static_assert(kMostRegisters * 64 <= kLdsSlack);
}  // namespace

std::optional<MemoryAccess::Permutation> MemoryAccess::find_permutation() {
  if (mem_.form != ir::AddressForm::lds_offset || mem_.bytes != 4 || kind_ == Kind::uniform) return std::nullopt;
  if (mem_.count > (load_ ? 4u : 2u)) return std::nullopt;
  Permutation p;
  std::array<int64_t, 16> distance{};
  if (known_stride_) {
    if (*known_stride_ == lane_stride_) return std::nullopt;
    for (unsigned l = 0; l < isa_.lanes; ++l) distance[l] = *known_stride_ * l;
    p.wrap_free = kind_ == Kind::strided || known_wrap_free_;
  } else {
    const ir::LaneTable* table = e_.lane_tables_.of(inst_.operands[1]);
    if (table == nullptr) return std::nullopt;
    const auto at = [&](unsigned l) { return static_cast<uint32_t>(table->step[first_lane() + l]); };
    for (unsigned l = 0; l < isa_.lanes; ++l) distance[l] = static_cast<int32_t>(at(l) - at(0));
    p.wrap_free = table->is_union();
  }
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
  if (!e_.on(Optimisation::permuted_lds)) return false;
  const std::optional<Permutation> p = find_permutation();
  if (!p) return false;
  Gp pointer = base_;
  int64_t disp = disp_;
  if (kind_ == Kind::strided) {
    disp += p->first;
  } else {
    pointer = cc_.newUInt64();
    isa_.low32(pointer, index_.index);
    if (p->first != 0) cc_.add(pointer.r32(), p->first);
    cc_.add(pointer, base_);
  }
  if (!active_.full || !p->wrap_free) {
    // The lowest address may be of a lane that is off, or before a wrap: anywhere.
    Gp start = cc_.newUInt64(), size = cc_.newUInt64();
    cc_.lea(start, x86::ptr(pointer, static_cast<int32_t>(disp)));
    cc_.sub(start, e_.wave_field(offsetof(WaveState, lds_base), 8));
    cc_.mov(size.r32(), e_.wave_field(offsetof(WaveState, lds_size), 4));
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

void MemoryAccess::load_permuted(const Permutation& p, const Gp& pointer, int32_t disp) {
  std::vector<Vec> memory(p.registers);
  for (unsigned r = 0; r < p.registers; ++r) {
    memory[r] = isa_.vec();
    e_.faults_.mark(range(true));
    isa_.load(memory[r], x86::ptr(pointer, disp + static_cast<int32_t>(r * isa_.bytes())), nullptr);
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
      e_.faults_.mark(range(true));
      isa_.load(old, at, nullptr);
      v = isa_.sel(places, v, old);
    }
    e_.faults_.mark(range(true));
    isa_.store(at, v, nullptr);
  }
}

}  // namespace wavejit::backend
