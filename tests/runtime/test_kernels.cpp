#include "test_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <random>

namespace wavejit::test {
namespace {

// Tests and benchmarks are about translation, and must not depend on what earlier runs have left. Those that are about
// the cache configure it themselves.
[[maybe_unused]] const int g_no_cache = setenv("WAVEJIT_CACHE", "off", 0);

// Additions have other names on each family.
std::string additions(std::string_view target) {
  const bool gfx7 = target.starts_with("gfx7"), gfx8 = is_gfx8(target);
  return fmt::format(R"(
.macro add_co d, a, b
  {}_e32 \d, vcc, \a, \b
.endm
.macro addc d, a, b
  {}_e32 \d, vcc, \a, \b, vcc
.endm
)",
                     gfx7   ? "v_add_i32"
                     : gfx8 ? "v_add_u32"
                            : "v_add_co_u32",
                     gfx7 || gfx8 ? "v_addc_u32" : "v_addc_co_u32");
}
constexpr const char* kMacros = R"(
.macro lane d
  v_mbcnt_lo_u32_b32 \d, -1, 0
  v_mbcnt_hi_u32_b32 \d, -1, \d
.endm
.macro store a, d
  flat_store_dword \a, \d
.endm
)";

std::string source_of(std::string_view target, const std::vector<KernelSource>& kernels) {
  std::string text = fmt::format(".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n", target);
  text += additions(target);
  text += kMacros;
  std::string metadata =
      fmt::format("amdhsa.version: [1, 1]\namdhsa.target: amdgcn-amd-amdhsa--{}\namdhsa.kernels:\n", target);
  for (const KernelSource& k : kernels) {
    text += fmt::format(
        ".text\n.globl {0}\n.p2align 8\n.type {0},@function\n{0}:\n{1}\n  s_endpgm\n.L{0}_end:\n.size {0}, "
        ".L{0}_end-{0}\n",
        k.name, k.body);
    text += fmt::format(
        ".rodata\n.p2align 6\n.amdhsa_kernel {}\n  .amdhsa_next_free_vgpr 64\n  .amdhsa_next_free_sgpr 96\n"
        "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n  .amdhsa_group_segment_fixed_size {}\n"
        "  .amdhsa_private_segment_fixed_size {}\n{}\n",
        k.name, k.lds, k.scratch, k.directives);
    if (target == "gfx90a") text += "  .amdhsa_accum_offset 64\n";
    text += ".end_amdhsa_kernel\n";
    unsigned offset = 0;
    std::string args;
    for (const TestArg& arg : k.args) {
      offset = (offset + arg.size - 1) / arg.size * arg.size;
      args += fmt::format("      - {{.name: {}, .offset: {}, .size: {}, .value_kind: {}{}}}\n", arg.name, offset,
                          arg.size, arg.kind, arg.kind == "global_buffer" ? ", .address_space: global" : "");
      offset += arg.size;
    }
    metadata += fmt::format(
        "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: {1}\n    .group_segment_fixed_size: {2}\n"
        "    .private_segment_fixed_size: {3}\n    .kernarg_segment_align: 8\n    .wavefront_size: 64\n    "
        ".sgpr_count: 96\n"
        "    .vgpr_count: 64\n    .max_flat_workgroup_size: {4}\n{5}{6}",
        k.name, k.kernarg_size ? k.kernarg_size : offset, k.lds, k.scratch, k.max_workgroup_size,
        args.empty() ? "" : "    .args:\n", args);
  }
  text += ".amdgpu_metadata\n---\n" + metadata + "...\n.end_amdgpu_metadata\n";
  return text;
}

// A cache of assembled code objects in the build folder. Most tests are separate processes, and many assemble the same
// source. A file contains the key, followed by the code object.
class AssembledBefore {
 public:
  // The key has what the code object depends on.
  AssembledBefore(std::string_view target, const std::string& source)
      : key_(fmt::format("{} {} {}\n{}", WAVEJIT_TEST_CLANG, changed(WAVEJIT_TEST_CLANG), target, source)),
        path_(std::filesystem::path(WAVEJIT_TEST_ASSEMBLED) / fmt::format("{:016x}", std::hash<std::string>()(key_))) {}

  // Empty if there is none.
  [[nodiscard]] std::vector<uint8_t> find() const {
    std::ifstream file(path_, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() <= key_.size() || !std::equal(key_.begin(), key_.end(), bytes.begin())) return {};
    return {bytes.begin() + static_cast<std::ptrdiff_t>(key_.size()), bytes.end()};
  }

  // Other processes see the whole file or none.
  void keep(const std::vector<uint8_t>& code_object) const {
    std::error_code error;
    std::filesystem::create_directories(path_.parent_path(), error);
    const std::filesystem::path part = fmt::format("{}.{}", path_.string(), getpid());
    std::ofstream file(part, std::ios::binary);
    file.write(key_.data(), static_cast<std::streamsize>(key_.size()));
    file.write(reinterpret_cast<const char*>(code_object.data()), static_cast<std::streamsize>(code_object.size()));
    file.close();
    if (file)
      std::filesystem::rename(part, path_, error);
    else
      std::filesystem::remove(part, error);
  }

