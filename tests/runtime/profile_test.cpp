// What profiles say of a kernel of which every count is known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

LaunchStats launch(Kernel& kernel, const Profile& profile, uint32_t global, uint32_t local, uint32_t threads = 1) {
  LaunchOptions options = launch_options(auto_engine(), global, local, threads);
  options.profile = profile.handle();
  return kernel.launch(options);
}

uint64_t executed(const Profile& profile, const Kernel& kernel) {
  uint64_t sum = 0;
  for (const wavejit_profile_entry& at : profile.entries(kernel)) sum += at.executed;
  return sum;
}

// Lanes 0 to 15 go round a loop three times, the others skip it; all store their number at 8 * number.
KernelSource loop_of_some() {
  return {.name = "loop_of_some",
          .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  v_lshlrev_b32_e32 v1, 3, v0
  v_cmp_gt_u32_e32 vcc, 16, v0
  s_mov_b64 s[10:11], exec
  s_mov_b32 s7, 3
  s_and_b64 exec, exec, vcc
  s_cbranch_execz .Lbehind
.Lagain:
  v_add_u32_e32 v2, 1, v2
  ds_write_b32 v1, v2
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lagain
.Lbehind:
  s_mov_b64 exec, s[10:11]
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  v_mov_b32_e32 v5, 0
  add_co v6, s4, v1
  addc v7, v4, v5
  store v[6:7], v0
)",
          .args = {{"out"}},
          .lds = 4096};
}

