#include "backend-x86/regalloc/homes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <vector>

namespace wavejit::backend {
namespace {

// For each position the host registers that are occupied there. Long spans are looked up and taken by runs.
class Occupied {
 public:
  explicit Occupied(uint32_t positions) : at_(positions), runs_(positions / kRun + 1) {}

  // Those of `candidates` that are free all through the span.
  [[nodiscard]] uint32_t free(const LiveSpan& span, uint32_t candidates) const {
    for (uint32_t at = span.begin; at < span.end && candidates != 0;) {
      const Run& run = runs_[at / kRun];
      const uint32_t run_end = (at / kRun + 1) * kRun;
      if (at % kRun == 0 && run_end <= span.end) {
        candidates &= ~run.somewhere;
      } else if ((candidates & run.somewhere) != 0) {
        uint32_t taken = run.everywhere;
        for (const uint32_t end = std::min(span.end, run_end); at < end; ++at) taken |= at_[at];
        candidates &= ~taken;
      }
      at = run_end;
    }
    return candidates;
  }

  void take(const LiveSpan& span, uint32_t host) {
    const uint32_t bit = 1u << host;
    for (uint32_t at = span.begin; at < span.end;) {
      Run& run = runs_[at / kRun];
      const uint32_t run_end = (at / kRun + 1) * kRun;
      run.somewhere |= bit;
      if (at % kRun == 0 && run_end <= span.end) {
        run.everywhere |= bit;
      } else {
        for (const uint32_t end = std::min(span.end, run_end); at < end; ++at) at_[at] |= bit;
      }
      at = run_end;
    }
  }

 private:
  // Of kRun positions together.
  struct Run {
    uint32_t somewhere = 0;   // host registers that are occupied in it
    uint32_t everywhere = 0;  // all through it; the positions do not say so
  };
  static constexpr uint32_t kRun = 32;
  std::vector<uint32_t> at_;
  std::vector<Run> runs_;
};

class Homes {
 public:
  // order: the registers of a group, those that get their homes first in front.
  Homes(Lives& lives, CopyClasses& classes, std::span<const uint32_t> order, uint32_t available)
      : lives_(lives), classes_(classes), available_(available), order_(order), occupied_(lives.positions) {}

  bool run() {
    // What some instruction needs in a certain register first.
    for (const uint32_t reg : order_) {
      const uint8_t hint = life(reg).hint;
      if (hint != kNoRegister && (available_ >> hint & 1) != 0) try_hosts(reg, 1u << hint);
    }
    bool all = true;
    for (const uint32_t reg : order_)
      if (life(reg).home == kNoRegister) all &= try_hosts(reg, allowed(life(reg)));
    for (const uint32_t reg : order_) settle_class(reg);
    for (const uint32_t reg : order_) move_to_class(reg);
    return all;
  }

 private:
  [[nodiscard]] Lifetime& life(uint32_t reg) { return lives_.lives[reg]; }

  // Those of `hosts` that are free all through the register's life.
  [[nodiscard]] uint32_t free_hosts(const Lifetime& life, uint32_t hosts) const {
    lives_.for_each_span(life, [&](const LiveSpan& span) {
      hosts = occupied_.free(span, hosts);
      return hosts != 0;
    });
    return hosts;
  }
  void take(Lifetime& life, uint8_t host) {
    life.home = host;
    lives_.for_each_span(life, [&](const LiveSpan& span) {
      occupied_.take(span, host);
      return true;
    });
  }
  [[nodiscard]] uint32_t allowed(const Lifetime& life) const {
    const uint32_t preferred = available_ & life.preferred;
    return preferred != 0 ? preferred : available_;
  }

  // The one of `hosts` that spares most copies of the class, if its other members get it where it is free for them.
  // Members that have a home keep it unless they may move.
  uint8_t choose(const CopyClasses::Class& one, uint32_t hosts, bool may_move) {
    std::array<float, 32> spared{};
    classes_.for_each_member(one, [&](uint32_t reg) {
      const Lifetime& member = life(reg);
      const bool moves = member.home == kNoRegister || (may_move && member.home != member.hint);
      uint32_t possible = moves ? free_hosts(member, hosts & allowed(member)) : 0;
      if (member.home != kNoRegister) possible |= hosts & 1u << member.home;
      for (; possible != 0; possible &= possible - 1) spared[std::countr_zero(possible)] += classes_.weight(reg);
    });
    auto best = static_cast<uint8_t>(std::countr_zero(hosts));
    for (uint8_t host = best; host < 32; ++host)
      if ((hosts >> host & 1) != 0 && spared[host] > spared[best]) best = host;
    return best;
  }

