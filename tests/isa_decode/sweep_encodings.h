// What the sweeps try: the fields of every encoding, and random values for them.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "frontend/isa/target.h"

namespace wavejit::isa::test {

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

// The encodings of the generations before GFX8, or of GFX8 and later.
[[nodiscard]] const std::vector<Encoding>& encodings(Family family);

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

  [[nodiscard]] static bool is_32bit(const Encoding& encoding) {
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

}  // namespace wavejit::isa::test
