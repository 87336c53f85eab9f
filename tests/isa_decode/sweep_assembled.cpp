// LLVM 15 cannot disassemble GFX6 and GFX7. Two questions take the place of "does it print the same":
// - every machine instruction in LLVM's tables, encoded and printed by LLVM with random operands: does the decoder give
//   the same text?
// - every opcode value of every format with random fields: if the decoder accepts it, does LLVM assemble the text, and
//   to an encoding that is decoded to that text?
#include <cstring>
#include <set>

#include "assembler_oracle.h"
#include "frontend/isa/decoder.h"
#include "sweep.h"
#include "sweep_encodings.h"

namespace wavejit::isa::test {
namespace {

struct Decoded {
  std::string text;
  unsigned size = 0;
};

Decoded decode_text(Target target, std::span<const uint8_t> code) {
  Instruction inst;
  if (decode(target, code, 0, inst) != DecodeStatus::ok) return {};
  return {disassemble(inst), inst.size};
}

Words words_of(std::span<const uint8_t> code) {
  Words words{};
  std::memcpy(words.data(), code.data(), std::min(code.size(), sizeof words));
  return words;
}

// What the assembler forbids although the encoding is well-formed; LLVM's disassemblers of later generations accept it.
bool is_use_restriction(const std::string& error) {
  for (const std::string_view restriction :
       {"constant bus restrictions", "image data size does not match dmask", "invalid atomic image dmask",
        "invalid image_gather dmask", "unsupported format", "lds_direct cannot be used with this instruction",
        "destination must be different than all sources", "out of bounds interpolation attribute number"})
    if (error.find(restriction) != std::string::npos) return true;
  return false;
}

class Report {
 public:
  Report(SweepResult& result, Target target, std::vector<ExceptionRule>& exceptions)
      : result_(result), target_(target), exceptions_(exceptions) {}

  void compare(const Words& words, std::string kind, std::string expected, std::string actual) {
    if (expected == actual) return;
    Mismatch m{.words = words, .kind = std::move(kind), .expected = std::move(expected), .actual = std::move(actual)};
    if (excepted(exceptions_, to_string(target_), m)) {
      ++result_.excepted;
      return;
    }
    ++result_.mismatches;
    const std::string& text = m.actual.empty() ? m.expected : m.actual;
    if (shown_.insert(m.kind + " " + text.substr(0, text.find(' '))).second) result_.examples.push_back(std::move(m));
  }

 private:
  SweepResult& result_;
  Target target_;
  std::vector<ExceptionRule>& exceptions_;
  std::set<std::string> shown_;
};

}  // namespace

SweepResult sweep_assembled(Target target, const SweepOptions& options, std::vector<ExceptionRule>& exceptions) {
  AssemblerOracle oracle(target);
  Generator generator(options.seed);
  SweepResult result;
  Report report(result, target, exceptions);

  // A third of the budget for what LLVM knows.
  size_t known_each = 1;
  std::vector<KnownInstruction> known = oracle.instructions(options.seed, 1);
  known_each = options.encodings / 3 / known.size() + 1;
  known = oracle.instructions(options.seed, static_cast<unsigned>(known_each));
  for (const KnownInstruction& k : known) {
    ++result.encodings;
    ++result.accepted;
    // Longer encodings than LLVM's would read on.
    std::vector<uint8_t> code = k.code;
    code.resize(12);
    const Decoded decoded = decode_text(target, code);
    report.compare(words_of(k.code), decoded.text.empty() ? "llvm-only" : "text",
                   k.text + (decoded.size == k.code.size() || decoded.text.empty() ? "" : " (size differs)"),
                   decoded.text);
  }

  uint64_t slots = 0;
  for (const Encoding& encoding : encodings(family_of(target))) slots += encoding.op_end;
  const uint64_t fresh_each = options.encodings / slots / 3 + 1, mutate_each = options.encodings / slots + 2;
  std::vector<Words> tried;
  std::vector<std::string> texts;
  const auto flush = [&] {
    const auto encoded = oracle.assemble(texts);
    for (size_t i = 0; i < texts.size(); ++i) {
      if (encoded[i].code.empty() && is_use_restriction(encoded[i].error)) {
        ++result.not_compared;
        continue;
      }
      ++(encoded[i].code.empty() ? result.rejected : result.accepted);
      if (encoded[i].code.empty()) {
        report.compare(tried[i], "wavejit-only", "(" + encoded[i].error + ")", texts[i]);
        continue;
      }
      std::vector<uint8_t> code = encoded[i].code;
      code.resize(12);
      report.compare(tried[i], "text", decode_text(target, code).text, texts[i]);
    }
    tried.clear();
    texts.clear();
  };
  const auto check = [&](const Words& words) {
    ++result.encodings;
    std::array<uint8_t, sizeof(Words)> code;
    std::memcpy(code.data(), words.data(), sizeof words);
    Decoded decoded = decode_text(target, code);
    if (decoded.text.empty()) {
      ++result.not_compared;
      return false;
    }
    tried.push_back(words);
    texts.push_back(std::move(decoded.text));
    if (texts.size() == 5000) flush();
    return true;
  };
  for (const Encoding& encoding : encodings(family_of(target))) {
    for (uint32_t opcode = 0; opcode < encoding.op_end; ++opcode) {
      std::vector<Words> accepted;
      for (uint64_t i = 0; i < fresh_each; ++i) {
        const Words words = generator.fresh(encoding, opcode);
        if (check(words)) accepted.push_back(words);
      }
      const Words zero{encoding.base | (encoding.op_high == 0 ? 0 : opcode << encoding.op_low), 0, 0};
      if (check(zero)) accepted.push_back(zero);
      for (uint64_t i = 0; i < mutate_each && !accepted.empty(); ++i) {
        const Words words =
            generator.mutate(encoding, accepted[generator.below(static_cast<uint32_t>(accepted.size()))]);
        if (check(words)) accepted.push_back(words);
      }
    }
  }
  flush();
  return result;
}

}  // namespace wavejit::isa::test
