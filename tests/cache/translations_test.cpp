// Translations that come from the disk do what fresh ones do, faults included, and are used only where they fit.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "scratch_directory.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

namespace fs = std::filesystem;

// Stores to out[i], after `body` has made v1 of the work-item id in v0; v[6:7] is its address.
KernelSource kernel_of(const std::string& body, const std::string& name = "k") {
  return {.name = name, .body = kOwnAddress + body + "  store v[6:7], v1\n", .args = {{"out"}}};
}

// Two units: the function is code of its own. Calls helpers, too.
const char* const kBusy = R"(
  s_getpc_b64 s[10:11]
.Lhere:
  s_add_u32 s10, s10, .Lsquare-.Lhere
  s_addc_u32 s11, s11, 0
  v_mov_b32_e32 v1, v0
  s_swappc_b64 s[12:13], s[10:11]
  v_sad_u8 v1, v1, v0, v1
  s_branch .Lend
.Lsquare:
  v_mul_u32_u24_e32 v1, v1, v1
  s_setpc_b64 s[12:13]
.Lend:
)";

uint32_t busy(uint32_t i) {
  const uint32_t square = i * i;
  uint32_t sum = square;
  for (unsigned b = 0; b < 32; b += 8)
    sum += static_cast<uint32_t>(std::abs(static_cast<int>(square >> b & 255) - static_cast<int>(i >> b & 255)));
  return sum;
}

std::vector<TestEngine> tiers() {
  std::vector<TestEngine> all;
  for (const TestEngine& engine : engines())
    if (engine.engine == WAVEJIT_ENGINE_JIT) all.push_back(engine);
  return all;
}

class CachedTranslations : public testing::TestWithParam<TestEngine> {
 protected:
  void SetUp() override {
    if (kSignalsAreHeldBack) GTEST_SKIP() << "under ThreadSanitizer, code objects are loaded to places of chance";
    configure(directory());
  }
  void TearDown() override {
    CacheOptions off;
    off.mode = WAVEJIT_CACHE_OFF;
    configure_cache(off);
  }
  [[nodiscard]] fs::path directory() const { return scratch_.path() / "cache"; }
  static void configure(const fs::path& directory) {
    CacheOptions options;
    options.mode = WAVEJIT_CACHE_ON;
    options.directory = directory.c_str();
    configure_cache(options);
  }

  static LaunchStats launch(const Module& module, Buffer<uint32_t>& out, uint32_t count = 64,
                            const std::function<void(LaunchOptions&)>& change = {}) {
    Kernel kernel = module.kernel(0);
    kernel.set_args(out);
    LaunchOptions options = launch_options(GetParam(), count, count);
    if (change) change(options);
    return kernel.launch(options);
  }
  // Loads the module anew, as the next process would.
  static LaunchStats load_and_launch(const std::vector<KernelSource>& source,
                                     const std::function<uint32_t(uint32_t)>& expected,
                                     const std::function<void(LaunchOptions&)>& change = {}, uint32_t count = 64) {
    const Module module = load("gfx906", source);
    Buffer<uint32_t> out(count);
    const LaunchStats stats = launch(module, out, count, change);
    for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(out[i], expected(i)) << i;
    return stats;
  }

  ScratchDirectory scratch_;
};

