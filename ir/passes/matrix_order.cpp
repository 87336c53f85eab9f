// Groups matrix products so that they run back to back. Compilers interleave them with the loads of factors of later
// products; the backend keeps accumulators in registers from one product to the next if nothing is in between. A
// product moves down to the first use of its result, or to the end of its block. Computations with results, such as the
// halves of 64-bit ones, move along, after the products.
#include <algorithm>
#include <unordered_set>

#include "ir/matrix.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// Rows of A and B that wait in memory for the products. If the first-level cache cannot hold them beside the
// accumulators, they are split into several batches.
constexpr size_t kMaxRowBytes = 24 << 10;

class Order {
 public:
  explicit Order(Block& block) : block_(block) {}

  bool run() {
    for (Inst* inst : block_.insts) {
      if (is_matrix_op(inst->op)) {
        if (uses(*inst, computed_)) release();
        hold(inst);
        continue;
      }
      if (inst->op != Op::phi && (uses(*inst, held_) || uses(*inst, computed_))) {
        if (is_pure(inst->op)) {
          computations_.push_back(inst);
          computed_.insert(inst);
          continue;
        }
        release();
      }
      if (is_terminator(inst->op)) release();
      insts_.push_back(inst);
    }
    const bool changed = insts_ != block_.insts;
    block_.insts = std::move(insts_);
    return changed;
  }

 private:
  using Set = std::unordered_set<const Inst*>;
  static bool uses(const Inst& inst, const Set& values) {
    return std::any_of(inst.operands.begin(), inst.operands.end(),
                       [&](const Inst* operand) { return values.contains(operand); });
  }
  void hold(Inst* inst) {
    for (size_t i = 1; i < inst->operands.size(); ++i) {
      const Inst* row = inst->operands[i];
      if (rows_.insert(row).second) bytes_ += kWaveSize * row->type.bits() / 8;
    }
    // All rows of a product together.
    if (bytes_ > kMaxRowBytes && !waiting_.empty() && waiting_.back()->operands[1] != inst->operands[1]) release();
    waiting_.push_back(inst);
    held_.insert(inst);
  }
  void release() {
    insts_.insert(insts_.end(), waiting_.begin(), waiting_.end());
    insts_.insert(insts_.end(), computations_.begin(), computations_.end());
    waiting_.clear();
    computations_.clear();
    held_.clear();
    computed_.clear();
    rows_.clear();
    bytes_ = 0;
  }

  Block& block_;
  std::vector<Inst*> insts_, waiting_;
  std::vector<Inst*> computations_;  // with results of those that wait
  Set held_, computed_, rows_;
  size_t bytes_ = 0;
};

}  // namespace

PassResult matrix_order(Function& function, const PassContext&) {
  PassResult result;
  for (const auto& block : function.blocks) {
    const bool any =
        std::any_of(block->insts.begin(), block->insts.end(), [](const Inst* inst) { return is_matrix_op(inst->op); });
    if (!any || !Order(*block).run()) continue;
    function.count(Rule::products_moved);
    result.changed = true;
  }
  return result;
}

}  // namespace wavejit::ir::passes
