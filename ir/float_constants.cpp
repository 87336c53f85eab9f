#include "ir/float_constants.h"

#include <bit>
#include <utility>

namespace wavejit::ir {
namespace {

using Wide = unsigned __int128;

// mantissa * 2^exponent; the mantissa of a float has 24 bits, or is 0.
struct Number {
  bool negative = false;
  Wide mantissa = 0;
  int exponent = 0;
};
constexpr int kBias = 150;  // of a mantissa that is an integer
constexpr int kMaxShift = 70;

std::optional<Number> number_of(uint64_t bits) {
  const auto field = static_cast<int>(bits >> 23 & 255);
  const uint64_t fraction = bits & 0x7fffff;
  const bool negative = (bits >> 31 & 1) != 0;
  if (field == 0 && fraction == 0) return Number{.negative = negative};
  if (field == 0 || field == 255) return std::nullopt;
  return Number{.negative = negative, .mantissa = fraction | 0x800000, .exponent = field - kBias};
}

uint64_t zero(bool negative) {
  return negative ? 0x80000000 : 0;
}

unsigned width(Wide value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<uint64_t>(value));
}

// To nearest, ties to even. `more`: the exact value is a little larger in magnitude; then the mantissa has more than 24 bits.
std::optional<uint64_t> rounded(Number x, bool more = false) {
  if (x.mantissa == 0) return zero(x.negative);
  const auto bits = static_cast<int>(width(x.mantissa));
  auto mantissa = static_cast<uint32_t>(bits <= 24 ? x.mantissa << (24 - bits) : x.mantissa >> (bits - 24));
  x.exponent += bits - 24;
  if (bits > 24) {
    const Wide half = Wide{1} << (bits - 25), rest = x.mantissa & (2 * half - 1);
    if (rest > half || (rest == half && (more || mantissa % 2 != 0))) ++mantissa;
    if (mantissa == 1u << 24) {
      mantissa >>= 1;
      ++x.exponent;
    }
  }
  const int field = x.exponent + kBias;
  if (field < 2 || field > 254) return std::nullopt;
  return zero(x.negative) | static_cast<uint64_t>(field) << 23 | (mantissa & 0x7fffff);
}

std::optional<uint64_t> sum(Number a, Number b) {
  if (a.mantissa == 0 && b.mantissa == 0) return std::nullopt;
  if (a.mantissa == 0) return rounded(b);
  if (b.mantissa == 0) return rounded(a);
  if (a.exponent < b.exponent) std::swap(a, b);
  if (a.exponent - b.exponent > kMaxShift) return std::nullopt;
  a.mantissa <<= a.exponent - b.exponent;
  a.exponent = b.exponent;
  if (a.mantissa < b.mantissa) std::swap(a, b);
  if (a.negative == b.negative) {
    a.mantissa += b.mantissa;
  } else if (a.mantissa == b.mantissa) {
    return 0;
  } else {
    a.mantissa -= b.mantissa;
  }
  return rounded(a);
}

Number product(const Number& a, const Number& b) {
  return {
      .negative = a.negative != b.negative, .mantissa = a.mantissa * b.mantissa, .exponent = a.exponent + b.exponent};
}

std::optional<uint64_t> reciprocal(const Number& x) {
  if (x.mantissa == 0) return std::nullopt;
  constexpr int kDigits = 70;
  const Wide one = Wide{1} << kDigits;
  return rounded({.negative = x.negative, .mantissa = one / x.mantissa, .exponent = -kDigits - x.exponent},
                 one % x.mantissa != 0);
}

// Towards zero.
Number integer(Number x) {
  if (x.exponent >= 0) return x;
  const int shift = -x.exponent;
  x.mantissa = shift >= 24 ? 0 : x.mantissa >> shift << shift;
  return x;
}

std::optional<uint64_t> to_u32(const Number& x) {
  const Number whole = integer(x);
  if (whole.mantissa == 0) return 0;
  if (whole.negative || whole.exponent > 8) return std::nullopt;
  return static_cast<uint64_t>(whole.exponent >= 0 ? whole.mantissa << whole.exponent
                                                   : whole.mantissa >> -whole.exponent);
}

}  // namespace

std::optional<uint64_t> evaluate_f32(const Inst& inst, std::span<const uint64_t> args) {
  if (inst.op == Op::cvt_f32_u32 && (inst.attr & fpenv::kRoundMask) == 0)
    return rounded({.mantissa = args[0] & 0xffffffff});
  if (inst.op != Op::fadd_f32 && inst.op != Op::fmul_f32 && inst.op != Op::fma_f32 && inst.op != Op::frcp_f32 &&
      inst.op != Op::ftrunc_f32 && inst.op != Op::cvt_u32_f32)
    return std::nullopt;
  if ((inst.attr & fpenv::kRoundMask) != 0) return std::nullopt;
  Number x[3];
  for (size_t i = 0; i < args.size() && i < 3; ++i) {
    const std::optional<Number> number = number_of(args[i]);
    if (!number) return std::nullopt;
    x[i] = *number;
  }
  switch (inst.op) {
    case Op::fadd_f32:
      return sum(x[0], x[1]);
    case Op::fmul_f32:
      return rounded(product(x[0], x[1]));
    case Op::fma_f32:
      return sum(product(x[0], x[1]), x[2]);
    case Op::frcp_f32:
      return reciprocal(x[0]);
    case Op::ftrunc_f32:
      return rounded(integer(x[0]));
    default:
      return to_u32(x[0]);
  }
}

}  // namespace wavejit::ir
