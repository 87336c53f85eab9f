#include "frontend/lift/dispatch_shape.h"

#include <bit>
#include <cstddef>

#include "internal/check.h"
#include "internal/wave_state.h"

namespace wavejit::lift {
namespace {

using ir::Builder;
using ir::Inst;
using ir::Op;

// Bits 31:0 of the bytes at `at` within the dword at `offset`.
void add_known(DispatchShape::KnownDword& dword, int64_t offset, const DispatchShape::KnownBytes& known) {
  for (unsigned i = 0; i < 4; ++i) {
    const int64_t byte = offset + i - known.offset;
    if (byte < 0 || byte >= known.bytes) continue;
    dword.mask |= 0xffu << (8 * i);
    dword.value |= static_cast<uint32_t>(known.value >> (8 * byte) & 0xff) << (8 * i);
  }
}

// n / divisor for n < `limit` as (n * factor) >> shift, in 32 bits.
struct Reciprocal {
  uint32_t factor = 1;
  uint32_t shift = 0;
};
Reciprocal reciprocal(uint32_t divisor, uint32_t limit) {
  Reciprocal r{.factor = ((1u << 20) + divisor - 1) / divisor, .shift = 20};
  for (uint32_t n = 0; n < limit; ++n) {
    const uint64_t product = uint64_t{n} * r.factor;
    WAVEJIT_CHECK(product <= UINT32_MAX && product >> r.shift == n / divisor, "no reciprocal of {} below {}", divisor,
                  limit);
  }
  return r;
}

// A non-negative number with an upper bound: uniform (i32) or one per lane (v32).
struct Number {
  Inst* value;
  uint32_t max;
};

class Ids {
 public:
  Ids(Builder& builder, const DispatchShape& shape)
      : b_(builder), size_(shape.workgroup), last_wave_(shape.last_wave) {}

  // The id in a dimension, as v32. The last dimension in use does not end: lanes beyond the work-group count on.
  Inst* id(unsigned dimension) {
    const auto [row, column] = divide(linear(), size_[0]);
    Number n = column;
    if (dimension > 0) {
      const auto [plane, in_plane] = size_[2] == 1 ? Divided{zero(), row} : divide(row, size_[1]);
      n = dimension == 1 ? in_plane : plane;
    }
    return n.value->type == ir::kI32 ? b_.op(Op::splat, {n.value}) : n.value;
  }

 private:
  struct Divided {
    Number quotient, remainder;
  };
  // The work-item's position in the group: 64 * wave + lane, kept as a sum so that divisors of 64 and multiples of 64
  // only see their part.
  struct Linear {
    Number wave;
    Number lane;
  };

  Linear linear() {
    const uint32_t items = size_[0] * size_[1] * size_[2];
    const uint32_t waves = (items + kWaveSize - 1) / kWaveSize;
    Inst* lane = b_.op_typed(Op::lane_id, ir::kV32, {});
    if (waves == 1) return {zero(), {lane, kWaveSize - 1}};
    if (last_wave_) return {{b_.i32(waves - 1), waves - 1}, {lane, kWaveSize - 1}};
    Inst* wave = b_.op_typed(Op::get_field, ir::kI32, {}, 0, offsetof(WaveState, wave_in_group));
    return {bounded({wave, waves - 1}), {lane, kWaveSize - 1}};
  }

  Number zero() { return {b_.i32(0), 0}; }
  // Makes the bound visible to the analysis of known bits.
  Number bounded(Number n) {
    Inst* limit = b_.constant(n.value->type, n.max);
    n.value = b_.op(std::has_single_bit(n.max + 1) ? Op::and_ : Op::umin, {n.value, limit});
    return n;
  }
  Number shifted(Op op, Number n, unsigned by) {
    const uint32_t max = op == Op::shl ? n.max << by : n.max >> by;
    return {by == 0 ? n.value : b_.op(op, {n.value, b_.constant(n.value->type, by)}), max};
  }
  Number sum(Number a, Number b) {
    if (a.max == 0) return b;
    if (b.max == 0) return a;
    if (a.value->type != b.value->type) {
      Inst*& scalar = a.value->type == ir::kI32 ? a.value : b.value;
      scalar = b_.op(Op::splat, {scalar});
    }
    return {b_.op(Op::add, {a.value, b.value}), a.max + b.max};
  }