TEST(Profiles, CountsWhatWavesDo) {
  const Module module = load("gfx906", {loop_of_some()});
  Kernel kernel = module.kernel("loop_of_some");
  Buffer<uint32_t> out(512);
  kernel.set_args(out);
  const Profile profile;
  // Two work-groups of four waves, of which the first three go past the loop's branch with some lanes, or none.
  const LaunchStats stats = launch(kernel, profile, 512, 256, 2);
  EXPECT_EQ(stats.engine, WAVEJIT_ENGINE_INTERP);
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(out[2 * i], i);
  const std::vector<wavejit_profile_entry> entries = profile.entries(kernel);
  uint64_t executed = 0, branches = 0, accesses = 0, in_lds = 0;
  for (const wavejit_profile_entry& at : entries) {
    executed += at.executed;
    EXPECT_LE(at.lanes, 64 * at.executed);
    accesses += at.accesses;
    if (at.accesses != 0) {
      EXPECT_EQ(at.strided, 8u);
      EXPECT_EQ(at.stride, 8);
      EXPECT_EQ(at.lines, 8u * 8);
      EXPECT_EQ(at.access_lanes, 512u);
    }
    if (at.lds_accesses != 0) {
      in_lds += at.lds_accesses;
      EXPECT_EQ(at.executed, 6u);
      EXPECT_EQ(at.lanes, 6 * 16u);
      EXPECT_EQ(at.lds_halves, 6u);
      EXPECT_EQ(at.lds_cycles, 6u);  // 16 lanes at every second bank
      EXPECT_EQ(at.lds_least, 6u);
    }
    branches += at.taken;
  }
  EXPECT_EQ(executed, stats.guest_instructions);
  EXPECT_EQ(accesses, 8u);
  EXPECT_EQ(in_lds, 6u);
  EXPECT_EQ(branches, 6u + 2 * 2);  // six waves skip the loop, two go back in it twice
  // Another launch adds to it.
  (void)launch(kernel, profile, 512, 256, 2);
  EXPECT_EQ(profile.entries(kernel)[0].executed, 2 * entries[0].executed);
  const std::string text = profile.text(kernel);
  EXPECT_NE(text.find("            16   64.0  "), std::string::npos) << text;
  EXPECT_NE(text.find("            12   16.0  "), std::string::npos) << text;
  EXPECT_NE(text.find("; taken 75.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("; taken 66.7 %"), std::string::npos) << text;
  EXPECT_NE(text.find("; 4 B a lane, 8.0 lines of 64 B, stride 8 B\n"), std::string::npos) << text;
  EXPECT_NE(text.find("; LDS without bank conflicts\n"), std::string::npos) << text;
}

// Calls the function behind it through a register, twice.
KernelSource calls_twice() {
  return {.name = "calls_twice",
          .body = R"(
  s_getpc_b64 s[8:9]
.Lbase:
  s_add_u32 s8, s8, add_one-.Lbase
  s_addc_u32 s9, s9, 0
  s_swappc_b64 s[30:31], s[8:9]
  s_swappc_b64 s[30:31], s[8:9]
  s_endpgm
.Lkernel_end:
.size calls_twice, .Lkernel_end-calls_twice
.globl add_one
.type add_one,@function
add_one:
  v_add_u32_e32 v1, 1, v1
  s_setpc_b64 s[30:31]
.Lfunction_end:
.size add_one, .Lfunction_end-add_one
)",
          .args = {{"out"}}};
}

TEST(Profiles, IncludeFunctionsBehindPointers) {
  const Module module = load("gfx906", {calls_twice()});
  Kernel kernel = module.kernel("calls_twice");
  Buffer<uint32_t> out(64);
  kernel.set_args(out);
  const Profile profile;
  const LaunchStats stats = launch(kernel, profile, 128, 64);
  uint64_t executed = 0, added = 0;
  for (const wavejit_profile_entry& at : profile.entries(kernel)) {
    executed += at.executed;
    if (std::string_view(at.mnemonic) == "v_add_u32") added += at.executed;
  }
  EXPECT_EQ(executed, stats.guest_instructions);
  EXPECT_EQ(added, 4u);
  const std::string text = profile.text(kernel);
  EXPECT_NE(text.find("\nadd_one:\n             4   64.0  "), std::string::npos) << text;
}

TEST(Profiles, KeepKernelsApartWithTheirModules) {
  const Profile profile;
  Buffer<uint32_t> out(512);
  std::vector<Kernel> kernels;
  {
    const Module module = load("gfx906", {loop_of_some(), calls_twice()});
    kernels.push_back(module.kernel("loop_of_some"));
    kernels.push_back(module.kernel("calls_twice"));
  }
  for (Kernel& kernel : kernels) {
    kernel.set_args(out);
    const LaunchStats stats = launch(kernel, profile, 256, 256);
    EXPECT_EQ(executed(profile, kernel), stats.guest_instructions);
  }
}

// Stores by flat addresses of the LDS (every second dword) and of scratch, and by a scratch instruction.
TEST(Profiles, KnowWhereFlatAccessesAre) {
  const Module module = load("gfx906", {{.name = "flat",
                                         .body = R"(
  s_mov_b64 s[4:5], src_shared_base
  s_mov_b64 s[6:7], src_private_base
  v_lshlrev_b32_e32 v2, 3, v0
  v_mov_b32_e32 v3, s5
  v_mov_b32_e32 v4, 8
  v_mov_b32_e32 v5, s7
  flat_store_dword v[2:3], v0
  flat_store_dwordx2 v[4:5], v[0:1]
  scratch_store_dword v4, v0, off
)",
                                         .args = {},
                                         .lds = 512,
                                         .scratch = 64}});
  Kernel kernel = module.kernel("flat");
  const Profile profile;
  (void)launch(kernel, profile, 64, 64);
  unsigned stores = 0;
  for (const wavejit_profile_entry& at : profile.entries(kernel)) {
    const std::string_view mnemonic = at.mnemonic;
    if (mnemonic == "flat_store_dword") {
      EXPECT_EQ(at.accesses, 0u);
      EXPECT_EQ(at.lds_accesses, 1u);
      EXPECT_EQ(at.lds_halves, 2u);
      EXPECT_EQ(at.lds_cycles, 4u);
      EXPECT_EQ(at.lds_least, 2u);
    } else if (mnemonic == "flat_store_dwordx2" || mnemonic == "scratch_store_dword") {
      EXPECT_EQ(at.accesses, 1u);
      EXPECT_EQ(at.consecutive, 1u) << mnemonic;
      EXPECT_EQ(at.access_bytes, 4u);
      EXPECT_EQ(at.access_lanes, 64u);
      EXPECT_EQ(at.lds_accesses, 0u);
    } else {
      continue;
    }
    ++stores;
  }
  EXPECT_EQ(stores, 3u);
}

// Loads have the addresses of their texels; samples, which read several texels, have none.
TEST(Profiles, KnowTheTexelsOfLoads) {
  constexpr uint32_t kFormat = 4, kFloat = 7;  // one float of 32 bits
  const Module module = load("gfx906", {{.name = "image",
                                         .body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx8 s[8:15], s[4:5], 0x0
  s_load_dwordx4 s[16:19], s[6:7], 0x0
  v_mov_b32_e32 v1, 3
  s_waitcnt lgkmcnt(0)
  image_load v8, v[0:1], s[8:15] dmask:0x1 unorm
  image_sample_lz v9, v[0:1], s[8:15], s[16:19] dmask:0x1
)",
                                         .args = {{"image"}, {"sampler"}}}});
  Buffer<float> texels(size_t{64} * 32);
  const auto base = reinterpret_cast<uint64_t>(texels.data());
  ASSERT_EQ(base % 256, 0u);
  Buffer<uint32_t> image(8), sampler(4);
  const uint32_t words[] = {static_cast<uint32_t>(base >> 8),
                            static_cast<uint32_t>(base >> 40 & 0xff) | kFormat << 20 | kFloat << 26, 63 | 31 << 14,
                            4 | 5 << 3 | 6 << 6 | 7 << 9 | 9u << 28, 63 << 13};
  std::copy(std::begin(words), std::end(words), image.data());
  sampler[0] = 2 | 2 << 3 | 2 << 6 | 1u << 15;
  sampler[1] = 0xfff000;
  Kernel kernel = module.kernel("image");
  kernel.set_args(image, sampler);
  const Profile profile;
  (void)launch(kernel, profile, 64, 64);
  unsigned accesses = 0;
  for (const wavejit_profile_entry& at : profile.entries(kernel)) {
    const std::string_view mnemonic = at.mnemonic;
    accesses += mnemonic.starts_with("image_");
    if (mnemonic == "image_load") {
      EXPECT_EQ(at.consecutive, 1u);
      EXPECT_EQ(at.access_bytes, 4u);
      EXPECT_EQ(at.lines, 4u);
    } else {
      EXPECT_EQ(at.accesses, 0u) << mnemonic;
    }
  }
  EXPECT_EQ(accesses, 2u);
}

