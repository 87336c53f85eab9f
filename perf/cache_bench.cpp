// What a start with a warm cache of translations costs, against the translation that it saves.
//
//   cache_bench [--isa avx512,avx2] [--runs N] [--kernels] [FILE...]
//
// Every figure is from a process of its own, which meets each kernel once: one without a cache, one that fills an empty
// one, one that finds everything there. Times are CPU time of the thread, of the system calls as well, from the
// question for a kernel's code to the answer; medians over the processes, which take turns. Without FILEs: the kernels
// of the tests for gfx906 at -O3.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/translate/disk_cache.h"
#include "runtime/translate/module.h"
#include "runtime/translate/specialisation.h"

namespace {

using namespace wavejit;
namespace fs = std::filesystem;

uint64_t cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

std::array<uint32_t, 3> workgroup_of(const codeobject::Kernel& kernel) {
  const auto& required = kernel.required_workgroup_size;
  if (required[0] != 0) return {required[0], std::max(required[1], 1u), std::max(required[2], 1u)};
  return {std::min(kernel.max_flat_workgroup_size, 256u), 1, 1};
}

// In a process of its own: a line for each kernel, its name, how many units were translated and taken from the disk,
// and the time that took.
int work(const std::string& isa, const std::string& directory, const std::vector<std::string>& files) {
  runtime::DiskCache::configure({.enabled = !directory.empty(), .directory = directory});
  const backend::Tier tier = isa == "avx2" ? backend::Tier::avx2 : backend::Tier::avx512;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<uint8_t> image{std::istreambuf_iterator<char>(in), {}};
    const auto module = runtime::Module::load(image);
    if (!module) {
      fmt::print(stderr, "{}: {}\n", file, module.error().message);
      return 1;
    }
    runtime::TranslationCache& cache = (*module)->translations();
    const auto kernels = codeobject::decode_kernels((*module)->object());
    if (!kernels) {
      fmt::print(stderr, "{}: {}\n", file, kernels.error().message);
      return 1;
    }
    for (const codeobject::Kernel* each : *kernels) {
      const codeobject::Kernel& kernel = *each;
      runtime::Shape shape;
      shape.workgroup = workgroup_of(kernel);
      shape.grid = shape.workgroup;
      runtime::TranslationCounters counters;
      const uint64_t start = cpu_ns();
      const auto specialisation =
          runtime::specialisation_of(kernel, shape, kernel.descriptor.group_segment_size, /*kernarg=*/0);
      const auto entry = cache.find({.config = cache.config_id({.tier = tier}),
                                     .specialisation = cache.specialisation_id(specialisation),
                                     .pc = kernel.descriptor.entry,
                                     .mode = kernel.descriptor.mode,
                                     .exec_full = true},
                                    counters);
      const uint64_t time = cpu_ns() - start;
      if (!entry) {
        fmt::print(stderr, "{}: {}\n", kernel.name, entry.error().message);
        continue;
      }
      fmt::print("{}/{} {} {} {}\n", fs::path(file).stem().string(), kernel.name, counters.units, counters.cached_units,
                 time);
    }
  }
  return 0;
}

struct Times {
  std::vector<uint64_t> off, fill, warm;
};

double median(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return static_cast<double>(values[values.size() / 2]);
}

// Adds what a worker says to `list` of each kernel. False when it has not gone as it must.
bool measure(const std::string& isa, const std::string& directory, const std::vector<std::string>& files,
             std::map<std::string, Times>& kernels, std::vector<uint64_t> Times::* list) {
  std::string line = fmt::format("'{}' --worker --isa {} --directory '{}'", fs::read_symlink("/proc/self/exe").string(),
                                 isa, directory);
  for (const std::string& file : files) line += fmt::format(" '{}'", file);
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return false;
  std::string text;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  if (pclose(pipe) != 0) return false;
  std::stringstream lines(text);
  std::string name;
  uint64_t translated = 0, cached = 0, time = 0;
  const bool warm = list == &Times::warm;
  while (lines >> name >> translated >> cached >> time) {
    if ((warm ? translated : cached) != 0) {
      fmt::print(stderr, "{}: {} units translated, {} from the cache\n", name, translated, cached);
      return false;
    }
    (kernels[name].*list).push_back(time);
  }
  return true;
}

void print(const std::string& name, double off, double fill, double warm) {
  fmt::print("{:<40} {:>12.1f} {:>12.1f} {:>12.1f} {:>8.2f} %\n", name, off * 1e-3, (fill - off) * 1e-3, warm * 1e-3,
             100 * warm / off);
}

int run(const std::vector<std::string>& isas, unsigned runs, bool each, const std::vector<std::string>& files) {
  for (const std::string& isa : isas) {
    if (!backend::host_supports(isa == "avx2" ? backend::Tier::avx2 : backend::Tier::avx512)) continue;
    std::string scratch = (fs::temp_directory_path() / "wavejit-cache-bench-XXXXXX").string();
    if (mkdtemp(scratch.data()) == nullptr) return 1;
    std::map<std::string, Times> kernels;
    bool ok = true;
    for (unsigned i = 0; i < runs && ok; ++i) {
      const std::string directory = fmt::format("{}/{}", scratch, i);
      ok = measure(isa, "", files, kernels, &Times::off) && measure(isa, directory, files, kernels, &Times::fill) &&
           measure(isa, directory, files, kernels, &Times::warm);
    }
    if (ok) {
      fmt::print("{:<40} {:>12} {:>12} {:>12} {:>10}\n", isa, "translate us", "+ store us", "warm us", "warm");
      double off = 0, fill = 0, warm = 0, worst = 0, log_ratio = 0;
      for (const auto& [name, times] : kernels) {
        const double a = median(times.off), b = median(times.fill), c = median(times.warm);
        if (each) print(name, a, b, c);
        off += a;
        fill += b;
        warm += c;
        worst = std::max(worst, c / a);
        log_ratio += std::log(c / a);
      }
      print(fmt::format("total of {} kernels", kernels.size()), off, fill, warm);
      const runtime::DiskCache::Usage usage = runtime::DiskCache(scratch + "/0", 1).usage();
      fmt::print("geometric mean {:.2f} %, highest {:.2f} %; {} entries, {} KiB\n",
                 100 * std::exp(log_ratio / static_cast<double>(kernels.size())), 100 * worst, usage.entries,
                 usage.bytes >> 10);
    }
    fs::remove_all(scratch);
    if (!ok) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Starts with a warm cache of translations against translation"};
  std::vector<std::string> files, isas{"avx512", "avx2"};
  unsigned runs = 5;
  bool each = false, worker = false;
  std::string directory;
  app.add_option("files", files, "Code objects");
  app.add_option("--isa", isas, "Tiers: avx512, avx2")->delimiter(',')->allow_extra_args(false);
  app.add_option("--runs", runs, "Processes of each kind")->check(CLI::Range(1, 1000));
  app.add_flag("--kernels", each, "A line per kernel");
  app.add_flag("--worker", worker)->group("");
  app.add_option("--directory", directory)->group("");
  CLI11_PARSE(app, argc, argv);
  if (files.empty()) {
    for (const auto& file : fs::directory_iterator(WAVEJIT_KERNEL_DIR "/gfx906/O3"))
      if (file.path().extension() == ".co") files.push_back(file.path().string());
    std::sort(files.begin(), files.end());
  }
  if (worker) return work(isas.front(), directory, files);
  return run(isas, runs, each, files);
}
