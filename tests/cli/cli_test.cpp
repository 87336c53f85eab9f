// The `wavejit` command: what it prints, what it refuses, exit codes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test_kernels.h"

namespace wavejit::test {
namespace {

using Json = nlohmann::json;

enum Exit { kOk = 0, kBadInput = 2, kUnsupported = 3, kGuestFault = 4, kTimeout = 5, kGuestTrap = 6, kOutOfMemory = 7 };

std::string fixture(const char* name) {
  return std::string(WAVEJIT_FIXTURES "/") + name;
}

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string quote(const std::string& text) {
  std::string out(1, '\'');
  for (const char c : text) {
    if (c == '\'')
      out.append("'\\''");
    else
      out.push_back(c);
  }
  out.push_back('\'');
  return out;
}

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/wavejit-cli-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  // Runs the command; out_ and err_ hold what it printed.
  int run(const std::vector<std::string>& args) {
    std::string line = quote(WAVEJIT_COMMAND);
    for (const std::string& arg : args) line.append(1, ' ').append(quote(arg));
    line += fmt::format(" > {0}/out 2> {0}/err < /dev/null", directory_.string());
    const int status = std::system(line.c_str());
    out_ = slurp(directory_ / "out");
    err_ = slurp(directory_ / "err");
    EXPECT_TRUE(WIFEXITED(status)) << line << "\n" << err_;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != 0) {
      EXPECT_FALSE(err_.empty()) << "an error says something on stderr";
    }
    return code;
  }

