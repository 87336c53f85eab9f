// Generates numbers with rocRAND and compares each with the host's own: all generators, all distributions, seeds,
// offsets, calls one after the other whose sizes are no multiples of anything. Needs a HIP device: run it under
// `wavejit exec`.
#include <hip/hip_runtime.h>
#include <rocrand/rocrand.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "distributions.h"
#include "engines.h"
#include "sobol.h"
#include "source.h"

namespace wavejit::rocrand {
namespace {

constexpr uint64_t kSeed = 0x1234567890;
constexpr uint64_t kOffset = 131072 * 3 + 77;
// Where log-normal numbers of half precision do not overflow.
constexpr double kMean = 0.5, kDeviation = 1.25;
constexpr uint16_t kHalfMean = 0x3800, kHalfDeviation = 0x3d00;
constexpr uint8_t kGuard = 0xA5;

struct Options {
  size_t numbers = 200'003;
  bool spoil = false;
};

struct Kind {
  const char* name;
  Distribution distribution;
  Type type;
};
constexpr Kind kKinds[] = {
    {"uniform uint32", Distribution::kUniform, Type::kUint32},
    {"uniform uint8", Distribution::kUniform, Type::kUint8},
    {"uniform uint16", Distribution::kUniform, Type::kUint16},
    {"uniform half", Distribution::kUniform, Type::kHalf},
    {"uniform float", Distribution::kUniform, Type::kFloat},
    {"uniform double", Distribution::kUniform, Type::kDouble},
    {"normal half", Distribution::kNormal, Type::kHalf},
    {"normal float", Distribution::kNormal, Type::kFloat},
    {"normal double", Distribution::kNormal, Type::kDouble},
    {"log-normal half", Distribution::kLogNormal, Type::kHalf},
    {"log-normal float", Distribution::kLogNormal, Type::kFloat},
    {"log-normal double", Distribution::kLogNormal, Type::kDouble},
    {"Poisson(3.5)", Distribution::kPoisson, Type::kUint32},
    {"Poisson(1000)", Distribution::kPoisson, Type::kUint32},
};

struct GeneratorName {
  const char* name;
  Generator generator;
  rocrand_rng_type type;
};
constexpr GeneratorName kGenerators[] = {
    {"xorwow", Generator::kXorwow, ROCRAND_RNG_PSEUDO_XORWOW},
    {"mrg32k3a", Generator::kMrg32k3a, ROCRAND_RNG_PSEUDO_MRG32K3A},
    {"mtgp32", Generator::kMtgp32, ROCRAND_RNG_PSEUDO_MTGP32},
    {"philox4x32_10", Generator::kPhilox, ROCRAND_RNG_PSEUDO_PHILOX4_32_10},
    {"sobol32", Generator::kSobol32, ROCRAND_RNG_QUASI_SOBOL32},
    {"sobol64", Generator::kSobol64, ROCRAND_RNG_QUASI_SOBOL64},
};

int failures = 0;

void hip(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorName(error));
  std::exit(1);
}

void want(rocrand_status wanted, rocrand_status got, const char* what) {
  if (wanted == got) return;
  std::printf("%s: status %d instead of %d\n", what, got, wanted);
  ++failures;
}

size_t size_of(Type type) {
  switch (type) {
    case Type::kUint8:
      return 1;
    case Type::kUint16:
    case Type::kHalf:
      return 2;
    case Type::kUint32:
    case Type::kFloat:
      return 4;
    case Type::kDouble:
      return 8;
  }
  return 0;
}

template <class T>
T at(const std::vector<uint8_t>& bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return fraction != 0 ? std::nan("") : bits >> 15 != 0 ? -HUGE_VAL : HUGE_VAL;
  const double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 != 0 ? -value : value;
}

double value_at(const std::vector<uint8_t>& bytes, Type type, size_t i) {
  switch (type) {
    case Type::kUint8:
      return at<uint8_t>(bytes, i);
    case Type::kUint16:
      return at<uint16_t>(bytes, i);
    case Type::kUint32:
      return at<uint32_t>(bytes, i);
    case Type::kHalf:
      return half_value(at<uint16_t>(bytes, i));
    case Type::kFloat:
      return static_cast<double>(at<float>(bytes, i));
    case Type::kDouble:
      return at<double>(bytes, i);
  }
  return 0;
}

// Where the exact bits are known, the lowest one changes; elsewhere one of the mantissa's upper ones.
void spoil(std::vector<uint8_t>& bytes, Type type, size_t i, bool exact) {
  const size_t size = size_of(type);
  const unsigned bit = exact ? 0 : type == Type::kHalf ? 7 : type == Type::kFloat ? 20 : 49;
  bytes[i * size + bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
}

rocrand_status generate(rocrand_generator generator, const Kind& kind, void* out, size_t n, double lambda) {
  const auto mean = static_cast<float>(kMean), deviation = static_cast<float>(kDeviation);
  const auto mean16 = std::bit_cast<half>(kHalfMean), deviation16 = std::bit_cast<half>(kHalfDeviation);
  switch (kind.distribution) {
    case Distribution::kUniform:
      switch (kind.type) {
        case Type::kUint8:
          return rocrand_generate_char(generator, static_cast<unsigned char*>(out), n);
        case Type::kUint16:
          return rocrand_generate_short(generator, static_cast<unsigned short*>(out), n);
        case Type::kUint32:
          return rocrand_generate(generator, static_cast<unsigned*>(out), n);
        case Type::kHalf:
          return rocrand_generate_uniform_half(generator, static_cast<half*>(out), n);
        case Type::kFloat:
          return rocrand_generate_uniform(generator, static_cast<float*>(out), n);
        case Type::kDouble:
          return rocrand_generate_uniform_double(generator, static_cast<double*>(out), n);
      }
      break;
    case Distribution::kNormal:
      if (kind.type == Type::kHalf) {
        return rocrand_generate_normal_half(generator, static_cast<half*>(out), n, mean16, deviation16);
      }
      if (kind.type == Type::kFloat)
        return rocrand_generate_normal(generator, static_cast<float*>(out), n, mean, deviation);
      return rocrand_generate_normal_double(generator, static_cast<double*>(out), n, kMean, kDeviation);
    case Distribution::kLogNormal:
      if (kind.type == Type::kHalf) {
        return rocrand_generate_log_normal_half(generator, static_cast<half*>(out), n, mean16, deviation16);
      }
      if (kind.type == Type::kFloat)
        return rocrand_generate_log_normal(generator, static_cast<float*>(out), n, mean, deviation);
      return rocrand_generate_log_normal_double(generator, static_cast<double*>(out), n, kMean, kDeviation);
    case Distribution::kPoisson:
      return rocrand_generate_poisson(generator, static_cast<unsigned*>(out), n, lambda);
  }
  return ROCRAND_STATUS_INTERNAL_ERROR;
}

double lambda_of(const Kind& kind) {
  return std::strchr(kind.name, '1') != nullptr ? 1000 : 3.5;
}

// Numbers that the host expects of the next call.
using Expecting = std::function<std::vector<Expected>(const Parameters&, size_t n)>;

// One call of rocRAND, and the comparison.
void check(const char* generator_name, rocrand_generator generator, const Kind& kind, size_t n, const Options& options,
           const Expecting& expecting) {
  const size_t size = size_of(kind.type);
  std::vector<uint8_t> bytes(n * size + 64);
  void* memory = nullptr;
  hip(hipMalloc(&memory, bytes.size()), "hipMalloc");
  hip(hipMemset(memory, kGuard, bytes.size()), "hipMemset");
  want(ROCRAND_STATUS_SUCCESS, generate(generator, kind, memory, n, lambda_of(kind)), kind.name);
  hip(hipMemcpy(bytes.data(), memory, bytes.size(), hipMemcpyDeviceToHost), "hipMemcpy");
  hip(hipFree(memory), "hipFree");

  Parameters parameters{kind.distribution, kind.type, kMean, kDeviation, nullptr};
  const Poisson poisson(lambda_of(kind));
  parameters.poisson = &poisson;
  const std::vector<Expected> expected = expecting(parameters, n);

  if (options.spoil) {
    // Close to zero a number may be anything within the tolerance, and NaN has many forms.
    size_t i = n / 2;
    while (expected[i].tolerance != 0 && !(std::abs(expected[i].value) > 20 * expected[i].tolerance)) ++i;
    spoil(bytes, kind.type, i, expected[i].tolerance == 0);
  }
  size_t wrong = 0;
  double worst = 0;
  for (size_t i = 0; i < n; ++i) {
    const double value = value_at(bytes, kind.type, i);
    const double error = std::abs(value - expected[i].value);
    if (error > 0) worst = std::max(worst, error / expected[i].tolerance);
    if (error <= expected[i].tolerance || (std::isnan(value) && std::isnan(expected[i].value))) continue;
    if (wrong++ == 0 && !options.spoil) {
      std::printf("%s, %s: number %zu of %zu is %.17g instead of %.17g (+-%.3g)\n", generator_name, kind.name, i, n,
                  value, expected[i].value, expected[i].tolerance);
    }
  }
  size_t outside = 0;
  for (size_t i = n * size; i < bytes.size(); ++i) outside += bytes[i] != kGuard;
  if (outside > 0) std::printf("%s, %s: %zu bytes written behind the numbers\n", generator_name, kind.name, outside);
  if (options.spoil) {
    const bool found = wrong == 1 && outside == 0;
    std::printf("%-14s %-18s spoiled number %s\n", generator_name, kind.name, found ? "found" : "NOT FOUND");
    failures += !found;
    return;
  }
  std::printf("%-14s %-18s %9zu numbers, %zu wrong, largest error %.2f of the bound\n", generator_name, kind.name, n,
              wrong, worst);
  failures += wrong > 0 || outside > 0;
}

std::vector<Expected> from_source(Generator generator, Source& source, const Parameters& p, size_t n) {
  const Group group = group_of(generator, p.distribution, p.type);
  const std::vector<uint32_t> numbers = source.draw(n / group.out, group.in, n % group.out != 0);
  std::vector<Expected> expected(numbers.size() / group.in * group.out);
  for (size_t g = 0; g * group.in < numbers.size(); ++g)
    expect(generator, p, &numbers[g * group.in], &expected[g * group.out]);
  return expected;
}

std::unique_ptr<Source> make_source(Generator generator, uint64_t seed, uint64_t offset) {
  switch (generator) {
    case Generator::kXorwow:
      return make_xorwow(seed, offset);
    case Generator::kMrg32k3a:
      return make_mrg32k3a(seed, offset);
    case Generator::kMtgp32:
      return make_mtgp32(seed);
    default:
      return make_philox4x32_10(seed, offset);
  }
}

void check_pseudorandom(const GeneratorName& g, const Options& options) {
  rocrand_generator generator;
  want(ROCRAND_STATUS_SUCCESS, rocrand_create_generator(&generator, g.type), "rocrand_create_generator");
  std::unique_ptr<Source> source = make_source(g.generator, 0, 0);
  const Expecting expecting = [&](const Parameters& p, size_t n) { return from_source(g.generator, *source, p, n); };
  check(g.name, generator, kKinds[0], options.numbers, options, expecting);

  const bool has_offset = g.generator != Generator::kMtgp32;
  want(ROCRAND_STATUS_SUCCESS, rocrand_set_seed(generator, kSeed), "rocrand_set_seed");
  want(has_offset ? ROCRAND_STATUS_SUCCESS : ROCRAND_STATUS_TYPE_ERROR, rocrand_set_offset(generator, kOffset),
       "rocrand_set_offset");
  want(ROCRAND_STATUS_TYPE_ERROR, rocrand_set_quasi_random_generator_dimensions(generator, 2),
       "rocrand_set_quasi_random_generator_dimensions");
  source = make_source(g.generator, kSeed, kOffset);
  // Each call goes on where the last one has ended.
  for (size_t i = 0; i < std::size(kKinds); ++i)
    check(g.name, generator, kKinds[i], options.numbers + 2 * i, options, expecting);
  check(g.name, generator, kKinds[0], 1, options, expecting);
  check(g.name, generator, kKinds[0], 1001, options, expecting);
  want(ROCRAND_STATUS_SUCCESS, rocrand_destroy_generator(generator), "rocrand_destroy_generator");
}

void check_quasirandom(const GeneratorName& g, const Options& options) {
  rocrand_generator generator;
  want(ROCRAND_STATUS_SUCCESS, rocrand_create_generator(&generator, g.type), "rocrand_create_generator");
  want(ROCRAND_STATUS_TYPE_ERROR, rocrand_set_seed(generator, kSeed), "rocrand_set_seed");
  want(ROCRAND_STATUS_OUT_OF_RANGE, rocrand_set_quasi_random_generator_dimensions(generator, 20001),
       "20001 dimensions");

  uint64_t first = 0;
  unsigned dimensions = 1;
  const Expecting expecting = [&](const Parameters& p, size_t n) {
    std::vector<Expected> expected;
    for (unsigned d = 0; d < dimensions; ++d) {
      const Sobol sobol(g.generator == Generator::kSobol64 ? 64 : 32, d);
      for (size_t i = 0; i < n / dimensions; ++i) expected.push_back(expect_sobol(g.generator, p, sobol.at(first + i)));
    }
    first += n / dimensions;
    return expected;
  };
  check(g.name, generator, kKinds[0], options.numbers, options, expecting);

  dimensions = 7;
  first = kOffset;
  want(ROCRAND_STATUS_SUCCESS, rocrand_set_quasi_random_generator_dimensions(generator, dimensions), "7 dimensions");
  want(ROCRAND_STATUS_SUCCESS, rocrand_set_offset(generator, kOffset), "rocrand_set_offset");
  want(ROCRAND_STATUS_LENGTH_NOT_MULTIPLE, generate(generator, kKinds[0], nullptr, 15, 0),
       "15 numbers of 7 dimensions");
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    check(g.name, generator, kKinds[i], (options.numbers / dimensions + i) * dimensions, options, expecting);
  }
  dimensions = kSobolDimensions;
  first = 0;
  want(ROCRAND_STATUS_SUCCESS, rocrand_set_quasi_random_generator_dimensions(generator, dimensions), "20 dimensions");
  want(ROCRAND_STATUS_SUCCESS, rocrand_set_offset(generator, 0), "rocrand_set_offset");
  check(g.name, generator, kKinds[0], options.numbers / dimensions * dimensions, options, expecting);
  want(ROCRAND_STATUS_SUCCESS, rocrand_destroy_generator(generator), "rocrand_destroy_generator");
}

// Vectors that others have published.
void check_references() {
  const auto same = [](bool yes, const char* what) {
    if (yes) return;
    std::printf("the host's own %s is wrong\n", what);
    ++failures;
  };
  const PhiloxBlock pi = philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0);
  same(pi.word[0] == 0xd16cfe09 && pi.word[1] == 0x94fdcceb && pi.word[2] == 0x5001e420 && pi.word[3] == 0x24126ea1,
       "Philox");
  Mrg32k3a mrg{{12345, 12345, 12345}, {12345, 12345, 12345}};
  same(std::abs(mrg.next() / 4294967088.0 - 0.127011122046577) < 1e-14, "MRG32k3a");
  constexpr uint64_t kFirstPoints[] = {0, 1, 3, 2, 6, 7, 5, 4};
  for (size_t i = 0; i < std::size(kFirstPoints); ++i) {
    uint64_t reversed = 0;
    for (int bit = 0; bit < 3; ++bit) reversed |= (kFirstPoints[i] >> bit & 1) << (31 - bit);
    same(Sobol(32, 0).at(i) == reversed, "Sobol sequence");
  }
}

