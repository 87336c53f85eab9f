// `wavejit doctor`: each check is made to fail, by limits, variables, a filter of system calls or a folder that stands for /.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "wavejit/wavejit.h"

namespace wavejit::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/wavejit-doctor-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    fs::create_directories(root());
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] fs::path root() const { return folder_ / "root"; }
  // A file of the system to look at.
  void put(const std::string& path, const std::string& contents) {
    const fs::path file = root() / fs::path(path).relative_path();
    fs::create_directories(file.parent_path());
    std::ofstream(file) << contents;
  }

  // Runs `PREFIX wavejit doctor --json OPTIONS` and returns the exit code. PREFIX is of the shell, with variables and limits.
  int run(const std::string& prefix = {}, const std::string& options = "--quick",
          const fs::path& command = WAVEJIT_COMMAND) {
    const std::string line = fmt::format("{} '{}' doctor --json {} > {}/out 2> {}/err < /dev/null", prefix,
                                         command.string(), options, folder_.string(), folder_.string());
    const int status = std::system(line.c_str());
    std::ifstream file(folder_ / "out");
    out_ = Json::parse(file, nullptr, false);
    EXPECT_TRUE(out_.is_object()) << line;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int run_in_root(const std::string& options = {}) {
    return run({}, fmt::format("--quick --root {} {}", root().string(), options));
  }

  // "level: text" of a check's findings, one a line.
  [[nodiscard]] std::string findings(const std::string& check) const {
    std::string text;
    for (const Json& f : out_["findings"])
      if (f["check"] == check)
        text += fmt::format("{}: {}\n", f["level"].get<std::string>(), f["text"].get<std::string>());
    return text;
  }
  // Whether the check has a finding of this level with the words, and, if it is a problem, a remedy.
  [[nodiscard]] testing::AssertionResult has(const std::string& check, const std::string& level,
                                             const std::string& words = {}) const {
    for (const Json& f : out_["findings"]) {
      if (f["check"] != check || f["level"] != level || f["text"].get<std::string>().find(words) == std::string::npos)
        continue;
      if (level == "problem" && !f.contains("remedy")) return testing::AssertionFailure() << "no remedy: " << f.dump();
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << check << " has\n" << findings(check);
  }

  fs::path folder_;
  Json out_;
};

// ------------------------------------------------------------------------------------------------ as it is

TEST_F(Doctor, ThisSystem) {
  run({}, "");
  size_t problems = 0;
  for (const Json& f : out_["findings"]) problems += f["level"] == "problem";
  EXPECT_EQ(out_["problems"], problems);
  EXPECT_EQ(out_["healthy"], problems == 0);
  EXPECT_TRUE(has("self-test.engine", "ok", "interpreter: 5 kernels")) << findings("self-test.engine");
  if (wavejit_isa_supported(WAVEJIT_ISA_AVX2)) {
    EXPECT_TRUE(has("self-test.engine", "ok", "AVX2: 5 kernels"));
  }
  if (wavejit_isa_supported(WAVEJIT_ISA_AVX512)) {
    EXPECT_TRUE(has("self-test.engine", "ok", "AVX-512: 5 kernels"));
  }
  EXPECT_TRUE(has("self-test.hsa", "ok", "1 device"));
  for (const char* check : {"cpu.tier",
                            "limits.address-space",
                            "limits.locked-memory",
                            "limits.mappings",
                            "limits.group-memory",
                            "limits.group-cpus",
                            "limits.shm",
                            "limits.memfd",
                            "limits.executable-memory",
                            "limits.perf-event",
                            "limits.user-namespaces",
                            "container.kind",
                            "cache.folder",
                            "devices.selected",
                            "devices.driver",
                            "rocm.library",
                            "rocm.hip",
                            "rocm.hipcc",
                            "rocm.rocminfo",
                            "rocm.opencl"})
    EXPECT_NE(findings(check), "") << check;
}

TEST_F(Doctor, Text) {
  const std::string command = fmt::format("WAVEJIT_TARGET=gfx1030 '{}' doctor --quick > {}/text 2> {}/err",
                                          WAVEJIT_COMMAND, folder_.string(), folder_.string());
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::ifstream file(folder_ / "text");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("  problem  WAVEJIT_TARGET: 'gfx1030'"), std::string::npos) << text;
  EXPECT_NE(text.find("           -> Correct or unset the variable"), std::string::npos) << text;
  EXPECT_NE(text.find(" problem"), std::string::npos) << text;
}

