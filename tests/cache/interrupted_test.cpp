// Processes that are killed at any system call of a write to the cache, and calls that fail there: a full disk, one that has
// become read-only, files of a server that has forgotten them. The next process finds what was there before, what is new,
// or nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/translate/disk_cache.h"
#include "scratch_directory.h"
#include "test_kernels.h"
#include "traced_process.h"

namespace wavejit::test {
namespace {

namespace fs = std::filesystem;
using runtime::DiskCache;

constexpr uint64_t kLimit = 64 << 10;
// What a process does, whose exit code is 0 if it believes itself successful.
struct Deed {
  const char* name;
  bool filled;  // up to the limit, so that room has to be made
  bool known;   // the entry is there, with other contents
  int (*act)(DiskCache& cache);
};
const Bytes kIdentity = bytes_of("which one it is");
const Deed kDeeds[] = {
    {"first", false, false, [](DiskCache& cache) { return cache.store(kIdentity, contents(2, 6000)) ? 0 : 1; }},
    {"another", false, true, [](DiskCache& cache) { return cache.store(kIdentity, contents(2, 6000)) ? 0 : 1; }},
    {"full", true, true, [](DiskCache& cache) { return cache.store(kIdentity, contents(2, 6000)) ? 0 : 1; }},
    {"load", false, true, [](DiskCache& cache) { return cache.load(kIdentity) ? 0 : 1; }},
    {"clear", true, true, [](DiskCache& cache) { return cache.clear() != 0 ? 0 : 1; }},
};

class Interrupted : public testing::TestWithParam<Deed> {
 protected:
  [[nodiscard]] static Bytes other(unsigned i) { return bytes_of(fmt::format("entry {}", i)); }

