#include "ir/analysis/wave_expressions.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <tuple>

#include "ir/bits.h"

namespace wavejit::ir {
namespace {

constexpr unsigned kMostCost = 1'000'000;  // of expressions that cost more, too

bool invariant_field(uint64_t offset) {
  return offset == offsetof(WaveState, wave_in_group) || offset == offsetof(WaveState, lds_size) ||
         offset == offsetof(WaveState, lds_base) || offset == offsetof(WaveState, scratch_base);
}

// Operations worth repeating: cheap, and the same whatever MODE says.
bool repeatable(Op op) {
  switch (op) {
    case Op::splat:
    case Op::splat64:
    case Op::splat_mask:
    case Op::pack64:
    case Op::lo32:
    case Op::hi32:
    case Op::zext64:
    case Op::sext64:
    case Op::zext_i1:
    case Op::mask_to_i64:
    case Op::i64_to_mask:
    case Op::mask_any:
    case Op::mask_all:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::andn:
    case Op::not_:
    case Op::shl:
    case Op::lshr:
    case Op::ashr:
    case Op::smin:
    case Op::smax:
    case Op::umin:
    case Op::umax:
    case Op::bfe_u:
    case Op::bfe_s:
    case Op::bfi:
    case Op::icmp:
    case Op::select:
      return true;
    default:
      return false;
  }
}

// Of these, operations on lanes that scalars have, too.
bool also_scalar(Op op) {
  switch (op) {
    case Op::mul:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::shl:
    case Op::lshr:
      return true;
    default:
      return false;
  }
}

// Trailing zeros of a 32-bit number.
unsigned zeros_of(uint64_t bits) {
  return bits == 0 ? 32u : static_cast<unsigned>(std::countr_zero(bits));
}

}  // namespace

bool WaveExpressions::Node::operator<(const Node& other) const {
  const auto head = [](const Node& n) { return std::tuple(n.op, n.type.kind, n.type.count, n.imm, n.attr); };
  if (head(*this) != head(other)) return head(*this) < head(other);
  return std::tie(operands, coefficients) < std::tie(other.operands, other.coefficients);
}

WaveExpressions::WaveExpressions() : nodes_(2) {
  lane_ = intern({.op = Op::lane_id, .type = kV32});
}

WaveExpressions::Id WaveExpressions::intern(Node node) {
  const auto it = index_.find(node);
  if (it != index_.end()) return it->second;
  node.cost = cost_of(node);
  if (node.type.bits() == 32) {
    node.maximum = maximum_of(node);
    node.possible_bits = possible_bits_of(node);
    node.in_lane_0 = in_lane_0_of(node);
  }
  const auto id = static_cast<Id>(nodes_.size());
  nodes_.push_back(node);
  index_.emplace(std::move(node), id);
  return id;
}

unsigned WaveExpressions::cost_of(const Node& node) const {
  const auto own = [](Type type) { return type.is_scalar() ? 1u : 4u; };
  uint64_t cost = node.operands.empty() || is_sum(node) ? 0 : own(node.type);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Node& operand = nodes_[node.operands[i]];
    cost += operand.cost + (is_sum(node) ? (1 + (node.coefficients[i] != 1)) * own(operand.type) : 0);
  }
  return static_cast<unsigned>(std::min<uint64_t>(cost, kMostCost));
}

WaveExpressions::Id WaveExpressions::leaf(Op op, Type type, uint64_t imm) {
  const Id atom = intern({.op = op, .type = type, .imm = imm});
  return type == kI32 || type == kV32 ? make_sum(type, {.terms = {{atom, 1}}}) : atom;
}

WaveExpressions::Id WaveExpressions::initial_sgpr(unsigned index) {
  return leaf(Op::get_sgpr, kI32, index);
}

WaveExpressions::Id WaveExpressions::computed_once(const Inst& inst) {
  return leaf(kComputedOnce, kI32, inst.id);
}

bool WaveExpressions::is_constant(const Node& node) const {
  return node.op == Op::const_ || (is_sum(node) && node.operands.empty());
}

bool WaveExpressions::is_multiple(Id id, Id term, uint32_t factor) const {
  const Node& node = nodes_[id];
  return is_sum(node) && node.imm == 0 && node.operands.size() == 1 && node.operands[0] == term &&
         node.coefficients[0] == factor;
}

