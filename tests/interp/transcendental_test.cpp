// v_exp/log/sin/cos/rcp/rsq/sqrt: bits against a scalar evaluation of the steps in internal/semantics/transcendental.h, and the
// error against the true value.
#include "internal/semantics/transcendental.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/interp/machine.h"

namespace wavejit::test {
namespace {

namespace tr = transcendental;

float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

float model_exp(float x) {
  x = flush(x);
  if (x != x) return x;
  if (x >= tr::kExpOverflow) return INFINITY;
  if (x < tr::kExpUnderflow) return 0.0f;
  const float n = std::nearbyint(x), f = x - n;
  float p = tr::kExp2[5];
  for (int i = 4; i >= 0; --i) p = std::fma(p, f, tr::kExp2[i]);
  p = std::fma(p, f, 1.0f);
  return as_float(as_bits(p) + (static_cast<uint32_t>(static_cast<int>(n)) << 23));
}

float model_log(float x) {
  x = flush(x);
  if (x != x) return x;
  if (x == 0) return -INFINITY;
  if (x < 0) return NAN;
  if (x == INFINITY) return x;
  const int e = static_cast<int>(as_bits(x) - tr::kLogSqrtHalfBits) >> 23;
  const float m = as_float(as_bits(x) - (static_cast<uint32_t>(e) << 23));
  const float t = m - 1.0f;
  float q = tr::kLog2[9];
  for (int i = 8; i >= 0; --i) q = std::fma(q, t, tr::kLog2[i]);
  q = std::fma(q, t, tr::kLog2E_lo);
  return static_cast<float>(e) + std::fma(t, tr::kLog2E_hi, t * q);
}

float model_trig(float x, bool cosine) {
  x = flush(x);
  if (x != x || std::fabs(x) == INFINITY) return NAN;
  if (std::fabs(x) > tr::kTrigRange) return cosine ? 1.0f : 0.0f;
  const float k = std::nearbyint(x + x);
  const float y = std::fma(k, -0.5f, x);
  const float z = cosine ? 0.25f - std::fabs(y) : y;
  const float u = z * z;
  float s = tr::kSin[4];
  for (int i = 3; i >= 0; --i) s = std::fma(s, u, tr::kSin[i]);
  const float r = flush(z * s);
  return (static_cast<int>(k) & 1) != 0 ? -r : r;
}
float model_sin(float x) {
  return model_trig(x, false);
}
float model_cos(float x) {
  return model_trig(x, true);
}
float model_rcp(float x) {
  return flush(1.0f / flush(x));
}
float model_sqrt(float x) {
  return std::sqrt(flush(x));
}
float model_rsq(float x) {
  return 1.0f / std::sqrt(flush(x));
}

struct Case {
  const char* mnemonic;
  float (*model)(float);
  double (*truth)(double);
  double max_ulp;       // 0: not checked
  double max_absolute;  // 0: not checked
};
const Case kCases[] = {
    {"v_exp_f32", model_exp, [](double x) { return std::exp2(x); }, 1.0, 0},
    {"v_log_f32", model_log, [](double x) { return std::log2(x); }, 1.0, 0},
    {"v_sin_f32", model_sin, [](double x) { return std::sin(2 * M_PI * (x - std::rint(x))); }, 0, 1.5e-7},
    {"v_cos_f32", model_cos, [](double x) { return std::cos(2 * M_PI * (x - std::rint(x))); }, 0, 1.5e-7},
    {"v_rcp_f32", model_rcp, [](double x) { return 1 / x; }, 0.5000001, 0},
    {"v_sqrt_f32", model_sqrt, [](double x) { return std::sqrt(x); }, 0.5000001, 0},
    {"v_rsq_f32", model_rsq, [](double x) { return 1 / std::sqrt(x); }, 1.5, 0},
};

TEST(Transcendental, BitsAndErrors) {
  constexpr uint64_t kSeed = 20;
  Random random(kSeed);
  SCOPED_TRACE("seed 20");
  for (const uint32_t mode :
       {kModeKeepDenormals, kModeFlushDenormals, kModeKeepDenormals | 3u, kModeKeepDenormals | 1u}) {
    for (const Case& c : kCases) {
      Machine m(isa::Target::gfx906);
      m.wave().mode = mode;
      double worst = 0;
      for (unsigned round = 0; round < 400; ++round) {
        for (unsigned l = 0; l < kWaveSize; ++l) m.v(0)[l] = random.float32();
        ASSERT_EQ(m.run(std::string(c.mnemonic) + " v1, v0"), ExitReason::kEnd);
        for (unsigned l = 0; l < kWaveSize; ++l) {
          const float x = as_float(m.v(0)[l]), y = as_float(m.v(1)[l]);
          ASSERT_TRUE(same(as_bits(c.model(x)), m.v(1)[l]))
              << c.mnemonic << " mode " << std::hex << mode << " of " << m.v(0)[l] << ": want " << as_bits(c.model(x))
              << ", got " << m.v(1)[l];
          if (std::fpclassify(x) == FP_SUBNORMAL) continue;
          const double truth = c.truth(static_cast<double>(x));
          if (!std::isfinite(truth) || !std::isfinite(x) || std::fabs(truth) < 0x1p-126 || std::fabs(truth) >= 0x1p128)
            continue;
          if (c.max_absolute != 0 && std::fabs(x) > 256) continue;
          int exponent;
          std::frexp(truth, &exponent);
          const double error =
              std::fabs(static_cast<double>(y) - truth) / (c.max_ulp != 0 ? std::ldexp(1.0, exponent - 24) : 1.0);
          worst = std::max(worst, error);
        }
      }
      EXPECT_LE(worst, c.max_ulp != 0 ? c.max_ulp : c.max_absolute) << c.mnemonic;
    }
  }
}

TEST(Transcendental, ExactValues) {
  Machine m(isa::Target::gfx906);
  for (unsigned l = 0; l < kWaveSize; ++l) m.v(0)[l] = as_bits(static_cast<float>(static_cast<int>(l) - 32));
  ASSERT_EQ(m.run("v_exp_f32 v1, v0\n v_log_f32 v2, v1\n v_cos_f32 v3, v0\n v_mul_f32 v4, 0.25, v0\n v_sin_f32 v5, v4"),
            ExitReason::kEnd);
  static constexpr float kQuarter[4] = {0, 1, 0, -1};
  for (unsigned l = 0; l < kWaveSize; ++l) {
    EXPECT_EQ(as_float(m.v(1)[l]), std::ldexp(1.0f, static_cast<int>(l) - 32));
    EXPECT_EQ(m.v(2)[l], m.v(0)[l]);
    EXPECT_EQ(as_float(m.v(3)[l]), 1.0f);
    EXPECT_EQ(as_float(m.v(5)[l]), kQuarter[l & 3]);
  }
}

TEST(Transcendental, HalfIsRoundedSingle) {
  Machine m(isa::Target::gfx900);
  struct Half {
    const char* mnemonic;
    float (*model)(float);
  };
  for (const Half& c : {Half{"v_exp_f16", model_exp}, Half{"v_log_f16", model_log}, Half{"v_sin_f16", model_sin},
                        Half{"v_rcp_f16", model_rcp}, Half{"v_sqrt_f16", model_sqrt}, Half{"v_rsq_f16", model_rsq}}) {
    for (uint32_t base = 0; base < 0x10000; base += kWaveSize) {
      for (unsigned l = 0; l < kWaveSize; ++l) m.v(0)[l] = 0xabcd0000 | (base + l);
      ASSERT_EQ(m.run(std::string(c.mnemonic) + " v1, v0"), ExitReason::kEnd);
      for (unsigned l = 0; l < kWaveSize; ++l) {
        const float want = c.model(half_to_float(base + l));
        if (want != want) {
          ASSERT_NE(half_to_float(m.v(1)[l]), half_to_float(m.v(1)[l]));
          continue;
        }
        ASSERT_EQ(m.v(1)[l], float_to_half(want)) << c.mnemonic << " of " << std::hex << base + l;
      }
    }
  }
}

}  // namespace
}  // namespace wavejit::test
