// Every lockstep kernel with all optimisations, with none, without some of them, with some alone, and with random sets of
// them, on every tier: what it leaves in memory is what the interpreter leaves. The same with all, none and random sets for
// the registers at its end, which it then stores. Which ones are off or on alone is drawn for each kernel and tier;
// scripts/switches.sh has all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "lockstep_case.h"

namespace wavejit::test {
namespace {

constexpr const char* kSwitchesTarget = "gfx906";

// WAVEJIT_RANDOM_SWITCHES=N: more random sets than usual, and all of those that are no chance.
unsigned random_sets() {
  const char* text = std::getenv("WAVEJIT_RANDOM_SWITCHES");
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 6;
}
unsigned one_in() {
  return std::getenv("WAVEJIT_RANDOM_SWITCHES") ? 1 : 5;
}

std::vector<TestEngine> drawn_engines(const std::string& kernel, bool all_settings) {
  std::vector<TestEngine> engines = engines_with_switches(random_sets(), all_settings);
  std::erase_if(engines, [&](const TestEngine& engine) {
    const bool always = engine.engine == WAVEJIT_ENGINE_INTERP || engine.disabled.empty() || engine.disabled == "all";
    return all_settings && !always && std::hash<std::string>()(kernel + describe(engine)) % one_in() != 0;
  });
  return engines;
}

// __builtin_cpu_supports() of older compilers does not know it.
bool has_avx512_fp16() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find(" avx512_fp16") != std::string::npos;
}

bool is_nan(uint32_t bits) {
  return (bits & 0x7fffffff) > 0x7f800000;
}

class Switches : public testing::TestWithParam<LockstepCase> {};

TEST_P(Switches, AgreeInMemoryAndRegisters) {
  const LockstepCase& c = GetParam();
  for (const bool dump_state : {false, true}) {
    const Module module = load(kSwitchesTarget, {lockstep_source(c, kSwitchesTarget, dump_state)});
    const Memory initial = lockstep_data(c, dump_state);
    Buffer<uint32_t> data(initial);  // one for all: registers have its address
    Memory expected;
    unsigned wrong = 0;
    for (const TestEngine& engine : drawn_engines(c.name, !dump_state)) {
      Kernel kernel = module.kernel(c.name);
      std::copy(initial.begin(), initial.end(), data.begin());
      kernel.set_args(data);
      (void)kernel.launch(launch_options(engine, c.groups * c.group_size, c.group_size));
      if (expected.empty()) {
        expected.assign(data.begin(), data.end());
        ASSERT_NE(expected, initial) << "the case does nothing";
        continue;
      }
      for (size_t i = 0; i < expected.size() && wrong < 8; ++i) {
        if (data[i] == expected[i] || (c.floats && is_nan(data[i]) && is_nan(expected[i]))) continue;
        ++wrong;
        const std::string place = i < c.words ? "word " + std::to_string(i)
                                              : "wave " + std::to_string((i - c.words) / kLanes / kStateRows) +
                                                    ", row " + std::to_string((i - c.words) / kLanes % kStateRows) +
                                                    ", lane " + std::to_string((i - c.words) % kLanes);
        ADD_FAILURE() << describe(engine) << (dump_state ? ", registers stored: " : ": ") << place << ": expected "
                      << expected[i] << ", got " << data[i];
        break;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Switches, testing::ValuesIn(all_lockstep_cases()),
                         [](const auto& info) { return info.param.name; });

// Kernels whose code these names are known to change. The other names change that of nearly every kernel.
constexpr std::pair<std::string_view, std::string_view> kKnownToChange[] = {
    {"known-strides", "waits"},
    {"lds-size", "waits"},
    {"licm", "waits"},
    {"polls", "waits"},
    {"rolled-segments", "sums_f32_straight"},
    {"shared-loads", "sums_f32_shared"},
    {"half-arithmetic", "sums_f16_shared"},
    {"shared-halves", "sums_f16_shared"},
    {"sums-first", "sums_f32_straight"},
    {"joined-sums", "sums_f32_behind"},
    {"lane-addresses", "exponents_added"},
    {"ordinary-numbers", "exponents_added"},
    {"negations", "divisions"},
    {"plain-divisions", "divisions"},
    {"segment-reuse", "divisions"},
    {"flatten", "ways_with_shared_registers_overlapping_loop"},
    {"mask-terms", "ways_with_shared_registers_overlapping_loop"},
    {"interleaving", "long_division_that_stops_early"},
    {"strided-lanes", "long_division_that_stops_early"},
    {"long-divisions", "long_division"},
    {"indexed-addresses", "neighbouring_bytes"},
    {"merge-bytes", "neighbouring_bytes"},
    {"prefetch", "neighbouring_bytes"},
    {"permuted-lds", "lds_places_of_lanes_that_are_off"},
    {"accumulators", "sums_of_products"},
    {"clamped-indices", "image_neighbours_product_wraps"},
    {"unclamped-copies", "image_neighbours_product_wraps"},
    {"interleaved", "structures_of_4"},
    {"merge-accesses", "neighbouring_places"},
    {"wide-pairs", "doubles_shifted_down"},
    {"uniform-atomics", "global_overlapping_atomics"},
    {"phi-pairs", "walk_returning"},
    {"divergent-regions", "walk_by_eight"},
    {"walks", "walk_unaligned"},
    {"branch-facts", "leaving_shows_scc"},
    {"threaded-branches", "cases_of_lanes"},
    {"jump-tables", "cases_of_lanes"},
    {"reused-flags", "cases_of_lanes"},
    {"loop-bounds", "words_in_turn"},
    {"narrow-values", "search_in_floats"},
    {"stream-checks", "streams_rows_own"},
    {"tile-regions", "words_in_turn"},
    {"resumed-values", "counters_around_barriers"},
    {"resumed-bounds", "sums_f64_tiles"},
    {"full-loops", "counting_signed_tested_first"},
    {"uniform-phis", "nested_loops"},
    {"stepped-addresses", "pointers_advanced_alike"},
    {"uniform-stores", "one_lane_writes_what_all_read"},
};

// Each name changes the code of some kernel here when it is the only one off, or the only one on: otherwise the tests
// above say nothing about it.
TEST(SwitchNames, EachChangesTheCodeOfSomeKernel) {
  // Some hosts prefer single accesses to gathers and scatters. Each test is a process of its own in ctest.
  setenv("WAVEJIT_HOST", "zen4", 1);
  std::vector<std::string> names;
  for (size_t i = 0; const char* name = wavejit_optimisation_name(i); ++i) names.emplace_back(name);
  std::set<std::string> unchanged(names.begin(), names.end());
  unchanged.erase("run-through");       // how launches enter code
  unchanged.erase("last-waves");        // code that dumps do not show; partial_wave_at_barriers runs it
  unchanged.erase("profiles");          // of code that was interpreted before; runtime.Sampler
  unchanged.erase("moved-entry");       // code that only waves from the interpreter enter; passes/moved-entry.ir
  unchanged.erase("streaming-stores");  // of kernels with one store: StreamingStores in backend and runtime
  unchanged.erase("folded-divisions");  // kernel_test has kernels with divisions
  // kernels.LaneLoops has kernels with such arrays, with scratch and with numbers that are loaded.
  for (const char* name : {"register-arrays", "lane-rows", "lane-row-loops", "lane-numbers"}) unchanged.erase(name);
  const bool avx512 =
      std::any_of(engines().begin(), engines().end(), [](const TestEngine& e) { return e.isa == WAVEJIT_ISA_AVX512; });
  if (!avx512)
    for (const char* name : {"ternary-logic", "scatters"}) unchanged.erase(name);  // AVX2 has no such instructions
  if (!avx512 || !has_avx512_fp16()) unchanged.erase("half-arithmetic");
  // gfx906 has no matrix instructions; matrix_test and matrix_homes_test have the same test for those that do.
  unchanged.erase("resident-rows");
  std::erase_if(unchanged, [](const std::string& name) { return name.starts_with("matrix-"); });
  const auto all_but = [&](const std::string& on) {
    std::string list;
    for (const std::string& name : names)
      if (name != on) list += name + ",";
    return list;
  };
  const KernelSource waits{.name = "waits",
                           .body = R"(
  s_mov_b32 m0, -1
  v_mov_b32_e32 v1, 0
.Lwait:
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  v_cmp_eq_u32_e32 vcc, 0, v2
  s_cbranch_vccnz .Lwait
)",
                           .lds = 4};
  std::vector<std::pair<KernelSource, unsigned>> sources = {{descriptor_source(), 64}, {waits, 128}};
  for (const LockstepCase& c : all_lockstep_cases())
    sources.emplace_back(lockstep_source(c, kSwitchesTarget), c.group_size);
  std::reverse(sources.begin() + 2, sources.end());  // the last ones have most of what is special
  const auto look_at = [&](const KernelSource& source, unsigned local, std::set<std::string>& unchanged) {
    const Module module = load(kSwitchesTarget, {source});
    const Kernel kernel = module.kernel(source.name);
    for (const TestEngine& engine : engines()) {
      if (engine.engine == WAVEJIT_ENGINE_INTERP || unchanged.empty()) continue;
      const auto code = [&](const std::string& disabled) {
        wavejit_dump_options options{};
        options.size = sizeof options;
        options.kind = WAVEJIT_DUMP_X86;
        options.isa = engine.isa;
        options.disabled_passes = disabled.c_str();
        options.local[0] = local;
        std::string text;
        const auto append = [](void* user, const char* piece, size_t length) {
          static_cast<std::string*>(user)->append(piece, length);
        };
        EXPECT_EQ(wavejit_kernel_dump(kernel.handle(), &options, append, &text), WAVEJIT_OK);
        return text;
      };
      const std::string with_all = code("");
      std::string with_none;
      std::erase_if(unchanged, [&](const std::string& name) {
        if (code(name) != with_all) return true;
        if (with_none.empty()) with_none = code("all");
        return code(all_but(name)) != with_none;
      });
    }
  };
  std::set<std::string> known_but_unchanged;
  for (const auto& [source, group_size] : sources) {
    std::set<std::string> known;
    for (const auto& [name, kernel] : kKnownToChange)
      if (kernel == source.name && unchanged.erase(std::string(name)) != 0) known.emplace(name);
    if (!known.empty()) look_at(source, group_size, known);
    known_but_unchanged.merge(known);
  }
  unchanged.merge(known_but_unchanged);  // tried on all kernels, as those without a known one
  for (const auto& [source, group_size] : sources)
    if (!unchanged.empty()) look_at(source, group_size, unchanged);
  for (const std::string& name : unchanged) ADD_FAILURE() << name;
}

}  // namespace
}  // namespace wavejit::test
