// Wave expressions: values that can be recomputed anywhere in the life of a wave. They depend only on the lane number,
// on fields of the wave state that never change, on the scalar registers at the unit's start, and on scalars that the
// unit computes once.
//
// Of other values the part that differs between lanes may be such an expression. They have the form "some number, plus
// an expression". The number is the same in all lanes, and a multiple of a power of two. Nothing else is known of it: two
// values of this form may differ although their ids are equal, so computable() rejects them.
//
// Expressions are interned: equal ids mean equal values. A 32-bit sum has the form constant + sum of coefficient * term
// (modulo 2^32), so that addresses that advance step by step do not grow.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

class WaveExpressions {
 public:
  using Id = uint32_t;
  static constexpr Id kUnknown = 0;       // not a wave expression (bottom)
  static constexpr Id kUndetermined = 1;  // nothing is known yet (top): meets with every value

  WaveExpressions();

  // The value of a pure operation, constant or invariant field, given those of its operands.
  [[nodiscard]] Id of(const Inst& inst, const std::vector<Id>& operands);
  // The i32 that scalar register `index` holds at the start.
  [[nodiscard]] Id initial_sgpr(unsigned index);
  // The i32 result of an instruction that executes once, before all uses of the expression.
  [[nodiscard]] Id computed_once(const Inst& inst);
  // Lattice meet at a merge point: the value if both predecessors agree.
  [[nodiscard]] Id meet(Id a, Id b);
  // "Some number" of 32 bits with at least `zeros` trailing zeros.
  [[nodiscard]] Id some_number(Type type, unsigned zeros);
  // Trailing zeros of a uniform value; of a divergent one, trailing zeros of its uniform part.
  [[nodiscard]] unsigned uniform_zeros(Id id) const;
  [[nodiscard]] bool has_some_number(Id id) const;
  // For the sum of something that is the same in all lanes ("some number", scalars) and e: e; and the value of e in lane 0 if
  // it is constant.
  [[nodiscard]] std::optional<Id> beside_uniform_part(Id id);
  [[nodiscard]] std::optional<uint32_t> in_lane_0(Id id) const { return nodes_[id].in_lane_0; }
  // For "some number, plus e" where e is below 2^zeros and the number is a multiple of that: e, and zeros. So the bits above
  // are the number's in all lanes.
  [[nodiscard]] std::optional<std::pair<Id, unsigned>> below_some_number(Id id);

  [[nodiscard]] Type type(Id id) const { return nodes_[id].type; }
  [[nodiscard]] bool is_constant(Id id) const { return is_constant(nodes_[id]); }
  [[nodiscard]] bool is_zero(Id id) const { return is_constant(id) && nodes_[id].imm == 0; }
  // Returns true if the value is `factor` times `term`.
  [[nodiscard]] bool is_multiple(Id id, Id term, uint32_t factor) const;
  // Returns true for results of initial_sgpr() and computed_once().
  [[nodiscard]] bool is_found(Id id) const;
  // Cost of recomputation: 1 per scalar operation, 4 per vector operation; constants and leaves are free.
  [[nodiscard]] unsigned cost(Id id) const { return nodes_[id].cost; }
  // Returns true if the value can be recomputed where registers hold factor * term for all (term, factor) that `held`
  // accepts. `held` must accept leaves of kind is_found() for the expression to be computable.
  template <typename Held>
  bool computable(Id id, const Held& held) const;
  // Emits the computation through `make(op, type, operands, imm, attr)`. `read(term, factor)` provides scalars that
  // registers hold.
  template <typename Held, typename Read, typename Make>
  Inst* materialise(Id id, const Held& held, const Read& read, const Make& make) const;

 private:
  static constexpr uint64_t kAll32 = 0xffffffff;
  struct Node {
    Op op = Op::undef;  // add: `constant` plus the terms, for 32-bit types
    Type type = kNone;
    uint64_t imm = 0;
    uint32_t attr = 0;
    std::vector<Id> operands;
    std::vector<uint32_t> coefficients;  // of the operands, when this is a sum
    // What follows from the operands. Interning computes it once for each node, as an expression may use another one
    // twice, which uses a third one twice, and so on.
    unsigned cost = 0;
    uint64_t maximum = kAll32, possible_bits = kAll32;  // of 32-bit values, as is the next one
    std::optional<uint32_t> in_lane_0{};
    bool operator<(const Node& other) const;
  };
  static constexpr Op kComputedOnce = Op::extract;  // `imm` is the instruction
  static constexpr Op kSomeNumber = Op::undef;
  struct Sum {
    uint32_t constant = 0;
    std::map<Id, uint32_t> terms;
  };

