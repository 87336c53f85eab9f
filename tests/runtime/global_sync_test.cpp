// Work-groups that wait for each other: global wave sync (GWS) and ordered counts. Expected values follow from the ISA
// manuals' descriptions of DS_GWS_* and DS_ORDERED_COUNT.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

struct Parameter {
  std::string target;
  TestEngine engine;
};

class GlobalSync : public testing::TestWithParam<Parameter> {
 protected:
  // Runs the kernel's groups; the message if it fails.
  static std::string run(const Module& module, const char* name, unsigned groups, unsigned group, unsigned threads,
                         Buffer<uint32_t>* out = nullptr, wavejit_status expected = WAVEJIT_OK,
                         wavejit_device* device = nullptr) {
    Kernel kernel = module.kernel(name);
    if (out) kernel.set_args(*out);
    LaunchOptions options = launch_options(GetParam().engine, groups * group, group, threads);
    options.device = device;
    try {
      (void)kernel.launch(options);
      EXPECT_EQ(expected, WAVEJIT_OK) << name << " ended";
      return {};
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), expected) << e.what();
      return e.what();
    }
  }
};

constexpr const char* kGroupId = "  .amdhsa_system_sgpr_workgroup_id_x 1\n";

// One wave that gives resource `number` the counter.
KernelSource init(unsigned number, unsigned counter) {
  return {.name = "init",
          .body = fmt::format("  s_mov_b32 m0, 0\n  v_mov_b32_e32 v8, {}\n  s_nop 0\n  ds_gws_init v8 offset:{} gds\n"
                              "  s_waitcnt lgkmcnt(0)\n",
                              counter, number),
          .args = {}};
}

// All items of the grid write, wait for all others, read the item at the other end, wait again and write.
KernelSource grid_barrier(unsigned groups, unsigned group) {
  return {.name = "grid_barrier",
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mul_i32 s6, s2, {group}
  v_mov_b32_e32 v3, 0
  add_co v1, s6, v0
  v_lshlrev_b32_e32 v2, 2, v1
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  add_co v6, s4, v2
  addc v7, v4, v3
  v_not_b32_e32 v5, v1
  s_mov_b32 s9, {items}
  add_co v5, s9, v5
  v_lshlrev_b32_e32 v5, 2, v5
  add_co v8, s4, v5
  addc v9, v4, v3
  v_mov_b32_e32 v10, v1
  store v[6:7], v10
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_barrier
  s_mov_b32 m0, 0
  v_mov_b32_e32 v12, {waves}
  ds_gws_barrier v12 offset:5 gds
  s_waitcnt lgkmcnt(0)
  flat_load_dword v14, v[8:9]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_gws_barrier v12 offset:5 gds
  s_waitcnt lgkmcnt(0)
  s_movk_i32 s9, 0x1000
  add_co v14, s9, v14
  store v[6:7], v14
)",
                              fmt::arg("group", group), fmt::arg("items", groups * group),
                              fmt::arg("waves", groups * ((group + 63) / 64) - 1)),
          .directives = kGroupId,
          .args = {{"out"}}};
}

TEST_P(GlobalSync, BarrierOfTheWholeGrid) {
  for (const auto& [groups, group] : {std::pair{1u, 64u}, {2u, 256u}, {13u, 128u}, {40u, 64u}}) {
    const unsigned waves = groups * group / 64;
    const Module module = load(GetParam().target, {init(5, waves - 1), grid_barrier(groups, group)});
    for (const unsigned threads : {1u, 2u, 5u}) {
      SCOPED_TRACE(fmt::format("{} groups of {}, {} threads", groups, group, threads));
      run(module, "init", 1, 64, 1);
      Buffer<uint32_t> out(groups * group);
      run(module, "grid_barrier", groups, group, threads, &out);
      for (unsigned i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 0x1000 + out.size() - 1 - i) << i;
    }
  }
}