  std::string file(const std::string& name, const std::string& contents) {
    std::ofstream(directory_ / name, std::ios::binary) << contents;
    return (directory_ / name).string();
  }
  template <typename T>
  std::string data_file(const std::string& name, const std::vector<T>& values) {
    return file(name, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }
  template <typename T>
  std::vector<T> read_values(const std::string& name) {
    const std::string bytes = slurp(directory_ / name);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  std::string kernel_file(const std::vector<KernelSource>& kernels) {
    const std::vector<uint8_t> bytes = assemble("gfx906", kernels);
    return file("kernels.co", std::string(bytes.begin(), bytes.end()));
  }

  // vector_add of the fixtures over 256 items with a = b = iota.
  std::vector<std::string> vector_add() {
    return {"run",      fixture("v4_gfx908.co"),
            "--kernel", "vector_add",
            "--global", "256",
            "--local",  "64,1,1",
            "--arg",    "f32[256]=iota",
            "--arg",    "f32[256]=iota",
            "--arg",    "f32[256]=zeros,print:4",
            "--arg",    "i32=256"};
  }

  std::filesystem::path directory_;
  std::string out_, err_;
};

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(Cli, HelpAndVersion) {
  EXPECT_EQ(run({"--help"}), kOk);
  EXPECT_NE(out_.find("Exit codes"), std::string::npos);
  for (const char* command : {"info", "disasm", "run", "bench", "coverage"}) {
    EXPECT_NE(out_.find(command), std::string::npos);
    EXPECT_EQ(run({command, "--help"}), kOk);
    EXPECT_EQ(run({"--help"}), kOk);
  }
  EXPECT_EQ(run({"--version"}), kOk);
  EXPECT_NE(out_.find(wavejit_version_string()), std::string::npos);
}

TEST_F(Cli, ExecKnowsItsTargets) {
  EXPECT_EQ(run({"exec", "--target", "gfx906,gfx123", "--", "/bin/true"}), kBadInput);
  EXPECT_NE(err_.find("gfx123"), std::string::npos) << err_;
  EXPECT_EQ(run({"exec", "--schedule", "-1", "--", "/bin/true"}), kBadInput);
  EXPECT_EQ(run({"exec", "--on-fault", "ignore", "--", "/bin/true"}), kBadInput);
  EXPECT_EQ(run({"exec", "--shadow=kernel:a,abort", "--", "/bin/true"}), kBadInput);
  EXPECT_NE(err_.find("it has to be last"), std::string::npos) << err_;
}

TEST_F(Cli, Boards) {
  ASSERT_EQ(run({"boards"}), kOk);
  EXPECT_NE(out_.find("gfx906    0x66af   60  1801    16 GiB  AMD Radeon VII"), std::string::npos) << out_;
  ASSERT_EQ(run({"boards", "--json"}), kOk);
  const Json all = Json::parse(out_);
  EXPECT_EQ(all.size(), 19u);
  ASSERT_EQ(run({"boards", "gfx90a", "--json"}), kOk);
  const Json one = Json::parse(out_);
  EXPECT_EQ(one["compute_units"], 104);
  EXPECT_NE(std::find(all.begin(), all.end(), one), all.end());
  EXPECT_EQ(run({"boards", "gfx1030"}), kBadInput);
}

// What is printed is a file for --board.
TEST_F(Cli, ExecWithABoard) {
  const std::string file = directory_ / "board.json";
  ASSERT_EQ(run({"boards", "gfx90a", "--json"}), kOk);
  std::ofstream(file) << out_;
  ASSERT_EQ(run({"exec", "--board", file, "--", "/usr/bin/printenv", "WAVEJIT_BOARD"}), kOk) << err_;
  EXPECT_EQ(out_, file + "\n");
  Json board = Json::parse(slurp(file));
  board["clock_mhz"] = 0;
  std::ofstream(file) << board;
  EXPECT_EQ(run({"exec", "--board", file, "--", "/bin/true"}), kBadInput);
  EXPECT_NE(err_.find("\"clock_mhz\" is 0; 1 to 100000 are possible."), std::string::npos) << err_;
  EXPECT_EQ(run({"exec", "--board", file, "--target", "gfx906", "--", "/bin/true"}), kBadInput);
  EXPECT_EQ(run({"exec", "--board", directory_ / "none.json", "--", "/bin/true"}), kBadInput);
}

// The driver's files, as programs in other languages see them.
TEST_F(Cli, ExecPresentsTheDriver) {
  setenv("WAVEJIT_CACHE_DIR", (directory_ / "cache").c_str(), 1);
  const auto shell = [&](const std::string& script) {
    EXPECT_EQ(run({"exec", "--target", "gfx90a,gfx803", "--", "/bin/sh", "-c", script}), kOk) << script << ": " << err_;
    return out_;
  };
  EXPECT_EQ(shell("cat /sys/module/amdgpu/initstate"), "live\n");
  EXPECT_EQ(shell("cat //sys/./module//amdgpu/initstate"), "live\n");
  EXPECT_EQ(shell("ls /sys/class/kfd/kfd/topology/nodes"), "0\n1\n2\n");
  EXPECT_EQ(shell("grep -h gfx_target_version /sys/class/kfd/kfd/topology/nodes/*/properties"),
            "gfx_target_version 0\ngfx_target_version 90010\ngfx_target_version 80003\n");
  EXPECT_EQ(shell("test -r /dev/kfd && test -w /dev/kfd && : <> /dev/kfd && echo there"), "there\n");
  EXPECT_EQ(shell("test -e /sys/class/kfd/kfd/nothing || echo missing"), "missing\n");
  EXPECT_EQ(shell("ls -l /dev/kfd /dev/dri 2>&1 | grep -c 'No such' || true"), "0\n");
  // A render node for each GPU, in every place.
  const std::string minor =
      shell("sed -n 's/^drm_render_minor \\([1-9]\\)/\\1/p' /sys/class/kfd/kfd/topology/nodes/2/properties");
  const std::string node = "renderD" + minor.substr(0, minor.size() - 1);
  EXPECT_EQ(shell("cat /sys/class/drm/" + node + "/device/device"), "0x67df\n");
  EXPECT_EQ(shell("test -c /dev/dri/" + node + " && echo device"), "device\n");
  EXPECT_EQ(shell("realpath /sys/class/drm/" + node + "/device").substr(0, 28), "/sys/devices/wavejit/0000:02");
  EXPECT_NE(shell("ls /sys/bus/pci/devices").find("0000:01:00.0"), std::string::npos);
  const char* const python = R"(
import ctypes, os, pathlib
class Paths(ctypes.Structure):
  _fields_ = [('count', ctypes.c_size_t), ('paths', ctypes.POINTER(ctypes.c_char_p)), ('rest', ctypes.c_void_p * 16)]
found = Paths()
assert ctypes.CDLL(None).glob(b'/sys/class/kfd/kfd/topology/nodes/*', 0, None, ctypes.byref(found)) == 0
assert [found.paths[i][-1:] for i in range(found.count)] == [b'0', b'1', b'2']
nodes = '/sys/class/kfd/kfd/topology/nodes'
assert sorted(os.listdir(nodes)) == ['0', '1', '2']
assert sorted(e.name for e in os.scandir(nodes)) == ['0', '1', '2']
assert os.path.isdir(nodes) and os.access(nodes + '/1/properties', os.R_OK)
assert 'device_id 29711\n' in open(nodes + '/1/properties')
assert pathlib.Path(nodes, '2', 'name').read_text() == 'polaris10\n'
assert os.path.realpath(nodes) == nodes
assert os.readlink('/sys/bus/pci/devices/0000:02:00.0').endswith('devices/wavejit/0000:02:00.0')
assert not os.path.exists('/sys/module/amdgpu/parameters')
assert os.lstat('/dev/kfd') and os.stat('/proc/self/status')
with os.fdopen(os.open('/dev/kfd', os.O_RDWR), 'r+b', buffering=0) as kfd: kfd.write(b'x')
)";
  EXPECT_EQ(run({"exec", "--target", "gfx90a,gfx803", "--", "python3", "-c", python}), kOk) << err_;
  // One tree serves equal devices. Without the variable nothing is redirected.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_ / "cache" / "driver"), {}), 1);
  EXPECT_EQ(shell("unset WAVEJIT_DRIVER_TREE; /usr/bin/test -e /sys/class/kfd/kfd/topology/nodes/2 || echo none"),
            "none\n");
  unsetenv("WAVEJIT_CACHE_DIR");
}

TEST_F(Cli, ReportOfWhatWasExecuted) {
  ASSERT_EQ(run(vector_add() + std::vector<std::string>{"--report"}), kOk) << err_;
  EXPECT_NE(out_.find("all exact"), std::string::npos) << out_;
  EXPECT_NE(out_.find("vector memory"), std::string::npos) << out_;
  ASSERT_EQ(run(vector_add() + std::vector<std::string>{"--report", "--json"}), kOk) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["report"]["instructions"], json["instructions"]);
  EXPECT_EQ(json["report"]["all_exact"], true);
  const std::string approximate = kernel_file({{.name = "root", .body = "v_sqrt_f32 v1, v0\n"}});
  ASSERT_EQ(run({"run", approximate, "--kernel", "root", "--global", "64", "--local", "64", "--report"}), kOk) << err_;
  EXPECT_NE(out_.find("approximate: v_sqrt_f32 x1, error at most 0.5 ulp (hardware: 1 ulp)"), std::string::npos)
      << out_;
}

TEST_F(Cli, ProfileOfInstructions) {
  ASSERT_EQ(run(vector_add() + std::vector<std::string>{"--profile"}), kOk) << err_;
  EXPECT_NE(out_.find("consecutive"), std::string::npos) << out_;
  EXPECT_NE(out_.find("; taken "), std::string::npos) << out_;
  ASSERT_EQ(run(vector_add() + std::vector<std::string>{"--profile", "--json"}), kOk) << err_;
  const auto json = nlohmann::json::parse(out_);
  uint64_t executed = 0;
  for (const auto& row : json["profile"]) executed += row["executed"].get<uint64_t>();
  EXPECT_EQ(json["instructions"], executed);
}

