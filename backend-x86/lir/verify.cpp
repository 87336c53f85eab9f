#include "backend-x86/lir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "backend-x86/lir/instruction_access.h"
#include "backend-x86/lir/text.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::InstControlFlow;
using asmjit::Operand;
using asmjit::RegType;

class Verifier {
 public:
  explicit Verifier(const Function& function) : function_(function), bound_(function.label_count(), false) {}

  std::optional<std::string> run() {
    if (check_declarations() && collect_labels() && check_nodes() && check_ends()) return std::nullopt;
    return why_;
  }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }
  bool fail(const Node& node, std::string_view why) { return fail(fmt::format("{}: {}", print(function_, node), why)); }

  // --- the function ---
  bool check_declarations() {
    for (size_t i = 0; i < function_.registers.size(); ++i)
      if (const VirtualRegister& virt = function_.registers[i];
          virt.is_variable && virt.alignment > function_.stack_alignment)
        return fail(fmt::format("v{} is a variable with more alignment than the stack has", i));
    if (function_.arguments.size() > Convention::kArguments.size()) return fail("the function has too many arguments");
    for (const Operand& argument : function_.arguments)
      if (!is_whole_gp(argument)) return fail("an argument of the function is no general register of its own");
    return true;
  }

  bool collect_labels() {
    bool has_exit = false;
    for (const Node* node = function_.begin(); node != nullptr; node = node->next) {
      if (!node->is_label()) continue;
      if (!is_label_id(node->label_id())) return fail(*node, "the function does not have the label");
      if (bound_[node->label_id()]) return fail(*node, "the label is bound twice");
      bound_[node->label_id()] = true;
      has_exit = has_exit || node == function_.exit;
    }
    return has_exit || fail("the function has no exit");
  }

  // The hot code ends at the exit, the cold one at the end.
  bool check_ends() {
    const Node* last = nullptr;
    for (const Node* node = function_.begin(); node != nullptr; node = node->next) {
      if (node->is_code()) last = node;
      if (node != function_.exit) continue;
      if (last == nullptr) return fail("there is no code before the exit");
      if (!is_end(*last)) return fail(*last, "code falls through to the exit");
    }
    return is_end(*last) || fail(*last, "code falls through behind the end");
  }

  static bool is_end(const Node& node) {
    return node.is_result() ||
           (node.is_instruction() && x86::InstDB::infoById(node.id).controlFlow() == InstControlFlow::kJump);
  }

  // --- nodes ---
  bool check_nodes() {
    for (const Node* node = function_.begin(); node != nullptr; node = node->next) {
      if (!node->is_code()) continue;
      for (const Operand& op : node->ops())
        if (!check_operand(*node, op)) return false;
      if (node->is_instruction() && !check_instruction(*node)) return false;
      if (node->is_call() && !check_call(*node)) return false;
      if (node->is_result() && !is_readable_gp(node->operands[0]))
        return fail(*node, "the result is no general register");
    }
    return true;
  }

  bool check_instruction(const Node& node) {
    if (node.has_mask()) {
      if (node.mask.type() != RegType::kX86_KReg) return fail(node, "the mask is no mask register");
      if (!check_register(node, node.mask.type(), node.mask.id())) return false;
    }
    const InstructionAccess* access = instruction_access(node);
    if (access == nullptr || !is_encodable(node)) return fail(node, "asmjit does not know the instruction");
    switch (access->flow) {
      case InstControlFlow::kJump:
      case InstControlFlow::kBranch:
        if (!check_jump(node)) return false;
        break;
      case InstControlFlow::kCall:
        if (!is_fixed_target(node.operands[0])) return fail(node, "the call's target is not fixed");
        break;
      case InstControlFlow::kReturn:
        return fail(node, "a return is a result");
      case InstControlFlow::kRegular:
        break;
    }
    for (uint32_t i = 0; i < node.operand_count; ++i) {
      const Operand& op = node.operands[i];
      const bool writes = (access->operands[i].flags & OperandAccess::write) != 0;
      if (op.isReg() && is_wider(op) && (writes || !x86::Reg::isGp(op)))
        return fail(node, "a view is wider than its register");
      if (op.isMem() && !check_access(node, op.as<x86::Mem>())) return false;
    }
    return true;
  }

  static bool is_prefetch(asmjit::InstId id) {
    return id == x86::Inst::kIdPrefetcht0 || id == x86::Inst::kIdPrefetcht1 || id == x86::Inst::kIdPrefetcht2 ||
           id == x86::Inst::kIdPrefetchnta || id == x86::Inst::kIdPrefetchw;
  }

  static bool is_encodable(const Node& node) {
    auto operands = node.operands;
    // They access no memory, and newer versions of asmjit take no size for it.
    if (node.id == x86::Inst::kIdLea) operands[1].as<asmjit::BaseMem>().setSize(0);
    if (is_prefetch(node.id)) operands[0].as<asmjit::BaseMem>().setSize(0);
    return asmjit::InstAPI::validate(asmjit::Arch::kX64, node.base(), operands.data(), node.operand_count,
                                     asmjit::ValidationFlags::kEnableVirtRegs) == asmjit::kErrorOk;
  }

  bool check_jump(const Node& node) {
    const Operand& target = node.target();
    if (!target.isLabel()) return fail(node, "the jump's target is no label");
    if (!bound_[target.id()]) return fail(node, "the jump's target is not bound");
    if (target.id() == function_.begin()->label_id()) return fail(node, "a jump to the beginning");
    if (target.id() == function_.exit->label_id()) return fail(node, "only results lead to the exit");
    return true;
  }

  bool check_call(const Node& node) {
    if (!is_fixed_target(node.operands[0])) return fail(node, "the call's target is not fixed");
    if (!node.operands[1].isNone() && !is_readable_gp(node.operands[1]))
      return fail(node, "the call's result is no general register");
    if (is_wider(node.operands[1])) return fail(node, "a view is wider than its register");
    for (uint32_t i = 2; i < node.operand_count; ++i)
      if (!is_readable_gp(node.operands[i])) return fail(node, "the call's argument is no general register");
    return true;
  }

  // --- operands ---
  [[nodiscard]] bool is_label_id(uint32_t id) const { return id < function_.label_count(); }
  static bool is_readable_gp(const Operand& op) { return x86::Reg::isGp(op) && op.isVirtReg(); }
  [[nodiscard]] const VirtualRegister* find(uint32_t id) const {
    return Operand::isVirtId(id) && Operand::virtIdToIndex(id) < function_.registers.size() ? &function_.of(id)
                                                                                            : nullptr;
  }
  [[nodiscard]] bool is_whole_gp(const Operand& op) const {
    const VirtualRegister* virt = find(op.id());
    return is_readable_gp(op) && virt != nullptr && !virt->is_variable && virt->signature == op.signature();
  }
  // Of registers that exist.
  [[nodiscard]] bool is_wider(const Operand& op) const {
    const VirtualRegister* virt = op.isReg() ? find(op.id()) : nullptr;
    return virt != nullptr && op.signature().size() > virt->signature.size();
  }

  bool check_operand(const Node& node, const Operand& op) {
    if (op.isReg()) return check_register(node, op.as<x86::Reg>().type(), op.id());
    if (op.isLabel() && !is_label_id(op.id())) return fail(node, "the function does not have the label");
    if (!op.isMem()) return true;
    const auto& mem = op.as<x86::Mem>();
    if (mem.hasBaseLabel() && !is_label_id(mem.baseId())) return fail(node, "the function does not have the label");
    if (mem.hasIndexReg() && !check_register(node, mem.indexType(), mem.indexId())) return false;
    if (!mem.isRegHome()) return !mem.hasBaseReg() || check_register(node, mem.baseType(), mem.baseId());
    const VirtualRegister* virt = mem.hasBaseReg() ? find(mem.baseId()) : nullptr;
    if (virt == nullptr || !virt->is_variable) return fail(node, "a register's place on the stack, before allocation");
    return true;
  }

  bool check_register(const Node& node, RegType type, uint32_t id) {
    if (!Operand::isVirtId(id)) return fail(node, "a host register, before allocation");
    const VirtualRegister* virt = find(id);
    if (virt == nullptr) return fail(node, fmt::format("v{} does not exist", Operand::virtIdToIndex(id)));
    if (virt->is_variable)
      return fail(node, fmt::format("v{} is a variable, not a register", Operand::virtIdToIndex(id)));
    if (static_cast<uint32_t>(x86::Reg::groupOf(type)) != virt->group)
      return fail(node, fmt::format("a view of another group than v{}'s", Operand::virtIdToIndex(id)));
    if (!function_.avx512 && (type == RegType::kX86_KReg || type == RegType::kX86_Zmm))
      return fail(node, "a register of AVX-512");
    return true;
  }

  // Of a variable: the bytes are inside of it. An address alone may be that of its end.
  bool check_access(const Node& node, const x86::Mem& mem) {
    if (!mem.isRegHome() || mem.hasIndex()) return true;
    const int64_t bytes = function_.of(mem.baseId()).bytes, begin = mem.offsetLo32();
    const bool is_address = node.id == x86::Inst::kIdLea;
    const int64_t size = is_address ? 0 : std::max(mem.signature().size(), 1u);
    return (begin >= 0 && begin + size <= bytes) || fail(node, fmt::format("an access outside of {} bytes", bytes));
  }

  const Function& function_;
  std::vector<bool> bound_;  // by label
  std::string why_;
};

}  // namespace

std::optional<std::string> verify(const Function& function) {
  return Verifier(function).run();
}

}  // namespace wavejit::backend::lir
