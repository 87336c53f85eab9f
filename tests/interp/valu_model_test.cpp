// Vector ALU instructions on random operands against scalar models, written from the ISA documents. Also with a partial
// EXEC and with scalar and constant operands, so that the operand stages take part.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/interp/machine.h"

namespace wavejit::test {
namespace {

enum class In { i, f };  // integer or floating-point operands

struct Binary {
  const char* mnemonic;
  In in;
  uint32_t (*model)(uint32_t, uint32_t);
};
struct Ternary {
  const char* mnemonic;
  In in;
  uint32_t (*model)(uint32_t, uint32_t, uint32_t);
};
struct Unary {
  const char* mnemonic;
  In in;
  uint32_t (*model)(uint32_t);
};

int32_t s(uint32_t v) {
  return static_cast<int32_t>(v);
}
int16_t h(uint32_t v) {
  return static_cast<int16_t>(v);
}
uint32_t u(int64_t v) {
  return static_cast<uint32_t>(v);
}
float f(uint32_t v) {
  return as_float(v);
}
int32_t s24(uint32_t v) {
  return static_cast<int32_t>(v << 8) >> 8;
}
bool signalling(uint32_t v) {
  return (v & 0x7fffffff) > 0x7f800000 && (v & 0x400000) == 0;
}
bool nan(uint32_t v) {
  return (v & 0x7fffffff) > 0x7f800000;
}
uint32_t minmax(bool max, uint32_t a, uint32_t b) {
  if (signalling(a)) return a | 0x400000;
  if (signalling(b)) return b | 0x400000;
  if (nan(a)) return b;
  if (nan(b)) return a;
  if (f(a) == 0 && f(b) == 0) return max ? a & b : a | b;
  return (max ? f(a) > f(b) : f(a) < f(b)) ? a : b;
}
uint32_t fmin_model(uint32_t a, uint32_t b) {
  return minmax(false, a, b);
}
uint32_t fmax_model(uint32_t a, uint32_t b) {
  return minmax(true, a, b);
}
uint32_t saturate(double x, double low, double high) {
  if (x != x) return 0;
  return u(static_cast<int64_t>(std::trunc(std::min(std::max(x, low), high))));
}

const Unary kUnary[] = {
    {"v_mov_b32", In::i, [](uint32_t a) { return a; }},
    {"v_not_b32", In::i, [](uint32_t a) { return ~a; }},
    {"v_bfrev_b32", In::i,
     [](uint32_t a) {
       uint32_t r = 0;
       for (int k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
       return r;
     }},
    {"v_ffbh_u32", In::i,
     [](uint32_t a) {
       for (uint32_t k = 0; k < 32; ++k)
         if ((a >> (31 - k) & 1) != 0) return k;
       return ~0u;
     }},
    {"v_ffbl_b32", In::i,
     [](uint32_t a) {
       for (uint32_t k = 0; k < 32; ++k)
         if ((a >> k & 1) != 0) return k;
       return ~0u;
     }},
    {"v_ffbh_i32", In::i,
     [](uint32_t a) {
       for (uint32_t k = 1; k < 32; ++k)
         if ((a >> (31 - k) & 1) != (a >> 31)) return k;
       return ~0u;
     }},
    {"v_cvt_i32_f32", In::f, [](uint32_t a) { return saturate(f(a), -2147483648.0, 2147483647.0); }},
    {"v_cvt_u32_f32", In::f, [](uint32_t a) { return saturate(f(a), 0, 4294967295.0); }},
    {"v_cvt_flr_i32_f32", In::f, [](uint32_t a) { return saturate(std::floor(f(a)), -2147483648.0, 2147483647.0); }},
    {"v_cvt_rpi_i32_f32", In::f,
     [](uint32_t a) { return saturate(std::floor(f(a) + 0.5f), -2147483648.0, 2147483647.0); }},
    {"v_cvt_f32_i32", In::i, [](uint32_t a) { return as_bits(static_cast<float>(s(a))); }},
    {"v_cvt_f32_u32", In::i, [](uint32_t a) { return as_bits(static_cast<float>(a)); }},
    {"v_cvt_f32_ubyte0", In::i, [](uint32_t a) { return as_bits(static_cast<float>(a & 255)); }},
    {"v_cvt_f32_ubyte1", In::i, [](uint32_t a) { return as_bits(static_cast<float>(a >> 8 & 255)); }},
    {"v_cvt_f32_ubyte2", In::i, [](uint32_t a) { return as_bits(static_cast<float>(a >> 16 & 255)); }},
    {"v_cvt_f32_ubyte3", In::i, [](uint32_t a) { return as_bits(static_cast<float>(a >> 24)); }},
    {"v_cvt_f16_f32", In::f, [](uint32_t a) { return float_to_half(f(a)); }},
    {"v_cvt_f32_f16", In::i, [](uint32_t a) { return as_bits(half_to_float(a)); }},
    {"v_floor_f32", In::f, [](uint32_t a) { return as_bits(std::floor(f(a))); }},
    {"v_ceil_f32", In::f, [](uint32_t a) { return as_bits(std::ceil(f(a))); }},
    {"v_trunc_f32", In::f, [](uint32_t a) { return as_bits(std::trunc(f(a))); }},
    {"v_rndne_f32", In::f, [](uint32_t a) { return as_bits(std::nearbyint(f(a))); }},
    {"v_fract_f32", In::f,
     [](uint32_t a) {
       const float x = f(a) - std::floor(f(a));
       return x > 0x1.fffffep-1f ? 0x3f7fffffu : as_bits(x);
     }},
    {"v_frexp_mant_f32", In::f,
     [](uint32_t a) {
       int e;
       return std::isfinite(f(a)) ? as_bits(std::frexp(f(a), &e)) : a;
     }},
    {"v_frexp_exp_i32_f32", In::f,
     [](uint32_t a) {
       int e = 0;
       if (std::isfinite(f(a)) && f(a) != 0) (void)std::frexp(f(a), &e);
       return u(e);
     }},
};

const Binary kBinary[] = {
    {"v_and_b32", In::i, [](uint32_t a, uint32_t b) { return a & b; }},
    {"v_or_b32", In::i, [](uint32_t a, uint32_t b) { return a | b; }},
    {"v_xor_b32", In::i, [](uint32_t a, uint32_t b) { return a ^ b; }},
    {"v_lshlrev_b32", In::i, [](uint32_t a, uint32_t b) { return b << (a & 31); }},
    {"v_lshrrev_b32", In::i, [](uint32_t a, uint32_t b) { return b >> (a & 31); }},
    {"v_ashrrev_i32", In::i, [](uint32_t a, uint32_t b) { return u(s(b) >> (a & 31)); }},
    {"v_min_i32", In::i, [](uint32_t a, uint32_t b) { return u(std::min(s(a), s(b))); }},
    {"v_max_i32", In::i, [](uint32_t a, uint32_t b) { return u(std::max(s(a), s(b))); }},
    {"v_min_u32", In::i, [](uint32_t a, uint32_t b) { return std::min(a, b); }},
    {"v_max_u32", In::i, [](uint32_t a, uint32_t b) { return std::max(a, b); }},
    {"v_add_u32", In::i, [](uint32_t a, uint32_t b) { return a + b; }},
    {"v_sub_u32", In::i, [](uint32_t a, uint32_t b) { return a - b; }},
    {"v_subrev_u32", In::i, [](uint32_t a, uint32_t b) { return b - a; }},
    {"v_mul_lo_u32", In::i, [](uint32_t a, uint32_t b) { return a * b; }},
    {"v_mul_hi_u32", In::i, [](uint32_t a, uint32_t b) { return u(static_cast<int64_t>(uint64_t{a} * b >> 32)); }},
    {"v_mul_hi_i32", In::i, [](uint32_t a, uint32_t b) { return u(int64_t{s(a)} * s(b) >> 32); }},
    {"v_mul_u32_u24", In::i, [](uint32_t a, uint32_t b) { return (a & 0xffffff) * (b & 0xffffff); }},
    {"v_mul_i32_i24", In::i, [](uint32_t a, uint32_t b) { return u(int64_t{s24(a)} * s24(b)); }},
    {"v_mul_hi_u32_u24", In::i,
     [](uint32_t a, uint32_t b) { return u(static_cast<int64_t>(uint64_t{a & 0xffffff} * (b & 0xffffff) >> 32)); }},
    {"v_mul_hi_i32_i24", In::i, [](uint32_t a, uint32_t b) { return u(int64_t{s24(a)} * s24(b) >> 32); }},
    {"v_bcnt_u32_b32", In::i, [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(std::popcount(a)) + b; }},
    {"v_bfm_b32", In::i, [](uint32_t a, uint32_t b) { return ((1u << (a & 31)) - 1) << (b & 31); }},
    {"v_add_u16", In::i, [](uint32_t a, uint32_t b) { return (a + b) & 0xffff; }},
    {"v_sub_u16", In::i, [](uint32_t a, uint32_t b) { return (a - b) & 0xffff; }},
    {"v_mul_lo_u16", In::i, [](uint32_t a, uint32_t b) { return (a * b) & 0xffff; }},
    {"v_lshlrev_b16", In::i, [](uint32_t a, uint32_t b) { return (b << (a & 15)) & 0xffff; }},
    {"v_lshrrev_b16", In::i, [](uint32_t a, uint32_t b) { return (b & 0xffff) >> (a & 15); }},
    {"v_ashrrev_i16", In::i, [](uint32_t a, uint32_t b) { return u(h(b) >> (a & 15)) & 0xffff; }},
    {"v_min_i16", In::i, [](uint32_t a, uint32_t b) { return u(std::min(h(a), h(b))) & 0xffff; }},
    {"v_max_u16", In::i, [](uint32_t a, uint32_t b) { return std::max(a & 0xffff, b & 0xffff); }},
    {"v_cvt_pk_u16_u32", In::i, [](uint32_t a, uint32_t b) { return std::min(a, 65535u) | std::min(b, 65535u) << 16; }},
    {"v_cvt_pk_i16_i32", In::i,
     [](uint32_t a, uint32_t b) {
       return (u(std::clamp(s(a), -32768, 32767)) & 0xffff) | u(std::clamp(s(b), -32768, 32767)) << 16;
     }},
    {"v_add_f32", In::f, [](uint32_t a, uint32_t b) { return as_bits(f(a) + f(b)); }},
    {"v_sub_f32", In::f, [](uint32_t a, uint32_t b) { return as_bits(f(a) - f(b)); }},
    {"v_subrev_f32", In::f, [](uint32_t a, uint32_t b) { return as_bits(f(b) - f(a)); }},
    {"v_mul_f32", In::f, [](uint32_t a, uint32_t b) { return as_bits(f(a) * f(b)); }},
    {"v_mul_legacy_f32", In::f,
     [](uint32_t a, uint32_t b) { return f(a) == 0 || f(b) == 0 ? 0 : as_bits(f(a) * f(b)); }},
    {"v_min_f32", In::f, fmin_model},
    {"v_max_f32", In::f, fmax_model},
    {"v_ldexp_f32", In::f,
     [](uint32_t a, uint32_t b) { return as_bits(std::ldexp(f(a), std::clamp(s(b), -1000, 1000))); }},
};

const Ternary kTernary[] = {
    {"v_mad_u32_u24", In::i, [](uint32_t a, uint32_t b, uint32_t c) { return (a & 0xffffff) * (b & 0xffffff) + c; }},
    {"v_mad_i32_i24", In::i, [](uint32_t a, uint32_t b, uint32_t c) { return u(int64_t{s24(a)} * s24(b)) + c; }},
    {"v_bfe_u32", In::i,
     [](uint32_t a, uint32_t b, uint32_t c) {
       return u(static_cast<int64_t>(a >> (b & 31) & ((1ull << (c & 31)) - 1)));
     }},
    {"v_bfe_i32", In::i,
     [](uint32_t a, uint32_t b, uint32_t c) {
       const int64_t v = int64_t{s(a)} >> (b & 31);
       const int width = static_cast<int>(c & 31);
       return width == 0 ? 0u : u(static_cast<int64_t>(static_cast<uint64_t>(v) << (64 - width)) >> (64 - width));
     }},
    {"v_bfi_b32", In::i, [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); }},
    {"v_alignbit_b32", In::i,
     [](uint32_t a, uint32_t b, uint32_t c) { return u(static_cast<int64_t>((uint64_t{a} << 32 | b) >> (c & 31))); }},
    {"v_alignbyte_b32", In::i,
     [](uint32_t a, uint32_t b, uint32_t c) {
       return u(static_cast<int64_t>((uint64_t{a} << 32 | b) >> (8 * (c & 3))));
     }},
    {"v_med3_i32", In::i,
     [](uint32_t a, uint32_t b, uint32_t c) {
       return u(std::max(std::min(s(a), s(b)), std::min(std::max(s(a), s(b)), s(c))));
     }},
    {"v_min3_u32", In::i, [](uint32_t a, uint32_t b, uint32_t c) { return std::min({a, b, c}); }},
    {"v_max3_i32", In::i, [](uint32_t a, uint32_t b, uint32_t c) { return u(std::max({s(a), s(b), s(c)})); }},
    {"v_sad_u32", In::i, [](uint32_t a, uint32_t b, uint32_t c) { return (a > b ? a - b : b - a) + c; }},
    {"v_sad_u8", In::i,
     [](uint32_t a, uint32_t b, uint32_t c) {
       for (int k = 0; k < 32; k += 8) c += u(std::abs(s(a >> k & 255) - s(b >> k & 255)));
       return c;
     }},
    {"v_sad_u16", In::i,
     [](uint32_t a, uint32_t b, uint32_t c) {
       for (int k = 0; k < 32; k += 16) c += u(std::abs(s(a >> k & 0xffff) - s(b >> k & 0xffff)));
       return c;
     }},
    {"v_perm_b32", In::i,
     [](uint32_t a, uint32_t b, uint32_t c) {
       uint32_t r = 0;
       for (int k = 0; k < 32; k += 8) {
         const uint32_t n = c >> k & 255;
         const uint64_t data = uint64_t{a} << 32 | b;
         uint64_t byte = 0xff;
         if (n < 8) byte = data >> (8 * n) & 255;
         if (n >= 8 && n < 12) byte = (data >> (16 * (n - 8) + 15) & 1) * 255;
         if (n == 12) byte = 0;
         r |= static_cast<uint32_t>(byte) << k;
       }
       return r;
     }},
    {"v_fma_f32", In::f, [](uint32_t a, uint32_t b, uint32_t c) { return as_bits(std::fma(f(a), f(b), f(c))); }},
    {"v_min3_f32", In::f, [](uint32_t a, uint32_t b, uint32_t c) { return fmin_model(fmin_model(a, b), c); }},
    {"v_max3_f32", In::f, [](uint32_t a, uint32_t b, uint32_t c) { return fmax_model(fmax_model(a, b), c); }},
    {"v_med3_f32", In::f,
     [](uint32_t a, uint32_t b, uint32_t c) {
       if (nan(a) || nan(b) || nan(c)) return fmin_model(fmin_model(a, b), c);
       const float top = std::max({f(a), f(b), f(c)});
       if (top == f(a)) return fmax_model(b, c);
       if (top == f(b)) return fmax_model(a, c);
       return fmax_model(a, b);
     }},
};

uint32_t draw(Random& random, In in) {
  return in == In::i ? random.bits32() : random.float32();
}

class ValuModel : public testing::TestWithParam<uint64_t> {};

// Runs `source` for random operands; checks v3 in active lanes and that inactive lanes keep their value.
template <typename Model>
void check(const char* mnemonic, In in, unsigned operands, uint64_t seed, Model model) {
  Random random(seed);
  Machine m(isa::Target::gfx906);
  m.wave().mode = kModeKeepDenormals;
  for (unsigned round = 0; round < 40; ++round) {
    // Operand places: VGPRs, an SGPR in src0, an inline constant in src0.
    const unsigned place = round % 3;
    std::string source = std::string(mnemonic) + " v3, " +
                         (place == 0    ? "v0"
                          : place == 1  ? "s4"
                          : in == In::i ? "17"
                                        : "-4.0");
    for (unsigned k = 1; k < operands; ++k) source += ", v" + std::to_string(k);
    m.s(4) = draw(random, in);
    const uint32_t uniform = place == 1 ? m.s(4) : in == In::i ? 17u : 0xc0800000u;
    const uint64_t exec = round % 4 == 0 ? random.bits64() : ~0ull;
    for (unsigned l = 0; l < kWaveSize; ++l) {
      for (unsigned k = 0; k < 3; ++k) m.v(k)[l] = draw(random, in);
      m.v(3)[l] = 0xdead0000 + l;
    }
    m.wave().set_exec(exec);
    ASSERT_EQ(m.run(source), ExitReason::kEnd) << source << ": " << m.error().message;
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const uint32_t a = place == 0 ? m.v(0)[l] : uniform;
      const uint32_t want = (exec >> l & 1) != 0 ? model(a, m.v(1)[l], m.v(2)[l]) : 0xdead0000 + l;
      const bool float_result = in == In::f && std::string(mnemonic).find("_i32") == std::string::npos &&
                                std::string(mnemonic).find("_u32") == std::string::npos;
      bool ok = want == m.v(3)[l] || (float_result && same(want, m.v(3)[l]));
      if (std::string(mnemonic) == "v_cvt_f16_f32" && !ok)
        ok = f(a) != f(a) && half_to_float(m.v(3)[l]) != half_to_float(m.v(3)[l]);
      if (std::string(mnemonic) == "v_cvt_f32_f16" && !ok) ok = same(want, m.v(3)[l]);
      ASSERT_TRUE(ok) << source << std::hex << " lane " << l << " of " << a << ", " << m.v(1)[l] << ", " << m.v(2)[l]
                      << ": want " << want << ", got " << m.v(3)[l];
    }
  }
}

TEST_P(ValuModel, Unary) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (const Unary& c : kUnary)
    check(c.mnemonic, c.in, 1, GetParam(), [&](uint32_t a, uint32_t, uint32_t) { return c.model(a); });
}
TEST_P(ValuModel, Binary) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (const Binary& c : kBinary)
    check(c.mnemonic, c.in, 2, GetParam(), [&](uint32_t a, uint32_t b, uint32_t) { return c.model(a, b); });
}
TEST_P(ValuModel, Ternary) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (const Ternary& c : kTernary) check(c.mnemonic, c.in, 3, GetParam(), c.model);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ValuModel, testing::Values(1, 2, 3));

