#include "test_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

namespace wavejit::test {
namespace {

constexpr const char* kMacros8 = R"(
.macro add_co d, a, b
  v_add_u32_e32 \d, vcc, \a, \b
.endm
.macro addc d, a, b
  v_addc_u32_e32 \d, vcc, \a, \b, vcc
.endm
)";
constexpr const char* kMacros9 = R"(
.macro add_co d, a, b
  v_add_co_u32_e32 \d, vcc, \a, \b
.endm
.macro addc d, a, b
  v_addc_co_u32_e32 \d, vcc, \a, \b, vcc
.endm
)";
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
  text += is_gfx8(target) ? kMacros8 : kMacros9;
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

std::vector<uint8_t> assemble(std::string_view target, const std::vector<KernelSource>& kernels) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<uint8_t>> cache;  // tests repeat sources over engines
  const std::string source = source_of(target, kernels);
  const std::lock_guard lock(mutex);
  std::vector<uint8_t>& bytes = cache[source];
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
  return options;
}

}  // namespace wavejit::test
