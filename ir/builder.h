// Creates instructions at the end of a block. Derives types from operands and folds trivially (constants, x + 0, ...).
#pragma once

#include <initializer_list>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

class Builder {
 public:
  explicit Builder(Function& function, Block* block = nullptr) : function_(function), block_(block) {}

  void set_block(Block* block) { block_ = block; }
  [[nodiscard]] Block* block() const { return block_; }
  [[nodiscard]] Function& function() const { return function_; }
  void set_guest_pc(uint64_t pc) { guest_pc_ = pc; }  // stamped on every instruction created from now on

  Inst* constant(Type type, uint64_t bits);
  Inst* i1(bool v) { return constant(kI1, v); }
  Inst* i32(uint32_t v) { return constant(kI32, v); }
  Inst* i64(uint64_t v) { return constant(kI64, v); }
  Inst* mask(uint64_t v) { return constant(kMask, v); }
  Inst* v32(uint32_t v) { return constant(kV32, v); }
  Inst* v64(uint64_t v) { return constant(kV64, v); }

  // An operation whose result type follows from its row and operands (letters c, N, L, V, X).
  Inst* op(Op op, std::initializer_list<Inst*> operands, uint32_t attr = 0, uint64_t imm = 0);
  // An operation whose type the caller states (rows with E or T: phi, undef, get_field, load, helper, ...).
  Inst* op_typed(Op op, Type type, std::vector<Inst*> operands, uint32_t attr = 0, uint64_t imm = 0);

  Inst* icmp(ICmp predicate, Inst* a, Inst* b) { return op(Op::icmp, {a, b}, static_cast<uint32_t>(predicate)); }
  Inst* select(Inst* condition, Inst* a, Inst* b) { return op(Op::select, {condition, a, b}); }
  Inst* extract(Inst* tuple, unsigned index) { return op(Op::extract, {tuple}, 0, index); }
  Inst* load(Type type, const MemAttr& mem, std::vector<Inst*> operands);
  Inst* store(const MemAttr& mem, std::vector<Inst*> operands);
  Inst* atomic(Type type, const MemAttr& mem, std::vector<Inst*> operands);

  void br(Block* target);
  void cond_br(Inst* condition, Block* if_true, Block* if_false);
  void exit(ExitReason reason, uint64_t guest_pc, uint64_t trap_id = 0);
  void exit_jump(Inst* pc);

 private:
  Inst* append(Inst* inst);

  Function& function_;
  Block* block_;
  uint64_t guest_pc_ = 0;
};

}  // namespace wavejit::ir
