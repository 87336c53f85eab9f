// Long differential fuzz: wavejit_diff_fuzz [--target T] [--length N] [--states N] [--seed S] [--count N]
// [--instructions N] [--seconds N] [--progress N] [--only NAME] [--programs 1] [--switches random] [--alternate 1]
// [--print 1].
// Sequences of random instructions, or structured programs with branches, loops and memory, until one of count (of
// sequences), instructions generated and seconds is reached. With --switches random code is also translated without a
// random set of optimisations; with --alternate each sequence by fewer engines. Prints every difference; exit code 1 if
// there was one. scripts/fuzz.sh runs it for all targets.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "frontend/isa/info.h"
#include "tests/diff/diff_engines.h"

using namespace wavejit;

namespace {

// What runs now, for when it takes the process down.
char current[64];

void crashed(int signal) {
  (void)!write(STDOUT_FILENO, current, std::strlen(current));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was found survives the end of a time limit
  test::DiffOptions options;
  uint64_t seed = 1, count = 1000, max_failures = 10;
  uint64_t instructions = UINT64_MAX;
  double seconds = 1e9, progress = 0;
  bool programs = false;
  // Code is compiled and dropped all the time: memory need not go back to the system each time.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  const auto number = [](std::string_view text) {
    uint64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
      fmt::print(stderr, "not a number: {}\n", text);
      std::exit(2);
    }
    return value;
  };
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i], value = argv[i + 1];
    if (name == "--target") {
      const auto target = isa::parse_target(value);
      if (!target) {
        fmt::print(stderr, "unknown target {}\n", value);
        return 2;
      }
      options.target = *target;
    } else if (name == "--length") {
      options.length = static_cast<unsigned>(number(value));
    } else if (name == "--states") {
      options.states = static_cast<unsigned>(number(value));
    } else if (name == "--seed") {
      seed = number(value);
    } else if (name == "--count") {
      count = number(value);
    } else if (name == "--failures") {
      max_failures = number(value);
    } else if (name == "--programs") {
      programs = number(value) != 0;
    } else if (name == "--instructions") {
      instructions = number(value);
    } else if (name == "--seconds") {
      seconds = static_cast<double>(number(value));
    } else if (name == "--progress") {
      progress = static_cast<double>(number(value));
    } else if (name == "--alternate") {
      options.alternate = number(value) != 0;
    } else if (name == "--print") {
      options.print = number(value) != 0;
    } else if (name == "--switches") {
      if (value != "random") {
        fmt::print(stderr, "--switches takes random\n");
        return 2;
      }
      options.random_switches = true;
    } else if (name == "--only") {
      options.only = value;
    } else {
      fmt::print(stderr, "unknown option {}\n", name);
      return 2;
    }
  }
  if (programs && !options.only.empty()) {
    fmt::print(stderr, "--only is for sequences; programs choose among all instructions\n");
    return 2;
  }
  auto pool = test::candidates(options.target);
  if (!options.only.empty())
    std::erase_if(pool,
                  [&](const auto& c) { return isa::info(c.opcode).name.find(options.only) == std::string_view::npos; });
  if (pool.empty()) {
    fmt::print(stderr, "no instruction to test\n");
    return 2;
  }
  fmt::print("{}: {} opcode forms, seeds {}..{}, {} instructions each\n", isa::to_string(options.target), pool.size(),
             seed, seed + count - 1, options.length);
  std::signal(SIGSEGV, crashed);
  std::signal(SIGBUS, crashed);
  std::signal(SIGABRT, crashed);
  uint64_t failures = 0, done = 0;
  test::DiffCounts counts;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  double next_report = progress;
  for (; done < count && failures < max_failures && counts.generated < instructions && elapsed() < seconds; ++done) {
    if (progress > 0 && elapsed() > next_report) {
      fmt::print("{}: at seed {}, {} instructions, {} executed, {} differences, {:.0f} s\n",
                 isa::to_string(options.target), seed + done, counts.generated, counts.executed, failures, elapsed());
      next_report = elapsed() + progress;
    }
    *fmt::format_to_n(current, sizeof current - 1, "{}: crash at seed {}\n", isa::to_string(options.target),
                      seed + done)
         .out = 0;
    const std::string report = programs ? test::program_once(options, pool, seed + done, &counts)
                                        : test::diff_once(options, pool, seed + done, &counts);
    if (report.empty()) continue;
    ++failures;
    fmt::print("{}\n", report);
  }
  fmt::print("{} {}: {} {}, {} instructions, {} executed, {} differences, next seed {}, {:.1f} s\n",
             isa::to_string(options.target), programs ? "programs" : "sequences", done,
             programs ? "programs" : "sequences", counts.generated, counts.executed, failures, seed + done, elapsed());
  return failures == 0 ? 0 : 1;
}
