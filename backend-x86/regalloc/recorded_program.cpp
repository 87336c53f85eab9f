#include "backend-x86/regalloc/recorded_program.h"

#include <fmt/format.h>

#include "backend-x86/regalloc/instruction_access.h"
#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {
namespace {

using asmjit::BaseNode;
using asmjit::InstControlFlow;
using asmjit::Operand;
using Kind = RecordedUse::Kind;
namespace I = x86::Inst;

constexpr uint8_t kAnyHost = 0xff;

// Moves between registers. Which bytes they copy is in the facts of their operands.
bool is_copy(asmjit::InstId id) {
  switch (id) {
    case I::kIdMov:
    case I::kIdKmovb:
    case I::kIdKmovw:
    case I::kIdKmovd:
    case I::kIdKmovq:
    case I::kIdVmovaps:
    case I::kIdVmovapd:
    case I::kIdVmovups:
    case I::kIdVmovupd:
    case I::kIdVmovdqa:
    case I::kIdVmovdqu:
    case I::kIdVmovdqa32:
    case I::kIdVmovdqa64:
    case I::kIdVmovdqu8:
    case I::kIdVmovdqu16:
    case I::kIdVmovdqu32:
    case I::kIdVmovdqu64:
      return true;
    default:
      return false;
  }
}

uint32_t bytes_of(asmjit::TypeId type) {
  return asmjit::TypeUtils::sizeOf(type);
}

uint32_t bytes_of(asmjit::RegType type) {
  return asmjit::ArchTraits::byArch(asmjit::Arch::kX64).regTypeToSignature(type).size();
}

}  // namespace

RecordedProgram::RecordedProgram(x86::Compiler& compiler, asmjit::FuncNode& function)
    : compiler_(compiler), function_(function) {
  const auto& registers = compiler.virtRegs();
  groups_.resize(registers.size());
  for (uint32_t i = 0; i < registers.size(); ++i) groups_[i] = static_cast<uint8_t>(registers[i]->group());
  section_of_.assign(registers.size(), kNone);
  for (uint32_t i = 0; i < function.argCount(); ++i)
    if (const uint32_t id = function.argPack(i)[0].id(); Operand::isVirtId(id))
      section_of_[Operand::virtIdToIndex(id)] = kMany;
  labels_.assign(compiler.code()->labelCount(), kNone);
  uint32_t section = 0;
  for (BaseNode* node = function.next(); node != nullptr && node != function.endNode(); node = node->next())
    add(*node, section);
}

std::optional<uint32_t> RecordedProgram::label(uint32_t id) const {
  if (id >= labels_.size() || labels_[id] == kNone) return std::nullopt;
  return labels_[id];
}

void RecordedProgram::fail(const BaseNode& node, const char* why) {
  if (problem) return;
  std::string what;
  if (node.isInst()) what = text(instructions.back());
  problem = fmt::format("'{}' is not understood: {}", what, why);
}

