// Operand and result stages: SDWA, DPP, VOP3 modifiers, packed selects; packed, dot, mixed-precision and matrix
// instructions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/interp/machine.h"

namespace wavejit::test {
namespace {

uint32_t select(uint32_t v, unsigned sel, bool sext) {  // 0..3 bytes, 4..5 words, 6 dword
  if (sel == 6) return v;
  if (sel < 4) {
    v = v >> (8 * sel) & 0xff;
    return sext ? static_cast<uint32_t>(static_cast<int8_t>(v)) : v;
  }
  v = v >> (16 * (sel - 4)) & 0xffff;
  return sext ? static_cast<uint32_t>(static_cast<int16_t>(v)) : v;
}
const char* const kSelect[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};

TEST(Modifiers, SdwaInteger) {
  Random random(11);
  SCOPED_TRACE("seed 11");
  Machine m(isa::Target::gfx900);
  for (unsigned dst = 0; dst < 7; ++dst) {
    for (unsigned unused = 0; unused < 3; ++unused) {
      const unsigned a = random.bits32() % 7, b = random.bits32() % 7;
      const bool sext = random.bits32() % 2 != 0;
      static const char* const kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
      const std::string source = std::string("v_add_u32_sdwa v2, ") + (sext ? "sext(v0)" : "v0") +
                                 ", v1 dst_sel:" + kSelect[dst] + " dst_unused:" + kUnused[unused] +
                                 " src0_sel:" + kSelect[a] + " src1_sel:" + kSelect[b];
      for (unsigned l = 0; l < kWaveSize; ++l) {
        m.v(0)[l] = static_cast<uint32_t>(random.bits64());
        m.v(1)[l] = static_cast<uint32_t>(random.bits64());
        m.v(2)[l] = 0xa1b2c3d4;
      }
      ASSERT_EQ(m.run(source), ExitReason::kEnd);
      for (unsigned l = 0; l < kWaveSize; ++l) {
        const uint32_t sum = select(m.v(0)[l], a, sext) + select(m.v(1)[l], b, false);
        uint32_t want = sum;
        if (dst < 6) {
          const unsigned width = dst < 4 ? 8 : 16, shift = dst < 4 ? 8 * dst : 16 * (dst - 4);
          const uint32_t field = ((1u << width) - 1) << shift;
          const bool negative = (sum >> (width - 1) & 1) != 0;
          const uint32_t above = shift + width < 32 ? ~0u << (shift + width) : 0;
          const uint32_t rest = unused == 0 ? 0 : unused == 2 ? 0xa1b2c3d4 : negative ? above : 0;
          want = (sum << shift & field) | (rest & ~field);
        }
        ASSERT_EQ(m.v(2)[l], want) << source;
      }
    }
  }
}

TEST(Modifiers, SdwaFloatAndCompare) {
  Machine m(isa::Target::gfx906);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.v(0)[l] = 0x40003c00 + l;  // halves: 2.0, 1.0 + l ulp
    m.v(1)[l] = 0xc2004000;      // halves: -3.0, 2.0
    m.v(2)[l] = 0x55555555;
  }
  ASSERT_EQ(
      m.run("v_mul_f16_sdwa v2, v0, |v1| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_1\n"
            "v_add_f16_sdwa v3, -v0, v1 dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0\n"
            "v_cmp_lt_u32_sdwa vcc, v0, v1 src0_sel:BYTE_0 src1_sel:BYTE_2"),
      ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    EXPECT_EQ(m.v(2)[l], 0x46005555u);  // 6.0
    EXPECT_EQ(m.v(3)[l], 0x0000u);
  }
  EXPECT_EQ(m.wave().vcc(), 0u);  // byte 0 of v0 is l, byte 2 of v1 is 0
}

TEST(Modifiers, DppControls) {
  struct Control {
    const char* text;
    std::function<int(int)> source;  // -1: none
  };
  const Control kControls[] = {
      {"quad_perm:[3,0,2,1]",
       [](int l) {
         static const int p[] = {3, 0, 2, 1};
         return (l & ~3) + p[l & 3];
       }},
      {"row_shl:3", [](int l) { return (l & 15) + 3 < 16 ? l + 3 : -1; }},
      {"row_shr:5", [](int l) { return (l & 15) >= 5 ? l - 5 : -1; }},
      {"row_ror:4", [](int l) { return (l & ~15) + ((l + 12) & 15); }},
      {"wave_shl:1", [](int l) { return l < 63 ? l + 1 : -1; }},
      {"wave_rol:1", [](int l) { return (l + 1) & 63; }},
      {"wave_shr:1", [](int l) { return l - 1; }},
      {"wave_ror:1", [](int l) { return (l + 63) & 63; }},
      {"row_mirror", [](int l) { return l ^ 15; }},
      {"row_half_mirror", [](int l) { return l ^ 7; }},
      {"row_bcast:15", [](int l) { return l >= 16 ? (l & ~15) - 1 : -1; }},
      {"row_bcast:31", [](int l) { return l >= 32 ? 31 : -1; }},
  };
  const uint64_t exec = 0xfffffff7ffff7ffeull;
  for (const isa::Target target : {isa::Target::gfx803, isa::Target::gfx906}) {
    Machine m(target);
    for (const Control& c : kControls) {
      for (const bool bound : {false, true}) {
        for (int l = 0; l < 64; ++l) {
          m.v(0)[l] = 1000u + static_cast<uint32_t>(l);
          m.v(1)[l] = 5;
          m.v(2)[l] = 7;
          m.v(3)[l] = 9;
        }
        m.wave().set_exec(exec);
        ASSERT_EQ(m.run(std::string("v_mov_b32_dpp v2, v0 ") + c.text + " row_mask:0xf bank_mask:0xf" +
                        (bound ? " bound_ctrl:0" : "") + "\nv_xor_b32_dpp v3, v0, v1 " + c.text +
                        " row_mask:0xa bank_mask:0xd" + (bound ? " bound_ctrl:0" : "")),
                  ExitReason::kEnd);
        for (int l = 0; l < 64; ++l) {
          const int s = c.source(l);
          const bool valid = s >= 0 && (exec >> s & 1) != 0;
          const bool active = (exec >> l & 1) != 0 && (valid || bound);
          const uint32_t x = valid ? 1000u + static_cast<uint32_t>(s) : 0;
          EXPECT_EQ(m.v(2)[l], active ? x : 7) << c.text << " lane " << l << " bound " << bound;
          const bool banked = (0xa >> (l / 16) & 1) != 0 && (0xd >> (l / 4 % 4) & 1) != 0;
          EXPECT_EQ(m.v(3)[l], active && banked ? (x ^ 5) : 9) << c.text << " lane " << l;
        }
      }
    }
  }
}

TEST(Modifiers, ClampAndOmod) {
  Machine m(isa::Target::gfx900);
  static constexpr uint32_t kIn[] = {0x3f000000, 0xbf000000, 0x40400000, 0x7f800000,
                                     0xff800000, 0x7fc00000, 0x80000000};
  for (unsigned l = 0; l < kWaveSize; ++l) m.v(0)[l] = kIn[l % std::size(kIn)];
  m.v(1)[0] = 0;
  ASSERT_EQ(m.run("v_mov_b32 v1, 1.0\nv_mul_f32 v2, v0, v1 clamp\nv_mul_f32 v3, v0, v1 mul:4\nv_mul_f32 v4, -|v0|, v1"),
            ExitReason::kEnd);
  static constexpr uint32_t kClamped[] = {0x3f000000, 0, 0x3f800000, 0x3f800000, 0, 0, 0};
  for (unsigned l = 0; l < kWaveSize; ++l) {
    EXPECT_EQ(m.v(2)[l], kClamped[l % std::size(kIn)]);
    EXPECT_TRUE(same(m.v(3)[l], kIn[l % std::size(kIn)]));  // IEEE mode: omod ignored
    EXPECT_TRUE(same(m.v(4)[l], kIn[l % std::size(kIn)] | 0x80000000));
  }
  m.wave().mode = 0xc0;  // no IEEE, no DX10_CLAMP, f32 denormals flushed
  ASSERT_EQ(m.run("v_mul_f32 v2, v0, v1 clamp\nv_mul_f32 v3, v0, v1 mul:4\nv_mul_f32 v4, v0, v1 div:2\nv_add_f32 v5, "
                  "v0, v0 clamp mul:2"),
            ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const float x = as_float(kIn[l % std::size(kIn)]);
    EXPECT_TRUE(same(m.v(2)[l], x != x ? kIn[5] : kClamped[l % std::size(kIn)]));
    EXPECT_TRUE(same(m.v(3)[l], x == 0 ? 0 : as_bits(x * 4)));  // -0 becomes +0
    EXPECT_TRUE(same(m.v(4)[l], x == 0 ? 0 : as_bits(x / 2)));
    EXPECT_TRUE(same(m.v(5)[l], x != x ? kIn[5] : x == 0 ? 0 : as_bits(std::min(std::max(x * 4, 0.0f), 1.0f))));
  }
}

TEST(Modifiers, IntegerSaturation) {
  Machine m(isa::Target::gfx900);
  Random random(3);
  SCOPED_TRACE("seed 3");
  for (unsigned round = 0; round < 20; ++round) {
    for (unsigned l = 0; l < kWaveSize; ++l)
      for (unsigned r = 0; r < 3; ++r) m.v(r)[l] = random.bits32();
    m.wave().set_vcc(random.bits64());
    const uint64_t carry = m.wave().vcc();
    ASSERT_EQ(m.run("v_add_u32 v3, v0, v1 clamp\nv_sub_u32 v4, v0, v1 clamp\nv_add_i32 v5, v0, v1 clamp\nv_add_u16_e64 "
                    "v6, v0, v1 clamp\n"
                    "v_addc_co_u32 v7, s[4:5], v0, v1, vcc\nv_subb_co_u32 v8, s[6:7], v0, v1, vcc\nv_mad_u64_u32 "
                    "v[10:11], s[8:9], v0, v1, v[0:1]\n"
                    "v_add_co_u32 v9, vcc, v0, v1"),
              ExitReason::kEnd);
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const uint32_t a = m.v(0)[l], b = m.v(1)[l];
      const uint64_t in = carry >> l & 1;
      EXPECT_EQ(m.v(3)[l], std::min<uint64_t>(uint64_t{a} + b, 0xffffffff));
      EXPECT_EQ(m.v(4)[l], a < b ? 0 : a - b);
      const int64_t sum = int64_t{static_cast<int32_t>(a)} + static_cast<int32_t>(b);
      EXPECT_EQ(m.v(5)[l], static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)));
      EXPECT_EQ(m.v(6)[l], std::min<uint32_t>((a & 0xffff) + (b & 0xffff), 0xffff));
      EXPECT_EQ(m.v(7)[l], a + b + static_cast<uint32_t>(in));
      EXPECT_EQ(m.wave().sgpr64(4) >> l & 1, (uint64_t{a} + b + in) >> 32);
      EXPECT_EQ(m.v(8)[l], a - b - static_cast<uint32_t>(in));
      EXPECT_EQ(m.wave().sgpr64(6) >> l & 1, uint64_t{uint64_t{b} + in > a});
      const unsigned __int128 wide = static_cast<unsigned __int128>(uint64_t{a} * b) + (uint64_t{b} << 32 | a);
      EXPECT_EQ(m.v64(10, l), static_cast<uint64_t>(wide));
      EXPECT_EQ(m.wave().sgpr64(8) >> l & 1, static_cast<uint64_t>(wide >> 64));
      EXPECT_EQ(m.wave().vcc() >> l & 1, (uint64_t{a} + b) >> 32);
    }
  }
}

