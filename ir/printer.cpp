#include <fmt/format.h>

#include <iterator>
#include <map>

#include "ir/names.h"
#include "ir/signature.h"
#include "ir/text.h"
#include "ir/text_line.h"

namespace wavejit::ir {
namespace {

template <typename Names>
std::string_view name_of(const Names& names, unsigned index) {
  return index < names.size() ? names[index] : std::string_view("?");
}

std::string number(uint64_t value) {
  return value < 4096 ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

bool is_fcmp(Op op) {
  return op == Op::fcmp_f16 || op == Op::fcmp_f32 || op == Op::fcmp_f64;
}

// Operations whose immediate says which register, element or value; written even when it is 0.
bool means_imm(Op op) {
  const std::string_view name = op_info(op).name;
  return name.starts_with("get_") || name.starts_with("set_")
             ? op != Op::get_scc && op != Op::set_scc && op != Op::get_vccz && op != Op::set_vccz
             : op == Op::const_ || op == Op::extract;
}

void print_memory(std::string& out, const Inst& inst) {
  const MemAttr& mem = inst.mem;
  out += fmt::format(" [{} {} {}x{}", name_of(kSpaceNames, static_cast<unsigned>(mem.space)),
                     name_of(kFormNames, static_cast<unsigned>(mem.form)), mem.bytes, mem.count);
  if (inst.op == Op::atomic) out += fmt::format(" {}", name_of(kAtomicNames, static_cast<unsigned>(mem.atomic_op)));
  if (mem.sign_extend) out += " sext";
  if (mem.glc) out += " glc";
  if (mem.wraps) out += " wraps";
  if (mem.aligned) out += " aligned";
  if (mem.imm != 0) out += fmt::format(" imm {}", mem.imm);
  out += ']';
}

void print_inst(std::string& out, const Inst& inst, const Block* block) {
  if (inst.type != kNone) out += fmt::format("%{}:{} = ", inst.id, to_string(inst.type));
  out += op_info(inst.op).mnemonic;
  uint32_t attr = inst.attr;
  if (inst.op == Op::icmp) {
    out += fmt::format(".{}", name_of(kICmpNames, attr));
    attr = 0;
  } else if (is_fcmp(inst.op)) {
    out += fmt::format(".{}", name_of(kFCmpNames, attr >> fpenv::kFCmpShift));
    attr &= (1u << fpenv::kFCmpShift) - 1;
  } else if (inst.op == Op::helper) {
    out += fmt::format(
        ".{}", attr < static_cast<uint32_t>(Helper::kCount) ? helper_info(static_cast<Helper>(attr)).name : "?");
    attr = 0;
  } else if (inst.op == Op::call) {
    out += fmt::format(".{}", attr < static_cast<uint32_t>(Call::kCount) ? name_of(static_cast<Call>(attr)) : "?");
    attr = 0;
  } else if (inst.op == Op::exit) {
    out += fmt::format(".{}", name_of(kExitNames, attr));
    attr = 0;
  }
  if (has_memory_attributes(inst.op)) print_memory(out, inst);
  const bool has_imm = inst.imm != 0 || inst.imm2 != 0 || means_imm(inst.op);
  if (has_imm) out += fmt::format(" #{}", number(inst.imm));
  if (inst.imm2 != 0) out += fmt::format(" #{}", number(inst.imm2));
  if (attr != 0) out += fmt::format(" attr {:#x}", attr);
  const char* separator = " ";
  for (const Inst* operand : inst.operands) {
    out += fmt::format("{}%{}", separator, operand->id);
    separator = ", ";
  }
  if (block != nullptr && is_terminator(inst.op)) {
    for (const Block* successor : block->successors) {
      out += fmt::format("{}b{}", separator, successor->id);
      separator = ", ";
    }
  }
  if (inst.guest_pc != 0) out += fmt::format(" @{:#x}", inst.guest_pc);
}

// In the order of the addresses.
void print_profile(std::string& out, const Profile& profile) {
  for (const auto& [pc, at] : std::map<uint64_t, LaneSample>(profile.begin(), profile.end())) {
    out += fmt::format("profile {:#x} executed {} lanes {}", pc, at.executed, at.lanes);
    if (at.groups != 0) out += fmt::format(" groups {} same {} consecutive {}", at.groups, at.same, at.consecutive);
    out += '\n';
  }
}

}  // namespace

std::string print(const Inst& inst) {
  std::string out;
  print_inst(out, inst, inst.parent);
  return out;
}

std::string print(const Function& function) {
  std::string out = fmt::format("function {}\n", quoted(function.name));
  for (const Entry& entry : function.entries) {
    out += fmt::format("entry {:#x} b{}{}{}", entry.guest_pc, entry.block->id, entry.resumed_only ? " resumed" : "",
                       entry.moved ? " moved" : "");
    if (entry.exec != ~uint64_t{0}) out += fmt::format(" exec {:#x}", entry.exec);
    out += '\n';
  }
  print_profile(out, function.profile);
  for (const auto& block : function.blocks) {
    out += fmt::format("block b{}", block->id);
    if (block->guest_pc != 0) out += fmt::format(" @{:#x}", block->guest_pc);
    if (block->rare) out += " rare";
    if (!block->predecessors.empty()) out += " preds";
    for (const Block* predecessor : block->predecessors) out += fmt::format(" b{}", predecessor->id);
    out += '\n';
    for (const Inst* inst : block->insts) {
      out += "  ";
      print_inst(out, *inst, block.get());
      out += '\n';
    }
  }
  return out;
}

}  // namespace wavejit::ir