bool WaveExpressions::is_found(Id id) const {
  const Node& node = nodes_[id];
  return is_sum(node) && node.operands.size() == 1 && is_scalar_leaf(nodes_[node.operands[0]]) &&
         is_multiple(id, node.operands[0], 1);
}

WaveExpressions::Sum WaveExpressions::sum_of(Id id) const {
  Sum sum{.constant = static_cast<uint32_t>(nodes_[id].imm)};
  for (size_t i = 0; i < nodes_[id].operands.size(); ++i)
    sum.terms.emplace(nodes_[id].operands[i], nodes_[id].coefficients[i]);
  return sum;
}

// The part of a 32-bit value that differs between lanes.
bool WaveExpressions::without_uniform_part(Id id, Sum& sum) const {
  if (!is_sum(nodes_[id])) return false;
  sum = sum_of(id);
  sum.constant = 0;
  std::erase_if(sum.terms, [&](const auto& term) { return nodes_[term.first].type.is_scalar(); });
  return true;
}

WaveExpressions::Id WaveExpressions::some_number(Type type, unsigned zeros) {
  const Id term = intern({.op = kSomeNumber, .type = kI32, .imm = std::min(zeros, 31u)});
  return make_sum(type, {.terms = {{term, 1}}});
}

unsigned WaveExpressions::uniform_zeros(Id id) const {
  const Node& node = nodes_[id];
  if (!is_sum(node)) return 0;
  unsigned result = zeros_of(node.imm);
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (nodes_[node.operands[i]].type.is_scalar())
      result = std::min(result, term_zeros(node.operands[i], node.coefficients[i]));
  return result;
}

bool WaveExpressions::has_some_number(Id id) const {
  const Node& node = nodes_[id];
  return is_sum(node) &&
         std::any_of(node.operands.begin(), node.operands.end(), [&](Id term) { return is_some_number(nodes_[term]); });
}

// Whether it is known to be the same in all lanes.
bool WaveExpressions::is_uniform(Id id) const {
  const Node& node = nodes_[id];
  if (node.type.is_scalar()) return true;
  return is_sum(node) && std::all_of(node.operands.begin(), node.operands.end(),
                                     [&](Id term) { return nodes_[term].type.is_scalar(); });
}

std::optional<WaveExpressions::Id> WaveExpressions::beside_uniform_part(Id id) {
  Sum sum;
  if (!without_uniform_part(id, sum)) return std::nullopt;
  return make_sum(nodes_[id].type, sum);
}

std::optional<std::pair<WaveExpressions::Id, unsigned>> WaveExpressions::below_some_number(Id id) {
  const unsigned zeros = number_zeros(id);
  if (zeros >= 32) return std::nullopt;
  const Id rest = make_sum(nodes_[id].type, known_part(id));
  if (maximum(rest) >> zeros != 0) return std::nullopt;
  return std::pair(rest, zeros);
}

std::optional<uint32_t> WaveExpressions::in_lane_0_of(const Node& node) const {
  if (node.op == Op::lane_id) return 0;
  if (node.op == Op::const_) return static_cast<uint32_t>(node.imm);
  const auto operand = [&](size_t i) { return nodes_[node.operands[i]].in_lane_0; };
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (!operand(i)) return std::nullopt;
  if (is_sum(node)) {
    auto sum = static_cast<uint32_t>(node.imm);
    for (size_t i = 0; i < node.operands.size(); ++i) sum += *operand(i) * node.coefficients[i];
    return sum;
  }
  if (node.op == Op::and_ && node.type == kV32) return *operand(0) & *operand(1);
  if (node.op == Op::lshr && node.type == kV32) return *operand(0) >> (*operand(1) % 32);
  return std::nullopt;
}

WaveExpressions::Id WaveExpressions::meet(Id a, Id b) {
  if (a == kUndetermined || a == b) return b;
  if (b == kUndetermined) return a;
  if (a == kUnknown || b == kUnknown || type(a) != type(b) || !is_sum(nodes_[a]) || !is_sum(nodes_[b])) return kUnknown;
  // What differs is part of the number, if it is the same in all lanes.
  unsigned zeros = std::min(number_zeros(a), number_zeros(b));
  Sum first = known_part(a), second = known_part(b), common{.constant = first.constant};
  zeros = std::min(zeros, zeros_of(first.constant ^ second.constant));
  for (const auto& [term, coefficient] : first.terms) {
    const auto same = second.terms.find(term);
    const bool equal = same != second.terms.end() && same->second == coefficient;
    if (!equal && !nodes_[term].type.is_scalar()) return kUnknown;
    if (equal) {
      common.terms.emplace(term, coefficient);
      second.terms.erase(same);
    } else {
      zeros = std::min(zeros, term_zeros(term, coefficient));
    }
  }
  for (const auto& [term, coefficient] : second.terms) {
    if (!nodes_[term].type.is_scalar()) return kUnknown;
    zeros = std::min(zeros, term_zeros(term, coefficient));
  }
  return plus_some_number(type(a), std::move(common), zeros);
}

