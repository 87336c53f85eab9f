#include "tests/model/fp8.h"

#include <algorithm>
#include <bit>

namespace wavejit::model {

uint64_t fp8_to_f32(const Fp8& format, uint8_t code) {
  if (code == kFp8Nan) return kF32.nan();
  const int field = (code & 0x7f) >> format.fraction, fraction = code & ((1 << format.fraction) - 1);
  const int significand = field == 0 ? fraction : fraction + (1 << format.fraction);
  const int exponent = std::max(field, 1) - format.bias - static_cast<int>(format.fraction);
  const uint64_t magnitude = ldexp(exact(kF32), from_int(exact(kF32), significand), exponent);
  return magnitude | ((code & 0x80) != 0 ? kF32.sign() : 0);
}

uint8_t f32_to_fp8(const Fp8& format, uint32_t bits) {
  if (!kF32.is_finite(bits)) return kFp8Nan;
  if (kF32.is_zero(bits)) return 0;
  // |x| = significand * 2^exponent.
  const int field = kF32.exponent_field(bits);
  uint64_t significand = bits & (kF32.min_normal() - 1);
  if (field != 0) significand += kF32.min_normal();
  const int exponent = std::max(field, 1) - kF32.bias() - static_cast<int>(kF32.fraction);
  // The weight of the last bit that the result has.
  const int top = exponent + static_cast<int>(std::bit_width(significand)) - 1;
  int last = std::max(top, 1 - format.bias) - static_cast<int>(format.fraction);
  uint64_t units = 0;
  const int dropped = last - exponent;
  if (dropped <= 0) {
    units = significand << -dropped;
  } else if (dropped < 64) {
    units = significand >> dropped;
    const uint64_t rest = significand - (units << dropped), half = uint64_t{1} << (dropped - 1);
    if (rest > half || (rest == half && units % 2 != 0)) ++units;
  }
  const uint64_t hidden = uint64_t{1} << format.fraction;
  if (units == 2 * hidden) {
    units = hidden;
    ++last;
  }
  if (units == 0) return 0;
  const uint64_t code = units < hidden ? units
                                       : (static_cast<uint64_t>(last + static_cast<int>(format.fraction) + format.bias)
                                          << format.fraction) +
                                             units - hidden;
  if (code > 0x7f) return kFp8Nan;
  return static_cast<uint8_t>(code | (kF32.negative(bits) ? 0x80 : 0));
}

}  // namespace wavejit::model