  Divided divide(Number n, uint32_t divisor) {
    if (n.max < divisor) return {zero(), n};
    if (divisor == 1) return {n, zero()};
    if (std::has_single_bit(divisor)) {
      Inst* mask = b_.constant(n.value->type, divisor - 1);
      return {shifted(Op::lshr, n, static_cast<unsigned>(std::countr_zero(divisor))),
              {b_.op(Op::and_, {n.value, mask}), divisor - 1}};
    }
    const Reciprocal r = reciprocal(divisor, n.max + 1);
    const auto constant = [&](uint32_t value) { return b_.constant(n.value->type, value); };
    Number quotient{b_.op(Op::lshr, {b_.op(Op::mul, {n.value, constant(r.factor)}), constant(r.shift)}),
                    n.max / divisor};
    Inst* whole = b_.op(Op::mul, {quotient.value, constant(divisor)});
    return {quotient, bounded({b_.op(Op::sub, {n.value, whole}), divisor - 1})};
  }

  Divided divide(Linear n, uint32_t divisor) {
    if (size_[1] == 1 && size_[2] == 1) return {zero(), sum(shifted(Op::shl, n.wave, 6), n.lane)};
    if (divisor % kWaveSize == 0) {  // whole waves in a row
      const auto [row, wave_in_row] = divide(n.wave, divisor / kWaveSize);
      return {row, sum(shifted(Op::shl, wave_in_row, 6), n.lane)};
    }
    if (kWaveSize % divisor == 0) {  // whole rows in a wave
      const auto [row, column] = divide(n.lane, divisor);
      const auto log2_rows = static_cast<unsigned>(std::countr_zero(kWaveSize / divisor));
      return {sum(shifted(Op::shl, n.wave, log2_rows), row), column};
    }
    return divide(sum(shifted(Op::shl, n.wave, 6), n.lane), divisor);
  }

  Builder& b_;
  const std::array<uint32_t, 3> size_;
  const bool last_wave_;
};

}  // namespace

DispatchShape::KnownDword DispatchShape::packet_dword(int64_t offset) const {
  KnownDword result;
  // workgroup_size_x, _y, _z and a reserved half that the runtime leaves 0.
  for (unsigned i = 0; i < 3; ++i) add_known(result, offset, {.offset = 4 + 2 * i, .bytes = 2, .value = workgroup[i]});
  add_known(result, offset, {.offset = 10, .bytes = 2, .value = 0});
  return result;
}

DispatchShape::KnownDword DispatchShape::kernarg_dword(int64_t offset) const {
  KnownDword result;
  for (const KnownBytes& known : kernarg) add_known(result, offset, known);
  return result;
}

uint32_t DispatchShape::max_group_id(unsigned dimension) const {
  return static_cast<uint32_t>((uint64_t{1} << 32) / workgroup[dimension] - 1);
}

Inst* initial_id_row(Builder& builder, const DispatchShape& shape, unsigned row) {
  if (row >= (shape.packed_ids ? 1 : shape.id_dimensions)) return nullptr;
  Ids ids(builder, shape);
  if (!shape.packed_ids) return ids.id(row);
  Inst* packed = ids.id(0);
  for (unsigned i = 1; i < shape.id_dimensions; ++i) {
    if (shape.workgroup[i] == 1) continue;
    Inst* id = builder.op(Op::shl, {ids.id(i), builder.v32(10 * i)});
    packed = builder.op(Op::or_, {packed, id});
  }
  return packed;
}

}  // namespace wavejit::lift
