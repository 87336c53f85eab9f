#include "frontend/interp/profile.h"

#include <algorithm>
#include <array>
#include <bit>

#include "internal/wave_state.h"

namespace wavejit::interp {
namespace {

template <typename F>
void for_each_lane(uint64_t lanes, F&& function) {
  for (; lanes != 0; lanes &= lanes - 1) function(static_cast<unsigned>(std::countr_zero(lanes)));
}

}  // namespace

void InstructionProfile::Groups::add(const Groups& other) {
  count += other.count;
  same += other.same;
  consecutive += other.consecutive;
}

void InstructionProfile::add(const InstructionProfile& other) {
  opcode = other.opcode;
  executed += other.executed;
  lanes += other.lanes;
  taken += other.taken;
  memory.count += other.memory.count;
  memory.same += other.memory.same;
  memory.consecutive += other.memory.consecutive;
  memory.strided += other.memory.strided;
  if (other.memory.strided != 0) memory.stride = other.memory.stride;
  memory.lanes += other.memory.lanes;
  memory.lines += other.memory.lines;
  if (other.memory.count != 0) memory.bytes = other.memory.bytes;
  lds.count += other.lds.count;
  lds.halves += other.lds.halves;
  lds.cycles += other.lds.cycles;
  lds.least += other.lds.least;
  groups.add(other.groups);
}

void add(Profile& sum, const Profile& other) {
  for (const auto& [pc, at] : other) sum[pc].add(at);
}

void add_access(InstructionProfile& at, const uint64_t* addresses, uint64_t lanes, uint32_t bytes) {
  if (lanes == 0) return;
  constexpr uint64_t kLine = 64;
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  const uint64_t second = lanes & (lanes - 1);
  const int64_t distance = second == 0 ? 0
                                       : static_cast<int64_t>(addresses[std::countr_zero(second)] - addresses[first]) /
                                             (std::countr_zero(second) - static_cast<int>(first));
  bool regular = true;
  std::array<uint64_t, size_t{2} * kWaveSize> touched;  // first and last line of each lane; accesses are no longer
  size_t count = 0;
  for_each_lane(lanes, [&](unsigned l) {
    regular &= addresses[l] - addresses[first] == static_cast<uint64_t>(distance * static_cast<int64_t>(l - first));
    touched[count++] = addresses[l] / kLine;
    touched[count++] = (addresses[l] + std::max(bytes, 1u) - 1) / kLine;
  });
  const auto end = touched.begin() + static_cast<ptrdiff_t>(count);
  if (!std::is_sorted(touched.begin(), end)) std::sort(touched.begin(), end);
  at.groups.add(groups_of(std::span<const uint64_t, kWaveSize>(addresses, kWaveSize), lanes, bytes));
  ++at.memory.count;
  at.memory.lanes += static_cast<uint64_t>(std::popcount(lanes));
  at.memory.lines += static_cast<uint64_t>(std::unique(touched.begin(), end) - touched.begin());
  at.memory.bytes = bytes;
  if (!regular) return;
  if (distance == 0) {
    ++at.memory.same;
  } else if (distance == static_cast<int64_t>(bytes)) {
    ++at.memory.consecutive;
  } else {
    ++at.memory.strided;
    at.memory.stride = distance;
  }
}

InstructionProfile::Groups groups_of(std::span<const uint64_t, kWaveSize> addresses, uint64_t lanes, uint32_t bytes) {
  constexpr unsigned kGroup = 4;
  InstructionProfile::Groups sum;
  for (unsigned group = 0; group < kWaveSize; group += kGroup) {
    uint64_t rest = lanes & uint64_t{(1 << kGroup) - 1} << group;
    if ((rest & (rest - 1)) == 0) continue;
    const auto first = static_cast<unsigned>(std::countr_zero(rest));
    rest &= rest - 1;
    const uint64_t lane_distance = static_cast<unsigned>(std::countr_zero(rest)) - first;
    const uint64_t distance = (addresses[std::countr_zero(rest)] - addresses[first]) / lane_distance;
    bool regular = distance <= bytes;
    for_each_lane(rest, [&](unsigned l) { regular &= addresses[l] - addresses[first] == distance * (l - first); });
    ++sum.count;
    if (regular) ++(distance == 0 ? sum.same : sum.consecutive);
  }
  return sum;
}

LdsCycles lds_cycles(const uint32_t* addresses, uint64_t lanes, unsigned dwords) {
  constexpr unsigned kBanks = 32, kHalf = kWaveSize / 2, kMostDwords = 4;
  LdsCycles cycles;
  for (unsigned half = 0; half < 2; ++half) {
    std::array<uint32_t, size_t{kHalf} * kMostDwords> wanted;
    size_t count = 0;
    for_each_lane(lanes >> (half * kHalf) & 0xffffffff, [&](unsigned l) {
      for (unsigned d = 0; d < std::min(dwords, kMostDwords); ++d)
        wanted[count++] = addresses[half * kHalf + l] / 4 + d;
    });
    if (count == 0) continue;
    const auto end = wanted.begin() + static_cast<ptrdiff_t>(count);
    if (!std::is_sorted(wanted.begin(), end)) std::sort(wanted.begin(), end);
    const auto last = std::unique(wanted.begin(), end);
    std::array<unsigned, kBanks> of_bank{};
    std::for_each(wanted.begin(), last, [&](uint32_t dword) { ++of_bank[dword % kBanks]; });
    cycles.taken += *std::max_element(of_bank.begin(), of_bank.end());
    cycles.least += (static_cast<unsigned>(last - wanted.begin()) + kBanks - 1) / kBanks;
  }
  return cycles;
}

}  // namespace wavejit::interp