// Compares: every condition against its truth table.
TEST(ValuCompare, Float) {
  struct Condition {
    const char* name;
    bool less, equal, greater, unordered;
  };
  static constexpr Condition kConditions[] = {
      {"f", false, false, false, false}, {"lt", true, false, false, false}, {"eq", false, true, false, false},
      {"le", true, true, false, false},  {"gt", false, false, true, false}, {"lg", true, false, true, false},
      {"ge", false, true, true, false},  {"o", true, true, true, false},    {"u", false, false, false, true},
      {"nge", true, false, false, true}, {"nlg", false, true, false, true}, {"ngt", true, true, false, true},
      {"nle", false, false, true, true}, {"neq", true, false, true, true},  {"nlt", false, true, true, true},
      {"tru", true, true, true, true}};
  Random random(5);
  SCOPED_TRACE("seed 5");
  Machine m(isa::Target::gfx900);
  for (const Condition& c : kConditions) {
    for (unsigned round = 0; round < 8; ++round) {
      for (unsigned l = 0; l < kWaveSize; ++l) {
        m.v(0)[l] = random.float32();
        m.v(1)[l] = l % 5 == 0 ? m.v(0)[l] : random.float32();
        m.set_v64(2, l, random.float64());
        m.set_v64(4, l, l % 5 == 0 ? m.v64(2, l) : random.float64());
        m.v(6)[l] = random.float16();
        m.v(7)[l] = l % 5 == 0 ? m.v(6)[l] : random.float16();
      }
      const uint64_t exec = random.bits64();
      m.wave().set_exec(exec);
      const std::string n = c.name;
      ASSERT_EQ(m.run("v_cmp_" + n + "_f32 s[4:5], v0, v1\nv_cmp_" + n + "_f64 s[6:7], v[2:3], v[4:5]\nv_cmp_" + n +
                      "_f16 vcc, v6, v7"),
                ExitReason::kEnd);
      const auto truth = [&](double a, double b) {
        return a != a || b != b ? c.unordered : a < b ? c.less : a == b ? c.equal : c.greater;
      };
      uint64_t want32 = 0, want64 = 0, want16 = 0;
      for (unsigned l = 0; l < kWaveSize; ++l) {
        want32 |= uint64_t{truth(f(m.v(0)[l]), f(m.v(1)[l]))} << l;
        want64 |= uint64_t{truth(as_double(m.v64(2, l)), as_double(m.v64(4, l)))} << l;
        want16 |= uint64_t{truth(half_to_float(m.v(6)[l]), half_to_float(m.v(7)[l]))} << l;
      }
      EXPECT_EQ(m.wave().sgpr64(4), want32 & exec) << n;
      EXPECT_EQ(m.wave().sgpr64(6), want64 & exec) << n;
      EXPECT_EQ(m.wave().vcc(), want16 & exec) << n;
    }
  }
}

TEST(ValuCompare, ClassAndCmpx) {
  Machine m(isa::Target::gfx900);
  m.wave().mode = kModeFlushDenormals;  // classes look at raw bits
  static constexpr uint32_t kValues[10] = {0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001,
                                           0x80000000, 0x00000000, 0x00000001, 0x3f800000, 0x7f800000};
  for (unsigned bit = 0; bit < 10; ++bit) {
    for (unsigned l = 0; l < kWaveSize; ++l) m.v(0)[l] = kValues[l % 10];
    m.s(4) = 1u << bit;
    m.wave().set_exec(~0ull);
    ASSERT_EQ(m.run("v_mov_b32 v1, s4\nv_cmpx_class_f32 vcc, v0, v1"), ExitReason::kEnd);
    uint64_t want = 0;
    for (unsigned l = bit; l < kWaveSize; l += 10) want |= 1ull << l;
    EXPECT_EQ(m.wave().vcc(), want);
    EXPECT_EQ(m.wave().exec(), want);
  }
}

}  // namespace
}  // namespace wavejit::test