 private:
  static int64_t changed(const char* program) {
    std::error_code error;
    return std::filesystem::last_write_time(program, error).time_since_epoch().count();
  }

  const std::string key_;
  const std::filesystem::path path_;
};

}  // namespace

const std::vector<TestEngine>& engines() {
  static const std::vector<TestEngine> all = [] {
    std::vector<TestEngine> found = {{"interp", WAVEJIT_ENGINE_INTERP, WAVEJIT_ISA_AUTO}};
    if (wavejit_isa_supported(WAVEJIT_ISA_AVX2)) found.push_back({"avx2", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX2});
    if (wavejit_isa_supported(WAVEJIT_ISA_AVX512)) found.push_back({"avx512", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX512});
    return found;
  }();
  return all;
}

TestEngine auto_engine() {
  return {"auto", WAVEJIT_ENGINE_AUTO, WAVEJIT_ISA_AUTO};
}

std::vector<TestEngine> engines_and_auto() {
  std::vector<TestEngine> result = engines();
  result.push_back(auto_engine());
  return result;
}

std::vector<std::string> switch_settings(unsigned random) {
  std::vector<std::string> names;
  for (size_t i = 0; const char* name = wavejit_optimisation_name(i); ++i) names.emplace_back(name);
  const auto joined = [&](auto&& wanted) {
    std::string list;
    for (const std::string& name : names)
      if (wanted(name)) list += (list.empty() ? "" : ",") + name;
    return list;
  };
  std::vector<std::string> settings = {"", "all"};
  for (const std::string& name : names) settings.push_back(name);
  for (const std::string& on : names) settings.push_back(joined([&](const std::string& name) { return name != on; }));
  std::mt19937_64 rng(2026);
  for (unsigned i = 0; i < random; ++i) {
    const uint64_t one_in = i % 3 == 0 ? 8 : 2;  // few off, or half of them
    settings.push_back(joined([&](const std::string&) { return rng() % one_in == 0; }));
  }
  return settings;
}

std::vector<TestEngine> engines_with_switches(unsigned random, bool all_settings) {
  std::vector<std::string> settings = switch_settings(random);
  if (!all_settings) settings.erase(settings.begin() + 2, settings.end() - random);
  std::vector<TestEngine> result;
  for (const TestEngine& engine : engines()) {
    if (engine.engine == WAVEJIT_ENGINE_INTERP) {
      result.push_back(engine);
      continue;
    }
    for (const std::string& disabled : settings) result.push_back({engine.name, engine.engine, engine.isa, disabled});
  }
  return result;
}

std::vector<TestEngine> some_engines(std::string_view target) {
  return target == "gfx906" ? engines_with_switches(3) : engines();
}

std::string describe(const TestEngine& engine) {
  return engine.disabled.empty() ? engine.name : fmt::format("{} without {}", engine.name, engine.disabled);
}

std::vector<uint8_t> assemble(std::string_view target, const std::vector<KernelSource>& kernels) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<uint8_t>> cache;  // tests repeat sources over engines
  const std::string source = source_of(target, kernels);
  const std::lock_guard lock(mutex);
  std::vector<uint8_t>& bytes = cache[source];
  if (!bytes.empty()) return bytes;
  const AssembledBefore before(target, source);
  bytes = before.find();
  if (!bytes.empty()) return bytes;

  char directory[] = "/tmp/wavejit-test-XXXXXX";
  if (!mkdtemp(directory)) {
    ADD_FAILURE() << "cannot create a temporary directory";
    return {};
  }
  const std::filesystem::path base = directory;
  std::ofstream(base / "k.s") << source;
  const std::string command = fmt::format(
      "{} -target amdgcn-amd-amdhsa -mcpu={} -mcode-object-version=4 -nogpulib {} -o {} 2> {}", WAVEJIT_TEST_CLANG,
      target, (base / "k.s").string(), (base / "k.co").string(), (base / "log").string());
  if (std::system(command.c_str()) != 0) {
    std::ifstream log(base / "log");
    ADD_FAILURE() << command << "\n" << std::string(std::istreambuf_iterator<char>(log), {}) << "\n" << source;
  } else {
    std::ifstream file(base / "k.co", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    before.keep(bytes);
  }
  std::error_code ignored;
  std::filesystem::remove_all(base, ignored);
  return bytes;
}

Module load(std::string_view target, const std::vector<KernelSource>& kernels) {
  const std::vector<uint8_t> bytes = assemble(target, kernels);
  return Module::load_memory(bytes.data(), bytes.size());
}

LaunchOptions launch_options(const TestEngine& engine, uint32_t global, uint32_t local, uint32_t threads) {
  LaunchOptions options;
  options.global[0] = global;
  options.local[0] = local;
  options.engine = engine.engine;
  options.isa = engine.isa;
  options.threads = threads;
  if (!engine.disabled.empty()) options.disabled_passes = engine.disabled.c_str();
  return options;
}

}  // namespace wavejit::test
