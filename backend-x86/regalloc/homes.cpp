#include "backend-x86/regalloc/homes.h"

#include <algorithm>
#include <bit>

namespace wavejit::backend {
namespace {

// For each position the host registers that are occupied there.
class Occupied {
 public:
  explicit Occupied(uint32_t positions) : at_(positions), any_(positions / kRun + 1) {}

  // Those of `candidates` that are free all through the span.
  [[nodiscard]] uint32_t free(const LiveSpan& span, uint32_t candidates) const {
    uint32_t at = span.begin;
    while (at < span.end && candidates != 0) {
      if (at % kRun == 0 && at + kRun <= span.end) {
        candidates &= ~any_[at / kRun];
        at += kRun;
      } else {
        const uint32_t end = std::min(span.end, (at / kRun + 1) * kRun);
        uint32_t taken = 0;
        for (; at < end; ++at) taken |= at_[at];
        candidates &= ~taken;
      }
    }
    return candidates;
  }

  void take(const LiveSpan& span, uint32_t host) {
    const uint32_t bit = 1u << host;
    for (uint32_t at = span.begin; at < span.end; ++at) at_[at] |= bit;
    if (span.begin < span.end)
      for (uint32_t run = span.begin / kRun; run <= (span.end - 1) / kRun; ++run) any_[run] |= bit;
  }

 private:
  static constexpr uint32_t kRun = 32;
  std::vector<uint32_t> at_;
  std::vector<uint32_t> any_;  // of kRun positions together
};

}  // namespace

bool assign_homes(Lives& lives, uint32_t group, uint32_t available) {
  // The most frequent first; floats that are not negative compare like their bits.
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < lives.lives.size(); ++i)
    if (lives.lives[i].group == group)
      keys.push_back(uint64_t{~std::bit_cast<uint32_t>(lives.lives[i].frequency)} << 32 | i);
  if (keys.empty()) return true;
  std::sort(keys.begin(), keys.end());
  std::vector<Lifetime*> order;
  order.reserve(keys.size());
  for (const uint64_t key : keys) order.push_back(&lives.lives[key & UINT32_MAX]);
  Occupied occupied(lives.positions);
  // Those of `hosts` that are free all through the register's life.
  const auto free_hosts = [&](const Lifetime& life, uint32_t hosts) {
    lives.for_each_span(life, [&](const LiveSpan& span) {
      hosts = occupied.free(span, hosts);
      return hosts != 0;
    });
    return hosts;
  };
  const auto take = [&](Lifetime& life, uint8_t host) {
    life.home = host;
    lives.for_each_span(life, [&](const LiveSpan& span) {
      occupied.take(span, host);
      return true;
    });
  };
  const auto home_of_partner = [&](const Lifetime& life) {
    return life.partner == kNoIndex ? kNoRegister : lives.lives[life.partner].home;
  };
  const auto allowed = [&](const Lifetime& life) {
    const uint32_t preferred = available & life.preferred;
    return preferred != 0 ? preferred : available;
  };
  const auto try_hosts = [&](Lifetime& life, uint32_t hosts) {
    hosts = free_hosts(life, hosts);
    if (hosts == 0) return false;
    const uint8_t partner = home_of_partner(life);
    if (partner != kNoRegister && (hosts >> partner & 1) != 0) {
      take(life, partner);
      return true;
    }
    if ((hosts & life.clobbers) != 0) hosts &= life.clobbers;
    take(life, static_cast<uint8_t>(std::countr_zero(hosts)));
    return true;
  };
  // What some instruction needs in a certain register first.
  for (Lifetime* life : order)
    if (life->hint != kNoRegister && (available >> life->hint & 1) != 0) try_hosts(*life, 1u << life->hint);
  bool all = true;
  for (Lifetime* life : order) {
    if (life->home == kNoRegister) all &= try_hosts(*life, allowed(*life));
  }
  // A register that got its home before its partner did moves to the partner's, if that is free. Its old home stays taken.
  for (Lifetime* life : order) {
    const uint8_t partner = home_of_partner(*life);
    if (partner == kNoRegister || partner == life->home || life->home == life->hint) continue;
    if ((allowed(*life) >> partner & 1) != 0 && free_hosts(*life, 1u << partner) != 0) take(*life, partner);
  }
  return all;
}

}  // namespace wavejit::backend
