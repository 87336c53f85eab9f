// What the tables of opcodes share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tests/model/opcodes.h"

namespace wavejit::model {

using Source = const Bits*;
__extension__ using Wide = __int128;

[[nodiscard]] inline uint64_t low(Bits value) {
  return static_cast<uint64_t>(value);
}
[[nodiscard]] inline int64_t sign_extended(uint64_t value, unsigned bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

// The low `bits` bits of a value, or with clamp the nearest that the type has.
[[nodiscard]] inline Bits fit(const Lane& l, Wide value, unsigned bits, bool is_signed) {
  if (l.clamp) {
    const Wide most = (Wide{1} << (bits - (is_signed ? 1 : 0))) - 1, least = is_signed ? -most - 1 : 0;
    value = std::clamp(value, least, most);
  }
  return static_cast<Bits>(value) & ((Bits{1} << bits) - 1);
}

// Two roundings.
[[nodiscard]] inline uint64_t mad(const Env& e, uint64_t a, uint64_t b, uint64_t c) {
  return add(e, mul(e, a, b), c);
}

}  // namespace wavejit::model
