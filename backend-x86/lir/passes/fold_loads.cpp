#include "backend-x86/lir/passes/fold_loads.h"

#include <algorithm>
#include <vector>

#include "backend-x86/lir/instruction_access.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::BaseMem;
using asmjit::Operand;

constexpr uint32_t kMaxCounted = 3;  // more make no difference
constexpr size_t kMaxWaiting = 32;   // loads looked at together; bounds the time for long blocks

class LoadFolder {
 public:
  explicit LoadFolder(Function& function) : function_(function), mentions_(function.registers.size()) {}

  uint32_t run() {
    count();
    uint32_t folded = 0;
    for (Node* node = function_.begin(); node != nullptr;) {
      Node* const next = node->next;
      if (node->is_label() || node->is_call() || node->is_result()) {
        waiting_.clear();
      } else if (node->is_instruction()) {
        folded += visit(*node) ? 1 : 0;
      }
      node = next;
    }
    return folded;
  }

 private:
  // A candidate whose use has not been reached.
  struct Waiting {
    Node* load;
    uint32_t reg;  // virtual id of what it loads
  };

  void note(uint32_t virtual_id) {
    uint8_t& number = mentions_[Operand::virtIdToIndex(virtual_id)];
    number = static_cast<uint8_t>(std::min<uint32_t>(number + 1U, kMaxCounted));
  }

  void count() {
    for (const Operand& argument : function_.arguments) note(argument.id());
    for (const Node* node = function_.begin(); node != nullptr; node = node->next) {
      if (!node->is_code()) continue;
      for (uint32_t i = 0; i < node->operand_count; ++i) {
        const Operand& op = node->operands[i];
        if (is_virtual(op)) {
          note(op.id());
          if (is_argument(op.id()) && may_write(*node, i)) written_arguments_.push_back(op.id());
        } else if (op.isMem()) {
          const auto& mem = op.as<BaseMem>();
          if (mem.hasBaseReg() && Operand::isVirtId(mem.baseId())) note(mem.baseId());
          if (mem.hasIndexReg() && Operand::isVirtId(mem.indexId())) note(mem.indexId());
        }
      }
      if (node->has_mask() && Operand::isVirtId(node->mask.id())) note(node->mask.id());
    }
  }
  [[nodiscard]] bool is_argument(uint32_t virtual_id) const {
    return std::ranges::any_of(function_.arguments, [&](const Operand& op) { return op.id() == virtual_id; });
  }
  static bool may_write(const Node& node, uint32_t operand) {
    const InstructionAccess* access = node.is_instruction() ? instruction_access(node) : nullptr;
    return access == nullptr || (access->operands[operand].flags & OperandAccess::write) != 0;
  }

  // Whether a load has become one of the instruction's operands.
  bool visit(Node& node) {
    if (waiting_.empty()) {
      note_candidate(node);
      return false;
    }
    const InstructionAccess* access = instruction_access(node);
    const bool folded = access != nullptr && fold(node, *access);
    if (folded) access = instruction_access(node);
    const bool is_fence = node.id == x86::Inst::kIdMfence;
    if (access == nullptr || is_fence || access->flow != asmjit::InstControlFlow::kRegular) {
      waiting_.clear();
      return folded;
    }
    for (uint32_t i = 0; i < node.operand_count; ++i) {
      const Operand& op = node.operands[i];
      if (is_virtual(op) && (access->operands[i].flags & OperandAccess::write) != 0) {
        std::erase_if(waiting_,
                      [&](const Waiting& w) { return depends_on(w.load->operands[1].as<BaseMem>(), op.id()); });
      } else if (op.isMem() && access->writes_memory) {
        std::erase_if(waiting_, [&](const Waiting& w) {
          return may_overlap(w.load->operands[1].as<BaseMem>(), op.as<BaseMem>());
        });
      }
    }
    note_candidate(node);
    return folded;
  }

  void note_candidate(Node& node) {
    if (!is_candidate(node)) return;
    if (waiting_.size() == kMaxWaiting) waiting_.erase(waiting_.begin());
    waiting_.push_back({.load = &node, .reg = node.operands[0].id()});
  }

  [[nodiscard]] bool is_candidate(const Node& node) const {
    if (!is_plain_move(node.id) || node.operand_count != 2 || node.has_mask() || node.mark != 0) return false;
    const Operand& to = node.operands[0];
    if (!is_virtual(to) || !node.operands[1].isMem() || node.options != asmjit::InstOptions::kNone) return false;
    if (to.signature() != function_.of(to.id()).signature) return false;
    constexpr uint8_t kBoth = 2;  // the load and one use
    return mentions_[Operand::virtIdToIndex(to.id())] == kBoth;
  }

  bool fold(Node& node, const InstructionAccess& access) {
    if (is_plain_move(node.id)) return false;
    if (std::any_of(node.ops().begin(), node.ops().end(), [](const Operand& op) { return op.isMem(); })) return false;
    for (uint32_t i = 0; i < node.operand_count; ++i) {
      if (!is_virtual(node.operands[i])) continue;
      const uint32_t id = node.operands[i].id();
      const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.reg == id; });
      if (found == waiting_.end()) continue;
      const OperandAccess& how = access.operands[i];
      Node* const load = found->load;
      waiting_.erase(found);
      if ((how.flags & OperandAccess::use_memory) == 0 || (how.flags & OperandAccess::write) != 0) continue;
      if (differs_in_memory(node) || how.fixed != 0xff || how.memory_size != function_.of(id).bytes) continue;
      BaseMem mem = load->operands[1].as<BaseMem>();
      mem.setSize(how.memory_size);
      node.operands[i] = mem;
      function_.remove(load);
      return true;
    }
    return false;
  }

  static bool depends_on(const BaseMem& mem, uint32_t id) {
    return (mem.hasBaseReg() && mem.baseId() == id) || (mem.hasIndexReg() && mem.indexId() == id);
  }

  // Whether the base is an argument that never changes: such pointers lead outside of the frame.
  [[nodiscard]] bool is_elsewhere(const BaseMem& pointer) const {
    return is_argument(pointer.baseId()) &&
           std::ranges::find(written_arguments_, pointer.baseId()) == written_arguments_.end();
  }

  // Data behind labels is never written. Otherwise places are known to be different if they have the same base, if they are in
  // two variables of the frame, or if one is in a variable and the other is what an argument points to.
  [[nodiscard]] bool may_overlap(const BaseMem& load, const BaseMem& store) const {
    if (load.hasBaseLabel()) return false;
    if (load.hasIndexReg() || store.hasIndexReg() || !load.hasBaseReg() || !store.hasBaseReg()) return true;
    if (load.baseId() == store.baseId()) {
      constexpr int64_t kLargest = 64;
      const auto bytes = [](const BaseMem& mem) { return bytes_of(mem) == 0 ? kLargest : int64_t{bytes_of(mem)}; };
      return load.offset() < store.offset() + bytes(store) && store.offset() < load.offset() + bytes(load);
    }
    if (load.isRegHome() && store.isRegHome()) return false;
    return !(load.isRegHome() ? is_elsewhere(store) : store.isRegHome() && is_elsewhere(load));
  }

  Function& function_;
  std::vector<uint8_t> mentions_;  // by register: how many operands name it, and arguments
  std::vector<uint32_t> written_arguments_;
  std::vector<Waiting> waiting_;
};

}  // namespace

uint32_t fold_loads(Function& function) {
  return LoadFolder(function).run();
}

}  // namespace wavejit::backend::lir