// A wave that does not come, and then one that does.
TEST_P(GlobalSync, DeadlocksAreErrors) {
  const Module module = load(GetParam().target, {init(5, 3), grid_barrier(3, 64)});
  for (const unsigned threads : {1u, 3u}) {
    run(module, "init", 1, 64, 1);
    Buffer<uint32_t> out(192);
    const std::string message = run(module, "grid_barrier", 3, 64, threads, &out, WAVEJIT_TIMEOUT);
    EXPECT_NE(message.find(threads == 1 ? "3 waves wait" : "waves wait"), std::string::npos) << message;
    EXPECT_NE(message.find("grid_barrier"), std::string::npos) << message;
  }
  const Module good = load(GetParam().target, {init(5, 2), grid_barrier(3, 64)});
  run(good, "init", 1, 64, 1);
  Buffer<uint32_t> out(192);
  run(good, "grid_barrier", 3, 64, 1, &out);
  EXPECT_EQ(out[0], 0x1000u + 191);
}

TEST_P(GlobalSync, MoreWavesThanADeviceHolds) {
  if (kSignalsAreHeldBack) GTEST_SKIP() << "ThreadSanitizer leaves too little address space for the arenas";
  const Module module = load(GetParam().target, {init(5, 2999), grid_barrier(3000, 64)});
  run(module, "init", 1, 64, 1);
  Buffer<uint32_t> out(3000 * 64);
  const std::string message = run(module, "grid_barrier", 3000, 64, 1, &out, WAVEJIT_TIMEOUT);
  EXPECT_NE(message.find("ds_gws_barrier"), std::string::npos) << message;
}

// Each has resources of its own, and room of its own.
TEST_P(GlobalSync, Devices) {
  const auto barriers = [&](unsigned groups) {
    const Device device;
    const Module module = load(GetParam().target, {init(5, groups - 1), grid_barrier(groups, 64)});
    for (unsigned round = 0; round < 5; ++round) {
      run(module, "init", 1, 64, 1, nullptr, WAVEJIT_OK, device.handle());
      Buffer<uint32_t> out(groups * 64);
      run(module, "grid_barrier", groups, 64, 2, &out, WAVEJIT_OK, device.handle());
      for (unsigned i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 0x1000 + out.size() - 1 - i) << i;
    }
  };
  std::thread other(barriers, 9);
  barriers(14);
  other.join();

  const Device small(8);
  const Module module = load(GetParam().target, {init(5, 11), grid_barrier(12, 64)});
  run(module, "init", 1, 64, 1, nullptr, WAVEJIT_OK, small.handle());
  Buffer<uint32_t> out(12 * 64);
  const std::string message = run(module, "grid_barrier", 12, 64, 1, &out, WAVEJIT_TIMEOUT, small.handle());
  EXPECT_NE(message.find("ds_gws_barrier"), std::string::npos) << message;
}

// The last of `groups` work-groups lets the others go, which then read what it has written.
KernelSource semaphore(unsigned groups, std::string_view release) {
  return {.name = "semaphore",
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s4
  v_mov_b32_e32 v5, s5
  s_mov_b32 m0, 0x70000
  s_mov_b64 exec, 1
  s_cmp_eq_u32 s2, {last}
  s_cbranch_scc1 .Llast
  ds_gws_sema_p offset:2 gds
  s_waitcnt lgkmcnt(0)
  flat_load_dword v8, v[4:5]
  v_mov_b32_e32 v2, 4
  v_mul_lo_u32 v2, v2, s2
  s_waitcnt vmcnt(0) lgkmcnt(0)
  add_co v6, s4, v2
  addc v7, v5, v3
  store v[6:7], v8
  s_endpgm
.Llast:
  v_mov_b32_e32 v8, 77
  store v[4:5], v8
  s_waitcnt vmcnt(0) lgkmcnt(0)
{release}
)",
                              fmt::arg("last", groups), fmt::arg("release", release)),
          .directives = kGroupId,
          .args = {{"out"}}};
}

