// Integer vector instructions on every engine against models written from the ISA documents: 102,400 lane values for
// each instruction, weighted to corner values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/support/assembler.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

using isa::Target;

struct Model {
  const char* mnemonic;
  unsigned operands;
  uint32_t (*result)(uint32_t, uint32_t, uint32_t);
  Target target = Target::gfx906;
};

int64_t wide(uint32_t v) {
  return static_cast<int32_t>(v);
}
int32_t half(uint32_t v) {
  return static_cast<int16_t>(v);
}
uint32_t low(int64_t v) {
  return static_cast<uint32_t>(v);
}
uint32_t low16(int64_t v) {
  return static_cast<uint32_t>(v) & 0xffff;
}
uint32_t saturated(int64_t v, int64_t least, int64_t most) {
  return low(v < least ? least : v > most ? most : v);
}
// The sum of |a - b| over bytes; of those that b has if `masked`.
uint32_t byte_distance(uint32_t a, uint32_t b, bool masked) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < 4; ++i, a >>= 8, b >>= 8)
    if (!masked || (b & 255) != 0)
      sum += static_cast<uint32_t>(std::abs(static_cast<int>(a & 255) - static_cast<int>(b & 255)));
  return sum;
}
template <typename T>
T middle(T a, T b, T c) {
  T all[] = {a, b, c};
  std::sort(all, all + 3);
  return all[1];
}

