#include "backend-x86/regalloc/recorded_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend-x86/lir/instruction_access.h"
#include "backend-x86/lir/text.h"
#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {
namespace {

using asmjit::InstControlFlow;
using asmjit::Operand;
using lir::Convention;
using lir::Node;
using Kind = RecordedUse::Kind;
namespace I = x86::Inst;

constexpr uint8_t kAnyHost = 0xff;

uint32_t bytes_of(asmjit::RegType type) {
  return asmjit::ArchTraits::byArch(asmjit::Arch::kX64).regTypeToSignature(type).size();
}

// What the calling convention passes in one register.
bool is_passed(const Operand& op) {
  return x86::Reg::isGp(op) && op.isVirtReg() && lir::bytes_of(op) >= 4;
}

}  // namespace

RecordedProgram::RecordedProgram(lir::Function& function) : function_(function) {
  groups_.reserve(function.registers.size());
  for (const lir::VirtualRegister& reg : function.registers) groups_.push_back(static_cast<uint8_t>(reg.group));
  section_of_.assign(groups_.size(), kNone);
  labels_.assign(function.label_count(), kNone);
  if (function.arguments.size() > Convention::kArguments.size() ||
      !std::all_of(function.arguments.begin(), function.arguments.end(), is_passed)) {
    problem = "an argument of the function is not understood";
    return;
  }
  for (const Operand& argument : function.arguments) section_of_[Operand::virtIdToIndex(argument.id())] = kMany;
  uint32_t section = 0;
  for (Node* node = function.begin()->next; node != nullptr; node = node->next) add(*node, section);
}

std::optional<uint32_t> RecordedProgram::label(uint32_t id) const {
  if (id >= labels_.size() || labels_[id] == kNone) return std::nullopt;
  return labels_[id];
}

void RecordedProgram::fail(const Node& node, const char* why) {
  if (!problem) problem = fmt::format("'{}' is not understood: {}", lir::print(function_, node), why);
}

void RecordedProgram::add(Node& node, uint32_t& section) {
  node.recorded = 0;
  if (node.kind == Node::Kind::comment) return;
  const auto number = static_cast<uint32_t>(instructions.size());
  node.recorded = number + 1;
  RecordedInstruction& to =
      instructions.emplace_back(RecordedInstruction{.node = node, .kind = RecordedInstruction::Kind::instruction});
  to.node.prev = to.node.next = nullptr;
  to.first_use = static_cast<uint32_t>(uses_.size());
  switch (node.kind) {
    case Node::Kind::label:
      to.kind = RecordedInstruction::Kind::label;
      labels_[node.label_id()] = number;
      ++section;
      return;
    case Node::Kind::result:
      to.kind = RecordedInstruction::Kind::result;
      to.flow = InstControlFlow::kReturn;
      add_result(node);
      break;
    case Node::Kind::call:
      to.kind = RecordedInstruction::Kind::call;
      add_call(node);
      break;
    default:
      add_operands(node, to);
  }
  to.uses = static_cast<uint32_t>(uses_.size()) - to.first_use;
  note_sections(to, section);
  if (to.flow != InstControlFlow::kRegular) ++section;
}

// A register of one section is written there as a whole before anything reads it.
void RecordedProgram::note_sections(const RecordedInstruction& inst, uint32_t section) {
  if (inst.same_register != asmjit::InstSameRegHint::kWO) {
    for (const RecordedUse& use : uses(inst))
      if (use.read != 0 && section_of_[use.reg] != section) section_of_[use.reg] = kMany;
  }
  for (const RecordedUse& use : uses(inst)) {
    uint32_t& of = section_of_[use.reg];
    const bool whole = (bytes_of_group(groups_[use.reg]) & ~(use.written | use.zeroed)) == 0;
    if (of != section) of = of == kNone && whole ? section : kMany;
  }
}