void RecordedProgram::add(BaseNode& node, uint32_t& section) {
  if (!node.isInst() && !node.isLabel()) {
    node.setUserDataAsUInt64(0);
    return;
  }
  node.setUserDataAsUInt64(instructions.size() + 1);
  RecordedInstruction inst{.node = &node, .kind = RecordedInstruction::Kind::instruction};
  inst.first_use = static_cast<uint32_t>(uses_.size());
  inst.first_operand = static_cast<uint32_t>(operands_.size());
  if (node.isLabel()) {
    inst.kind = RecordedInstruction::Kind::label;
    labels_[node.as<asmjit::LabelNode>()->labelId()] = static_cast<uint32_t>(instructions.size());
    instructions.push_back(inst);
    ++section;
    return;
  }
  auto& host = *node.as<asmjit::InstNode>();
  inst.id = host.id();
  inst.options = host.options();
  inst.extra = host.extraReg();
  inst.operands = host.opCount();
  for (uint32_t i = 0; i < host.opCount(); ++i) operands_.push_back(host.op(i));
  instructions.push_back(inst);
  RecordedInstruction& to = instructions.back();
  if (node.isFuncRet()) {
    to.kind = RecordedInstruction::Kind::result;
    to.flow = InstControlFlow::kReturn;
    add_result(*node.as<asmjit::FuncRetNode>());
  } else if (node.isInvoke()) {
    to.kind = RecordedInstruction::Kind::call;
    add_call(*node.as<asmjit::InvokeNode>());
  } else {
    add_operands(host, to);
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

void RecordedProgram::add_operands(asmjit::InstNode& node, RecordedInstruction& to) {
  const InstructionAccess* access = instruction_access(node);
  if (access == nullptr) return fail(node, "asmjit has no facts of it");
  to.flow = access->flow;
  if (to.flow == InstControlFlow::kReturn || node.id() == I::kIdPop) return fail(node, "the stack pointer changes");
  if (to.flow == InstControlFlow::kCall) {
    if (!node.op(0).isMem()) return fail(node, "a call that is not the compiler's");
    to.kind = RecordedInstruction::Kind::stub;
    to.flow = InstControlFlow::kRegular;
  }
  bool registers_only = node.opCount() != 0, memory = false;
  uint32_t first = UINT32_MAX;
  bool same = true;
  const auto index = [](uint32_t id) { return Operand::virtIdToIndex(id); };
  for (uint32_t i = 0; i < node.opCount(); ++i) memory |= node.op(i).isMem();
  // Of an address that is not used as such, only the bytes that the result has matter.
  const uint64_t address_bytes = node.id() == I::kIdLea ? low_bytes(node.op(0).size()) : ~uint64_t{0};
  for (uint32_t i = 0; i < node.opCount(); ++i) {
    const Operand& op = node.op(i);
    const OperandAccess& how = access->operands[i];
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
      if ((how.flags & RegisterUse::read) != 0) use.read = how.read;
      // asmjit has all of the 8 bytes of a mask read, whatever number of lanes the instruction has.
      if (op.as<asmjit::BaseReg>().group() == asmjit::RegGroup::kX86_K)
        use.read &= low_bytes(compiler_.virtRegs()[use.reg]->virtSize());
      if ((how.flags & RegisterUse::write) != 0) {
        use.written = how.written;
        use.zeroed = how.zeroed & bytes_of_group(groups_[use.reg]);
      }
      if ((how.flags & RegisterUse::use_memory) != 0 && !memory && !differs_in_memory(node))
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
        if (!compiler_.virtRegById(mem.baseId())->isStack()) return fail(node, "a register's own stack slot");
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
  if (node.hasExtraReg()) {
    if (node.extraReg().group() != asmjit::RegGroup::kX86_K) return fail(node, "a counter of repetitions");
    if (!Operand::isVirtId(node.extraReg().id())) return fail(node, "a host register as mask");
    registers_only = false;
    const uint32_t reg = index(node.extraReg().id());
    add_use({.reg = reg,
             .kind = Kind::mask,
             .operand = 0,
             .fixed = kAnyHost,
             .memory_size = 0,
             .read = low_bytes(compiler_.virtRegs()[reg]->virtSize()),
             .written = 0,
             .zeroed = 0});
  }
  if (registers_only && same) to.same_register = access->same_register;
  to.copies =
      is_copy(node.id()) && registers_only && node.opCount() == 2 && node.op(0).signature() == node.op(1).signature();
}

void RecordedProgram::add_call(asmjit::InvokeNode& node) {
  const asmjit::FuncDetail& detail = node.detail();
  if (node.op(0).isReg() || detail.argStackSize() != 0)
    return fail(node, "the target of a call, or arguments in memory");
  if (node.op(0).isMem()) {
    const auto& mem = node.op(0).as<asmjit::BaseMem>();
    if (mem.isRegHome() || (mem.hasBaseReg() && Operand::isVirtId(mem.baseId())) || mem.hasIndexReg())
      return fail(node, "the target of a call");
  }
  const auto in_register = [&](const asmjit::FuncValue& value, const Operand& op) {
    return value.isReg() && !value.isIndirect() && op.isVirtReg() &&
           x86::Reg::groupOf(value.regType()) ==
               static_cast<asmjit::RegGroup>(groups_[Operand::virtIdToIndex(op.id())]);
  };
  for (uint32_t i = 0; i < node.argCount(); ++i) {
    const Operand& op = node.arg(i, 0);
    if (op.isNone()) continue;
    const asmjit::FuncValue& value = detail.argPack(i)[0];
    if (detail.argPack(i)[1] || !in_register(value, op)) return fail(node, "an argument");
    add_use({.reg = Operand::virtIdToIndex(op.id()),
             .kind = Kind::fixed_in,
             .operand = static_cast<uint8_t>(i),
             .fixed = static_cast<uint8_t>(value.regId()),
             .memory_size = 0,
             .read = low_bytes(bytes_of(value.typeId())),
             .written = 0,
             .zeroed = 0});
  }
  if (!detail.hasRet() || node.ret(0).isNone()) return;
  const asmjit::FuncValue& value = detail.ret(0);
  if (detail.ret(1) || !in_register(value, node.ret(0))) return fail(node, "a result");
  add_use({.reg = Operand::virtIdToIndex(node.ret(0).id()),
           .kind = Kind::result,
           .operand = 0,
           .fixed = static_cast<uint8_t>(value.regId()),
           .memory_size = 0,
           .read = 0,
           .written = low_bytes(bytes_of(value.typeId())),
           .zeroed = 0});
}

void RecordedProgram::add_result(asmjit::FuncRetNode& node) {
  for (uint32_t i = 0; i < node.opCount(); ++i) {
    const Operand& op = node.op(i);
    if (op.isNone()) continue;
    const asmjit::FuncValue& value = function_.detail().ret(i);
    if (i != 0 || !value.isReg() || !op.isVirtReg()) return fail(node, "a returned value");
    add_use({.reg = Operand::virtIdToIndex(op.id()),
             .kind = Kind::fixed_in,
             .operand = 0,
             .fixed = static_cast<uint8_t>(value.regId()),
             .memory_size = 0,
             .read = low_bytes(bytes_of(value.typeId())),
             .written = 0,
             .zeroed = 0});
  }
}

std::string RecordedProgram::text(const RecordedInstruction& inst) const {
  if (inst.kind == RecordedInstruction::Kind::label) return "label";
  if (inst.kind == RecordedInstruction::Kind::result) return "return";
  asmjit::String string;
  const std::span<const Operand> ops = operands(inst);
  const asmjit::BaseInst base(inst.id, inst.options, inst.extra);
  asmjit::Formatter::formatInstruction(string, asmjit::FormatFlags::kNone, &compiler_, asmjit::Arch::kX64, base,
                                       ops.data(), ops.size());
  return string.data();
}

std::string RecordedProgram::name(uint32_t reg) const {
  const asmjit::VirtReg& virt = *compiler_.virtRegs()[reg];
  if (virt.nameSize() != 0) return fmt::format("v{} ({})", reg, virt.name());
  return fmt::format("v{}", reg);
}

}  // namespace wavejit::backend
