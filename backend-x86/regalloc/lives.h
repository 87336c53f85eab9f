// Analysis for register allocation: the blocks of a function, the registers that each instruction reads and writes, and
// the live ranges of virtual registers.
//
// Time and memory are proportional to the code. Most registers are live in one block only; these do not take part in
// the analysis across blocks. For the others, liveness is kept as runs of blocks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend-x86/lir/function.h"
#include "backend-x86/lir/instruction_access.h"

namespace wavejit::backend {

using lir::kGpGroup;
using lir::kGroups;
using lir::kVecGroup;

constexpr uint8_t kNoRegister = 0xff;
constexpr uint32_t kNoIndex = UINT32_MAX;

// The places of an instruction that name a register, as bit numbers: for each operand the register or the base, and the
// index; then the mask.
struct Place {
  static constexpr uint32_t kMask = 2 * lir::Node::kMaxOperands;
  static constexpr uint32_t base(uint32_t operand) { return 2 * operand; }
  static constexpr uint32_t index(uint32_t operand) { return 2 * operand + 1; }
};

// One register of an instruction, whatever number of operands it is.
struct RegisterUse {
  enum Flags : uint16_t {
    read = lir::OperandAccess::read,
    write = lir::OperandAccess::write,
    use = lir::OperandAccess::use,
    out = lir::OperandAccess::out,
    use_memory = lir::OperandAccess::use_memory,
    duplicate = 32,  // argument of a call more than once
    last = 64,       // the last use or definition in the block
    kill = 128,      // nothing reads it any more
    done = 256,      // has its host register for the use
    lives_on = 512,  // the last in its block, but the register is alive behind the block
  };
  uint32_t reg;                 // index of the Lifetime
  uint32_t use_mask, out_mask;  // host registers allowed
  uint32_t next = kNoIndex;     // the next instruction in the block that uses or defines the register
  uint16_t flags;
  uint16_t use_places;     // where the host register's number goes: bits of Place
  uint8_t out_places;      // the same for results, which are no masks
  uint8_t memory_size;     // of the memory operand that it could be
  uint8_t use_id, out_id;  // host registers, fixed or chosen

  [[nodiscard]] bool has(uint16_t flag) const { return (flags & flag) != 0; }
  [[nodiscard]] bool write_only() const { return (flags & (read | write)) == write; }
};

struct Instruction {
  lir::Node* node;
  uint32_t first_use;           // in uses; groups one after the other
  uint8_t count[kGroups];       // uses per group
  bool is_move = false;         // does nothing when both operands are the same register
  bool transformable = false;   // has another name when it uses host registers above 15
  uint32_t special = kNoIndex;  // index of its FixedRegisters
  [[nodiscard]] uint32_t uses() const { return count[0] + count[1] + count[2]; }
};

// Host registers that an instruction needs or destroys.
struct FixedRegisters {
  std::array<uint32_t, kGroups> used{}, clobbered{};
};

struct FlowBlock {
  lir::Node* last = nullptr;
  uint32_t begin = 0, end = 0;                  // instructions
  uint32_t next = kNoIndex, target = kNoIndex;  // blocks behind it: the one that follows, the one jumped to
  uint32_t target_label = kNoIndex;
  bool ends_with_branch = false, ends_with_jump = false, returns = false;
  bool reachable = false;
  float weight = 1;  // how often the code is executed, as far as its place says: more in loops, less in cold code
  uint32_t first_position = 0, end_position = 0;
};

struct LiveSpan {
  uint32_t begin, end;  // positions: two per instruction
};

// A copy of a register that is dead behind it.
struct RegisterCopy {
  uint32_t to, from;
  float weight;  // of its block
};

// A virtual register. One cache line: all steps of the allocation look at each.
struct alignas(64) Lifetime {
  const lir::VirtualRegister* virt;
  LiveSpan current{0, 0};       // the last span
  uint32_t earlier = kNoIndex;  // the spans before it: index of the previous one
  float frequency = 0;        // instructions that use or define it, weighted by their blocks, by the length of its life
  uint32_t preferred = ~0u;   // host registers that all of its instructions allow
  uint32_t clobbers = 0;      // host registers destroyed by instructions that read it and leave it alive
  uint32_t entered = 0;       // host registers it is in where blocks begin
  uint32_t touch = kNoIndex;  // the last block that names it: index of the Touch
  uint32_t first_run = 0, last_run = 0;        // the runs of blocks at whose beginning it is alive: [first, last)
  mutable std::array<uint32_t, 2> near_run{};  // where live_in() has found an answer last, in hot and cold code
  uint8_t group = 0;
  uint8_t hint = kNoRegister, home = kNoRegister;
  bool exposed = false;   // alive where some block begins
  bool on_stack = false;  // its place on the stack is an operand
};
static_assert(sizeof(Lifetime) == 64);

class Lives {
 public:
  Lives(lir::Function& function, const std::array<uint32_t, kGroups>& available);