TEST_F(Doctor, RootMustBeAFolder) {
  const std::string command =
      fmt::format("'{}' doctor --root {}/none 2> {}/err", WAVEJIT_COMMAND, folder_.string(), folder_.string());
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
}

// ------------------------------------------------------------------------------------------------ CPU, limits

TEST_F(Doctor, CpuWithoutTiers) {
  put("/proc/cpuinfo", "model name\t: Old CPU\nflags\t\t: fpu avx2 fma f16c bmi1 abm popcnt\n");
  EXPECT_EQ(run_in_root(), 1);
  EXPECT_TRUE(has("cpu.tier", "problem", "Old CPU: only the interpreter runs, as the JIT misses bmi2."));
  put("/proc/cpuinfo", "model name\t: CPU\nflags\t\t: avx2 fma f16c bmi1 bmi2 abm popcnt avx512f avx512dq\n");
  run_in_root();
  EXPECT_TRUE(has("cpu.tier", "note", "AVX2; AVX-512 misses avx512bw, avx512vl, avx512cd."));
  put("/proc/cpuinfo",
      "model name\t: CPU\nflags\t\t: avx2 fma f16c bmi1 bmi2 abm popcnt avx512f avx512dq avx512bw avx512vl avx512cd\n");
  run_in_root();
  EXPECT_TRUE(has("cpu.tier", "ok", "AVX-512"));
  EXPECT_TRUE(has("cpu.optional", "note", "avx512_vnni"));
}

// What the table says of the CPU that WAVEJIT_HOST names, next to times of this one.
TEST_F(Doctor, Measures) {
  run("env -u WAVEJIT_HOST");
  EXPECT_FALSE(out_.contains("measurements"));
  if (!wavejit_isa_supported(WAVEJIT_ISA_AVX2)) GTEST_SKIP() << "the CPU has no AVX2";
  run("WAVEJIT_HOST=zen2", "--quick --measure");
  EXPECT_TRUE(has("times.cpu", "ok", "'zen2', as WAVEJIT_HOST says"));
  Json measured = out_["measurements"];
  EXPECT_EQ(measured["row"], "zen2");
  EXPECT_EQ(measured["slow_gathers"], false);
  EXPECT_GT(measured["cycle_ns"], 0);
  ASSERT_EQ(measured["accesses"].size(), 3u);
  for (const Json& access : measured["accesses"]) {
    const bool there = access["lanes"] == 8 || wavejit_isa_supported(WAVEJIT_ISA_AVX512);
    EXPECT_EQ(access.contains("cycles"), there) << access;
    EXPECT_EQ(access.contains("lane_by_lane_cycles"), there) << access;
    if (there) {
      EXPECT_GT(access["cycles"], 0);
      EXPECT_GT(access["lane_by_lane_cycles"], 0);
    }
    EXPECT_EQ(access.contains("table_cycles"), access["lanes"] == 8) << access;
  }
  EXPECT_EQ(measured["accesses"][0]["table_cycles"], 16);
  EXPECT_EQ(measured["accesses"][0]["choice"], "lane by lane");
  EXPECT_EQ(measured["accesses"][2]["choice"], "instruction");
  run("WAVEJIT_HOST=ice-lake", "--quick --measure");
  measured = out_["measurements"];
  EXPECT_EQ(measured["slow_gathers"], true);
  EXPECT_EQ(measured["accesses"][1]["choice"], "lane by lane");
  // A name that is none leaves the CPU's own row, whichever it is.
  run("WAVEJIT_HOST=zen17", "--quick --measure");
  EXPECT_NE(out_["measurements"]["row"], "zen17");
}