TEST_P(CachedTranslations, AreNotMadeAgain) {
  const LaunchStats cold = load_and_launch({kernel_of(kBusy)}, busy);
  EXPECT_GE(cold.translations, 2u);
  EXPECT_EQ(cold.cached_translations, 0u);
  EXPECT_GT(cold.translate_ns, 0u);
  EXPECT_EQ(entries_of(directory()).size(), cold.translations);
  const LaunchStats warm = load_and_launch({kernel_of(kBusy)}, busy);
  EXPECT_EQ(warm.translations, 0u);
  EXPECT_EQ(warm.cached_translations, cold.translations);
  EXPECT_EQ(warm.translate_ns, 0u);
  EXPECT_GT(warm.cache_ns, 0u);
  EXPECT_EQ(warm.host_instructions, cold.host_instructions);
  const wavejit_cache_info info = cache_info();
  EXPECT_EQ(info.enabled, 1);
  EXPECT_EQ(info.directory, directory());
  EXPECT_EQ(info.loads, warm.cached_translations);
  EXPECT_EQ(info.misses, cold.translations);
  EXPECT_EQ(info.stores, cold.translations);
  EXPECT_EQ(info.rejected + info.failures + info.evictions, 0u) << info.problem;
  EXPECT_EQ(info.entries, cold.translations);
  EXPECT_GT(info.bytes, 0u);
}

// Large code objects are told apart by samples, and kernels by their first kilobytes. What neither sees decides whether a
// translation is used.
TEST_P(CachedTranslations, OfOtherCodeInTheSamePlaceAreNotUsed) {
  const auto source = [](unsigned added, unsigned words_in_front) {
    std::string body = "  v_mov_b32_e32 v1, v0\n";
    const unsigned nops[] = {25000, 25000, words_in_front, 25000, 25000};
    for (int i = 0; i < 5; ++i) {
      body += fmt::format("  s_branch .L{0}\n  .fill {1}, 4, 0xbf800000\n.L{0}:\n", i, nops[i]);
      if (i == 2) body += fmt::format("  v_add_u32_e32 v1, {}, v1\n", added);
    }
    return std::vector<KernelSource>{kernel_of(body)};
  };
  unsigned met = 0;
  for (unsigned words = 0; words < 16'000 && met == 0; words += 1'000) {
    const auto plus = [](uint32_t added) { return [added](uint32_t i) { return i + added; }; };
    clear_cache();
    EXPECT_EQ(load_and_launch(source(1, words), plus(1)).translations, 1u);
    EXPECT_EQ(load_and_launch(source(2, words), plus(2)).translations, 1u);
    if (entries_of(directory()).size() != 1) continue;  // they differ in a sample
    ++met;
    EXPECT_EQ(load_and_launch(source(2, words), plus(2)).cached_translations, 1u);
    EXPECT_EQ(load_and_launch(source(1, words), plus(1)).translations, 1u);
  }
  EXPECT_GT(met, 0u);
}

TEST_P(CachedTranslations, DependOnWhatTheyWereMadeFor) {
  const std::vector<KernelSource> source = {kernel_of(kBusy)};
  std::vector<std::function<void(LaunchOptions&)>> launches = {
      [](LaunchOptions&) {},
      [](LaunchOptions& o) { o.count_instructions = 1; },
      [](LaunchOptions& o) { o.disabled_passes = "all"; },
      [](LaunchOptions& o) { o.disabled_passes = "flatten"; },
      [](LaunchOptions& o) { o.dynamic_lds = 4096; },
      [](LaunchOptions& o) { o.isa = o.isa == WAVEJIT_ISA_AVX2 ? WAVEJIT_ISA_AUTO : WAVEJIT_ISA_AVX2; },
  };
  if (wavejit_isa_best() == WAVEJIT_ISA_AVX2) launches.pop_back();
  for (size_t i = 0; i < launches.size(); ++i)
    EXPECT_GT(load_and_launch(source, busy, launches[i]).translations, 0u) << i;
  for (const auto& change : launches) EXPECT_EQ(load_and_launch(source, busy, change).translations, 0u);
  // Another work-group size, which the start is specialised on.
  EXPECT_GT(load_and_launch(source, busy, {}, 128).translations, 0u);
  EXPECT_EQ(load_and_launch(source, busy, {}, 128).translations, 0u);
  // Other code, of the same size.
  const auto constant = [](int value) { return kernel_of(fmt::format("  v_mov_b32_e32 v1, {}\n", value)); };
  EXPECT_GT(load_and_launch({constant(1)}, [](uint32_t) { return 1; }).translations, 0u);
  EXPECT_GT(load_and_launch({constant(2)}, [](uint32_t) { return 2; }).translations, 0u);
  EXPECT_EQ(load_and_launch({constant(1)}, [](uint32_t) { return 1; }).translations, 0u);
  // The same code for another target.
  const Module module = load("gfx90a", {constant(1)});
  Buffer<uint32_t> out(64);
  EXPECT_GT(launch(module, out).translations, 0u);
}

