#include "sweep.h"

#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>

#include "frontend/isa/decoder.h"
#include "llvm_oracle.h"

namespace wavejit::isa::test {
namespace {

using Words = std::array<uint32_t, 3>;

enum class FieldKind : uint8_t { plain, src8, src9, vgpr, scalar };
struct Field {
  uint8_t high, low;  // bit numbers in the 64-bit encoding
  FieldKind kind = FieldKind::plain;
};

struct Encoding {
  std::string_view name;
  uint32_t base;  // identifying bits
  uint8_t op_high, op_low;
  uint16_t op_end;  // opcode values 0..op_end-1
  std::vector<Field> fields;
};

constexpr auto kSrc8 = FieldKind::src8, kSrc9 = FieldKind::src9, kVgpr = FieldKind::vgpr, kScalar = FieldKind::scalar;

// Vega ISA, "Microcode formats". FLAT appears once for each segment.
const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> all = {
      {"sop2", 0x80000000, 29, 23, 96, {{22, 16, kScalar}, {15, 8, kSrc8}, {7, 0, kSrc8}}},
      {"sopk", 0xb0000000, 27, 23, 29, {{22, 16, kScalar}, {15, 0}}},
      {"sop1", 0xbe800000, 15, 8, 256, {{22, 16, kScalar}, {7, 0, kSrc8}}},
      {"sopc", 0xbf000000, 22, 16, 128, {{15, 8, kSrc8}, {7, 0, kSrc8}}},
      {"sopp", 0xbf800000, 22, 16, 128, {{15, 12}, {11, 8}, {7, 4}, {3, 0}}},
      {"smem",
       0xc0000000,
       25,
       18,
       256,
       {{5, 0},
        {12, 6, kScalar},
        {14, 13},
        {15, 15},
        {16, 16},
        {17, 17},
        {52, 32},
        {38, 32, kScalar},
        {63, 57, kScalar}}},
      {"vop1", 0x7e000000, 16, 9, 256, {{24, 17, kVgpr}, {8, 0, kSrc9}}},
      {"vop2", 0x00000000, 30, 25, 62, {{24, 17, kVgpr}, {16, 9, kVgpr}, {8, 0, kSrc9}}},
      {"vopc", 0x7c000000, 24, 17, 256, {{16, 9, kVgpr}, {8, 0, kSrc9}}},
      {"vintrp", 0xd4000000, 17, 16, 4, {{25, 18, kVgpr}, {15, 10}, {9, 8}, {7, 2}, {1, 0}}},
      {"vop3",
       0xd0000000,
       25,
       16,
       1024,
       {{7, 0, kVgpr},
        {10, 8},
        {14, 11},
        {14, 8, kScalar},
        {15, 15},
        {40, 32, kSrc9},
        {49, 41, kSrc9},
        {58, 50, kSrc9},
        {60, 59},
        {63, 61}}},
      {"ds",
       0xd8000000,
       24,
       17,
       256,
       {{7, 0}, {15, 8}, {16, 16}, {25, 25}, {39, 32, kVgpr}, {47, 40, kVgpr}, {55, 48, kVgpr}, {63, 56, kVgpr}}},
      {"flat",
       0xdc000000,
       24,
       18,
       128,
       {{12, 0},
        {13, 13},
        {16, 16},
        {17, 17},
        {25, 25},
        {39, 32, kVgpr},
        {47, 40, kVgpr},
        {54, 48, kScalar},
        {55, 55},
        {63, 56, kVgpr}}},
      {"scratch",
       0xdc004000,
       24,
       18,
       128,
       {{12, 0},
        {13, 13},
        {16, 16},
        {17, 17},
        {25, 25},
        {39, 32, kVgpr},
        {47, 40, kVgpr},
        {54, 48, kScalar},
        {55, 55},
        {63, 56, kVgpr}}},
      {"global",
       0xdc008000,
       24,
       18,
       128,
       {{12, 0},
        {13, 13},
        {16, 16},
        {17, 17},
        {25, 25},
        {39, 32, kVgpr},
        {47, 40, kVgpr},
        {54, 48, kScalar},
        {55, 55},
        {63, 56, kVgpr}}},
      {"segment3", 0xdc00c000, 24, 18, 128, {{12, 0}, {39, 32, kVgpr}, {63, 56, kVgpr}}},
      {"mubuf",
       0xe0000000,
       24,
       18,
       128,
       {{11, 0},
        {12, 12},
        {13, 13},
        {14, 14},
        {15, 15},
        {16, 16},
        {17, 17},
        {25, 25},
        {39, 32, kVgpr},
        {47, 40, kVgpr},
        {52, 48},
        {55, 53},
        {63, 56, kSrc8}}},
      {"mtbuf",
       0xe8000000,
       18,
       15,
       16,
       {{11, 0},
        {12, 12},
        {13, 13},
        {14, 14},
        {22, 19},
        {25, 23},
        {39, 32, kVgpr},
        {47, 40, kVgpr},
        {52, 48},
        {53, 53},
        {54, 54},
        {55, 55},
        {63, 56, kSrc8}}},
      {"mimg",
       0xf0000000,
       24,
       18,
       128,
       {{0, 0},
        {7, 1},
        {11, 8},
        {12, 12},
        {13, 13},
        {14, 14},
        {15, 15},
        {16, 16},
        {17, 17},
        {25, 25},
        {39, 32, kVgpr},
        {47, 40, kVgpr},
        {52, 48},
        {57, 53},
        {62, 58},
        {63, 63}}},
      {"exp",
       0xc4000000,
       0,
       0,
       1,
       {{3, 0},
        {9, 4},
        {10, 10},
        {11, 11},
        {12, 12},
        {15, 13},
        {25, 16},
        {39, 32, kVgpr},
        {47, 40, kVgpr},
        {55, 48, kVgpr},
        {63, 56, kVgpr}}},
      // Encodings that no format owns.
      {"unused39", 0xe4000000, 25, 18, 8, {{17, 0}, {63, 32}}},
      {"unused3b", 0xec000000, 25, 18, 8, {{17, 0}, {63, 32}}},
      {"unused3d", 0xf4000000, 25, 18, 8, {{17, 0}, {63, 32}}},
      {"unused3e", 0xf8000000, 25, 18, 8, {{17, 0}, {63, 32}}},
      {"unused33", 0xcc000000, 25, 18, 8, {{17, 0}, {63, 32}}},
      {"unused32", 0xc8000000, 25, 18, 8, {{17, 0}, {63, 32}}},
  };
  return all;
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  Words fresh(const Encoding& encoding, uint32_t opcode) {
    Words words{encoding.base | (encoding.op_high == 0 ? 0 : opcode << encoding.op_low), 0, below(2) ? 0 : next()};
    const bool sparse = one_in(2);
    for (const Field& field : encoding.fields)
      if (!one_in(sparse ? 2 : 5)) put(words, field, value(field));
    if (is_32bit(encoding)) second_word(words);
    return words;
  }

