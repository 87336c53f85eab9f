// 64-bit unsigned divisions as compilers spell them for this hardware, as one operation: quotients, and remainders, which
// compilers take from the steps before the quotient.
//
// LLVM (AMDGPUTargetLowering::LowerUDIVREM64) takes a reciprocal in f32, two Newton steps in 64-bit integers made of
// halves with carries, the high half of the product with the numerator, and two corrections. That is about a hundred
// instructions, and an exact quotient, whatever the operands:
//
// Let d be the divisor, D = d / 2^64, and u = 2^-24. The sum f = d (1 + a), |a| <= 2 u + u^2; its reciprocal and the
// product with 2^64 (1 - 4 u) are rounded once each, so r = 2^64 / d (1 - e) with 0 < e <= 8 u + O(u^2). Taking r apart
// into high and low half is exact, so r0 = floor(r) <= 2^64 / d. If r0 >= 1, then -d r0 modulo 2^64 is 2^64 - d r0, and
// a step is r' = floor(r (2 - r D)), which does not go beyond 1 / D either; with e_k = 1 - r_k D, e_0 <= 2^-21 + D and
// e_(k+1) <= e_k^2 + D. The estimate of the quotient is floor(n r2 / 2^64), short of n / d by less than e_1^2 / D + 2.
// For D <= 1/3 that is below 3, and so two corrections are enough; for D > 1/3 no quotient is larger than 2. (r0 = 0
// needs d > 2^64 (1 - 2^-21); then all steps leave 0.) Remainders are never negative and below 2^64.
//
// For d = 0 the reciprocal is infinite: r0 = 2^64 - 2^32, the low half being what a NaN is converted to; products with
// d are 0, both corrections are made. The quotient is floor(n r0 / 2^64) + 2 = n - ceil(n / 2^32) + 2: that is what
// Op::udiv64 gives. The remainder is n then, which is n less the product of d and that quotient.
#include <algorithm>
#include <array>

#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// The sequence as a graph. Sums and products may have their operands in either order.
class Pattern {
 public:
  using Id = uint8_t;
  static constexpr Id kNone = 0xff;
  enum class Kind : uint8_t { leaf, constant, op, multiply_add };
  struct Node {
    Kind kind = Kind::leaf;
    Op op{};
    std::array<Id, 3> operands = {kNone, kNone, kNone};
    uint32_t bits = 0;  // constant: the value; icmp: the predicate
  };
  struct Halves {
    Id lo, hi;
  };

  Pattern() {
    n = {leaf(), leaf()};
    d = {leaf(), leaf()};
    zero_ = constant(0), ones_ = constant(~0u), no_carry_ = constant(0);
    // In floats: 2^64 / d.
    const Id f = multiply_add(op(Op::cvt_f32_u32, d.hi), constant(0x4f800000), op(Op::cvt_f32_u32, d.lo));
    const Id r = op(Op::fmul_f32, op(Op::frcp_f32, f), constant(0x5f7ffffc));
    const Id high = op(Op::ftrunc_f32, op(Op::fmul_f32, r, constant(0x2f800000)));
    const Id low = multiply_add(high, constant(0xcf800000), r);
    Halves x = {op(Op::cvt_u32_f32, low), op(Op::cvt_u32_f32, high)};
    const Halves negative = {op(Op::sub, zero_, d.lo), op(Op::subb, zero_, d.hi, compare(ICmp::ne, d.lo, zero_))};
    for (unsigned step = 0; step < 2; ++step) {
      const Halves e = high_product(x, product(negative, x));
      x = {op(Op::add, x.lo, e.lo), op(Op::addc, x.hi, e.hi, carry(x.lo, e.lo))};
    }
    const Halves q = high_product(n, x);
    const Halves p = product(d, q);
    const Id borrow = compare(ICmp::ult, n.lo, p.lo);
    const Halves rest = {op(Op::sub, n.lo, p.lo), op(Op::subb, n.hi, p.hi, borrow)};
    const Id half_way = op(Op::subb, op(Op::sub, n.hi, p.hi), d.hi, borrow);
    const Halves less = {op(Op::sub, rest.lo, d.lo), op(Op::subb, half_way, zero_, compare(ICmp::ult, rest.lo, d.lo))};
    const Id twice = compare(ICmp::ne, reaches(less), zero_);
    once_ = compare(ICmp::ne, reaches(rest), zero_);
    const Halves one = plus(q, 1), two = plus(q, 2);
    quotient = {op(Op::select, once_, op(Op::select, twice, two.lo, one.lo), q.lo),
                op(Op::select, once_, op(Op::select, twice, two.hi, one.hi), q.hi)};
    const Id less_half_way = op(Op::subb, half_way, d.hi, compare(ICmp::ult, rest.lo, d.lo));
    const Halves least = {op(Op::sub, less.lo, d.lo),
                          op(Op::subb, less_half_way, zero_, compare(ICmp::ult, less.lo, d.lo))};
    remainder = {op(Op::select, once_, op(Op::select, twice, least.lo, less.lo), rest.lo),
                 op(Op::select, once_, op(Op::select, twice, least.hi, less.hi), rest.hi)};
  }