TEST(Modifiers, HalfResultsAndTheUpperHalf) {
  for (const isa::Target target : {isa::Target::gfx803, isa::Target::gfx900}) {
    Machine m(target);
    const bool gfx8 = target == isa::Target::gfx803;
    for (unsigned l = 0; l < kWaveSize; ++l) {
      m.v(0)[l] = 0xffff4000;  // 2.0
      m.v(1)[l] = 0xffff4200;  // 3.0
      for (unsigned r = 2; r < 8; ++r) m.v(r)[l] = 0xabcd0000;
    }
    ASSERT_EQ(
        m.run("v_add_f16 v2, v0, v1\nv_mad_f16 v3, v0, v1, v0\nv_fma_f16 v4, v0, v1, v0\nv_mul_lo_u16 v5, v0, v1"),
        ExitReason::kEnd);
    EXPECT_EQ(m.v(2)[0], 0x4500u);
    EXPECT_EQ(m.v(3)[0], gfx8 ? 0x4800u : 0xabcd4800u);
    EXPECT_EQ(m.v(4)[0], gfx8 ? 0x4800u : 0xabcd4800u);
    EXPECT_EQ(m.v(5)[0], 0x0000u);
    if (gfx8) continue;
    ASSERT_EQ(
        m.run("v_mov_b32 v0, 0x3c004000\nv_mad_f16 v6, v0, v1, v0 op_sel:[1,0,0,1]\nv_mad_legacy_f16 v7, v0, v1, v0"),
        ExitReason::kEnd);
    EXPECT_EQ(m.v(6)[0], 0x45000000u);  // 1.0 * 3.0 + 2.0 in the upper half
    EXPECT_EQ(m.v(7)[0], 0x4800u);
  }
}

