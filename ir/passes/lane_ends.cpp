#include "ir/passes/lane_ends.h"

#include <algorithm>

namespace wavejit::ir::passes {
namespace {

Inst* constant(const LaneEnds::Make& make, Type type, int64_t value) {
  return make(Op::const_, type, {}, 0, type == kI32 ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value));
}

Inst* plus(const LaneEnds::Make& make, Inst* value, int64_t addend) {
  return addend == 0 ? value : make(Op::add, value->type, {value, constant(make, value->type, addend)}, 0, 0);
}

Inst* icmp(const LaneEnds::Make& make, ICmp predicate, Inst* a, Inst* b) {
  return make(Op::icmp, kI1, {a, b}, static_cast<uint32_t>(predicate), 0);
}

Inst* small(const LaneEnds::Make& make, Inst* value, int64_t limit) {
  Inst* const moved = plus(make, value, limit);
  return icmp(make, ICmp::ult, moved, constant(make, value->type, 2 * limit));
}

bool is_signed(ICmp predicate) {
  return predicate == ICmp::slt || predicate == ICmp::sle;
}

}  // namespace

LaneEnds::LaneEnds(const Function& function)
    : known_(function.num_values()), shapes_(function), tables_(function, shapes_) {}

std::optional<LaneEnds::Ends> LaneEnds::ends(Inst* value, const Make& make, int64_t* spread) {
  if (value->type != kV32) return std::nullopt;
  *spread = 0;
  if (value->is_const()) {
    Inst* const number = constant(make, kI32, static_cast<int64_t>(value->imm));
    return Ends{number, number};
  }
  if (value->op == Op::splat) return Ends{value->operands[0], value->operands[0]};
  if (value->id >= known_) {
    // Made since: what was known, and a number of all lanes.
    if (value->op != Op::add || !value->operands[1]->is_const()) return std::nullopt;
    auto inner = ends(value->operands[0], make, spread);
    if (!inner) return std::nullopt;
    const auto addend = static_cast<int32_t>(value->operands[1]->imm);
    Inst* const low = plus(make, inner->low, addend);
    Inst* const high = inner->high == inner->low ? low : plus(make, inner->high, addend);
    return Ends{low, high};
  }
  const LaneTable* const table = tables_.of(value);
  if (table == nullptr) return std::nullopt;
  int64_t least = 0, most = 0;  // compared with lane 0
  for (const uint64_t step : table->step) {
    const auto difference = static_cast<int32_t>(step - table->step[0]);
    least = std::min<int64_t>(least, difference);
    most = std::max<int64_t>(most, difference);
  }
  *spread = most - least;
  if (*spread > kMaxSpread) return std::nullopt;
  Inst* const lane = constant(make, kI32, 0);
  Inst* const first = make(Op::readlane, kI32, {value, lane}, 0, 0);
  Inst* const low = plus(make, first, least);
  Inst* const high = most == least ? low : plus(make, first, most);
  return Ends{low, high};
}

bool LaneEnds::all_lanes(Inst* mask, const Make& make, std::vector<Inst*>& conditions) {
  if (mask->is_const(~uint64_t{0})) return true;
  if (mask->op != Op::icmp || mask->type != kMask) return false;
  Inst* a = mask->operands[0];
  Inst* b = mask->operands[1];
  auto predicate = static_cast<ICmp>(mask->attr);
  switch (predicate) {
    case ICmp::slt:
    case ICmp::sle:
    case ICmp::ult:
    case ICmp::ule:
      break;
    case ICmp::sgt:
    case ICmp::sge:
    case ICmp::ugt:
    case ICmp::uge:
      std::swap(a, b);
      predicate = predicate == ICmp::sgt   ? ICmp::slt
                  : predicate == ICmp::sge ? ICmp::sle
                  : predicate == ICmp::ugt ? ICmp::ult
                                           : ICmp::ule;
      break;
    default:
      return false;
  }
  int64_t spread_a = 0, spread_b = 0;
  const auto left = ends(a, make, &spread_a);
  const auto right = left ? ends(b, make, &spread_b) : std::nullopt;
  if (!right) return false;
  const ICmp ordered = is_signed(predicate) ? ICmp::sle : ICmp::ule;
  if (spread_a != 0) conditions.push_back(icmp(make, ordered, left->low, left->high));
  if (spread_b != 0) conditions.push_back(icmp(make, ordered, right->low, right->high));
  conditions.push_back(icmp(make, predicate, left->high, right->low));
  return true;
}

bool LaneEnds::all_small(Inst* value, int64_t limit, const Make& make, std::vector<Inst*>& conditions) {
  int64_t spread = 0;
  const auto found = ends(value, make, &spread);
  if (!found) return false;
  // What lies between two numbers of that range, and is no further from them than kMaxSpread, does too.
  conditions.push_back(small(make, found->low, limit));
  if (spread != 0) conditions.push_back(small(make, found->high, limit));
  return true;
}

bool LaneEnds::all_small(Inst* value, Inst* factor, int64_t limit, const Make& make, std::vector<Inst*>& conditions) {
  int64_t spread = 0;
  const auto found = ends(value, make, &spread);
  if (!found) return false;
  Inst* const wide = make(Op::sext64, kI64, {factor}, 0, 0);
  const auto product = [&](Inst* number) {
    Inst* const extended = make(Op::sext64, kI64, {number}, 0, 0);
    return make(Op::mul, kI64, {extended, wide}, 0, 0);
  };
  if (spread != 0) conditions.push_back(icmp(make, ICmp::sle, found->low, found->high));
  conditions.push_back(small(make, product(found->low), limit));
  if (spread != 0) conditions.push_back(small(make, product(found->high), limit));
  return true;
}

}  // namespace wavejit::ir::passes
