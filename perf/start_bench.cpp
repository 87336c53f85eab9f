// Whether a program that begins in the interpreter ends later than in the interpreter alone.
//
//   start_bench [--kernels NAME,...] [--sizes test,bench] [--threads 1,2] [--runs N] [--all]
//
// Every figure is from a process of its own, which runs a kernel case of the tests for gfx906 at -O3 once, without a
// cache of translations: wall time from its first launch until the process has ended, so that a translation which is
// then still under way counts. Minima over the runs, engines taking turns. A row says that a program ends later if
// `auto` takes 1.1 times as long or more, and half a millisecond longer; only such rows are printed, or all.
// `taskset -c 0 start_bench` shows a machine without a CPU to spare.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "kernel_case.h"
#include "wavejit_run.h"

namespace {

using namespace wavejit::kernels;

int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Milliseconds; negative on failure.
double run_once(const KernelCase& kernel_case, const EngineChoice& engine, uint32_t threads, int64_t* begun) {
  *begun = 0;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    std::string why;
    const std::string path = code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, "gfx906", "O3");
    const auto run = WavejitRun::create(kernel_case, path, "gfx906", &why);
    *begun = now_ns();
    if (run && run->launch(engine, threads, kTimeoutNs, &why) == WAVEJIT_OK) std::exit(0);
    fmt::print(stderr, "{}, {}: {}\n", kernel_case.name, engine.name, why);
    std::exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const auto ns = static_cast<double>(now_ns() - *begun);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ns * 1e-6 : -1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Whether a program that begins in the interpreter ends later than in the interpreter alone.");
  std::vector<std::string> kernels, sizes{"test", "bench"};
  std::vector<uint32_t> thread_counts{1, 2};
  unsigned runs = 3;
  bool all = false;
  app.add_option("--kernels", kernels, "cases")->delimiter(',');
  app.add_option("--sizes", sizes, "of their data")->delimiter(',')->check(CLI::IsMember({"test", "bench"}));
  app.add_option("--threads", thread_counts, "of a launch")->delimiter(',');
  app.add_option("--runs", runs, "of each engine")->check(CLI::PositiveNumber);
  app.add_flag("--all", all, "rows of all kernels");
  CLI11_PARSE(app, argc, argv);
  auto* begun =
      static_cast<int64_t*>(mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (begun == MAP_FAILED) return 1;
  fmt::print(
      "| kernel | data | threads | interpreter, ms | auto, ms | auto / interpreter |\n|---|---|---:|---:|---:|---:|\n");
  for (const std::string& size : sizes)
    for (const uint32_t threads : thread_counts) {
      double log_sum = 0, most = 0;
      unsigned rows = 0, later = 0;
      for (const KernelCaseFactory& factory : all_cases()) {
        if (!kernels.empty() && std::find(kernels.begin(), kernels.end(), factory.name) == kernels.end()) continue;
        const KernelCase kernel_case = factory.make(size == "test" ? Size::kTest : Size::kBench);
        if (kernel_case.expect_trap) continue;
        double interpreter = std::numeric_limits<double>::max(), tiered = interpreter;
        for (unsigned i = 0; i < runs && interpreter > 0 && tiered > 0; ++i) {
          interpreter = std::min(interpreter, run_once(kernel_case, kInterpreter, threads, begun));
          tiered = std::min(tiered, run_once(kernel_case, kAuto, threads, begun));
        }
        if (interpreter <= 0 || tiered <= 0) return 1;
        const double ratio = tiered / interpreter;
        const bool is_later = ratio >= 1.1 && tiered >= interpreter + 0.5;
        if (all || is_later)
          fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", factory.name, size, threads, interpreter, tiered,
                     ratio);
        ++rows;
        later += is_later;
        most = std::max(most, ratio);
        log_sum += std::log(ratio);
      }
      if (rows != 0)
        fmt::print("| **{} of {} later** | {} | {} | | most {:.2f} | **mean {:.2f}** |\n", later, rows, size, threads,
                   most, std::exp(log_sum / rows));
    }
}