// The value without its "some number".
WaveExpressions::Sum WaveExpressions::known_part(Id id) const {
  Sum sum = sum_of(id);
  std::erase_if(sum.terms, [&](const auto& term) { return is_some_number(nodes_[term.first]); });
  return sum;
}

// Trailing zeros of the value's "some number", 32 if there is none.
unsigned WaveExpressions::number_zeros(Id id) const {
  unsigned zeros = 32;
  const Node& node = nodes_[id];
  for (size_t i = 0; is_sum(node) && i < node.operands.size(); ++i)
    if (is_some_number(nodes_[node.operands[i]]))
      zeros = std::min(zeros, term_zeros(node.operands[i], node.coefficients[i]));
  return zeros;
}

unsigned WaveExpressions::term_zeros(Id term, uint32_t coefficient) const {
  return std::min(32u, zeros_of(possible_bits(term)) + zeros_of(coefficient));
}

// Multiples of the number's lowest bit that are the same in all lanes are part of it.
WaveExpressions::Id WaveExpressions::plus_some_number(Type type, Sum sum, unsigned zeros) {
  zeros = std::min(zeros, 31u);
  sum.constant &= (1u << zeros) - 1;
  std::erase_if(sum.terms, [&](const auto& term) {
    return nodes_[term.first].type.is_scalar() && term_zeros(term.first, term.second) >= zeros;
  });
  sum.terms[nodes_[some_number(kI32, zeros)].operands[0]] = 1;
  return make_sum(type, std::move(sum));
}

WaveExpressions::Sum WaveExpressions::times(Sum sum, uint32_t factor) {
  sum.constant *= factor;
  for (auto& [term, coefficient] : sum.terms) coefficient *= factor;
  return sum;
}

// Of an exclusive or with all ones, the other operand.
std::optional<WaveExpressions::Id> WaveExpressions::complemented(const Inst& inst,
                                                                 const std::vector<Id>& operands) const {
  if (inst.op != Op::xor_) return std::nullopt;
  for (unsigned i = 0; i < 2; ++i)
    if (is_constant(operands[i]) && static_cast<uint32_t>(nodes_[operands[i]].imm) == UINT32_MAX)
      return operands[1 - i];
  return std::nullopt;
}

// Of an operation one of whose operands has some number in it.
WaveExpressions::Id WaveExpressions::with_some_number(const Inst& inst, const std::vector<Id>& operands) {
  if (inst.type != kI32 && inst.type != kV32) return kUnknown;
  const auto constant = [&](unsigned i) { return static_cast<uint32_t>(nodes_[operands[i]].imm); };
  const auto scaled = [&](Id id, uint32_t factor, uint32_t offset = 0) {
    Sum sum = times(known_part(id), factor);
    sum.constant += offset;
    return plus_some_number(inst.type, std::move(sum), number_zeros(id) + zeros_of(factor));
  };
  // The value is N + e. N is a multiple of 2^zeros and e is smaller, so they share no bits. An operation that leaves the bits
  // below 2^zeros alone then changes N only.
  const auto only_number_changes = [&](unsigned i, unsigned zeros) -> std::optional<Id> {
    const auto rest = below_some_number(operands[i]);
    zeros = std::min(zeros, number_zeros(operands[i]));
    if (!rest || maximum(rest->first) >> zeros != 0) return std::nullopt;
    return plus_some_number(inst.type, known_part(operands[i]), zeros);
  };
  const bool sums = std::all_of(operands.begin(), operands.end(), [&](Id id) { return is_sum(nodes_[id]); });
  unsigned low = 0;
  switch (sums ? inst.op : Op::undef) {
    case Op::splat:
      return scaled(operands[0], 1);
    case Op::add:
    case Op::sub: {
      Sum sum = known_part(operands[0]);
      const Sum other = known_part(operands[1]);
      const uint32_t factor = inst.op == Op::add ? 1 : UINT32_MAX;
      sum.constant += other.constant * factor;
      for (const auto& [term, coefficient] : other.terms) sum.terms[term] += coefficient * factor;
      return plus_some_number(inst.type, std::move(sum),
                              std::min(number_zeros(operands[0]), number_zeros(operands[1])));
    }
    case Op::shl:
      if (is_constant(operands[1])) return scaled(operands[0], 1u << constant(1) % 32);
      break;
    case Op::mul:
      if (is_constant(operands[1])) return scaled(operands[0], constant(1));
      low = uniform_zeros(operands[0]) + uniform_zeros(operands[1]);
      break;
    case Op::and_:
      for (unsigned i = 0; i < 2; ++i)
        if (is_constant(operands[1 - i]))
          if (const auto id = only_number_changes(i, static_cast<unsigned>(std::countr_one(constant(1 - i)))))
            return *id;
      low = std::max(uniform_zeros(operands[0]), uniform_zeros(operands[1]));
      break;
    case Op::not_:  // -1 - x
      return scaled(operands[0], UINT32_MAX, UINT32_MAX);
    case Op::or_:
    case Op::xor_:
      if (const auto of = complemented(inst, operands)) return scaled(*of, UINT32_MAX, UINT32_MAX);
      for (unsigned i = 0; i < 2; ++i)
        if (is_uniform(operands[1 - i]))
          if (const auto id = only_number_changes(i, uniform_zeros(operands[1 - i]))) return *id;
      break;
    default:
      break;
  }
  const bool uniform = std::all_of(operands.begin(), operands.end(), [&](Id id) { return is_uniform(id); });
  return uniform ? plus_some_number(inst.type, {}, low) : kUnknown;
}