// What a kernel does until it fails is shown, and the error and the exit code are those without a profile.
TEST_F(Cli, ProfileOfAFailure) {
  const std::string co = kernel_file(
      {{.name = "fault", .body = "  v_mov_b32_e32 v2, 64\n  v_mov_b32_e32 v3, 0\n  store v[2:3], v0\n", .args = {}},
       {.name = "forever", .body = ".Lx:\n  s_branch .Lx\n", .args = {}}});
  const std::vector<std::string> args = {"run", co, "--global", "64", "--profile", "--timeout", "0.3", "--kernel"};
  EXPECT_EQ(run(args + std::vector<std::string>{"fault"}), kGuestFault);
  EXPECT_EQ(out_.find("executed: 2 instructions of waves\n"), 0u) << out_;
  EXPECT_NE(err_.find("fault+0x"), std::string::npos) << err_;
  EXPECT_EQ(run(args + std::vector<std::string>{"fault", "--json"}), kGuestFault);
  const Json json = Json::parse(out_);
  EXPECT_EQ(json["error"]["status"], "guest fault");
  ASSERT_EQ(json["profile"].size(), 2u);
  EXPECT_EQ(json["profile"][1]["mnemonic"], "v_mov_b32");
  EXPECT_EQ(run(args + std::vector<std::string>{"forever"}), kTimeout);
  EXPECT_NE(out_.find("hottest loop"), std::string::npos) << out_;
  // A launch that never begins has none.
  EXPECT_EQ(run(args + std::vector<std::string>{"fault", "--local", "5000"}), kBadInput);
  EXPECT_EQ(out_, "");
}

TEST_F(Cli, ExecRefusesOutputsThatCannotBeWritten) {
  for (const char* option : {"--profile", "--report"}) {
    EXPECT_EQ(run({"exec", option, directory_ / "none" / "file", "--", "/bin/true"}), kBadInput);
    EXPECT_NE(err_.find("there is no directory '" + (directory_ / "none").string()), std::string::npos) << err_;
    EXPECT_EQ(run({"exec", option, directory_, "--", "/bin/true"}), kBadInput);
    EXPECT_NE(err_.find("it is a directory"), std::string::npos) << err_;
    EXPECT_EQ(run({"exec", option, directory_ / "%p.txt", "--", "/bin/true"}), kOk) << err_;
  }
}

TEST_F(Cli, CoverageTable) {
  ASSERT_EQ(run({"coverage", "--target", "gfx906", "--csv"}), kOk) << err_;
  EXPECT_NE(out_.find("v_add_f32,vop2,vector,gfx906,exact,exact,exact,0,0\n"), std::string::npos);
  ASSERT_EQ(run({"coverage", "--json"}), kOk) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["instructions"].size(), wavejit_instruction_count());
  EXPECT_EQ(run({"coverage", "--target", "gfx9999"}), kBadInput);
  EXPECT_EQ(run({"coverage", "--csv", "--json"}), kBadInput);
  EXPECT_EQ(run({"coverage", "--every", "2"}), kBadInput);
}