  Halves n{}, d{}, quotient{}, remainder{};
  [[nodiscard]] Id condition() const { return once_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

 private:
  Id add(Node node) {
    nodes_.push_back(node);
    return static_cast<Id>(nodes_.size() - 1);
  }
  Id leaf() { return add({}); }
  Id constant(uint32_t bits) { return add({.kind = Kind::constant, .bits = bits}); }
  Id op(Op o, Id a, Id b = kNone, Id c = kNone) { return add({.kind = Kind::op, .op = o, .operands = {a, b, c}}); }
  Id compare(ICmp p, Id a, Id b) {
    return add({.kind = Kind::op, .op = Op::icmp, .operands = {a, b, kNone}, .bits = static_cast<uint32_t>(p)});
  }
  // a * b + c, fused or not: the proof holds for both.
  Id multiply_add(Id a, Id b, Id c) { return add({.kind = Kind::multiply_add, .operands = {a, b, c}}); }
  Id carry(Id a, Id b) { return op(Op::addc_carry, a, b, no_carry_); }
  Halves product(Halves a, Halves b) {
    const Id inner = op(Op::add, op(Op::mul, a.lo, b.hi), op(Op::mulhi_u, a.lo, b.lo));
    return {op(Op::mul, a.lo, b.lo), op(Op::add, op(Op::mul, a.hi, b.lo), inner)};
  }
  // The upper 64 bits of the product.
  Halves high_product(Halves a, Halves b) {
    const Id first = op(Op::mulhi_u, a.lo, b.lo), cross = op(Op::mul, a.lo, b.hi);
    const Id sum = op(Op::add, first, cross);
    const Id second = op(Op::addc, op(Op::mulhi_u, a.lo, b.hi), zero_, carry(first, cross));
    const Id other = op(Op::mul, a.hi, b.lo), other_high = op(Op::mulhi_u, a.hi, b.lo);
    const Id c = carry(sum, other);
    const Id middle = op(Op::addc, other_high, second, c);
    const Id top = op(Op::addc, op(Op::mulhi_u, a.hi, b.hi), zero_, op(Op::addc_carry, other_high, second, c));
    const Id low = op(Op::mul, a.hi, b.hi);
    return {op(Op::add, low, middle), op(Op::addc, top, zero_, carry(low, middle))};
  }
  // -1 where the value is at least d.
  Id reaches(Halves v) {
    return op(Op::select, compare(ICmp::eq, v.hi, d.hi), op(Op::select, compare(ICmp::uge, v.lo, d.lo), ones_, zero_),
              op(Op::select, compare(ICmp::uge, v.hi, d.hi), ones_, zero_));
  }
  Halves plus(Halves v, uint32_t number) {
    const Id c = constant(number);
    return {op(Op::add, v.lo, c), op(Op::addc, v.hi, zero_, carry(v.lo, c))};
  }

  std::vector<Node> nodes_;
  Id zero_ = 0, ones_ = 0, no_carry_ = 0, once_ = 0;
};

bool is_f32(Op op) {
  return op == Op::cvt_f32_u32 || op == Op::fmul_f32 || op == Op::fadd_f32 || op == Op::fma_f32 || op == Op::frcp_f32;
}

bool commutes(Op op) {
  return op == Op::add || op == Op::mul || op == Op::mulhi_u || op == Op::addc || op == Op::addc_carry ||
         op == Op::fmul_f32;
}

ICmp mirrored(ICmp p) {
  switch (p) {
    case ICmp::ult:
      return ICmp::ugt;
    case ICmp::uge:
      return ICmp::ule;
    default:
      return p;  // eq, ne
  }
}

class Match {
 public:
  explicit Match(const Pattern& pattern) : pattern_(pattern), bound_(pattern.nodes().size()) {}

