// Times the kernel cases (bench size, gfx906, -O3, one thread) on each engine, on PoCL from the same OpenCL source, and
// as a plain C++ loop or hand-written vector code (ceilings/). perf/table.py runs it and prints the comparison.
//
// Benchmarks are named <case>/<engine>. An iteration is all launches of the case; buffers are restored outside the
// timing, translation and compilation happen before it. wavejit's translations choose by what waves did in the
// interpreter, as with engine `auto`; WAVEJIT_DISABLE_PASSES=profiles has those that know nothing. Engines <engine>_2
// are the same with two threads (perf/threads.py). The first result of every engine is checked against the host
// reference. With WAVEJIT_BENCH_OPENCL_AVX2 in the environment PoCL compiles as for a CPU without AVX-512; with
// WAVEJIT_BENCH_KERNELS=gfx906-clang19/O2 wavejit executes what that compiler has made.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ceilings/ceiling_run.h"
#include "hidden_avx512.h"
#include "inner_loop.h"
#include "kernel_case.h"
#include "native.h"
#include "wavejit_run.h"
#ifdef WAVEJIT_HAVE_OPENCL
#include "opencl_peer.h"
#endif

namespace wavejit::perf {
namespace {

using kernels::Buffer;
using kernels::EngineChoice;
using kernels::KernelCase;

constexpr uint64_t kTimeoutNs = 120'000'000'000;
// Medians of these many runs, in random order among the engines of a case.
constexpr int kRepetitions = 9;
constexpr int kInterpreterRepetitions = 3;

// One way of running a case. Prepared once; run() is the timed part.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual bool reset(std::string* why) = 0;
  virtual bool run(std::string* why) = 0;
  virtual bool result(std::vector<Buffer>* buffers, std::string* why) = 0;
  // Whether a first run compiles, so that it must not be timed.
  [[nodiscard]] virtual bool needs_warmup() const { return true; }
  // What happens once, before the first run.
  virtual bool begin(std::string*) { return true; }
  virtual void add_counters(benchmark::State&) {}
};

class EngineRunner final : public Runner {
 public:
  EngineRunner(std::unique_ptr<kernels::WavejitRun> run, EngineChoice engine, uint32_t threads)
      : run_(std::move(run)), engine_(engine), threads_(threads) {}
  bool reset(std::string*) override {
    run_->reset();
    return true;
  }
  // Translates as most users' programs have it: the kernels begin in the interpreter, and the translation knows what waves
  // did there.
  bool begin(std::string* why) override {
    if (engine_.engine != WAVEJIT_ENGINE_JIT) return true;
    constexpr unsigned kMostRuns = 200;
    const EngineChoice tiered = {engine_.name, WAVEJIT_ENGINE_AUTO, engine_.isa};
    for (unsigned i = 0; i < kMostRuns; ++i) {
      run_->reset();
      if (run_->launch(tiered, 1, kTimeoutNs, why) != WAVEJIT_OK) return false;
      if (run_->interpreted_workgroups() == 0) return true;
    }
    *why = "the kernel is still interpreted";
    return false;
  }
  bool run(std::string* why) override { return run_->launch(engine_, threads_, kTimeoutNs, why) == WAVEJIT_OK; }
  bool result(std::vector<Buffer>* buffers, std::string*) override {
    *buffers = run_->read();
    return true;
  }
  [[nodiscard]] bool needs_warmup() const override { return engine_.engine != WAVEJIT_ENGINE_INTERP; }
  void add_counters(benchmark::State& state) override {
    if (!measured_) measure();
    state.counters["translate_ms"] = translate_ms_;
    state.counters["x86_code"] = x86_code_;
    state.counters["gcn_code"] = gcn_code_;
    state.counters["gcn_executed"] = executed_;
    state.counters["x86_bytes"] = bytes_;
    state.counters["loop_gcn"] = loop_gcn_;
    state.counters["loop_x86"] = loop_x86_;
  }

