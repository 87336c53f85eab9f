// Makes the code of a loop's copy for one lane (lane_copier.h): instructions at one place after the other, accesses to memory, and
// blocks for branches that the loop does not have.
#pragma once

#include <vector>

#include "ir/function.h"

namespace wavejit::ir::passes {

class LaneCode {
 public:
  explicit LaneCode(Function& function) : function_(function) {}

  // Instructions go to the end of the block, or in front of one in it.
  void set_place(Block* block, Inst* before = nullptr);
  // The same, and they belong to the guest instruction of another one; or to the one of those made so far.
  void set_place_for(Block* block, const Inst& inst);
  void go_on_in(Block* block);
  void set_pc(uint64_t guest_pc) { pc_ = guest_pc; }
  [[nodiscard]] Block* block() const { return block_; }

  // Instructions are made elsewhere for a while.
  class Elsewhere {
   public:
    Elsewhere(LaneCode& code, Block* block, Inst* before)
        : code_(code), block_(code.block_), before_(code.before_), pc_(code.pc_) {
      code.block_ = block;
      code.before_ = before;
    }
    ~Elsewhere() {
      code_.block_ = block_;
      code_.before_ = before_;
      code_.pc_ = pc_;
    }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;

   private:
    LaneCode& code_;
    Block* block_;
    Inst* before_;
    uint64_t pc_;
  };

  Inst* make(Op op, Type type, std::vector<Inst*> operands, uint64_t imm = 0, uint32_t attr = 0);
  Inst* constant(Type type, uint64_t value) { return make(Op::const_, type, {}, value); }
  Inst* add64(Inst* a, Inst* b) { return make(Op::add, kI64, {a, b}); }
  Inst* icmp(ICmp predicate, Inst* a, Inst* b);
  // At the end of the block, for the guest instruction of the original.
  Inst* clone_here(const Inst& inst, std::vector<Inst*> operands);
  static void add_operand(Inst* phi, Inst* value);

  // An access of one lane to elements of the original.
  Inst* access(const Inst& original, Op op, Type type, std::vector<Inst*> operands, int64_t imm, unsigned count);
  // Loads of all elements, one by one; `stride` is the distance between them in bytes.
  std::vector<Inst*> load_elements(const Inst& original, Inst* lanes, Inst* address, int64_t imm, int64_t stride);

  // A block behind the one in which code is made, or at the end of the function if it is rarely executed.
  Block* add_block_here(bool rare);
  void branch(Inst* condition, Block* then, Block* otherwise);

 protected:
  Function& function_;

 private:
  Block* block_ = nullptr;
  Inst* before_ = nullptr;
  uint64_t pc_ = 0;
};

}  // namespace wavejit::ir::passes