// Engine `auto` begins in the interpreter where nothing is on the disk, and only there.
TEST_P(CachedTranslations, SpareTheInterpreter) {
  const std::vector<KernelSource> source = {kernel_of("  v_add_u32_e32 v1, 5, v0\n")};
  const auto expected = [](uint32_t i) { return i + 5; };
  const auto automatic = [](LaunchOptions& o) { o.engine = WAVEJIT_ENGINE_AUTO; };
  // Mostly the interpreter runs all of it; the translation may be there in time.
  EXPECT_EQ(load_and_launch(source, expected, automatic).cached_translations, 0u);
  EXPECT_EQ(cache_info().loads, 0u);
  (void)load_and_launch(source, expected);  // may find what the other has translated meanwhile
  const LaunchStats warm = load_and_launch(source, expected, automatic);
  EXPECT_EQ(warm.interpreted_workgroups, 0u);
  EXPECT_EQ(warm.cached_translations, 1u);
  EXPECT_EQ(warm.translations, 0u);
  // Nothing is looked for twice, whoever does it.
  const wavejit_cache_info before = cache_info();
  const Module module = load("gfx906", {kernel_of("  v_add_u32_e32 v1, 6, v0\n")});
  Buffer<uint32_t> out(64);
  for (int i = 0; i < 5; ++i) (void)launch(module, out, 64, automatic);
  (void)launch(module, out);
  EXPECT_EQ(cache_info().misses, before.misses + 1);
  EXPECT_EQ(out[7], 13u);
}

TEST_P(CachedTranslations, CanBeSwitchedOff) {
  CacheOptions off;
  off.mode = WAVEJIT_CACHE_OFF;
  const std::string path = directory().string();
  off.directory = path.c_str();
  configure_cache(off);
  EXPECT_EQ(cache_info().enabled, 0);
  for (int i = 0; i < 2; ++i) {
    const LaunchStats stats = load_and_launch({kernel_of(kBusy)}, busy);
    EXPECT_GT(stats.translations, 0u);
    EXPECT_EQ(stats.cached_translations, 0u);
    EXPECT_EQ(stats.cache_ns, 0u);
  }
  EXPECT_FALSE(fs::exists(directory()));
}

// The error a launch ends with, which it has to.
struct Failure {
  wavejit_status status = WAVEJIT_OK;
  std::string message;
  std::optional<uint64_t> pc, address;
  std::optional<uint32_t> lane;
  bool operator==(const Failure&) const = default;
};