const Model kModels[] = {
    {"v_add_u32_e64 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return low(int64_t{a} + b); }},
    {"v_add_u32_e64 {}, {}, {} clamp", 2,
     [](uint32_t a, uint32_t b, uint32_t) { return saturated(int64_t{a} + b, 0, UINT32_MAX); }},
    {"v_sub_u32_e64 {}, {}, {} clamp", 2,
     [](uint32_t a, uint32_t b, uint32_t) { return saturated(int64_t{a} - b, 0, UINT32_MAX); }},
    {"v_subrev_u32_e64 {}, {}, {} clamp", 2,
     [](uint32_t a, uint32_t b, uint32_t) { return saturated(int64_t{b} - a, 0, UINT32_MAX); }},
    {"v_add_i32 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return low(wide(a) + wide(b)); }},
    {"v_add_i32 {}, {}, {} clamp", 2,
     [](uint32_t a, uint32_t b, uint32_t) { return saturated(wide(a) + wide(b), INT32_MIN, INT32_MAX); }},
    {"v_sub_i32 {}, {}, {} clamp", 2,
     [](uint32_t a, uint32_t b, uint32_t) { return saturated(wide(a) - wide(b), INT32_MIN, INT32_MAX); }},
    {"v_mul_lo_u32 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return low(wide(a) * wide(b)); }},
    {"v_mul_hi_u32 {}, {}, {}", 2,
     [](uint32_t a, uint32_t b, uint32_t) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }},
    {"v_mul_hi_i32 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return low(wide(a) * wide(b) >> 32); }},
    {"v_xnor_b32 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return (a & b) | (~a & ~b); }},
    {"v_ashrrev_i32 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return low(wide(b) >> (a & 31)); }},
    {"v_add_u16_e64 {}, {}, {} clamp", 2,
     [](uint32_t a, uint32_t b, uint32_t) { return saturated(int64_t{a & 0xffff} + (b & 0xffff), 0, 0xffff); }},
    {"v_sub_u16_e64 {}, {}, {} clamp", 2,
     [](uint32_t a, uint32_t b, uint32_t) { return saturated(int64_t{a & 0xffff} - (b & 0xffff), 0, 0xffff); }},
    {"v_subrev_u16_e64 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return low16(int64_t{b} - a); }},
    {"v_max_i16 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return low16(std::max(half(a), half(b))); }},
    {"v_min_u16 {}, {}, {}", 2, [](uint32_t a, uint32_t b, uint32_t) { return std::min(a & 0xffff, b & 0xffff); }},
    {"v_mad_u32_u16 {}, {}, {}, {}", 3,
     [](uint32_t a, uint32_t b, uint32_t c) { return (a & 0xffff) * (b & 0xffff) + c; }},
    {"v_mad_i32_i16 {}, {}, {}, {}", 3,
     [](uint32_t a, uint32_t b, uint32_t c) { return low(int64_t{half(a)} * half(b) + wide(c)); }},
    {"v_mad_i32_i16 {}, {}, {}, {} clamp", 3,
     [](uint32_t a, uint32_t b, uint32_t c) {
       return saturated(int64_t{half(a)} * half(b) + wide(c), INT32_MIN, INT32_MAX);
     }},
    {"v_xad_u32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }},
    {"v_lshl_add_u32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return (a << b % 32) + c; }},
    {"v_add_lshl_u32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << c % 32; }},
    {"v_add3_u32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }},
    {"v_lshl_or_b32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return (a << b % 32) | c; }},
    {"v_and_or_b32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }},
    {"v_or3_b32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }},
    {"v_max3_u32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return std::max(a, std::max(b, c)); }},
    {"v_med3_u32 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return middle(a, b, c); }},
    {"v_med3_i32 {}, {}, {}, {}", 3,
     [](uint32_t a, uint32_t b, uint32_t c) { return low(middle(wide(a), wide(b), wide(c))); }},
    {"v_min3_i32 {}, {}, {}, {}", 3,
     [](uint32_t a, uint32_t b, uint32_t c) { return low(std::min(wide(a), std::min(wide(b), wide(c)))); }},
    {"v_sad_u8 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return byte_distance(a, b, false) + c; }},
    {"v_sad_u8 {}, {}, {}, {} clamp", 3,
     [](uint32_t a, uint32_t b, uint32_t c) {
       return saturated(int64_t{c} + byte_distance(a, b, false), 0, UINT32_MAX);
     }},
    {"v_sad_hi_u8 {}, {}, {}, {}", 3,
     [](uint32_t a, uint32_t b, uint32_t c) { return byte_distance(a, b, false) * 0x10000 + c; }},
    {"v_msad_u8 {}, {}, {}, {}", 3, [](uint32_t a, uint32_t b, uint32_t c) { return byte_distance(a, b, true) + c; }},
    {"v_sad_u32 {}, {}, {}, {} clamp", 3,
     [](uint32_t a, uint32_t b, uint32_t c) {
       return saturated(std::llabs(int64_t{a} - b) + int64_t{c}, 0, UINT32_MAX);
     }},
    {"v_lerp_u8 {}, {}, {}, {}", 3,
     [](uint32_t a, uint32_t b, uint32_t c) {
       uint32_t result = 0;
       for (unsigned i = 0; i < 32; i += 8) result += ((a >> i) % 256 + (b >> i) % 256 + (c >> i) % 2) / 2 << i;
       return result;
     }},
};

// Corner values, small numbers, numbers near powers of two, and anything.
uint32_t operand(std::mt19937_64& rng) {
  static constexpr uint32_t kCorners[] = {0,          1,          0x7f,       0x80,       0xff,       0x7fff,
                                          0x8000,     0xffff,     0x10000,    0xffffff,   0x7fffffff, 0x80000000,
                                          0xfffffffe, 0xffffffff, 0x7fff7fff, 0x80008000, 0x00ff00ff, 0xff00ff00};
  switch (rng() % 4) {
    case 0:
      return kCorners[rng() % std::size(kCorners)];
    case 1:
      return static_cast<uint32_t>(rng() % 64);
    case 2:
      return (1u << rng() % 32) - 2 + static_cast<uint32_t>(rng() % 4);
    default:
      return static_cast<uint32_t>(rng());
  }
}

constexpr unsigned kPerRun = 40, kRuns = 40;  // instructions in a run: 64 lanes each

class IntegerModel : public testing::TestWithParam<Model> {};

TEST_P(IntegerModel, AgreesOnEveryEngine) {
  const Model& model = GetParam();
  std::string source;
  const auto reg = [](unsigned number) { return fmt::format("v{}", number); };
  for (unsigned i = 0; i < kPerRun; ++i) {
    const std::string dst = reg(3 * kPerRun + i), a = reg(i), b = reg(kPerRun + i), c = reg(2 * kPerRun + i);
    source += model.operands == 2 ? fmt::format(fmt::runtime(model.mnemonic), dst, a, b)
                                  : fmt::format(fmt::runtime(model.mnemonic), dst, a, b, c);
    source += '\n';
  }
  const auto code = assemble(model.target, source);
  ASSERT_TRUE(code) << code.error().message;
  const Snippet snippet(model.target, *code);
  constexpr uint64_t kSeed = 20240607;
  SCOPED_TRACE(fmt::format("{} seed {}", model.mnemonic, kSeed));
  std::mt19937_64 rng(kSeed);
  const WavePtr wave = make_wave(), initial = make_wave();
  for (unsigned run_index = 0; run_index < kRuns; ++run_index) {
    for (unsigned row = 0; row < 3 * kPerRun; ++row)
      for (uint32_t& value : initial->vgpr[row]) value = operand(rng);
    for (const EngineConfig& engine : host_engines()) {
      if (engine.kind != EngineKind::interp && !engine.optimise) continue;
      std::memcpy(static_cast<void*>(wave.get()), initial.get(), sizeof(WaveState));
      const auto result = run(engine, snippet, *wave);
      ASSERT_TRUE(result) << engine.name() << ": " << result.error().message;
      for (unsigned i = 0; i < kPerRun; ++i) {
        for (unsigned lane = 0; lane < kWaveSize; ++lane) {
          const uint32_t a = initial->vgpr[i][lane], b = initial->vgpr[kPerRun + i][lane];
          const uint32_t c = initial->vgpr[2 * kPerRun + i][lane];
          ASSERT_EQ(wave->vgpr[3 * kPerRun + i][lane], model.result(a, b, c))
              << fmt::format("{}: {:#x} {:#x} {:#x}", engine.name(), a, b, c);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, IntegerModel, testing::ValuesIn(kModels), [](const auto& info) {
  std::string name = info.param.mnemonic;
  const bool clamps = name.ends_with(" clamp");
  name = name.substr(0, name.find(' '));
  return clamps ? name + "_clamp" : name;
});

}  // namespace
}  // namespace wavejit::test
