// What launches cost besides the kernel's work: a launch of one empty work-group through the C API, each further empty
// work-group, resuming a wave behind a barrier, and a hand-over between two waves, or two work-groups, that wait for each
// other by loading again and again. One thread; engines side by side.
#include <benchmark/benchmark.h>

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

wavejit::LaunchOptions options_for(const Engine& engine, uint32_t global, uint32_t local) {
  wavejit::LaunchOptions options;
  options.global[0] = global;
  options.local[0] = local;
  options.engine = engine.engine;
  options.isa = engine.isa;
  options.threads = 1;
  return options;
}

constexpr unsigned kBarriers = 64;  // s_barrier instructions in a row
constexpr unsigned kTurns = 1000;   // of each of the two that wait for each other

// A word in memory is counted by two waves in turn: waves of one work-group, or work-groups.
wavejit::test::KernelSource hand_over(const char* name, bool groups) {
  return {.name = name,
          .body = std::string(R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
)") + (groups ? "  s_mov_b32 s8, s2\n" : "  v_readfirstlane_b32 s8, v0\n  s_lshr_b32 s8, s8, 6\n") +
                  R"(
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  s_mov_b32 s9, )" +
                  std::to_string(kTurns) + "\n.Lspin" + name + R"(:
  flat_load_dword v4, v[2:3] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_readfirstlane_b32 s10, v4
  s_cmp_lg_u32 s10, s8
  s_cbranch_scc1 .Lspin)" +
                  name + R"(
  s_add_u32 s10, s10, 1
  v_mov_b32_e32 v4, s10
  flat_store_dword v[2:3], v4 glc
  s_add_u32 s8, s8, 2
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 .Lspin)" +
                  name + "\n",
          .directives = "  .amdhsa_system_sgpr_workgroup_id_x 1\n",
          .args = {{"word"}}};
}

void hand_overs(benchmark::State& state, const Engine& engine, const char* kernel_name, uint32_t group) {
  const wavejit::Module module = wavejit::test::load("gfx906", {hand_over("waves", false), hand_over("groups", true)});
  wavejit::Kernel kernel = module.kernel(kernel_name);
  const wavejit::LaunchOptions options = options_for(engine, 128, group);
  wavejit::Buffer<uint32_t> word(1);
  kernel.set_args(word);
  (void)kernel.launch(options);
  for (auto _ : state) {
    word[0] = 0;
    (void)kernel.launch(options);
  }
  if (word[0] != 2 * kTurns) state.SkipWithError("wrong count");
  state.counters["per_unit"] =
      benchmark::Counter(2 * kTurns, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void launches(benchmark::State& state, const Engine& engine, const char* kernel_name, uint32_t groups, uint32_t waves,
              double units) {
  std::string barriers;
  for (unsigned i = 0; i < kBarriers; ++i) barriers += "  s_barrier\n";
  const wavejit::Module module =
      wavejit::test::load("gfx906", {{.name = "empty", .body = ""}, {.name = "barriers", .body = barriers}});
  wavejit::Kernel kernel = module.kernel(kernel_name);
  const wavejit::LaunchOptions options = options_for(engine, groups * 64 * waves, 64 * waves);
  (void)kernel.launch(options);
  for (auto _ : state) (void)kernel.launch(options);
  // Time per unit (launch, work-group, or resumption of a wave).
  state.counters["per_unit"] =
      benchmark::Counter(units, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

int main(int argc, char** argv) {
  for (const Engine& engine : kEngines) {
    if (engine.isa != WAVEJIT_ISA_AUTO && !wavejit_isa_supported(engine.isa)) continue;
    const auto add = [&](const char* name, const char* kernel, uint32_t groups, uint32_t waves, double units) {
      benchmark::RegisterBenchmark((std::string(name) + "/" + engine.name).c_str(), [&engine, kernel, groups, waves,
                                                                                     units](benchmark::State& state) {
        launches(state, engine, kernel, groups, waves, units);
      })->Unit(benchmark::kMicrosecond);
    };
    const auto add_hand_over = [&](const char* name, const char* kernel, uint32_t group) {
      benchmark::RegisterBenchmark((std::string(name) + "/" + engine.name).c_str(), [&engine, kernel,
                                                                                     group](benchmark::State& state) {
        hand_overs(state, engine, kernel, group);
      })->Unit(benchmark::kMicrosecond);
    };
    add_hand_over("hand_over_waves", "waves", 128);
    add_hand_over("hand_over_groups", "groups", 64);
    add("empty_launch", "empty", 1, 1, 1);
    add("empty_groups", "empty", 4096, 1, 4096);
    add("empty_groups_of_4_waves", "empty", 4096, 4, 4096);
    add("barriers", "barriers", 64, 4, 64.0 * kBarriers * 4);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
