// Proves of one allocation that every instruction reads the values it should.
//
// The checker records the function before registers are allocated, and interprets the final code afterwards: for each place
// (host register or stack slot) it follows of which virtual registers the place holds the current values, and which bytes.
// The allocator's own instructions copy them. An instruction that lowering has made must find in the place of each operand the bytes
// that it reads, and makes a new value, which no other place has. Where control flow joins, what holds on both edges remains, up
// to a fixed point. The method is that of the checker of Cranelift's regalloc2.
//
// Nothing of the allocator's analysis is used. What the checker does not understand is a failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend-x86/regalloc/checker_state.h"
#include "backend-x86/regalloc/recorded_program.h"

namespace wavejit::backend {

// Whether allocations are checked: always in builds for debugging, in others that have tests if WAVEJIT_CHECK_ALLOCATION=1 is
// in the environment.
[[nodiscard]] bool allocation_is_checked();

class AllocationChecker {
 public:
  // Before registers are allocated. The function stays until check() is called.
  explicit AllocationChecker(lir::Function& function) : function_(function), program_(function) {}

  // Behind the allocation: nothing, or what is wrong. The message names instruction, operand and virtual register, and where
  // its value has been last.
  [[nodiscard]] std::optional<std::string> check();

 private:
  using Node = lir::Node;
  static constexpr uint32_t kNone = UINT32_MAX;

  // A label of the final code.
  struct Label {
    const Node* node = nullptr;
    uint32_t order = kNone;  // in in_order_
    bool visited = false, pending = false;
    KeptState state;
  };
  // An instruction that lowering has made, in its final form.
  struct Final {
    const Node& node;
    const RecordedInstruction& recorded;
  };

  bool prepare();
  void order_labels();
  bool interpret();
  [[nodiscard]] KeptState entry_state() const;
  // From behind the node on, up to a label or the end of the way.
  bool walk(const Node* node);
  bool arrive(uint32_t label, uint32_t next);
  // Carries out what has been removed in front of the instruction.
  bool advance(uint32_t to, const Node& at);

  bool recorded_instruction(const Node& node, uint32_t number, bool& ends);
  bool compare(const Final& inst);
  bool compare_memory(const Final& inst, const asmjit::BaseMem& before, const asmjit::BaseMem& behind);
  bool jump(const Final& inst, bool& ends);
  bool read(const Final& inst, const RecordedUse& use);
  bool write(const Final& inst, const RecordedUse& use);
  bool place_of(const Final& inst, const RecordedUse& use, uint32_t& place);
  bool call(const Node& node);

  bool inserted_instruction(const Node& node, bool& ends);
  bool move(const Node& node, uint32_t bytes);
  bool exchange(const Node& node);
  bool frame_instruction(const Node& node);
  bool leave(const Node& node);
  bool stack_address(const Node& node, const asmjit::BaseMem& mem, uint32_t bytes, int32_t& at);
  bool check_stack_variables();
  // `at` is relative to the stack pointer at the function's entry, which Function::stack_alignment is about.
  [[nodiscard]] bool is_aligned(int32_t at, uint32_t alignment) const;

  bool fail(const Node& at, const std::string& why);
  bool fail_read(const Node& at, const std::string& what, uint32_t place, uint32_t reg, uint64_t bytes);
  [[nodiscard]] std::string place_name(uint32_t place) const;

  // Registers of the checker's own, behind the virtual ones: what host registers hold when the function is entered, and
  // what it returns.
  [[nodiscard]] uint32_t entry_value(uint32_t host) const { return static_cast<uint32_t>(program_.registers()) + host; }
  [[nodiscard]] uint32_t returned() const { return entry_value(kHostRegisters); }
  [[nodiscard]] size_t registers() const { return returned() + size_t{1}; }
  [[nodiscard]] bool at_exit() const { return state_->next == exit_ + 1; }

  const lir::Function& function_;
  RecordedProgram program_;

  uint32_t exit_ = 0;               // the label of the function's exit in the recorded program
  std::vector<bool> present_;       // by recorded instruction: has not been removed
  std::vector<Label> labels_;       // by label
  std::vector<uint32_t> in_order_;  // labels that the final code reaches
  uint32_t lowest_ = 0;             // the first in that order of those whose state a walk has changed
  std::vector<bool> maybe_undefined_;
  std::vector<bool> assumed_undefined_;  // what maybe_undefined_ is when the round begins
  bool again_ = false;                   // registers have turned out to be undefined, maybe
  std::optional<CheckerState> state_;
  KeptState arriving_;
  struct StackVariable {
    uint32_t reg;
    int32_t at;
    uint32_t bytes;
  };
  std::vector<StackVariable> variables_;
  std::vector<uint32_t> variable_of_;  // by register
  std::vector<uint32_t> written_;      // places that the current instruction writes
  std::optional<std::string> failure_;
};

}  // namespace wavejit::backend