WaveExpressions::Id WaveExpressions::make_sum(Type type, Sum sum) {
  without_differences(sum);
  Node node{.op = Op::add, .type = type, .imm = sum.constant};
  for (const auto& [term, coefficient] : sum.terms) {
    if (coefficient == 0) continue;
    node.operands.push_back(term);
    node.coefficients.push_back(coefficient);
  }
  return intern(std::move(node));
}

uint64_t WaveExpressions::maximum_of(const Node& node) const {
  const auto operand = [&](size_t i) { return maximum(node.operands[i]); };
  const auto constant = [&](unsigned i) { return is_constant(node.operands[i]); };
  const auto value = [&](unsigned i) { return nodes_[node.operands[i]].imm; };
  switch (node.op) {
    case Op::lane_id:
      return kWaveSize - 1;
    case Op::add: {
      uint64_t bound = node.imm;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const uint64_t term = operand(i);
        if (term != 0 && node.coefficients[i] > kAll32 / term) return kAll32;
        bound += term * node.coefficients[i];
        if (bound > kAll32) return kAll32;
      }
      return bound;
    }
    case Op::and_:
    case Op::umin:
      return std::min(operand(0), operand(1));
    case Op::lshr:
      return constant(1) ? operand(0) >> (value(1) % 32) : operand(0);
    case Op::bfe_u:
      return constant(2) ? (uint64_t{1} << (value(2) % 32)) - 1 : kAll32;
    default:
      return kAll32;
  }
}

uint64_t WaveExpressions::possible_bits_of(const Node& node) const {
  if (is_constant(node)) return node.imm;
  if (is_some_number(node)) return kAll32 << node.imm & kAll32;
  if (node.op == Op::and_) return possible_bits(node.operands[0]) & possible_bits(node.operands[1]);
  const uint64_t bits = bits_up_to(node.maximum);
  if (!is_sum(node)) return bits;
  const auto zeros = [](uint64_t value) { return value == 0 ? 32 : std::countr_zero(value); };
  int low = zeros(node.imm);
  for (size_t i = 0; i < node.operands.size(); ++i)
    low = std::min(low, zeros(node.coefficients[i]) + zeros(possible_bits(node.operands[i])));
  return low >= 32 ? 0 : bits & ~uint64_t{0} << low;
}

// value & mask. Low bits of a sum do not depend on the terms above them.
WaveExpressions::Id WaveExpressions::masked(Type type, Id value, uint32_t mask) {
  if ((possible_bits(value) & ~uint64_t{mask}) == 0) return value;
  const uint64_t low = bits_up_to(mask);
  Sum sum = sum_of(value);
  sum.constant &= static_cast<uint32_t>(low);
  std::erase_if(sum.terms, [&](const auto& term) {
    const uint64_t bits = possible_bits(term.first);
    const int zeros = std::countr_zero(term.second) + (bits == 0 ? 32 : std::countr_zero(bits));
    return zeros >= 32 || (low >> zeros) == 0;
  });
  const Id id =
      intern({.op = Op::and_, .type = type, .operands = {make_sum(type, sum), make_sum(type, {.constant = mask})}});
  return make_sum(type, {.terms = {{id, 1}}});
}

