#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "backend-x86/lir/text.h"
#include "backend-x86/lir/text_names.h"
#include "internal/check.h"
#include "ir/text_line.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::Operand;
using asmjit::OperandSignature;
using asmjit::RegType;
using ir::TextLine;

constexpr uint32_t kMaxLabels = 1u << 24;  // the function counts all labels up to the highest, whatever the text says

// A whole word of a letter and a decimal number: "v12", "L3".
std::optional<uint32_t> id_of(std::string_view word, char prefix) {
  uint32_t value = 0;
  if (word.size() < 2 || word.front() != prefix) return std::nullopt;
  const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

struct Register {
  RegType type = RegType::kNone;  // none: no suffix, and the declaration has no view (variables)
  uint32_t id = 0;
  bool has_suffix = true;  // host registers always have one view
  bool is_variable = false;
  [[nodiscard]] OperandSignature signature() const {
    return asmjit::ArchTraits::byArch(text::kArch).regTypeToSignature(type);
  }
};

const std::map<std::string, Register, std::less<>>& host_registers() {
  static const auto* const table = [] {
    auto* made = new std::map<std::string, Register, std::less<>>;
    for (const text::View& view : text::kViews)
      for (uint32_t id = 0; id < view.hosts; ++id) {
        asmjit::String name;
        asmjit::Formatter::formatRegister(name, asmjit::FormatFlags::kNone, nullptr, text::kArch, view.type, id);
        made->emplace(std::string(name.data(), name.size()), Register{.type = view.type, .id = id});
      }
    return made;
  }();
  return *table;
}

template <typename Table>
auto find_name(const Table& table, std::string_view name) -> decltype(std::begin(table)) {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [&](const auto& entry) { return entry.name == name; });
  return found != std::end(table) ? found : nullptr;
}

class Parser {
 public:
  Parser(std::string_view text, Function& into) : text_(text), function_(into), builder_(into) {}

  Expected<void> run() {
    for (uint32_t number = 1; !text_.empty(); ++number) {
      const size_t end = text_.find('\n');
      TextLine line(text_.substr(0, end));
      text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
      if (parse_line(line) && !line.at_end()) fail("unexpected text at the end of the line");
      if (!why_.empty())
        return make_error(ErrorCode::kInvalidArgument, fmt::format("LIR text, line {}: {}.", number, why_));
    }
    return {};
  }