  bool try_hosts(uint32_t reg, uint32_t hosts) {
    Lifetime& one = life(reg);
    hosts = free_hosts(one, hosts);
    if (hosts == 0) return false;
    CopyClasses::Class* const copies = classes_.of(reg);
    if (copies != nullptr && copies->home != kNoRegister && (hosts >> copies->home & 1) != 0) {
      take(one, copies->home);
      return true;
    }
    if ((hosts & one.clobbers) != 0) hosts &= one.clobbers;
    const uint8_t host =
        copies == nullptr ? static_cast<uint8_t>(std::countr_zero(hosts)) : choose(*copies, hosts, false);
    if (copies != nullptr && copies->home == kNoRegister) copies->home = host;
    take(one, host);
    return true;
  }

  // The first register of a class gets its home when those of the others are unknown. Now the class gets the one among the
  // homes of its members that spares most copies once all members go there for which it is free.
  void settle_class(uint32_t reg) {
    CopyClasses::Class* const copies = classes_.of(reg);
    if (copies == nullptr || copies->first != reg) return;
    uint32_t homes = 0;
    classes_.for_each_member(*copies, [&](uint32_t member) {
      if (life(member).home != kNoRegister) homes |= 1u << life(member).home;
    });
    if (!std::has_single_bit(homes) && homes != 0) copies->home = choose(*copies, homes, true);
  }
  // A register that did not get the home of its class, because others were there, goes to one that members have, if that
  // is free. Its old home stays taken.
  void move_to_class(uint32_t reg) {
    Lifetime& one = life(reg);
    const CopyClasses::Class* const copies = classes_.of(reg);
    if (copies == nullptr || one.home == kNoRegister || one.home == copies->home || one.home == one.hint) return;
    if ((allowed(one) >> copies->home & 1) != 0 && free_hosts(one, 1u << copies->home) != 0) take(one, copies->home);
  }

  Lives& lives_;
  CopyClasses& classes_;
  const uint32_t available_;
  const std::span<const uint32_t> order_;
  Occupied occupied_;
};

}  // namespace

// Sorts numbers whose lower halves ascend, in time proportional to their count.
void sort_by_upper_half(std::vector<uint64_t>& keys) {
  constexpr size_t kFew = 256;
  if (keys.size() < kFew) return std::sort(keys.begin(), keys.end());
  constexpr uint32_t kBits = 11, kDigits = 3;
  std::array<std::array<uint32_t, 1u << kBits>, kDigits> place{};
  const auto digit = [](uint64_t key, uint32_t d) { return key >> (32 + d * kBits) & ((1u << kBits) - 1); };
  for (const uint64_t key : keys)
    for (uint32_t d = 0; d < kDigits; ++d) ++place[d][digit(key, d)];
  std::vector<uint64_t> sorted(keys.size());
  for (uint32_t d = 0; d < kDigits; ++d) {
    std::exclusive_scan(place[d].begin(), place[d].end(), place[d].begin(), 0u);
    for (const uint64_t key : keys) sorted[place[d][digit(key, d)]++] = key;
    keys.swap(sorted);
  }
}

std::array<bool, kGroups> assign_homes(Lives& lives, CopyClasses& classes,
                                       const std::array<uint32_t, kGroups>& available) {
  // The most frequent first; floats that are not negative compare like their bits.
  std::array<std::vector<uint64_t>, kGroups> keys;
  for (size_t i = 0; i < lives.lives.size(); ++i) {
    const Lifetime& life = lives.lives[i];
    keys[life.group].push_back(uint64_t{~std::bit_cast<uint32_t>(life.frequency)} << 32 | i);
  }
  std::array<bool, kGroups> scarce{};
  std::vector<uint32_t> order;
  for (uint32_t group = 0; group < kGroups; ++group) {
    if (keys[group].empty()) continue;
    sort_by_upper_half(keys[group]);
    order.clear();
    for (const uint64_t key : keys[group]) order.push_back(static_cast<uint32_t>(key));
    scarce[group] = !Homes(lives, classes, order, available[group]).run();
  }
  return scarce;
}

}  // namespace wavejit::backend
