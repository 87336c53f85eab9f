// How accesses are classified in profiles.
#include "frontend/interp/profile.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "internal/wave_state.h"

namespace wavejit::interp {
namespace {

InstructionProfile accessed(const std::function<uint64_t(unsigned lane)>& address, uint64_t lanes, uint32_t bytes) {
  std::array<uint64_t, kWaveSize> addresses;
  addresses.fill(0x123);  // what lanes that are off hold does not matter
  for (unsigned l = 0; l < kWaveSize; ++l)
    if ((lanes >> l & 1) != 0) addresses[l] = address(l);
  InstructionProfile at;
  add_access(at, addresses.data(), lanes, bytes);
  return at;
}

constexpr uint64_t kAll = ~uint64_t{0}, kBase = 0x10000;

TEST(Profile, PatternsOfAccesses) {
  const auto forward = accessed([](unsigned l) { return kBase + 4 * l; }, kAll, 4).memory;
  EXPECT_EQ(forward.consecutive, 1u);
  EXPECT_EQ(forward.same + forward.strided, 0u);
  EXPECT_EQ(forward.lines, 4u);
  EXPECT_EQ(forward.lanes, 64u);
  EXPECT_EQ(forward.bytes, 4u);
  const auto same = accessed([](unsigned) { return kBase + 60; }, 0xff00, 8).memory;
  EXPECT_EQ(same.same, 1u);
  EXPECT_EQ(same.lines, 2u);  // across an edge
  EXPECT_EQ(same.lanes, 8u);
  const auto one = accessed([](unsigned l) { return kBase + l; }, 1u << 17, 4).memory;
  EXPECT_EQ(one.same, 1u);
  const auto backward = accessed([](unsigned l) { return kBase - 12 * uint64_t{l}; }, kAll, 4).memory;
  EXPECT_EQ(backward.strided, 1u);
  EXPECT_EQ(backward.stride, -12);
  // Every second lane.
  const auto gaps = accessed([](unsigned l) { return kBase + 4 * l; }, 0x5555555555555555, 4).memory;
  EXPECT_EQ(gaps.consecutive, 1u);
  EXPECT_EQ(gaps.lines, 4u);
  const auto scattered = accessed([](unsigned l) { return kBase + uint64_t{l} * l * 64; }, kAll, 4).memory;
  EXPECT_EQ(scattered.consecutive + scattered.same + scattered.strided, 0u);
  EXPECT_EQ(scattered.count, 1u);
  EXPECT_EQ(scattered.lines, 64u);
  // The last lane decides.
  const auto almost = accessed([](unsigned l) { return kBase + (l == 63 ? 0 : 4 * l); }, kAll, 4).memory;
  EXPECT_EQ(almost.consecutive, 0u);
  EXPECT_EQ(accessed([](unsigned) { return kBase; }, 0, 4).memory.count, 0u);
}

InstructionProfile::Groups groups(const std::function<uint64_t(unsigned lane)>& address, uint64_t lanes,
                                  uint32_t bytes = 4) {
  return accessed(address, lanes, bytes).groups;
}

TEST(Profile, GroupsOfFourLanes) {
  const auto consecutive = groups([](unsigned l) { return kBase + 4 * l; }, kAll);
  EXPECT_EQ(consecutive.count, 16u);
  EXPECT_EQ(consecutive.consecutive, 16u);
  EXPECT_EQ(consecutive.same, 0u);
  // Rows of eight lanes that lie anywhere: neighbours are what counts.
  const auto rows = groups([](unsigned l) { return kBase + 1000 * (l / 8 * 5 % 8) + 4 * (l % 8); }, kAll);
  EXPECT_EQ(rows.consecutive, 16u);
  const auto same = groups([](unsigned l) { return kBase + 1000 * (l / 4); }, kAll);
  EXPECT_EQ(same.same, 16u);
  EXPECT_EQ(same.consecutive, 0u);
  // Further apart than an access, or backward, is neither.
  for (const int distance : {8, -4}) {
    const auto other = groups([&](unsigned l) { return kBase + static_cast<uint64_t>(distance * int(l)); }, kAll);
    EXPECT_EQ(other.count, 16u) << distance;
    EXPECT_EQ(other.consecutive + other.same, 0u) << distance;
  }
  EXPECT_EQ(groups([](unsigned l) { return kBase + 4 * l; }, kAll, 8).consecutive, 16u) << "which overlap";
  // Lanes that are off do not count, and a lane alone is no group.
  EXPECT_EQ(groups([](unsigned l) { return kBase + 4 * l; }, 0x1111111111111111).count, 0u);
  const auto gaps = groups([](unsigned l) { return kBase + (l % 2 == 0 ? 4 * l : 0); }, 0x5555);
  EXPECT_EQ(gaps.count, 4u);
  EXPECT_EQ(gaps.consecutive, 4u);
  // The last lane of a group decides.
  EXPECT_EQ(groups([](unsigned l) { return kBase + (l == 11 ? 0 : 4 * l); }, kAll).consecutive, 15u);
}

TEST(Profile, SumsKeepTheLastStride) {
  InstructionProfile sum = accessed([](unsigned l) { return kBase + 16 * l; }, kAll, 4);
  sum.executed = 3;
  InstructionProfile other = accessed([](unsigned l) { return kBase + 4 * l; }, kAll, 4);
  other.executed = 4;
  other.lanes = 100;
  other.taken = 2;
  other.opcode = isa::Opcode::s_nop;
  other.lds = {.count = 1, .halves = 2, .cycles = 5, .least = 3};
  sum.add(other);
  EXPECT_EQ(sum.executed, 7u);
  EXPECT_EQ(sum.lanes, 100u);
  EXPECT_EQ(sum.taken, 2u);
  EXPECT_EQ(sum.memory.count, 2u);
  EXPECT_EQ(sum.memory.strided, 1u);
  EXPECT_EQ(sum.memory.stride, 16);
  EXPECT_EQ(sum.memory.lines, 20u);
  EXPECT_EQ(sum.lds.cycles, 5u);
  EXPECT_EQ(sum.lds.least, 3u);
  EXPECT_EQ(sum.groups.count, 32u);
  EXPECT_EQ(sum.groups.consecutive, 16u);
  EXPECT_EQ(sum.opcode, isa::Opcode::s_nop);
}

LdsCycles all_cycles(const std::function<uint32_t(unsigned lane)>& address, uint64_t lanes, unsigned dwords) {
  std::array<uint32_t, kWaveSize> addresses;
  for (unsigned l = 0; l < kWaveSize; ++l) addresses[l] = address(l);
  return lds_cycles(addresses.data(), lanes, dwords);
}

unsigned cycles(const std::function<uint32_t(unsigned lane)>& address, uint64_t lanes) {
  return all_cycles(address, lanes, 1).taken;
}

TEST(Profile, BanksOfTheLds) {
  EXPECT_EQ(cycles([](unsigned l) { return 4 * l; }, kAll), 2u);
  EXPECT_EQ(cycles([](unsigned) { return 64; }, kAll), 2u);   // one dword for all
  EXPECT_EQ(cycles([](unsigned l) { return l; }, kAll), 2u);  // four lanes in a dword
  EXPECT_EQ(cycles([](unsigned l) { return 8 * l; }, kAll), 4u);
  EXPECT_EQ(cycles([](unsigned l) { return 128 * l; }, kAll), 64u);
  EXPECT_EQ(cycles([](unsigned l) { return 132 * l; }, kAll), 2u);  // a row of padding
  EXPECT_EQ(cycles([](unsigned l) { return 128 * l; }, 0xffff), 16u);
  EXPECT_EQ(cycles([](unsigned l) { return 128 * l; }, uint64_t{7} << 40), 3u);
  EXPECT_EQ(cycles([](unsigned l) { return l; }, 0), 0u);
}

// More than a dword of each lane takes more cycles than one, which is no conflict.
TEST(Profile, WideAccessesToTheLds) {
  for (const unsigned dwords : {1u, 2u, 3u, 4u}) {
    const LdsCycles next = all_cycles([&](unsigned l) { return 4 * dwords * l; }, kAll, dwords);
    EXPECT_EQ(next.taken, 2 * dwords);
    EXPECT_EQ(next.least, 2 * dwords);
    const LdsCycles rows = all_cycles([](unsigned l) { return 128 * l; }, kAll, dwords);
    EXPECT_EQ(rows.taken, 64u);
    EXPECT_EQ(rows.least, 2 * dwords);
    const LdsCycles same = all_cycles([](unsigned) { return 256; }, kAll, dwords);
    EXPECT_EQ(same.taken, 2u);
    EXPECT_EQ(same.least, 2u);
  }
  EXPECT_EQ(all_cycles([](unsigned l) { return 16 * (l ^ 3); }, 0xff, 4).taken, 1u);
}

}  // namespace
}  // namespace wavejit::interp
