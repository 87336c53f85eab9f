#include "tests/model/data.h"

#include <algorithm>

#include "frontend/isa/row.h"
#include "tests/model/form.h"

namespace wavejit::model {

using isa::Type;

namespace {

uint64_t random_float(const Format& f, std::mt19937_64& rng) {
  const auto below = [&](uint64_t n) { return rng() % n; };
  const uint64_t sign = rng() % 2 != 0 ? f.sign() : 0;
  switch (below(9)) {
    case 0:
    case 1:
    case 2: {
      const uint64_t all[] = {
          0,       f.one(),     1,           f.min_normal() - 1, f.min_normal(), f.max_finite(), f.inf(),
          f.nan(), f.inf() | 1, f.nan() | 3, f.one() >> 1,       f.one() + 1,    f.one() - 1,    f.min_normal() + 1};
      return sign | all[below(std::size(all))];
    }
    case 3:  // small integers, halves and multiples
      return ldexp(exact(f), from_int(exact(f), static_cast<int64_t>(below(128)) - 64),
                   static_cast<long>(below(8)) - 2);
    case 4:  // around one
      return sign | (f.one() + (below(16) << below(f.fraction)) - (8u << below(f.fraction - 3)));
    case 5: {  // around the range of integers
      static constexpr int kScales[] = {0, 0, -1, -8, -16, 20};
      const auto n = static_cast<int64_t>(below(uint64_t{1} << 34)) - (int64_t{1} << 33);
      return ldexp(exact(f), from_int(exact(f), n), kScales[below(6)]);
    }
    case 6:  // up to a few hundred: revolutions, exponents
      return sign | (f.one() + (below(18) << f.fraction) - (uint64_t{9} << f.fraction)) | below(f.min_normal());
    default:
      return rng() & f.mask();
  }
}

uint64_t random_int(unsigned bits, std::mt19937_64& rng) {
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const auto below = [&](uint64_t n) { return rng() % n; };
  switch (below(8)) {
    case 0:
    case 1: {
      const uint64_t all[] = {0,          1,          2,         3,          31,
                              32,         63,         64,        127,        128,
                              255,        256,        0x7fff,    0x8000,     0xffff,
                              0x7fffff,   0x800000,   0xffffff,  mask >> 1,  (mask >> 1) + 1,
                              mask,       mask - 1,   0x10000,   0x7fff7fff, 0x80008000,
                              0x80000001, 0x7f7f7f7f, 0x80808080};
      return all[below(std::size(all))] & mask;
    }
    case 2:
      return below(256) & mask;
    case 3:
      return (0 - below(256)) & mask;
    case 4:  // small bytes: selectors
      return rng() & 0x0f0f0f0f0f0f0f0full & mask;
    case 5:
      return ((uint64_t{1} << below(bits)) + below(5) - 2) & mask;
    default:
      return rng() & mask;
  }
}

}  // namespace

Bits random_value(Type type, std::mt19937_64& rng) {
  switch (type) {
    case Type::f16:
      return random_float(kF16, rng) | (rng() & 0xffff) << 16;
    case Type::f32:
      return random_float(kF32, rng);
    case Type::f64:
      return random_float(kF64, rng);
    case Type::v2f16:
      return random_float(kF16, rng) | random_float(kF16, rng) << 16;
    case Type::v2f32:
      return random_float(kF32, rng) | random_float(kF32, rng) << 32;
    case Type::b16:
    case Type::i16:
    case Type::u16:
      return random_int(16, rng) | (rng() & 0xffff) << 16;
    case Type::v2b16:
    case Type::v2i16:
    case Type::v2u16:
      return random_int(16, rng) | random_int(16, rng) << 16;
    case Type::b64:
    case Type::i64:
    case Type::u64:
      return random_int(64, rng);
    case Type::b128:
      return Bits{random_int(64, rng)} | Bits{random_int(32, rng)} << 64 | Bits{random_int(32, rng)} << 96;
    default:
      return random_int(32, rng);
  }
}

namespace {

uint64_t patterned_fraction(const Format& f, std::mt19937_64& rng) {
  const uint64_t mask = f.min_normal() - 1, bit = uint64_t{1} << rng() % f.fraction;
  switch (rng() % 8) {
    case 0:
      return 0;
    case 1:
      return mask;
    case 2:
      return bit;
    case 3:
      return mask & ~bit;
    case 4:
      return bit - 1;
    case 5:
      return mask & ~(bit - 1);
    case 6:  // half a number's bits: products of two are exact or nearly so
      return rng() & mask & ~((uint64_t{1} << f.fraction / 2) - 1);
    default:
      return rng() & mask;
  }
}

// Three numbers of a format for sums, products, quotients and fused operations.
std::array<uint64_t, 3> hard_numbers(const Format& f, std::mt19937_64& rng) {
  const int fields = (1 << f.exponent_bits()) - 1, fraction = static_cast<int>(f.fraction);
  const auto number = [&](int field) {
    return (rng() % 2 != 0 ? f.sign() : 0) | static_cast<uint64_t>(std::clamp(field, 0, fields)) << f.fraction |
           patterned_fraction(f, rng);
  };
  const auto near = [&](int range) { return static_cast<int>(rng() % static_cast<uint64_t>(2 * range + 1)) - range; };
  const int a = static_cast<int>(rng() % static_cast<uint64_t>(fields));
  int b = 0;
  switch (rng() % 5) {
    case 0:  // anything
      b = static_cast<int>(rng() % static_cast<uint64_t>(fields));
      break;
    case 1:  // sums
      b = a + near(fraction + 3);
      break;
    case 2:  // products among the denormals
      b = f.bias() - a - fraction / 2 + near(fraction / 2 + 3);
      break;
    case 3:  // products at the greatest number
      b = f.bias() + fields - 1 - a + near(2);
      break;
    default:  // quotients among the denormals, or at the greatest number
      b = rng() % 2 != 0 ? a + f.bias() - fraction / 2 + near(fraction / 2 + 3) : a - f.bias() + near(2);
      break;
  }
  std::array<uint64_t, 3> v{number(a), number(b), 0};
  switch (rng() % 4) {
    case 0:
      v[2] = number(static_cast<int>(rng() % static_cast<uint64_t>(fields)));
      break;
    case 1:  // the sum with the product needs many bits
      v[2] = number(a + b - f.bias() + near(2 * fraction + 4));
      break;
    default: {  // it cancels
      const uint64_t product = mul(exact(f), v[0], v[1]) ^ f.sign();
      v[2] = f.is_finite(product) ? (product + static_cast<uint64_t>(near(2))) & f.mask() : product;
      break;
    }
  }
  return v;
}

}  // namespace

void hard_values(std::span<const Type> types, std::mt19937_64& rng, Bits* values) {
  for (size_t i = 0; i < types.size(); ++i) {
    values[i] = random_value(types[i], rng);
    // Exponents that v_ldexp adds.
    if ((types[i] == Type::i32 || types[i] == Type::b32) && rng() % 2 != 0)
      values[i] = static_cast<uint32_t>(rng() % 4401) - 2200;
  }
  std::array<uint64_t, 3> of16 = hard_numbers(kF16, rng), high16 = hard_numbers(kF16, rng),
                          of32 = hard_numbers(kF32, rng), high32 = hard_numbers(kF32, rng),
                          of64 = hard_numbers(kF64, rng);
  for (size_t i = 0; i < types.size() && i < 3; ++i) {
    switch (types[i]) {
      case Type::f16:
      case Type::v2f16:
        values[i] = of16[i] | high16[i] << 16;
        break;
      case Type::f32:
        values[i] = of32[i];
        break;
      case Type::v2f32:
        values[i] = of32[i] | high32[i] << 32;
        break;
      case Type::f64:
        values[i] = of64[i];
        break;
      default:
        break;
    }
  }
}

std::array<const uint32_t*, 4> Pool::rows(Type type, unsigned index) {
  auto& all = rows_[static_cast<size_t>(type)];
  if (all.empty()) {
    std::mt19937_64 rng(seed_ + static_cast<unsigned>(type));
    all.resize(kRows);
    for (auto& rows : all) {
      for (unsigned lane = 0; lane < 64; ++lane) {
        const Bits value = random_value(type, rng);
        for (unsigned d = 0; d < 4; ++d) rows[d][lane] = static_cast<uint32_t>(value >> 32 * d);
      }
    }
  }
  const auto& rows = all[index % kRows];
  return {rows[0].data(), rows[1].data(), rows[2].data(), rows[3].data()};
}

std::vector<Bits> corners(Type type) {
  const auto halves = [](const std::vector<Bits>& all, unsigned bits) {
    std::vector<Bits> result;
    for (size_t k = 0; k < all.size(); ++k) result.push_back(all[k] | all[(k + 3) % all.size()] << bits);
    return result;
  };
  const auto floats = [](const Format& f) {
    return std::vector<Bits>{f.one(),
                             f.sign() | f.one(),
                             0,
                             f.sign(),
                             f.one() + f.min_normal() / 2,
                             f.inf(),
                             f.sign() | f.inf(),
                             f.nan(),
                             f.inf() | 1,
                             1,
                             f.sign() | (f.min_normal() - 1),
                             f.min_normal(),
                             f.max_finite(),
                             f.sign() | f.max_finite(),
                             f.one() - 1,
                             f.one() + (f.min_normal() << 1) + f.min_normal() / 4};
  };
  const auto ints = [](unsigned bits) {
    const Bits mask = (Bits{1} << bits) - 1;
    return std::vector<Bits>{0,
                             1,
                             2,
                             mask,
                             mask - 1,
                             mask >> 1,
                             (mask >> 1) + 1,
                             31,
                             0x7f,
                             0x12345678 & mask,
                             15,
                             33 & mask,
                             0xff,
                             0x80,
                             0x7fff & mask,
                             (Bits{0x8765432112345678} & mask)};
  };
  switch (type) {
    case Type::f16:
      return floats(kF16);
    case Type::f32:
      return floats(kF32);
    case Type::f64:
      return floats(kF64);
    case Type::v2f16:
      return halves(floats(kF16), 16);
    case Type::v2f32:
      return halves(floats(kF32), 32);
    case Type::b16:
    case Type::i16:
    case Type::u16:
      return ints(16);
    case Type::v2b16:
    case Type::v2i16:
    case Type::v2u16:
      return halves(ints(16), 16);
    case Type::b64:
    case Type::i64:
    case Type::u64:
      return ints(64);
    case Type::b128:
      return halves(ints(64), 64);
    default:
      return ints(32);
  }
}

}  // namespace wavejit::model
