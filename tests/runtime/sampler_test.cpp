// Samples of what waves do in the interpreter, and translations that choose by them.
#include "runtime/launch/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch/launch.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

TEST(Sampler, ASixteenthOfWhatIsInterpretedUpToALimit) {
  runtime::KernelTimes times;
  runtime::LaneSamples samples;
  runtime::Sampler sampler(times, samples), other(times, samples);
  EXPECT_TRUE(sampler.is_due());
  uint64_t sampled = 0, all = 0;
  for (unsigned turn = 0; turn < 100; ++turn) {
    runtime::Sampler& one = turn % 3 != 0 ? sampler : other;  // they share the kernel's counts
    const bool due = one.is_due();
    one.count(1000, due);
    all += 1000;
    if (due) sampled += 1000;
  }
  EXPECT_EQ(sampled, 7'000u) << "of " << all;
  uint64_t turns = 0;
  for (; sampler.is_due() || turns < 4; ++turns) {
    ASSERT_LT(turns, 10'000u);
    sampler.count(100'000, sampler.is_due());
    sampler.count(700'000, false);
  }
}

TEST(Sampler, HandsOverWhatItHas) {
  runtime::KernelTimes times;
  runtime::LaneSamples samples;
  runtime::Sampler sampler(times, samples);
  sampler.hand_over();
  EXPECT_EQ(samples.all(), nullptr);
  for (unsigned i = 1; i <= 2; ++i) {
    sampler.profile()[0x100] = {.executed = i, .lanes = 10, .groups = {.count = 4, .same = 1, .consecutive = 2}};
    sampler.hand_over();
    EXPECT_TRUE(sampler.profile().empty());
  }
  const auto all = samples.all();
  ASSERT_NE(all, nullptr);
  const ir::LaneSample& at = all->at(0x100);
  EXPECT_EQ(at.executed, 3u);
  EXPECT_EQ(at.lanes, 20u);
  EXPECT_EQ(at.groups, 8u);
  EXPECT_EQ(at.same, 2u);
  EXPECT_EQ(at.consecutive, 4u);
}

// out[i] = table[places[i]]
KernelSource look_up() {
  return {.name = "look_up",
          .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  s_lshl_b32 s3, s2, 6
  v_add_u32_e32 v1, s3, v0
  v_lshlrev_b32_e32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[6:7]
  s_waitcnt vmcnt(0)
  v_lshlrev_b32_e32 v2, 2, v2
  global_load_dword v3, v2, s[8:9]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v3, s[4:5]
)",
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"out"}, {"places"}, {"table"}}};
}

// The kernel, loaded for the runtime itself.
class LookUp {
 public:
  LookUp() : module_(*runtime::Module::load(assemble("gfx906", {look_up()}))) {
    setenv("WAVEJIT_CACHE", "off", 1);
    request_.module = module_;
    request_.kernel = *module_->object().find_kernel("look_up");
    request_.shape.grid[0] = kItems;
    request_.shape.workgroup[0] = 64;
    request_.engine = runtime::Engine::tiered;
  }
  // Launches it, with its places in order or in none.
  void launch(bool in_order, std::vector<std::string> disabled = {}) {
    Buffer<uint32_t> out(kItems), places(kItems), table(kItems);
    for (uint32_t i = 0; i < kItems; ++i) {
      places[i] = in_order ? i : i * 2654435761u % kItems;
      table[i] = 3 * i;
    }
    const void* arguments[] = {out.begin(), places.begin(), table.begin()};
    request_.kernarg = reinterpret_cast<uint64_t>(arguments);
    request_.disabled_passes = std::move(disabled);
    runtime::LaunchStats stats;
    const auto done = runtime::launch(request_, stats);
    ASSERT_TRUE(done) << done.error().message;
    for (uint32_t i = 0; i < kItems; ++i) ASSERT_EQ(out[i], 3 * places[i]);
    is_translated_ = stats.interpreted_workgroups == 0;
  }
  // By the last launch.
  [[nodiscard]] bool is_translated() const { return is_translated_; }
  [[nodiscard]] std::shared_ptr<const ir::Profile> samples() const { return module_->translations().samples().all(); }
  [[nodiscard]] uint32_t translated_anew() const { return module_->later_samples(*request_.kernel).anew(); }
  // In x86 instructions.
  [[nodiscard]] uint64_t translated_size(std::vector<std::string> disabled = {}, uint32_t anew = 0) const {
    runtime::TranslationCache& cache = module_->translations();
    runtime::TranslationCounters counters;
    const codeobject::KernelDescriptor& its = request_.kernel->descriptor;
    const uint32_t config =
        cache.config_id({.tier = backend::Tier::avx2, .disabled_passes = std::move(disabled), .anew = anew});
    const auto entry = cache.find({.config = config,
                                   .specialisation = cache.specialisation_id({.kernel = request_.kernel}),
                                   .pc = its.entry,
                                   .mode = its.mode},
                                  counters);
    EXPECT_TRUE(entry);
    return counters.host_instructions;
  }

 private:
  static constexpr uint32_t kItems = 1 << 12;
  const std::shared_ptr<runtime::Module> module_;
  runtime::LaunchRequest request_;
  bool is_translated_ = false;
};

// The kernel behind a launch in which four waves or more were sampled. On a busy machine the translation may be done before.
std::unique_ptr<LookUp> sampled(bool in_order) {
  constexpr unsigned kTries = 100;
  for (unsigned i = 0; i < kTries; ++i) {
    auto kernel = std::make_unique<LookUp>();
    kernel->launch(in_order);
    const auto samples = kernel->samples();
    if (samples &&
        std::all_of(samples->begin(), samples->end(), [](const auto& at) { return at.second.executed >= 4; }))
      return kernel;
  }
  ADD_FAILURE() << "too few waves are sampled";
  return std::make_unique<LookUp>();
}

TEST(Sampler, TranslationsDoNotLookForOrderWhereThereIsNone) {
  const auto scattered = sampled(false), ordered = sampled(true);
  const uint64_t size = LookUp().translated_size();
  EXPECT_LT(scattered->translated_size(), size);
  EXPECT_EQ(scattered->translated_size({"profiles"}), size);
  EXPECT_EQ(ordered->translated_size(), size);
  // What it knows need not stay true.
  scattered->launch(true);
}

TEST(Sampler, LaunchesSampleTheirFirstWaves) {
  const auto samples = sampled(false)->samples();
  ASSERT_NE(samples, nullptr);
  unsigned scattered = 0;
  for (const auto& [pc, at] : *samples) {
    EXPECT_EQ(at.lanes, 64 * at.executed);
    EXPECT_LE(at.executed, 64u);
    scattered += ir::is_scattered(at);
  }
  EXPECT_EQ(scattered, 1u);
  LookUp without;
  without.launch(false, {"profiles"});
  EXPECT_EQ(without.samples(), nullptr);
}

TEST(LaterSamples, FourWorkGroupsEachTimeThatThereAreEightTimesAsMany) {
  using runtime::LaterSamples;
  std::vector<uint64_t> due;
  for (uint64_t group = LaterSamples::due_from(0); due.size() < 9; group = LaterSamples::due_from(group + 1))
    due.push_back(group);
  EXPECT_EQ(due, (std::vector<uint64_t>{4096, 4608, 5120, 5632, 32768, 36864, 40960, 45056, 262144}));
  EXPECT_EQ(LaterSamples::due_from(4096), 4096u);
  EXPECT_EQ(LaterSamples::due_from(UINT64_MAX), UINT64_MAX);
}

TEST(LaterSamples, OtherCodeForOtherAccessesOrFarFewerLanes) {
  const ir::LaneSample ordered{.executed = 64, .lanes = 4096, .groups = 1024, .same = 0, .consecutive = 1000};
  const ir::LaneSample scattered{.executed = 64, .lanes = 4096, .groups = 1024, .same = 4, .consecutive = 8};
  ir::LaneSample few = ordered, nearly_ordered = ordered, rare = scattered;
  few.lanes = 512;
  nearly_ordered.consecutive = 100;
  rare.groups = 16;
  EXPECT_TRUE(ir::suggests_other_code(ordered, scattered));
  EXPECT_TRUE(ir::suggests_other_code(scattered, ordered));
  EXPECT_TRUE(ir::suggests_other_code(ordered, few));
  EXPECT_FALSE(ir::suggests_other_code(few, ordered));
  EXPECT_FALSE(ir::suggests_other_code(ordered, nearly_ordered));
  EXPECT_FALSE(ir::suggests_other_code(scattered, nearly_ordered));
  EXPECT_FALSE(ir::suggests_other_code(ordered, rare));
}

// The first waves' accesses are in no order, later ones' are, and then they are not again, and so on. What the kernel computes is
// the same with each translation.
TEST(LaterSamples, KernelsAreTranslatedAnewAtMostTwice) {
  const auto kernel = sampled(false);
  while (!kernel->is_translated() && !HasFatalFailure()) kernel->launch(false);
  const uint64_t scattered = kernel->translated_size();
  uint32_t anew = 0;
  for (bool in_order = true; anew != runtime::LaterSamples::kMostAnew; in_order = !in_order) {
    constexpr unsigned kMostLaunches = 10'000;
    unsigned launches = 0;
    for (; kernel->translated_anew() == anew && launches < kMostLaunches; ++launches) kernel->launch(in_order);
    ASSERT_LT(launches, kMostLaunches);
    EXPECT_EQ(kernel->translated_anew(), ++anew);
    if (in_order)
      EXPECT_GT(kernel->translated_size({}, anew), scattered);
    else
      EXPECT_EQ(kernel->translated_size({}, anew), scattered);
    kernel->launch(in_order);
  }
  for (unsigned i = 0; i < 4000; ++i) kernel->launch(true);  // up to the next samples
  EXPECT_EQ(kernel->translated_anew(), runtime::LaterSamples::kMostAnew);
}

}  // namespace
}  // namespace wavejit::test