TEST_F(Doctor, MeasuresAsText) {
  if (!wavejit_isa_supported(WAVEJIT_ISA_AVX2)) GTEST_SKIP() << "the CPU has no AVX2";
  const std::string line = fmt::format("WAVEJIT_HOST=zen2 '{}' doctor --quick --measure > {}/text 2>&1 < /dev/null",
                                       WAVEJIT_COMMAND, folder_.string());
  EXPECT_NE(std::system(line.c_str()), -1);
  std::ifstream file(folder_ / "text");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("table: InstLatx64 AuthenticAMD0870F10"), std::string::npos) << text;
  EXPECT_NE(text.find("vpgatherdd of 8 lanes"), std::string::npos) << text;
  EXPECT_EQ(text.find("not there") == std::string::npos, wavejit_isa_supported(WAVEJIT_ISA_AVX512) != 0) << text;
}

TEST_F(Doctor, MeasuresThisCpuOnly) {
  const std::string line = fmt::format("'{}' doctor --quick --measure --root {} 2> {}/err < /dev/null", WAVEJIT_COMMAND,
                                       root().string(), folder_.string());
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
}

TEST_F(Doctor, AddressSpace) {
  EXPECT_EQ(run("ulimit -v 2000000;"), 1);
  EXPECT_TRUE(has("limits.address-space", "problem", "1.9 GiB"));
}

TEST_F(Doctor, LockedMemory) {
  run("ulimit -l 64;");
  EXPECT_TRUE(has("limits.locked-memory", "ok", "64.0 KiB"));
}

TEST_F(Doctor, Mappings) {
  put("/proc/sys/vm/max_map_count", "1000\n");
  EXPECT_EQ(run_in_root(), 1);
  EXPECT_TRUE(has("limits.mappings", "problem", "1000 mappings"));
  put("/proc/sys/vm/max_map_count", "65530\n");
  run_in_root();
  EXPECT_TRUE(has("limits.mappings", "ok"));
}

TEST_F(Doctor, ControlGroups) {
  put("/proc/self/cgroup", "0::/a/b\n");
  put("/sys/fs/cgroup/a/b/memory.max", "max\n");
  put("/sys/fs/cgroup/a/memory.max", "104857600\n");
  put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(run_in_root(), 1);
  EXPECT_TRUE(has("limits.group-memory", "problem", "100.0 MiB"));
  EXPECT_TRUE(has("limits.group-cpus", "note", "0.5 CPUs"));
  put("/sys/fs/cgroup/a/memory.max", "1073741824\n");
  put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  run_in_root();
  EXPECT_TRUE(has("limits.group-memory", "note", "1.0 GiB"));
  EXPECT_TRUE(has("limits.group-cpus", "ok"));
}