float half_at(uint32_t v, bool high) {
  return half_to_float(high ? v >> 16 : v & 0xffff);
}

TEST(Packed, HalfArithmeticWithSelects) {
  Random random(7);
  SCOPED_TRACE("seed 7");
  Machine m(isa::Target::gfx906);
  for (unsigned round = 0; round < 40; ++round) {
    for (unsigned l = 0; l < kWaveSize; ++l)
      for (unsigned r = 0; r < 3; ++r) m.v(r)[l] = random.float16();
    ASSERT_EQ(
        m.run(
            "v_pk_add_f16 v3, v0, v1\nv_pk_mul_f16 v4, v0, v1 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1]\n"
            "v_pk_fma_f16 v5, v0, v1, v2 op_sel_hi:[1,0,1]\nv_pk_add_u16 v6, v0, v1 clamp\nv_pk_ashrrev_i16 v7, v0, "
            "v1\n"
            "v_pk_mad_i16 v8, v0, v1, v2\nv_pk_max_i16 v9, v0, v1 op_sel:[0,1] op_sel_hi:[1,0]"),
        ExitReason::kEnd);
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const uint32_t a = m.v(0)[l], b = m.v(1)[l], c = m.v(2)[l];
      const auto expect = [&](unsigned reg, bool high, float want) {
        const uint32_t got = high ? m.v(reg)[l] >> 16 : m.v(reg)[l] & 0xffff;
        if (want != want) {
          EXPECT_NE(half_to_float(got), half_to_float(got)) << reg;
        } else {
          EXPECT_EQ(got, float_to_half(want)) << reg << std::hex << " of " << a << " " << b << " " << c;
        }
      };
      // The sum of two binary16 products and an addend is exact in long double.
      const auto fma16 = [&](float x, float y, float z) -> float {
        const long double exact = static_cast<long double>(x) * y + z;
        if (!std::isfinite(static_cast<double>(exact))) return static_cast<float>(exact);
        float r = static_cast<float>(exact);  // round to odd, so that the rounding to f16 is the only one
        if (static_cast<long double>(r) != exact) {
          const float toward = std::nextafter(r, r > exact ? -INFINITY : INFINITY);
          r = (as_bits(r) & 1) != 0 ? r : toward;
        }
        return r;
      };
      for (const bool high : {false, true}) {
        expect(3, high, half_at(a, high) + half_at(b, high));
        expect(4, high, high ? half_at(a, false) * -half_at(b, true) : -half_at(a, true) * half_at(b, false));
        expect(5, high, fma16(half_at(a, high), half_at(b, false), half_at(c, high)));
        const unsigned s = high ? 16 : 0;
        const uint32_t x = a >> s & 0xffff, y = b >> s & 0xffff, z = c >> s & 0xffff;
        EXPECT_EQ(m.v(6)[l] >> s & 0xffff, std::min(x + y, 0xffffu));
        EXPECT_EQ(m.v(7)[l] >> s & 0xffff, static_cast<uint32_t>(static_cast<int16_t>(y) >> (x & 15)) & 0xffff);
        EXPECT_EQ(m.v(8)[l] >> s & 0xffff, (x * y + z) & 0xffff);
        const uint32_t other = b >> (16 - s) & 0xffff;
        EXPECT_EQ(m.v(9)[l] >> s & 0xffff,
                  static_cast<uint32_t>(std::max(static_cast<int16_t>(x), static_cast<int16_t>(other))) & 0xffff);
      }
    }
  }
}

