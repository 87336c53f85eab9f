// wavejit_lift_asm TARGET [--optimise] [--mode N]: assembles standard input and prints the IR of the unit at its start.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string_view>

#include "frontend/lift/lifter.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "tests/support/assembler.h"

using namespace wavejit;

int main(int argc, char** argv) {
  const auto target = argc > 1 ? isa::parse_target(argv[1]) : std::nullopt;
  if (!target) {
    fmt::print(stderr, "usage: wavejit_lift_asm TARGET [--optimise] [--mode N] < source.s\n");
    return 2;
  }
  bool optimise = false;
  lift::LiftOptions options{.target = *target, .name = "snippet", .mode = 0x3c0};
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--optimise") optimise = true;
    if (argument == "--full") options.exec_full = true;
    if (argument == "--mode" && i + 1 < argc) options.mode = static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 0));
  }
  const std::string source{std::istreambuf_iterator<char>(std::cin), {}};
  const auto code = test::assemble(*target, source);
  if (!code) {
    fmt::print(stderr, "{}\n", code.error().message);
    return 1;
  }
  options.entry_pc = options.code_base = 0x1000;
  options.code = *code;
  std::vector<lift::Unsupported> unsupported;
  auto result = lift::lift(options, &unsupported);
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().message);
    return 1;
  }
  for (const lift::Unsupported& u : unsupported) fmt::print(stderr, "unsupported at {:#x}: {}\n", u.pc, u.what);
  if (optimise) ir::optimise(*result->function, {.verify = true});
  fmt::print("{}\n", ir::print(*result->function));
  return 0;
}
