// Long differential fuzz: wavejit_diff_fuzz [--target T] [--length N] [--states N] [--seed S] [--count N] [--only NAME]
// [--programs 1] [--switches random]. Sequences of random instructions, or structured programs with branches, loops and
// memory. With --switches random each is also run by code without a random set of optimisations. Prints every
// difference; exit code 1 if there was one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "frontend/isa/info.h"
#include "tests/diff/diff_engines.h"

using namespace wavejit;

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was found survives the end of a time limit
  test::DiffOptions options;
  uint64_t seed = 1, count = 1000, max_failures = 10;
  bool programs = false;
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
  uint64_t failures = 0, done = 0;
  for (; done < count && failures < max_failures; ++done) {
    const std::string report =
        programs ? test::program_once(options, pool, seed + done) : test::diff_once(options, pool, seed + done);
    if (report.empty()) continue;
    ++failures;
    fmt::print("{}\n", report);
  }
  fmt::print("{} sequences, {} differences\n", done, failures);
  return failures == 0 ? 0 : 1;
}
