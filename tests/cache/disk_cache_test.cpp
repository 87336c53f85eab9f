// Entries in files: what is found again, what is not used, how much is kept, and what goes wrong without harm.
#include "runtime/translate/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "internal/hash.h"
#include "scratch_directory.h"

namespace wavejit::test {
namespace {

namespace fs = std::filesystem;
using runtime::DiskCache;

bool is(const std::optional<Bytes>& loaded, const Bytes& expected) {
  return loaded && loaded->size() == expected.size() && std::equal(loaded->begin(), loaded->end(), expected.begin());
}

std::optional<Bytes> load(DiskCache& cache, const Bytes& identity) {
  const auto loaded = cache.load(identity);
  if (!loaded) return std::nullopt;
  EXPECT_EQ(reinterpret_cast<uint64_t>(loaded->contents.data()) % 8, 0u);
  return Bytes(loaded->contents.begin(), loaded->contents.end());
}

void set_age(const fs::path& path, time_t seconds) {
  const timespec then{time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}
time_t age(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return time(nullptr) - status.st_mtim.tv_sec;
}

// Runs `body` in a process of its own that has no privileges; its result is the exit code.
int in_child(const std::function<int()>& body, bool unprivileged = false) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (unprivileged && geteuid() == 0 &&
        (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0))
      _exit(99);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class DiskCacheTest : public testing::Test {
 protected:
  [[nodiscard]] fs::path directory() const { return scratch_.path() / "deep" / "cache"; }
  ScratchDirectory scratch_;
  DiskCache cache_{directory(), 1 << 20};
  const Bytes identity_ = bytes_of("which one it is");
};

TEST_F(DiskCacheTest, FindsWhatWasStored) {
  EXPECT_FALSE(load(cache_, identity_));
  EXPECT_FALSE(fs::exists(directory())) << "looking makes nothing";
  const Bytes value = contents(1, 1000);
  ASSERT_TRUE(cache_.store(identity_, value)) << cache_.problem();
  EXPECT_TRUE(is(load(cache_, identity_), value));
  DiskCache other(directory(), 1 << 20);
  EXPECT_TRUE(is(load(other, identity_), value));
  EXPECT_FALSE(load(other, bytes_of("which one it is?")));
  EXPECT_FALSE(load(other, bytes_of("which one it i")));
  const Bytes newer = contents(2, 5000);
  ASSERT_TRUE(other.store(identity_, newer));
  EXPECT_TRUE(is(load(cache_, identity_), newer));
  EXPECT_EQ(cache_.counters().loads, 2u);
  EXPECT_EQ(cache_.counters().misses, 1u);
  EXPECT_EQ(cache_.counters().stores, 1u);
  EXPECT_EQ(cache_.counters().rejected, 0u);
  EXPECT_EQ(other.counters().misses, 2u);
  EXPECT_EQ(cache_.problem(), "");
  EXPECT_TRUE(strays_of(directory()).empty());
  EXPECT_EQ(cache_.usage().entries, 1u);
  EXPECT_EQ(cache_.usage().bytes, 8192u);
}

TEST_F(DiskCacheTest, FilesAreTheUsersAlone) {
  const mode_t before = umask(0);
  ASSERT_TRUE(cache_.store(identity_, contents(1, 10)));
  umask(before);
  struct stat status{};
  ASSERT_EQ(stat(directory().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  for (const auto& file : fs::directory_iterator(directory())) {
    ASSERT_EQ(stat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << file.path();
  }
}

TEST_F(DiskCacheTest, EveryDamagedByteIsNoticed) {
  const Bytes value = contents(3, 300);
  ASSERT_TRUE(cache_.store(identity_, value));
  const fs::path path = cache_.file_of(identity_);
  const Bytes good = read_file(path);
  for (size_t i = 0; i < good.size(); ++i) {
    for (const uint8_t change : {1, 0x80, 0xff}) {
      Bytes bad = good;
      bad[i] ^= change;
      write_file(path, bad);
      ASSERT_FALSE(load(cache_, identity_)) << "byte " << i;
    }
  }
  EXPECT_EQ(cache_.counters().rejected, 3 * good.size());
  ASSERT_TRUE(cache_.store(identity_, value)) << "damaged files are replaced";
  EXPECT_EQ(read_file(path), good);
  EXPECT_TRUE(is(load(cache_, identity_), value));
}

TEST_F(DiskCacheTest, FilesOfAnyOtherSizeAreNoticed) {
  const Bytes value = contents(4, 200);
  ASSERT_TRUE(cache_.store(identity_, value));
  const fs::path path = cache_.file_of(identity_);
  const Bytes good = read_file(path);
  for (size_t size = 0; size <= good.size() + 64; ++size) {
    Bytes bad = good;
    bad.resize(size);
    write_file(path, bad);
    if (size != good.size()) {
      ASSERT_FALSE(load(cache_, identity_)) << size;
    }
  }
  write_file(path, good);
  EXPECT_TRUE(is(load(cache_, identity_), value));
}

// Sizes that do not fit, in a file whose checksum is right.
TEST_F(DiskCacheTest, SizesAreNotBelieved) {
  ASSERT_TRUE(cache_.store(identity_, contents(4, 200)));
  const fs::path path = cache_.file_of(identity_);
  const Bytes good = read_file(path);
  constexpr size_t kChecksum = 8, kSizes = 24;
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{1} << 32, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    for (const size_t field : {kSizes, kSizes + 8}) {
      Bytes bad = good;
      std::memcpy(&bad[field], &size, sizeof size);
      const Hash128 checksum = hash128(std::span<const uint8_t>(bad).subspan(kSizes));
      std::memcpy(&bad[kChecksum], checksum.data(), sizeof checksum);
      write_file(path, bad);
      EXPECT_FALSE(load(cache_, identity_)) << size << " at " << field;
    }
  }
}

// A hash that says the same of two identities costs a translation, not a wrong one.
TEST_F(DiskCacheTest, TheIdentityIsCompared) {
  const Bytes other = bytes_of("which one it was");
  ASSERT_TRUE(cache_.store(identity_, contents(1, 10)));
  fs::copy_file(cache_.file_of(identity_), cache_.file_of(other));
  EXPECT_FALSE(load(cache_, other));
  EXPECT_NE(cache_.problem().find("something else"), std::string::npos) << cache_.problem();
  ASSERT_TRUE(cache_.store(other, contents(2, 10)));
  EXPECT_TRUE(is(load(cache_, other), contents(2, 10)));
}

TEST_F(DiskCacheTest, FilesOfOtherVersionsAreNotUsed) {
  ASSERT_TRUE(cache_.store(identity_, contents(1, 10)));
  const fs::path path = cache_.file_of(identity_);
  Bytes bytes = read_file(path);
  ++bytes[7];
  write_file(path, bytes);
  EXPECT_FALSE(load(cache_, identity_));
  EXPECT_NE(cache_.problem().find("version"), std::string::npos) << cache_.problem();
}

TEST_F(DiskCacheTest, WhatIsNoFileIsNotUsed) {
  const Bytes value = contents(1, 100);
  ASSERT_TRUE(cache_.store(identity_, value));
  const fs::path path = cache_.file_of(identity_);
  const fs::path elsewhere = scratch_.path() / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_FALSE(load(cache_, identity_)) << "a link";
  ASSERT_TRUE(cache_.store(identity_, value));
  EXPECT_FALSE(fs::is_symlink(path)) << "links are replaced, not followed";

  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(load(cache_, identity_)) << "a pipe that nobody writes to";
  ASSERT_TRUE(cache_.store(identity_, value));
  EXPECT_TRUE(is(load(cache_, identity_), value));

  fs::remove(path);
  fs::create_directory(path);
  EXPECT_FALSE(load(cache_, identity_)) << "a directory";
  EXPECT_FALSE(cache_.store(identity_, value)) << "which is left alone";
  EXPECT_EQ(cache_.counters().failures, 1u);
  EXPECT_TRUE(strays_of(directory()).empty());
}

TEST_F(DiskCacheTest, FilesThatOthersCanWriteToAreNotUsed) {
  const Bytes value = contents(1, 100);
  const fs::path path = cache_.file_of(identity_);
  for (const mode_t mode : {0620, 0602, 0666}) {
    ASSERT_TRUE(cache_.store(identity_, value));
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_FALSE(load(cache_, identity_)) << mode;
  }
  ASSERT_TRUE(cache_.store(identity_, value));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(is(load(cache_, identity_), value));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(load(cache_, identity_)) << "somebody else's";
    ASSERT_TRUE(cache_.store(identity_, value));
    EXPECT_TRUE(is(load(cache_, identity_), value));
  }
}

TEST_F(DiskCacheTest, DirectoriesThatOthersCanWriteToAreNotUsed) {
  ASSERT_TRUE(cache_.store(identity_, contents(1, 100)));
  for (const mode_t mode : {0770, 0707, 0777, 01777}) {
    ASSERT_EQ(chmod(directory().c_str(), mode), 0);
    DiskCache other(directory(), 1 << 20);
    EXPECT_FALSE(load(other, identity_)) << mode;
    EXPECT_FALSE(other.store(identity_, contents(2, 100))) << mode;
    EXPECT_NE(other.problem().find("others can write to it"), std::string::npos) << other.problem();
  }
  ASSERT_EQ(chmod(directory().c_str(), 0755), 0);
  DiskCache again(directory(), 1 << 20);
  EXPECT_TRUE(is(load(again, identity_), contents(1, 100)));
  // Somebody else's: the user's own for root, root's for the user.
  if (geteuid() == 0) {
    ASSERT_EQ(chown(directory().c_str(), 65534, 65534), 0);
  }
  DiskCache foreign(geteuid() == 0 ? directory() : fs::path("/usr"), 1 << 20);
  EXPECT_FALSE(load(foreign, identity_));
  EXPECT_FALSE(foreign.store(identity_, contents(1, 100)));
}

TEST_F(DiskCacheTest, UnwritableDirectoriesAreNoError) {
  // Names that cannot be directories.
  write_file(scratch_.path() / "file", {1});
  DiskCache below_file(scratch_.path() / "file" / "cache", 1 << 20);
  EXPECT_FALSE(load(below_file, identity_));
  EXPECT_FALSE(below_file.store(identity_, contents(1, 10)));
  EXPECT_EQ(below_file.counters().failures, 1u);
  EXPECT_NE(below_file.problem(), "");
  DiskCache in_proc("/proc/wavejit", 1 << 20);
  EXPECT_FALSE(in_proc.store(identity_, contents(1, 10)));

  // A directory that can be read only: what is there is used.
  ASSERT_EQ(chmod(scratch_.path().c_str(), 0777), 0);
  const fs::path read_only = scratch_.path() / "read-only";
  EXPECT_EQ(in_child(
                [&] {
                  DiskCache cache(read_only, 1 << 20);
                  if (!cache.store(identity_, contents(1, 10))) return 1;
                  if (chmod(read_only.c_str(), 0500) != 0) return 2;
                  DiskCache later(read_only, 1 << 20);
                  if (!is(load(later, identity_), contents(1, 10))) return 3;
                  if (later.store(bytes_of("new"), contents(1, 10))) return 4;
                  if (later.counters().failures != 1 || later.problem().empty()) return 5;
                  if (chmod(read_only.c_str(), 0000) != 0) return 6;
                  DiskCache shut(read_only, 1 << 20);
                  if (shut.load(identity_) || shut.store(identity_, contents(1, 10))) return 7;
                  return chmod(read_only.c_str(), 0700);
                },
                true),
            0);
}

TEST_F(DiskCacheTest, TheDirectoryMayDisappear) {
  ASSERT_TRUE(cache_.store(identity_, contents(1, 10)));
  fs::remove_all(directory());
  EXPECT_FALSE(load(cache_, identity_));
  EXPECT_TRUE(cache_.store(identity_, contents(1, 10))) << cache_.problem();
  EXPECT_TRUE(is(load(cache_, identity_), contents(1, 10)));
}

TEST_F(DiskCacheTest, KeepsToItsSizeAndWhatWasUsedLast) {
  constexpr uint64_t kLimit = 64 << 10;
  DiskCache cache(directory(), kLimit);
  const auto identity = [](unsigned i) { return bytes_of(fmt::format("entry {}", i)); };
  // Each takes two blocks.
  for (unsigned i = 0; i < 8; ++i) {
    ASSERT_TRUE(cache.store(identity(i), contents(i, 5000)));
    set_age(cache.file_of(identity(i)), 86400 - i * 3600);
  }
  EXPECT_EQ(cache.counters().evictions, 0u);
  ASSERT_TRUE(load(cache, identity(1)));  // the second oldest, which is young again
  EXPECT_LT(age(cache.file_of(identity(1))), 60);
  // A file that is not the cache's own stays, whatever it is called, and one that some process has not finished.
  write_file(directory() / "notes.translation", {1});
  write_file(directory() / ".unfinished-1-0", {1});
  write_file(directory() / ".unfinished-1-1", {1});
  set_age(directory() / ".unfinished-1-0", 7200);
  ASSERT_TRUE(cache.store(identity(8), contents(8, 5000)));
  EXPECT_GT(cache.counters().evictions, 0u);
  EXPECT_LE(cache.usage().bytes, kLimit);
  EXPECT_FALSE(load(cache, identity(0)));
  EXPECT_TRUE(load(cache, identity(1)));
  EXPECT_FALSE(load(cache, identity(2)));
  EXPECT_TRUE(load(cache, identity(7)));
  EXPECT_TRUE(load(cache, identity(8)));
  EXPECT_TRUE(fs::exists(directory() / "notes.translation"));
  EXPECT_FALSE(fs::exists(directory() / ".unfinished-1-0"));
  EXPECT_TRUE(fs::exists(directory() / ".unfinished-1-1"));
  // For good: by one process, and by many of which each writes little.
  for (unsigned i = 0; i < 100; ++i) {
    ASSERT_TRUE(cache.store(identity(i), contents(i, 1000 * (i % 9))));
    ASSERT_LE(cache.usage().bytes, kLimit);
  }
  for (unsigned i = 0; i < 40; ++i) {
    DiskCache one(directory(), kLimit);
    ASSERT_TRUE(one.store(identity(1000 + i), contents(i, 5000)));
    ASSERT_LE(one.usage().bytes, kLimit);
    ASSERT_TRUE(load(one, identity(1000 + i))) << "the newest stays";
  }
  // Also when what has been counted is lost, or cannot be noted.
  for (const bool hindered : {false, true}) {
    fs::remove(directory() / ".blocks-used");
    if (hindered) fs::create_directory(directory() / ".blocks-used");
    for (unsigned i = 0; i < 20; ++i) {
      ASSERT_TRUE(cache.store(identity(2000 + i), contents(i, 9000)));
      ASSERT_LE(cache.usage().bytes, kLimit) << hindered;
    }
  }
  EXPECT_FALSE(cache.store(identity(0), contents(0, kLimit))) << "more than fits at all";
  EXPECT_LE(cache.usage().bytes, kLimit);
}

TEST_F(DiskCacheTest, Clears) {
  for (unsigned i = 0; i < 5; ++i) ASSERT_TRUE(cache_.store(bytes_of(std::to_string(i)), contents(i, 100)));
  write_file(directory() / "notes", {1});
  EXPECT_EQ(cache_.clear(), 5u);
  EXPECT_EQ(cache_.usage().entries, 0u);
  EXPECT_EQ(strays_of(directory()), std::vector<std::string>{"notes"});
  EXPECT_EQ(cache_.clear(), 0u);
  EXPECT_TRUE(cache_.store(identity_, contents(1, 10)));
  EXPECT_EQ(DiskCache(scratch_.path() / "none", 1).clear(), 0u);
}

// Processes that write, read, evict and clear at the same time. Whatever is found is whole.
TEST_F(DiskCacheTest, ManyProcessesAtOnce) {
  const auto work = [&](unsigned seed) {
    constexpr unsigned kRounds = 400, kIdentities = 12;
    DiskCache cache(directory(), 96 << 10);
    unsigned found = 0;
    for (unsigned i = 0; i < kRounds; ++i) {
      const unsigned which = (i * 5 + seed * 3) % kIdentities;
      const Bytes identity = bytes_of(fmt::format("shared {}", which));
      const Bytes value = contents(which, 3000 + which * 1000);
      if (const auto loaded = load(cache, identity)) {
        if (!is(loaded, value)) return 1;
        ++found;
      }
      if ((i + seed) % 3 == 0 && !cache.store(identity, value)) {
        // Somebody may clear in between, again and again.
        if (cache.problem().find("No such file") == std::string::npos) return 2;
      }
      if (i % 97 == seed) cache.clear();
    }
    if (cache.counters().rejected != 0) return 3;
    return found > kRounds / 20 ? 0 : 4;
  };
  std::vector<pid_t> children;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const pid_t child = fork();
    if (child == 0) _exit(work(seed));
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_TRUE(strays_of(directory()).empty());
}

class Environment : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      before_.emplace_back(value ? std::optional<std::string>(value) : std::nullopt);
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (size_t i = 0; i < std::size(kNames); ++i)
      before_[i] ? setenv(kNames[i], before_[i]->c_str(), 1) : unsetenv(kNames[i]);
  }
  static constexpr const char* kNames[] = {"WAVEJIT_CACHE", "WAVEJIT_CACHE_DIR", "WAVEJIT_CACHE_BYTES",
                                           "XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> before_;
  ScratchDirectory scratch_;
};

TEST_F(Environment, SaysWhere) {
  EXPECT_EQ(DiskCache::settings_of_environment().directory, "") << "no home";
  setenv("HOME", scratch_.path().c_str(), 1);
  EXPECT_EQ(DiskCache::settings_of_environment().directory, scratch_.path() / ".cache/wavejit");
  setenv("XDG_CACHE_HOME", "relative/path", 1);
  EXPECT_EQ(DiskCache::settings_of_environment().directory, scratch_.path() / ".cache/wavejit");
  setenv("XDG_CACHE_HOME", (scratch_.path() / "xdg").c_str(), 1);
  EXPECT_EQ(DiskCache::settings_of_environment().directory, scratch_.path() / "xdg/wavejit");
  setenv("WAVEJIT_CACHE_DIR", "own", 1);
  EXPECT_EQ(DiskCache::settings_of_environment().directory, fs::current_path() / "own");
  unsetenv("WAVEJIT_CACHE_DIR");
  // Somebody else's home, as under sudo.
  if (geteuid() == 0) {
    ASSERT_EQ(chown(scratch_.path().c_str(), 65534, 65534), 0);
    EXPECT_EQ(DiskCache::settings_of_environment().directory, "");
  }
}

TEST_F(Environment, SaysWhetherAndHowMuch) {
  EXPECT_TRUE(DiskCache::settings_of_environment().enabled);
  for (const char* off : {"0", "off", "no", "false"}) {
    setenv("WAVEJIT_CACHE", off, 1);
    EXPECT_FALSE(DiskCache::settings_of_environment().enabled) << off;
  }
  setenv("WAVEJIT_CACHE", "on", 1);
  EXPECT_TRUE(DiskCache::settings_of_environment().enabled);
  EXPECT_EQ(DiskCache::settings_of_environment().max_bytes, DiskCache::kDefaultBytes);
  const std::pair<const char*, uint64_t> sizes[] = {{"1000", 1000},
                                                    {"64k", 64 << 10},
                                                    {"3M", 3 << 20},
                                                    {"2G", uint64_t{2} << 30},
                                                    {"18446744073709551615", ~uint64_t{0}}};
  for (const auto& [text, bytes] : sizes) {
    setenv("WAVEJIT_CACHE_BYTES", text, 1);
    EXPECT_EQ(DiskCache::settings_of_environment().max_bytes, bytes) << text;
  }
  for (const char* text : {"", "x", "-1", "5x", "5kk", "0", "99999999999999999999", "18446744073709551615k"}) {
    setenv("WAVEJIT_CACHE_BYTES", text, 1);
    EXPECT_EQ(DiskCache::settings_of_environment().max_bytes, DiskCache::kDefaultBytes) << text;
  }
}

}  // namespace
}  // namespace wavejit::test