int run(const std::vector<std::string>& names, const Options& options) {
  check_references();
  for (const std::string& name : names) {
    const auto* g =
        std::find_if(std::begin(kGenerators), std::end(kGenerators), [&](const auto& x) { return name == x.name; });
    if (g == std::end(kGenerators)) {
      std::printf("no generator %s\n", name.c_str());
      return 2;
    }
    const bool quasi = g->generator == Generator::kSobol32 || g->generator == Generator::kSobol64;
    quasi ? check_quasirandom(*g, options) : check_pseudorandom(*g, options);
  }
  std::printf("%d failures\n", failures);
  return failures > 0 ? 1 : 0;
}

}  // namespace
}  // namespace wavejit::rocrand

int main(int argc, char** argv) {
  CLI::App app{"compares the numbers that rocRAND generates with those of host implementations"};
  wavejit::rocrand::Options options;
  std::vector<std::string> generators;
  for (const auto& g : wavejit::rocrand::kGenerators) generators.emplace_back(g.name);
  app.add_option("--numbers", options.numbers, "numbers in each call")
      ->check(CLI::Range(1000, 1 << 28))
      ->capture_default_str();
  app.add_option("--generators", generators, "generators, comma-separated")->delimiter(',')->capture_default_str();
  app.add_flag("--spoil", options.spoil, "change one number of each call: every comparison has to find it");
  CLI11_PARSE(app, argc, argv);
  return wavejit::rocrand::run(generators, options);
}