// docs/coverage.md is what the command prints: `wavejit coverage --markdown > docs/coverage.md`.
TEST_F(Cli, CoverageDocumentIsCurrent) {
  ASSERT_EQ(run({"coverage", "--markdown"}), kOk) << err_;
  std::ifstream file(WAVEJIT_DOCS "/coverage.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(text == out_) << "run: wavejit coverage --markdown > docs/coverage.md";
}

// A run that is broken off goes on where it was, also behind half a line.
TEST_F(Cli, CoverageLog) {
  const std::string log = (directory_ / "sweep.log").string();
  const std::vector<std::string> sweep = {
      "coverage", fixture("v4_gfx908.co"), fixture("v3_gfx900.co"), "--json", "--log", log};
  ASSERT_EQ(run(sweep), kOk) << err_;
  const auto first = nlohmann::json::parse(out_);
  EXPECT_EQ(first["kernels"], 4);
  std::string text;
  {
    std::ifstream in(log);
    text = {std::istreambuf_iterator<char>(in), {}};
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  text.resize(text.size() - 20);
  file("sweep.log", text);
  ASSERT_EQ(run(sweep), kOk) << err_;
  const auto second = nlohmann::json::parse(out_);
  EXPECT_EQ(second["kernels"], 4);
  EXPECT_EQ(second["targets"].size(), 2u);
  EXPECT_EQ(second["instructions"], first["instructions"]);
  file("sweep.log", "no log\n");
  EXPECT_EQ(run(sweep), kBadInput);
}

TEST_F(Cli, BadCommandLines) {
  EXPECT_EQ(run({}), kBadInput);
  EXPECT_EQ(run({"dance"}), kBadInput);
  EXPECT_EQ(run({"info"}), kBadInput);
  EXPECT_EQ(run({"run", "--no-such-option"}), kBadInput);
  EXPECT_EQ(run({"run"}), kBadInput);
  EXPECT_EQ(run({"run", fixture("v4_gfx908.co")}), kBadInput);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--gcn", "--x86"}), kBadInput);
}

TEST_F(Cli, Info) {
  EXPECT_EQ(run({"info", fixture("libhost.so")}), kOk);
  EXPECT_NE(out_.find("gfx906"), std::string::npos);
  EXPECT_NE(out_.find("gfx90a:xnack-"), std::string::npos);
  EXPECT_NE(out_.find("kernel "), std::string::npos);
  EXPECT_EQ(run({"info", fixture("v4_gfx908.co"), "--json"}), kOk);
  const Json json = Json::parse(out_);
  EXPECT_EQ(json["kind"], "ELF code object");
  ASSERT_EQ(json["entries"].size(), 1u);
  const Json& entry = json["entries"][0];
  EXPECT_EQ(entry["target"], "gfx908:sramecc+:xnack-");
  EXPECT_EQ(entry["version"], 4);
  ASSERT_EQ(entry["kernels"].size(), 2u);
  EXPECT_EQ(entry["kernels"][0]["name"], "vector_add");
  EXPECT_EQ(entry["kernels"][0]["args"].size(), 4u);
  EXPECT_EQ(entry["variables"].size(), 4u);
  EXPECT_EQ(run({"info", fixture("v4_gfx908.co"), "--kernel", "vector_ad"}), kBadInput);
  EXPECT_NE(err_.find("vector_add"), std::string::npos);
  EXPECT_EQ(run({"info", fixture("libhost.so"), "--target", "gfx1030"}), kBadInput);
}

TEST_F(Cli, BadFiles) {
  for (const char* command : {"info", "disasm", "coverage"}) {
    SCOPED_TRACE(command);
    EXPECT_EQ(run({command, "/nonexistent.co"}), kBadInput);
    EXPECT_EQ(run({command, file("text", "not a code object")}), kBadInput);
    EXPECT_EQ(run({command, file("empty", "")}), kBadInput);
    EXPECT_EQ(run({command, directory_.string()}), kBadInput);
    EXPECT_EQ(run({command, fixture("relocatable.o")}), kBadInput);
    EXPECT_NE(err_.find("link"), std::string::npos) << err_;
    const std::string whole = slurp(fixture("v4_gfx908.co"));
    EXPECT_EQ(run({command, file("half", whole.substr(0, whole.size() / 2))}), kBadInput);
    const std::string bundle = slurp(fixture("bundle_v3.ccob"));
    EXPECT_EQ(run({command, file("bundle", bundle.substr(0, bundle.size() - 100))}), kBadInput);
  }
}

// The code for waves that come to a loop from the interpreter has neither the kernel's start nor an exit in front of the loop.
TEST_F(Cli, DisasmOfMovedWaves) {
  const KernelSource source{.name = "loop",
                            .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 0
  s_mov_b32 s7, 9
.Lagain:
  v_add_u32_e32 v2, s7, v2
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lagain
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s4
  v_mov_b32_e32 v5, s5
  store v[4:5], v2
)",
                            .args = {{"out"}}};
  const std::string kernels = kernel_file({source});
  ASSERT_EQ(run({"disasm", kernels, "--gcn"}), kOk);
  const size_t label = out_.find("L0:");
  ASSERT_NE(label, std::string::npos) << out_;
  const std::string address = "0x" + out_.substr(out_.find_first_not_of(" \n", label + 3), 8);
  ASSERT_EQ(run({"disasm", kernels, "--local", "64", "--moved-at", address, "--ir"}), kOk) << err_;
  EXPECT_NE(out_.find(" moved\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find("readlane"), std::string::npos) << "the sum is one number: " << out_;
  EXPECT_EQ(out_.find("exit.yield"), std::string::npos) << out_;
  // No loop begins behind the label, and without a size nothing is known of the start.
  EXPECT_NE(run({"disasm", kernels, "--local", "64", "--moved-at", "0x4", "--ir"}), kOk);
  EXPECT_NE(err_.find("no wave can come from the interpreter"), std::string::npos) << err_;
  EXPECT_EQ(run({"disasm", kernels, "--moved-at", address, "--ir"}), kBadInput);
  EXPECT_NE(err_.find("needs a work-group size"), std::string::npos) << err_;
}

TEST_F(Cli, Disasm) {
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--gcn"}), kOk);
  EXPECT_NE(out_.find("s_load_dwordx2 s[2:3], s[4:5], 0x0"), std::string::npos);
  const std::string gcn = out_;
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add"}), kOk);
  EXPECT_EQ(out_, gcn);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--ir"}), kOk);
  EXPECT_FALSE(out_.empty());
  const std::string pass = wavejit_pass_name(0);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--ir=before:" + pass}), kOk);
  EXPECT_NE(out_.find(pass), std::string::npos);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--ir=after:wrong"}), kBadInput);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--pass-stats"}), kOk);
  EXPECT_NE(out_.find("same_value"), std::string::npos) << out_;
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--pass-stats", "--disable", "gvn"}),
            kOk);
  EXPECT_EQ(out_.find("same_value"), std::string::npos) << out_;
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--pass-stats", "--x86"}), kBadInput);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--x86", "--isa", "avx2"}), kOk);
  EXPECT_NE(out_.find("ymm"), std::string::npos);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--lir", "--isa", "avx2"}), kOk);
  EXPECT_NE(out_.find(":ymm"), std::string::npos);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--lir", "--x86"}), kBadInput);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vector_add", "--x86", "--isa", "sse2"}), kBadInput);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--kernel", "vecter_add"}), kBadInput);
  EXPECT_NE(err_.find("vector_add"), std::string::npos) << err_;
  EXPECT_EQ(run({"disasm", fixture("libhost.so"), "--target", "gfx803"}), kBadInput);
  EXPECT_NE(err_.find("gfx906"), std::string::npos) << err_;
}

TEST_F(Cli, RunPrintsAndSaves) {
  uint64_t expected_instructions = 0;
  for (const TestEngine& engine : engines()) {
    SCOPED_TRACE(engine.name);
    std::vector<std::string> flags = {"--engine", wavejit_engine_string(engine.engine), "--threads", "1"};
    if (engine.engine == WAVEJIT_ENGINE_JIT) flags = flags + std::vector<std::string>{"--isa", engine.name};
    ASSERT_EQ(run(vector_add() + flags), kOk) << err_;
    EXPECT_NE(out_.find("arg 2: 1.5 1.5 5.5 5.5\n"), std::string::npos) << out_;
    EXPECT_NE(out_.find(wavejit_engine_string(engine.engine)), std::string::npos);

    std::vector<std::string> args = vector_add();
    args[13] = "f32[256]=random:7,save:" + (directory_ / "out.bin").string();
    ASSERT_EQ(run(args + flags + std::vector<std::string>{"--json", "--repeat", "3", "--warmup", "1"}), kOk) << err_;
    const Json json = Json::parse(out_);
    EXPECT_EQ(json["kernel"], "vector_add");
    EXPECT_EQ(json["engine"], wavejit_engine_string(engine.engine));
    EXPECT_EQ(json["threads"], 1);
    EXPECT_EQ(json["repeat"], 3);
    EXPECT_GT(json["median_ns"].get<double>(), 0);
    EXPECT_LE(json["min_ns"].get<double>(), json["median_ns"].get<double>());
    EXPECT_GE(json["max_ns"].get<double>(), json["median_ns"].get<double>());
    if (engine.engine == WAVEJIT_ENGINE_JIT) {
      EXPECT_EQ(json["isa"], engine.name);
      EXPECT_GT(json["translate_ns"].get<uint64_t>(), 0u);
    }
    const auto instructions = json["instructions"].get<uint64_t>();
    EXPECT_GT(instructions, 0u);
    if (expected_instructions == 0) expected_instructions = instructions;
    EXPECT_EQ(instructions, expected_instructions) << "the same for all engines";
    ASSERT_EQ(run(args + flags + std::vector<std::string>{"--count"}), kOk) << err_;
    EXPECT_NE(out_.find(", " + std::to_string(instructions) + " instructions"), std::string::npos) << out_;
    const std::vector<float> out = read_values<float>("out.bin");
    ASSERT_EQ(out.size(), 256u);
    for (int i = 0; i < 256; ++i) ASSERT_EQ(out[i], static_cast<float>(i ^ 1) + static_cast<float>(i) + 0.5f);
  }
}

