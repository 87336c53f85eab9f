// What can be said about lane masks relative to each other from the operations that made them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir {

// A fact about two values holds wherever both are available: the latest instance of one against the latest of the
// other. Through phis facts are proven by induction over the edges. False means "not shown". The control-flow graph
// must not change while the object is used; instructions may.
class MaskFacts {
 public:
  explicit MaskFacts(const Dominators& dominators) : dominators_(dominators) {}

  [[nodiscard]] bool implies(const Inst* a, const Inst* b);   // every lane of a is in b
  [[nodiscard]] bool disjoint(const Inst* a, const Inst* b);  // no lane is in both
  // Every lane that is in all of `conjunction` is in one of `masks`.
  [[nodiscard]] bool covered(std::vector<const Inst*> conjunction, std::vector<const Inst*> masks);
  // The terms whose union is the union of `terms`, with what others contain left out.
  [[nodiscard]] std::vector<Inst*> normalised_union(std::vector<Inst*> terms);
  // A value that always equals the union of two phis of one block; null when none is known. This is what EXEC is after
  // a divergent loop: lanes still active or left through the break mask are the lanes that came in.
  [[nodiscard]] Inst* union_of_phis(Inst* a, Inst* b);

  // Whether the value was computed before the block can be entered: the same instance while control stays below the
  // block.
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
