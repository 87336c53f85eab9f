#include "distributions.h"

#include <rocrand/rocrand_version.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace wavejit::rocrand {
namespace {

// Debian 12 has 201009 (ROCm 5.3), Debian 13 201017 (ROCm 5.7), which corrects two errors of it.
constexpr bool kIsCorrected = ROCRAND_VERSION >= 201017;

constexpr double k2Pow16 = 0x1p-16, k2Pow32 = 0x1p-32, k2Pow53 = 0x1p-53;
// The factors that rocRAND has for MRG32k3a, which are not quite the quotients that they stand for.
constexpr double kMrgNorm = 2.3283065498378288e-10, kMrgUint = 1.000000048661607;

double as_float(double x) {
  return static_cast<float>(x);
}
// Rounded to half precision, denormals included.
double as_half(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int unit = std::max(std::ilogb(x) - 10, -24);
  return std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
}

// A pair of normally distributed numbers, with the bound of its error.
struct Pair {
  double x, y, error;
};

// u and v are exact inputs. The angle of the device is a float and so is the sine's argument in turns.
Pair box_muller_float(double u, double angle) {
  const double s = std::sqrt(-2 * std::log(u));
  return {std::sin(angle) * s, std::cos(angle) * s, s * 1.2e-6};
}

Pair box_muller_double(double u, double turns_times_two) {
  const double s = std::sqrt(-2 * std::log(u));
  const double angle = turns_times_two * std::numbers::pi;
  return {std::sin(angle) * s, std::cos(angle) * s, s * 4e-15};
}

// Here every step is rounded to half precision. hsin() of Debian 12's rocm-device-libs 5.2.3 is NaN for all finite
// numbers, which its bitcode says (`llvm-dis ocml.bc`, __ocml_sin_f16: a select with its operands exchanged), and its
// librocrand1 has it inlined.
Pair box_muller_half(uint16_t x, uint16_t y) {
  const double u = as_half(k2Pow16 + x * k2Pow16);
  const double v = as_half(as_float(as_float(k2Pow16 * 6.2831855f) + as_float(y * as_float(k2Pow16 * 6.2831855f))));
  const double s = as_half(std::sqrt(-2 * as_half(std::log(u))));
  const double sine = kIsCorrected ? std::sin(v) : std::numeric_limits<double>::quiet_NaN();
  return {as_half(as_half(sine) * s), as_half(as_half(std::cos(v)) * s), s * 2e-3 + 1e-4};
}

// rocRAND's approximation of the inverse error function (S. Winitzki), with its constants.
template <class Real>
double inverse_error_function(double x) {
  const double pi = sizeof(Real) == 4 ? 3.1415926f : 3.1415926535897932;
  const double a = sizeof(Real) == 4 ? 0.147f : 0.147;
  const double log = std::log((1 - x) * (1 + x));
  if (std::isinf(log)) return 0;
  const double t1 = 2 / (pi * a) + 0.5 * log;
  const double t2 = log / a;
  return std::copysign(std::sqrt(std::max(0.0, std::sqrt(t1 * t1 - t2) - t1)), x);
}

// A normally distributed number from a point of a Sobol sequence. Where the difference beneath the root is small, so
// are its correct digits.
struct Single {
  double x, error;
};
Single normal_from(double inverse, double epsilon) {
  const double x = inverse * 1.4142135f;
  return {x,
          std::min(30 * epsilon / std::max(std::abs(x), 1e-300), std::sqrt(30 * epsilon)) + 8 * epsilon * std::abs(x)};
}
Single normal_float(uint32_t point) {
  const double p = as_float(k2Pow32 + as_float(point) * k2Pow32);
  return normal_from(inverse_error_function<float>(as_float(2 * p - 1)), 0x1p-24);
}
Single normal_double(double p) {
  return normal_from(inverse_error_function<double>(2 * p - 1), 0x1p-53);
}

double uniform_double(uint32_t v) {
  return k2Pow32 + v * k2Pow32;
}

// The last unit of a value's own precision, as a part of the value.
double epsilon(Type type) {
  return type == Type::kHalf ? 0x1p-10 : type == Type::kFloat ? 0x1p-23 : 0x1p-52;
}

// Scales a normally distributed number, and takes its exponential.
Expected finish(const Parameters& p, double normal, double error) {
  const double unit = epsilon(p.type);
  const double z = p.mean + normal * p.deviation;
  const double z_error = error * p.deviation + unit * (std::abs(z) + std::abs(normal * p.deviation));
  if (p.distribution == Distribution::kNormal) return {z, z_error};
  const double value = std::exp(z);
  return {value, value * (std::expm1(z_error) + 2 * unit) + (p.type == Type::kHalf ? 0x1p-24 : 0)};
}

Pair pair_of(Generator generator, Type type, const uint32_t* in) {
  if (generator == Generator::kMrg32k3a) {
    const auto unit = [](uint32_t v) { return as_float(v * kMrgNorm); };
    if (type == Type::kFloat) return box_muller_float(unit(in[0]), as_float(unit(in[1]) * 6.2831855f));
    if (type == Type::kDouble) return box_muller_double(unit(in[0]), unit(in[1]) * 2);
  } else {
    const double turn = static_cast<double>(6.2831855f) * k2Pow32;
    if (type == Type::kFloat) {
      return box_muller_float(as_float(k2Pow32 + as_float(in[0]) * k2Pow32), as_float(turn + as_float(in[1]) * turn));
    }
    const auto wide = [&](int i) { return static_cast<double>(in[i] ^ uint64_t{in[i + 1]} << 21) * k2Pow53 + k2Pow53; };
    if (type == Type::kDouble) return box_muller_double(wide(0), 2 * wide(2));
  }
  const uint32_t v = generator == Generator::kMrg32k3a ? static_cast<uint32_t>((in[0] - 1) * kMrgUint) : in[0];
  return box_muller_half(static_cast<uint16_t>(v), static_cast<uint16_t>(v >> 16));
}

double uniform_half(uint32_t v) {
  return as_half(k2Pow16 + (v & 0xffff) * k2Pow16);
}

void expect_uniform(Generator generator, Type type, const uint32_t* in, Expected* out) {
  const bool mrg = generator == Generator::kMrg32k3a;
  const uint32_t v = mrg ? static_cast<uint32_t>((in[0] - 1) * kMrgUint) : in[0];
  switch (type) {
    case Type::kUint8:
      for (int i = 0; i < 4; ++i) out[i] = {static_cast<double>(v >> 8 * i & 0xff), 0};
      return;
    case Type::kUint16:
      for (int i = 0; i < 2; ++i) out[i] = {static_cast<double>(v >> 16 * i & 0xffff), 0};
      return;
    case Type::kUint32:
      out[0] = {static_cast<double>(v), 0};
      return;
    case Type::kHalf:
      for (int i = 0; i < 2; ++i) out[i] = {uniform_half(v >> 16 * i), 0};
      return;
    case Type::kFloat:
      out[0] = {mrg ? as_float(in[0] * kMrgNorm) : as_float(k2Pow32 + as_float(v) * k2Pow32), 0};
      return;
    case Type::kDouble:
      out[0] = {mrg ? in[0] * kMrgNorm : static_cast<double>(in[0] | uint64_t{in[1] >> 11} << 32) * k2Pow53 + k2Pow53,
                0};
      return;
  }
}

}  // namespace

