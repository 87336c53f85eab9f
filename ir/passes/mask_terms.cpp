// Masks as conjunctions of comparisons and other masks, whatever operations spell them: equal ones are computed once.
// Divergent loops with several exits compute the lanes that go on once to work with them, as nested saved EXECs, and
// once to leave, as the complement of a union of break masks.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "ir/analysis/dominators.h"
#include "ir/passes/passes.h"
#include "ir/passes/reuse.h"
#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

// Bounds on one mask; expressions of real code are small.
constexpr size_t kMaxLiterals = 8;
constexpr unsigned kMaxVisits = 32;

bool is_compare(const Inst* inst) {
  return inst->op == Op::icmp || inst->op == Op::fcmp_f16 || inst->op == Op::fcmp_f32 || inst->op == Op::fcmp_f64;
}

// A mask or its complement; the masks of complementary comparisons are complements of each other.
struct Literal {
  uint32_t id;
  bool negative;
  auto operator<=>(const Literal&) const = default;
};
using Literals = std::vector<Literal>;  // sorted

class Terms {
 public:
  // The literals whose conjunction is the mask, or its complement. Empty: too many.
  [[nodiscard]] Literals of(const Inst* mask, bool negative) {
    positive_.clear();
    deferred_.clear();
    visits_ = 0;
    contradiction_ = false;
    flatten(mask, negative);
    // ~(p & q) where p is among the others is ~q.
    for (bool again = true; again && !failed();) {
      again = false;
      for (size_t i = 0; i < deferred_.size() && !failed(); ++i) {
        const Inst* product = deferred_[i];
        if (product == nullptr || !reduce(product)) continue;
        deferred_[i] = nullptr;
        again = true;
      }
    }
    for (const Inst* product : deferred_) {
      if (product != nullptr) add({product->id, true});
    }
    return failed() ? Literals{} : positive_;
  }
  [[nodiscard]] bool is_contradiction() const { return contradiction_; }

 private:
  [[nodiscard]] bool failed() const { return visits_ > kMaxVisits || positive_.size() > kMaxLiterals; }
  [[nodiscard]] bool has(Literal literal) const {
    return std::binary_search(positive_.begin(), positive_.end(), literal);
  }
  void add(Literal literal) {
    contradiction_ |= has({literal.id, !literal.negative});
    const auto at = std::lower_bound(positive_.begin(), positive_.end(), literal);
    if (at == positive_.end() || *at != literal) positive_.insert(at, literal);
  }

  void flatten(const Inst* mask, bool negative) {
    if (++visits_ > kMaxVisits) return;
    switch (mask->op) {
      case Op::not_:
        return flatten(mask->operands[0], !negative);
      case Op::and_:
        if (negative) return deferred_.push_back(mask);
        flatten(mask->operands[0], false);
        return flatten(mask->operands[1], false);
      case Op::andn:
        if (negative) return deferred_.push_back(mask);
        flatten(mask->operands[0], false);
        return flatten(mask->operands[1], true);
      case Op::or_:
        if (!negative) break;
        flatten(mask->operands[0], true);
        return flatten(mask->operands[1], true);
      default:
        break;
    }
    add(literal(mask, negative));
  }

  // Whether the complement of the product has become one literal, or nothing, or a contradiction.
  bool reduce(const Inst* product) {
    std::optional<Literal> left;
    for (unsigned i = 0; i < 2; ++i) {
      const bool inverted = product->op == Op::andn && i == 1;
      const Inst* factor = product->operands[i];
      if (factor->op == Op::and_ || factor->op == Op::andn || factor->op == Op::or_) {
        const Literal whole{factor->id, inverted};
        if (has(whole)) continue;
        if (left) return false;
        left = whole;
        continue;
      }
      const Literal own = literal(factor, inverted);
      if (has(own)) continue;
      if (has({own.id, !own.negative})) return true;  // the product is empty anyway
      if (left) return false;
      left = own;
    }
    if (left) {
      add({left->id, !left->negative});
    } else {
      contradiction_ = true;
    }
    return true;
  }

  Literal literal(const Inst* mask, bool negative) {
    while (mask->op == Op::not_) {
      mask = mask->operands[0];
      negative = !negative;
    }
    if (!is_compare(mask)) return {mask->id, negative};
    uint32_t attr = mask->attr;
    if (mask->op == Op::icmp) {
      const ICmp other = inverse(static_cast<ICmp>(attr));
      if (static_cast<uint32_t>(other) < attr) {
        attr = static_cast<uint32_t>(other);
        negative = !negative;
      }
    } else if ((attr >> fpenv::kFCmpShift & 8) != 0) {
      // The 16 predicates are ordered so that p and 15 - p are complements, NaN included.
      attr ^= 15u << fpenv::kFCmpShift;
      negative = !negative;
    }
    const auto key = std::tuple(mask->op, mask->operands[0]->id, mask->operands[1]->id, attr);
    return {compares_.try_emplace(key, mask->id).first->second, negative};
  }

  std::map<std::tuple<Op, uint32_t, uint32_t, uint32_t>, uint32_t> compares_;
  Literals positive_;
  std::vector<const Inst*> deferred_;  // products whose complements are terms
  unsigned visits_ = 0;
  bool contradiction_ = false;
};

}  // namespace

PassResult mask_terms(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const Dominators dominators(function);
  Terms terms;
  EarlierValues values;
  std::map<Literals, EarlierValues::List> known[2];  // conjunctions, unions
  bool changed = false;
  for (Block* block : dominators.order()) {
    bool removed = false;
    for (Inst* inst : block->insts) {
      if (inst->type != kMask) continue;
      const bool is_union = inst->op == Op::or_;
      if (!is_union && inst->op != Op::and_ && inst->op != Op::andn) continue;
      const Literals literals = terms.of(inst, is_union);
      if (literals.empty() || terms.is_contradiction()) continue;
      removed |=
          replace_by_earlier(function, dominators, values, known[is_union ? 1 : 0][literals], inst,
                             is_union ? Rule::same_union : Rule::same_conjunction, [](const Inst&) { return true; });
    }
    if (removed) std::erase_if(block->insts, [](const Inst* inst) { return inst->parent == nullptr; });
    changed |= removed;
  }
  if (changed) function.sweep();
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
