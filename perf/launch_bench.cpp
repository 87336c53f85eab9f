// What launches cost besides the kernel's work: a launch of one empty work-group through the C API, each further empty
// work-group, and resuming a wave behind a barrier. One thread; engines side by side.
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
