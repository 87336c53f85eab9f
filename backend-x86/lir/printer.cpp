#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "backend-x86/lir/text.h"
#include "backend-x86/lir/text_names.h"
#include "ir/text_line.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::InstOptions;
using asmjit::Operand;
using asmjit::OperandSignature;
using asmjit::RegType;

constexpr uint32_t kDeclarationsInLine = 8;

std::string_view name_of(RegType type) {
  const auto* const view = std::find_if(std::begin(text::kViews), std::end(text::kViews),
                                        [&](const text::View& candidate) { return candidate.type == type; });
  return view != std::end(text::kViews) ? view->name : "?";
}

std::string number(int64_t value) {
  constexpr int64_t kDecimal = 1 << 16;
  return value > -kDecimal && value < kDecimal ? fmt::format("{}", value)
                                               : fmt::format("{:#x}", static_cast<uint64_t>(value));
}

class Printer {
 public:
  explicit Printer(const Function& function) : function_(function) {}

  void header() {
    out_ += fmt::format("function{} stack {}\n", function_.avx512 ? " avx512" : "", function_.stack_alignment);
    uint32_t in_line = 0;
    for (size_t i = 0; i < function_.registers.size(); ++i) {
      const VirtualRegister& virt = function_.registers[i];
      if (in_line != 0 && (virt.is_variable || in_line == kDeclarationsInLine)) {
        out_ += '\n';
        in_line = 0;
      }
      if (virt.is_variable) {
        out_ += fmt::format("variable v{} {} align {}\n", i, virt.bytes, virt.alignment);
        continue;
      }
      if (in_line++ == 0) out_ += "registers";
      const auto* const kind =
          std::find_if(std::begin(text::kDeclarations), std::end(text::kDeclarations),
                       [&](const text::Declaration& declaration) { return declaration.type == virt.type; });
      out_ += fmt::format(" v{}:{}", i, kind != std::end(text::kDeclarations) ? kind->name : "?");
      if (virt.name != nullptr) out_ += " " + ir::quoted(virt.name);
    }
    if (in_line != 0) out_ += '\n';
    if (!function_.arguments.empty()) {
      out_ += "arguments";
      for (const Operand& argument : function_.arguments) {
        out_ += ' ';
        operand(argument);
      }
      out_ += '\n';
    }
  }

  void nodes() {
    for (const Node* node = function_.begin(); node != nullptr; node = node->next) {
      if (!node->is_label()) out_ += "  ";
      this->node(*node);
      out_ += '\n';
    }
  }

  void node(const Node& node) {
    switch (node.kind) {
      case Node::Kind::label:
        out_ += fmt::format("{}L{}:", &node == function_.exit ? "exit " : "", node.label_id());
        return;
      case Node::Kind::comment:
        out_ += "; " + ir::escaped(function_.comments[node.mark]);
        return;
      case Node::Kind::result:
        out_ += "result ";
        operand(node.operands[0]);
        return;
      case Node::Kind::call:
        call(node);
        break;
      case Node::Kind::instruction:
        instruction(node);
        break;
    }
    if (node.mark != 0) out_ += fmt::format(" !mark {}", node.mark);
  }

  std::string take() { return std::move(out_); }

 private:
  void call(const Node& node) {
    out_ += "call ";
    operand(node.operands[0]);
    out_ += " (";
    for (uint32_t i = 2; i < node.operand_count; ++i) {
      if (i != 2) out_ += ", ";
      operand(node.operands[i]);
    }
    out_ += ')';
    if (node.operands[1].isNone()) return;
    out_ += " -> ";
    operand(node.operands[1]);
  }

  void instruction(const Node& node) {
    InstOptions rest = node.options;
    for (const text::Option& option : text::kOptions) {
      if (!asmjit::Support::test(rest, option.bit)) continue;
      rest &= ~option.bit;
      out_ += option.name;
      out_ += ' ';
    }
    asmjit::String name;
    asmjit::InstAPI::instIdToString(text::kArch, node.id, name);
    out_ += std::string_view(name.data(), name.size());
    const char* separator = " ";
    const auto decorate = [&] {
      if (node.has_mask()) {
        out_ += '{';
        reg(node.mask.signature(), node.mask.id());
        out_ += '}';
      }
      if (asmjit::Support::test(rest, InstOptions::kX86_ZMask)) out_ += "{z}";
      rest &= ~InstOptions::kX86_ZMask;
    };
    if (node.operand_count == 0) {
      out_ += ' ';
      decorate();
      if (out_.back() == ' ') out_.pop_back();
    }
    for (uint32_t i = 0; i < node.operand_count; ++i) {
      out_ += separator;
      separator = ", ";
      operand(node.operands[i]);
      if (i == 0) decorate();
    }
    for (const text::Rounding& rounding : text::kRoundings) {
      if ((rest & rounding.mask) != rounding.bits) continue;
      rest &= ~rounding.mask;
      out_ += fmt::format("{}{{{}}}", separator, rounding.name);
      separator = ", ";
    }
    if (rest != InstOptions::kNone) out_ += fmt::format(" !options {:#x}", static_cast<uint32_t>(rest));
  }