 private:
  // What the code is like. The number of executed instructions takes a launch of its own.
  void measure() {
    measured_ = true;
    translate_ms_ = static_cast<double>(run_->translate_ns()) * 1e-6;
    x86_code_ = static_cast<double>(run_->host_instructions());
    gcn_code_ = static_cast<double>(run_->guest_code());
    run_->reset();
    std::string why;
    if (run_->launch(engine_, 1, kTimeoutNs, &why, true) != WAVEJIT_OK) return;
    const std::vector<uint64_t>& counts = run_->instructions();
    for (const uint64_t count : counts) executed_ += static_cast<double>(count);
    if (engine_.engine != WAVEJIT_ENGINE_JIT) return;
    // The launch that executes most.
    const auto busiest = static_cast<size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    const std::string x86 = run_->dump(busiest, WAVEJIT_DUMP_X86, engine_.isa);
    const InnerLoop loop = inner_loop(run_->dump(busiest, WAVEJIT_DUMP_GCN, engine_.isa), x86);
    bytes_ = static_cast<double>(code_bytes(x86));
    loop_gcn_ = static_cast<double>(loop.guest);
    loop_x86_ = static_cast<double>(loop.host);
  }

  std::unique_ptr<kernels::WavejitRun> run_;
  EngineChoice engine_;
  uint32_t threads_;
  bool measured_ = false;
  double translate_ms_ = 0, x86_code_ = 0, gcn_code_ = 0, executed_ = 0, bytes_ = 0, loop_gcn_ = 0, loop_x86_ = 0;
};

#ifdef WAVEJIT_HAVE_OPENCL
class OpenClRunner final : public Runner {
 public:
  explicit OpenClRunner(std::unique_ptr<kernels::OpenClRun> run) : run_(std::move(run)) {}
  bool reset(std::string* why) override { return run_->reset(why); }
  bool run(std::string* why) override { return run_->launch(why); }
  bool result(std::vector<Buffer>* buffers, std::string* why) override { return run_->read(buffers, why); }

 private:
  std::unique_ptr<kernels::OpenClRun> run_;
};
#endif

class NativeRunner final : public Runner {
 public:
  NativeRunner(const KernelCase& kernel_case, NativeFunction function)
      : kernel_case_(kernel_case), buffers_(kernel_case.buffers), function_(function) {}
  bool reset(std::string*) override {
    for (size_t i = 0; i < buffers_.size(); ++i)
      std::copy(kernel_case_.buffers[i].bytes.begin(), kernel_case_.buffers[i].bytes.end(), buffers_[i].bytes.begin());
    return true;
  }
  bool run(std::string*) override {
    function_(kernel_case_, buffers_);
    benchmark::ClobberMemory();
    return true;
  }
  bool result(std::vector<Buffer>* buffers, std::string*) override {
    *buffers = buffers_;
    return true;
  }

 private:
  const KernelCase& kernel_case_;
  std::vector<Buffer> buffers_;
  NativeFunction function_;
};

class CeilingRunner final : public Runner {
 public:
  CeilingRunner(const KernelCase& kernel_case, CeilingFunction function) : run_(kernel_case, function) {}
  bool reset(std::string*) override {
    run_.reset();
    return true;
  }
  bool run(std::string*) override {
    run_.run();
    benchmark::ClobberMemory();
    return true;
  }
  bool result(std::vector<Buffer>* buffers, std::string*) override {
    *buffers = run_.read();
    return true;
  }

