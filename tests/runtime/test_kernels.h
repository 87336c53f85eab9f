// Small assembled kernels and what it takes to run them, for the tests of dispatch, faults and timeouts.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sanitizers.h"
#include "wavejit/wavejit.hpp"

namespace wavejit::test {

struct TestEngine {
  const char* name;
  wavejit_engine engine;
  wavejit_isa isa;
  std::string disabled = {};  // optimisations; for launch_options(), whose result refers to it
};
// What GoogleTest says of a test's parameter.
inline void PrintTo(const TestEngine& engine, std::ostream* out) {
  *out << engine.name;
}
// The interpreter and every tier this CPU has.
[[nodiscard]] const std::vector<TestEngine>& engines();
// These, and the interpreter followed by translated code.
[[nodiscard]] std::vector<TestEngine> engines_and_auto();
[[nodiscard]] TestEngine auto_engine();

// Lists of optimisations to do without: none, all, each alone, all but each, then `random` sets of a fixed seed.
[[nodiscard]] std::vector<std::string> switch_settings(unsigned random);
// The interpreter, then every tier with everything on, everything off and `random` sets off; or with all settings.
[[nodiscard]] std::vector<TestEngine> engines_with_switches(unsigned random, bool all_settings = false);
// With switches on one target, without on the others.
[[nodiscard]] std::vector<TestEngine> some_engines(std::string_view target);
[[nodiscard]] std::string describe(const TestEngine& engine);

inline constexpr const char* kTargets[] = {"gfx803", "gfx900", "gfx906", "gfx908", "gfx90a"};
[[nodiscard]] inline bool is_gfx8(std::string_view target) {
  return target.substr(0, 4) == "gfx8";
}

struct TestArg {
  std::string name;
  unsigned size = 8;
  std::string kind = "global_buffer";  // value_kind of the metadata
};

struct KernelSource {
  std::string name = "k";
  // GCN assembly. s_endpgm is appended. These macros exist on every target:
  //   add_co v, src, vsrc     v = src + vsrc, carry to vcc
  //   addc v, vsrc, vsrc2     v = vsrc + vsrc2 + vcc, carry to vcc
  //   lane v                  v = lane number 0..63 (needs nothing, clobbers nothing else)
  //   store vaddr, vdata      flat_store_dword of one dword
  std::string body;
  // Lines of .amdhsa_ directives; the kernarg pointer is enabled (s[0:1] if nothing precedes it).
  std::string directives;
  std::vector<TestArg> args;
  unsigned kernarg_size = 0;  // 0: end of the arguments
  unsigned lds = 0;
  unsigned scratch = 0;
  unsigned max_workgroup_size = 1024;
};

// v[6:7] = the first argument + 4 * v0; clobbers v2 to v4, s[4:5] and VCC.
inline constexpr const char* kOwnAddress = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, s5
  add_co v6, s4, v2
  addc v7, v4, v3
)";

// The code object of the kernels. Aborts the test with the assembler's messages on failure.
[[nodiscard]] std::vector<uint8_t> assemble(std::string_view target, const std::vector<KernelSource>& kernels);
[[nodiscard]] Module load(std::string_view target, const std::vector<KernelSource>& kernels);

// ThreadSanitizer holds signals back until the thread calls into the library, which translated code never does: nothing
// can interrupt it, so there are no time limits.
inline constexpr bool kSignalsAreHeldBack = kThreadSanitizer;

[[nodiscard]] LaunchOptions launch_options(const TestEngine& engine, uint32_t global, uint32_t local,
                                           uint32_t threads = 1);

}  // namespace wavejit::test