TEST_F(Cli, LaunchFile) {
  std::vector<float> a(256), b(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i) * 0.25f;
    b[i] = 100;
  }
  data_file("a.bin", a);
  data_file("b.bin", b);
  Json launch = {
      {"code_object", std::filesystem::absolute(fixture("v4_gfx908.co")).string()},
      {"kernel", "vector_add"},
      {"global", {256, 1, 1}},
      {"local", {64, 1, 1}},
      {"dynamic_lds", 0},
      {"args",
       {{{"name", "a"}, {"file", "a.bin"}}, {{"file", "b.bin"}}, {{"name", "out"}, {"bytes", 1024}}, {{"i32", 255}}}},
      {"outputs", {{{"arg", 2}, {"file", "out.bin"}}}},
      {"repeat", 9},
      {"warmup", 1}};
  const auto write = [&] { return file("launch.json", launch.dump()); };
  ASSERT_EQ(run({"run", "--launch", write(), "--json"}), kOk) << err_;
  EXPECT_EQ(Json::parse(out_)["repeat"], 9);
  std::vector<float> out = read_values<float>("out.bin");
  ASSERT_EQ(out.size(), 256u);
  for (int i = 0; i < 255; ++i) ASSERT_EQ(out[i], a[i ^ 1] + 100 + 3.5f) << i;
  EXPECT_EQ(out[255], 0);

  // In-place use of a buffer: it has its initial contents before every repeat.
  launch["args"][2] = {{"file", "b.bin"}};
  ASSERT_EQ(run({"run", "--launch", write(), "--engine", "interp"}), kOk) << err_;
  EXPECT_EQ(read_values<float>("out.bin")[0], a[1] + 103.5f);

  // Options on the command line win.
  ASSERT_EQ(run({"run", "--launch", write(), "--json", "--repeat", "2", "--threads", "1"}), kOk) << err_;
  EXPECT_EQ(Json::parse(out_)["repeat"], 2);

  const Json good = launch;
  const auto rejected = [&](const char* what) {
    EXPECT_EQ(run({"run", "--launch", write()}), kBadInput) << what << "\n" << out_;
    launch = good;
  };
  launch["globl"] = 1;
  rejected("unknown key");
  launch["global"] = "64";
  rejected("global is no array");
  launch["global"] = {1, 2, 3, 4};
  rejected("four dimensions");
  launch["global"] = {-1, 1, 1};
  rejected("negative size");
  launch["local"] = {63, 1, 1};
  rejected("not the required work-group size");
  launch["local"] = {4096, 1, 1};
  rejected("too large a work-group");
  launch["args"][0]["file"] = "missing.bin";
  rejected("missing file");
  launch["args"][3] = {{"i64", 1}};
  rejected("wrong size");
  launch["args"][3] = {{"i32", 1.5}};
  rejected("no integer");
  launch["args"][3] = {{"i32", 3000000000u}};
  rejected("out of range");
  launch["args"][3] = {{"i32", 1}, {"u32", 1}};
  rejected("two values");
  launch["args"][3] = {{"q32", 1}};
  rejected("unknown type");
  launch["args"][3] = Json::object();
  rejected("no value");
  launch["args"].push_back({{"i32", 1}});
  rejected("too many arguments");
  launch["args"].erase(3);
  rejected("too few arguments");
  launch["args"][2] = {{"lds", 64}};
  rejected("local where a pointer is wanted");
  launch["args"][2] = {{"bytes", -4}};
  rejected("negative buffer");
  launch["outputs"][0]["arg"] = 3;
  rejected("output is no buffer");
  launch["outputs"][0]["arg"] = 9;
  rejected("output does not exist");
  launch["outputs"][0]["file"] = "no/such/directory/out.bin";
  rejected("output cannot be written");
  launch["kernel"] = "vector_ad";
  rejected("missing kernel");
  EXPECT_NE(err_.find("vector_add"), std::string::npos) << err_;
  launch["code_object"] = "missing.co";
  rejected("missing code object");
  launch["dynamic_lds"] = 70000;
  rejected("too much LDS");
  launch["repeat"] = 0;
  rejected("no repeats");
  launch["args"][2] = {{"bytes", 1023}, {"type", "f32"}, {"fill", "iota"}};
  rejected("no whole number of elements");
  launch["timeout"] = "1";
  rejected("timeout is no number");
  // Nested beyond any stack.
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(run({"run", "--launch", file("launch.json", "{\"args\": " + deep + "}")}), kBadInput);
  EXPECT_EQ(run({"run", "--launch", file("launch.json", "{\"args\": [{\"i32\": " + deep + "}]}")}), kBadInput);
  file("launch.json", "{ not json");
  EXPECT_EQ(run({"run", "--launch", (directory_ / "launch.json").string()}), kBadInput);
  EXPECT_EQ(run({"run", "--launch", file("launch.json", "[1, 2]")}), kBadInput);
  EXPECT_EQ(run({"run", "--launch", (directory_ / "missing.json").string()}), kBadInput);
}

TEST_F(Cli, ArgumentNamesAreChecked) {
  const std::string co = kernel_file(
      {{.name = "two", .body = "", .args = {{"first", 8, "global_buffer"}, {"second", 8, "global_buffer"}}}});
  Json launch = {{"code_object", co},
                 {"kernel", "two"},
                 {"global", {64}},
                 {"args", {{{"name", "first"}, {"bytes", 4}}, {{"name", "other"}, {"bytes", 4}}}}};
  EXPECT_EQ(run({"run", "--launch", file("launch.json", launch.dump())}), kOk) << err_;
  launch["args"][0]["name"] = "second";
  EXPECT_EQ(run({"run", "--launch", file("launch.json", launch.dump())}), kBadInput);
  EXPECT_NE(err_.find("'second'"), std::string::npos) << err_;
}

