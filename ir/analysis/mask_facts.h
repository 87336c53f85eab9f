// Proves relations between lane masks (subset, disjoint, cover) from the operations that compute them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "internal/key_table.h"
#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir {

// A fact about two values holds wherever both are available, between the latest instances of both. Facts about phis are
// proven by induction over the edges. False means "not proven". The control-flow graph must not change while the object
// is used; instructions may.
class MaskFacts {
 public:
  // Bounds on one query; lane-mask expressions of real code are shallow.
  struct Limits {
    unsigned depth = 16;
    int steps = 600;
  };
  explicit MaskFacts(const Dominators& dominators) : MaskFacts(dominators, Limits()) {}
  MaskFacts(const Dominators& dominators, Limits limits) : dominators_(dominators), limits_(limits) {}

  [[nodiscard]] bool implies(const Inst* a, const Inst* b);   // every lane of a is in b
  [[nodiscard]] bool disjoint(const Inst* a, const Inst* b);  // no lane is in both
  // Every lane that is in all of `conjunction` is in one of `masks`.
  [[nodiscard]] bool covered(std::span<const Inst* const> conjunction, std::span<const Inst* const> masks);
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
  // An assumption that induction makes. 0: none.
  using Assumption = uint32_t;
  enum class Answer : uint8_t { none, yes, no };
  // What is known of a claim.
  struct Record {
    // The last attempt to prove it, made under this assumption and those that it was made under. `depth`: that many steps
    // into the operations are not enough.
    Assumption under = 0;
    uint16_t depth = 0;
    Answer attempt = Answer::none;
    Answer answer = Answer::none;  // without any assumption
  };
  static uint64_t key_of(const Inst* a, const Inst* b, Kind kind) {
    return uint64_t{kind == Kind::disjoint} << 63 | uint64_t{a->id} << 32 | b->id;
  }
  // The answer if it needs no proof: the values are constant or equal, or no operation relates them.
  [[nodiscard]] static std::optional<bool> evident(const Inst* a, const Inst* b, Kind kind);
  bool query(const Inst* a, const Inst* b, Kind kind);
  bool prove(const Inst* a, const Inst* b, Kind kind, unsigned depth);
  [[nodiscard]] bool includes(Assumption inner, Assumption outer) const;
  bool prove_implies(const Inst* a, const Inst* b, unsigned depth);
  bool prove_disjoint(const Inst* a, const Inst* b, unsigned depth);
  bool prove_disjoint_by(const Inst* a, const Inst* b, unsigned depth);
  bool prove_phi(const Inst* phi, const Inst* other, bool phi_is_a, Kind kind, unsigned depth);

  const Dominators& dominators_;
  const Limits limits_;
  KeyTable<Record> records_;
  std::vector<Claim> assumed_;        // being proven by induction
  std::vector<Assumption> made_;      // *assumed_
  std::vector<Assumption> outer_{0};  // by assumption: the one that it was made under
  unsigned cuts_ = 0;                 // how often the depth was not enough
  int budget_ = 0;
};

}  // namespace wavejit::ir
