// Builder: appends nodes to a LIR function at a cursor, with a member function per x86 instruction.
#pragma once

#include <type_traits>
#include <utility>

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

// Member functions are named like asmjit's emitters: bind(), mov(), vpaddd(), k(mask), z(). Not thread-safe; the function
// must outlive the builder.
class Builder : public x86::EmitterExplicitT<Builder> {
 public:
  explicit Builder(Function& function) : function_(function), cursor_(function.last()) {}

  [[nodiscard]] Function& function() { return function_; }

  // --- registers and labels ---
  [[nodiscard]] x86::Gp new_gp8(const char* name = nullptr);
  [[nodiscard]] x86::Gp new_gp32(const char* name = nullptr);
  [[nodiscard]] x86::Gp new_gp64(const char* name = nullptr);
  [[nodiscard]] x86::Xmm new_xmm();
  [[nodiscard]] x86::Ymm new_ymm();
  [[nodiscard]] x86::Zmm new_zmm();
  [[nodiscard]] x86::KReg new_mask16();
  [[nodiscard]] x86::KReg new_mask32();
  // A variable of the function's frame, as a memory operand. Alignment: a power of two, at most the stack's.
  [[nodiscard]] x86::Mem new_variable(uint32_t bytes, uint32_t alignment);
  [[nodiscard]] asmjit::Label new_label() { return function_.new_label(); }

  // --- nodes ---
  void bind(const asmjit::Label& label);
  // A call of a function with at most Node::kMaxArguments general registers as arguments, and a result or none.
  void call(const asmjit::Operand& target, std::span<const x86::Gp> arguments, const x86::Gp* result);
  void ret(const x86::Gp& result);
  void comment(std::string text);
  // Binds the exit. Called once; cold code is appended behind it.
  void finish();
  template <typename... Operands>
  void emit(asmjit::InstId id, const Operands&... operands) {
    static_assert(sizeof...(Operands) <= Node::kMaxOperands);
    Node* node = append(Node::Kind::instruction);
    node->id = id;
    node->operand_count = sizeof...(Operands);
    uint32_t i = 0;
    (put(node->operands[i++], operands), ...);
    while (node->operand_count != 0 && node->operands[node->operand_count - 1].isNone()) --node->operand_count;
    if (narrow_) narrow(*node);
    take_state(*node);
  }

  // --- where, and for the next instruction ---
  [[nodiscard]] Node* cursor() const { return cursor_; }
  // Returns the previous cursor.
  Node* set_cursor(Node* node) {
    Node* const before = cursor_;
    cursor_ = node;
    return before;
  }
  // NOLINTBEGIN(readability-identifier-naming): names that asmjit's template calls
  void setExtraReg(const asmjit::BaseReg& mask) { mask_.init(mask); }
  Builder& k(const x86::KReg& mask) {
    setExtraReg(mask);
    return *this;
  }
  void addInstOptions(asmjit::InstOptions options) { options_ |= options; }
  // NOLINTEND(readability-identifier-naming)
  // Whether vector registers and vectors in memory of the instructions that follow are those of 128 bits. The virtual registers
  // keep their size; the instructions clear what lies above. Returns what it was.
  bool set_narrow(bool narrow) { return std::exchange(narrow_, narrow); }
  [[nodiscard]] bool is_narrow() const { return narrow_; }
  // Passed on to the encoder (Node::mark).
  void set_mark(uint32_t mark) { mark_ = mark; }
  [[nodiscard]] uint32_t take_mark() { return std::exchange(mark_, 0); }

 private:
  friend struct x86::EmitterExplicitT<Builder>;
  template <typename... Operands>
  // NOLINTNEXTLINE(readability-identifier-naming): asmjit's template calls it
  asmjit::Error _emitI(asmjit::InstId id, const Operands&... operands) {
    emit(id, operands...);
    return asmjit::kErrorOk;
  }
  static void put(asmjit::Operand& to, const asmjit::Operand_& from) { to.copyFrom(from); }
  template <typename Integer>
    requires std::is_integral_v<Integer> || std::is_enum_v<Integer>
  static void put(asmjit::Operand& to, Integer value) {
    to = asmjit::imm(value);
  }
  Node* append(Node::Kind kind) { return cursor_ = function_.insert(cursor_, kind); }
  void take_state(Node& node);
  static void narrow(Node& node);
  uint32_t new_register(asmjit::OperandSignature signature, asmjit::TypeId type, const char* name);

  Function& function_;
  Node* cursor_;
  asmjit::RegOnly mask_{};
  asmjit::InstOptions options_{};
  uint32_t mark_ = 0;
  bool narrow_ = false;
};

}  // namespace wavejit::backend::lir
