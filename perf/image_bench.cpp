// What image instructions cost a lane: samples, loads and stores of 2D images of one level. One wave at a time, one
// thread; engines side by side. Each benchmark is <instruction>/<format>/<engine>, and its counter "per_lane" is the
// time.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "test_kernels.h"
#include "wavejit/wavejit.hpp"

namespace {

struct Engine {
  const char* name;
  wavejit_engine engine;
  wavejit_isa isa;
};
constexpr Engine kEngines[] = {{"interp", WAVEJIT_ENGINE_INTERP, WAVEJIT_ISA_AUTO},
                               {"avx2", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX2},
                               {"avx512", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX512}};

struct Format {
  const char* name;
  uint32_t data, number, bytes, components;
};
constexpr Format kFormats[] = {{"rgba_f32", 14, 7, 16, 4},   {"r_f32", 4, 7, 4, 1},         {"rgba_f16", 12, 7, 8, 4},
                               {"rgba_unorm8", 10, 0, 4, 4}, {"r_unorm8", 1, 0, 1, 1},      {"rgba_uint8", 10, 4, 4, 4},
                               {"r_uint8", 1, 4, 1, 1},      {"rgba_uint32", 14, 4, 16, 4}, {"r_uint32", 4, 4, 4, 1}};

constexpr uint32_t kSize = 256;  // texels, both ways
constexpr unsigned kRows = 64;   // accesses of each wave
constexpr uint32_t kWaves = 64;

// A wave has a row of pixels, then the next one, and so on: integers for loads and stores; for samples floats that are
// not quite a texel apart, in texels times the argument `scale`. The sum of all that is read goes to `out`.
wavejit::test::KernelSource kernel(const std::string& name, const std::string& access, bool floats,
                                   unsigned components) {
  std::string body = R"(
  s_mov_b32 s24, s2
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  s_load_dwordx2 s[20:21], s[0:1], 0x10
  s_load_dword s22, s[0:1], 0x18
  s_waitcnt lgkmcnt(0)
  s_load_dwordx8 s[8:15], s[4:5], 0x0
  s_load_dwordx4 s[16:19], s[6:7], 0x0
  s_mov_b32 s23, 0x3f7851ec
  v_mov_b32_e32 v20, 0
  v_mov_b32_e32 v16, 1
  v_mov_b32_e32 v17, 2
  v_mov_b32_e32 v18, 3
  v_mov_b32_e32 v19, 4
  s_and_b32 s25, s24, 3
  s_lshl_b32 s25, s25, 6
  s_and_b32 s26, s24, 12
  s_lshl_b32 s26, s26, 4
  v_add_u32_e32 v1, s25, v0
  v_mov_b32_e32 v2, s26
)";
  if (floats)
    body += R"(
  v_cvt_f32_u32_e32 v1, v1
  v_cvt_f32_u32_e32 v2, v2
  v_mul_f32_e32 v1, s23, v1
  v_add_f32_e32 v1, 1.0, v1
  v_mul_f32_e32 v1, s22, v1
  v_mul_f32_e32 v2, s22, v2
  v_mov_b32_e32 v3, s23
  v_mul_f32_e32 v3, s22, v3
)";
  body +=
      "  s_movk_i32 s27, " + std::to_string(kRows) + "\n  s_waitcnt lgkmcnt(0)\n.L" + name + ":\n  " + access + "\n";
  body += floats ? "  v_add_f32_e32 v2, v2, v3\n" : "  v_add_u32_e32 v2, 1, v2\n";
  for (unsigned i = 0; i < components; ++i) body += "  v_xor_b32_e32 v20, v20, v" + std::to_string(8 + i) + "\n";
  body += "  s_sub_u32 s27, s27, 1\n  s_cmp_lg_u32 s27, 0\n  s_cbranch_scc1 .L" + name + R"(
  s_lshl_b32 s24, s24, 6
  v_add_u32_e32 v4, s24, v0
  v_lshlrev_b32_e32 v4, 2, v4
  global_store_dword v4, v20, s[20:21]
)";
  return {.name = name,
          .body = body,
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"image"}, {"sampler"}, {"out"}, {"scale", 4, "by_value"}}};
}

void accesses(benchmark::State& state, const Engine& engine, const Format& format, const std::string& name, bool linear,
              bool normalized) {
  const std::string mask = format.components == 4 ? " dmask:0xf" : " dmask:0x1";
  const std::string rows = format.components == 4 ? "v[8:11]" : "v8",
                    data = format.components == 4 ? "v[16:19]" : "v16";
  const wavejit::Module module = wavejit::test::load(
      "gfx906",
      {kernel("sample", "image_sample_lz " + rows + ", v[1:2], s[8:15], s[16:19]" + mask, true, format.components),
       kernel("load", "image_load " + rows + ", v[1:2], s[8:15]" + mask + " unorm", false, format.components),
       kernel("store", "image_store " + data + ", v[1:2], s[8:15]" + mask + " unorm", false, 0)});
  wavejit::Buffer<uint8_t> texels(size_t{kSize} * kSize * format.bytes + 256);
  // Ordinary numbers as floats, too.
  for (size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<uint8_t>(0x3c + (i * 37 >> 3 & 3));
  const uint64_t base = (reinterpret_cast<uint64_t>(texels.data()) + 255) & ~uint64_t{255};
  wavejit::Buffer<uint32_t> image(8), sampler(4), out(size_t{kWaves} * 64);
  image[0] = static_cast<uint32_t>(base >> 8);
  image[1] = static_cast<uint32_t>(base >> 40 & 0xff) | format.data << 20 | format.number << 26;
  image[2] = (kSize - 1) | (kSize - 1) << 14;
  image[3] = 4 | 5 << 3 | 6 << 6 | 7 << 9 | 9u << 28;
  image[4] = (kSize - 1) << 13;
  sampler[0] = 2 | 2 << 3 | 2 << 6 | (normalized ? 0u : 1u << 15);
  sampler[1] = 0xfff000;
  sampler[2] = linear ? 1u << 20 | 1u << 22 : 0;
  wavejit::Kernel chosen = module.kernel(name.c_str());
  chosen.set_args(image, sampler, out, normalized ? 1.0f / kSize : 1.0f);
  wavejit::LaunchOptions options;
  options.global[0] = kWaves * 64;
  options.local[0] = 64;
  options.engine = engine.engine;
  options.isa = engine.isa;
  options.threads = 1;
  (void)chosen.launch(options);
  for (auto _ : state) (void)chosen.launch(options);
  state.counters["per_lane"] = benchmark::Counter(
      double{kWaves} * kRows * 64, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

int main(int argc, char** argv) {
  struct Access {
    const char* name;
    const char* kernel;
    bool linear, normalized;
  };
  constexpr Access kAccesses[] = {{"sample_linear", "sample", true, true},
                                  {"sample_linear_unnormalized", "sample", true, false},
                                  {"sample_nearest", "sample", false, true},
                                  {"load", "load", false, false},
                                  {"store", "store", false, false}};
  for (const Access& access : kAccesses) {
    for (const Format& format : kFormats) {
      if (format.number == 4 && access.linear) continue;  // integers are not filtered
      for (const Engine& engine : kEngines) {
        if (engine.isa != WAVEJIT_ISA_AUTO && !wavejit_isa_supported(engine.isa)) continue;
        const std::string name = std::string(access.name) + "/" + format.name + "/" + engine.name;
        benchmark::RegisterBenchmark(name.c_str(), [&engine, &format, &access](benchmark::State& state) {
          accesses(state, engine, format, access.kernel, access.linear, access.normalized);
        })->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
