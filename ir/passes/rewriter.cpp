#include "ir/passes/rewriter.h"

#include "ir/analysis/dominators.h"
#include "ir/fold.h"
#include "ir/passes/passes.h"
#include "ir/signature.h"

namespace wavejit::ir::passes {

std::vector<Block*> Rewriter::begin() {
  changed_ = drop_unreachable(function_);
  return reverse_postorder(function_);
}

void Rewriter::enter(Block* block) {
  block_ = block;
  in_phis_ = true;
  for (auto& table : constants_) table.clear();
}

void Rewriter::finish_phis() {
  in_phis_ = false;
  block_->insts.insert(block_->insts.end(), after_phis_.begin(), after_phis_.end());
  after_phis_.clear();
}

Inst* Rewriter::place(Inst* inst) {
  inst->guest_pc = guest_pc_;
  inst->parent = block_;
  (in_phis_ ? after_phis_ : block_->insts).push_back(inst);
  ++created_;
  touched_ = true;
  return inst;
}

bool Rewriter::clean() {
  return function_.sweep() != created_ || changed_;
}

Inst* Rewriter::constant(Type type, uint64_t bits) {
  bits = truncate_to(type, bits);
  Inst*& known = constants_[static_cast<unsigned>(type.kind)].at(bits);
  if (known != nullptr && known->parent == block_) return known;
  known = function_.create(Op::const_, type);
  known->imm = bits;
  return place(known);
}

Inst* Rewriter::make(Op op, std::initializer_list<Inst*> operands, uint32_t attr, uint64_t imm) {
  Inst model;
  model.op = op;
  model.attr = attr;
  model.imm = imm;
  return make_like(&model, operands);
}

Inst* Rewriter::make_like(const Inst* model, const std::vector<Inst*>& operands) {
  Inst probe;
  probe.op = model->op;
  probe.attr = model->attr;
  probe.imm = model->imm;
  probe.operands = operands;
  std::string why;
  const std::optional<Type> type = infer_type(probe.op, probe.operands, &why);
  WAVEJIT_CHECK(type.has_value(), "{}: {}", op_info(probe.op).mnemonic, why);
  probe.type = *type;
  if (const std::optional<uint64_t> value = fold_to_constant(probe)) return constant(*type, *value);
  if (Inst* existing = fold_to_existing(probe)) return existing;
  Inst* inst = function_.create(probe.op, *type, operands);
  inst->attr = probe.attr;
  inst->imm = probe.imm;
  return place(inst);
}

}  // namespace wavejit::ir::passes