  Id intern(Node node);
  Id leaf(Op op, Type type, uint64_t imm);
  [[nodiscard]] Sum sum_of(Id id) const;
  Id make_sum(Type type, Sum sum);
  Id masked(Type type, Id value, uint32_t mask);
  void without_differences(Sum& sum);
  [[nodiscard]] uint64_t possible_bits(Id id) const { return nodes_[id].possible_bits; }
  [[nodiscard]] uint64_t maximum(Id id) const { return nodes_[id].maximum; }
  [[nodiscard]] unsigned cost_of(const Node& node) const;
  [[nodiscard]] uint64_t maximum_of(const Node& node) const;
  [[nodiscard]] uint64_t possible_bits_of(const Node& node) const;
  [[nodiscard]] std::optional<uint32_t> in_lane_0_of(const Node& node) const;
  [[nodiscard]] bool is_constant(const Node& node) const;
  [[nodiscard]] bool is_sum(const Node& node) const { return node.op == Op::add && node.type.bits() == 32; }
  [[nodiscard]] bool is_scalar_leaf(const Node& node) const {
    return node.op == Op::get_sgpr || node.op == kComputedOnce || is_some_number(node);
  }
  [[nodiscard]] bool is_some_number(const Node& node) const { return node.op == kSomeNumber && node.type == kI32; }
  [[nodiscard]] bool is_uniform(Id id) const;
  bool without_uniform_part(Id id, Sum& sum) const;
  Id narrow_value(const Inst& inst, Type type, const std::vector<Id>& operands);
  [[nodiscard]] Sum known_part(Id id) const;
  [[nodiscard]] unsigned number_zeros(Id id) const;
  [[nodiscard]] unsigned term_zeros(Id term, uint32_t coefficient) const;
  Id plus_some_number(Type type, Sum sum, unsigned zeros);
  [[nodiscard]] static Sum times(Sum sum, uint32_t factor);
  [[nodiscard]] std::optional<Id> complemented(const Inst& inst, const std::vector<Id>& operands) const;
  Id with_some_number(const Inst& inst, const std::vector<Id>& operands);
  bool shifted_right(Id value, unsigned by, Type type, Sum& result);
  bool without_low_part(Id value, unsigned by, Sum& high) const;

  std::vector<Node> nodes_;
  Id lane_ = kUnknown;  // the term
  std::map<Node, Id> index_;
};

template <typename Held>
bool WaveExpressions::computable(Id id, const Held& held) const {
  const Node& node = nodes_[id];
  if (is_some_number(node)) return false;
  if (is_scalar_leaf(node)) return held(id, 1u);
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (!computable(node.operands[i], held) && !(is_sum(node) && held(node.operands[i], node.coefficients[i])))
      return false;
  return true;
}

template <typename Held, typename Read, typename Make>
Inst* WaveExpressions::materialise(Id id, const Held& held, const Read& read, const Make& make) const {
  const Node& node = nodes_[id];
  if (is_scalar_leaf(node)) return read(id, 1u);
  if (!is_sum(node)) {
    std::vector<Inst*> operands;
    for (const Id operand : node.operands) operands.push_back(materialise(operand, held, read, make));
    return make(node.op, node.type, operands, node.imm, node.attr);
  }
  // Scalar terms and the constant first, as one scalar.
  const auto constant = [&](Type type, uint64_t value) {
    return make(Op::const_, type, std::vector<Inst*>{}, value, 0u);
  };
  const auto add = [&](Inst* a, Inst* b) {
    return a ? make(Op::add, b->type, std::vector<Inst*>{a, b}, uint64_t{0}, 0u) : b;
  };
  Inst* parts[2] = {nullptr, nullptr};  // scalar, vector
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const uint32_t factor = node.coefficients[i];
    const bool computed = computable(node.operands[i], held);
    Inst* term = computed ? materialise(node.operands[i], held, read, make) : read(node.operands[i], factor);
    if (computed && factor != 1) {
      const bool power = (factor & (factor - 1)) == 0;
      const auto shift = static_cast<uint64_t>(__builtin_ctz(factor));
      Inst* by = constant(term->type, power ? shift : factor);
      term = make(power ? Op::shl : Op::mul, term->type, std::vector<Inst*>{term, by}, uint64_t{0}, 0u);
    }
    Inst*& part = parts[term->type.is_vector()];
    part = add(part, term);
  }
  const auto value = static_cast<uint32_t>(node.imm);
  if (parts[0] && (value != 0)) parts[0] = add(parts[0], constant(kI32, value));
  if (!node.type.is_vector()) return parts[0] ? parts[0] : constant(kI32, value);
  if (parts[0]) {
    Inst* splat = make(Op::splat, kV32, std::vector<Inst*>{parts[0]}, uint64_t{0}, 0u);
    return add(parts[1], splat);
  }
  if (!parts[1]) return constant(kV32, value);
  return value == 0 ? parts[1] : add(parts[1], constant(kV32, value));
}

}  // namespace wavejit::ir
