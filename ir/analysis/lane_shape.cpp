#include "ir/analysis/lane_shape.h"

#include <algorithm>
#include <bit>

#include "ir/analysis/dominators.h"
#include "ir/analysis/pending_values.h"

namespace wavejit::ir {
namespace {

constexpr LaneShape kUniform{64, 0};
constexpr LaneShape kUnknown{};
constexpr uint8_t kGroups[] = {64, 32, 16, 8};

LaneShape shape_of(unsigned group, int64_t stride, unsigned bits) {
  if (group < 8) return kUnknown;
  if (bits == 32) stride = static_cast<int32_t>(stride);
  return {static_cast<uint8_t>(group), stride};
}

// Wrapping arithmetic on strides.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// What is true of values of either shape.
LaneShape common(LaneShape a, LaneShape b) {
  if (!a.known() || !b.known() || a.stride != b.stride) return kUnknown;
  return {std::min(a.group, b.group), a.stride};
}

// Bits that differ between the lanes of a group whose first value has zeros where they are.
uint64_t lane_part(unsigned group, int64_t stride) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < group; ++i) bits |= static_cast<uint64_t>(stride) * i;
  return bits;
}

LaneShape constant(const Inst& inst) {
  if (inst.type != kMask) return kUniform;
  for (const uint8_t group : kGroups) {
    const uint64_t ones = group == 64 ? ~uint64_t{0} : (uint64_t{1} << group) - 1;
    bool same = true;
    for (unsigned l = 0; l < 64; l += group) {
      const uint64_t part = inst.imm >> l & ones;
      same &= part == 0 || part == ones;
    }
    if (same) return {group, 0};
  }
  return kUnknown;
}

}  // namespace

LaneShapes::LaneShapes(const Function& function) : LaneShapes(function, Dominators(function)) {}

// Optimistic: phis start as whatever their first evaluated operands say, and shapes only ever get weaker.
LaneShapes::LaneShapes(const Function& function, const Dominators& dominators)
    : bits_(function, dominators), shapes_(function.num_values()), evaluated_(function.num_values(), 0) {
  PendingValues pending(shapes_.size());
  while (pending.next_round()) {
    for (const Block* block : dominators.order()) {
      for (const Inst* inst : block->insts) {
        if (!pending.take(*inst) || inst->type == kNone || inst->type.is_scalar()) continue;
        LaneShape shape = transfer(*inst);
        if (evaluated_[inst->id]) {
          shape = common(shape, shapes_[inst->id]);
          if (shape == shapes_[inst->id]) continue;
        }
        evaluated_[inst->id] = 1;
        shapes_[inst->id] = shape;
        pending.add_users(*inst);
      }
    }
  }
}

LaneShape LaneShapes::of(const Inst* inst) const {
  if (inst->type.is_scalar()) return kUniform;
  return inst->id < shapes_.size() ? shapes_[inst->id] : kUnknown;
}

// Whether the first value of each group has zeros in all the bits that stride * lane reaches: the sum is a union of
// bits then.
bool LaneShapes::apart(const Inst* inst, unsigned group, int64_t stride) const {
  if (stride == 0) return true;
  if (stride < 0 || stride > int64_t{1} << 48) return false;
  const unsigned zeros = trailing_zeros(bits_.of(inst, group).possible);
  const unsigned width = inst->type.bits();
  const uint64_t last = static_cast<uint64_t>(stride) * (group - 1);
  return static_cast<unsigned>(std::bit_width(last)) <= std::min(zeros, width);
}

LaneShape LaneShapes::extended(const Inst* inst, bool is_signed) const {
  const LaneShape shape = of(inst);
  for (const uint8_t group : kGroups) {
    if (group > shape.group) continue;
    if (shape.stride == 0) return {group, 0};
    if (shape.stride < 0) break;
    const uint64_t last = static_cast<uint64_t>(shape.stride) * (group - 1);
    // With zeros below, no lane carries into the bits above. Where that would be all of them, the sign could change.
    if (apart(inst, group, shape.stride) && std::bit_width(last) <= (is_signed ? 31 : 32)) {
      return {group, shape.stride};
    }
    const uint64_t limit = is_signed ? 0x7fffffff : 0xffffffff;
    if (last <= limit && bits_.of(inst, group).maximum <= limit - last) return {group, shape.stride};
  }
  return kUnknown;
}