TEST_F(Doctor, OldControlGroups) {
  put("/proc/self/cgroup", "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "25000\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(run_in_root(), 1);
  EXPECT_TRUE(has("limits.group-memory", "problem", "100.0 MiB"));
  EXPECT_TRUE(has("limits.group-cpus", "note", "0.25 CPUs"));
}

TEST_F(Doctor, SharedMemory) {
  EXPECT_EQ(run_in_root(), 1);
  EXPECT_TRUE(has("limits.shm", "problem", "/dev/shm cannot be used"));
  fs::create_directories(root() / "dev/shm");
  run_in_root();
  EXPECT_FALSE(has("limits.shm", "problem"));
}

TEST_F(Doctor, MemoryFiles) {
  const int code = run(WAVEJIT_WITHOUT " memfd");
  EXPECT_EQ(code, 1);
  EXPECT_TRUE(has("limits.memfd", "problem", "A seccomp filter is in force."));
}

TEST_F(Doctor, ExecutableMemory) {
  put("/sys/fs/selinux/enforce", "1");
  EXPECT_EQ(run(WAVEJIT_WITHOUT " execution", "--root " + root().string()), 1);
  EXPECT_TRUE(has("limits.executable-memory", "problem", "SELinux enforces its policy."));
  EXPECT_TRUE(has("self-test.engine", "ok", "interpreter"));
  if (wavejit_isa_supported(WAVEJIT_ISA_AVX2)) {
    EXPECT_TRUE(has("self-test.engine", "problem", "AVX2"));
  }
}

TEST_F(Doctor, UserNamespaces) {
  put("/proc/sys/user/max_user_namespaces", "0");
  run_in_root();
  EXPECT_TRUE(has("limits.user-namespaces", "note", "switched off"));
}

TEST_F(Doctor, Containers) {
  run_in_root();
  EXPECT_TRUE(has("container.kind", "ok", "No container"));
  put("/proc/1/cgroup", "0::/kubepods/burstable/x");
  run_in_root();
  EXPECT_TRUE(has("container.kind", "ok", "kubepods"));
  put("/run/.containerenv", "");
  run_in_root();
  EXPECT_TRUE(has("container.kind", "ok", "Podman"));
  put("/.dockerenv", "");
  run_in_root();
  EXPECT_TRUE(has("container.kind", "ok", "Docker"));
}

// ------------------------------------------------------------------------------------------------ cache, devices

TEST_F(Doctor, Cache) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_EQ(run(fmt::format("WAVEJIT_CACHE=on WAVEJIT_CACHE_DIR={}/file/cache", folder_.string())), 1);
  EXPECT_TRUE(has("cache.folder", "problem", "Not a directory"));
  fs::create_directory(folder_ / "open");
  chmod((folder_ / "open").c_str(), 0777);
  EXPECT_EQ(run(fmt::format("WAVEJIT_CACHE=on WAVEJIT_CACHE_DIR={}/open", folder_.string())), 1);
  EXPECT_TRUE(has("cache.folder", "problem", "Others can write"));
  run("env -u HOME -u XDG_CACHE_HOME -u WAVEJIT_CACHE_DIR WAVEJIT_CACHE=on");
  EXPECT_TRUE(has("cache.folder", "problem", "neither XDG_CACHE_HOME nor HOME"));
  run("WAVEJIT_CACHE=off WAVEJIT_CACHE_DIR=/tmp");
  EXPECT_TRUE(has("cache.folder", "note", "not kept"));
  run(fmt::format("WAVEJIT_CACHE=on WAVEJIT_CACHE_DIR={}/new/er", folder_.string()));
  EXPECT_TRUE(has("cache.folder", "ok", "is made when"));
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(Doctor, ReadOnlyCache) {
  if (geteuid() == 0) GTEST_SKIP() << "root can write everywhere";
  fs::create_directory(folder_ / "read");
  chmod((folder_ / "read").c_str(), 0555);
  EXPECT_EQ(run(fmt::format("WAVEJIT_CACHE=on WAVEJIT_CACHE_DIR={}/read", folder_.string())), 1);
  EXPECT_TRUE(has("cache.folder", "problem", "Permission denied"));
}

TEST_F(Doctor, Devices) {
  EXPECT_EQ(run("WAVEJIT_TARGET=gfx1100"), 1);
  EXPECT_TRUE(has("devices.selected", "problem", "WAVEJIT_TARGET: 'gfx1100' is not one of"));
  EXPECT_EQ(run("WAVEJIT_BOARD=/none"), 1);
  EXPECT_TRUE(has("devices.selected", "problem", "WAVEJIT_BOARD"));
  EXPECT_EQ(run("HSA_OVERRIDE_GFX_VERSION=99.0.0"), 1);
  EXPECT_TRUE(has("devices.selected", "problem"));
  EXPECT_EQ(run("ROCR_VISIBLE_DEVICES=7", ""), 1);
  EXPECT_TRUE(has("devices.selected", "problem", "hides all devices"));
  EXPECT_TRUE(has("self-test.hsa", "problem", "no device"));
  run("WAVEJIT_TARGET=gfx90a,gfx803", "");
  EXPECT_TRUE(has("devices.selected", "ok", "gfx90a, gfx803"));
  EXPECT_TRUE(has("self-test.hsa", "ok", "2 devices"));
}

TEST_F(Doctor, Driver) {
  run_in_root();
  EXPECT_TRUE(has("devices.driver", "ok"));
  put("/dev/kfd", "");
  run_in_root();
  EXPECT_TRUE(has("devices.driver", "note", "is there"));
}

// ------------------------------------------------------------------------------------------------ libraries

TEST_F(Doctor, NoRocm) {
  run_in_root();
  for (const char* check : {"rocm.hip", "rocm.hipcc", "rocm.rocminfo", "rocm.opencl"}) EXPECT_TRUE(has(check, "note"));
  put("/opt/rocm-6.1.0/bin/hipcc", "");
  put("/usr/bin/rocminfo", "");
  put("/etc/OpenCL/vendors/amdocl64.icd", "");
  run_in_root();
  EXPECT_TRUE(has("rocm.hipcc", "ok", "/opt/rocm-6.1.0/bin/hipcc"));
  EXPECT_TRUE(has("rocm.rocminfo", "ok", "/usr/bin/rocminfo"));
  EXPECT_TRUE(has("rocm.opencl", "ok", "amdocl64.icd"));
}

TEST_F(Doctor, HipRuntimes) {
  const auto install = [&](const char* library, const std::string& path) {
    const fs::path file = root() / path;
    fs::create_directories(file.parent_path());
    fs::copy_file(library, file);
    return file;
  };
  // Found by the library path.
  const fs::path good = install(WAVEJIT_FAKE_HIP, "usr/lib/x86_64-linux-gnu/libamdhip64.so.5.2.21153-0");
  fs::create_symlink(good.filename(), good.parent_path() / "libamdhip64.so.5");
  run_in_root();
  EXPECT_TRUE(has("rocm.hip", "ok", "HIP 5.2.21153-0 is installed (/usr/lib/x86_64-linux-gnu/libamdhip64.so.5)"));
  EXPECT_TRUE(has("rocm.loaded", "ok", "libhsa-runtime64.so.1"));
  EXPECT_FALSE(has("rocm.loaded", "problem"));
  // With a DT_RPATH to a libhsa-runtime64 of its own, and of a version that nobody has tried.
  install(WAVEJIT_FAKE_HIP_RPATH, "opt/rocm-9.0/lib/libamdhip64.so.9");
  EXPECT_EQ(run_in_root(), 1);
  EXPECT_TRUE(has("rocm.hip", "note", "tested with versions"));
  EXPECT_TRUE(has("rocm.loaded", "problem", "instead of wavejit's"));
  // No library at all.
  put("/usr/local/lib/libamdhip64.so.6", "nothing");
  EXPECT_EQ(run_in_root(), 1);
  EXPECT_TRUE(has("rocm.loaded", "problem", "cannot read /usr/local/lib/libamdhip64.so.6"));
}

TEST_F(Doctor, MissingLibraries) {
  const fs::path file = root() / "usr/lib/libamdhip64.so.6";
  fs::create_directories(file.parent_path());
  fs::copy_file(WAVEJIT_FAKE_HIP_MISSING, file);
  EXPECT_EQ(run_in_root(), 1);
  EXPECT_TRUE(has("rocm.missing", "problem", "libwavejit-nowhere.so"));
}

TEST_F(Doctor, CommandWithoutItsLibraries) {
  fs::copy_file(WAVEJIT_COMMAND, folder_ / "wavejit");
  EXPECT_EQ(run({}, "", folder_ / "wavejit"), 1);
  EXPECT_TRUE(has("rocm.library", "problem", "There is no libhsa-runtime64.so.1"));
  fs::create_directory(folder_ / "hsa");
  std::ofstream(folder_ / "hsa/libhsa-runtime64.so.1") << "nothing";
  EXPECT_EQ(run({}, "", folder_ / "wavejit"), 1);
  EXPECT_TRUE(has("self-test.hsa", "problem", "cannot be used"));
  fs::remove(folder_ / "hsa/libhsa-runtime64.so.1");
  fs::copy_file(WAVEJIT_FAKE_HSA, folder_ / "hsa/libhsa-runtime64.so.1");
  EXPECT_EQ(run({}, "", folder_ / "wavejit"), 1);
  EXPECT_TRUE(has("self-test.hsa", "problem", "hsa_init"));
}

}  // namespace
}  // namespace wavejit::test
