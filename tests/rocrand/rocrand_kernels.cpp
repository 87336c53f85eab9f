// rocRAND's functions for kernels: engines with subsequences of their own in every work-item, skipped ahead, against
// the host's.
#include <hip/hip_runtime.h>
#include <rocrand/rocrand.h>
#include <rocrand/rocrand_kernel.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "distributions.h"
#include "engine_source.h"
#include "engines.h"

using namespace wavejit::rocrand;

namespace {

constexpr unsigned kItems = 4096, kSkip = 777;
constexpr uint64_t kSeed = 0x1234567890;
constexpr double kLambda = 50;

// What a work-item makes, in this order.
struct Output {
  uint32_t uniform[4];
  float uniform_float[4];
  double uniform_double[2];
  float2 normal[2];
  double2 normal_double;
  uint32_t discrete[2];
  uint32_t poisson[3];  // of 3, 100 and 5000: their own methods
};

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  std::printf("%s\n", what);
  std::exit(1);
}

template <class State>
__global__ void generate(Output* out, rocrand_discrete_distribution discrete) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  rocrand_init(kSeed, i, 0, &state);
  skipahead(kSkip, &state);
  Output o;
  for (uint32_t& x : o.uniform) x = rocrand(&state);
  for (float& x : o.uniform_float) x = rocrand_uniform(&state);
  for (double& x : o.uniform_double) x = rocrand_uniform_double(&state);
  for (float2& x : o.normal) x = rocrand_normal2(&state);
  o.normal_double = rocrand_normal_double2(&state);
  for (uint32_t& x : o.discrete) x = rocrand_discrete(&state, discrete);
  o.poisson[0] = rocrand_poisson(&state, 3);
  o.poisson[1] = rocrand_poisson(&state, 100);
  o.poisson[2] = rocrand_poisson(&state, 5000);
  out[i] = o;
}

void compare(const std::string& what, unsigned item, double got, const Expected& wanted) {
  if (std::abs(got - wanted.value) <= wanted.tolerance) return;
  if (failures++ < 20) {
    std::printf("%s, work-item %u: %.17g instead of %.17g (+-%.3g)\n", what.c_str(), item, got, wanted.value,
                wanted.tolerance);
  }
}

// `numbers` are those of a work-item behind what it skips.
using Numbers = std::function<const uint32_t*(unsigned item)>;

template <class State>
void run(const char* name, Generator generator, const Numbers& numbers) {
  Output* device = nullptr;
  check(hipMalloc(&device, kItems * sizeof(Output)) == hipSuccess, "hipMalloc");
  rocrand_discrete_distribution discrete;
  check(rocrand_create_poisson_distribution(kLambda, &discrete) == ROCRAND_STATUS_SUCCESS,
        "rocrand_create_poisson_distribution");
  generate<State><<<kItems / 256, 256>>>(device, discrete);
  std::vector<Output> out(kItems);
  check(hipMemcpy(out.data(), device, kItems * sizeof(Output), hipMemcpyDeviceToHost) == hipSuccess, "hipMemcpy");
  check(rocrand_destroy_discrete_distribution(discrete) == ROCRAND_STATUS_SUCCESS,
        "rocrand_destroy_discrete_distribution");
  check(hipFree(device) == hipSuccess, "hipFree");

  const Poisson poisson(kLambda);
  double sums[3] = {};
  for (unsigned item = 0; item < kItems; ++item) {
    const Output& o = out[item];
    const uint32_t* in = numbers(item);
    const auto next = [&](Distribution distribution, Type type, const char* what, double first, double second = 0) {
      const Group group = group_of(generator, distribution, type);
      Expected expected[2];
      expect(generator, {.distribution = distribution, .type = type, .poisson = &poisson}, in, expected);
      in += group.in;
      compare(std::string(name) + ", " + what, item, first, expected[0]);
      if (group.out == 2) compare(std::string(name) + ", " + what, item, second, expected[1]);
    };
    for (const uint32_t x : o.uniform) next(Distribution::kUniform, Type::kUint32, "rocrand", x);
    for (const float x : o.uniform_float) next(Distribution::kUniform, Type::kFloat, "rocrand_uniform", x);
    for (const double x : o.uniform_double) next(Distribution::kUniform, Type::kDouble, "rocrand_uniform_double", x);
    for (const float2 x : o.normal) next(Distribution::kNormal, Type::kFloat, "rocrand_normal2", x.x, x.y);
    next(Distribution::kNormal, Type::kDouble, "rocrand_normal_double2", o.normal_double.x, o.normal_double.y);
    for (const uint32_t x : o.discrete) next(Distribution::kPoisson, Type::kUint32, "rocrand_discrete", x);
    for (unsigned i = 0; i < 3; ++i) sums[i] += o.poisson[i];
  }
  // The mean of so many is within six of its standard deviations.
  const double lambdas[3] = {3, 100, 5000};
  for (unsigned i = 0; i < 3; ++i) {
    compare(std::string(name) + ", rocrand_poisson", i, sums[i] / kItems,
            {lambdas[i], 6 * std::sqrt(lambdas[i] / kItems)});
  }
}

}  // namespace

int main() {
  constexpr unsigned kWidth = 32;
  std::vector<uint32_t> numbers;
  const Numbers of_engine = [&](unsigned item) { return &numbers[item * kWidth]; };
  // All engines skip as many when what is skipped of the whole is a multiple of their number.
  numbers = make_xorwow(kSeed, uint64_t{kSkip} * kEngines)->draw(kItems, kWidth, false);
  run<rocrand_state_xorwow>("xorwow", Generator::kXorwow, of_engine);
  numbers = make_mrg32k3a(kSeed, uint64_t{kSkip} * kEngines)->draw(kItems, kWidth, false);
  run<rocrand_state_mrg32k3a>("mrg32k3a", Generator::kMrg32k3a, of_engine);
  for (unsigned item = 0; item < kItems; ++item) {
    for (unsigned i = 0; i < kWidth; ++i) {
      const PhiloxBlock block = philox4x32_10({(kSkip + i) / 4, 0, item, 0}, static_cast<uint32_t>(kSeed), kSeed >> 32);
      numbers[item * kWidth + i] = block.word[(kSkip + i) % 4];
    }
  }
  run<rocrand_state_philox4x32_10>("philox4x32_10", Generator::kPhilox, of_engine);
  std::printf("%d failures\n", failures);
  return failures > 0;
}
