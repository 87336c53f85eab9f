// Compares of values that depend on the lane number, and on scalars beyond its six bits: work-item ids are
// 64 * wave + lane.
#include <array>
#include <bit>
#include <optional>

#include "ir/analysis/known_bits.h"
#include "ir/fold.h"
#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

constexpr uint64_t kLaneBits = kWaveSize - 1;

// The value in one lane, if it depends on nothing but the lane number. `budget` bounds the work.
std::optional<uint64_t> in_lane(const Inst* inst, uint64_t lane, unsigned& budget) {
  if (inst->is_const()) return inst->imm;
  if (inst->op == Op::lane_id) return lane;
  if (budget == 0 || !is_pure(inst->op) || inst->operands.empty() || inst->operands.size() > 3) return std::nullopt;
  --budget;
  std::array<uint64_t, 3> arguments{};
  for (size_t i = 0; i < inst->operands.size(); ++i) {
    if (inst->operands[i]->type.is_mask()) return std::nullopt;
    const auto value = in_lane(inst->operands[i], lane, budget);
    if (!value) return std::nullopt;
    arguments[i] = *value;
  }
  return evaluate(*inst, {arguments.data(), inst->operands.size()});
}

bool is_lane_function(const Inst* inst, unsigned depth) {
  if (inst->is_const() || inst->op == Op::lane_id) return true;
  if (depth == 0 || !inst->type.is_vector() || inst->operands.empty()) return false;
  switch (inst->op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::shl:
    case Op::lshr:
      return is_lane_function(inst->operands[0], depth - 1) && is_lane_function(inst->operands[1], depth - 1);
    default:
      return false;
  }
}

// lanes + scalar, the first below 64, the second a multiple of it.
struct Split {
  Inst* lanes = nullptr;
  Inst* scalar = nullptr;
};
Split split(Inst* value) {
  if (value->op != Op::add && value->op != Op::or_) return {};
  for (unsigned i = 0; i < 2; ++i) {
    Inst* lanes = value->operands[i];
    Inst* other = value->operands[1 - i];
    if (other->op == Op::splat && unsigned_maximum(lanes, 8) <= kLaneBits &&
        (possible_bits(other->operands[0], 8) & kLaneBits) == 0)
      return {lanes, other->operands[0]};
  }
  return {};
}

}  // namespace

Replacement simplify_lane_compare(Rewriter& r, Inst* inst) {
  if (inst->type != kMask || !inst->operands[0]->type.is_vector()) return nullptr;
  Inst* a = inst->operands[0];
  Inst* b = inst->operands[1];
  constexpr unsigned kDepth = 4;
  if (is_lane_function(a, kDepth) && is_lane_function(b, kDepth)) {
    uint64_t mask = 0;
    for (uint64_t lane = 0; lane < kWaveSize; ++lane) {
      unsigned budget = 1u << kDepth << 1;
      const auto x = in_lane(a, lane, budget), y = in_lane(b, lane, budget);
      if (!x || !y) return nullptr;
      const std::array<uint64_t, 2> arguments{*x, *y};
      const auto result = evaluate(*inst, arguments);
      if (!result) return nullptr;
      mask |= (*result & 1) << lane;
    }
    return {Rule::compare_of_lanes, r.constant(kMask, mask)};
  }
  if (!b->is_const() || a->type != kV32) return nullptr;
  const auto parts = split(a);
  Inst* const lanes = parts.lanes;
  Inst* const scalar = parts.scalar;
  if (!lanes) return nullptr;
  const auto scalar_is = [&](ICmp predicate, uint64_t value) {
    Inst* holds = r.make(Op::icmp, {scalar, r.constant(kI32, value)}, static_cast<uint32_t>(predicate));
    return r.make(Op::splat_mask, {holds});
  };
  const auto lanes_are = [&](ICmp predicate, uint64_t value) {
    return r.make(Op::icmp, {lanes, r.constant(kV32, value)}, static_cast<uint32_t>(predicate));
  };
  const auto below = [&](uint64_t bound) -> Inst* {
    if (bound % kWaveSize == 0) return scalar_is(ICmp::ult, bound);
    if (bound < kWaveSize) return r.make(Op::and_, {scalar_is(ICmp::eq, 0), lanes_are(ICmp::ult, bound)});
    return nullptr;
  };
  const auto negated = [&](Inst* mask) { return mask ? r.make(Op::not_, {mask}) : nullptr; };
  const uint64_t value = b->imm;
  switch (static_cast<ICmp>(inst->attr)) {
    case ICmp::ult:
      return {Rule::compare_of_work_item, below(value)};
    case ICmp::uge:
      return {Rule::compare_of_work_item, negated(below(value))};
    case ICmp::ule:
      return {Rule::compare_of_work_item, value == UINT32_MAX ? nullptr : below(value + 1)};
    case ICmp::ugt:
      return {Rule::compare_of_work_item, value == UINT32_MAX ? nullptr : negated(below(value + 1))};
    case ICmp::eq:
    case ICmp::ne: {
      Inst* equal = r.make(Op::and_, {scalar_is(ICmp::eq, value & ~kLaneBits), lanes_are(ICmp::eq, value & kLaneBits)});
      return {Rule::compare_of_work_item, static_cast<ICmp>(inst->attr) == ICmp::eq ? equal : negated(equal)};
    }
    default:
      return nullptr;
  }
}

// Low bits of a sum do not depend on what is added above them.
Replacement simplify_low_bits(Rewriter& r, Inst* inst) {
  Inst* sum = inst->operands[0];
  Inst* mask = inst->operands[1];
  if (inst->op != Op::and_ || !mask->is_const() || sum->op != Op::add) return nullptr;
  if (sum->type != kV32 && sum->type != kI32) return nullptr;
  const uint64_t low = mask->imm == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(mask->imm);
  for (unsigned i = 0; i < 2; ++i)
    if ((possible_bits(sum->operands[i], 8) & low) == 0)
      return {Rule::low_bits_of_sum, r.make(Op::and_, {sum->operands[1 - i], mask})};
  return nullptr;
}

}  // namespace wavejit::ir::passes