  // Changes an accepted encoding a little, so that rarely legal combinations are explored in depth.
  Words mutate(const Encoding& encoding, Words words) {
    const unsigned changes = 1 + below(3);
    for (unsigned i = 0; i < changes; ++i) {
      const Field& field = encoding.fields[below(static_cast<uint32_t>(encoding.fields.size()))];
      if (one_in(3) && !is_32bit(encoding)) {
        words[1] ^= 1u << below(32);
      } else if (one_in(3) && is_32bit(encoding)) {
        one_in(2) ? second_word(words) : static_cast<void>(words[1] ^= 1u << below(32));
      } else if (one_in(3)) {
        const unsigned bit = field.low + below(field.high - field.low + 1u);
        words[bit / 32] ^= 1u << (bit % 32);
      } else {
        put(words, field, value(field));
      }
    }
    return words;
  }

  static bool is_32bit(const Encoding& encoding) {
    for (const Field& field : encoding.fields)
      if (field.high >= 32) return false;
    return true;
  }

 private:
  uint32_t next() { return static_cast<uint32_t>(random_()); }

  static void put(Words& words, const Field& field, uint32_t value) {
    const uint32_t mask = field.high - field.low == 31 ? ~0u : (1u << (field.high - field.low + 1)) - 1;
    const unsigned shift = field.low % 32;
    uint32_t& word = words[field.low / 32];
    word = (word & ~(mask << shift)) | (value & mask) << shift;
  }

  // SDWA word, DPP word or literal.
  void second_word(Words& words) {
    switch (below(6)) {
      case 0:
        words[1] = next();
        break;
      case 1:
        words[1] = below(100) - 20;
        break;
      case 2:
        words[1] = kFloats[below(std::size(kFloats))];
        break;
      case 3:  // DPP, valid controls preferred
        words[1] = below(256) | kDppControls[below(std::size(kDppControls))] << 8 | (one_in(2) ? below(16) << 20 : 0) |
                   below(2) << 19 | below(256) << 24;
        break;
      default:  // SDWA
        words[1] = below(256) | below(7) << 8 | below(3) << 11 | below(7) << 16 | below(7) << 24;
        for (const uint32_t bit : {13u, 14u, 15u, 19u, 20u, 21u, 22u, 23u, 27u, 28u, 29u, 30u, 31u})
          if (one_in(4)) words[1] |= 1u << bit;
        if (one_in(3)) words[1] &= ~0xbf000000u;
        break;
    }
    if (one_in(8)) words[1] = 0x06060600 | below(256) | (words[1] & 0x00f8f800);
  }

  uint32_t value(const Field& field) {
    switch (field.kind) {
      case FieldKind::plain:
        return next();
      case FieldKind::vgpr:
        return one_in(4) ? next() : one_in(6) ? 250 + below(6) : below(16) * 2;
      case FieldKind::scalar:
        return one_in(4) ? next() : one_in(4) ? 96 + below(32) : below(26) * 4;
      case FieldKind::src8:
        return scalar_source();
      case FieldKind::src9:
        return one_in(2) ? 256 + (one_in(4) ? below(256) : below(16) * 2) : scalar_source();
    }
    return 0;
  }

  uint32_t scalar_source() {
    switch (below(6)) {
      case 0:
        return below(256);
      case 1:
        return 96 + below(32);
      case 2:
        return 128 + below(81);
      case 3:
        return 235 + below(21);
      case 4:
        return 249 + below(2);
      default:
        return below(26) * 4;
    }
  }

  static constexpr uint32_t kFloats[] = {0x3f800000, 0xbf800000, 0x3f000000, 0x40800000, 0x3e22f983, 0x3c00,
                                         0xbc00,     0x3118,     0xffff,     0x80000000, 0xffff8000, 0x3ff00000};
  static constexpr uint32_t kDppControls[] = {0x0e4, 0x000, 0x1b,  0x101, 0x10f, 0x111, 0x118, 0x121,
                                              0x12f, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142,
                                              0x143, 0x150, 0x153, 0x15f, 0x100, 0x160};
  std::mt19937_64 random_;
};

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

}  // namespace

std::vector<ExceptionRule> load_exceptions(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<ExceptionRule> rules;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
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
  LlvmOracle oracle(to_string(target));
  Generator generator(options.seed);
  SweepResult result;
  std::set<std::string> shown;
  uint64_t slots = 0;
  for (const Encoding& encoding : encodings()) slots += encoding.op_end;
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

  for (const Encoding& encoding : encodings()) {
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