TEST_P(GlobalSync, Semaphores) {
  // M0[21:16] + offset: resource 9. Six waves wait for it.
  std::vector<std::string> releases = {
      "  ds_gws_sema_v offset:2 gds\n  ds_gws_sema_v offset:2 gds\n  ds_gws_sema_v offset:2 gds\n"
      "  v_mov_b32_e32 v10, 3\n  ds_gws_sema_br v10 offset:2 gds\n",
      "  v_mov_b32_e32 v10, 6\n  ds_gws_sema_br v10 offset:66 gds\n"};
  if (GetParam().target != "gfx600") releases.emplace_back("  ds_gws_sema_release_all offset:2 gds\n");
  for (const std::string& release : releases) {
    SCOPED_TRACE(release);
    const Module module = load(GetParam().target, {init(9, 0), semaphore(6, release)});
    // All wait before the last group begins: on more threads it might come early, and "all" be fewer.
    for (const unsigned threads : {1u, 3u}) {
      if (threads > 1 && release.find("release_all") != std::string::npos) continue;
      run(module, "init", 1, 64, 1);
      Buffer<uint32_t> out(6);
      run(module, "semaphore", 7, 64, threads, &out);
      for (unsigned i = 0; i < 6; ++i) EXPECT_EQ(out[i], 77u) << i;
    }
  }
}

// What the counter holds lets that many pass; the next one waits for good.
TEST_P(GlobalSync, CountersOfSemaphores) {
  KernelSource pass{.name = "pass", .body = "  s_mov_b32 m0, 0\n", .args = {}};
  for (unsigned i = 0; i < 3; ++i) pass.body += "  ds_gws_sema_p offset:63 gds\n";
  KernelSource more = pass;
  more.name = "more";
  more.body += "  ds_gws_sema_p offset:63 gds\n";
  const Module module = load(GetParam().target, {init(63, 3), pass, more});
  run(module, "init", 1, 64, 1);
  run(module, "pass", 1, 64, 1);
  run(module, "init", 1, 64, 1);
  const std::string message = run(module, "more", 1, 64, 1, nullptr, WAVEJIT_TIMEOUT);
  EXPECT_NE(message.find("1 waves wait"), std::string::npos) << message;
}

// Vector instructions are not executed while MODE.vskip is set (S_SETVSKIP), these neither.
TEST_P(GlobalSync, Vskip) {
  const KernelSource k{.name = "skips",
                       .body =
                           "  s_mov_b32 m0, 0\n  s_setvskip 1, 0\n  ds_gws_sema_p offset:11 gds\n"
                           "  s_setvskip 0, 0\n",
                       .args = {}};
  const Module module = load(GetParam().target, {init(11, 0), k});
  run(module, "init", 1, 64, 1);
  run(module, "skips", 1, 64, 1);
}

// Work-group i has number `groups` - 1 - i (or i) in the order and counts i + 1; what it gets goes to out[i].
KernelSource ordered(unsigned groups, bool reversed, unsigned instruction) {
  return {.name = "ordered",
          .body = fmt::format(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v3, 0
  s_lshl_b32 s6, s2, 2
  v_mov_b32_e32 v2, s6
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v5, s5
  add_co v6, s4, v2
  addc v7, v5, v3
  s_sub_u32 s7, {last}, s2
  s_mov_b32 s8, {reversed}
  s_cmp_eq_u32 s8, 1
  s_cselect_b32 s7, s7, s2
  s_or_b32 m0, s7, 0x1000000
  s_add_u32 s7, s2, 1
  v_mov_b32_e32 v8, 99
  v_mov_b32_e32 v10, 0
  s_mov_b64 exec, 0xf0
  v_mov_b32_e32 v8, s7
  s_mov_b64 exec, 0xff
  v_cmp_lt_u32_e32 vcc, 3, v0
  s_mov_b64 exec, vcc
  ds_ordered_count v10, v8 offset:{offset} gds
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, 0x80
  store v[6:7], v10
)",
                              fmt::arg("last", groups - 1), fmt::arg("reversed", reversed ? 1 : 0),
                              fmt::arg("offset", 8 + ((1 + 2 + (instruction << 4)) << 8))),
          .directives = kGroupId,
          .args = {{"out"}}};
}

// Dword at byte 0x108 of the GDS.
KernelSource set_gds(uint32_t value) {
  return {.name = "set_gds",
          .body = fmt::format("  s_mov_b32 m0, 0x1000\n  v_mov_b32_e32 v2, 0x108\n  v_mov_b32_e32 v4, {}\n"
                              "  s_mov_b64 exec, 1\n  ds_write_b32 v2, v4 gds\n  s_waitcnt lgkmcnt(0)\n",
                              value),
          .args = {}};
}