  void operand(const Operand& op) {
    if (op.isReg()) {
      reg(op.signature(), op.id());
    } else if (op.isMem()) {
      memory(op.as<x86::Mem>());
    } else if (op.isImm()) {
      const auto& imm = op.as<asmjit::Imm>();
      out_ += imm.isDouble() ? fmt::format("double {:#x}", static_cast<uint64_t>(imm.value())) : number(imm.value());
    } else if (op.isLabel()) {
      out_ += fmt::format("L{}", op.id());
    } else {
      out_ += "none";
    }
  }

  [[nodiscard]] const VirtualRegister* find(uint32_t id) const {
    const uint32_t index = Operand::virtIdToIndex(id);
    return Operand::isVirtId(id) && index < function_.registers.size() ? &function_.registers[index] : nullptr;
  }

  void reg(OperandSignature signature, uint32_t id) {
    const VirtualRegister* virt = find(id);
    reg(signature.regType(), id, virt != nullptr ? virt->signature.regType() : RegType::kNone);
  }
  // `whole`: the view without a suffix.
  void reg(RegType type, uint32_t id, RegType whole) {
    if (Operand::isVirtId(id)) {
      out_ += fmt::format("v{}", Operand::virtIdToIndex(id));
      if (type != whole) out_ += fmt::format(".{}", name_of(type));
      return;
    }
    asmjit::String name;
    asmjit::Formatter::formatRegister(name, asmjit::FormatFlags::kNone, nullptr, text::kArch, type, id);
    out_ += std::string_view(name.data(), name.size());
  }

  void memory(const x86::Mem& mem) {
    if (mem.segmentId() < std::size(text::kSegments) && mem.hasSegment())
      out_ += fmt::format("{}:", text::kSegments[mem.segmentId()]);
    out_ += '[';
    const VirtualRegister* base = mem.hasBaseReg() ? find(mem.baseId()) : nullptr;
    const bool is_variable = base != nullptr && base->is_variable;
    if (mem.isRegHome() && !(is_variable && mem.baseType() == RegType::kX86_Gpq)) out_ += "home ";
    if (mem.isAbs()) out_ += "abs ";
    if (mem.isRel()) out_ += "rel ";
    const char* separator = "";
    if (mem.hasBaseLabel()) {
      out_ += fmt::format("L{}", mem.baseId());
      separator = " + ";
    } else if (mem.hasBaseReg()) {
      const RegType declared = base != nullptr ? base->signature.regType() : RegType::kNone;
      reg(mem.baseType(), mem.baseId(), mem.isRegHome() ? RegType::kX86_Gpq : declared);
      separator = " + ";
    }
    if (mem.hasIndex()) {
      const VirtualRegister* index = find(mem.indexId());
      out_ += separator;
      reg(mem.indexType(), mem.indexId(), index != nullptr ? index->signature.regType() : RegType::kNone);
      out_ += fmt::format("*{}", 1u << mem.shift());
      separator = " + ";
    }
    if (!mem.hasBase()) {
      out_ += fmt::format("{}{:#x}", separator, static_cast<uint64_t>(mem.offset()));
    } else if (const int64_t offset = mem.offsetLo32(); offset != 0) {
      out_ += offset < 0 ? " - " : " + ";
      out_ += number(offset < 0 ? -offset : offset);
    }
    out_ += ']';
    const uint32_t size = mem.signature().size();
    if (size != 0) out_ += fmt::format(":{}", size);
    if (mem.hasBroadcast()) out_ += fmt::format("{{1to{}}}", 1u << static_cast<uint32_t>(mem.getBroadcast()));
  }

  const Function& function_;
  std::string out_;
};

}  // namespace

std::string print(const Function& function) {
  Printer printer(function);
  printer.header();
  printer.nodes();
  return printer.take();
}

std::string print(const Function& function, const Node& node) {
  Printer printer(function);
  printer.node(node);
  return printer.take();
}

}  // namespace wavejit::backend::lir