TEST_F(Cli, BadArguments) {
  for (const char* arg : {"i32=",
                          "i32=x",
                          "i32=1.5",
                          "i32=5000000000",
                          "u8=256",
                          "u8=-1",
                          "f32=abc",
                          "i33=1",
                          "f32[4]=sevens",
                          "f32[x]=iota",
                          "f32[4=iota",
                          "f32[]=iota",
                          "f32[4]=iota,shout",
                          "f32[4]=random:",
                          "lds=x",
                          "lds=70000",
                          "raw=abc",
                          "raw=zz",
                          "nonsense",
                          "=",
                          "f32[4]=file:/nonexistent",
                          "f32[4]=zeros,save:",
                          "f32[4]=zeros,print:-1",
                          "f32[99999999999999999999]=zeros",
                          "f32[9999999999999]=zeros"}) {
    SCOPED_TRACE(arg);
    std::vector<std::string> args = vector_add();
    args.back() = arg;
    EXPECT_EQ(run(args), kBadInput) << out_;
  }
  const auto with = [&](size_t index, const char* value) {
    std::vector<std::string> args = vector_add();
    args[index] = value;
    return run(args);
  };
  EXPECT_EQ(with(3, "vector_adder"), kBadInput);
  EXPECT_EQ(with(5, "0"), kBadInput);
  EXPECT_EQ(with(5, "1,2,3,4"), kBadInput);
  EXPECT_EQ(with(5, "abc"), kBadInput);
  EXPECT_EQ(with(5, "99999999999"), kBadInput);
  EXPECT_EQ(with(7, "64,2"), kBadInput);
  EXPECT_EQ(with(7, "0"), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--arg", "i32=1"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--engine", "gpu"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--isa", "neon"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--timeout", "-1"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--timeout", "soon"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--threads", "many"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--threads", "-1"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--schedule", "-1"}), kBadInput);
  EXPECT_NE(err_.find("--schedule: '-1' is negative."), std::string::npos) << err_;
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--target", "gfx906"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--disable-pass", "wrong"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--disable", "segments,tile-region"}), kBadInput);
  EXPECT_NE(err_.find("'tile-regions'"), std::string::npos) << "the nearest name is suggested: " << err_;
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--timeout", "nan"}), kBadInput);
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--repeat", "4294967296"}), kBadInput);
  EXPECT_EQ(run({"disasm", fixture("v4_gfx908.co"), "--x86", "--local", "64,0"}), kBadInput);
  // Memory that no machine has is refused before Linux promises it.
  EXPECT_EQ(with(9, "f64[100000000000]=zeros"), kOutOfMemory);
  std::vector<std::string> json = vector_add();
  json[5] = "0";
  json.push_back("--json");
  EXPECT_EQ(run(json), kBadInput);
  EXPECT_EQ(Json::parse(out_)["error"]["status"], "bad input");
}

TEST_F(Cli, NoProfileIsOneOfTheThingsToDoWithout) {
  const auto said = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "exec");
    for (const char* rest : {"--", "sh", "-c", "echo \"<$WAVEJIT_DISABLE_PASSES>\""}) options.emplace_back(rest);
    EXPECT_EQ(run(options), 0) << err_;
    return out_;
  };
  EXPECT_EQ(said({}), "<>\n");
  EXPECT_EQ(said({"--no-profile"}), "<profiles>\n");
  EXPECT_EQ(said({"--no-profile", "--disable", "gvn"}), "<gvn,profiles>\n");
  EXPECT_EQ(run(vector_add() + std::vector<std::string>{"--no-profile"}), 0) << err_;
  EXPECT_EQ(run({"optimisations"}), 0);
  EXPECT_NE(out_.find("profiles "), std::string::npos);
}

// out[i] = table[i * a number % 4096], in a loop of four trips.
TEST_F(Cli, DisasmShowsTheKeptProfile) {
  const std::string co = kernel_file({{.name = "look_up",
                                       .body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x8
  s_lshl_b32 s3, s2, 6
  v_add_u32_e32 v1, s3, v0
  s_mov_b32 s6, 0x9e3779b1
  v_mul_lo_u32 v2, v1, s6
  v_and_b32_e32 v2, 0xfff, v2
  v_lshlrev_b32_e32 v2, 2, v2
  v_lshlrev_b32_e32 v1, 2, v1
  s_mov_b32 s7, 4
  s_waitcnt lgkmcnt(0)
.Lagain:
  global_load_dword v3, v2, s[8:9]
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 .Lagain
  s_waitcnt vmcnt(0)
  global_store_dword v1, v3, s[4:5]
)",
                                       .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
                                       .args = {{"out"}, {"table"}}}});
  const std::filesystem::path cache = directory_ / "cache";
  const auto launch = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"run", co, "--kernel", "look_up", "--global", "65536", "--local", "64", "--repeat",
                                     "60", "--warmup", "0", "--arg", "u32[65536]=zeros", "--arg", "u32[4096]=iota"});
    ASSERT_EQ(run(options), kOk) << err_;
  };
  const auto has_profile = [&] {
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(cache, none))
      if (file.path().extension() == ".profile") return true;
    return false;
  };
  setenv("WAVEJIT_CACHE", "on", 1);
  setenv("WAVEJIT_CACHE_DIR", cache.c_str(), 1);
  launch({"--no-profile"});
  EXPECT_FALSE(has_profile());
  EXPECT_EQ(run({"disasm", co, "--kernel", "look_up", "--profile"}), kBadInput);
  EXPECT_NE(err_.find("There is no profile of kernel 'look_up'"), std::string::npos) << err_;
  // A busy machine may end the process before the translation is done.
  for (unsigned tries = 0; tries < 50 && !has_profile(); ++tries) launch({});
  ASSERT_TRUE(has_profile());
  ASSERT_EQ(run({"disasm", co, "--kernel", "look_up", "--profile"}), kOk) << err_;
  for (const char* what :
       {"disorder 100 %  ; chosen: no search for order", "side by side 100 %", "; a loop of 4.0 trips", "; block"})
    EXPECT_NE(out_.find(what), std::string::npos) << what << "\n" << out_;
  const auto code = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"disasm", co, "--kernel", "look_up", "--x86", "--isa", "avx2"});
    EXPECT_EQ(run(options), kOk) << err_;
    return out_.substr(0, out_.rfind("align 8\n"));  // behind it are addresses of this process
  };
  EXPECT_LT(code({"--profile"}).size(), code({}).size());
  EXPECT_TRUE(code({"--profile", "--disable", "profiles"}) == code({"--disable", "profiles"}));
  // A later process that has to translate anew makes the code with it, although it interprets nothing.
  const auto emitted = [&](std::vector<std::string> options) {
    for (const auto& file : std::filesystem::directory_iterator(cache))
      if (file.path().extension() != ".profile") std::filesystem::remove(file.path());
    for (const char* option : {"--engine", "jit", "--isa", "avx2", "--json"}) options.emplace_back(option);
    launch(options);
    return Json::parse(out_)["host_instructions"].get<uint64_t>();
  };
  EXPECT_LT(emitted({}), emitted({"--no-profile"}));
  ASSERT_TRUE(has_profile());
  EXPECT_EQ(run({"cache", "--clear"}), kOk) << err_;
  EXPECT_FALSE(has_profile());
  setenv("WAVEJIT_CACHE", "off", 1);
  EXPECT_EQ(run({"disasm", co, "--kernel", "look_up", "--profile"}), kBadInput);
  EXPECT_NE(err_.find("the disk cache is off"), std::string::npos) << err_;
  unsetenv("WAVEJIT_CACHE_DIR");
}