TEST(Packed, MixAndDot) {
  Random random(8);
  SCOPED_TRACE("seed 8");
  Machine m(isa::Target::gfx906);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.v(0)[l] = float_to_half(static_cast<float>(l) - 20.5f) | float_to_half(0.25f * static_cast<float>(l)) << 16;
    m.v(1)[l] = as_bits(static_cast<float>(l) + 0.125f);
    m.v(2)[l] = random.bits32();
    m.v(3)[l] = random.bits32();
    m.v(4)[l] = random.bits32();
    m.v(6)[l] = m.v(7)[l] = 0x77778888;
  }
  ASSERT_EQ(m.run("v_fma_mix_f32 v5, v0, v1, -|v0| op_sel:[1,0,0] op_sel_hi:[1,0,1]\n"
                  "v_fma_mixlo_f16 v6, v1, v0, 1.0 op_sel_hi:[0,1,0]\nv_fma_mixhi_f16 v7, v1, v0, v1 op_sel:[0,1,0] "
                  "op_sel_hi:[0,1,0]\n"
                  "v_dot2_i32_i16 v8, v2, v3, v4\nv_dot4_u32_u8 v9, v2, v3, v4 clamp\nv_dot8_i32_i4 v10, v2, v3, "
                  "v4\nv_dot2_f32_f16 v11, v0, v0, v1"),
            ExitReason::kEnd)
      << m.error().message;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const float lo = half_at(m.v(0)[l], false), hi = half_at(m.v(0)[l], true), x = as_float(m.v(1)[l]);
    EXPECT_EQ(as_float(m.v(5)[l]), std::fma(hi, x, -std::fabs(lo)));
    EXPECT_EQ(m.v(6)[l], 0x77770000u | float_to_half(std::fma(x, lo, 1.0f)));
    EXPECT_EQ(m.v(7)[l], 0x8888u | float_to_half(std::fma(x, hi, x)) << 16);
    const uint32_t a = m.v(2)[l], b = m.v(3)[l], c = m.v(4)[l];
    int64_t dot2 = static_cast<int32_t>(c), dot8 = static_cast<int32_t>(c);
    uint64_t dot4 = c;
    for (int k = 0; k < 32; k += 16) dot2 += static_cast<int16_t>(a >> k) * static_cast<int16_t>(b >> k);
    for (int k = 0; k < 32; k += 8) dot4 += uint64_t{a >> k & 255} * (b >> k & 255);
    for (int k = 0; k < 32; k += 4) {
      const auto nibble = [&](uint32_t v) {
        return static_cast<int64_t>((v >> k & 7)) - static_cast<int64_t>(v >> k & 8);
      };
      dot8 += nibble(a) * nibble(b);
    }
    EXPECT_EQ(m.v(8)[l], static_cast<uint32_t>(dot2));
    EXPECT_EQ(m.v(9)[l], std::min<uint64_t>(dot4, 0xffffffff));
    EXPECT_EQ(m.v(10)[l], static_cast<uint32_t>(dot8));
    EXPECT_EQ(as_float(m.v(11)[l]), std::fma(hi, hi, std::fma(lo, lo, x)));
  }
}

