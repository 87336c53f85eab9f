#include "backend-x86/regalloc/checker_state.h"

#include <algorithm>
#include <tuple>

namespace wavejit::backend {
namespace {

bool overlap(const CheckerState::Slot& a, const CheckerState::Slot& b) {
  return a.at < b.at + static_cast<int32_t>(b.bytes) && b.at < a.at + static_cast<int32_t>(a.bytes);
}

bool contains(const std::vector<uint32_t>& sorted, uint32_t reg) {
  return std::binary_search(sorted.begin(), sorted.end(), reg);
}

}  // namespace

bool meet(KeptState& state, const KeptState& other) {
  std::vector<KeptValue> values;
  values.reserve(state.values.size());
  const auto key = [](const KeptValue& value) { return std::tie(value.place, value.reg); };
  auto a = state.values.begin();
  auto b = other.values.begin();
  while (a != state.values.end() || b != other.values.end()) {
    if (b == other.values.end() || (a != state.values.end() && key(*a) < key(*b))) {
      if (contains(other.undefined, a->reg)) values.push_back(*a);
      ++a;
    } else if (a == state.values.end() || key(*b) < key(*a)) {
      if (contains(state.undefined, b->reg)) values.push_back(*b);
      ++b;
    } else {
      const uint64_t held = a->held & b->held;
      if (held != 0) values.push_back({.place = a->place, .reg = a->reg, .held = held, .zero = a->zero & b->zero});
      ++a;
      ++b;
    }
  }
  std::vector<uint32_t> undefined;
  std::set_intersection(state.undefined.begin(), state.undefined.end(), other.undefined.begin(), other.undefined.end(),
                        std::back_inserter(undefined));
  if (values == state.values && undefined == state.undefined) return false;
  state.values = std::move(values);
  state.undefined = std::move(undefined);
  return true;
}

void CheckerState::load(const KeptState& state) {
  next = state.next;
  stack = state.stack;
  for_each_used([&](uint32_t place) { places_[place].clear(); });
  std::fill(used_.begin(), used_.end(), 0);
  for (const uint32_t reg : undefined_list_) undefined_[reg] = 0;
  undefined_list_ = state.undefined;
  for (const uint32_t reg : undefined_list_) undefined_[reg] = versions_[reg] + 1;
  for (const KeptValue& value : state.values)
    put(value.place, {.reg = value.reg, .version = versions_[value.reg], .held = value.held, .zero = value.zero});
}

void CheckerState::save(KeptState& state, const RecordedProgram& program) {
  state.next = next;
  state.stack = stack;
  state.values.clear();
  state.undefined.clear();
  for_each_used([&](uint32_t place) {
    std::vector<HeldValue>& held = places_[place];
    std::erase_if(held, [&](const HeldValue& value) { return !is_current(value); });
    if (held.size() > 1)
      std::sort(held.begin(), held.end(), [](const HeldValue& a, const HeldValue& b) { return a.reg < b.reg; });
    for (const HeldValue& value : held)
      if (program.is_global(value.reg))
        state.values.push_back({.place = place, .reg = value.reg, .held = value.held, .zero = value.zero});
  });
  for (const uint32_t reg : undefined_list_)
    if (is_undefined(reg)) state.undefined.push_back(reg);
}

uint32_t CheckerState::slot(int32_t at, uint32_t bytes) {
  const auto [it, is_new] = by_address_.try_emplace(at, static_cast<uint32_t>(slots_.size()));
  const uint32_t index = it->second;
  if (is_new) {
    slots_.push_back({.at = at, .bytes = 0});
    overlaps_.emplace_back();
    places_.emplace_back();
    if (places_.size() > used_.size() * 64) used_.push_back(0);
  }
  Slot& slot = slots_[index];
  if (bytes > slot.bytes) {
    slot.bytes = bytes;
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      const auto known = [&] {
        return std::find(overlaps_[index].begin(), overlaps_[index].end(), kHostRegisters + i) !=
               overlaps_[index].end();
      };
      if (i == index || !overlap(slot, slots_[i]) || known()) continue;
      overlaps_[index].push_back(kHostRegisters + i);
      overlaps_[i].push_back(kHostRegisters + index);
    }
  }
  return kHostRegisters + index;
}