TEST_P(CachedTranslations, FaultsAreTheSame) {
  // Half of a page that can be accessed, for stores whose last lanes fall behind it.
  auto* memory = static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + 4096, 4096, PROT_NONE), 0);
  struct Body {
    const char* name;
    std::string code;
  };
  const Body bodies[] = {
      {"contiguous", "  v_mov_b32_e32 v1, v0\n"},
      {"scattered", R"(
  v_lshlrev_b32_e32 v8, 3, v0
  v_and_b32_e32 v9, 8, v0
  v_xor_b32_e32 v8, v8, v9
  add_co v8, s4, v8
  addc v9, v4, v3
  flat_load_dword v1, v[8:9]
  s_waitcnt vmcnt(0) lgkmcnt(0)
)"},
      {"scalar", "  s_load_dword s6, s[4:5], 0x100\n  s_waitcnt lgkmcnt(0)\n  v_mov_b32_e32 v1, s6\n"},
      {"wide",
       "  flat_load_dwordx4 v[8:11], v[6:7] offset:64\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
       "  v_mov_b32_e32 v1, v11\n"},
      {"atomic", "  v_mov_b32_e32 v1, 1\n  flat_atomic_add v1, v[6:7], v1 glc\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"},
  };
  for (const Body& body : bodies) {
    for (const unsigned offset : {4096u - 96u, 4096u - 200u}) {
      SCOPED_TRACE(fmt::format("{} at {}", body.name, offset));
      const auto fail = [&](uint64_t& cached) {
        const Module module = load("gfx906", {kernel_of(body.code)});
        Kernel kernel = module.kernel(0);
        kernel.set_arg_pointer(0, memory + offset);
        Failure failure;
        wavejit_launch_stats stats = wavejit_launch_stats_default();
        const LaunchOptions options = launch_options(GetParam(), 64, 64);
        failure.status = wavejit_launch(kernel.handle(), &options, &stats);
        cached = stats.cached_translations;
        EXPECT_EQ(stats.translations == 0, cached != 0);
        const Exception error(wavejit_last_error());
        failure.message = error.what();
        failure.pc = error.pc();
        failure.address = error.address();
        failure.lane = error.lane();
        return failure;
      };
      uint64_t cached = 0;
      clear_cache();
      const Failure fresh = fail(cached);
      EXPECT_EQ(cached, 0u);
      EXPECT_EQ(fresh.status, WAVEJIT_GUEST_FAULT) << fresh.message;
      EXPECT_TRUE(fresh.pc && fresh.address) << fresh.message;
      const Failure again = fail(cached);
      EXPECT_GT(cached, 0u);
      EXPECT_EQ(again, fresh) << again.message << "\n" << fresh.message;
    }
  }
  munmap(memory, 8192);
}

// Every eighth byte of every file damaged in turn, and ends cut off.
TEST_P(CachedTranslations, DamageCostsATranslation) {
  const std::vector<KernelSource> source = {kernel_of(kBusy)};
  const uint32_t units = load_and_launch(source, busy).translations;
  const auto good = entries_of(directory());
  ASSERT_EQ(good.size(), units);
  for (const auto& [name, bytes] : good) {
    // Every part is met: header, identity, tables, code. The file tests go through all bytes.
    const size_t step = std::max<size_t>(bytes.size() / 24, 1);
    for (size_t i = 0; i < bytes.size(); i += step) {
      Bytes bad = bytes;
      if (i / step % 3 == 2)
        bad.resize(i);
      else
        bad[i] ^= 0x11;
      write_file(directory() / name, bad);
      const LaunchStats stats = load_and_launch(source, busy);
      ASSERT_EQ(stats.translations, 1u) << name << " byte " << i;
      ASSERT_EQ(stats.cached_translations, units - 1);
      ASSERT_TRUE(read_file(directory() / name) == bytes) << "replaced by the same";
    }
  }
  EXPECT_EQ(load_and_launch(source, busy).translations, 0u);
}

TEST_P(CachedTranslations, WorkWithoutAUsableDirectory) {
  write_file(scratch_.path() / "file", {1});
  for (const fs::path& path : {scratch_.path() / "file", scratch_.path() / "file" / "below", fs::path("/proc/none")}) {
    configure(path);
    EXPECT_GT(load_and_launch({kernel_of(kBusy)}, busy).translations, 0u);
    EXPECT_GT(cache_info().failures, 0u);
    EXPECT_STRNE(cache_info().problem, "");
  }
}

