// Proves relations between lane masks (subset, disjoint, cover) from the operations that compute them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir {

// A fact about two values holds wherever both are available, between the latest instances of both. Facts about phis are
// proven by induction over the edges. False means "not proven". The control-flow graph must not change while the object
// is used; instructions may.
class MaskFacts {
 public:
  explicit MaskFacts(const Dominators& dominators) : dominators_(dominators) {}

  [[nodiscard]] bool implies(const Inst* a, const Inst* b);   // every lane of a is in b
  [[nodiscard]] bool disjoint(const Inst* a, const Inst* b);  // no lane is in both
  // Every lane that is in all of `conjunction` is in one of `masks`.
  [[nodiscard]] bool covered(std::vector<const Inst*> conjunction, std::vector<const Inst*> masks);
  // The same union as that of `terms`, without terms that others contain.
  [[nodiscard]] std::vector<Inst*> normalised_union(std::vector<Inst*> terms);
  // A value that always equals the union of two phis of one block; null if none is known. EXEC after a divergent loop
  // is such a union: the lanes still active and those in the break mask are together the lanes that entered.
  [[nodiscard]] Inst* union_of_phis(Inst* a, Inst* b);

  // Returns true if the value is computed before the block is entered. Blocks that the block dominates then all see the
  // same instance.
  [[nodiscard]] bool precedes(const Inst* value, const Block* block) const {
    return value->is_const() || (value->parent != block && dominators_.dominates(value->parent, block));
  }

 private:
  enum class Kind : uint8_t { implies, disjoint };
  struct Claim {
    const Inst* a;
    const Inst* b;
    Kind kind;
    bool operator==(const Claim&) const = default;
  };
  bool query(const Inst* a, const Inst* b, Kind kind);
  bool prove(const Inst* a, const Inst* b, Kind kind, unsigned depth);
  bool prove_implies(const Inst* a, const Inst* b, unsigned depth);
  bool prove_disjoint(const Inst* a, const Inst* b, unsigned depth);
  bool prove_disjoint_by(const Inst* a, const Inst* b, unsigned depth);
  bool prove_phi(const Inst* phi, const Inst* other, bool phi_is_a, Kind kind, unsigned depth);

  const Dominators& dominators_;
  std::unordered_map<uint64_t, bool> known_[2];
  std::vector<Claim> assumed_;  // being proven by induction
  int budget_ = 0;
};

}  // namespace wavejit::ir
