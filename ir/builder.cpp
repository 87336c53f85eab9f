#include "ir/builder.h"

#include "ir/fold.h"
#include "ir/signature.h"

namespace wavejit::ir {

Inst* Builder::append(Inst* inst) {
  WAVEJIT_CHECK(block_ != nullptr, "the builder has no block");
  inst->guest_pc = guest_pc_;
  function_.append(block_, inst);
  return inst;
}

Inst* Builder::constant(Type type, uint64_t bits) {
  Inst* inst = function_.create(Op::const_, type);
  inst->imm = truncate_to(type, bits);
  return append(inst);
}

Inst* Builder::op(Op op, std::initializer_list<Inst*> operands, uint32_t attr, uint64_t imm) {
  std::string why;
  const std::optional<Type> type = infer_type(op, {operands.begin(), operands.size()}, &why);
  WAVEJIT_CHECK(type.has_value(), "{} at guest pc {:#x}: {}", op_info(op).mnemonic, guest_pc_, why);
  return op_typed(op, *type, operands, attr, imm);
}

Inst* Builder::op_typed(Op op, Type type, std::vector<Inst*> operands, uint32_t attr, uint64_t imm) {
  Inst probe;
  probe.op = op;
  probe.type = type;
  probe.attr = attr;
  probe.imm = imm;
  probe.operands = std::move(operands);
  // Phis get their operands later, so what they look like now says nothing.
  if (is_pure(op) && op != Op::phi) {
    if (const std::optional<uint64_t> value = fold_to_constant(probe)) return constant(type, *value);
    if (Inst* existing = fold_to_existing(probe)) return existing;
  }
  Inst* inst = function_.create(op, type, std::move(probe.operands));
  inst->attr = attr;
  inst->imm = imm;
  return append(inst);
}

Inst* Builder::load(Type type, const MemAttr& mem, std::vector<Inst*> operands) {
  Inst* inst = function_.create(Op::load, type, std::move(operands));
  inst->mem = mem;
  return append(inst);
}

Inst* Builder::store(const MemAttr& mem, std::vector<Inst*> operands) {
  Inst* inst = function_.create(Op::store, kNone, std::move(operands));
  inst->mem = mem;
  return append(inst);
}

Inst* Builder::atomic(Type type, const MemAttr& mem, std::vector<Inst*> operands) {
  Inst* inst = function_.create(Op::atomic, type, std::move(operands));
  inst->mem = mem;
  return append(inst);
}

void Builder::br(Block* target) {
  Function::connect(block_, target);
  append(function_.create(Op::br, kNone));
}

void Builder::cond_br(Inst* condition, Block* if_true, Block* if_false) {
  Function::connect(block_, if_true);
  Function::connect(block_, if_false);
  append(function_.create(Op::cond_br, kNone, {condition}));
}

void Builder::exit(ExitReason reason, uint64_t guest_pc, uint64_t trap_id) {
  Inst* inst = function_.create(Op::exit, kNone);
  inst->attr = static_cast<uint32_t>(reason);
  inst->imm = guest_pc;
  inst->imm2 = trap_id;
  append(inst);
}

void Builder::exit_jump(Inst* pc) {
  append(function_.create(Op::exit_jump, kNone, {pc}));
}

}  // namespace wavejit::ir