// value >> by, term by term: where all terms but some that together stay below the lowest bit that is kept are
// multiples of it, and the sum does not wrap around.
bool WaveExpressions::shifted_right(Id value, unsigned by, Type type, Sum& result) {
  const Sum sum = sum_of(value);
  if (by == 0 || sum.terms.size() < 2 || maximum(value) >= kAll32) return false;
  const uint64_t unit = uint64_t{1} << by;
  uint64_t rest = sum.constant & (unit - 1);
  result.constant = sum.constant >> by;
  for (const auto& [term, coefficient] : sum.terms) {
    const uint64_t bits = possible_bits(term);
    const auto zeros = static_cast<unsigned>(std::countr_zero(coefficient));
    if (zeros >= by) {
      result.terms[term] += coefficient >> by;
    } else if (bits != 0 && static_cast<unsigned>(std::countr_zero(bits)) + zeros >= by &&
               std::has_single_bit(coefficient)) {
      const Id count = make_sum(type, {.constant = by - zeros});
      const Id whole = make_sum(type, {.terms = {{term, 1}}});
      result.terms[intern({.op = Op::lshr, .type = type, .operands = {whole, count}})] += 1;
    } else {
      rest += maximum(term) * coefficient;
      if (rest >= unit) return false;
    }
  }
  return true;
}

// value >> by = high >> by: without terms that together stay below a power of two of which the other ones are multiples,
// if that is 2^by at most. Nothing carries from them into the others.
bool WaveExpressions::without_low_part(Id value, unsigned by, Sum& high) const {
  const Sum sum = sum_of(value);
  if (maximum(value) >= kAll32) return false;
  for (unsigned zeros = by; zeros > 0; --zeros) {
    const uint64_t unit = uint64_t{1} << zeros;
    uint64_t low = sum.constant & (unit - 1);
    high = {.constant = sum.constant & ~static_cast<uint32_t>(unit - 1)};
    for (const auto& [term, coefficient] : sum.terms) {
      const uint64_t bits = possible_bits(term);
      if (bits == 0 || static_cast<unsigned>(std::countr_zero(bits) + std::countr_zero(coefficient)) >= zeros)
        high.terms.emplace(term, coefficient);
      else
        low += maximum(term) * coefficient;
    }
    if (low < unit && high.terms.size() < sum.terms.size()) return true;
  }
  return false;
}

// x = (x & mask) + (x & ~mask): differences such as 2 * lane - (lane & 3) become sums of positive terms, whose bounds
// are plain to see.
void WaveExpressions::without_differences(Sum& sum) {
  const auto whole = sum.terms.find(lane_);
  if (whole == sum.terms.end() || whole->second > INT32_MAX) return;
  for (const auto& [term, coefficient] : sum.terms) {
    const Node node = nodes_[term];
    if (coefficient <= INT32_MAX || node.op != Op::and_ || !is_constant(node.operands[1])) continue;
    const Node value = nodes_[node.operands[0]];
    if (!is_sum(value) || value.imm != 0 || value.operands != std::vector<Id>{lane_} || value.coefficients[0] != 1)
      continue;
    const auto mask = static_cast<uint32_t>(nodes_[node.operands[1]].imm);
    const uint32_t factor = whole->second;
    if (factor + coefficient > INT32_MAX) continue;
    const Id same = term;
    const Sum rest = sum_of(masked(kV32, make_sum(kV32, {.terms = {{lane_, 1}}}), ~mask & (kWaveSize - 1)));
    sum.terms.erase(whole);
    sum.terms[same] += factor;
    for (const auto& [part, one] : rest.terms) sum.terms[part] += factor * one;
    return;
  }
}

