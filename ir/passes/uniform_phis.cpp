// Vector phis whose value is the same in all lanes become scalar phis: counters and LDS addresses of loops that
// compilers keep in vector registers.
#include <algorithm>

#include "ir/analysis/dominators.h"
#include "ir/analysis/lane_shape.h"
#include "ir/passes/passes.h"
#include "ir/passes/phi_editor.h"

namespace wavejit::ir::passes {
namespace {

constexpr unsigned kMaxPhiDepth = 8;

class UniformPhis {
 public:
  explicit UniformPhis(Function& function) : function_(function), dominators_(function) {}

  bool run() {
    for (const Block* block : dominators_.order()) {
      for (Inst* inst : block->insts) {
        if (inst->op != Op::phi) break;
        if (inst->type.is_vector()) scalars_.emplace(inst, nullptr);
      }
    }
    keep_scalar_work();
    // Most functions have no such phi, and do without the shapes.
    if (scalars_.empty()) return false;
    const LaneShapes shapes(function_);
    std::erase_if(scalars_, [&](const auto& item) { return !shapes.of(item.first).is_uniform(); });
    keep_scalar_work();
    return !scalars_.empty() && materialise();
  }

 private:
  // Drops phis with an operand that would not become a splat.
  void keep_scalar_work() {
    for (bool changed = true; changed;) {
      changed = std::erase_if(scalars_, [&](const auto& item) {
                  return !std::all_of(item.first->operands.begin(), item.first->operands.end(),
                                      [&](const Inst* operand) { return scalar_work(operand, kMaxPhiDepth); });
                }) > 0;
    }
  }

  // Whether the peephole rules turn the value into a splat once the phis are splats.
  bool scalar_work(const Inst* inst, unsigned depth) const {
    if (inst->is_const() || inst->op == Op::splat || inst->op == Op::splat64 || inst->type.is_scalar()) return true;
    if (inst->op == Op::phi) return scalars_.contains(inst);
    if (depth == 0 || !is_pure(inst->op) || !inst->type.is_vector()) return false;
    const char result = op_info(inst->op).result;
    if (result != 'N' && result != 'V' && result != 'X' && result != 'L') return false;
    return inst->op != Op::extract && !inst->operands.empty() &&
           std::all_of(inst->operands.begin(), inst->operands.end(),
                       [&](const Inst* operand) { return scalar_work(operand, depth - 1); });
  }

  Inst* scalar_at_end(PhiEditor& editor, Block* block, Inst* value) {
    const bool wide = value->type == kV64;
    if (const auto it = scalars_.find(value); it != scalars_.end()) return it->second;
    if (value->op == Op::splat || value->op == Op::splat64) return value->operands[0];
    if (value->is_const()) return editor.at_end(block, Op::const_, wide ? kI64 : kI32, {}, value->imm);
    Inst* lane = editor.at_end(block, Op::const_, kI32, {}, 0);
    if (!wide) return editor.at_end(block, Op::readlane, kI32, {value, lane});
    Inst* lo = editor.at_end(block, Op::lo32, kV32, {value});
    Inst* hi = editor.at_end(block, Op::hi32, kV32, {value});
    Inst* first = editor.at_end(block, Op::readlane, kI32, {lo, lane});
    Inst* second = editor.at_end(block, Op::readlane, kI32, {hi, lane});
    return editor.at_end(block, Op::pack64, kI64, {first, second});
  }

  bool materialise() {
    PhiEditor editor(function_);
    std::vector<Inst*> list;  // in the order of the blocks, so that results do not depend on addresses
    for (const Block* block : dominators_.order()) {
      for (Inst* inst : block->insts) {
        if (inst->op == Op::phi && scalars_.contains(inst)) list.push_back(inst);
      }
    }
    for (Inst* phi : list) {
      function_.count(Rule::uniform_phi);
      scalars_[phi] = editor.new_phi(phi->parent, phi->type == kV64 ? kI64 : kI32);
    }
    for (Inst* phi : list) {
      for (size_t i = 0; i < phi->operands.size(); ++i) {
        editor.add_operand(scalars_[phi], scalar_at_end(editor, phi->parent->predecessors[i], phi->operands[i]));
      }
    }
    for (Inst* phi : list) {
      const Op op = phi->type == kV64 ? Op::splat64 : Op::splat;
      function_.replace_all_uses(phi, editor.behind_phis(phi->parent, op, phi->type, {scalars_[phi]}));
    }
    editor.flush();
    return true;
  }

  Function& function_;
  Dominators dominators_;
  std::unordered_map<const Inst*, Inst*> scalars_;
};

}  // namespace

PassResult uniform_phis(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const bool changed = UniformPhis(function).run();
  if (changed) function.sweep();
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