  // All of the analysis. An error when the function has something that the allocator does not know.
  asmjit::Error run();

  std::vector<FlowBlock> blocks;  // in the order of the code; the first is the entry
  std::vector<Instruction> instructions;
  std::vector<RegisterUse> uses;
  std::vector<FixedRegisters> fixed;
  std::vector<Lifetime> lives;
  std::vector<RegisterCopy> copies;                    // those that are no instructions if both registers have one home
  std::vector<lir::Node*> on_stack;                    // instructions with variables on the stack as operands
  std::vector<std::pair<uint32_t, lir::Node*>> jumps;  // their blocks, and instructions that name a label alone
  uint32_t positions = 0;
  bool has_calls = false;

  // Whether the register is alive where the block begins.
  [[nodiscard]] bool live_in(uint32_t block, uint32_t reg) const {
    return lives[reg].exposed && lives_on_into(block, lives[reg]);
  }
  // The Lifetime of a virtual register, made if there is none.
  uint32_t life_of(uint32_t virt_id) {
    const uint32_t life = life_by_virt_[asmjit::Operand::virtIdToIndex(virt_id)];
    return life != kNoIndex ? life : make_life(virt_id);
  }
  // The same if there is one.
  [[nodiscard]] uint32_t find_life(uint32_t virt_id) const;
  [[nodiscard]] uint32_t virtual_id(const Lifetime& life) const {
    return asmjit::Operand::indexToVirtId(static_cast<uint32_t>(life.virt - function_.registers.data()));
  }
  // Calls visit(span) for each, the last first, until it returns false.
  template <typename Visit>
  void for_each_span(const Lifetime& life, Visit&& visit) const {
    if (!visit(life.current)) return;
    for (uint32_t i = life.earlier; i != kNoIndex; i = spans_[i].before)
      if (!visit(spans_[i].span)) return;
  }

 private:
  // A register in a block that uses or defines it.
  struct Touch {
    uint32_t reg, block;
    uint32_t last_use;
    bool reads_first;  // before it is written there
  };

  uint32_t make_life(uint32_t virt_id);
  [[nodiscard]] bool lives_on_into(uint32_t block, const Lifetime& life) const;
  asmjit::Error find_blocks();
  asmjit::Error add_instruction(lir::Node& node, asmjit::InstControlFlow& flow);
  asmjit::Error add_operands(lir::Node& node, asmjit::InstControlFlow& flow);
  asmjit::Error add_call(const lir::Node& call);
  asmjit::Error add_result(const lir::Node& node);
  // `reg`: the index of the Lifetime. The result is valid until the instruction is finished.
  RegisterUse& add_use(uint32_t reg, uint16_t flags, uint32_t mask, uint32_t place, uint8_t use_id = kNoRegister,
                       uint8_t out_id = kNoRegister);
  [[nodiscard]] uint32_t building_count() const { return uint32_t{use_count_[0]} + use_count_[1] + use_count_[2]; }
  void finish_instruction(lir::Node& node);
  // Enters the use of a register into the chain of those in the block. `number`: its index; `inst`: that of its instruction.
  void note_touch(uint32_t number, uint32_t inst, uint32_t block);
  void remove_unreachable();
  void weigh_blocks();
  void find_live_registers();
  // The touches of registers that are alive where some block begins, by register.
  [[nodiscard]] std::vector<Touch> exposed_touches();
  void find_spans();
  void note_copy(const RegisterUse& a, const RegisterUse& b, float weight);
  bool open(Lifetime& life, uint32_t begin, uint32_t end);

  // Consecutive blocks at whose beginning a register is live. Only the last may use or define it.
  struct Run {
    uint32_t first, last;
  };

  struct EarlierSpan {
    LiveSpan span;
    uint32_t before;
  };
  lir::Function& function_;
  const std::array<uint32_t, kGroups> available_;
  std::vector<uint32_t> life_by_virt_;
  std::vector<Touch> touches_;  // in the order of the blocks
  std::vector<Run> runs_;       // those of a register one after the other
  uint32_t exit_block_ = 0;     // what stands behind it is cold
  std::vector<EarlierSpan> spans_;
  // The instruction being built, and its uses by group.
  static constexpr size_t kMaxUses = 2 * lir::Node::kMaxOperands + 1;
  std::array<std::array<RegisterUse, kMaxUses>, kGroups> building_;
  std::array<uint8_t, kGroups> use_count_{};
  FixedRegisters building_fixed_;
  std::array<uint32_t, kGroups> building_used_{};
  bool forbid_memory_ = false, is_move_ = false, transformable_ = false;
};

}  // namespace wavejit::backend