TEST_P(GlobalSync, OrderedCount) {
  if (GetParam().target == "gfx90a") return;  // has none
  constexpr unsigned kGroups = 50;
  for (const bool reversed : {false, true})
    for (const unsigned instruction : {0u, 1u})
      for (const unsigned threads : {1u, 3u}) {
        SCOPED_TRACE(fmt::format("{} {} on {} threads", reversed ? "reversed" : "in order", instruction, threads));
        const Module module = load(GetParam().target, {set_gds(1000), ordered(kGroups, reversed, instruction)});
        run(module, "set_gds", 1, 64, 1);
        Buffer<uint32_t> out(kGroups);
        run(module, "ordered", kGroups, 64, threads, &out);
        uint32_t memory = 1000;
        for (unsigned turn = 0; turn < kGroups; ++turn) {
          const unsigned i = reversed ? kGroups - 1 - turn : turn;
          ASSERT_EQ(out[i], memory) << i;
          memory = instruction == 0 ? memory + i + 1 : i + 1;
        }
      }
}

// Turns have 16 bits: after number 65,535 comes number 0. One wave takes them all, and one more.
TEST_P(GlobalSync, OrderedCountWrapsAround) {
  if (GetParam().target == "gfx90a") return;
  const KernelSource k{.name = "wraps_around",
                       .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 s6, 0
  s_mov_b64 exec, 1
  v_mov_b32_e32 v8, 1
  v_mov_b32_e32 v10, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v6, s4
  v_mov_b32_e32 v7, s5
.Lagain:
  s_and_b32 s7, s6, 0xffff
  s_or_b32 m0, s7, 0x1000000
  s_nop 0
  ds_ordered_count v10, v8 offset:0x108 gds
  s_waitcnt lgkmcnt(0)
  s_add_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0x10001
  s_cbranch_scc1 .Lagain
  store v[6:7], v10
)",
                       .args = {{"out"}}};
  const Module module = load(GetParam().target, {set_gds(1000), k});
  run(module, "set_gds", 1, 64, 1);
  Buffer<uint32_t> out(1);
  run(module, "wraps_around", 1, 64, 1, &out);
  EXPECT_EQ(out[0], 1000u + 0x10000);
}

// Number 1 never has its turn, as number 0 does not release it.
TEST_P(GlobalSync, OrderedCountWithoutRelease) {
  if (GetParam().target == "gfx90a") return;
  const KernelSource k{.name = "keeps",
                       .body = "  s_mov_b32 m0, s2\n  v_mov_b32_e32 v8, 1\n  ds_ordered_count v10, v8 offset:16 gds\n",
                       .directives = kGroupId,
                       .args = {}};
  const Module module = load(GetParam().target, {k});
  run(module, "keeps", 1, 64, 1);
  const std::string message = run(module, "keeps", 2, 64, 1, nullptr, WAVEJIT_TIMEOUT);
  EXPECT_NE(message.find("keeps"), std::string::npos) << message;
  // OFFSET1[5:4]: only add and exchange.
  const KernelSource wrap{
      .name = "wraps", .body = "  s_mov_b32 m0, 0\n  ds_ordered_count v10, v8 offset:0x3100 gds\n", .args = {}};
  const std::string unsupported = run(load(GetParam().target, {wrap}), "wraps", 1, 64, 1, nullptr, WAVEJIT_UNSUPPORTED);
  EXPECT_NE(unsupported.find("ds_ordered_count"), std::string::npos) << unsupported;
}

std::vector<Parameter> parameters() {
  std::vector<Parameter> all;
  for (const TestEngine& engine : engines_and_auto())
    for (const char* target : {"gfx803", "gfx906", "gfx90a"}) all.push_back({target, engine});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, GlobalSync, testing::ValuesIn(parameters()),
                         [](const auto& info) { return info.param.target + "_" + info.param.engine.name; });

}  // namespace
}  // namespace wavejit::test
