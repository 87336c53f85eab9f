// AllocationChecker: instructions that the allocator inserts, prologue and epilogue.
#include <fmt/format.h>

#include "backend-x86/regalloc/checker.h"

namespace wavejit::backend {
namespace {

using asmjit::BaseMem;
using asmjit::Operand;
using asmjit::OperandSignature;
namespace I = x86::Inst;

constexpr uint32_t kPushed = 8;

bool is_stack_pointer(const Operand& op) {
  return op.isReg() && x86::Reg::isGp(op) && op.id() == x86::Gp::kIdSp;
}

// The number of a host register.
std::optional<uint32_t> host_of(const Operand& op) {
  if (!op.isPhysReg()) return std::nullopt;
  const auto group = static_cast<uint32_t>(op.as<asmjit::BaseReg>().group());
  if (group > 2 || is_stack_pointer(op)) return std::nullopt;
  return kHostGroupBegin[group] + op.id();
}

// Bytes that a move of the instruction's name and register copies; 0 if there is no such move.
uint32_t moved_bytes(const lir::Node& node) {
  if (node.operand_count != 2 || node.has_mask()) return 0;
  const Operand& reg = node.operands[0].isReg() ? node.operands[0] : node.operands[1];
  if (!reg.isReg()) return 0;
  switch (node.id) {
    case I::kIdMov:
      return x86::Reg::isGp(reg) && lir::bytes_of(reg) >= 4 ? lir::bytes_of(reg) : 0;
    case I::kIdKmovb:
      return x86::Reg::isKReg(reg) ? 1 : 0;
    case I::kIdKmovw:
      return x86::Reg::isKReg(reg) ? 2 : 0;
    case I::kIdKmovd:
      return x86::Reg::isKReg(reg) ? 4 : 0;
    case I::kIdKmovq:
      return x86::Reg::isKReg(reg) ? 8 : 0;
    case I::kIdVmovaps:
    case I::kIdVmovapd:
    case I::kIdVmovdqa:
    case I::kIdVmovdqa32:
      return x86::Reg::isVec(reg) ? lir::bytes_of(reg) : 0;
    default:
      return 0;
  }
}

// Whether the instruction traps if its operand in memory is not aligned to its size.
bool needs_alignment(asmjit::InstId id) {
  switch (id) {
    case I::kIdVmovaps:
    case I::kIdVmovapd:
    case I::kIdVmovdqa:
    case I::kIdVmovdqa32:
    case I::kIdVmovdqa64:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool AllocationChecker::stack_address(const Node& node, const BaseMem& mem, uint32_t bytes, int32_t& at) {
  const auto plain = OperandSignature::fromOpType(asmjit::OperandType::kMem) |
                     OperandSignature::fromMemBaseType(asmjit::RegType::kX86_Gpq) | OperandSignature::fromSize(bytes);
  OperandSignature signature = mem.signature();
  if (lir::bytes_of(mem) == 0) signature |= OperandSignature::fromSize(bytes);
  if (signature != plain || mem.baseId() != x86::Gp::kIdSp || mem.hasIndex())
    return fail(node, "its operand in memory is no stack slot");
  at = state_->stack + mem.offsetLo32();
  if (at < state_->stack || at + static_cast<int64_t>(bytes) > 0)
    return fail(node, "its stack slot is outside of the frame");
  if (needs_alignment(node.id) && !is_aligned(at, bytes)) return fail(node, "its stack slot is not aligned");
  return true;
}

bool AllocationChecker::inserted_instruction(const Node& node, bool& ends) {
  if (const uint32_t bytes = moved_bytes(node); bytes != 0) return move(node, bytes);
  switch (node.id) {
    case I::kIdXchg:
      return exchange(node);
    case I::kIdJmp: {
      const Operand& to = node.operands[0];
      if (!to.isLabel() || to.id() >= labels_.size() || labels_[to.id()].node == nullptr)
        return fail(node, "its target is not in the function");
      const auto number = RecordedProgram::number_of(*labels_[to.id()].node);
      if (number && !advance(*number, node)) return false;
      ends = true;
      return arrive(to.id(), state_->next);
    }
    case I::kIdRet:
      ends = true;
      return leave(node);
    default:
      return frame_instruction(node);
  }
}

bool AllocationChecker::move(const Node& node, uint32_t bytes) {
  const Operand &to = node.operands[0], &from = node.operands[1];
  const auto to_host = host_of(to), from_host = host_of(from);
  int32_t at = 0;
  if (to_host && from_host) {
    if (to.signature() != from.signature()) return fail(node, "it moves between registers of different kinds");
    state_->copy(*to_host, *from_host, bytes, true);
  } else if (to_host && from.isMem()) {
    if (!stack_address(node, from.as<BaseMem>(), bytes, at)) return false;
    state_->copy(*to_host, state_->slot(at, bytes), bytes, true);
  } else if (to.isMem() && from_host) {
    if (!stack_address(node, to.as<BaseMem>(), bytes, at)) return false;
    state_->copy(state_->slot(at, bytes), *from_host, bytes, false);
  } else {
    return fail(node, "it is not understood");
  }
  return true;
}

bool AllocationChecker::exchange(const Node& node) {
  const Operand &a = node.operands[0], &b = node.operands[1];
  if (!host_of(a) || !host_of(b) || !x86::Reg::isGp(a) || lir::bytes_of(a) < 4 || a.signature() != b.signature())
    return fail(node, "it is not understood");
  state_->exchange(*host_of(a), *host_of(b), lir::bytes_of(a));
  return true;
}

// Those of prologue and epilogue: they change flags, which nothing needs there.
bool AllocationChecker::frame_instruction(const Node& node) {
  if (state_->next != 0 && !at_exit()) return fail(node, "it is not understood");
  int32_t& stack = state_->stack;
  const Operand& first = node.operands[0];
  const auto by = [&] { return node.operands[1].as<asmjit::Imm>().valueAs<int32_t>(); };
  const bool immediate = node.operand_count == 2 && is_stack_pointer(first) && node.operands[1].isImm();
  if (node.id == I::kIdPush && host_of(first) && lir::bytes_of(first) == kPushed) {
    stack -= static_cast<int32_t>(kPushed);
    state_->copy(state_->slot(stack, kPushed), *host_of(first), kPushed, false);
  } else if (node.id == I::kIdPop && host_of(first) && lir::bytes_of(first) == kPushed) {
    state_->copy(*host_of(first), state_->slot(stack, kPushed), kPushed, true);
    stack += static_cast<int32_t>(kPushed);
  } else if (node.id == I::kIdSub && immediate) {
    stack -= by();
  } else if (node.id == I::kIdAdd && immediate) {
    stack += by();
  } else {
    return fail(node, "it is not understood");
  }
  return true;
}

bool AllocationChecker::leave(const Node& node) {
  if (node.operand_count != 0 || !at_exit()) return fail(node, "it is not at the function's exit");
  if (state_->stack != 0) return fail(node, "the stack pointer is not what it has been at the entry");
  for (const KeptValue& value : entry_state().values) {
    if (value.reg < entry_value(0)) continue;
    if (!state_->holds(value.place, value.reg, value.held))
      return fail_read(node, "a register that the caller keeps", value.place, value.reg, value.held);
  }
  const uint32_t place = kHostGroupBegin[lir::kGpGroup] + lir::Convention::kResult;
  const uint64_t bytes = program_.result_bytes();
  return state_->holds(place, returned(), bytes) || fail_read(node, "the result", place, returned(), bytes);
}

}  // namespace wavejit::backend
