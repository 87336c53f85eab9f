#include "operand_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "frontend/isa/decoder.h"
#include "sweep_encodings.h"

namespace wavejit::isa::test {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// How many registers a scalar register with a name and a read-only source are; 0 for other words. VCC is an operand of
// its own in some instructions.
unsigned scalars_of(std::string_view word) {
  if (word.size() > 1 && word[0] == 's' && is_digit(word[1])) return 1;
  if (word.starts_with("src_") || word.starts_with("ttmp") || word == "m0" || word == "null") return 1;
  for (const std::string_view pair : {"exec", "flat_scratch", "xnack_mask", "tba", "tma"})
    if (word == pair) return 2;
  for (const std::string_view pair : {"vcc_", "exec_", "flat_scratch_", "xnack_mask_", "tba_", "tma_"})
    if (word.starts_with(pair)) return 1;
  return 0;
}

}  // namespace

std::string without_suffix(std::string_view mnemonic) {
  for (const std::string_view suffix : {"_e32", "_e64", "_dpp", "_sdwa"})
    if (mnemonic.ends_with(suffix)) return std::string(mnemonic.substr(0, mnemonic.size() - suffix.size()));
  return std::string(mnemonic);
}

std::string unit_of(std::string_view mnemonic) {
  return std::string(mnemonic.substr(0, mnemonic.find('_') + 1));
}

std::string shape_of(std::string_view tail) {
  std::string shape;
  unsigned vectors = 0, scalars = 0;  // registers so far: each its own, as some results must not overlap sources
  const auto registers = [&](char file, unsigned dwords) {
    if (file == 's') {
      const unsigned first = 16 * scalars++;
      return dwords == 1 ? fmt::format("s{}", first) : fmt::format("s[{}:{}]", first, first + dwords - 1);
    }
    const unsigned first = 32 * vectors++;
    return dwords == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + dwords - 1);
  };
  for (size_t i = 0; i < tail.size();) {
    const bool starts_word = i == 0 || !is_word(tail[i - 1]);
    if (!starts_word || !is_word(tail[i])) {
      shape += tail[i++];
      continue;
    }
    size_t end = i;
    while (end < tail.size() && is_word(tail[end])) ++end;
    const std::string_view word = tail.substr(i, end - i);
    const bool modifier = i != 0 && tail[i - 1] == ':';
    unsigned first = 0, last = 0;
    int used = 0;
    if ((word == "v" || word == "s" || word == "a" || word == "ttmp") && end < tail.size() && tail[end] == '[' &&
        std::sscanf(std::string(tail.substr(end)).c_str(), "[%u:%u]%n", &first, &last, &used) == 2) {
      shape += registers(word == "ttmp" ? 's' : word[0], last - first + 1);
      i = end + static_cast<size_t>(used);
      continue;
    }
    if ((word[0] == 'v' || word[0] == 'a') && word.size() > 1 && is_digit(word[1])) {
      shape += registers(word[0], 1);
    } else if (const unsigned scalar = scalars_of(word); scalar != 0 && !modifier) {
      shape += registers('s', scalar);
    } else if (is_digit(word[0])) {
      const bool fraction = end < tail.size() && tail[end] == '.';
      if (fraction) {
        while (++end < tail.size() && is_word(tail[end])) {
        }
        shape += "0.5";
      } else if (word.starts_with("0x") && shape.ends_with("dmask:")) {
        shape += word;  // the number of data registers depends on it
      } else if (modifier) {
        shape += word.starts_with("0x") || word.size() > 1 ? "8" : word;
      } else {
        shape += word.starts_with("0x") ? "0x1234" : word == "0" || word == "1" ? std::string(word) : "7";
      }
    } else if (word.starts_with("BUF_DATA_FORMAT")) {
      shape += "BUF_DATA_FORMAT_32_32";
    } else if (word.starts_with("BUF_NUM_FORMAT")) {
      shape += "BUF_NUM_FORMAT_UINT";
    } else {
      shape += word;
    }
    i = end;
  }
  return shape;
}

std::string core_of(std::string_view shape) {
  std::string core;
  const size_t operands_end = [&] {
    // Operands are followed by a comma, the last by a space or the end; modifiers come without commas outside brackets.
    size_t end = 0;
    unsigned depth = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == '[' || shape[i] == '(') ++depth;
      if (shape[i] == ']' || shape[i] == ')') --depth;
      if (shape[i] == ',' && depth == 0) end = i + 2;
    }
    return std::min(shape.find(' ', end), shape.size());
  }();
  for (size_t i = 0; i < operands_end; ++i) {
    const char c = shape[i];
    if (c == '|') continue;
    if (c == '-' && (i == 0 || shape[i - 1] == ' ' || shape[i - 1] == '(')) continue;
    core += c;
  }
  for (const std::string_view wrapped : {"neg(", "sext("})
    for (size_t at; (at = core.find(wrapped)) != std::string::npos;) {
      core.erase(core.find(')', at), 1);
      core.erase(at, wrapped.size());
    }
  for (const std::string_view constant : {"0.5", "0x1234"})
    for (size_t at; (at = core.find(constant)) != std::string::npos;) core.replace(at, constant.size(), "7");
  // FLAT atomics return something with glc only.
  const bool is_flat = core.find("v[") != std::string::npos && core.find("s[") == std::string::npos;
  std::istringstream modifiers{std::string(shape.substr(operands_end))};
  static constexpr std::string_view kNeeded[] = {"offen", "idxen",  "addr64",  "lds", "gds",
                                                 "tfe",   "dmask:", "format:", "d16"};
  for (std::string word; modifiers >> word;)
    if ((is_flat && word == "glc") || std::any_of(std::begin(kNeeded), std::end(kNeeded),
                                                  [&](std::string_view needed) { return word.starts_with(needed); }))
      core += " " + word;
  return core;
}

OperandTexts collect_operand_texts(uint64_t seed, unsigned each) {
  OperandTexts texts;
  for (const Target target : {Target::gfx600, Target::gfx700, Target::gfx803, Target::gfx900, Target::gfx906,
                              Target::gfx908, Target::gfx90a, Target::gfx942}) {
    Generator generator(seed);
    for (const Encoding& encoding : encodings(family_of(target))) {
      for (uint32_t opcode = 0; opcode < encoding.op_end; ++opcode) {
        const uint32_t base = encoding.base | (encoding.op_high == 0 ? 0 : opcode << encoding.op_low);
        for (unsigned i = 0; i <= each; ++i) {
          const Words words = i == 0 ? Words{base, 0, 0} : generator.fresh(encoding, opcode);
          std::array<uint8_t, sizeof(Words)> code;
          std::memcpy(code.data(), words.data(), sizeof words);
          Instruction inst;
          if (decode(target, code, 0, inst) != DecodeStatus::ok) continue;
          const std::string text = disassemble(inst);
          const size_t space = text.find(' ');
          const std::string shape = space == std::string::npos ? std::string() : shape_of(text.substr(space + 1));
          texts[unit_of(text.substr(0, space))][core_of(shape)].insert(shape);
        }
      }
    }
  }
  return texts;
}

}  // namespace wavejit::isa::test
