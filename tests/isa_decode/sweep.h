// Sweep of one target's encodings against the oracle: every opcode value of every format with randomised operand
// fields.
#pragma once

#include <array>
#include <cstdint>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/isa/target.h"

namespace wavejit::isa::test {

// A difference that is accepted; see exceptions.txt.
struct ExceptionRule {
  std::string targets;   // comma-separated, or "*"
  std::string mnemonic;  // prefix of either text, or "*"
  std::string kind;      // "llvm-only", "wavejit-only" or "text"
  std::string contains;  // regular expression that must match in either disassembly, or "*"
  std::regex pattern;
  std::string reason;
  uint64_t used = 0;
};
[[nodiscard]] std::vector<ExceptionRule> load_exceptions(const std::string& path);

struct Mismatch {
  std::array<uint32_t, 3> words;
  std::string kind, expected, actual;
};

struct SweepResult {
  uint64_t encodings = 0, accepted = 0, rejected = 0, excepted = 0, not_compared = 0, mismatches = 0;
  std::vector<Mismatch> examples;  // the first of each mnemonic and kind
};

struct SweepOptions {
  uint64_t seed = 1;
  uint64_t encodings = 200'000;  // at least so many
};

// Whether a rule accepts the difference; counts its use.
[[nodiscard]] bool excepted(std::vector<ExceptionRule>& rules, std::string_view target, const Mismatch& m);

[[nodiscard]] SweepResult sweep(Target target, const SweepOptions& options, std::vector<ExceptionRule>& exceptions);
// The same for GFX6 and GFX7, which LLVM can assemble but not disassemble.
[[nodiscard]] SweepResult sweep_assembled(Target target, const SweepOptions& options,
                                          std::vector<ExceptionRule>& exceptions);

}  // namespace wavejit::isa::test
