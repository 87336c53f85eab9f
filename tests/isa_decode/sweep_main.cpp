// decode-sweep [--seed N] [--count N] [--texts N] [--exceptions FILE] [target...]: exits with 1 on any difference from
// LLVM.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "sweep.h"

using namespace wavejit::isa;
using namespace wavejit::isa::test;

namespace {

constexpr uint64_t kAllTexts = std::numeric_limits<uint64_t>::max();

void print_examples(const SweepResult& r) {
  for (const Mismatch& m : r.examples)
    fmt::print("  {:08x} {:08x} {:08x} {} {}\n    llvm:    {}\n    wavejit: {}\n", m.words[0], m.words[1], m.words[2],
               m.kind, m.source, m.expected, m.actual);
}

}  // namespace

int main(int argc, char** argv) try {
  SweepOptions options;
  uint64_t texts = kAllTexts;
  std::string exceptions_path = WAVEJIT_DECODE_EXCEPTIONS;
  std::vector<Target> targets;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.starts_with("--") && i + 1 == argc) {
      fmt::print(stderr, "decode-sweep: {} needs a value\n", arg);
      return 2;
    }
    if (arg == "--seed") {
      options.seed = std::stoull(argv[++i]);
    } else if (arg == "--count") {
      options.encodings = std::stoull(argv[++i]);
    } else if (arg == "--texts") {
      texts = std::stoull(argv[++i]);
    } else if (arg == "--exceptions") {
      exceptions_path = argv[++i];
    } else if (const auto target = parse_target(arg)) {
      targets.push_back(*target);
    } else {
      fmt::print(stderr, "decode-sweep: unknown argument or target '{}'\n", arg);
      return 2;
    }
  }
  if (targets.empty())
    targets = {Target::gfx600, Target::gfx700, Target::gfx803, Target::gfx900, Target::gfx906,
               Target::gfx908, Target::gfx90a, Target::gfx940, Target::gfx942};
  auto exceptions = load_exceptions(exceptions_path);
  bool failed = false;
  for (const Target target : targets) {
    const SweepResult r = sweep(target, options, exceptions);
    fmt::print(
        "{}: seed {}, {} encodings: {} accepted and {} rejected by LLVM, {} not given to LLVM; {} excepted, {} "
        "differences\n",
        to_string(target), options.seed, r.encodings, r.accepted, r.rejected, r.not_compared, r.excepted, r.mismatches);
    print_examples(r);
    failed |= r.mismatches != 0;
    if (family_of(target) >= Family::gfx8) continue;
    const TextSweepResult t = sweep_texts(target, {.seed = options.seed, .encodings = texts}, exceptions);
    fmt::print(
        "{}: {} texts of {} mnemonics: {} texts of {} mnemonics accepted by LLVM, {} of them with another spelling of "
        "the same encoding; {} excepted, {} differences; {} of LLVM's instructions not reached{}{}\n",
        to_string(target), t.encodings, t.mnemonics, t.accepted, t.accepted_mnemonics, t.other_spellings, t.excepted,
        t.mismatches, t.unreached.size(), t.unreached.empty() ? "" : ": ", fmt::join(t.unreached, " "));
    print_examples(t);
    failed |= t.mismatches != 0 || (texts == kAllTexts && !t.unreached.empty());
  }
  for (const ExceptionRule& rule : exceptions)
    fmt::print("exception used {} times: {} {} {} {}: {}\n", rule.used, rule.targets, rule.mnemonic, rule.kind,
               rule.contains, rule.reason);
  return failed ? 1 : 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "decode-sweep: {}\n", e.what());
  return 2;
}
