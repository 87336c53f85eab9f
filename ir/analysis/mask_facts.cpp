#include "ir/analysis/mask_facts.h"

#include <algorithm>

namespace wavejit::ir {
namespace {

bool empty(const Inst* mask) {
  return mask->is_const(0);
}
bool full(const Inst* mask) {
  return mask->is_const(~uint64_t{0});
}

// Operations whose operands proofs go on with. That of `not` is of use on one side only.
bool is_taken_apart(Op op) {
  return op == Op::and_ || op == Op::andn || op == Op::or_ || op == Op::xor_ || op == Op::select || op == Op::phi;
}

}  // namespace

bool MaskFacts::implies(const Inst* a, const Inst* b) {
  return query(a, b, Kind::implies);
}
bool MaskFacts::disjoint(const Inst* a, const Inst* b) {
  return query(a, b, Kind::disjoint);
}

std::optional<bool> MaskFacts::evident(const Inst* a, const Inst* b, Kind kind) {
  if (kind == Kind::implies) {
    if (a == b || empty(a) || full(b)) return true;
    if (a->is_const() && b->is_const()) return (a->imm & ~b->imm) == 0;
    if (!is_taken_apart(a->op) && b->op != Op::not_ && !is_taken_apart(b->op)) return false;
  } else {
    if (empty(a) || empty(b)) return true;
    if (a->is_const() && b->is_const()) return (a->imm & b->imm) == 0;
    if (a->op != Op::not_ && !is_taken_apart(a->op) && b->op != Op::not_ && !is_taken_apart(b->op)) return false;
  }
  return std::nullopt;
}

bool MaskFacts::query(const Inst* a, const Inst* b, Kind kind) {
  if (const std::optional<bool> answer = evident(a, b, kind)) return *answer;
  const uint64_t key = key_of(a, b, kind);
  if (const Record* known = records_.find(key); known != nullptr && known->answer != Answer::none)
    return known->answer == Answer::yes;
  budget_ = limits_.steps;
  const bool result = prove(a, b, kind, limits_.depth);
  records_.at(key).answer = result ? Answer::yes : Answer::no;
  return result;
}

// Whether what is assumed with `inner` is all that is assumed with `outer`, or more.
bool MaskFacts::includes(Assumption inner, Assumption outer) const {
  while (inner > outer) inner = outer_[inner];
  return inner == outer;
}

bool MaskFacts::prove(const Inst* a, const Inst* b, Kind kind, unsigned depth) {
  if (depth == 0) ++cuts_;
  if (depth == 0 || --budget_ < 0) return false;
  if (const std::optional<bool> answer = evident(a, b, kind)) return *answer;
  const bool may_be_assumed = a->op == Op::phi || b->op == Op::phi;
  if (may_be_assumed && std::find(assumed_.begin(), assumed_.end(), Claim{a, b, kind}) != assumed_.end()) return true;
  const uint64_t key = key_of(a, b, kind);
  const Assumption under = made_.empty() ? 0 : made_.back();
  if (const Record* last = records_.find(key)) {
    if (last->answer == Answer::yes) return true;
    // What is proven holds if more is assumed. What is not is not proven with less, nor with less depth.
    if (last->attempt == Answer::yes && includes(under, last->under)) return true;
    if (last->attempt == Answer::no && depth <= last->depth && includes(last->under, under)) {
      cuts_ += last->depth != limits_.depth;
      return false;
    }
  }
  const unsigned cuts = cuts_;
  const bool proven = kind == Kind::implies ? prove_implies(a, b, depth - 1) : prove_disjoint(a, b, depth - 1);
  if (proven || budget_ >= 0) {
    Record& record = records_.at(key);
    record.under = under;
    record.depth = static_cast<uint16_t>(cuts == cuts_ ? limits_.depth : depth);
    record.attempt = proven ? Answer::yes : Answer::no;
  }
  return proven;
}

// Induction over the edges into a phi's block: the claim may be used for values of earlier turns.
bool MaskFacts::prove_phi(const Inst* phi, const Inst* other, bool phi_is_a, Kind kind, unsigned depth) {
  const bool together = other->op == Op::phi && other->parent == phi->parent;
  if (!together && !precedes(other, phi->parent)) return false;
  const size_t mark = assumed_.size();
  assumed_.push_back(phi_is_a ? Claim{phi, other, kind} : Claim{other, phi, kind});
  outer_.push_back(made_.empty() ? 0 : made_.back());
  made_.push_back(static_cast<Assumption>(outer_.size() - 1));
  bool proven = true;
  for (size_t i = 0; i < phi->operands.size() && proven; ++i) {
    const Inst* incoming = phi->operands[i];
    const Inst* partner = together ? other->operands[i] : other;
    proven = phi_is_a ? prove(incoming, partner, kind, depth) : prove(partner, incoming, kind, depth);
  }
  assumed_.resize(mark);
  made_.resize(mark);
  return proven;
}

bool MaskFacts::prove_implies(const Inst* a, const Inst* b, unsigned depth) {
  const auto sub = [&](const Inst* x, const Inst* y) { return prove(x, y, Kind::implies, depth); };
  switch (a->op) {
    case Op::and_:
      if (sub(a->operands[0], b) || sub(a->operands[1], b)) return true;
      break;
    case Op::andn:
      if (sub(a->operands[0], b)) return true;
      break;
    case Op::or_:
    case Op::xor_:
      if (sub(a->operands[0], b) && sub(a->operands[1], b)) return true;
      break;
    case Op::select:
      if (a->operands[0]->type == kI1 && sub(a->operands[1], b) && sub(a->operands[2], b)) return true;
      break;
    case Op::phi:
      if (prove_phi(a, b, true, Kind::implies, depth)) return true;
      break;
    default:
      break;
  }
  switch (b->op) {
    case Op::and_:
      return sub(a, b->operands[0]) && sub(a, b->operands[1]);
    case Op::or_:
      return sub(a, b->operands[0]) || sub(a, b->operands[1]);
    case Op::andn:
      return sub(a, b->operands[0]) && prove(a, b->operands[1], Kind::disjoint, depth);
    case Op::not_:
      return prove(a, b->operands[0], Kind::disjoint, depth);
    case Op::select:
      return b->operands[0]->type == kI1 && sub(a, b->operands[1]) && sub(a, b->operands[2]);
    case Op::phi:
      return !(a->op == Op::phi && a->parent == b->parent) && prove_phi(b, a, false, Kind::implies, depth);
    default:
      return false;
  }
}

bool MaskFacts::prove_disjoint(const Inst* a, const Inst* b, unsigned depth) {
  return prove_disjoint_by(a, b, depth) || prove_disjoint_by(b, a, depth);
}

// From how `a` was made.
bool MaskFacts::prove_disjoint_by(const Inst* a, const Inst* b, unsigned depth) {
  const auto sub = [&](const Inst* x) { return prove(x, b, Kind::disjoint, depth); };
  switch (a->op) {
    case Op::andn:
      return prove(b, a->operands[1], Kind::implies, depth) || sub(a->operands[0]);
    case Op::not_:
      return prove(b, a->operands[0], Kind::implies, depth);
    case Op::and_:
      return sub(a->operands[0]) || sub(a->operands[1]);
    case Op::or_:
    case Op::xor_:
      return sub(a->operands[0]) && sub(a->operands[1]);
    case Op::select:
      return a->operands[0]->type == kI1 && sub(a->operands[1]) && sub(a->operands[2]);
    case Op::phi:
      return prove_phi(a, b, true, Kind::disjoint, depth);
    default:
      return false;
  }
}

bool MaskFacts::covered(std::span<const Inst* const> conjunction, std::span<const Inst* const> masks) {
  const auto inside = [&](const Inst* mask) {
    return std::any_of(conjunction.begin(), conjunction.end(), [&](const Inst* part) { return implies(part, mask); });
  };
  for (const Inst* mask : masks) {
    if (inside(mask)) return true;
    if (mask->op == Op::and_ && inside(mask->operands[0]) && inside(mask->operands[1])) return true;
  }
  // Of lanes inside x, those outside andn(x, y) are inside y.
  for (size_t i = 0; i < masks.size(); ++i) {
    const Inst* mask = masks[i];
    const bool complement = mask->op == Op::not_;
    if (!complement && (mask->op != Op::andn || !inside(mask->operands[0]))) continue;
    if (masks.size() == 1) return false;
    std::vector<const Inst*> parts(conjunction.begin(), conjunction.end());
    parts.push_back(mask->operands[complement ? 0 : 1]);
    std::vector<const Inst*> rest(masks.begin(), masks.end());
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(i));
    if (covered(parts, rest)) return true;
  }
  return false;
}

