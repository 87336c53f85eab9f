// A function as lowering leaves it, kept for the checker of register allocation: instructions in order with their
// operands, and what each operand means for a virtual register.
//
// The record shares nothing with the allocator but the facts of instruction_access.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend-x86/lir/function.h"

namespace wavejit::backend {

// Host registers of all groups under one number: general, vector and mask registers.
constexpr std::array<uint32_t, 4> kHostGroupBegin{0, 16, 48, 56};
constexpr uint32_t kHostRegisters = 56;
[[nodiscard]] constexpr uint32_t group_of_host(uint32_t host) {
  return host < 16 ? 0 : host < 48 ? 1 : 2;
}

// Bytes of a register as a mask. A register has 64 bytes in the vector group and 8 in the others.
[[nodiscard]] constexpr uint64_t low_bytes(uint32_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}
[[nodiscard]] constexpr uint64_t bytes_of_group(uint32_t group) {
  return low_bytes(group == 1 ? 64 : 8);
}

// What one instruction does with one virtual register in one place.
struct RecordedUse {
  enum class Kind : uint8_t {
    operand,   // a register operand
    base,      // of a memory operand
    index,     // of a memory operand
    mask,      // the register of AVX-512 masking
    fixed_in,  // an argument of a call, or the value of a return: in the host register `fixed`
    result,    // of a call: in the host register `fixed`
  };
  uint32_t reg;  // index of the virtual register
  Kind kind;
  uint8_t operand;      // which, for the first three kinds
  uint8_t fixed;        // host register of the group if no other will do, 0xff otherwise
  uint8_t memory_size;  // of the memory operand that may replace the register; 0: none may
  uint64_t read, written, zeroed;
};

struct RecordedInstruction {
  enum class Kind : uint8_t {
    instruction,
    call,
    stub,  // a call that keeps all registers and takes its argument, which has been pushed, off the stack (parking.h)
    label,
    result,
  };
  lir::Node node;  // a copy of it as it was, in no list
  Kind kind;
  // Moves a register to another of the type; needs no instruction if both are in one host register.
  bool copies = false;
  asmjit::InstControlFlow flow = asmjit::InstControlFlow::kRegular;
  asmjit::InstSameRegHint same_register = asmjit::InstSameRegHint::kNone;
  uint32_t first_use = 0, uses = 0;
};

class RecordedProgram {
 public:
  // Marks the nodes of the function (Node::recorded), so that they are known again. `problem` says what the record has
  // no notion of. The function must outlive the record.
  explicit RecordedProgram(lir::Function& function);

  std::optional<std::string> problem;
  std::vector<RecordedInstruction> instructions;  // labels included

  [[nodiscard]] std::span<const RecordedUse> uses(const RecordedInstruction& inst) const {
    return {uses_.data() + inst.first_use, inst.uses};
  }
  // The instruction's number if the node has been there before the allocation.
  [[nodiscard]] static std::optional<uint32_t> number_of(const lir::Node& node) {
    if (node.recorded == 0) return std::nullopt;
    return node.recorded - 1;
  }
  // The number of a label that has been bound in the function.
  [[nodiscard]] std::optional<uint32_t> label(uint32_t id) const;
  [[nodiscard]] uint32_t group(uint32_t reg) const { return groups_[reg]; }
  [[nodiscard]] size_t registers() const { return groups_.size(); }
  // Whether the register's value may matter past a label or branch.
  [[nodiscard]] bool is_global(uint32_t reg) const { return reg >= section_of_.size() || section_of_[reg] == kMany; }
  // Bytes of Convention::kResult that the function returns, as a mask; 0 if it returns nothing.
  [[nodiscard]] uint64_t result_bytes() const { return result_bytes_; }
  [[nodiscard]] std::string name(uint32_t reg) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX, kMany = UINT32_MAX - 1;
  void add(lir::Node& node, uint32_t& section);
  void add_operands(const lir::Node& node, RecordedInstruction& to);
  void add_call(const lir::Node& node);
  void add_result(const lir::Node& node);
  void note_sections(const RecordedInstruction& inst, uint32_t section);
  void add_use(const RecordedUse& use) { uses_.push_back(use); }
  void fail(const lir::Node& node, const char* why);

  const lir::Function& function_;
  std::vector<RecordedUse> uses_;
  uint64_t result_bytes_ = 0;
  std::vector<uint8_t> groups_;       // by register
  std::vector<uint32_t> section_of_;  // by register: where all of its uses are
  std::vector<uint32_t> labels_;      // by label: its instruction
};

}  // namespace wavejit::backend
