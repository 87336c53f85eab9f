// LIR, the backend's low-level IR: a list of nodes in the order of the code, most of them one x86 instruction each with
// explicit operands.
//
// Operands are asmjit's: registers, immediates, labels, and memory (base + index * scale + displacement, data behind a
// label, or a variable on the stack). Registers are virtual before register allocation, with ids from
// asmjit::Operand::kVirtIdMin on, and host registers behind it. The function owns its nodes; their addresses are stable.
//
// Calls and the function itself follow the System V convention with integer arguments and results only (Convention).
#pragma once

#include <asmjit/x86.h>

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace wavejit::backend {
namespace x86 = asmjit::x86;
}

namespace wavejit::backend::lir {

// Host registers by group: general, vector and mask registers, with asmjit's numbers.
constexpr uint32_t kGpGroup = 0, kVecGroup = 1, kMaskGroup = 2, kGroups = 3;
constexpr std::array<uint32_t, kGroups> kHostsOfGroup{16, 32, 8};

// The calling convention of what is compiled and of what it calls.
struct Convention {
  static constexpr std::array<uint8_t, 6> kArguments{x86::Gp::kIdDi, x86::Gp::kIdSi, x86::Gp::kIdDx,
                                                     x86::Gp::kIdCx, x86::Gp::kIdR8, x86::Gp::kIdR9};
  static constexpr uint8_t kResult = x86::Gp::kIdAx;
  // Host registers that a callee keeps.
  static constexpr std::array<uint32_t, kGroups> kPreserved{
      1u << x86::Gp::kIdBx | 1u << x86::Gp::kIdSp | 1u << x86::Gp::kIdBp | 1u << x86::Gp::kIdR12 |
          1u << x86::Gp::kIdR13 | 1u << x86::Gp::kIdR14 | 1u << x86::Gp::kIdR15,
      0, 0};
};

// Bytes of a register or of an operand in memory; 0 if the operand does not say. asmjit's own size() is deprecated from
// version 1.11 on, which Debian 13 has.
[[nodiscard]] inline uint32_t bytes_of(const asmjit::Operand_& operand) {
  return operand.signature().size();
}

[[nodiscard]] inline bool is_virtual(const asmjit::Operand& op) {
  return op.isReg() && asmjit::Operand::isVirtId(op.id());
}

struct VirtualRegister {
  asmjit::OperandSignature signature{};  // of the whole register
  asmjit::TypeId type{};                 // what it holds, which decides how it is moved
  uint32_t bytes = 0, alignment = 1;
  uint32_t group = 0;
  bool is_variable = false;    // no register but bytes of the stack, whose place operands name
  const char* name = nullptr;  // for messages; a literal, or of Function::names
};

struct Node {
  enum class Kind : uint8_t {
    instruction,
    label,  // operands[0]
    call,  // operands[0]: its target, an immediate or memory; [1]: the result; from [2] on: arguments. Unused ones are none
    result,   // the function's end on this path; operands[0]: what it returns
    comment,  // number `mark` of Function::comments, for listings
  };
  static constexpr uint32_t kMaxOperands = 4;
  static constexpr uint32_t kMaxArguments = kMaxOperands - 2;

  Node *prev = nullptr, *next = nullptr;
  Kind kind = Kind::instruction;
  uint8_t operand_count = 0;
  asmjit::InstId id = 0;
  asmjit::InstOptions options{};
  asmjit::RegOnly mask{};  // id 0 and no signature: none
  uint32_t mark = 0;       // of instructions: passed on to the encoder, which tells where they are; 0: none
  // The number that the checker of register allocation has given the node, plus 1; 0: inserted since then.
  uint32_t recorded = 0;
  std::array<asmjit::Operand, kMaxOperands> operands{};

