// What rocRAND's host API makes of a generator's numbers, in double precision on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavejit::rocrand {

enum class Generator { kXorwow, kMrg32k3a, kMtgp32, kPhilox, kSobol32, kSobol64 };
enum class Distribution { kUniform, kNormal, kLogNormal, kPoisson };
enum class Type { kUint8, kUint16, kUint32, kHalf, kFloat, kDouble };

// A number and by how much the device's may differ from it: nothing where the device only adds and multiplies;
// elsewhere it uses functions of its own precision (ocml, v_sin_f32). Where `value` is NaN, the
// device's is, too.
struct Expected {
  double value;
  double tolerance;
};

// How many numbers of the generator make how many outputs.
struct Group {
  unsigned in, out;
};
[[nodiscard]] Group group_of(Generator, Distribution, Type);

// Walker's alias tables and cumulative probabilities of a Poisson distribution.
class Poisson {
 public:
  explicit Poisson(double lambda);
  // x is in [0, 1).
  [[nodiscard]] uint32_t by_alias(double x) const;
  [[nodiscard]] uint32_t by_sum(double x) const;

 private:
  uint32_t offset_ = 0;
  std::vector<double> keep_, sum_;
  std::vector<uint32_t> alias_;
};

struct Parameters {
  Distribution distribution;
  Type type;
  double mean = 0, deviation = 1;  // values of `type`
  const Poisson* poisson = nullptr;
};

// The outputs of one group of a pseudorandom generator.
void expect(Generator, const Parameters&, const uint32_t* in, Expected* out);
// The output for one point of a Sobol sequence.
[[nodiscard]] Expected expect_sobol(Generator, const Parameters&, uint64_t point);

}  // namespace wavejit::rocrand
