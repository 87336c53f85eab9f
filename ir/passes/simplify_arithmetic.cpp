// Integer arithmetic, shifts, bit fields and compares.
#include "ir/analysis/known_bits.h"
#include "ir/bits.h"
#include "ir/fold.h"
#include "ir/passes/simplify.h"
#include "ir/signature.h"

namespace wavejit::ir::passes {
namespace {

unsigned width(const Inst* inst) {
  return inst->type.bits();
}
bool is_power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}
unsigned log2_of(uint64_t value) {
  return static_cast<unsigned>(__builtin_ctzll(value));
}

// Sums of several terms that only the sum uses: how deep to look.
constexpr unsigned kMaxSumDepth = 6;

// The other part of a choice, bits of one value where `part` has those of another: p & m for q & ~m, and the reverse.
bool is_other_choice(const Inst* part, const Inst* candidate) {
  if (!single_use(candidate)) return false;
  if (part->op == Op::andn && candidate->op == Op::and_) {
    return candidate->operands[0] == part->operands[1] || candidate->operands[1] == part->operands[1];
  }
  return part->op == Op::and_ && candidate->op == Op::andn && is_other_choice(candidate, part);
}
const Inst* find_other_choice(const Inst* part, const Inst* sum, unsigned depth = 0) {
  if (sum->op != Op::add || !single_use(sum) || depth == kMaxSumDepth) {
    return is_other_choice(part, sum) ? sum : nullptr;
  }
  const Inst* found = find_other_choice(part, sum->operands[0], depth + 1);
  return found != nullptr ? found : find_other_choice(part, sum->operands[1], depth + 1);
}
// The sum with a term left out; null where it is not in it, or nothing else is.
Inst* without_term(Rewriter& r, Inst* sum, const Inst* term, unsigned depth = 0) {
  if (sum->op != Op::add || !single_use(sum) || depth == kMaxSumDepth) return nullptr;
  for (unsigned i = 0; i < 2; ++i) {
    Inst* other = sum->operands[1 - i];
    if (sum->operands[i] == term) return other;
    if (Inst* rest = without_term(r, sum->operands[i], term, depth + 1)) return r.make(Op::add, {rest, other});
  }
  return nullptr;
}
// (p & m) + ... + (q & ~m): the two have no bit in common, so that their sum is a choice.
Replacement simplify_sum_of_choice(Rewriter& r, Inst* inst) {
  for (unsigned i = 0; i < 2; ++i) {
    Inst* part = inst->operands[i];
    Inst* sum = inst->operands[1 - i];
    if ((part->op != Op::and_ && part->op != Op::andn) || !single_use(part)) continue;
    const Inst* other = find_other_choice(part, sum);
    if (other == nullptr) continue;
    const Inst* kept = part->op == Op::and_ ? part : other;
    const Inst* cleared = part->op == Op::andn ? part : other;
    Inst* mask = cleared->operands[1];
    Inst* choice = r.make(Op::bfi, {mask, kept->operands[kept->operands[0] == mask ? 1 : 0], cleared->operands[0]});
    if (sum == other) return {Rule::sum_of_choice, choice};
    if (Inst* rest = without_term(r, sum, other)) return {Rule::sum_of_choice, r.make(Op::add, {rest, choice})};
  }
  return nullptr;
}

// Some bits of a number plus its other bits; null if it is not that.
Inst* whole_of_parts(const Inst* a, const Inst* b) {
  const auto masked = [](const Inst* part) { return part->op == Op::and_ && part->operands[1]->is_const(); };
  if (!masked(a) || !masked(b) || a->operands[0] != b->operands[0]) return nullptr;
  const bool complementary = (a->operands[1]->imm ^ b->operands[1]->imm) == low_bits(width(a));
  return complementary ? a->operands[0] : nullptr;
}

Replacement simplify_add(Rewriter& r, Inst* inst) {
  if (const Replacement sum = simplify_sum_of_choice(r, inst)) return sum;
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  if (Inst* whole = whole_of_parts(a, b)) return {Rule::sum_of_parts, whole};
  if (b->is_const() && a->op == Op::add && a->operands[1]->is_const()) {
    return {Rule::sum_of_constants,
            r.make(Op::add, {a->operands[0], r.constant(inst->type, a->operands[1]->imm + b->imm)})};
  }
  for (auto [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
    if (x->op == Op::sub && x->operands[1] == y) return {Rule::sum_undoes_difference, x->operands[0]};
    if (x->op == Op::sub && is_zero(x->operands[0]))
      return {Rule::sum_of_negated, r.make(Op::sub, {y, x->operands[1]})};
    // (p + c) + y -> (p + y) + c, so that constants meet at the end of a chain.
    if (x->op == Op::add && x->operands[1]->is_const() && !y->is_const() && single_use(x)) {
      return {Rule::constant_last, r.make(Op::add, {r.make(Op::add, {x->operands[0], y}), x->operands[1]})};
    }
  }
  // Counts below the lane in disjoint halves, as v_mbcnt_lo and v_mbcnt_hi give them.
  if (a->op == Op::mbcnt && b->op == Op::mbcnt && a->operands[0]->is_const() && b->operands[0]->is_const() &&
      (a->operands[0]->imm & b->operands[0]->imm) == 0) {
    return {Rule::sum_of_counts, r.make(Op::mbcnt, {r.constant(kMask, a->operands[0]->imm | b->operands[0]->imm)})};
  }
  return nullptr;
}

Replacement simplify_sub(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  if (a == b) return {Rule::difference_of_equals, r.constant(inst->type, 0)};
  if (b->is_const()) return {Rule::difference_of_constant, r.make(Op::add, {a, r.constant(inst->type, 0 - b->imm)})};
  if (a->op == Op::add && a->operands[0] == b) return {Rule::difference_undoes_sum, a->operands[1]};
  if (a->op == Op::add && a->operands[1] == b) return {Rule::difference_undoes_sum, a->operands[0]};
  if (b->op == Op::sub && b->operands[0] == a) return {Rule::difference_of_difference, b->operands[1]};
  return nullptr;
}

// Carries with a known carry-in.
Replacement simplify_carry(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  Inst* carry = inst->operands[2];
  switch (inst->op) {
    case Op::addc:
      if (is_zero(carry)) return {Rule::sum_without_carry, r.make(Op::add, {a, b})};
      if (is_all_ones(carry))
        return {Rule::sum_with_carry, r.make(Op::add, {r.make(Op::add, {a, b}), r.constant(inst->type, 1)})};
      return nullptr;
    case Op::subb:
      if (is_zero(carry)) return {Rule::difference_without_borrow, r.make(Op::sub, {a, b})};
      if (is_all_ones(carry))
        return {Rule::difference_with_borrow, r.make(Op::sub, {r.make(Op::sub, {a, b}), r.constant(inst->type, 1)})};
      return nullptr;
    case Op::addc_carry:
      if (is_zero(carry) && (is_zero(a) || is_zero(b))) return {Rule::never_carries, r.constant(inst->type, 0)};
      if (is_zero(carry) && unsigned_maximum(a) <= low_bits(width(a)) - unsigned_maximum(b))
        return {Rule::never_carries, r.constant(inst->type, 0)};
      return nullptr;
    default:
      if (is_zero(carry)) return {Rule::borrow_is_less, r.make(Op::icmp, {a, b}, static_cast<uint32_t>(ICmp::ult))};
      return nullptr;
  }
}

Replacement simplify_mul(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  if (!b->is_const()) return nullptr;
  if (is_power_of_two(b->imm))
    return {Rule::product_by_power, r.make(Op::shl, {a, r.constant(inst->type, log2_of(b->imm))})};
  if (is_all_ones(b)) return {Rule::product_by_minus_one, r.make(Op::sub, {r.constant(inst->type, 0), a})};
  if (a->op == Op::mul && a->operands[1]->is_const()) {
    return {Rule::product_of_constants,
            r.make(Op::mul, {a->operands[0], r.constant(inst->type, a->operands[1]->imm * b->imm)})};
  }
  return nullptr;
}

Replacement simplify_shift(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  const unsigned bits = width(inst);
  if (is_zero(a)) return {Rule::shift_of_zero, a};
  if (!b->is_const()) {
    // The amount is taken modulo the width already.
    if (b->op == Op::and_ && b->operands[1]->is_const() && (b->operands[1]->imm & (bits - 1)) == bits - 1) {
      return {Rule::shift_amount_masked, r.make(inst->op, {a, b->operands[0]})};
    }
    return nullptr;
  }
  const unsigned amount = static_cast<unsigned>(b->imm % bits);
  if (b->imm >= bits) return {Rule::shift_amount_wraps, r.make(inst->op, {a, r.constant(inst->type, amount)})};
  if (inst->op == Op::ashr && (possible_bits(a) >> (bits - 1)) == 0)
    return {Rule::shift_of_nonnegative, r.make(Op::lshr, {a, b})};
  if (inst->op == Op::lshr && (possible_bits(a) >> amount) == 0)
    return {Rule::shift_all_out, r.constant(inst->type, 0)};
  if (a->operands.size() < 2 || !a->operands[1]->is_const()) return nullptr;
  const unsigned inner = static_cast<unsigned>(a->operands[1]->imm % bits);
  if (a->op == inst->op) {
    const unsigned sum = amount + inner;
    if (sum < bits) return {Rule::shift_of_shift, r.make(inst->op, {a->operands[0], r.constant(inst->type, sum)})};
    if (inst->op != Op::ashr) return {Rule::shift_of_shift, r.constant(inst->type, 0)};
    return {Rule::shift_of_shift, r.make(Op::ashr, {a->operands[0], r.constant(inst->type, bits - 1)})};
  }
  if (inst->op == Op::lshr && a->op == Op::shl && inner == amount) {
    return {Rule::shift_up_and_down,
            r.make(Op::and_, {a->operands[0], r.constant(inst->type, low_bits(bits - amount))})};
  }
  if (inst->op == Op::shl && a->op == Op::lshr && inner == amount) {
    return {Rule::shift_down_and_up, r.make(Op::and_, {a->operands[0], r.constant(inst->type, ~low_bits(amount))})};
  }
  return nullptr;
}

Replacement simplify_fields(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  Inst* c = inst->operands[2];
  const unsigned bits = width(inst);
  if (inst->op == Op::bfi) {
    if (is_zero(c)) return {Rule::insert_in_zero, r.make(Op::and_, {a, b})};
    if (is_zero(b)) return {Rule::insert_zero, r.make(Op::andn, {c, a})};
    return nullptr;
  }
  if (inst->op == Op::alignbit) {
    if (is_zero(a) && c->is_const()) return {Rule::align_of_zero, r.make(Op::lshr, {b, c})};
    return nullptr;
  }
  if (!b->is_const() || !c->is_const()) return nullptr;
  const unsigned offset = static_cast<unsigned>(b->imm % bits);
  const unsigned count = static_cast<unsigned>(c->imm % bits);
  if (count == 0) return {Rule::field_empty, r.constant(inst->type, 0)};
  const bool top = offset + count >= bits;
  if (inst->op == Op::bfe_u) {
    if (top) return {Rule::field_at_top, r.make(Op::lshr, {a, r.constant(inst->type, offset)})};
    if (offset == 0) return {Rule::field_at_bottom, r.make(Op::and_, {a, r.constant(inst->type, low_bits(count))})};
  } else if (top) {
    return {Rule::field_at_top, r.make(Op::ashr, {a, r.constant(inst->type, offset)})};
  }
  return nullptr;
}

bool evaluate_compare(const Inst* compare, uint64_t a, uint64_t b) {
  const uint64_t values[] = {a, b};
  return *evaluate(*compare, values) != 0;
}

// Compare of a value that is one of two constants: the condition, its complement, or a constant.
Replacement compare_of_choice(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  const Inst* b = inst->operands[1];
  Inst* condition = nullptr;
  uint64_t if_true = 1;
  uint64_t if_false = 0;
  if (a->op == Op::zext_i1) {
    condition = a->operands[0];
  } else if (a->op == Op::select && a->operands[1]->is_const() && a->operands[2]->is_const()) {
    condition = a->operands[0];
    if_true = a->operands[1]->imm;
    if_false = a->operands[2]->imm;
  }
  if (condition == nullptr || !b->is_const()) return nullptr;
  if (inst->type == kMask && condition->type == kI1) condition = r.make(Op::splat_mask, {condition});
  const bool when_true = evaluate_compare(inst, if_true, b->imm);
  const bool when_false = evaluate_compare(inst, if_false, b->imm);
  if (when_true == when_false) return {Rule::compare_of_choice, r.constant(inst->type, when_true ? ~uint64_t{0} : 0)};
  return {Rule::compare_of_choice, when_true ? condition : r.make(Op::not_, {condition})};
}

// Whether the 64-bit value is a is_zero-extended 32-bit one, and that.
bool is_extended(const Inst* value) {
  return value->op == Op::zext64 || (value->op == Op::splat64 && value->operands[0]->op == Op::zext64) ||
         (value->is_const() && value->imm <= UINT32_MAX);
}
Inst* narrowed(Rewriter& r, Inst* value) {
  if (value->is_const()) return r.constant(value->type == kI64 ? kI32 : kV32, value->imm);
  if (value->op == Op::splat64) return r.make(Op::splat, {value->operands[0]->operands[0]});
  return value->operands[0];
}

ICmp unsigned_form(ICmp predicate) {
  switch (predicate) {
    case ICmp::slt:
      return ICmp::ult;
    case ICmp::sle:
      return ICmp::ule;
    case ICmp::sgt:
      return ICmp::ugt;
    case ICmp::sge:
      return ICmp::uge;
    default:
      return predicate;
  }
}

Replacement simplify_icmp(Rewriter& r, Inst* inst) {
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  const auto predicate = static_cast<ICmp>(inst->attr);
  if (a == b) return {Rule::compare_of_equals, r.constant(inst->type, evaluate_compare(inst, 0, 0) ? ~uint64_t{0} : 0)};
  if (a->is_const())
    return {Rule::compare_constant_second, r.make(Op::icmp, {b, a}, static_cast<uint32_t>(swapped(predicate)))};
  if (const Replacement choice = compare_of_choice(r, inst)) return choice;
  if ((a->type == kI64 || a->type == kV64) && is_extended(a) && is_extended(b)) {
    return {Rule::compare_of_extended,
            r.make(Op::icmp, {narrowed(r, a), narrowed(r, b)}, static_cast<uint32_t>(unsigned_form(predicate)))};
  }
  if (!b->is_const()) return nullptr;
  const uint64_t bound = unsigned_maximum(a, 8);
  const auto always = [&](bool value) { return r.constant(inst->type, value ? ~uint64_t{0} : 0); };
  switch (predicate) {
    case ICmp::ult:
      if (is_zero(b)) return {Rule::compare_decided_by_bits, always(false)};
      if (bound < b->imm) return {Rule::compare_decided_by_bits, always(true)};
      if (b->is_const(1))
        return {Rule::compare_below_one,
                r.make(Op::icmp, {a, r.constant(b->type, 0)}, static_cast<uint32_t>(ICmp::eq))};
      break;
    case ICmp::uge:
      if (is_zero(b)) return {Rule::compare_decided_by_bits, always(true)};
      if (bound < b->imm) return {Rule::compare_decided_by_bits, always(false)};
      break;
    case ICmp::ugt:
      if (bound <= b->imm) return {Rule::compare_decided_by_bits, always(false)};
      if (is_zero(b)) return {Rule::compare_above_zero, r.make(Op::icmp, {a, b}, static_cast<uint32_t>(ICmp::ne))};
      break;
    case ICmp::ule:
      if (bound <= b->imm) return {Rule::compare_decided_by_bits, always(true)};
      break;
    case ICmp::eq:
    case ICmp::ne: {
      if (bound < b->imm) return {Rule::compare_decided_by_bits, always(predicate == ICmp::ne)};
      if (a->op == Op::mask_to_i64 && is_zero(b)) {
        Inst* any = r.make(Op::mask_any, {a->operands[0]});
        return {Rule::compare_of_mask, predicate == ICmp::ne ? any : r.make(Op::not_, {any})};
      }
      if (a->op == Op::mask_to_i64 && is_all_ones(b)) {
        Inst* all = r.make(Op::mask_all, {a->operands[0]});
        return {Rule::compare_of_mask, predicate == ICmp::eq ? all : r.make(Op::not_, {all})};
      }
      // lo | hi == 0 is the whole == 0.
      if (a->op == Op::or_ && is_zero(b) && a->operands[0]->op == Op::lo32 && a->operands[1]->op == Op::hi32 &&
          a->operands[0]->operands[0] == a->operands[1]->operands[0]) {
        Inst* whole = a->operands[0]->operands[0];
        return {Rule::compare_of_halves, r.make(Op::icmp, {whole, r.constant(whole->type, 0)}, inst->attr)};
      }
      if (a->op == Op::add && a->operands[1]->is_const() && single_use(a)) {
        return {Rule::compare_of_sum,
                r.make(Op::icmp, {a->operands[0], r.constant(b->type, b->imm - a->operands[1]->imm)}, inst->attr)};
      }
      break;
    }
    default:
      break;
  }
  return nullptr;
}

// The greater of a number and itself, which compilers write to make signalling NaNs quiet.
Replacement simplify_min_max(Rewriter& r, Inst* inst) {
  if (inst->operands[0] != inst->operands[1]) return nullptr;
  // Denormals are flushed as MODE says of operands; here the result's must not be flushed where those are not.
  constexpr uint32_t kKeep = fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm;
  if ((inst->attr & kKeep) == fpenv::kKeepInputDenorm) return nullptr;
  const bool wide = inst->type == kV64;
  return {Rule::extreme_of_equals, r.make(wide ? Op::fcanon_f64 : Op::fcanon_f32, {inst->operands[0]}, inst->attr)};
}

}  // namespace

Replacement simplify_arithmetic(Rewriter& r, Inst* inst) {
  switch (inst->op) {
    case Op::fmin_f32:
    case Op::fmax_f32:
    case Op::fmin_f64:
    case Op::fmax_f64:
      return simplify_min_max(r, inst);
    case Op::add:
      return simplify_add(r, inst);
    case Op::sub:
      return simplify_sub(r, inst);
    case Op::addc:
    case Op::addc_carry:
    case Op::subb:
    case Op::subb_borrow:
      return simplify_carry(r, inst);
    case Op::mul:
      return simplify_mul(r, inst);
    case Op::mulhi_u:
    case Op::mul_wide_u:
    case Op::mulhi_s:
    case Op::mul_wide_s:
      if (is_zero(inst->operands[1])) return {Rule::wide_product_by_zero, r.constant(inst->type, 0)};
      return nullptr;
    case Op::shl:
    case Op::lshr:
    case Op::ashr:
      return simplify_shift(r, inst);
    case Op::bfe_u:
    case Op::bfe_s:
    case Op::bfi:
    case Op::alignbit:
      return simplify_fields(r, inst);
    case Op::and_: {
      // A mask that clears nothing, or everything.
      const Inst* mask = inst->operands[1];
      const bool integer = inst->type.kind != TypeKind::i1 && inst->type.kind != TypeKind::mask;
      if (!integer || !mask->is_const()) return nullptr;
      const uint64_t possible = possible_bits(inst->operands[0], 4);
      if ((possible & ~mask->imm) == 0) return {Rule::clears_nothing, inst->operands[0]};
      if ((possible & mask->imm) == 0) return {Rule::clears_all, r.constant(inst->type, 0)};
      return nullptr;
    }
    case Op::icmp:
      if (const Replacement simpler = simplify_icmp(r, inst)) return simpler;
      return simplify_lane_compare(r, inst);
    case Op::fcmp_f16:
    case Op::fcmp_f32:
    case Op::fcmp_f64: {
      // Constants second, where instructions take them from memory.
      if (!inst->operands[0]->is_const() || inst->operands[1]->is_const()) return nullptr;
      const uint32_t predicate = inst->attr >> fpenv::kFCmpShift & 15;
      const uint32_t turned = (predicate & 10) | (predicate & 1) << 2 | (predicate & 4) >> 2;
      return {Rule::fcmp_constant_second,
              r.make(inst->op, {inst->operands[1], inst->operands[0]},
                     (inst->attr & ~(15u << fpenv::kFCmpShift)) | turned << fpenv::kFCmpShift)};
    }
    default:
      return nullptr;
  }
}

}  // namespace wavejit::ir::passes