  // Whether the value is what the node stands for; remembers what the parts are, also of those found before. A value that is the
  // same in all lanes may be there as a scalar, or as its copies.
  bool find(Pattern::Id id, Inst* value) {
    if (bound_[id] != nullptr) return same(bound_[id], value);
    const Pattern::Node& node = pattern_.nodes()[id];
    const size_t mark = trail_.size();
    bound_[id] = value;
    trail_.push_back(id);
    if (parts(node, value)) return true;
    while (trail_.size() > mark) {
      bound_[trail_.back()] = nullptr;
      trail_.pop_back();
    }
    return false;
  }
  [[nodiscard]] Inst* of(Pattern::Id id) const { return bound_[id]; }

 private:
  static Inst* scalar_of(Inst* value) {
    return value->op == Op::splat || value->op == Op::splat_mask ? value->operands[0] : value;
  }
  static bool same(Inst* a, Inst* b) { return scalar_of(a) == scalar_of(b) || (a->is_const() && b->is_const(a->imm)); }
  bool parts(const Pattern::Node& node, Inst* value) {
    switch (node.kind) {
      case Pattern::Kind::leaf:
        return value->type == kV32 || value->type == kI32;
      case Pattern::Kind::constant:
        return value->is_const(node.bits) &&
               (value->type == kV32 || value->type == kI32 || (value->type == kMask && node.bits == 0));
      case Pattern::Kind::multiply_add:
        return multiply_add(node, value);
      case Pattern::Kind::op:
        break;
    }
    value = scalar_of(value);
    if (value->op != node.op) {
      // One half of a whole product.
      const bool half =
          (node.op == Op::mul && value->op == Op::lo32) || (node.op == Op::mulhi_u && value->op == Op::hi32);
      if (!half || value->operands[0]->op != Op::mul_wide_u) return false;
      value = value->operands[0];
    }
    if (is_f32(node.op) && (value->attr & fpenv::kRoundMask) != 0) return false;
    Inst* a = value->operands[0];
    if (node.op == Op::icmp) {
      const auto wanted = static_cast<ICmp>(node.bits), there = static_cast<ICmp>(value->attr);
      if (there == wanted && both(node, a, value->operands[1])) return true;
      return there == mirrored(wanted) && both(node, value->operands[1], a);
    }
    if (node.operands[1] == Pattern::kNone) return find(node.operands[0], a);
    Inst* b = value->operands[1];
    if (node.operands[2] != Pattern::kNone && node.op != Op::select) {
      if (!find(node.operands[2], value->operands[2])) return false;
    }
    if (!both(node, a, b) && !(commutes(node.op) && both(node, b, a))) return false;
    return node.op != Op::select || find(node.operands[2], value->operands[2]);
  }
  bool both(const Pattern::Node& node, Inst* a, Inst* b) {
    const size_t mark = trail_.size();
    if (find(node.operands[0], a) && find(node.operands[1], b)) return true;
    while (trail_.size() > mark) {
      bound_[trail_.back()] = nullptr;
      trail_.pop_back();
    }
    return false;
  }
  bool multiply_add(const Pattern::Node& node, Inst* value) {
    if (!is_f32(value->op) || (value->attr & fpenv::kRoundMask) != 0) return false;
    if (value->op == Op::fma_f32) {
      return find(node.operands[2], value->operands[2]) &&
             (both(node, value->operands[0], value->operands[1]) || both(node, value->operands[1], value->operands[0]));
    }
    if (value->op != Op::fadd_f32) return false;
    for (unsigned i = 0; i < 2; ++i) {
      const Inst* product = value->operands[i];
      if (product->op != Op::fmul_f32 || (product->attr & fpenv::kRoundMask) != 0) continue;
      Inst *a = product->operands[0], *b = product->operands[1];
      if (!both(node, a, b) && !both(node, b, a)) continue;
      if (find(node.operands[2], value->operands[1 - i])) return true;
    }
    return false;
  }

