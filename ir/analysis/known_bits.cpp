#include "ir/analysis/known_bits.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "ir/analysis/pending_values.h"
#include "ir/bits.h"

namespace wavejit::ir {
namespace {

uint64_t width_mask(Type type) {
  const unsigned bits = type.kind == TypeKind::mask ? 64 : type.bits();
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// All but the `zeros` lowest bits.
uint64_t above(unsigned zeros) {
  return ~low_bits(zeros);
}

uint64_t loaded_bits(const Inst& inst, uint64_t all) {
  const bool narrow = inst.op == Op::load && inst.mem.bytes < 4 && !inst.mem.sign_extend;
  return narrow ? low_bits(8 * inst.mem.bytes) : all;
}

// The largest remainder, where what is subtracted from x is x / divisor * divisor; nothing elsewhere. Compilers divide by a
// constant by multiplying by 2^k / divisor, rounded up, which is exact as long as x times the rounding is below 2^k.
std::optional<uint64_t> largest_remainder(const Inst& sub, uint64_t largest_x) {
  const Inst *x = sub.operands[0], *product = sub.operands[1];
  if (sub.type.bits() != 32 || product->op != Op::mul || !product->operands[1]->is_const()) return std::nullopt;
  const uint64_t divisor = product->operands[1]->imm;
  const Inst* quotient = product->operands[0];
  if (quotient->op == Op::and_ && quotient->operands[1]->is_const()) {
    // Factors of 24 bits: the quotient has fewer.
    const uint64_t mask = quotient->operands[1]->imm;
    if ((mask & (mask + 1)) != 0 || divisor == 0 || largest_x / divisor > mask) return std::nullopt;
    quotient = quotient->operands[0];
  }
  unsigned k = 32;
  if (quotient->op == Op::lshr && quotient->operands[1]->is_const()) {
    k += quotient->operands[1]->imm % 32;
    quotient = quotient->operands[0];
  }
  if (quotient->op != Op::mulhi_u || quotient->operands[0] != x || !quotient->operands[1]->is_const() || divisor == 0)
    return std::nullopt;
  const uint64_t one = uint64_t{1} << k;
  const uint64_t rounding = divisor * quotient->operands[1]->imm - one;  // wraps around if it is rounded down
  if (rounding >= divisor || largest_x > UINT32_MAX || largest_x * rounding >= one) return std::nullopt;
  return divisor - 1;
}

// What follows for a result from its operands; `lanes` are the bits that the lane number can have.
template <typename Operand>
BitFacts transfer(const Inst& inst, uint64_t lanes, Operand&& operand) {
  const uint64_t all = width_mask(inst.type);
  uint64_t possible = all;
  uint64_t maximum = all;
  const auto constant = [&](unsigned i) { return inst.operands[i]->is_const(); };
  const auto shift = [&](unsigned i) { return static_cast<unsigned>(inst.operands[i]->imm % inst.type.bits()); };
  switch (inst.op) {
    case Op::const_:
      possible = maximum = inst.imm;
      break;
    case Op::lane_id:
      possible = maximum = lanes;
      break;
    case Op::mbcnt:
      // With all lanes active the count below a lane is its number.
      possible = maximum = inst.operands[0]->is_const(~uint64_t{0}) ? lanes : 63;
      break;
    case Op::zext64:
    case Op::zext_i1:
    case Op::splat:
    case Op::splat64:
    case Op::readlane:
      return operand(0);
    case Op::sext64: {
      const BitFacts a = operand(0);
      if ((a.possible >> 31 & 1) == 0) return a;
      possible = a.possible | 0xffffffff00000000;
      break;
    }
    case Op::lo32: {
      const BitFacts a = operand(0);
      possible = a.possible & 0xffffffff;
      if (a.maximum <= 0xffffffff) maximum = a.maximum;
      break;
    }
    case Op::hi32: {
      const BitFacts a = operand(0);
      possible = a.possible >> 32;
      maximum = a.maximum >> 32;
      break;
    }
    case Op::pack64: {
      const BitFacts low = operand(0), high = operand(1);
      possible = low.possible | high.possible << 32;
      maximum = low.maximum | high.maximum << 32;  // both are below 2^32
      break;
    }
    case Op::and_: {
      const BitFacts a = operand(0), b = operand(1);
      possible = a.possible & b.possible;
      maximum = std::min(a.maximum, b.maximum);
      break;
    }
    case Op::andn: {
      const BitFacts a = operand(0);
      possible = constant(1) ? a.possible & ~inst.operands[1]->imm : a.possible;
      maximum = a.maximum;
      break;
    }
    case Op::or_:
    case Op::xor_: {
      const BitFacts a = operand(0), b = operand(1);
      possible = a.possible | b.possible;
      if ((a.possible & b.possible) == 0) maximum = a.maximum + b.maximum;
      break;
    }
    case Op::bfi: {
      if (!constant(0)) break;
      const BitFacts b = operand(1), c = operand(2);
      possible = (inst.operands[0]->imm & b.possible) | (~inst.operands[0]->imm & c.possible);
      break;
    }
    case Op::select: {
      const BitFacts a = operand(1), b = operand(2);
      possible = a.possible | b.possible;
      maximum = std::max(a.maximum, b.maximum);
      break;
    }
    case Op::add: {
      const BitFacts a = operand(0), b = operand(1);
      if ((a.possible & b.possible) == 0) {
        // Nothing carries.
        possible = a.possible | b.possible;
      } else {
        possible = above(std::min(trailing_zeros(a.possible), trailing_zeros(b.possible)));
      }
      if (a.maximum <= all - b.maximum) maximum = a.maximum + b.maximum;
      break;
    }
    case Op::sub: {
      const BitFacts a = operand(0), b = operand(1);
      possible = above(std::min(trailing_zeros(a.possible), trailing_zeros(b.possible)));
      if (constant(0) && b.maximum <= inst.operands[0]->imm) maximum = inst.operands[0]->imm;
      if (const std::optional<uint64_t> remainder = largest_remainder(inst, a.maximum)) maximum = *remainder;
      break;
    }
    case Op::mul:
    case Op::mul_wide_u: {
      const BitFacts a = operand(0), b = operand(1);
      possible = above(trailing_zeros(a.possible) + trailing_zeros(b.possible));
      if (a.maximum == 0 || b.maximum <= all / a.maximum) maximum = a.maximum * b.maximum;
      break;
    }
    case Op::mul_wide_s: {
      const BitFacts a = operand(0), b = operand(1);
      possible = above(trailing_zeros(a.possible) + trailing_zeros(b.possible));
      if (a.maximum <= 0x7fffffff && b.maximum <= 0x7fffffff) maximum = a.maximum * b.maximum;
      break;
    }
    case Op::mulhi_u:
      maximum = operand(0).maximum * operand(1).maximum >> 32;
      break;
    case Op::shl: {
      const BitFacts a = operand(0);
      if (!constant(1)) {
        possible = above(trailing_zeros(a.possible));
        break;
      }
      possible = a.possible << shift(1);
      if (a.maximum <= all >> shift(1)) maximum = a.maximum << shift(1);
      break;
    }
    case Op::lshr: {
      const BitFacts a = operand(0);
      possible = constant(1) ? a.possible >> shift(1) : bits_up_to(a.possible);
      maximum = constant(1) ? a.maximum >> shift(1) : a.maximum;
      break;
    }
    case Op::ashr: {
      const BitFacts a = operand(0);
      if ((a.possible >> (inst.type.bits() - 1) & 1) != 0) break;
      possible = constant(1) ? a.possible >> shift(1) : bits_up_to(a.possible);
      maximum = constant(1) ? a.maximum >> shift(1) : a.maximum;
      break;
    }
    case Op::bfe_u: {
      const BitFacts a = operand(0);
      possible = constant(1) ? a.possible >> shift(1) : bits_up_to(a.possible);
      maximum = constant(1) ? a.maximum >> shift(1) : a.maximum;
      if (constant(2)) possible &= low_bits(shift(2));
      break;
    }
    case Op::umin: {
      const BitFacts a = operand(0), b = operand(1);
      possible = a.possible | b.possible;
      maximum = std::min(a.maximum, b.maximum);
      break;
    }
    case Op::umax:
    case Op::smax:
    case Op::smin: {
      const BitFacts a = operand(0), b = operand(1);
      const bool positive = a.maximum <= all / 2 && b.maximum <= all / 2;
      possible = a.possible | b.possible;
      maximum = inst.op == Op::smin && positive ? std::min(a.maximum, b.maximum) : std::max(a.maximum, b.maximum);
      break;
    }
    case Op::popcount:
      maximum = inst.type.bits();
      break;
    case Op::load:
      possible = loaded_bits(inst, all);
      break;
    case Op::extract:
      possible = loaded_bits(*inst.operands[0], all);
      break;
    default:
      break;
  }
  // Each of the two says something about the other.
  possible &= all & bits_up_to(maximum);
  return {possible, std::min(maximum, possible)};
}

constexpr uint64_t kAnyLane = 63;

BitFacts facts(const Inst* inst, unsigned depth) {
  const uint64_t all = width_mask(inst->type);
  if (depth == 0 && !inst->is_const()) return {all, all};
  return transfer(*inst, kAnyLane, [&](unsigned i) { return facts(inst->operands[i], depth - 1); });
}

}  // namespace

unsigned trailing_zeros(uint64_t possible) {
  return possible == 0 ? 64 : static_cast<unsigned>(std::countr_zero(possible));
}

uint64_t unsigned_maximum(const Inst* inst, unsigned depth) {
  return facts(inst, depth).maximum;
}

uint64_t possible_bits(const Inst* inst, unsigned depth) {
  return facts(inst, depth).possible;
}

// A bound of a loop's counter by the condition under which the loop goes on: init, init + step, ... while `next` is
// below a constant or has not reached it.
static uint64_t counter_limit(const Inst& phi) {
  const uint64_t all = width_mask(phi.type);
  if (!phi.type.is_scalar() || phi.operands.size() != 2) return all;
  for (unsigned back = 0; back < 2; ++back) {
    const Inst* init = phi.operands[1 - back];
    const Inst* next = phi.operands[back];
    const Block* latch = phi.parent->predecessors[back];
    const Inst* branch = latch->terminator();
    if (!init->is_const() || next->op != Op::add || next->operands[0] != &phi || !next->operands[1]->is_const())
      continue;
    if (branch->op != Op::cond_br || latch->successors[0] == latch->successors[1]) continue;
    const Inst* condition = branch->operands[0];
    bool goes_on = latch->successors[0] == phi.parent;
    for (; condition->op == Op::not_; condition = condition->operands[0]) goes_on = !goes_on;
    if (condition->op != Op::icmp || condition->operands[0] != next || !condition->operands[1]->is_const()) continue;
    const auto predicate = static_cast<ICmp>(condition->attr);
    const uint64_t first = init->imm, step = next->operands[1]->imm, bound = condition->operands[1]->imm;
    const auto is = [&](ICmp on, ICmp off) { return predicate == (goes_on ? on : off); };
    // Each turn adds the step, and none jumps over the bound.
    const bool reaches = step != 0 && bound > first && (bound - first) % step == 0;
    if (is(ICmp::ne, ICmp::eq) && reaches) return bound - step;
    // Whatever `next` is, if it is below the bound.
    if (is(ICmp::ult, ICmp::uge) && bound != 0) return std::max(first, bound - 1);
    if (is(ICmp::ule, ICmp::ugt)) return std::max(first, bound);
    // The same of positive numbers, which stay so.
    const uint64_t half = all >> 1;
    if (first > half || bound > half || step > half - std::max(first, bound)) continue;
    if (is(ICmp::slt, ICmp::sge) && bound != 0) return std::max(first, bound - 1);
    if (is(ICmp::sle, ICmp::sgt)) return std::max(first, bound);
  }
  return all;
}

// Optimistic: facts start as what the first operands of phis say and only ever get weaker.
KnownBits::KnownBits(const Function& function, const Dominators& dominators,
                     const std::unordered_map<const Inst*, uint64_t>& assumed)
    : facts_(function.num_values()), evaluated_(function.num_values(), 0) {
  for (const auto& [inst, bits] : assumed) {
    facts_[inst->id].fill({.possible = bits, .maximum = bits});
    evaluated_[inst->id] = 1;
  }
  evaluate(dominators, assumed);
}

void KnownBits::evaluate(const Dominators& dominators, const std::unordered_map<const Inst*, uint64_t>& assumed) {
  constexpr unsigned kExactRounds = 3;
  PendingValues pending(facts_.size());
  for (unsigned round = 0; pending.next_round(); ++round) {
    for (const Block* block : dominators.order()) {
      for (const Inst* inst : block->insts) {
        if (!pending.take(*inst) || inst->type == kNone || inst->type.is_tuple()) continue;
        if (!assumed.empty() && assumed.contains(inst)) continue;
        if (update(*inst, round >= kExactRounds)) pending.add_users(*inst);
      }
    }
  }
}

bool KnownBits::update(const Inst& inst, bool widen) {
  const uint64_t all = width_mask(inst.type);
  bool changed = false;
  for (unsigned index = 0; index < kGroups; ++index) {
    BitFacts& known = facts_[inst.id][index];
    if (index > 0 && inst.type.is_scalar()) {
      known = facts_[inst.id][0];
      continue;
    }
    if (evaluated_[inst.id] && known == BitFacts{all, all}) continue;  // facts only get weaker
    BitFacts now;
    if (inst.op == Op::phi) {
      now = {0, 0};
      for (const Inst* operand : inst.operands) {
        if (!evaluated_[operand->id]) continue;
        now.possible |= at(operand, index).possible;
        now.maximum = std::max(now.maximum, at(operand, index).maximum);
      }
    } else {
      const uint64_t lanes = index == 0 ? kAnyLane : kAnyLane & ~((uint64_t{4} << index) - 1);
      now = transfer(inst, lanes, [&](unsigned i) { return at(inst.operands[i], index); });
    }
    if (evaluated_[inst.id]) {
      now.possible |= known.possible;
      now.maximum = std::max(now.maximum, known.maximum);
      if (now == known) continue;
      // A counter: what it is a multiple of remains.
      if (widen && inst.op == Op::phi) {
        now.possible = all & above(trailing_zeros(now.possible));
        now.maximum = now.possible;
      }
    }
    if (inst.op == Op::phi) {
      const uint64_t limit = counter_limit(inst);
      now.maximum = std::min(now.maximum, limit);
      now.possible &= bits_up_to(limit);
    }
    if (evaluated_[inst.id] && now == known) continue;
    known = now;
    changed = true;
  }
  evaluated_[inst.id] = 1;
  return changed;
}

BitFacts KnownBits::at(const Inst* inst, unsigned index) const {
  const uint64_t all = width_mask(inst->type);
  const BitFacts& known = facts_[inst->id][index];
  return {known.possible & all, std::min(known.maximum, all)};
}

BitFacts KnownBits::of(const Inst* inst, unsigned group) const {
  if (inst->id >= evaluated_.size() || !evaluated_[inst->id]) {
    const uint64_t all = width_mask(inst->type);
    return {all, all};
  }
  const unsigned index = group < 8 ? 0 : static_cast<unsigned>(std::countr_zero(group)) - 2;
  return at(inst, index);
}

}  // namespace wavejit::ir
