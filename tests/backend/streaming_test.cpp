// The one store of a kernel past the caches: which kernels have such code, and what it stores.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "runner.h"

namespace wavejit::backend {
namespace {

constexpr uint32_t kManyItems = std::numeric_limits<uint32_t>::max();
constexpr unsigned kMostElements = 4;

class StreamingStores : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  }
  // `elements` dwords of each lane, those of v0 and so on, to s[8:9] + lane * 4 * elements, under the mask s[10:11];
  // `before` comes in front of the store.
  static std::unique_ptr<ir::Function> stores(unsigned elements, std::string_view before = "") {
    std::string data, operands;
    for (unsigned i = 0; i < elements; ++i) {
      data += fmt::format("  %{}:v32 = get_vgpr #{}\n", 10 + i, i);
      operands += fmt::format(", %{}", 10 + i);
    }
    auto function = ir::parse(fmt::format(R"(
function "streams"
entry 0x100 b0
block b0
  %0:mask = get_mask #10
  %1:i64 = get_sgpr64 #8
  %2:v32 = lane_id
  %3:v32 = const #{:#x}
  %4:v32 = mul %2, %3
{}{}  store [global base_offset 4x{}] %0, %1, %4{}
  exit.end #0x200
)",
                                          4 * elements, data, before, elements, operands));
    if (!function) {
      ADD_FAILURE() << function.error().message;
      return nullptr;
    }
    return std::move(*function);
  }
  static bool streams(std::string_view before) {
    const auto function = stores(1, before);
    const auto code = function ? compile_or_fail(*function, GetParam(), true) : nullptr;
    return code && code->listing().find("vmovntps") != std::string::npos;
  }
};
INSTANTIATE_TEST_SUITE_P(Tiers, StreamingStores, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

// Whatever the launch's size, the address and the lanes, memory holds what an ordinary store leaves.
TEST_P(StreamingStores, StoreTheSame) {
  for (const unsigned elements : {1u, 2u, kMostElements}) {
    const auto function = stores(elements);
    ASSERT_TRUE(function);
    for (const uint32_t items : {uint32_t{0}, kManyItems}) {
      for (const unsigned misplaced : {0u, 4u, 32u}) {
        for (const uint64_t lanes : {~uint64_t{0}, uint64_t{0}, uint64_t{0xffff0000ffff1234}}) {
          SCOPED_TRACE(fmt::format("{} elements, {} items, {} bytes, lanes {:#x}", elements, items, misplaced, lanes));
          constexpr uint32_t kOld = 0xdeadbeef;
          alignas(64) std::array<uint32_t, kWaveSize * kMostElements + 32> memory;
          memory.fill(kOld);
          auto want = memory;
          TestWave wave;
          wave->streamed_items = items;
          wave->set_sgpr64(8, reinterpret_cast<uint64_t>(memory.data()) + misplaced);
          wave->set_sgpr64(10, lanes);
          for (unsigned lane = 0; lane < kWaveSize; ++lane) {
            for (unsigned i = 0; i < elements; ++i) {
              wave->vgpr[i][lane] = 1000 * i + lane;
              if (lanes >> lane & 1) want[misplaced / 4 + lane * elements + i] = 1000 * i + lane;
            }
          }
          EXPECT_EQ(run(*function, GetParam(), wave), ExitReason::kEnd);
          EXPECT_EQ(memory, want);
        }
      }
    }
  }
}

TEST_P(StreamingStores, OnlyWhereTheStoreIsAllThatCanBeSeen) {
  EXPECT_TRUE(streams(""));
  EXPECT_TRUE(streams("  %20:i64 = get_sgpr64 #12\n  %21:v32 = load [global base_offset 4x1] %0, %20, %4\n"));
  EXPECT_FALSE(streams("  store [global base_offset 4x1] %0, %1, %4, %10\n"));
  EXPECT_FALSE(streams("  %20:v32 = atomic [global base_offset 4x1 add] %0, %1, %4, %10\n"));
  EXPECT_FALSE(streams("  fence\n"));
  EXPECT_FALSE(streams("  set_sgpr64 #14 %1\n"));
}

// The line is in the caches already.
TEST_P(StreamingStores, NotWhereTheKernelHasLoadedThePlace) {
  EXPECT_FALSE(streams("  %20:v32 = load [global base_offset 4x1] %0, %1, %4\n"));
}

TEST_P(StreamingStores, NotInLoops) {
  const auto function = ir::parse(R"(
function "loop"
entry 0x100 b0
block b0
  %0:mask = const #0xffffffffffffffff
  %1:i64 = get_sgpr64 #8
  %2:v32 = lane_id
  %3:v32 = const #2
  %4:v32 = shl %2, %3
  %5:i32 = get_sgpr #10
  br b1
block b1 preds b0 b1
  %6:i32 = phi %5, %8
  %7:i32 = const #0xffffffff
  %8:i32 = add %6, %7
  %9:v32 = splat %8
  store [global base_offset 4x1] %0, %1, %4, %9
  %10:i32 = const #0
  %11:i1 = icmp.ne %8, %10
  cond_br %11, b1, b2
block b2 preds b1
  exit.end #0x200
)");
  ASSERT_TRUE(function) << function.error().message;
  const auto code = compile_or_fail(**function, GetParam(), true);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->listing().find("vmovntps"), std::string::npos);
}

}  // namespace
}  // namespace wavejit::backend