 private:
  CeilingRun run_;
};

// The engines that are hand-written code.
struct Ceiling {
  const char* engine;
  CeilingTier tier;
};
constexpr Ceiling kCeilings[] = {{"hand_avx2", CeilingTier::avx2}, {"hand_avx512", CeilingTier::avx512}};

// CPU time of all threads of the process, in seconds: what is left of a measurement on a machine that does other work
// too.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The data of the case and its prepared runners, kept from repetition to repetition. Only one case is kept at a time.
struct Session {
  std::string name;
  KernelCase kernel_case;
  struct Prepared {
    std::unique_ptr<Runner> runner;
    std::string error;
  };
  std::map<std::string, Prepared> runners;
};

// The code object of a kernel: by the compiler and at the level that WAVEJIT_BENCH_KERNELS names, if that has made one.
std::string path_of(const KernelCase& kernel_case) {
  if (const char* other = getenv("WAVEJIT_BENCH_KERNELS"); other != nullptr && *other != 0) {
    const std::filesystem::path folder(other);  // gfx906-clang19/O2
    const std::string path = kernels::code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, folder.parent_path().string(),
                                                       folder.filename().string());
    if (std::filesystem::exists(path)) return path;
  }
  return kernels::code_object_path(WAVEJIT_KERNEL_DIR, kernel_case, "gfx906", "O3");
}

std::unique_ptr<Runner> make_runner(const KernelCase& kernel_case, const std::string& engine, std::string* why) {
  if (engine == "native") return std::make_unique<NativeRunner>(kernel_case, native_function(kernel_case.name));
  if (engine == "native_serial")
    return std::make_unique<NativeRunner>(kernel_case, native_serial_function(kernel_case.name));
#ifdef WAVEJIT_HAVE_OPENCL
  if (engine == "pocl") {
    auto run = kernels::OpenClRun::create(kernel_case, WAVEJIT_KERNEL_SOURCE_DIR, why);
    return run ? std::make_unique<OpenClRunner>(std::move(run)) : nullptr;
  }
#endif
  for (const Ceiling& ceiling : kCeilings)
    if (engine == ceiling.engine)
      return std::make_unique<CeilingRunner>(kernel_case, ceiling_function(kernel_case.name, ceiling.tier));
  for (const EngineChoice& choice : {kernels::kInterpreter, kernels::kAvx2, kernels::kAvx512}) {
    const bool two = engine == std::string(choice.name) + "_2";
    if (engine != choice.name && !two) continue;
    const std::string path = path_of(kernel_case);
    auto run = kernels::WavejitRun::create(kernel_case, path, "gfx906", why);
    return run ? std::make_unique<EngineRunner>(std::move(run), choice, two ? 2 : 1) : nullptr;
  }
  *why = "no engine " + engine;
  return nullptr;
}

bool verify(const KernelCase& kernel_case, Runner& runner, std::string* why) {
  std::vector<Buffer> buffers;
  return runner.result(&buffers, why) && kernel_case.check(buffers, why);
}

Session::Prepared prepare(const KernelCase& kernel_case, const std::string& engine) {
  Session::Prepared prepared;
  prepared.runner = make_runner(kernel_case, engine, &prepared.error);
  if (prepared.runner == nullptr) return prepared;
  if (!prepared.runner->needs_warmup()) return prepared;
  Runner& runner = *prepared.runner;
  if (!runner.begin(&prepared.error) || !runner.reset(&prepared.error) || !runner.run(&prepared.error) ||
      !verify(kernel_case, runner, &prepared.error))
    prepared.runner = nullptr;
  return prepared;
}