// A launch with both has each instruction in both.
TEST(Profiles, GoWithReports) {
  const Module module = load("gfx906", {loop_of_some()});
  Kernel kernel = module.kernel("loop_of_some");
  Buffer<uint32_t> out(512);
  kernel.set_args(out);
  const Profile profile;
  const Report report;
  LaunchOptions options = launch_options(auto_engine(), 512, 256, 2);
  options.profile = profile.handle();
  options.report = report.handle();
  const LaunchStats stats = kernel.launch(options);
  std::map<std::string, uint64_t> profiled, reported;
  uint64_t executed = 0;
  for (const wavejit_profile_entry& at : profile.entries(kernel)) profiled[at.mnemonic] += at.executed;
  for (size_t i = 0; i < report.size(); ++i) reported[report[i].instruction.name] += report[i].count;
  for (const auto& [name, count] : reported) executed += count;
  EXPECT_EQ(profiled, reported);
  EXPECT_EQ(executed, stats.guest_instructions);
}

// What was executed until then is there: a fault, or bytes that are no instruction.
TEST(Profiles, EndWhereTheKernelFails) {
  for (const char* failing : {"store v[2:3], v0", ".long 0xbf9f0000"}) {
    const std::string body = fmt::format(
        "  v_mov_b32_e32 v1, 5\n  s_nop 0\n  v_mov_b32_e32 v2, 64\n  v_mov_b32_e32 v3, 0\n  {}\n  v_mov_b32_e32 v1, "
        "6\n",
        failing);
    const Module module = load("gfx906", {{.name = "fails", .body = body, .args = {}}});
    Kernel kernel = module.kernel("fails");
    const Profile profile;
    EXPECT_THROW((void)launch(kernel, profile, 64, 64), Exception);
    EXPECT_EQ(executed(profile, kernel), 4u) << failing;
  }
}

// Lines on top of the listing.
TEST(Profiles, AreSummarised) {
  const Module module = load("gfx906", {loop_of_some()});
  Kernel kernel = module.kernel("loop_of_some");
  Buffer<uint32_t> out(512);
  kernel.set_args(out);
  const Profile profile;
  const LaunchStats stats = launch(kernel, profile, 512, 256, 2);
  const std::string text = profile.text(kernel);
  EXPECT_EQ(text.find(fmt::format("executed: {} instructions of waves\n  kinds: vector ", stats.guest_instructions)),
            0u)
      << text;
  EXPECT_NE(text.find("memory accesses by lane: 8, 8.0 lines of 64 B each; strided 100.0 %\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("LDS accesses by lane: 6, 1.00 times the cycles"), std::string::npos) << text;
  // Two waves go round it three times: five instructions of 30.
  EXPECT_NE(text.find(fmt::format(", {:.1f} % of the instructions; its branch goes back 4 times\n",
                                  3000.0 / static_cast<double>(stats.guest_instructions))),
            std::string::npos)
      << text;
}

TEST(Profiles, AreMadeByTheInterpreterAlone) {
  const Module module = load("gfx906", {loop_of_some()});
  Kernel kernel = module.kernel("loop_of_some");
  Buffer<uint32_t> out(512);
  kernel.set_args(out);
  const Profile profile;
  for (const TestEngine& engine : engines()) {
    LaunchOptions options = launch_options(engine, 512, 256);
    options.profile = profile.handle();
    if (engine.engine == WAVEJIT_ENGINE_INTERP) {
      (void)kernel.launch(options);
      continue;
    }
    try {
      (void)kernel.launch(options);
      FAIL() << "launched";
    } catch (const Exception& e) {
      EXPECT_EQ(e.status(), WAVEJIT_INVALID_ARGUMENT);
    }
  }
  const Module other = load("gfx906", {loop_of_some()});
  EXPECT_TRUE(profile.entries(other.kernel("loop_of_some")).empty());
}

}  // namespace
}  // namespace wavejit::test
