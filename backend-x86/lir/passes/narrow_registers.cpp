#include "backend-x86/lir/passes/narrow_registers.h"

#include <vector>

#include "backend-x86/lir/instruction_access.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::Operand;
namespace I = x86::Inst;

constexpr uint32_t kBytes = 16;

bool is_virtual_vector(const Operand& op) {
  return x86::Reg::isVec(op) && Operand::isVirtId(op.id());
}
bool is_whole(const Operand& op) {
  return is_virtual_vector(op) && bytes_of(op) > kBytes;
}

bool is_broadcast(asmjit::InstId id) {
  return id == I::kIdVpbroadcastd || id == I::kIdVpbroadcastq || id == I::kIdVbroadcastss || id == I::kIdVbroadcastsd;
}
bool is_xor(asmjit::InstId id) {
  return id == I::kIdVpxor || id == I::kIdVpxord || id == I::kIdVpxorq || id == I::kIdVxorps || id == I::kIdVxorpd;
}

// What an instruction does with all of a register.
enum class Form : uint8_t {
  other,
  copy,  // operand 1 to operand 0
  make,  // operand 0, whose 128 bits come from the same instruction on 128 bits
};
Form form_of(const Node& node) {
  const auto& ops = node.operands;
  if (!is_whole(ops[0]) || !node.is_instruction() || node.has_mask() || node.mark != 0) return Form::other;
  if (is_plain_move(node.id) && node.operand_count == 2) {
    if (is_whole(ops[1])) return Form::copy;
    if (ops[1].isMem()) return Form::make;
  }
  // vbroadcastsd has no form with a result of 128 bits.
  const bool broadcast = is_broadcast(node.id) && node.operand_count == 2 && node.id != I::kIdVbroadcastsd;
  const bool zero =
      is_xor(node.id) && node.operand_count == 3 && ops[0].id() == ops[1].id() && ops[1].id() == ops[2].id();
  return broadcast || zero ? Form::make : Form::other;
}

class Narrower {
 public:
  explicit Narrower(Function& function)
      : function_(function), wide_(function.registers.size()), united_(function.registers.size()) {}

  uint32_t run() {
    for (uint32_t i = 0; i < wide_.size(); ++i) {
      const VirtualRegister& one = function_.registers[i];
      wide_[i] = one.group != kVecGroup || one.is_variable || one.bytes <= kBytes;
      united_[i] = i;
    }
    for (Node* node = function_.begin(); node != nullptr; node = node->next)
      if (node->is_code()) look_at(*node);
    for (uint32_t i = 0; i < wide_.size(); ++i)
      if (wide_[i]) wide_[root(i)] = true;
    return change();
  }

 private:
  static uint32_t index_of(const Operand& op) { return Operand::virtIdToIndex(op.id()); }
  // Registers that are copied to each other are of one size.
  [[nodiscard]] uint32_t root(uint32_t index) {
    while (united_[index] != index) index = united_[index] = united_[united_[index]];
    return index;
  }

  void look_at(Node& node) {
    const Form form = form_of(node);
    if (form != Form::other) movers_.push_back(&node);
    if (form == Form::make) return;
    if (form == Form::copy) {
      united_[root(index_of(node.operands[0]))] = root(index_of(node.operands[1]));
      return;
    }
    for (const Operand& op : node.ops()) {
      if (is_whole(op)) wide_[index_of(op)] = true;
      if (!op.isMem() || !op.as<x86::Mem>().hasIndexReg()) continue;
      const auto index = op.as<x86::Mem>().indexReg().as<x86::Reg>();  // of gathers and scatters
      if (is_whole(index)) wide_[index_of(index)] = true;
    }
  }

  uint32_t change() {
    uint32_t changed = 0;
    for (uint32_t i = 0; i < wide_.size(); ++i) {
      if (wide_[i] || wide_[root(i)]) continue;
      ++changed;
      VirtualRegister& one = function_.registers[i];
      one.signature = x86::Xmm(0).signature();
      one.type = asmjit::TypeId::kInt32x4;
      one.bytes = one.alignment = kBytes;
    }
    if (changed == 0) return 0;
    for (Node* node : movers_) {
      if (wide_[root(index_of(node->operands[0]))]) continue;
      for (Operand& op : node->ops()) {
        if (x86::Reg::isVec(op)) op = op.as<x86::Vec>().xmm();
        if (op.isMem() && bytes_of(op) > kBytes) op.as<x86::Mem>().setSize(kBytes);
      }
    }
    return changed;
  }

  Function& function_;
  std::vector<char> wide_;        // by register; for all that are united, in the end, at their root
  std::vector<uint32_t> united_;  // by register: another one of its class, or itself
  std::vector<Node*> movers_;     // instructions that copy or make all of a register
};

}  // namespace

uint32_t narrow_registers(Function& function) {
  return Narrower(function).run();
}

}  // namespace wavejit::backend::lir