LaneShape LaneShapes::phi(const Inst& inst) const {
  LaneShape result;
  bool first = true;
  for (const Inst* operand : inst.operands) {
    if (!operand->type.is_scalar() && !evaluated_[operand->id]) continue;
    // Which predecessor comes in is the same for all lanes, so equal strides stay one stride.
    result = first ? of(operand) : common(result, of(operand));
    first = false;
  }
  return result;
}

// value & mask
LaneShape LaneShapes::masked(const Inst& value, uint64_t mask) const {
  const LaneShape shape = of(&value);
  if (!shape.known()) return kUnknown;
  // Multiples of a power of two do not reach the bits below it.
  const uint64_t all = value.type.bits() == 32 ? 0xffffffff : ~uint64_t{0};
  const uint64_t cleared = ~mask & all;
  const bool low = (cleared & (cleared + 1)) == 0;
  if (low && (static_cast<uint64_t>(shape.stride) & cleared) == 0) return shape;
  for (const uint8_t group : kGroups) {
    if (group > shape.group || !apart(&value, group, shape.stride)) continue;
    const uint64_t lanes = lane_part(group, shape.stride);
    if ((lanes & ~mask) == 0) return {group, shape.stride};
    if ((lanes & mask) == 0) return {group, 0};
  }
  return kUnknown;
}

// (value >> amount) & mask; the shift may be arithmetic.
LaneShape LaneShapes::shifted_right(const Inst& value, unsigned amount, uint64_t mask) const {
  const LaneShape shape = of(&value);
  for (const uint8_t group : kGroups) {
    if (group > shape.group || !apart(&value, group, shape.stride)) continue;
    const uint64_t lanes = lane_part(group, shape.stride);
    if ((lanes >> (value.type.bits() - 1) & 1) != 0) continue;  // arithmetic shifts would copy it
    const uint64_t left = lanes >> amount;
    if ((left & mask) == 0) return {group, 0};
    const bool exact = (static_cast<uint64_t>(shape.stride) & ((uint64_t{1} << amount) - 1)) == 0;
    if (exact && (left & ~mask) == 0) return {group, shape.stride >> amount};
  }
  return kUnknown;
}