 private:
  bool fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }

  bool parse_line(TextLine& line) {
    if (line.at_end()) return true;
    if (const auto comment = line.comment()) {
      builder_.comment(ir::unescaped(*comment));
      return true;
    }
    const std::string_view word = line.word();
    if (word == "function") return header(line);
    if (word == "registers") return registers(line);
    if (word == "variable") return variable(line);
    if (word == "arguments") return arguments(line);
    if (word == "exit") {
      if (!label(line, line.word())) return false;
      if (function_.exit != nullptr) return fail("a second exit");
      function_.exit = builder_.cursor();
      return true;
    }
    if (line.at(':')) return label(line, word);
    has_nodes_ = true;
    return word == "result" ? result(line) : instruction(line, word);
  }

  // --- declarations ---
  bool header(TextLine& line) {
    function_.avx512 = line.accept_word("avx512");
    if (!line.accept_word("stack")) return true;
    const auto alignment = line.number();
    if (!alignment || *alignment > UINT32_MAX || !std::has_single_bit(*alignment))
      return fail("a power of two after stack");
    function_.stack_alignment = static_cast<uint32_t>(*alignment);
    return true;
  }

  bool next_register(std::string_view word) {
    const auto index = id_of(word, 'v');
    if (index == function_.registers.size()) return true;
    return fail(fmt::format("v{} is the next register, not '{}'", function_.registers.size(), word));
  }

  bool registers(TextLine& line) {
    do {
      if (!next_register(line.word())) return false;
      if (!line.accept(":")) return fail("a register's kind after a colon");
      const std::string_view name = line.word();
      const auto* const kind = find_name(text::kDeclarations, name);
      if (kind == nullptr) return fail(fmt::format("'{}' is no kind of register", name));
      kind->make(builder_);
      if (const auto quoted = line.quoted())
        function_.registers.back().name = function_.names.emplace_back(*quoted).c_str();
    } while (!line.at_end());
    return true;
  }

  bool variable(TextLine& line) {
    if (!next_register(line.word())) return false;
    const auto bytes = line.number();
    const bool aligned = line.accept_word("align");
    const auto alignment = line.number();
    if (!bytes || !aligned || !alignment || *bytes > INT32_MAX || *alignment > INT32_MAX ||
        !std::has_single_bit(*alignment))
      return fail("a variable has bytes, and a power of two after align");
    static_cast<void>(builder_.new_variable(static_cast<uint32_t>(*bytes), static_cast<uint32_t>(*alignment)));
    return true;
  }

  bool arguments(TextLine& line) {
    do {
      Operand& argument = function_.arguments.emplace_back();
      if (!operand(line, argument)) return false;
    } while (!line.at_end());
    return true;
  }

  // --- nodes ---
  bool label(TextLine& line, std::string_view word) {
    const auto id = label_id(word);
    if (!id) return false;
    if (!line.accept(":")) return fail("a colon after the label");
    // A new function has its first label already.
    if (has_nodes_ || *id != function_.begin()->label_id()) builder_.bind(asmjit::Label(*id));
    has_nodes_ = true;
    return true;
  }

  std::optional<uint32_t> label_id(std::string_view word) {
    const auto id = id_of(word, 'L');
    if (!id || *id >= kMaxLabels) {
      fail(fmt::format("'{}' is no label", word));
      return std::nullopt;
    }
    while (function_.label_count() <= *id) static_cast<void>(function_.new_label());
    return id;
  }

  Node* append(Node::Kind kind) {
    Node* node = function_.insert(builder_.cursor(), kind);
    builder_.set_cursor(node);
    return node;
  }

  bool result(TextLine& line) {
    Node* node = append(Node::Kind::result);
    node->operand_count = 1;
    return operand(line, node->operands[0]);
  }

  bool instruction(TextLine& line, std::string_view word) {
    asmjit::InstOptions options{};
    for (const text::Option* option; (option = find_name(text::kOptions, word)) != nullptr; word = line.word())
      options |= option->bit;
    const asmjit::InstId id = asmjit::InstAPI::stringToInstId(text::kArch, word.data(), word.size());
    if (id == x86::Inst::kIdNone) return fail(fmt::format("'{}' is no instruction", word));
    Node* node = append(Node::Kind::instruction);
    node->id = id;
    node->options = options;
    if (!line.at_end() && !line.at('!')) {
      do {
        if (!item(line, *node)) return false;
      } while (line.accept(","));
    }
    if (id == x86::Inst::kIdCall && line.accept("(") && !call(line, *node)) return false;
    return attributes(line, *node);
  }

  // An operand with its mask, or the rounding.
  bool item(TextLine& line, Node& node) {
    if (!line.at('{')) {
      if (node.operand_count == Node::kMaxOperands) return fail("too many operands");
      if (!operand(line, node.operands[node.operand_count++])) return false;
    }
    while (line.accept("{")) {
      const auto inside = line.up_to('}');
      if (!inside) return fail("a brace is not closed");
      if (const auto* const rounding = find_name(text::kRoundings, *inside)) {
        node.options |= rounding->bits;
      } else if (*inside == "z") {
        node.options |= asmjit::InstOptions::kX86_ZMask;
      } else {
        const auto mask = reg(*inside);
        if (!mask) return false;
        node.mask.init(mask->signature(), mask->id);
      }
    }
    return true;
  }

  // Behind the target and the parenthesis.
  bool call(TextLine& line, Node& node) {
    node.kind = Node::Kind::call;
    node.id = 0;
    node.operand_count = 2;
    while (!line.accept(")")) {
      if (node.operand_count == Node::kMaxOperands) return fail("too many arguments");
      if (node.operand_count != 2 && !line.accept(",")) return fail("a comma or a parenthesis after the argument");
      if (!operand(line, node.operands[node.operand_count++])) return false;
    }
    return !line.accept("->") || operand(line, node.operands[1]);
  }

  bool attributes(TextLine& line, Node& node) {
    while (line.accept("!")) {
      const std::string_view word = line.word();
      const auto value = line.number();
      if (!value || *value > UINT32_MAX) return fail(fmt::format("a number after !{}", word));
      if (word == "mark") {
        node.mark = static_cast<uint32_t>(*value);
      } else if (word == "options") {
        node.options |= static_cast<asmjit::InstOptions>(*value);
      } else {
        return fail(fmt::format("unknown attribute '!{}'", word));
      }
    }
    return true;
  }

  // --- operands ---
  std::optional<Register> reg(std::string_view word) {
    if (const auto host = host_registers().find(word); host != host_registers().end()) return host->second;
    const size_t dot = word.find('.');
    const auto index = id_of(word.substr(0, dot), 'v');
    if (!index) {
      fail(fmt::format("'{}' is no operand", word));
      return std::nullopt;
    }
    if (*index >= function_.registers.size()) {
      fail(fmt::format("v{} is not declared", *index));
      return std::nullopt;
    }
    const VirtualRegister& virt = function_.registers[*index];
    Register result{.type = virt.signature.regType(),
                    .id = Operand::indexToVirtId(*index),
                    .has_suffix = dot != std::string_view::npos,
                    .is_variable = virt.is_variable};
    if (!result.has_suffix) return result;
    const auto* const view = find_name(text::kViews, word.substr(dot + 1));
    if (view == nullptr) {
      fail(fmt::format("'{}' is no view of a register", word.substr(dot + 1)));
      return std::nullopt;
    }
    result.type = view->type;
    return result;
  }

  bool operand(TextLine& line, Operand& to) {
    if (line.at('[')) return memory(line, to, 0);
    if (const auto value = line.number()) {
      to = asmjit::Imm(*value);
      return true;
    }
    const std::string_view word = line.word();
    if (word.empty()) return fail("an operand is missing");
    if (word == "none") return true;
    if (word == "double") {
      const auto bits = line.number();
      if (!bits) return fail("a number after double");
      asmjit::Imm imm(*bits);
      imm.setType(asmjit::ImmType::kDouble);
      to = imm;
      return true;
    }
    if (line.at(':')) {
      const auto* const segment = std::find(std::begin(text::kSegments), std::end(text::kSegments), word);
      if (segment == std::end(text::kSegments)) return fail(fmt::format("'{}' is no segment", word));
      line.accept(":");
      return memory(line, to, static_cast<uint32_t>(segment - std::begin(text::kSegments)));
    }
    if (word.front() == 'L') {
      const auto id = label_id(word);
      if (id) to = asmjit::Label(*id);
      return id.has_value();
    }
    const auto found = reg(word);
    if (!found) return false;
    if (found->type == RegType::kNone) return fail(fmt::format("{} is a variable", word));
    to = x86::Reg(found->signature(), found->id);
    return true;
  }

  // The parts of an address.
  struct Address {
    bool is_home = false, has_base = false, has_index = false, has_offset = false;
    RegType base_type = RegType::kNone, index_type = RegType::kNone;
    uint32_t base = 0, index = 0, shift = 0;
    uint64_t offset = 0;
  };

  bool memory(TextLine& line, Operand& to, uint32_t segment) {
    if (!line.accept("[")) return fail("a bracket after the segment");
    Address address{.is_home = line.accept_word("home")};
    using AddressType = x86::Mem::AddrType;
    const auto type = line.accept_word("abs")   ? AddressType::kAbs
                      : line.accept_word("rel") ? AddressType::kRel
                                                : AddressType::kDefault;
    bool negative = false;
    do {
      if (!term(line, address, negative)) return false;
      negative = line.at('-');
    } while (line.accept("+") || line.accept("-"));
    if (!line.accept("]")) return fail("a bracket is not closed");
    const auto offset = static_cast<int64_t>(address.offset);
    if (!address.has_base) {
      address.base = static_cast<uint32_t>(address.offset >> 32);
    } else if (offset != static_cast<int32_t>(offset)) {
      return fail("the displacement has more than 32 bits");
    }
    uint64_t size = 0;
    if (line.accept(":")) {
      size = line.number().value_or(0);
      if (size == 0 || size > 0xff) return fail("a size from 1 to 255 after the colon");
    }
    uint32_t broadcast = 0;
    if (line.accept("{1to")) {
      const uint64_t elements = line.number().value_or(0);
      if (elements < 2 || elements > 64 || !std::has_single_bit(elements) || !line.accept("}"))
        return fail("a broadcast is {1to2} to {1to64}");
      broadcast = static_cast<uint32_t>(std::countr_zero(elements));
    }
    using Signature = OperandSignature;
    to = x86::Mem(Signature::fromOpType(asmjit::OperandType::kMem) | Signature::fromMemBaseType(address.base_type) |
                      Signature::fromMemIndexType(address.index_type) |
                      Signature::fromSize(static_cast<uint32_t>(size)) |
                      Signature::fromValue<Signature::kMemRegHomeFlag>(address.is_home) |
                      Signature::fromValue<x86::Mem::kSignatureMemAddrTypeMask>(type) |
                      Signature::fromValue<x86::Mem::kSignatureMemShiftValueMask>(address.shift) |
                      Signature::fromValue<x86::Mem::kSignatureMemSegmentMask>(segment) |
                      Signature::fromValue<x86::Mem::kSignatureMemBroadcastMask>(broadcast),
                  address.base, address.index, static_cast<int32_t>(static_cast<uint32_t>(address.offset)));
    return true;
  }

  bool term(TextLine& line, Address& address, bool negative) {
    if (const auto value = line.number()) {
      if (std::exchange(address.has_offset, true)) return fail("two displacements");
      address.offset = negative ? 0 - *value : *value;
      return true;
    }
    if (negative) return fail("a number after the minus");
    const std::string_view word = line.word();
    if (word.empty()) return fail("a register, a label or a number in the address");
    if (word.front() == 'L') {
      const auto id = label_id(word);
      if (!id) return false;
      if (std::exchange(address.has_base, true)) return fail("two bases");
      address.base_type = RegType::kLabelTag;
      address.base = *id;
      return true;
    }
    const auto found = reg(word);
    if (!found) return false;
    if (line.accept("*")) {
      const uint64_t scale = line.number().value_or(0);
      if (scale == 0 || scale > 8 || !std::has_single_bit(scale)) return fail("a scale is 1, 2, 4 or 8");
      if (std::exchange(address.has_index, true)) return fail("two indices");
      if (found->type == RegType::kNone) return fail(fmt::format("{} is a variable", word));
      address.index_type = found->type;
      address.index = found->id;
      address.shift = static_cast<uint32_t>(std::countr_zero(scale));
      return true;
    }
    if (std::exchange(address.has_base, true)) return fail("two bases; an index has a scale");
    if (!found->has_suffix && found->is_variable) address.is_home = true;
    address.base_type = address.is_home && !found->has_suffix ? RegType::kX86_Gpq : found->type;
    address.base = found->id;
    return true;
  }

  std::string_view text_;
  Function& function_;
  Builder builder_;
  std::string why_;
  bool has_nodes_ = false;  // labels or code
};

}  // namespace

Expected<void> parse(std::string_view text, Function& into) {
  WAVEJIT_CHECK(into.begin() == into.last() && into.registers.empty(), "LIR text is parsed into a function in use");
  return Parser(text, into).run();
}

}  // namespace wavejit::backend::lir