Group group_of(Generator generator, Distribution distribution, Type type) {
  const bool mrg = generator == Generator::kMrg32k3a;
  if (distribution == Distribution::kPoisson) return {1, 1};
  if (distribution == Distribution::kUniform) {
    switch (type) {
      case Type::kUint8:
        return {1, 4};
      case Type::kUint16:
      case Type::kHalf:
        return {1, 2};
      case Type::kDouble:
        return {mrg ? 1u : 2u, 1};
      default:
        return {1, 1};
    }
  }
  if (type == Type::kHalf) return {1, 2};
  return {type == Type::kDouble && !mrg ? 4u : 2u, 2};
}

void expect(Generator generator, const Parameters& p, const uint32_t* in, Expected* out) {
  if (p.distribution == Distribution::kUniform) {
    expect_uniform(generator, p.type, in, out);
  } else if (p.distribution == Distribution::kPoisson) {
    const uint32_t v = generator == Generator::kMrg32k3a ? static_cast<uint32_t>((in[0] - 1) * kMrgUint) : in[0];
    out[0] = {static_cast<double>(p.poisson->by_alias(v * k2Pow32)), 0};
  } else {
    const Pair pair = pair_of(generator, p.type, in);
    out[0] = finish(p, pair.x, pair.error);
    out[1] = finish(p, pair.y, pair.error);
  }
}