  // Does the deed with an incident, in a directory of its own; looks at what is left.
  [[nodiscard]] static bool happens(const Incident& incident) {
    const Deed& deed = GetParam();
    const ScratchDirectory scratch;
    const fs::path directory = scratch.path() / "cache";
    {
      DiskCache before(directory, kLimit);
      if (deed.known) {
        EXPECT_TRUE(before.store(kIdentity, contents(1, 5000)));
      }
      for (unsigned i = 0; deed.filled && i < 13; ++i)
        EXPECT_TRUE(before.store(other(i), contents(static_cast<uint8_t>(i), 4000)));
    }
    const TracedEnd end = run_traced(incident, [&] {
      DiskCache cache(directory, kLimit);
      return deed.act(cache);
    });
    if (!end.possible || !end.happened) return false;
    EXPECT_EQ(end.killed, incident.what != Incident::What::error);

    DiskCache after(directory, kLimit);
    const auto found = after.load(kIdentity);
    const auto is = [&](const Bytes& bytes) {
      return found && std::equal(found->contents.begin(), found->contents.end(), bytes.begin(), bytes.end());
    };
    EXPECT_TRUE(!found || is(contents(2, 6000)) || (deed.known && is(contents(1, 5000))));
    EXPECT_EQ(after.counters().rejected, 0u) << after.problem();
    for (unsigned i = 0; i < 13; ++i) {
      const auto entry = after.load(other(i));
      const Bytes expected = contents(static_cast<uint8_t>(i), 4000);
      EXPECT_TRUE(!entry ||
                  std::equal(entry->contents.begin(), entry->contents.end(), expected.begin(), expected.end()))
          << i;
    }
    EXPECT_EQ(after.counters().rejected, 0u) << after.problem();
    // A process that was told that the entry is there was told the truth.
    const bool stores = deed.name != std::string_view("load") && deed.name != std::string_view("clear");
    if (end.exit_code == 0 && stores) {
      EXPECT_TRUE(is(contents(2, 6000)));
    }
    // Nothing is in the way of the next one.
    EXPECT_TRUE(after.store(kIdentity, contents(3, 7000))) << after.problem();
    const auto newer = after.load(kIdentity);
    const Bytes expected = contents(3, 7000);
    EXPECT_TRUE(newer && std::equal(newer->contents.begin(), newer->contents.end(), expected.begin(), expected.end()));
    EXPECT_LE(after.usage().bytes, kLimit + 16384);
    EXPECT_LE(strays_of(directory).size(), 1u);
    return true;
  }
};

bool can_trace() {
  return run_traced({}, [] { return 0; }).possible;
}

TEST_P(Interrupted, KilledAtEverySystemCall) {
  if (!can_trace()) GTEST_SKIP() << "processes cannot be traced here";
  for (const auto what : {Incident::What::kill_before, Incident::What::kill_after}) {
    unsigned at = 0;
    while (happens({.what = what, .at = at})) {
      if (HasFailure()) FAIL() << "killed at system call " << at;
      ++at;
    }
    EXPECT_GT(at, 3u);
  }
}

TEST_P(Interrupted, EverySystemCallFails) {
  if (!can_trace()) GTEST_SKIP() << "processes cannot be traced here";
  for (const int error : {ENOSPC, EROFS, EIO, ESTALE, EDQUOT, EACCES, ENOENT}) {
    for (unsigned at = 0; happens({.what = Incident::What::error, .at = at, .error = error}); ++at)
      if (HasFailure()) FAIL() << "system call " << at << " failed: " << std::strerror(error);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Interrupted, testing::ValuesIn(kDeeds),
                         [](const testing::TestParamInfo<Deed>& info) { return std::string(info.param.name); });

KernelSource square() {
  KernelSource source;
  source.name = "square";
  source.body = kOwnAddress;
  source.body += "  v_mul_u32_u24_e32 v1, v0, v0\n  store v[6:7], v1\n";
  source.args = {{"out"}};
  return source;
}

// The same around a launch that translates and keeps its translation: whatever happens to the files, results are right.
class InterruptedLaunch : public testing::Test {
 protected:
  static void configure(const fs::path& directory) {
    CacheOptions options;
    options.mode = WAVEJIT_CACHE_ON;
    options.directory = directory.c_str();
    configure_cache(options);
  }
  void TearDown() override {
    CacheOptions off;
    off.mode = WAVEJIT_CACHE_OFF;
    configure_cache(off);
  }
  [[nodiscard]] static int launch(const std::vector<uint8_t>& object) {
    const Module module = Module::load_memory(object.data(), object.size());
    Kernel kernel = module.kernel("square");
    Buffer<uint32_t> out(64);
    kernel.set_args(out);
    (void)kernel.launch(launch_options(engines().back(), 64, 64));
    for (uint32_t i = 0; i < 64; ++i)
      if (out[i] != i * i) return 2;
    return 0;
  }
  const std::vector<uint8_t> object_ = assemble("gfx906", {square()});

  void run(Incident incident) {
    if (engines().size() < 2) GTEST_SKIP() << "no JIT";
    if (!can_trace()) GTEST_SKIP() << "processes cannot be traced here";
    for (;; ++incident.at) {
      const ScratchDirectory scratch;
      const TracedEnd end = run_traced(incident, [&] {
        configure(scratch.path() / "cache");
        return launch(object_);
      });
      if (!end.happened) break;
      // Where translated code cannot be placed in memory, the launch has an error that says so.
      if (!end.killed) {
        ASSERT_TRUE(end.exit_code == 0 || end.exit_code == kException) << incident.at;
      }
      configure(scratch.path() / "cache");
      for (int i = 0; i < 2; ++i) ASSERT_EQ(launch(object_), 0) << incident.at;
      const wavejit_cache_info info = cache_info();
      EXPECT_EQ(info.rejected, 0u) << incident.at;
      EXPECT_EQ(info.entries, 1u) << incident.at;
    }
    EXPECT_GT(incident.at, 5u);
  }
};

TEST_F(InterruptedLaunch, KilledAtEverySystemCall) {
  run({.what = Incident::What::kill_after});
}
TEST_F(InterruptedLaunch, EverySystemCallFails) {
  run({.what = Incident::What::error, .error = ENOSPC});
}

}  // namespace
}  // namespace wavejit::test