LaneShape LaneShapes::transfer(const Inst& inst) const {
  const auto shape = [&](unsigned i) { return of(inst.operands[i]); };
  const auto group = [&] { return std::min(shape(0).group, shape(1).group); };
  const unsigned bits = inst.type.bits();
  LaneShape result;
  switch (inst.op) {
    case Op::const_:
      return constant(inst);
    case Op::lane_id:
      return {64, 1};
    case Op::undef:
    case Op::splat:
    case Op::splat64:
    case Op::splat_mask:
      return kUniform;
    case Op::phi:
      return phi(inst);
    case Op::load:
    case Op::load_edges:
    case Op::atomic:
    case Op::call:
    case Op::get_vgpr:
    case Op::get_mask:
    case Op::i64_to_mask:
    case Op::writelane:
    case Op::bpermute:
    case Op::permute:
    case Op::dpp:
    case Op::dpp_valid:
    case Op::swizzle:
    case Op::mfma_f32:
    case Op::mfma_f64:
    case Op::mfma_i16:
      return kUnknown;
    case Op::add:
      return shape_of(group(), wrap_add(shape(0).stride, shape(1).stride), bits);
    case Op::sub:
      return shape_of(group(), wrap_add(shape(0).stride, wrap_mul(shape(1).stride, -1)), bits);
    case Op::mul:
      for (unsigned i = 0; i < 2; ++i) {
        const Inst* factor = inst.operands[1 - i];
        if (factor->is_const())
          return shape_of(shape(i).group, wrap_mul(shape(i).stride, static_cast<int64_t>(factor->imm)), bits);
      }
      break;
    case Op::mul_wide_u:
    case Op::mul_wide_s:
      for (unsigned i = 0; i < 2; ++i) {
        const Inst* factor = inst.operands[1 - i];
        if (!factor->is_const()) continue;
        const bool is_signed = inst.op == Op::mul_wide_s;
        const LaneShape wide = extended(inst.operands[i], is_signed);
        const int64_t by =
            is_signed ? static_cast<int32_t>(factor->imm) : static_cast<int64_t>(factor->imm & 0xffffffff);
        return shape_of(wide.group, wrap_mul(wide.stride, by), bits);
      }
      break;
    case Op::shl:
      if (inst.operands[1]->is_const()) {
        const auto by = static_cast<int64_t>(uint64_t{1} << (inst.operands[1]->imm % bits));
        return shape_of(shape(0).group, wrap_mul(shape(0).stride, by), bits);
      }
      break;
    case Op::lshr:
    case Op::ashr:
      if (inst.operands[1]->is_const())
        result = shifted_right(*inst.operands[0], static_cast<unsigned>(inst.operands[1]->imm % bits), ~uint64_t{0});
      break;
    case Op::bfe_u:
      if (inst.operands[1]->is_const() && inst.operands[2]->is_const()) {
        result = shifted_right(*inst.operands[0], static_cast<unsigned>(inst.operands[1]->imm % bits),
                               (uint64_t{1} << (inst.operands[2]->imm % bits)) - 1);
      }
      break;
    case Op::and_:
      if (!inst.type.is_vector()) break;
      for (unsigned i = 0; i < 2; ++i) {
        if (inst.operands[1 - i]->is_const()) result = masked(*inst.operands[i], inst.operands[1 - i]->imm);
      }
      break;
    case Op::andn:
      if (inst.type.is_vector() && inst.operands[1]->is_const())
        result = masked(*inst.operands[0], ~inst.operands[1]->imm);
      break;
    case Op::or_:
    case Op::xor_:
      // Without common bits it is a sum.
      if (inst.type.is_vector() && shape(0).known() && shape(1).known() &&
          (bits_.of(inst.operands[0]).possible & bits_.of(inst.operands[1]).possible) == 0) {
        result = shape_of(group(), wrap_add(shape(0).stride, shape(1).stride), bits);
      }
      break;
    case Op::lo32:
      return shape_of(shape(0).group, shape(0).stride, 32);
    case Op::pack64: {
      const LaneShape low = extended(inst.operands[0], false);
      result =
          shape_of(std::min(low.group, shape(1).group), wrap_add(low.stride, wrap_mul(shape(1).stride, 1ll << 32)), 64);
      break;
    }
    case Op::zext64:
      return extended(inst.operands[0], false);
    case Op::sext64:
      return extended(inst.operands[0], true);
    case Op::mbcnt:
      // With all lanes active the count below a lane is its number.
      return inst.operands[0]->is_const(~uint64_t{0}) ? LaneShape{64, 1} : kUnknown;
    case Op::select:
      // All lanes of a group take the same side.
      if (shape(0).known() && shape(0).stride == 0) {
        const LaneShape sides = common(shape(1), shape(2));
        return shape_of(std::min(sides.group, shape(0).group), sides.stride, 64);
      }
      return kUnknown;
    default:
      break;
  }
  if (!is_pure(inst.op) || inst.operands.empty()) return result;
  // Whatever is computed lane by lane from values that a group shares is shared by the group.
  unsigned shared = 64;
  for (unsigned i = 0; i < inst.operands.size(); ++i) {
    shared = std::min<unsigned>(shared, shape(i).stride == 0 ? shape(i).group : 1);
  }
  return shared > result.group ? shape_of(shared, 0, 64) : result;
}

}  // namespace wavejit::ir
