// The form of profiles on disk. What is in a file may be anything.
#include "runtime/translate/kept_profile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cache_entry.h"

namespace wavejit::runtime {
namespace {

const std::vector<uint8_t> kCode(4096, 0xbf);
const ProfiledCode kOf{.root = 0x10100, .code = kCode, .base = 0x10000};
const std::vector<lift::CodeRange> kRanges = {{0x10100, 0x10200}, {0x10400, 0x10404}};

SampledCode samples() {
  return {{0x10100, {.lanes = {.executed = 10, .lanes = 630}}},
          {0x10108,
           {.lanes = {.executed = 10, .lanes = 640, .groups = 160, .same = 3, .consecutive = 7},
            .accesses = 10,
            .strided = 2,
            .stride = -12}},
          {0x10400, {.lanes = {.executed = 9, .lanes = 9}, .taken = 8}},
          {0x10300, {.lanes = {.executed = 1, .lanes = 1}}}};  // in no range
}

TEST(KeptProfile, ComesBackAsItWas) {
  const auto back = unpack_profile(kOf, pack_profile(kOf, kRanges, samples()));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 3u);
  const InstructionSample& at = back->at(0x10108);
  EXPECT_EQ(at.lanes.executed, 10u);
  EXPECT_EQ(at.lanes.lanes, 640u);
  EXPECT_EQ(at.lanes.groups, 160u);
  EXPECT_EQ(at.lanes.same, 3u);
  EXPECT_EQ(at.lanes.consecutive, 7u);
  EXPECT_EQ(at.accesses, 10u);
  EXPECT_EQ(at.strided, 2u);
  EXPECT_EQ(at.stride, -12);
  EXPECT_EQ(back->at(0x10400).taken, 8u);
  EXPECT_FALSE(back->contains(0x10300));
}

TEST(KeptProfile, ManyExecutionsAreHalved) {
  const SampledCode many = {
      {0x10100, {.lanes = {.executed = (1 << 22) + 1, .lanes = ((1 << 22) + 1) * 64, .groups = 999, .same = 999}}}};
  const auto back = unpack_profile(kOf, pack_profile(kOf, kRanges, many));
  ASSERT_TRUE(back);
  EXPECT_LE(back->at(0x10100).lanes.executed, 1u << 20);
  EXPECT_NEAR(ir::active_lanes(back->at(0x10100).lanes), 64, 0.01);
}

TEST(KeptProfile, OfOtherCodeIsRefused) {
  const std::vector<uint8_t> good = pack_profile(kOf, kRanges, samples());
  std::vector<uint8_t> code = kCode;
  ProfiledCode other = kOf;
  other.code = code;
  code[0x500] ^= 1;
  EXPECT_TRUE(unpack_profile(other, good)) << "no part of it";
  code[0x1ff] ^= 1;
  EXPECT_FALSE(unpack_profile(other, good));
  other.base = 0x20000;
  other.root = 0x20100;
  code[0x1ff] ^= 1;
  const auto moved = unpack_profile(other, good);
  ASSERT_TRUE(moved) << "the same code in another place";
  EXPECT_TRUE(moved->contains(0x20108));
}

TEST(KeptProfile, HostileBytesAreRefused) {
  const std::vector<uint8_t> good = pack_profile(kOf, kRanges, samples());
  for (size_t size = 0; size < good.size() + 100; ++size) {
    std::vector<uint8_t> bad = good;
    bad.resize(size);
    EXPECT_EQ(unpack_profile(kOf, bad).has_value(), size == good.size()) << size;
  }
  // Words of the head and the ranges, then all but the stride of a sample of no access.
  constexpr size_t kHead = 32, kSample = 80;
  const size_t first = kHead + kRanges.size() * sizeof(lift::CodeRange);
  for (size_t word = 0; word + 8 <= good.size(); word += 8) {
    if (word >= first && (word - first) % kSample == kSample - 8) continue;
    std::vector<uint8_t> bad = good;
    std::memset(&bad[word], 0xff, 8);
    EXPECT_FALSE(unpack_profile(kOf, bad)) << word;
  }
  // Two samples of one instruction.
  std::vector<uint8_t> twice = good;
  std::memcpy(&twice[first + kSample], &twice[first], kSample);
  EXPECT_FALSE(unpack_profile(kOf, twice));
  std::mt19937_64 random(1);  // NOLINT(bugprone-random-generator-seed): the same every time
  for (unsigned round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bad = good;
    for (auto changes = 1 + random() % 4; changes != 0; --changes)
      bad[random() % bad.size()] = static_cast<uint8_t>(random());
    fuzz::fuzz_kept_profile(bad);
  }
}

}  // namespace
}  // namespace wavejit::runtime