TEST_F(Cli, BadEndingsHaveTheirOwnExitCodes) {
  const std::string co = kernel_file({
      {.name = "fault", .body = "  v_mov_b32_e32 v2, 64\n  v_mov_b32_e32 v3, 0\n  store v[2:3], v0\n", .args = {}},
      {.name = "forever", .body = ".Lx:\n  s_branch .Lx\n", .args = {}},
      {.name = "abort", .body = "  s_trap 2\n", .args = {}},
      {.name = "graphics", .body = "  exp mrt0 v0, v0, v0, v0 done vm\n", .args = {}},
      {.name = "garbage", .body = "  .long 0xffffffff\n", .args = {}},
  });
  for (const TestEngine& engine : engines()) {
    SCOPED_TRACE(engine.name);
    const auto start = [&](const char* kernel, const char* limit = "60") {
      std::vector<std::string> args = {"run",
                                       co,
                                       "--kernel",
                                       kernel,
                                       "--global",
                                       "64",
                                       "--timeout",
                                       limit,
                                       "--json",
                                       "--engine",
                                       wavejit_engine_string(engine.engine)};
      if (engine.engine == WAVEJIT_ENGINE_JIT) args = args + std::vector<std::string>{"--isa", engine.name};
      return run(args);
    };
    EXPECT_EQ(start("fault"), kGuestFault);
    Json error = Json::parse(out_)["error"];
    EXPECT_EQ(error["status"], "guest fault");
    EXPECT_EQ(error["kernel"], "fault");
    EXPECT_EQ(error["lane"], 0);
    EXPECT_EQ(error["address"], 64);
    EXPECT_TRUE(error.contains("pc"));
    EXPECT_NE(err_.find("fault+0x"), std::string::npos) << err_;
    EXPECT_EQ(start("forever", "0.3"), kTimeout);
    EXPECT_EQ(Json::parse(out_)["error"]["status"], "timeout");
    EXPECT_EQ(start("abort"), kGuestTrap);
    EXPECT_EQ(start("graphics"), kUnsupported);
    EXPECT_NE(err_.find("exp"), std::string::npos) << err_;
    EXPECT_EQ(start("garbage"), kUnsupported);
  }
}

// Bytes that are not UTF-8, in a file name and in a kernel's, do not spoil JSON.
TEST_F(Cli, NamesThatAreNotUtf8) {
  EXPECT_EQ(run({"run", "\xff.co", "--kernel", "k", "--global", "1", "--json"}), kBadInput);
  EXPECT_EQ(Json::parse(out_)["error"]["status"], "not found");
  std::string bytes = slurp(fixture("v4_gfx908.co"));
  for (size_t at; (at = bytes.find("vector_add")) != std::string::npos;) bytes[at] = '\xff';
  EXPECT_EQ(run({"info", file("renamed", bytes), "--json"}), kOk) << err_;
  EXPECT_EQ(Json::parse(out_)["entries"][0]["kernels"][0]["name"],
            "\xef\xbf\xbd"
            "ector_add");
}

TEST_F(Cli, LargestGrids) {
  const std::string co = kernel_file({{.name = "forever", .body = ".Lx:\n  s_branch .Lx\n", .args = {}}});
  for (const char* size : {"4294967295", "4294967233", "4294967295,1048576"})
    EXPECT_EQ(run({"run", co, "-k", "forever", "-g", size, "--timeout", "0.2"}), kTimeout) << size << err_;
  EXPECT_EQ(run({"run", co, "-k", "forever", "-g", "4294967295,4294967295,4294967295", "--timeout", "0.2"}), kBadInput);
}

// More launches than 32 bits count are not none.
TEST_F(Cli, CountOfLaunchesDoesNotWrap) {
  const std::string co = kernel_file({{.name = "forever", .body = ".Lx:\n  s_branch .Lx\n", .args = {}}});
  const std::vector<std::string> args = {"run", co, "-k", "forever", "-g", "64", "--timeout", "0.2"};
  EXPECT_EQ(run(args + std::vector<std::string>{"--repeat", "4294967295", "--warmup", "1"}), kTimeout) << out_;
}

TEST_F(Cli, UnwritableStandardOutput) {
  for (const char* command : {"info", "disasm", "coverage", "info --json"}) {
    const int status = std::system(fmt::format("{} {} {} > /dev/full 2> {}/err", quote(WAVEJIT_COMMAND), command,
                                               quote(fixture("v4_gfx908.co")), directory_.string())
                                       .c_str());
    EXPECT_EQ(WEXITSTATUS(status), kBadInput) << command;
    EXPECT_NE(slurp(directory_ / "err").find("standard output"), std::string::npos) << command;
  }
}

