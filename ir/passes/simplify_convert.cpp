// Halves and pairs, splats, masks as numbers, single lanes.
#include <algorithm>

#include "ir/analysis/known_bits.h"
#include "ir/passes/simplify.h"
#include "ir/signature.h"

namespace wavejit::ir::passes {
namespace {

bool is_splat(const Inst* inst) {
  return inst->op == Op::splat || inst->op == Op::splat64 || inst->op == Op::splat_mask;
}
bool is_bitwise(Op op) {
  return op == Op::and_ || op == Op::or_ || op == Op::xor_ || op == Op::andn || op == Op::not_;
}

// The scalar all lanes hold, or null. A mask is uniform when it is empty or full.
Inst* scalar_of(Rewriter& r, Inst* inst) {
  if (is_splat(inst)) return inst->operands[0];
  if (inst->type.is_scalar()) return inst;
  if (!inst->is_const()) return nullptr;
  if (inst->type == kMask) return is_zero(inst) || is_all_ones(inst) ? r.constant(kI1, inst->imm & 1) : nullptr;
  return r.constant(lane_type(inst->type), inst->imm);
}

Inst* splat(Rewriter& r, Inst* scalar) {
  return r.make(scalar->type == kI32 ? Op::splat : scalar->type == kI64 ? Op::splat64 : Op::splat_mask, {scalar});
}

// An operation on splats is the splat of the scalar operation, where the row allows both.
Replacement scalarize(Rewriter& r, Inst* inst) {
  const OpInfo& info = op_info(inst->op);
  const bool generic =
      info.result == 'N' || info.result == 'V' || info.result == 'X' || info.result == 'c' || info.result == 'L';
  if (!generic || inst->operands.empty() || inst->op == Op::phi || inst->op == Op::extract) return nullptr;
  const bool per_lane = inst->type.is_vector() || inst->type.is_mask();
  if (!per_lane || std::none_of(inst->operands.begin(), inst->operands.end(), is_splat)) return nullptr;
  std::vector<Inst*> scalars;
  for (Inst* operand : inst->operands) {
    Inst* scalar = operand->is_const() || is_splat(operand) ? scalar_of(r, operand) : nullptr;
    if (scalar == nullptr) return nullptr;
    scalars.push_back(scalar);
  }
  return {Rule::scalar_work, splat(r, r.make_like(inst, scalars))};
}

Replacement simplify_half(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  const bool low = inst->op == Op::lo32;
  const Type half = a->type == kI64 ? kI32 : kV32;
  const auto half_of = [&](Inst* value, bool want_low) { return r.make(want_low ? Op::lo32 : Op::hi32, {value}); };
  const auto constant_amount = [&] { return static_cast<unsigned>(a->operands[1]->imm % 64); };
  switch (a->op) {
    case Op::zext64:
      return {Rule::half_of_extended, low ? nullptr : r.constant(half, 0)};
    case Op::sext64:
      return {Rule::half_of_extended, low ? nullptr : r.make(Op::ashr, {a->operands[0], r.constant(half, 31)})};
    case Op::mul_wide_u:
    case Op::mul_wide_s: {
      const Op high = a->op == Op::mul_wide_u ? Op::mulhi_u : Op::mulhi_s;
      if (single_use(a)) return {Rule::half_of_product, r.make(low ? Op::mul : high, {a->operands[0], a->operands[1]})};
      return nullptr;
    }
    case Op::add:
    case Op::sub:
    case Op::mul:
      if (!low || !single_use(a)) return nullptr;
      return {Rule::half_of_sum, r.make(a->op, {half_of(a->operands[0], true), half_of(a->operands[1], true)})};
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::andn:
      if (!single_use(a)) return nullptr;
      return {Rule::half_of_bitwise, r.make(a->op, {half_of(a->operands[0], low), half_of(a->operands[1], low)})};
    case Op::not_:
      return {Rule::half_of_bitwise, single_use(a) ? r.make(Op::not_, {half_of(a->operands[0], low)}) : nullptr};
    case Op::shl:
      if (!a->operands[1]->is_const()) return nullptr;
      if (constant_amount() >= 32) {
        if (low) return {Rule::half_of_left_shift, r.constant(half, 0)};
        return {Rule::half_of_left_shift,
                r.make(Op::shl, {half_of(a->operands[0], true), r.constant(half, constant_amount() - 32)})};
      }
      if (low && single_use(a))
        return {Rule::half_of_left_shift,
                r.make(Op::shl, {half_of(a->operands[0], true), r.constant(half, constant_amount())})};
      return nullptr;
    case Op::lshr:
    case Op::ashr:
      if (!a->operands[1]->is_const() || constant_amount() < 32) return nullptr;
      if (low)
        return {Rule::half_of_right_shift,
                r.make(a->op, {half_of(a->operands[0], false), r.constant(half, constant_amount() - 32)})};
      if (a->op == Op::lshr) return {Rule::half_of_right_shift, r.constant(half, 0)};
      return {Rule::half_of_right_shift, r.make(Op::ashr, {half_of(a->operands[0], false), r.constant(half, 31)})};
    default:
      return nullptr;
  }
}

Replacement simplify_pack(Rewriter& r, Inst* inst) {
  Inst* lo = inst->operands[0];
  Inst* hi = inst->operands[1];
  if (is_zero(hi)) return {Rule::pack_with_zero, r.make(Op::zext64, {lo})};
  if (hi->op == Op::ashr && hi->operands[0] == lo && hi->operands[1]->is_const(31))
    return {Rule::pack_with_sign, r.make(Op::sext64, {lo})};
  return nullptr;
}

Replacement simplify_mask_to_number(Rewriter& r, Inst* inst) {
  // Bitwise work on masks that take the detour through numbers.
  if (inst->type != kI64 || (!is_bitwise(inst->op) && inst->op != Op::select)) return nullptr;
  bool some = false;
  for (Inst* operand : inst->operands) {
    if (operand->op == Op::mask_to_i64) {
      some = true;
    } else if (!operand->is_const() && operand->type != kI1) {
      return nullptr;
    }
  }
  if (!some) return nullptr;
  std::vector<Inst*> masks;
  masks.reserve(inst->operands.size());
  for (Inst* operand : inst->operands) {
    masks.push_back(operand->op == Op::mask_to_i64 ? operand->operands[0]
                    : operand->type == kI1         ? operand
                                                   : r.constant(kMask, operand->imm));
  }
  return {Rule::masks_as_numbers, r.make(Op::mask_to_i64, {r.make_like(inst, masks)})};
}

Replacement simplify_number_to_mask(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  const auto as_mask = [&](Inst* value) { return r.make(Op::i64_to_mask, {value}); };
  if (is_bitwise(a->op)) {
    std::vector<Inst*> masks;
    masks.reserve(a->operands.size());
    for (Inst* operand : a->operands) masks.push_back(as_mask(operand));
    return {Rule::numbers_as_masks, r.make_like(a, masks)};
  }
  if (a->op == Op::select)
    return {Rule::select_as_mask,
            r.make(Op::select, {a->operands[0], as_mask(a->operands[1]), as_mask(a->operands[2])})};
  return nullptr;
}

Replacement simplify_mask_test(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  if (a->op == Op::not_)
    return {Rule::test_of_not,
            r.make(Op::not_, {r.make(inst->op == Op::mask_any ? Op::mask_all : Op::mask_any, {a->operands[0]})})};
  if (a->op == Op::i64_to_mask) {
    Inst* number = a->operands[0];
    const bool any = inst->op == Op::mask_any;
    return {Rule::test_of_number, r.make(Op::icmp, {number, r.constant(kI64, any ? 0 : ~uint64_t{0})},
                                         static_cast<uint32_t>(any ? ICmp::ne : ICmp::eq))};
  }
  return nullptr;
}

Replacement simplify_readlane(Rewriter& r, Inst* inst) {
  Inst* v = inst->operands[0];
  Inst* lane = inst->operands[1];
  if (!lane->is_const()) return nullptr;
  const uint64_t number = lane->imm % 64;
  if (lane->imm >= 64) return {Rule::readlane_wraps, r.make(Op::readlane, {v, r.constant(kI32, number)})};
  if (v->op == Op::writelane && v->operands[2]->is_const()) {
    // Spilled scalar registers: the value comes back without a trip through the vector.
    if (v->operands[2]->imm % 64 == number) return {Rule::readlane_of_writelane, v->operands[1]};
    return {Rule::readlane_of_writelane, r.make(Op::readlane, {v->operands[0], lane})};
  }
  if (v->op == Op::lane_id) return {Rule::readlane_of_lane_id, lane};
  if (v->op == Op::select && v->operands[0]->is_const()) {
    return {Rule::readlane_of_select,
            r.make(Op::readlane, {v->operands[(v->operands[0]->imm >> number & 1) != 0 ? 1 : 2], lane})};
  }
  return nullptr;
}

// All lanes read one lane, as __shfl(x, i) with a uniform i makes them. A lane that is off gives 0.
Replacement simplify_bpermute(Rewriter& r, Inst* inst) {
  Inst* address = scalar_of(r, inst->operands[0]);
  if (address == nullptr) return nullptr;
  Inst* byte = r.make(Op::add, {address, r.constant(kI32, inst->imm)});
  Inst* lane = r.make(Op::lshr, {byte, r.constant(kI32, 2)});
  Inst* source = r.make(Op::select, {inst->operands[2], inst->operands[1], r.constant(kV32, 0)});
  return {Rule::permute_from_one_lane, r.make(Op::splat, {r.make(Op::readlane, {source, lane})})};
}

}  // namespace

Replacement simplify_convert(Rewriter& r, Inst* inst) {
  if (const Replacement result = scalarize(r, inst)) return result;
  if (const Replacement result = simplify_mask_to_number(r, inst)) return result;
  switch (inst->op) {
    case Op::lo32:
    case Op::hi32:
      return simplify_half(r, inst);
    case Op::pack64:
      return simplify_pack(r, inst);
    case Op::sext64:
      return {Rule::extend_nonnegative,
              (possible_bits(inst->operands[0]) >> 31) == 0 ? r.make(Op::zext64, {inst->operands[0]}) : nullptr};
    case Op::i64_to_mask:
      return simplify_number_to_mask(r, inst);
    case Op::mask_any:
    case Op::mask_all:
      return simplify_mask_test(r, inst);
    case Op::mbcnt:
      return {Rule::count_below_all, is_all_ones(inst->operands[0]) ? r.make(Op::lane_id, {}) : nullptr};
    case Op::readlane:
      return simplify_readlane(r, inst);
    case Op::bpermute:
      return simplify_bpermute(r, inst);
    case Op::readfirstlane: {
      Inst* mask = inst->operands[1];
      if (!mask->is_const()) return nullptr;
      const unsigned first = mask->imm == 0 ? 0 : static_cast<unsigned>(__builtin_ctzll(mask->imm));
      return {Rule::first_lane_known, r.make(Op::readlane, {inst->operands[0], r.constant(kI32, first)})};
    }
    default:
      return nullptr;
  }
}

}  // namespace wavejit::ir::passes
