#include "backend-x86/encode/encode.h"

#include "internal/check.h"
#include "internal/stop_scope.h"

namespace wavejit::backend {
namespace {

using lir::Node;
namespace I = x86::Inst;

void encode_instruction(const Node& node, x86::Assembler& assembler) {
  assembler.setInstOptions(node.options);
  if (node.has_mask()) assembler.setExtraReg(node.mask);
  assembler.emitOpArray(node.id, node.operands.data(), node.operand_count);
}

}  // namespace

EncodedFunction encode(const lir::Function& function, x86::Assembler& assembler) {
  WAVEJIT_CHECK(assembler.code()->labelCount() == 0, "code with labels of others");
  EncodedFunction result;
  for (uint32_t i = 0; i < function.label_count(); ++i) assembler.newLabel();
  for (const Node* node = function.begin(); node != nullptr; node = node->next) {
    StopScope::check();
    switch (node->kind) {
      case Node::Kind::label:
        assembler.bind(node->operands[0].as<asmjit::Label>());
        continue;
      case Node::Kind::comment: {
        const std::string& text = function.comments[node->mark];
        if (auto* logger = assembler.code()->logger()) logger->logf("%06zx  %s\n", assembler.offset(), text.c_str());
        continue;
      }
      case Node::Kind::result:
        WAVEJIT_CHECK(false, "register allocation has left a result");
        continue;
      case Node::Kind::call:
        // SSE code of the callee is slow while upper halves of vector registers hold something. It keeps none of these.
        static_assert(lir::Convention::kPreserved[1] == 0);
        assembler.vzeroupper();
        ++result.instructions;
        assembler.emit(I::kIdCall, node->operands[0]);
        break;
      case Node::Kind::instruction:
        break;
    }
    const size_t begin = assembler.offset();
    if (node->is_instruction()) encode_instruction(*node, assembler);
    ++result.instructions;
    if (node->mark != 0)
      result.marked.push_back({.mark = node->mark,
                               .begin = static_cast<uint32_t>(begin),
                               .end = static_cast<uint32_t>(assembler.offset())});
  }
  for (const lir::JumpTable& table : function.jump_tables) {
    constexpr uint32_t kBytes = 4;
    assembler.align(asmjit::AlignMode::kData, kBytes);
    assembler.bind(table.label);
    for (const asmjit::Label& target : table.targets) assembler.embedLabelDelta(target, table.label, kBytes);
  }
  return result;
}

}  // namespace wavejit::backend