TEST_F(Cli, ProgressOfLongRuns) {
  const std::string co = kernel_file({{.name = "forever", .body = ".Lx:\n  s_branch .Lx\n", .args = {}}});
  // It is ended when it has said how far it is.
  const std::string command =
      fmt::format("{} run {} -k forever -g 64 --timeout 100 2>&1 & echo $!; wait", quote(WAVEJIT_COMMAND), quote(co));
  FILE* output = popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  char line[200];
  ASSERT_NE(std::fgets(line, sizeof line, output), nullptr);
  const pid_t process = std::atoi(line);
  ASSERT_GT(process, 0);
  EXPECT_NE(std::fgets(line, sizeof line, output), nullptr);
  EXPECT_NE(std::string(line).find(" s, 0 of 1 work-groups (0%)"), std::string::npos) << line;
  kill(process, SIGKILL);
  pclose(output);
}

TEST_F(Cli, Bench) {
  std::vector<std::string> args = vector_add();
  args[0] = "bench";
  ASSERT_EQ(run(args), kOk) << err_;
  for (const TestEngine& engine : engines()) EXPECT_NE(out_.find(engine.name), std::string::npos) << out_;
  EXPECT_EQ(out_.find("differs"), std::string::npos) << out_;
  ASSERT_EQ(run(args + std::vector<std::string>{"--json"}), kOk) << err_;
  const Json json = Json::parse(out_);
  ASSERT_EQ(json["engines"].size(), engines().size());
  for (const Json& row : json["engines"]) {
    EXPECT_EQ(row["same_output"], true);
    EXPECT_EQ(row["repeat"], 5);
  }
}

TEST_F(Cli, Coverage) {
  ASSERT_EQ(run({"coverage", fixture("v4_gfx908.co"), fixture("libhost.so"), "--strict"}), kOk) << err_ << out_;
  EXPECT_NE(out_.find("total"), std::string::npos);
  const std::string co = kernel_file({{.name = "graphics", .body = "  exp mrt0 v0, v0, v0, v0 done vm\n", .args = {}}});
  EXPECT_EQ(run({"coverage", co, "--json"}), kOk);
  const Json json = Json::parse(out_);
  EXPECT_EQ(json["kernels"], 1);
  EXPECT_EQ(json["compiled"], 0);
  EXPECT_EQ(json["interp_unsupported"], 1);
  bool found = false;
  for (const Json& issue : json["issues"]) found |= issue["what"] == "exp" && issue["count"] == 1;
  EXPECT_TRUE(found) << out_;
  EXPECT_EQ(std::system(fmt::format("{} coverage --strict {} > /dev/null", WAVEJIT_COMMAND, quote(co)).c_str()) >> 8,
            kUnsupported);
}

TEST_F(Cli, Cache) {
  if (kSignalsAreHeldBack) GTEST_SKIP() << "under ThreadSanitizer, code objects are loaded to places of chance";
  const std::string cache = (directory_ / "cache").string();
  setenv("WAVEJIT_CACHE", "on", 1);
  setenv("WAVEJIT_CACHE_DIR", cache.c_str(), 1);
  const auto run_kernel = [&](std::vector<std::string> more) {
    std::vector<std::string> args = {"run",
                                     fixture("v4_gfx908.co"),
                                     "--kernel",
                                     "vector_add",
                                     "--global",
                                     "64",
                                     "--local",
                                     "64",
                                     "--engine",
                                     "jit",
                                     "--json",
                                     "--arg",
                                     "f32[64]=iota",
                                     "--arg",
                                     "f32[64]=iota",
                                     "--arg",
                                     "f32[64]=zeros,print:4",
                                     "--arg",
                                     "i32=64"};
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_EQ(run(args), kOk) << err_;
    return Json::parse(out_);
  };
  const auto info = [&] {
    EXPECT_EQ(run({"cache", "--json"}), kOk);
    return Json::parse(out_);
  };
  EXPECT_EQ(info()["entries"], 0);
  const Json cold = run_kernel({});
  EXPECT_GT(cold["translations"], 0);
  EXPECT_EQ(cold["cached_translations"], 0);
  const Json warm = run_kernel({});
  EXPECT_EQ(warm["translations"], 0);
  EXPECT_EQ(warm["translate_ns"], 0);
  EXPECT_EQ(warm["cached_translations"], cold["translations"]);
  EXPECT_GT(warm["cache_ns"], 0);
  EXPECT_EQ(warm["buffers"], cold["buffers"]);
  EXPECT_EQ(warm["host_instructions"], cold["host_instructions"]);
  // Code made for other CPUs is another translation; one of these two has other choices than this one.
  int made = 0;
  for (const char* host : {"unknown", "skylake-x"}) {
    setenv("WAVEJIT_HOST", host, 1);
    const Json first = run_kernel({}), second = run_kernel({});
    made += first["translations"].get<int>() != 0;
    EXPECT_EQ(first["buffers"], cold["buffers"]);
    EXPECT_EQ(second["translations"], 0);
  }
  unsetenv("WAVEJIT_HOST");
  EXPECT_GE(made, 1);
  const Json without = run_kernel({"--no-cache"});
  EXPECT_EQ(without["translations"], cold["translations"]);
  EXPECT_EQ(without["cache_ns"], 0);
  const Json filled = info();
  EXPECT_GE(filled["entries"], cold["translations"]);  // those that count instructions, too
  EXPECT_EQ(filled["directory"], cache);
  EXPECT_EQ(filled["enabled"], true);
  EXPECT_GT(filled["bytes"], 0);
  EXPECT_EQ(run({"cache"}), kOk);
  EXPECT_NE(out_.find(cache), std::string::npos) << out_;
  EXPECT_EQ(run({"cache", "--clear", "--dir", (directory_ / "other").string()}), kOk);
  EXPECT_EQ(info()["entries"], filled["entries"]);
  EXPECT_EQ(run({"cache", "--clear"}), kOk);
  EXPECT_EQ(out_, fmt::format("{} entries removed\n", filled["entries"].get<int>()));
  EXPECT_EQ(info()["entries"], 0);
  setenv("WAVEJIT_CACHE", "off", 1);
  EXPECT_EQ(info()["enabled"], false);
  EXPECT_GT(run_kernel({})["translations"], 0);
  EXPECT_EQ(info()["entries"], 0);
  unsetenv("WAVEJIT_CACHE_DIR");
}

}  // namespace
}  // namespace wavejit::test
