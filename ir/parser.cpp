#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ir/names.h"
#include "ir/signature.h"
#include "ir/text.h"
#include "ir/text_line.h"

namespace wavejit::ir {
namespace {

constexpr uint32_t kMaxId = 1u << 24;  // keeps tables indexed by id small, whatever the text says

std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && quoted) {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ';' && !quoted) {
      return line.substr(0, i);
    }
  }
  return line;
}

const std::unordered_map<std::string_view, Op>& mnemonics() {
  static const auto* table = [] {
    auto* map = new std::unordered_map<std::string_view, Op>;
    for (unsigned i = 0; i < kNumOps; ++i) map->emplace(op_info(static_cast<Op>(i)).mnemonic, static_cast<Op>(i));
    return map;
  }();
  return *table;
}

template <typename Names>
std::optional<uint32_t> index_of(const Names& names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

std::optional<uint32_t> helper_number(std::string_view name) {
  for (uint32_t i = 0; i < static_cast<uint32_t>(Helper::kCount); ++i) {
    if (helper_info(static_cast<Helper>(i)).name == name) return i;
  }
  return std::nullopt;
}

std::optional<uint32_t> call_number(std::string_view name) {
  for (uint32_t i = 0; i < static_cast<uint32_t>(Call::kCount); ++i) {
    if (name_of(static_cast<Call>(i)) == name) return i;
  }
  return std::nullopt;
}

std::optional<Type> parse_type(std::string_view text) {
  static constexpr Type kTypes[] = {kI1, kI32, kI64, kMask, kV32, kV64};
  for (const Type type : kTypes) {
    const std::string name = to_string(type);
    if (text == name) return type;
    if (!text.starts_with(name) || text.size() <= name.size() + 1 || text[name.size()] != 'x') continue;
    const std::string_view digits = text.substr(name.size() + 1);
    unsigned count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc() || end != digits.data() + digits.size() || count < 1 || count > 255) return std::nullopt;
    return Type{type.kind, static_cast<uint8_t>(count)};
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), function_(std::make_unique<Function>("")) {}

  Expected<std::unique_ptr<Function>> run() {
    while (!text_.empty()) {
      const size_t end = text_.find('\n');
      std::string_view line = text_.substr(0, end);
      text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
      ++line_number_;
      line = without_comment(line);
      TextLine cursor(line);
      if (cursor.at_end()) continue;
      if (!parse_line(cursor)) return error();
      if (!cursor.at_end()) {
        fail("unexpected text at the end of the line");
        return error();
      }
    }
    if (!resolve()) return error();
    return std::move(function_);
  }

 private:
  struct Pending {
    Inst* inst;
    std::vector<uint32_t> operands;
    int line;
  };
  struct PendingEntry {
    uint64_t pc = 0;
    uint32_t block = 0;
    bool resumed_only = false;
    bool moved = false;
    uint64_t exec = 0;
  };
  struct PendingBlock {
    Block* block;
    bool preds_given = false;
    std::vector<uint32_t> preds, successors;
  };

  bool fail(std::string why) {
    if (why_.empty()) why_ = fmt::format("line {}: {}", line_number_, why);
    return false;
  }
  tl::unexpected<Error> error() const { return make_error(ErrorCode::kInvalidArgument, "IR text, " + why_ + "."); }

  bool parse_line(TextLine& line) {
    if (line.accept_word("function")) {
      const auto name = line.quoted();
      if (!name) return fail("a function needs a quoted name");
      function_->name = *name;
      return true;
    }
    if (line.accept_word("entry")) {
      const auto pc = line.number();
      const auto block = line.id('b', kMaxId);
      if (!pc || !block) return fail("an entry is a guest pc and a block");
      const bool resumed = line.accept_word("resumed");
      const bool moved = line.accept_word("moved");
      uint64_t exec = ~uint64_t{0};
      if (line.accept_word("exec")) {
        const auto value = line.number();
        if (!value) return fail("a mask after exec");
        exec = *value;
      }
      entries_.push_back({*pc, *block, resumed, moved, exec});
      return true;
    }
    if (line.accept_word("profile")) return parse_profile(line);
    if (line.accept_word("block")) return parse_block(line);
    if (blocks_.empty()) return fail("an instruction outside a block");
    return parse_inst(line);
  }

  bool parse_profile(TextLine& line) {
    const auto pc = line.number();
    if (!pc) return fail("a guest pc after profile");
    LaneSample& at = function_->profile[*pc];
    const std::pair<const char*, uint64_t*> fields[] = {{"executed", &at.executed},
                                                        {"lanes", &at.lanes},
                                                        {"groups", &at.groups},
                                                        {"same", &at.same},
                                                        {"consecutive", &at.consecutive}};
    for (const auto& [name, field] : fields) {
      if (!line.accept_word(name)) continue;
      const auto value = line.number();
      if (!value) return fail(fmt::format("a number after {}", name));
      *field = *value;
    }
    return true;
  }

  bool parse_block(TextLine& line) {
    const auto id = line.id('b', kMaxId);
    if (!id) return fail("a block needs a name like b0");
    if (block_index_.contains(*id)) return fail(fmt::format("block b{} is defined twice", *id));
    PendingBlock pending{.block = function_->add_block()};
    pending.block->id = *id;
    function_->reserve_ids(0, *id + 1);
    if (line.accept('@')) {
      const auto pc = line.number();
      if (!pc) return fail("a guest pc after @");
      pending.block->guest_pc = *pc;
    }
    pending.block->rare = line.accept_word("rare");
    if (line.accept_word("preds")) {
      pending.preds_given = true;
      while (const auto predecessor = line.id('b', kMaxId)) {
        pending.preds.push_back(*predecessor);
        line.accept(',');
      }
    }
    block_index_.emplace(*id, blocks_.size());
    blocks_.push_back(std::move(pending));
    return true;
  }

  bool parse_inst(TextLine& line) {
    std::optional<uint32_t> id = line.id('%', kMaxId);
    Type type = kNone;
    if (id) {
      if (!line.accept(':')) return fail("a value needs a type: %id:type = ...");
      const auto parsed = parse_type(line.word());
      if (!parsed || !line.accept('=')) return fail("a value needs a type: %id:type = ...");
      type = *parsed;
    }
    uint32_t attr = 0;
    const auto op = parse_mnemonic(line.word(), &attr);
    if (!op) return fail("unknown operation");
    Inst* inst = function_->create(*op, type);
    inst->attr = attr;
    if (has_memory_attributes(*op)) {
      if (!parse_memory(line, inst)) return false;
    }
    if (!parse_tail(line, inst)) return false;
    if (id) {
      inst->id = *id;
      function_->reserve_ids(*id + 1, 0);
      if (!values_.emplace(*id, inst).second) return fail(fmt::format("%{} is defined twice", *id));
    } else {
      unnamed_.push_back(inst);
    }
    function_->append(blocks_.back().block, inst);
    return true;
  }

  std::optional<Op> parse_mnemonic(std::string_view word, uint32_t* attr) {
    if (const auto it = mnemonics().find(word); it != mnemonics().end()) return it->second;
    const size_t dot = word.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto it = mnemonics().find(word.substr(0, dot));
    if (it == mnemonics().end()) return std::nullopt;
    const std::string_view suffix = word.substr(dot + 1);
    std::optional<uint32_t> value;
    switch (it->second) {
      case Op::icmp:
        value = index_of(kICmpNames, suffix);
        break;
      case Op::fcmp_f16:
      case Op::fcmp_f32:
      case Op::fcmp_f64:
        value = index_of(kFCmpNames, suffix);
        if (value) *value <<= fpenv::kFCmpShift;
        break;
      case Op::helper:
        value = helper_number(suffix);
        break;
      case Op::call:
        value = call_number(suffix);
        break;
      case Op::exit:
        value = index_of(kExitNames, suffix);
        break;
      default:
        break;
    }
    if (!value) return std::nullopt;
    *attr = *value;
    return it->second;
  }

  bool parse_memory(TextLine& line, Inst* inst) {
    MemAttr& mem = inst->mem;
    if (!line.accept('[')) return fail("a memory operation needs [space form size]");
    const auto space = index_of(kSpaceNames, line.word());
    const auto form = index_of(kFormNames, line.word());
    if (!space || !form) return fail("unknown address space or form");
    mem.space = static_cast<Space>(*space);
    mem.form = static_cast<AddressForm>(*form);
    const std::string_view size = line.word();  // bytes x count
    const size_t x = size.find('x');
    unsigned bytes = 0;
    unsigned count = 0;
    if (x != std::string_view::npos) {
      const char* const end = size.data() + size.size();
      std::from_chars(end - size.size(), end - size.size() + x, bytes);
      std::from_chars(end - size.size() + x + 1, end, count);
    }
    if (bytes < 1 || bytes > 8 || count < 1 || count > 255) return fail("element size and count are written like 4x2");
    mem.bytes = static_cast<uint8_t>(bytes);
    mem.count = static_cast<uint8_t>(count);
    while (!line.accept(']')) {
      const std::string_view word = line.word();
      if (word == "sext") {
        mem.sign_extend = true;
      } else if (word == "glc") {
        mem.glc = true;
      } else if (word == "wraps") {
        mem.wraps = true;
      } else if (word == "aligned") {
        mem.aligned = true;
      } else if (word == "imm") {
        const auto imm = line.number();
        if (!imm) return fail("a number after imm");
        mem.imm = static_cast<int64_t>(*imm);
      } else if (const auto atomic = index_of(kAtomicNames, word); atomic && inst->op == Op::atomic) {
        mem.atomic_op = static_cast<AtomicOp>(*atomic);
      } else {
        return fail("unknown memory attribute");
      }
    }
    return true;
  }

  bool parse_tail(TextLine& line, Inst* inst) {
    if (line.accept('#')) {
      const auto imm = line.number();
      if (!imm) return fail("a number after #");
      inst->imm = inst->op == Op::const_ ? truncate_to(inst->type, *imm) : *imm;
      if (line.accept('#')) {
        const auto imm2 = line.number();
        if (!imm2) return fail("a number after #");
        inst->imm2 = *imm2;
      }
    }
    if (line.accept_word("attr")) {
      const auto attr = line.number();
      if (!attr) return fail("a number after attr");
      inst->attr |= static_cast<uint32_t>(*attr);
    }
    Pending pending{.inst = inst, .operands = {}, .line = line_number_};
    for (bool more = true; more; more = line.accept(',')) {
      if (const auto operand = line.id('%', kMaxId)) {
        pending.operands.push_back(*operand);
      } else if (const auto successor = line.id('b', kMaxId)) {
        blocks_.back().successors.push_back(*successor);
      } else if (!pending.operands.empty()) {
        return fail("an operand after the comma");
      } else {
        break;
      }
    }
    if (line.accept('@')) {
      const auto pc = line.number();
      if (!pc) return fail("a guest pc after @");
      inst->guest_pc = *pc;
    }
    pending_.push_back(std::move(pending));
    return true;
  }

  Block* find_block(uint32_t id) {
    const auto it = block_index_.find(id);
    if (it == block_index_.end()) {
      fail(fmt::format("block b{} is not defined", id));
      return nullptr;
    }
    return blocks_[it->second].block;
  }

  bool resolve() {
    uint32_t next = function_->num_values();
    for (Inst* inst : unnamed_) inst->id = next++;
    function_->reserve_ids(next, 0);
    for (const Pending& pending : pending_) {
      line_number_ = pending.line;
      for (const uint32_t id : pending.operands) {
        const auto it = values_.find(id);
        if (it == values_.end()) return fail(fmt::format("%{} is not defined", id));
        pending.inst->operands.push_back(it->second);
        it->second->users.push_back(pending.inst);
      }
    }
    for (const PendingBlock& pending : blocks_) {
      for (const uint32_t id : pending.successors) {
        Block* successor = find_block(id);
        if (successor == nullptr) return false;
        pending.block->successors.push_back(successor);
        // Without a list of predecessors their order is that of the text.
        if (!blocks_[block_index_.at(id)].preds_given) successor->predecessors.push_back(pending.block);
      }
      for (const uint32_t id : pending.preds) {
        Block* predecessor = find_block(id);
        if (predecessor == nullptr) return false;
        pending.block->predecessors.push_back(predecessor);
      }
    }
    for (const PendingEntry& entry : entries_) {
      Block* block = find_block(entry.block);
      if (block == nullptr) return false;
      function_->entries.push_back({entry.pc, block, entry.resumed_only, entry.moved, entry.exec});
    }
    return true;
  }

  std::string_view text_;
  std::unique_ptr<Function> function_;
  int line_number_ = 0;
  std::string why_;
  std::vector<PendingBlock> blocks_;
  std::unordered_map<uint32_t, size_t> block_index_;
  std::unordered_map<uint32_t, Inst*> values_;
  std::vector<Inst*> unnamed_;
  std::vector<Pending> pending_;
  std::vector<PendingEntry> entries_;
};

}  // namespace

Expected<std::unique_ptr<Function>> parse(std::string_view text) {
  return Parser(text).run();
}

}  // namespace wavejit::ir