std::vector<Inst*> MaskFacts::normalised_union(std::vector<Inst*> terms) {
  constexpr size_t kMaxTerms = 8;
  const auto within_others = [&](auto&& self, const Inst* mask, size_t skip, unsigned depth) -> bool {
    for (size_t i = 0; i < terms.size(); ++i) {
      if (i != skip && implies(mask, terms[i])) return true;
    }
    return depth > 0 && mask->op == Op::or_ && self(self, mask->operands[0], skip, depth - 1) &&
           self(self, mask->operands[1], skip, depth - 1);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < terms.size() && !changed; ++i) {
      Inst* term = terms[i];
      if (term->op == Op::or_ && terms.size() < kMaxTerms) {
        terms[i] = term->operands[0];
        terms.push_back(term->operands[1]);
        changed = true;
      } else if (term->op == Op::andn && within_others(within_others, term->operands[1], i, 4)) {
        terms[i] = term->operands[0];  // (p & ~q) | q ...
        changed = true;
      } else if (terms.size() > 1 && within_others(within_others, term, i, 0)) {
        terms.erase(terms.begin() + static_cast<ptrdiff_t>(i));
        changed = true;
      }
    }
  }
  return terms;
}

Inst* MaskFacts::union_of_phis(Inst* a, Inst* b) {
  if (a->op != Op::phi || b->op != Op::phi || a->parent != b->parent) return nullptr;
  Inst* result = nullptr;
  for (size_t i = 0; i < a->operands.size(); ++i) {
    const std::vector<Inst*> terms = normalised_union({a->operands[i], b->operands[i]});
    const bool unchanged = terms.size() == 2 && ((terms[0] == a && terms[1] == b) || (terms[0] == b && terms[1] == a));
    if (unchanged) continue;
    if (terms.size() != 1 || !precedes(terms[0], a->parent)) return nullptr;
    const bool same =
        result == nullptr || result == terms[0] || (terms[0]->is_const() && result->is_const(terms[0]->imm));
    if (!same) return nullptr;
    result = terms[0];
  }
  return result;
}

}  // namespace wavejit::ir