TEST(Packed, SinglesOfGfx90a) {
  Machine m(isa::Target::gfx90a);
  for (unsigned l = 0; l < kWaveSize; ++l)
    for (unsigned r = 0; r < 6; ++r) m.v(r)[l] = as_bits(static_cast<float>(10 * r + l) + 0.5f);
  ASSERT_EQ(m.run("v_pk_fma_f32 v[6:7], v[0:1], v[2:3], v[4:5] op_sel_hi:[0,1,1]\nv_pk_mul_f32 v[8:9], v[0:1], v[2:3] "
                  "op_sel:[1,0] neg_lo:[0,1]\n"
                  "v_pk_mov_b32 v[10:11], v[0:1], v[2:3] op_sel:[1,0]\nv_fmac_f64 v[0:1], v[0:1], v[0:1]"),
            ExitReason::kEnd)
      << m.error().message;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const auto x = [&](unsigned r) { return static_cast<float>(10 * r + l) + 0.5f; };
    EXPECT_EQ(as_float(m.v(6)[l]), std::fma(x(0), x(2), x(4)));
    EXPECT_EQ(as_float(m.v(7)[l]), std::fma(x(0), x(3), x(5)));
    EXPECT_EQ(as_float(m.v(8)[l]), -(x(1) * x(2)));
    EXPECT_EQ(as_float(m.v(9)[l]), x(1) * x(3));
    EXPECT_EQ(as_float(m.v(10)[l]), x(1));
    EXPECT_EQ(as_float(m.v(11)[l]), x(2));
  }
}