Expected expect_sobol(Generator generator, const Parameters& p, uint64_t point) {
  const bool wide = generator == Generator::kSobol64;
  const auto top = [&](unsigned bits) { return point >> ((wide ? 64 : 32) - bits); };
  // rocRAND 5.3 makes floats, and all log-normal numbers, of the lower half of a 64-bit point; 5.7 makes floats of the
  // upper half, and doubles of all of it.
  const auto word = static_cast<uint32_t>(wide && kIsCorrected ? point >> 32 : point);
  if (p.distribution == Distribution::kPoisson) {
    const double x = wide ? static_cast<double>(point) * 0x1p-64 : word * k2Pow32;
    return {static_cast<double>(p.poisson->by_sum(x)), 0};
  }
  const double uniform = wide ? static_cast<double>(point >> 11) * k2Pow53 + k2Pow53 : uniform_double(word);
  if (p.distribution == Distribution::kUniform) {
    switch (p.type) {
      case Type::kUint8:
        return {static_cast<double>(top(8)), 0};
      case Type::kUint16:
        return {static_cast<double>(top(16)), 0};
      case Type::kUint32:
        return {static_cast<double>(top(32)), 0};
      case Type::kHalf:
        return {uniform_half(static_cast<uint32_t>(top(16))), 0};
      case Type::kFloat:
        return {as_float(k2Pow32 + as_float(word) * k2Pow32), 0};
      case Type::kDouble:
        return {uniform, 0};
    }
  }
  const bool is_short = p.distribution == Distribution::kLogNormal && !kIsCorrected;
  const Single normal =
      p.type != Type::kDouble ? normal_float(word) : normal_double(is_short ? uniform_double(word) : uniform);
  return finish(p, normal.x, normal.error + (p.type == Type::kHalf ? 0x1p-11 * std::abs(normal.x) : 0));
}

Poisson::Poisson(double lambda) {
  // Only what is likelier than 10^-12, outwards from the mean.
  const auto likelihood = [lambda](int k) { return std::exp(k * std::log(lambda) - std::lgamma(k + 1.0) - lambda); };
  const int half = static_cast<int>(16.0 * (2.0 + std::sqrt(lambda)));
  const int middle = static_cast<int>(std::floor(lambda));
  int first = middle, last = middle;
  while (first - 1 >= middle - half && likelihood(first - 1) >= 1e-12) --first;
  while (last + 1 < middle + half && likelihood(last + 1) >= 1e-12) ++last;
  offset_ = static_cast<uint32_t>(first);
  std::vector<double> p;
  double all = 0;
  for (int k = first; k <= last; ++k) all += p.emplace_back(likelihood(k));
  for (double& x : p) x /= all;
  double sum = 0;
  for (const double x : p) sum_.push_back(sum += x);

  // M. D. Vose, "A linear algorithm for generating random numbers with a given distribution", 1991; the last of each
  // list first.
  const auto size = static_cast<double>(p.size());
  const double average = 1.0 / size;
  keep_.assign(p.size(), 1.0);
  alias_.assign(p.size(), 0);
  std::vector<uint32_t> small, large;
  const auto sort_in = [&](uint32_t i) { (p[i] >= average ? large : small).push_back(i); };
  for (uint32_t i = 0; i < p.size(); ++i) sort_in(i);
  while (!small.empty() && !large.empty()) {
    const uint32_t less = small.back(), more = large.back();
    small.pop_back();
    large.pop_back();
    keep_[less] = p[less] * size;
    alias_[less] = more;
    p[more] = (p[more] + p[less]) - average;
    sort_in(more);
  }
}

uint32_t Poisson::by_alias(double x) const {
  const double scaled = static_cast<double>(keep_.size()) * x;
  const auto i = static_cast<uint32_t>(std::floor(scaled));
  return offset_ + (scaled - std::floor(scaled) < keep_[i] ? i : alias_[i]);
}

uint32_t Poisson::by_sum(double x) const {
  const auto at = std::lower_bound(sum_.begin(), sum_.end() - 1, x);
  return offset_ + static_cast<uint32_t>(at - sum_.begin());
}

}  // namespace wavejit::rocrand
