#include "backend-x86/lir/builder.h"

#include "internal/check.h"

namespace wavejit::backend::lir {

using asmjit::OperandSignature;
using asmjit::RegType;
using asmjit::TypeId;

namespace {

OperandSignature signature_of(RegType type) {
  return asmjit::ArchTraits::byArch(asmjit::Arch::kX64).regTypeToSignature(type);
}

}  // namespace

uint32_t Builder::new_register(OperandSignature signature, TypeId type, const char* name) {
  const uint32_t bytes = asmjit::TypeUtils::sizeOf(type);
  function_.registers.push_back({.signature = signature,
                                 .type = type,
                                 .bytes = bytes,
                                 .alignment = bytes,
                                 .group = static_cast<uint32_t>(signature.regGroup()),
                                 .is_variable = false,
                                 .name = name});
  return asmjit::Operand::indexToVirtId(static_cast<uint32_t>(function_.registers.size() - 1));
}

x86::Gp Builder::new_gp8(const char* name) {
  const OperandSignature signature = signature_of(RegType::kX86_GpbLo);
  return {signature, new_register(signature, TypeId::kUInt8, name)};
}
x86::Gp Builder::new_gp32(const char* name) {
  const OperandSignature signature = signature_of(RegType::kX86_Gpd);
  return {signature, new_register(signature, TypeId::kUInt32, name)};
}
x86::Gp Builder::new_gp64(const char* name) {
  const OperandSignature signature = signature_of(RegType::kX86_Gpq);
  return {signature, new_register(signature, TypeId::kUInt64, name)};
}
x86::Xmm Builder::new_xmm() {
  return x86::Xmm(new_register(signature_of(RegType::kX86_Xmm), TypeId::kInt32x4, nullptr));
}
x86::Ymm Builder::new_ymm() {
  return x86::Ymm(new_register(signature_of(RegType::kX86_Ymm), TypeId::kInt32x8, nullptr));
}
x86::Zmm Builder::new_zmm() {
  return x86::Zmm(new_register(signature_of(RegType::kX86_Zmm), TypeId::kInt32x16, nullptr));
}
x86::KReg Builder::new_mask16() {
  return x86::KReg(new_register(signature_of(RegType::kX86_KReg), TypeId::kMask16, nullptr));
}
x86::KReg Builder::new_mask32() {
  return x86::KReg(new_register(signature_of(RegType::kX86_KReg), TypeId::kMask32, nullptr));
}

x86::Mem Builder::new_variable(uint32_t bytes, uint32_t alignment) {
  function_.registers.push_back({.signature = {},
                                 .type = TypeId::kVoid,
                                 .bytes = bytes,
                                 .alignment = alignment,
                                 .group = kGpGroup,
                                 .is_variable = true});
  return x86::Mem(OperandSignature::fromOpType(asmjit::OperandType::kMem) |
                      OperandSignature::fromMemBaseType(RegType::kX86_Gpq) |
                      OperandSignature::fromBits(OperandSignature::kMemRegHomeFlag),
                  asmjit::Operand::indexToVirtId(static_cast<uint32_t>(function_.registers.size() - 1)), 0, 0);
}

void Builder::bind(const asmjit::Label& label) {
  cursor_ = function_.insert_label(cursor_, label);
}

void Builder::call(const asmjit::Operand& target, std::span<const x86::Gp> arguments, const x86::Gp* result) {
  WAVEJIT_CHECK(arguments.size() <= Node::kMaxArguments, "a call with {} arguments", arguments.size());
  Node* node = append(Node::Kind::call);
  node->operands[0] = target;
  if (result != nullptr) node->operands[1] = *result;
  for (size_t i = 0; i < arguments.size(); ++i) node->operands[2 + i] = arguments[i];
  node->operand_count = static_cast<uint8_t>(2 + arguments.size());
}

void Builder::ret(const x86::Gp& result) {
  Node* node = append(Node::Kind::result);
  node->operands[0] = result;
  node->operand_count = 1;
}

void Builder::comment(std::string text) {
  Node* node = append(Node::Kind::comment);
  node->mark = static_cast<uint32_t>(function_.comments.size());
  function_.comments.push_back(std::move(text));
}

void Builder::finish() {
  WAVEJIT_CHECK(function_.exit == nullptr, "a function with two exits");
  bind(new_label());
  function_.exit = cursor_;
}

void Builder::take_state(Node& node) {
  node.mask = std::exchange(mask_, {});
  node.options = std::exchange(options_, {});
  node.mark = take_mark();
}

void Builder::narrow(Node& node) {
  using Broadcast = x86::Mem::Broadcast;
  constexpr uint32_t kBytes = 16;
  for (uint32_t i = 0; i < node.operand_count; ++i) {
    asmjit::Operand& op = node.operands[i];
    if (x86::Reg::isVec(op)) {
      op = op.as<x86::Vec>().xmm();
    } else if (op.isMem()) {
      auto& mem = op.as<x86::Mem>();
      if (mem.size() > kBytes) mem.setSize(kBytes);
      const Broadcast elements = mem.getBroadcast();
      if (elements == Broadcast::k1To16) mem.setBroadcast(Broadcast::k1To4);
      if (elements == Broadcast::k1To8) mem.setBroadcast(Broadcast::k1To2);
    }
  }
}

}  // namespace wavejit::backend::lir