void RecordedProgram::add_operands(const Node& node, RecordedInstruction& to) {
  const lir::InstructionAccess* access = lir::instruction_access(node);
  if (access == nullptr) return fail(node, "asmjit has no facts of it");
  to.flow = access->flow;
  if (to.flow == InstControlFlow::kReturn || node.id == I::kIdPop) return fail(node, "the stack pointer changes");
  if (to.flow == InstControlFlow::kCall) {
    if (!node.operands[0].isMem()) return fail(node, "the target of a call");
    to.kind = RecordedInstruction::Kind::stub;
    to.flow = InstControlFlow::kRegular;
  }
  bool registers_only = node.operand_count != 0, memory = false;
  uint32_t first = UINT32_MAX;
  bool same = true;
  const auto index = [](uint32_t id) { return Operand::virtIdToIndex(id); };
  for (uint32_t i = 0; i < node.operand_count; ++i) memory |= node.operands[i].isMem();
  // Of an address that is not used as such, only the bytes that the result has matter.
  const uint64_t address_bytes = node.id == I::kIdLea ? low_bytes(lir::bytes_of(node.operands[0])) : ~uint64_t{0};
  for (uint32_t i = 0; i < node.operand_count; ++i) {
    const Operand& op = node.operands[i];
    const lir::OperandAccess& how = access->operands[i];
    RecordedUse use{.reg = 0,
                    .kind = Kind::operand,
                    .operand = static_cast<uint8_t>(i),
                    .fixed = kAnyHost,
                    .memory_size = 0,
                    .read = 0,
                    .written = 0,
                    .zeroed = 0};
    if (op.isReg()) {
      if (!op.isVirtReg()) return fail(node, "a host register by name");
      use.reg = index(op.id());
      use.fixed = how.fixed;
      if ((how.flags & RegisterUse::read) != 0) use.read = how.read_bytes;
      // asmjit has all of the 8 bytes of a mask read, whatever number of lanes the instruction has.
      if (op.as<asmjit::BaseReg>().group() == asmjit::RegGroup::kX86_K)
        use.read &= low_bytes(function_.registers[use.reg].bytes);
      if ((how.flags & RegisterUse::write) != 0) {
        use.written = how.written;
        use.zeroed = how.zeroed & bytes_of_group(groups_[use.reg]);
      }
      if ((how.flags & RegisterUse::use_memory) != 0 && !memory && !lir::differs_in_memory(node))
        use.memory_size = how.memory_size;
      if (first == UINT32_MAX) first = use.reg;
      same &= use.reg == first;
      add_use(use);
    } else if (op.isMem()) {
      registers_only = false;
      const auto& mem = op.as<asmjit::BaseMem>();
      if (((how.base_flags | how.index_flags) & RegisterUse::write) != 0) return fail(node, "an address that changes");
      use.fixed = how.fixed;
      if (mem.isRegHome()) {
        if (!Operand::isVirtId(mem.baseId()) || !function_.of(mem.baseId()).is_variable)
          return fail(node, "a register's own stack slot");
      } else if (mem.hasBaseReg()) {
        if (!Operand::isVirtId(mem.baseId())) return fail(node, "a host register as base");
        use.reg = index(mem.baseId());
        use.kind = Kind::base;
        use.read = low_bytes(bytes_of(mem.baseType())) & address_bytes;
        add_use(use);
      }
      if (mem.hasIndexReg()) {
        if (!Operand::isVirtId(mem.indexId())) return fail(node, "a host register as index");
        use.reg = index(mem.indexId());
        use.kind = Kind::index;
        use.fixed = kAnyHost;
        use.read = low_bytes(bytes_of(mem.indexType())) & address_bytes;
        add_use(use);
      }
    } else {
      registers_only = false;
    }
  }
  if (node.has_mask()) {
    if (node.mask.group() != asmjit::RegGroup::kX86_K) return fail(node, "a counter of repetitions");
    if (!Operand::isVirtId(node.mask.id())) return fail(node, "a host register as mask");
    registers_only = false;
    const uint32_t reg = index(node.mask.id());
    add_use({.reg = reg,
             .kind = Kind::mask,
             .operand = 0,
             .fixed = kAnyHost,
             .memory_size = 0,
             .read = low_bytes(function_.registers[reg].bytes),
             .written = 0,
             .zeroed = 0});
  }
  if (registers_only && same) to.same_register = access->same_register;
  to.copies = lir::is_plain_move(node.id) && registers_only && node.operand_count == 2 &&
              node.operands[0].signature() == node.operands[1].signature();
}

void RecordedProgram::add_call(const Node& node) {
  const Operand &target = node.operands[0], &result = node.operands[1];
  if (target.isMem()) {
    const auto& mem = target.as<asmjit::BaseMem>();
    if (mem.isRegHome() || mem.hasBaseReg() || mem.hasIndexReg()) return fail(node, "the target of a call");
  } else if (!target.isImm()) {
    return fail(node, "the target of a call");
  }
  for (uint32_t i = 2; i < node.operand_count; ++i) {
    const Operand& op = node.operands[i];
    if (!is_passed(op)) return fail(node, "an argument");
    add_use({.reg = Operand::virtIdToIndex(op.id()),
             .kind = Kind::fixed_in,
             .operand = static_cast<uint8_t>(i - 2),
             .fixed = Convention::kArguments[i - 2],
             .memory_size = 0,
             .read = low_bytes(lir::bytes_of(op)),
             .written = 0,
             .zeroed = 0});
  }
  if (result.isNone()) return;
  if (!is_passed(result)) return fail(node, "a result");
  add_use({.reg = Operand::virtIdToIndex(result.id()),
           .kind = Kind::result,
           .operand = 0,
           .fixed = Convention::kResult,
           .memory_size = 0,
           .read = 0,
           .written = low_bytes(lir::bytes_of(result)),
           .zeroed = 0});
}

void RecordedProgram::add_result(const Node& node) {
  const Operand& op = node.operands[0];
  if (!is_passed(op)) return fail(node, "a returned value");
  const uint64_t bytes = low_bytes(lir::bytes_of(op));
  if (result_bytes_ != 0 && result_bytes_ != bytes) return fail(node, "it returns another number of bytes than before");
  result_bytes_ = bytes;
  add_use({.reg = Operand::virtIdToIndex(op.id()),
           .kind = Kind::fixed_in,
           .operand = 0,
           .fixed = Convention::kResult,
           .memory_size = 0,
           .read = bytes,
           .written = 0,
           .zeroed = 0});
}

std::string RecordedProgram::name(uint32_t reg) const {
  const char* name = function_.registers[reg].name;
  return name != nullptr ? fmt::format("v{} ({})", reg, name) : fmt::format("v{}", reg);
}

}  // namespace wavejit::backend
