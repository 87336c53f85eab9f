#include "ir/analysis/lane_period.h"

#include <algorithm>
#include <bit>

namespace wavejit::ir {
namespace {

constexpr unsigned kWave = 64;
// Expressions of addresses are small.
constexpr unsigned kDeepest = 10;

// The period of the value's low `bits` bits.
unsigned period(const LaneShapes& shapes, const Inst& value, unsigned bits, unsigned depth) {
  if (value.is_const() || value.type.is_scalar() || shapes.of(&value).is_uniform()) return 1;
  if (value.type != kV32 || depth == kDeepest) return kWave;
  const auto low = [&](size_t operand, unsigned count) {
    return period(shapes, *value.operands[operand], count, depth + 1);
  };
  const auto amount = [&]() -> unsigned {
    const Inst& by = *value.operands[1];
    return by.is_const() && by.imm < 32 ? static_cast<unsigned>(by.imm) : kWave;
  };
  switch (value.op) {
    case Op::lane_id:
      return std::min(kWave, 1U << std::min(bits, 6U));
    case Op::and_:
      for (size_t mask = 0; mask < 2; ++mask)
        if (value.operands[mask]->is_const())
          return low(1 - mask, std::min<unsigned>(bits, std::bit_width(value.operands[mask]->imm)));
      [[fallthrough]];
    // The low bits of the result depend on the low bits of the operands alone.
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::or_:
    case Op::xor_:
      return std::max(low(0, bits), low(1, bits));
    case Op::shl:
      return amount() == kWave ? kWave : bits <= amount() ? 1 : low(0, bits - amount());
    case Op::lshr:
      return amount() == kWave ? kWave : low(0, std::min(32U, bits + amount()));
    default:
      return kWave;
  }
}

}  // namespace

unsigned lane_period(const LaneShapes& shapes, const Inst& value) {
  return period(shapes, value, 32, 0);
}

}  // namespace wavejit::ir
