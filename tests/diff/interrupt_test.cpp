// S_SENDMSG of MSG_INTERRUPT reaches the host, with M0 and behind the stores before it.
#include "internal/interrupt.h"

#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

#include "tests/support/assembler.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

constexpr const char* kCode = R"(
  s_mov_b32 m0, 0x12345678
  s_mov_b64 exec, 0
  s_sendmsg sendmsg(MSG_INTERRUPT)
  s_mov_b64 exec, -1
  s_mov_b32 s0, 3
loop:
  v_mov_b32_e32 v2, s0
  flat_store_dword v[0:1], v2
  s_mov_b32 m0, s0
  s_sendmsg sendmsg(MSG_INTERRUPT)
  s_sendmsg 10
  s_sub_u32 s0, s0, 1
  s_cmp_lg_u32 s0, 0
  s_cbranch_scc1 loop
  v_mov_b32_e32 v2, 9
  flat_store_dword v[0:1], v2
)";

std::atomic<uint32_t> memory;
// What came, and what was in memory then.
std::vector<std::pair<uint32_t, uint32_t>> heard;

class Interrupts : public testing::TestWithParam<isa::Target> {};

TEST_P(Interrupts, ReachTheHost) {
  const auto code = assemble(GetParam(), kCode);
  ASSERT_TRUE(code) << code.error().message;
  const Snippet snippet(GetParam(), *code);
  const std::vector<std::pair<uint32_t, uint32_t>> expected{{0x345678, 0}, {3, 3}, {2, 2}, {1, 1}};
  g_interrupt_handler.store([](uint32_t data) { heard.emplace_back(data, memory.load()); });
  for (const EngineConfig& engine : host_engines()) {
    memory = 0;
    heard.clear();
    const WavePtr wave = make_wave();
    const auto address = reinterpret_cast<uint64_t>(&memory);
    for (unsigned lane = 0; lane < 64; ++lane) {
      wave->vgpr[0][lane] = static_cast<uint32_t>(address);
      wave->vgpr[1][lane] = static_cast<uint32_t>(address >> 32);
    }
    const Expected<void> ran = run(engine, snippet, *wave);
    ASSERT_TRUE(ran) << engine.name() << ": " << ran.error().message;
    EXPECT_EQ(heard, expected) << engine.name();
    EXPECT_EQ(memory, 9u) << engine.name();
  }
  g_interrupt_handler.store(nullptr);
}

INSTANTIATE_TEST_SUITE_P(Targets, Interrupts,
                         testing::Values(isa::Target::gfx803, isa::Target::gfx906, isa::Target::gfx90a),
                         [](const auto& info) { return std::string(isa::to_string(info.param)); });

}  // namespace
}  // namespace wavejit::test