  const Pattern& pattern_;
  std::vector<Inst*> bound_;        // by node
  std::vector<Pattern::Id> trail_;  // in the order of binding
};

// The first of two values of a block, or null where they are not in one.
Inst* first_of(Inst* a, Inst* b) {
  if (a->parent != b->parent) return nullptr;
  const auto& insts = a->parent->insts;
  return *std::find_if(insts.begin(), insts.end(), [&](const Inst* inst) { return inst == a || inst == b; });
}

// `low`: the lower half of what `result` is.
bool replace(Function& function, const Pattern& pattern, const Pattern::Halves& result, Inst* low) {
  Match match(pattern);
  if (!match.find(result.lo, low)) return false;
  Inst* high = nullptr;
  const std::vector<Inst*> users = match.of(pattern.condition())->users;
  for (Inst* user : users) {
    if (user->op != Op::select || user->operands[0] != match.of(pattern.condition())) continue;
    if (match.find(result.hi, user)) high = user;
    if (high != nullptr) break;
  }
  if (high == nullptr) return false;
  Inst* place = first_of(low, high);
  if (place == nullptr) return false;
  const auto make = [&](Op op, Type type, std::vector<Inst*> operands) {
    Inst* inst = function.create(op, type, std::move(operands));
    inst->guest_pc = place->guest_pc;
    function.insert_before(place, inst);
    return inst;
  };
  const auto lanes = [&](Pattern::Id id) {
    Inst* value = match.of(id);
    return value->type == kV32 ? value : make(Op::splat, kV32, {value});
  };
  const auto pair = [&](const Pattern::Halves& halves) {
    Inst* low_half = lanes(halves.lo);
    return make(Op::pack64, kV64, {low_half, lanes(halves.hi)});
  };
  Inst* n = pair(pattern.n);
  Inst* d = pair(pattern.d);
  Inst* value = make(Op::udiv64, kV64, {n, d});
  if (result.lo == pattern.remainder.lo) value = make(Op::sub, kV64, {n, make(Op::mul, kV64, {value, d})});
  function.count(Rule::long_division);
  function.replace_all_uses(low, make(Op::lo32, kV32, {value}));
  function.replace_all_uses(high, make(Op::hi32, kV32, {value}));
  return true;
}

}  // namespace

PassResult long_divisions(Function& function, const PassContext&) {
  std::vector<Inst*> candidates;
  bool reciprocals = false;
  for (const auto& block : function.blocks) {
    for (Inst* inst : block->insts) {
      reciprocals |= inst->op == Op::frcp_f32;
      if (inst->op == Op::select && inst->type == kV32 && inst->operands[1]->op == Op::select)
        candidates.push_back(inst);
    }
  }
  if (!reciprocals) return {};
  // Never destroyed: threads that translate may outlive static destruction.
  static const Pattern& pattern = *new Pattern;
  bool changed = false;
  for (Inst* low : candidates)
    changed |= replace(function, pattern, pattern.quotient, low) || replace(function, pattern, pattern.remainder, low);
  if (changed) function.sweep();
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
