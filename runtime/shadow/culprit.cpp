#include "runtime/shadow/culprit.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "frontend/isa/decoder.h"
#include "runtime/kernel/symbols.h"

namespace wavejit::runtime::shadow {
namespace {

using lift::CodeRange;

constexpr uint64_t kDword = 4;

// False: there are no bytes of an instruction.
bool decode(const Module& module, uint64_t pc, isa::Instruction& inst) {
  const std::span<const uint8_t> code = code_region(module.object(), pc);
  return !code.empty() && isa::decode(module.target(), code.subspan(pc - reinterpret_cast<uint64_t>(code.data())), pc,
                                      inst) == isa::DecodeStatus::ok;
}

std::string describe_instruction(const Module& module, uint64_t pc) {
  isa::Instruction inst;
  return fmt::format("'{}' at {}", decode(module, pc, inst) ? isa::disassemble(inst) : "?",
                     describe_place(module.object(), pc));
}

uint64_t instructions_in(const Module& module, const CodeRange& code) {
  uint64_t count = 0;
  for (uint64_t pc = code.begin; pc < code.end; ++count) {
    isa::Instruction inst;
    pc = decode(module, pc, inst) ? inst.next_pc() : pc + kDword;
  }
  return count;
}

uint64_t between(uint64_t low, uint64_t high) {
  return low + (high - low) / (2 * kDword) * kDword;
}

}  // namespace

Culprit find_culprit(const CodeRange& all, const TryPart& try_part) {
  using Kind = Culprit::Kind;
  const Agreement whole = try_part(all), nothing = try_part({all.begin, all.begin});
  if (whole == Agreement::unknown || nothing == Agreement::unknown) return {};
  if (whole == Agreement::same) return {.kind = Kind::gone, .code = {}};
  if (nothing == Agreement::different) return {.kind = Kind::no_code, .code = {}};
  // The first instruction whose translation, with that of all code in front of it, makes a difference...
  CodeRange code = all;
  for (uint64_t same = all.begin; code.end - same > kDword;) {
    const uint64_t middle = between(same, code.end);
    const Agreement agreement = try_part({all.begin, middle});
    if (agreement == Agreement::unknown) return {.kind = Kind::unknown, .code = code};
    (agreement == Agreement::same ? same : code.end) = middle;
  }
  // ... and how little of what is in front of it is enough: mostly nothing.
  uint64_t same = code.end;
  for (uint64_t middle = code.end - kDword; middle != code.begin; middle = between(code.begin, same)) {
    const Agreement agreement = try_part({middle, code.end});
    if (agreement == Agreement::unknown) return {.kind = Kind::unknown, .code = code};
    (agreement == Agreement::same ? same : code.begin) = middle;
  }
  return {.kind = Kind::code, .code = code};
}

CodeRange all_code(const codeobject::CodeObject& object) {
  CodeRange all{UINT64_MAX, 0};
  for (const std::span<const uint8_t> region : object.code()) {
    const auto begin = reinterpret_cast<uint64_t>(region.data());
    all.begin = std::min(all.begin, begin / kDword * kDword);
    all.end = std::max(all.end, (begin + region.size() + kDword - 1) / kDword * kDword);
  }
  return all;
}

std::string describe(const Culprit& culprit, const Module& module) {
  const auto& [kind, code] = culprit;
  switch (kind) {
    case Culprit::Kind::code:
      break;
    case Culprit::Kind::no_code:
      return "It is the same with all instructions interpreted: no translation is to blame.";
    case Culprit::Kind::gone:
      return "In another run of the JIT they agree: no instruction can be named.";
    case Culprit::Kind::unknown:
      if (code.begin == code.end) return "Which instruction it is takes too long to find.";
      return fmt::format("Which instruction it is takes too long to find: one in front of {:#x} ({}).", code.end,
                         describe_place(module.object(), code.end));
  }
  // An instruction that begins in front of the end ends there or behind it.
  const uint64_t last = code.end - kDword;
  if (code.begin == last)
    return fmt::format("They differ when this instruction alone is translated, and all others interpreted: {}.",
                       describe_instruction(module, last));
  return fmt::format(
      "They differ when these {} instructions are translated together, and all others interpreted: from {} to {}. "
      "Without the first or the last of them they agree: the difference vanishes where this code is cut.",
      instructions_in(module, code), describe_instruction(module, code.begin), describe_instruction(module, last));
}

}  // namespace wavejit::runtime::shadow
