#include "sweep.h"

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "frontend/isa/decoder.h"
#include "llvm_oracle.h"
#include "sweep_encodings.h"

namespace wavejit::isa::test {
namespace {

// LLVM 15 crashes when it prints reserved SDWA selects; they are never legal. VOPC has no destination select.
bool crashes_oracle(const Words& words) {
  const uint32_t w = words[0], s = words[1];
  if ((w >> 31) != 0 || (w & 0x1ff) != 249) return false;
  if ((s >> 24 & 7) == 7 || (s >> 16 & 7) == 7) return true;
  if ((w >> 25) == 0x3e) return false;
  return (s >> 8 & 7) == 7 || (s >> 11 & 3) == 3;
}

bool names_target(const std::string& list, std::string_view target) {
  if (list == "*") return true;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');)
    if (item == target) return true;
  return false;
}

}  // namespace

bool excepted(std::vector<ExceptionRule>& rules, std::string_view target, const Mismatch& m) {
  for (ExceptionRule& rule : rules) {
    if (rule.kind != m.kind || !names_target(rule.targets, target)) continue;
    const auto matches = [&](const std::string& text) {
      return !text.empty() && (rule.mnemonic == "*" || text.starts_with(rule.mnemonic)) &&
             std::regex_search(text, rule.pattern);
    };
    if (!matches(m.expected) && !matches(m.actual)) continue;
    ++rule.used;
    return true;
  }
  return false;
}

std::vector<ExceptionRule> load_exceptions(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<ExceptionRule> rules;
  bool applies = true;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') applies = line == "[LLVM " + std::to_string(WAVEJIT_LLVM) + "]";
    if (line[0] == '[' || !applies) continue;
    std::istringstream in(line);
    ExceptionRule rule;
    in >> rule.targets >> rule.mnemonic >> rule.kind >> rule.contains >> std::ws;
    std::getline(in, rule.reason);
    for (char& c : rule.contains)
      if (c == '~') c = ' ';
    rule.pattern = std::regex(rule.contains == "*" ? "" : rule.contains);
    if (rule.reason.empty()) throw std::runtime_error("exception without reason: " + line);
    rules.push_back(std::move(rule));
  }
  return rules;
}

SweepResult sweep(Target target, const SweepOptions& options, std::vector<ExceptionRule>& exceptions) {
  if (family_of(target) < Family::gfx8) return sweep_assembled(target, options, exceptions);
  LlvmOracle oracle(to_string(target));
  Generator generator(options.seed);
  SweepResult result;
  std::set<std::string> shown;
  uint64_t slots = 0;
  for (const Encoding& encoding : encodings(family_of(target))) slots += encoding.op_end;
  // A third of the budget looks at every opcode value alike; the rest goes to values that exist, by mutation.
  const uint64_t fresh_each = options.encodings / slots / 3 + 1, mutate_each = options.encodings / slots * 2 + 2;

  const auto check = [&](const Words& words) {
    ++result.encodings;
    std::array<uint8_t, 12> bytes;
    std::memcpy(bytes.data(), words.data(), sizeof bytes);
    Instruction inst;
    const bool accepted = decode(target, bytes, 0, inst) == DecodeStatus::ok;
    Mismatch m{.words = words, .kind = {}, .expected = {}, .actual = accepted ? disassemble(inst) : std::string()};
    if (crashes_oracle(words)) {
      ++result.not_compared;
      if (accepted && inst.is_sdwa && inst.opcode != Opcode::v_nop) {
        m.kind = "wavejit-only";
        ++result.mismatches;
        result.examples.push_back(std::move(m));
      }
      return false;
    }
    const auto expected = oracle.disassemble(bytes);
    if (expected) m.expected = expected->text;
    ++(expected ? result.accepted : result.rejected);
    if (expected && !accepted)
      m.kind = "llvm-only";
    else if (!expected && accepted)
      m.kind = "wavejit-only";
    else if (expected && (m.expected != m.actual || expected->size != inst.size))
      m.kind = "text";
    else
      return expected.has_value();
    if (excepted(exceptions, to_string(target), m)) {
      ++result.excepted;
    } else {
      ++result.mismatches;
      const std::string& text = m.expected.empty() ? m.actual : m.expected;
      if (shown.insert(m.kind + " " + text.substr(0, text.find(' '))).second) result.examples.push_back(std::move(m));
    }
    return expected.has_value();
  };

  for (const Encoding& encoding : encodings(family_of(target))) {
    for (uint32_t opcode = 0; opcode < encoding.op_end; ++opcode) {
      std::vector<Words> accepted;
      for (uint64_t i = 0; i < fresh_each; ++i) {
        const Words words = generator.fresh(encoding, opcode);
        if (check(words)) accepted.push_back(words);
      }
      // The all-zero operands are legal for most opcodes.
      const Words zero{encoding.base | (encoding.op_high == 0 ? 0 : opcode << encoding.op_low), 0, 0};
      if (check(zero)) accepted.push_back(zero);
      for (uint64_t i = 0; i < mutate_each && !accepted.empty(); ++i) {
        const Words words =
            generator.mutate(encoding, accepted[generator.below(static_cast<uint32_t>(accepted.size()))]);
        if (check(words)) accepted.push_back(words);
      }
    }
  }
  return result;
}

}  // namespace wavejit::isa::test