// A 32x32x2 product laid out by the rules of the matrix instructions, and the 4x4x4 f16 form.
TEST(Matrix, Products) {
  Machine m(isa::Target::gfx908);
  const auto a = [](unsigned i, unsigned k) { return static_cast<float>(i) - 3.0f * static_cast<float>(k); };
  const auto b = [](unsigned k, unsigned j) { return 0.5f * static_cast<float>(j) + static_cast<float>(k); };
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.v(0)[l] = as_bits(a(l % 32, l / 32));
    m.v(1)[l] = as_bits(b(l / 32, l % 32));
    for (unsigned r = 0; r < 16; ++r) m.a(r)[l] = as_bits(1.0f);
  }
  m.wave().set_exec(1);  // ignored
  ASSERT_EQ(m.run("v_mfma_f32_32x32x2f32 a[0:15], v0, v1, a[0:15]"), ExitReason::kEnd) << m.error().message;
  for (unsigned i = 0; i < 32; ++i)
    for (unsigned j = 0; j < 32; ++j)
      EXPECT_EQ(as_float(m.a(4 * (i / 8) + i % 4)[j + 32 * (i / 4 % 2)]), 1.0f + a(i, 0) * b(0, j) + a(i, 1) * b(1, j));

  for (unsigned l = 0; l < kWaveSize; ++l)
    for (unsigned r = 0; r < 2; ++r) {
      m.v(2 + r)[l] = float_to_half(static_cast<float>(l % 4 + 2 * r)) | float_to_half(static_cast<float>(l / 4)) << 16;
      m.v(4 + r)[l] = float_to_half(1.0f + static_cast<float>(r)) | float_to_half(static_cast<float>(l % 4)) << 16;
    }
  ASSERT_EQ(m.run("v_mfma_f32_4x4x4f16 a[0:3], v[2:3], v[4:5], a[20:23]"), ExitReason::kEnd) << m.error().message;
  for (unsigned block = 0; block < 16; ++block)
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned j = 0; j < 4; ++j) {
        const auto fi = static_cast<float>(i), fj = static_cast<float>(j), fb = static_cast<float>(block);
        const float want = fi * 1 + fb * fj + (fi + 2) * 2 + fb * fj;
        EXPECT_EQ(as_float(m.a(i)[4 * block + j]), want);
      }
}

}  // namespace
}  // namespace wavejit::test
