// Times rocRAND on wavejit against loops on the host: how many numbers a second, for each generator, uniform integers
// and normally distributed floats. Run it under `wavejit exec`, with --threads 1 for as many threads as the host's loop
// has.
#include <hip/hip_runtime.h>
#include <rocrand/rocrand.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "engines.h"
#include "mtgp32.h"
#include "sobol.h"

namespace wavejit::rocrand {
namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

// One engine, its numbers one after the other, as a program for the host has them.
struct PhiloxLoop {
  PhiloxBlock counter{}, block{};
  unsigned used = 4;
  uint32_t next() {
    if (used == 4) {
      block = philox4x32_10(counter, 1, 2);
      if (++counter.word[0] == 0) ++counter.word[1];
      used = 0;
    }
    return block.word[used++];
  }
};
struct SobolLoop {
  Sobol sobol;
  uint64_t index = 0, point = 0;
  unsigned shift;
  explicit SobolLoop(unsigned bits) : sobol(bits, 0), shift(bits - 32) {}
  uint32_t next() {
    point = sobol.after(index++, point);
    return static_cast<uint32_t>(point >> shift);
  }
};

// On copies of the engines, which no store to `out` can change.
template <class Engine>
void uniform(Engine& state, uint32_t* out, size_t n) {
  Engine engine = state;
  for (size_t i = 0; i < n; ++i) out[i] = engine.next();
  state = engine;
}

// Two at a time; a Sobol sequence must not be mixed so, but the work is alike.
template <class Engine>
void normal(Engine& state, float* out, size_t n) {
  Engine engine = state;
  for (size_t i = 0; i + 1 < n; i += 2) {
    const float u = 0x1p-32f + static_cast<float>(engine.next()) * 0x1p-32f;
    const float angle = static_cast<float>(engine.next()) * (0x1p-32f * 6.2831855f);
    const float s = std::sqrt(-2.0f * std::log(u));
    out[i] = std::sin(angle) * s;
    out[i + 1] = std::cos(angle) * s;
  }
  state = engine;
}

double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Bench {
 public:
  Bench(size_t numbers, unsigned runs) : numbers_(numbers), runs_(runs), host_(numbers) {
    check(hipMalloc(&device_, numbers * sizeof(uint32_t)) == hipSuccess, "hipMalloc");
    std::printf("%-14s %-14s %22s %22s %8s\n", "generator", "numbers", "rocRAND, 10^6/s (best)", "host, 10^6/s (best)",
                "ratio");
  }

  template <class Engine>
  void run(const char* name, rocrand_rng_type type, Engine engine) {
    rocrand_generator generator;
    check(rocrand_create_generator(&generator, type) == ROCRAND_STATUS_SUCCESS, "rocrand_create_generator");
    compare(
        name, "uint32", [&] { return rocrand_generate(generator, static_cast<unsigned*>(device_), numbers_); },
        [&] { uniform(engine, host_.data(), numbers_); });
    auto* floats = reinterpret_cast<float*>(host_.data());
    compare(
        name, "normal float",
        [&] { return rocrand_generate_normal(generator, static_cast<float*>(device_), numbers_, 0, 1); },
        [&] { normal(engine, floats, numbers_); });
    check(rocrand_destroy_generator(generator) == ROCRAND_STATUS_SUCCESS, "rocrand_destroy_generator");
  }

 private:
  void compare(const char* name, const char* what, const std::function<rocrand_status()>& generate,
               const std::function<void()>& loop) {
    const auto call = [&] {
      check(generate() == ROCRAND_STATUS_SUCCESS, what);
      check(hipDeviceSynchronize() == hipSuccess, "hipDeviceSynchronize");
    };
    // The first ones, which translate, are not counted; then they take turns.
    call();
    loop();
    std::vector<double> device, host;
    for (unsigned i = 0; i < runs_; ++i) {
      device.push_back(seconds_of(call));
      host.push_back(seconds_of(loop));
    }
    std::sort(device.begin(), device.end());
    std::sort(host.begin(), host.end());
    const auto rate = [&](double seconds) { return static_cast<double>(numbers_) / seconds / 1e6; };
    const double device_median = device[runs_ / 2], host_median = host[runs_ / 2];
    std::printf("%-14s %-14s %13.0f (%6.0f) %13.0f (%6.0f) %8.2f\n", name, what, rate(device_median),
                rate(device.front()), rate(host_median), rate(host.front()), host_median / device_median);
  }

  size_t numbers_;
  unsigned runs_;
  void* device_ = nullptr;
  std::vector<uint32_t> host_;
};

}  // namespace
}  // namespace wavejit::rocrand

int main(int argc, char** argv) {
  using namespace wavejit::rocrand;
  CLI::App app{
      "numbers per second that rocRAND generates under `wavejit exec`, and those of loops on one thread of the host"};
  size_t numbers = size_t{1} << 24;
  unsigned runs = 9;
  app.add_option("--numbers", numbers, "numbers of a call")->check(CLI::Range(1 << 10, 1 << 30))->capture_default_str();
  app.add_option("--runs", runs, "calls of which the median is taken")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Bench bench(numbers, runs);
  bench.run("xorwow", ROCRAND_RNG_PSEUDO_XORWOW,
            Xorwow{{123456789u, 362436069u, 521288629u, 88675123u, 5783321u}, 6615241u});
  bench.run("mrg32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A, Mrg32k3a{{12345, 12345, 12345}, {12345, 12345, 12345}});
  bench.run("mtgp32", ROCRAND_RNG_PSEUDO_MTGP32, Twister(mtgp32dc_params_fast_11213[0], 1));
  bench.run("philox4x32_10", ROCRAND_RNG_PSEUDO_PHILOX4_32_10, PhiloxLoop{});
  bench.run("sobol32", ROCRAND_RNG_QUASI_SOBOL32, SobolLoop(32));
  bench.run("sobol64", ROCRAND_RNG_QUASI_SOBOL64, SobolLoop(64));
  return 0;
}
