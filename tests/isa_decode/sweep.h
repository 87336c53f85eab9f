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
  std::string source;  // what the assembler was given, if anything
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

// What of LLVM's assembler has been seen with sweep_texts().
struct TextSweepResult : SweepResult {
  uint64_t mnemonics = 0;           // tried: LLVM's, of all generations, and wavejit's
  uint64_t accepted_mnemonics = 0;  // of them, those that LLVM takes for the target with some operands
  uint64_t other_spellings = 0;     // the texts differ, and LLVM assembles both to the same bits
  // Machine instructions of the generation that no text has come to, although LLVM's assembler has one for them.
  std::vector<std::string> unreached;
};
// GFX6 and GFX7: every mnemonic of LLVM's assembler and of wavejit's tables, of all generations, with operands and
// modifiers as instructions of all generations have them. What LLVM assembles must be decoded to the text that LLVM
// prints for it. `encodings` of the options limits the number of texts.
[[nodiscard]] TextSweepResult sweep_texts(Target target, const SweepOptions& options,
                                          std::vector<ExceptionRule>& exceptions);

}  // namespace wavejit::isa::test