WaveExpressions::Id WaveExpressions::of(const Inst& inst, const std::vector<Id>& operands) {
  const bool narrow = inst.type == kI32 || inst.type == kV32;
  if (inst.op == Op::const_) {
    if (narrow) return make_sum(inst.type, {.constant = static_cast<uint32_t>(inst.imm)});
    return intern({.op = Op::const_, .type = inst.type, .imm = inst.imm});
  }
  if (inst.op == Op::lane_id) return leaf(Op::lane_id, kV32, 0);
  if (inst.op == Op::get_field) return invariant_field(inst.imm) ? leaf(Op::get_field, inst.type, inst.imm) : kUnknown;
  if (!repeatable(inst.op) || inst.type.is_tuple()) return kUnknown;
  if (std::find(operands.begin(), operands.end(), kUnknown) != operands.end()) return kUnknown;
  if (std::find(operands.begin(), operands.end(), kUndetermined) != operands.end()) return kUndetermined;

  if (std::any_of(operands.begin(), operands.end(), [&](Id id) { return has_some_number(id); }))
    return with_some_number(inst, operands);

  // What is the same in all lanes is a scalar.
  if (inst.type == kV32 && also_scalar(inst.op) &&
      std::all_of(operands.begin(), operands.end(), [&](Id id) { return is_uniform(id); })) {
    std::vector<Id> scalars;
    scalars.reserve(operands.size());
    for (const Id operand : operands) scalars.push_back(make_sum(kI32, sum_of(operand)));
    return make_sum(kV32, sum_of(narrow_value(inst, kI32, scalars)));
  }
  if (narrow) return narrow_value(inst, inst.type, operands);
  return intern({.op = inst.op, .type = inst.type, .imm = inst.imm, .attr = inst.attr, .operands = operands});
}

WaveExpressions::Id WaveExpressions::narrow_value(const Inst& inst, Type type, const std::vector<Id>& operands) {
  const auto constant = [&](unsigned i) { return static_cast<uint32_t>(nodes_[operands[i]].imm); };
  const auto scaled = [&](Id id, uint32_t factor) { return times(sum_of(id), factor); };
  const auto total = [&](Id id, Sum sum) {
    const Sum other = sum_of(id);
    sum.constant += other.constant;
    for (const auto& [term, coefficient] : other.terms) sum.terms[term] += coefficient;
    return make_sum(type, sum);
  };
  const bool disjoint = operands.size() == 2 && (possible_bits(operands[0]) & possible_bits(operands[1])) == 0;
  switch (inst.op) {
    case Op::splat:
      return make_sum(kV32, sum_of(operands[0]));
    case Op::add:
      return total(operands[0], sum_of(operands[1]));
    case Op::sub:
      return total(operands[0], scaled(operands[1], UINT32_MAX));
    case Op::not_:  // -1 - x
      return total(make_sum(type, {.constant = UINT32_MAX}), scaled(operands[0], UINT32_MAX));
    case Op::or_:
    case Op::xor_:
      if (disjoint) return total(operands[0], sum_of(operands[1]));
      if (const auto of = complemented(inst, operands))
        return total(make_sum(type, {.constant = UINT32_MAX}), scaled(*of, UINT32_MAX));
      break;
    case Op::shl:
      if (is_constant(operands[1])) return make_sum(type, scaled(operands[0], 1u << constant(1) % 32));
      break;
    case Op::lshr: {
      Sum sum;
      if (is_constant(operands[1]) && shifted_right(operands[0], constant(1) % 32, type, sum))
        return make_sum(type, sum);
      if (is_constant(operands[1]) && without_low_part(operands[0], constant(1) % 32, sum)) {
        if (sum.terms.empty()) return make_sum(type, {.constant = sum.constant >> constant(1) % 32});
        Id whole = make_sum(type, sum);
        const Type shifted = is_uniform(whole) ? kI32 : type;
        whole = make_sum(shifted, sum);
        const Id by = make_sum(shifted, {.constant = constant(1) % 32});
        return make_sum(type, {.terms = {{intern({.op = Op::lshr, .type = shifted, .operands = {whole, by}}), 1}}});
      }
      break;
    }
    case Op::mul:
      for (unsigned i = 0; i < 2; ++i)
        if (is_constant(operands[i])) return make_sum(type, scaled(operands[1 - i], constant(i)));
      break;
    case Op::and_:
      for (unsigned i = 0; i < 2; ++i)
        if (is_constant(operands[i])) return masked(type, operands[1 - i], constant(i));
      break;
    default:
      break;
  }
  const Id id = intern({.op = inst.op, .type = type, .imm = inst.imm, .attr = inst.attr, .operands = operands});
  return make_sum(type, {.terms = {{id, 1}}});
}

}  // namespace wavejit::ir