  [[nodiscard]] bool is_instruction() const { return kind == Kind::instruction; }
  [[nodiscard]] bool is_label() const { return kind == Kind::label; }
  [[nodiscard]] bool is_call() const { return kind == Kind::call; }
  [[nodiscard]] bool is_result() const { return kind == Kind::result; }
  // Everything but labels and comments.
  [[nodiscard]] bool is_code() const { return kind != Kind::label && kind != Kind::comment; }
  [[nodiscard]] bool has_mask() const { return mask.isReg(); }
  [[nodiscard]] uint32_t label_id() const { return operands[0].id(); }
  [[nodiscard]] asmjit::BaseInst base() const { return {id, options, mask}; }
  // Where a jump leads.
  [[nodiscard]] asmjit::Operand& target() { return operands[operand_count - 1]; }
  [[nodiscard]] const asmjit::Operand& target() const { return operands[operand_count - 1]; }
  [[nodiscard]] std::span<asmjit::Operand> ops() { return {operands.data(), operand_count}; }
  [[nodiscard]] std::span<const asmjit::Operand> ops() const { return {operands.data(), operand_count}; }
};

// A table behind the code. Its entry i is the distance from the table to the target of number i, 32 bits with a sign.
struct JumpTable {
  asmjit::Label label;
  std::vector<asmjit::Label> targets;
};

// Whether a call's target is an address, or memory at one, whatever registers hold.
[[nodiscard]] bool is_fixed_target(const asmjit::Operand& target);

class Function {
 public:
  Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  // The first node of the list: a label that nothing jumps to. The last node has no next one.
  [[nodiscard]] Node* begin() const { return first_; }
  [[nodiscard]] Node* last() const { return last_; }
  // Inserts a new node behind `where` and returns it. Throws std::bad_alloc.
  Node* insert(Node* where, Node::Kind kind);
  // The same for the node of a label, which is not bound yet.
  Node* insert_label(Node* where, const asmjit::Label& label);
  // Takes the node out of the list. Its memory remains until the function's end. Labels stay.
  void remove(Node* node);
  // How many nodes there have ever been.
  [[nodiscard]] size_t node_count() const {
    return memory_.empty() ? 0 : (memory_.size() - 1) * kNodesAtOnce + memory_.back().size();
  }
  // The node of a label; null if it is not bound.
  [[nodiscard]] Node* node_of(const asmjit::Operand& label) const {
    return label.id() < label_nodes_.size() ? label_nodes_[label.id()] : nullptr;
  }

  [[nodiscard]] asmjit::Label new_label() { return asmjit::Label(labels_++); }
  [[nodiscard]] uint32_t label_count() const { return labels_; }

  // Virtual registers by index; their operands' ids are indices + Operand::kVirtIdMin.
  std::vector<VirtualRegister> registers;
  [[nodiscard]] VirtualRegister& of(uint32_t virtual_id) {
    return registers[asmjit::Operand::virtIdToIndex(virtual_id)];
  }
  [[nodiscard]] const VirtualRegister& of(uint32_t virtual_id) const {
    return registers[asmjit::Operand::virtIdToIndex(virtual_id)];
  }

  std::vector<asmjit::Operand> arguments;  // virtual registers, in the order of the convention
  bool avx512 = false;                     // may use what AVX-512 adds: 32 vector registers, masks
  // Where all results lead to; the epilogue goes behind it. Code behind the exit is executed rarely.
  Node* exit = nullptr;
  // Once registers are allocated, for the passes behind it: the nodes of goes_to_label() in the order of the code.
  std::vector<Node*> jumps;
  std::vector<JumpTable> jump_tables;
  std::vector<std::string> comments;
  std::deque<std::string> names;  // those of registers that are no literals
  // Bytes to which the stack pointer is aligned where the function has been called, that is, 8 below it where it begins.
  uint32_t stack_alignment = 16;

 private:
  static constexpr size_t kNodesAtOnce = 256;
  std::vector<std::vector<Node>> memory_;  // each has room for kNodesAtOnce, so that no node moves
  std::vector<Node*> label_nodes_;         // by label; null: not bound
  uint32_t labels_ = 0;
  Node *first_ = nullptr, *last_ = nullptr;
};

}  // namespace wavejit::backend::lir