TEST_P(CachedTranslations, KeepToTheLimit) {
  CacheOptions options;
  options.mode = WAVEJIT_CACHE_ON;
  const std::string path = directory().string();
  options.directory = path.c_str();
  options.max_bytes = 32 << 10;
  configure_cache(options);
  for (int i = 0; i < 30; ++i) {
    load_and_launch({kernel_of(fmt::format("  v_mov_b32_e32 v1, {}\n", i))},
                    [&](uint32_t) { return static_cast<uint32_t>(i); });
    EXPECT_LE(cache_info().bytes, options.max_bytes);
  }
  EXPECT_GT(cache_info().evictions, 0u);
  EXPECT_GT(cache_info().entries, 0u);
}

// Code knows where its object is. Twice the same object at the same time: each has variables of its own.
TEST_P(CachedTranslations, OfTheSameObjectInAnotherPlace) {
  const KernelSource source = kernel_of(R"(
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, counter@rel32@lo+4
  s_addc_u32 s11, s11, counter@rel32@hi+12
  v_mov_b32_e32 v8, s10
  v_mov_b32_e32 v9, s11
  v_mov_b32_e32 v10, 1
  flat_atomic_add v1, v[8:9], v10 glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_branch .Lend
  .pushsection .data
  .globl counter
  .protected counter
  .type counter,@object
  .size counter,4
  .p2align 2
counter:
  .long 1000
  .popsection
.Lend:
)");
  const auto sorted = [](const Buffer<uint32_t>& out) {
    std::vector<uint32_t> values = out.to_vector();
    std::sort(values.begin(), values.end());
    return values;
  };
  for (const bool warm : {false, true}) {
    const Module first = load("gfx906", {source}), second = load("gfx906", {source});
    ASSERT_NE(first.variable("counter").address, second.variable("counter").address);
    Buffer<uint32_t> one(64), two(64);
    LaunchStats stats = launch(first, one);
    EXPECT_EQ(stats.translations == 0, warm);
    stats = launch(second, two);
    EXPECT_EQ(stats.translations == 0, warm) << "in a place of its own, what is made for it";
    stats = launch(second, two);
    EXPECT_EQ(first.read_variable<uint32_t>("counter"), 1064u);
    EXPECT_EQ(second.read_variable<uint32_t>("counter"), 1128u);
    EXPECT_EQ(sorted(one).front(), 1000u);
    EXPECT_EQ(sorted(two).front(), 1064u);
    EXPECT_EQ(sorted(two).back(), 1127u);
  }
}

TEST_P(CachedTranslations, FromManyThreads) {
  const std::vector<KernelSource> source = {kernel_of(kBusy)};
  for (int round = 0; round < 3; ++round) {
    std::vector<std::jthread> threads;
    std::atomic<unsigned> wrong = 0;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        const Module module = load("gfx906", source);
        Buffer<uint32_t> out(64);
        (void)launch(module, out);
        for (uint32_t i = 0; i < 64; ++i) wrong += out[i] != busy(i);
      });
    threads.clear();
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(cache_info().rejected, 0u) << cache_info().problem;
  }
  EXPECT_TRUE(strays_of(directory()).empty());
}

INSTANTIATE_TEST_SUITE_P(Tiers, CachedTranslations, testing::ValuesIn(tiers()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CacheApi, RefusesWhatMakesNoSense) {
  CacheOptions options;
  options.mode = static_cast<wavejit_cache_mode>(7);
  EXPECT_EQ(wavejit_cache_configure(&options), WAVEJIT_INVALID_ARGUMENT);
  options.mode = WAVEJIT_CACHE_ON;
  options.directory = "";
  EXPECT_EQ(wavejit_cache_configure(&options), WAVEJIT_INVALID_ARGUMENT);
  options.directory = nullptr;
  options.size = 0;
  EXPECT_EQ(wavejit_cache_configure(&options), WAVEJIT_INVALID_ARGUMENT);
  wavejit_cache_info info{};
  EXPECT_EQ(wavejit_cache_get_info(&info), WAVEJIT_INVALID_ARGUMENT);
  EXPECT_EQ(wavejit_cache_configure(nullptr), WAVEJIT_OK);
}

}  // namespace
}  // namespace wavejit::test
