// Where the stores of a loop begin, and whether they go on from there.
//
// A loop often writes one array per lane from its beginning to its end: `*out++ = x`, `row[k] = x`. Where a lane's array begins is
// predicted from what is known in front of the loop: phis have their first values, and what depends on memory adds nothing. The
// prediction need not be right: code that relies on it checks each store.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/loops.h"
#include "ir/function.h"

namespace wavejit::ir {

class StreamPlace {
 public:
  StreamPlace(const Loop& loop, const Dominators& dominators) : loop_(loop), dominators_(dominators) {}

  // How the prediction of a value is made in front of the loop.
  enum class Source : uint8_t {
    unknown,
    itself,    // it is from outside, or a constant
    initial,   // a phi of the header: what comes into the loop
    operand,   // as that of one operand
    computed,  // by the same operation; operands that are unknown are 0
  };
  struct Prediction {
    Source source = Source::unknown;
    unsigned operand = 0;
  };
  [[nodiscard]] Prediction of(const Inst* value);

  // Whether the address of a store is predicted, and what it depends on in the loop only ever has something added: a small constant,
  // or what the loop computes. By other steps a loop goes through an array that lanes share.
  [[nodiscard]] bool goes_on(const Inst& store);

 private:
  static constexpr unsigned kMaxDepth = 24;
  static constexpr uint64_t kLargestStep = 16;

  [[nodiscard]] bool inside(const Inst* value) const { return loop_.body.contains(value->parent); }
  Prediction predict(const Inst& inst);
  bool collect_phis(const Inst* value, unsigned depth);
  [[nodiscard]] bool stays(const Inst* value, unsigned depth) const;
  bool grows(const Inst* value, unsigned depth);

  const Loop& loop_;
  const Dominators& dominators_;
  std::unordered_map<const Inst*, Prediction> predictions_;
  std::unordered_set<const Inst*> phis_, visited_, growing_;
};

}  // namespace wavejit::ir