void run_benchmark(benchmark::State& state, const kernels::KernelCaseFactory* factory, const std::string& engine) {
  static Session session;
  if (session.name != factory->name) {
    session.runners.clear();
    session.name = factory->name;
    session.kernel_case = factory->make(kernels::Size::kBench);
  }
  auto found = session.runners.find(engine);
  const bool first = found == session.runners.end();
  if (first) found = session.runners.emplace(engine, prepare(session.kernel_case, engine)).first;
  Session::Prepared& prepared = found->second;
  if (prepared.runner == nullptr) {
    state.SkipWithError(prepared.error.c_str());
    return;
  }
  Runner& runner = *prepared.runner;
  std::string why;
  double cpu = 0;
  bool checked = !first || runner.needs_warmup();
  for (auto _ : state) {
    if (!runner.reset(&why)) {
      state.SkipWithError(why.c_str());
      return;
    }
    const double cpu_start = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    const bool ok = runner.run(&why);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    cpu += cpu_seconds() - cpu_start;
    state.SetIterationTime(seconds.count());
    if (!ok || (!checked && !verify(session.kernel_case, runner, &why))) {
      prepared.error = why;
      prepared.runner = nullptr;
      state.SkipWithError(prepared.error.c_str());
      return;
    }
    checked = true;
  }
  state.counters[session.kernel_case.unit + "/s"] =
      benchmark::Counter(session.kernel_case.work, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["cpu_ms"] = benchmark::Counter(cpu * 1e3, benchmark::Counter::kAvgIterations);
  runner.add_counters(state);
}

// Not a kernel: what the floating-point rates may be compared with.
void run_fma_peak(benchmark::State& state, CeilingTier tier) {
  double flops = 0, cpu = 0;
  for (auto _ : state) {
    const double cpu_start = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    flops = fma_peak(tier, 1'000'000);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    cpu += cpu_seconds() - cpu_start;
    state.SetIterationTime(seconds.count());
  }
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["cpu_ms"] = benchmark::Counter(cpu * 1e3, benchmark::Counter::kAvgIterations);
}

void register_all() {
  for (const Ceiling& ceiling : kCeilings) {
    if (!ceiling_supported(ceiling.tier)) continue;
    benchmark::RegisterBenchmark((std::string("fma_peak/") + ceiling.engine).c_str(),
                                 [&ceiling](benchmark::State& state) { run_fma_peak(state, ceiling.tier); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1)
        ->Repetitions(kRepetitions);
  }
  for (const kernels::KernelCaseFactory& factory : kernels::all_cases()) {
    const KernelCase small = factory.make(kernels::Size::kTest);
    if (small.expect_trap) continue;
    auto add = [&](const char* engine) {
      benchmark::RegisterBenchmark(
          (std::string(factory.name) + "/" + engine).c_str(),
          [&factory, engine](benchmark::State& state) { run_benchmark(state, &factory, engine); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1)
          ->Repetitions(std::string_view(engine) == "interp" ? kInterpreterRepetitions : kRepetitions);
    };
    add("interp");
    add("avx2");
    add("avx2_2");
    if (wavejit_isa_supported(WAVEJIT_ISA_AVX512) != 0) {
      add("avx512");
      add("avx512_2");
    }
#ifdef WAVEJIT_HAVE_OPENCL
    if (small.opencl_exclusion.empty()) add("pocl");
#endif
    if (native_function(factory.name) != nullptr) add("native");
    if (native_serial_function(factory.name) != nullptr) add("native_serial");
    for (const Ceiling& ceiling : kCeilings)
      if (ceiling_supported(ceiling.tier) && ceiling_function(factory.name, ceiling.tier) != nullptr)
        add(ceiling.engine);
  }
}

}  // namespace
}  // namespace wavejit::perf

int main(int argc, char** argv) {
  // PoCL reads this when its device is opened: one worker thread, as for the other engines.
  setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
  wavejit::perf::register_all();
#ifdef WAVEJIT_HAVE_OPENCL
  if (getenv("WAVEJIT_BENCH_OPENCL_AVX2") != nullptr) {  // PoCL compiles as for a CPU without AVX-512
    const wavejit::perf::HiddenAvx512 hidden;
    if (!hidden.error().empty()) return std::fprintf(stderr, "kernel_bench: %s\n", hidden.error().c_str()), 1;
    wavejit::kernels::OpenClRun::device_name();
  }
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("wavejit", wavejit_version_string());
  benchmark::AddCustomContext("cpu", wavejit_host_cpu());
#ifdef WAVEJIT_HAVE_OPENCL
  benchmark::AddCustomContext("opencl_device", wavejit::kernels::OpenClRun::device_name());
#endif
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