const HeldValue* CheckerState::find(uint32_t place, uint32_t reg) const {
  for (const HeldValue& value : places_[place])
    if (value.reg == reg && is_current(value)) return &value;
  return nullptr;
}

bool CheckerState::holds(uint32_t place, uint32_t reg, uint64_t bytes) const {
  const HeldValue* value = find(place, reg);
  return (value != nullptr && (bytes & ~value->held) == 0) || is_undefined(reg);
}

void CheckerState::put(uint32_t place, const HeldValue& value) {
  places_[place].push_back(value);
  last_places_[value.reg] = place;
  used_[place / 64] |= uint64_t{1} << place % 64;
}

void CheckerState::clear(uint32_t place) {
  places_[place].clear();
  if (place < kHostRegisters) return;
  for (const uint32_t other : overlaps_[place - kHostRegisters]) places_[other].clear();
}

void CheckerState::define(uint32_t reg, uint32_t place, uint64_t held, uint64_t zero) {
  ++versions_[reg];
  clear(place);
  put(place, {.reg = reg, .version = versions_[reg], .held = held, .zero = zero});
}

void CheckerState::define_as_copy(uint32_t to, uint32_t from, uint64_t copied, uint64_t zeroed) {
  const bool undefined = is_undefined(from);
  copied_.clear();
  copied_to_.clear();
  for_each_used([&](uint32_t place) {
    const HeldValue* value = find(place, from);
    if (value == nullptr) return;
    const HeldValue* old = find(place, to);
    const uint64_t kept = old != nullptr ? ~(copied | zeroed) : 0;
    copied_to_.push_back(place);
    copied_.push_back({.reg = to,
                       .version = 0,
                       .held = (value->held & (copied | (zeroed & value->zero))) | (kept != 0 ? old->held & kept : 0),
                       .zero = zeroed | (value->zero & copied) | (kept != 0 ? old->zero & kept : 0)});
  });
  ++versions_[to];
  for (size_t i = 0; i < copied_.size(); ++i) {
    copied_[i].version = versions_[to];
    put(copied_to_[i], copied_[i]);
  }
  if (!undefined) return;
  undefined_[to] = versions_[to] + 1;
  const auto at = std::lower_bound(undefined_list_.begin(), undefined_list_.end(), to);
  if (at == undefined_list_.end() || *at != to) undefined_list_.insert(at, to);
}

void CheckerState::copy(uint32_t to, uint32_t from, uint32_t bytes, bool extends) {
  if (to == from && !extends) return;
  copied_ = places_[from];
  clear(to);
  const uint64_t low = low_bytes(bytes);
  for (HeldValue& value : copied_) {
    if (!is_current(value)) continue;
    value.held = (value.held & low) | (extends ? value.zero & ~low : 0);
    put(to, value);
  }
}

void CheckerState::exchange(uint32_t a, uint32_t b, uint32_t bytes) {
  exchanged_ = places_[a];
  copy(a, b, bytes, true);
  std::swap(exchanged_, places_[b]);
  copy(b, b, bytes, true);
}

void CheckerState::forget(uint32_t place, uint32_t kept_bytes, bool zeroes) {
  if (kept_bytes == 0) return clear(place);
  const uint64_t low = low_bytes(kept_bytes);
  for (HeldValue& value : places_[place]) value.held = (value.held & low) | (zeroes ? value.zero & ~low : 0);
}

std::vector<uint32_t> CheckerState::places_of(uint32_t reg) const {
  std::vector<uint32_t> places;
  for (uint32_t place = 0; place < places_.size(); ++place)
    if (find(place, reg) != nullptr) places.push_back(place);
  return places;
}

}  // namespace wavejit::backend
