// Products of matrices by GCN's matrix instructions (tests/kernels/matrix) on one thread, next to the most fused
// multiply-adds that the core does at that time: both are measured in turn, and the medians compared.
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cases_matrix.h"
#include "ceilings/ceiling_run.h"
#include "wavejit_run.h"

namespace wavejit::perf {
namespace {

constexpr uint64_t kTimeoutNs = 120'000'000'000;

// CPU time of the process: what is left of a measurement on a machine that does other work too.
double seconds_of(const auto& work) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Tier {
  kernels::EngineChoice engine;
  CeilingTier ceiling;
};

// False with the reason when the case does not run or gives the wrong product.
bool measure(const kernels::MatrixCase& matrix, const std::string& target, const Tier& tier, int rounds,
             std::string* why) {
  const kernels::KernelCase kernel_case = matrix.make(kernels::Size::kBench);
  const std::string path = kernels::code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, target, "O3");
  const auto run = kernels::WavejitRun::create(kernel_case, path, target, why);
  if (run == nullptr) return false;
  if (run->launch(tier.engine, 1, kTimeoutNs, why) != WAVEJIT_OK || !kernel_case.check(run->read(), why)) return false;
  std::vector<double> peaks, rates;
  for (int i = 0; i < rounds; ++i) {
    double flops = 0;
    const double peak_seconds = seconds_of([&] { flops = fma_peak(tier.ceiling, 3'000'000); });
    peaks.push_back(flops * 1e-9 / peak_seconds);
    bool good = true;
    const double seconds = seconds_of([&] { good = run->launch(tier.engine, 1, kTimeoutNs, why) == WAVEJIT_OK; });
    if (!good) return false;
    rates.push_back(kernel_case.work / seconds);
  }
  // The peak is that of f32; f64 has half the lanes.
  const double peak = median(peaks) / (matrix.name == "matrix_f64" ? 2 : 1), rate = median(rates);
  fmt::print("{:<11} {} {:<6} {:8.1f} {}/s  FMA peak {:8.1f} GFLOP/s  {:5.1f} %\n", matrix.name, target,
             tier.engine.name, rate, kernel_case.unit, peak, 100 * rate / peak);
  return true;
}

}  // namespace
}  // namespace wavejit::perf

int main(int argc, char** argv) {
  using namespace wavejit;
  CLI::App app("Matrix products on one thread, compared with the peak of fused multiply-adds");
  int rounds = 15;
  std::string only;
  app.add_option("--rounds", rounds, "measurements of each, the median counts")->check(CLI::PositiveNumber);
  app.add_option("--only", only, "cases whose name, processor and engine contain this");
  CLI11_PARSE(app, argc, argv);
  int failures = 0;
  for (const kernels::MatrixCase& matrix : kernels::matrix_cases()) {
    for (const std::string_view target : matrix.targets) {
      for (const perf::Tier& tier : {perf::Tier{kernels::kAvx2, perf::CeilingTier::avx2},
                                     perf::Tier{kernels::kAvx512, perf::CeilingTier::avx512}}) {
        if (!perf::ceiling_supported(tier.ceiling)) continue;
        if (fmt::format("{} {} {}", matrix.name, target, tier.engine.name).find(only) == std::string::npos) continue;
        std::string why;
        if (perf::measure(matrix, std::string(target), tier, rounds, &why)) continue;
        fmt::print(stderr, "{} {} {}: {}\n", matrix.name, target, tier.engine.name, why);
        ++failures;
      }
    }
  }
  return failures == 0 ? 0 : 1;
}
