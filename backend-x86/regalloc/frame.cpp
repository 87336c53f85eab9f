#include "backend-x86/regalloc/frame.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "backend-x86/regalloc/error.h"

namespace wavejit::backend {
namespace {

using asmjit::BaseNode;
using asmjit::Error;
using asmjit::FuncNode;
using asmjit::InstNode;
using asmjit::OperandSignature;
namespace I = x86::Inst;

// The name of an instruction that can use host registers above 15.
asmjit::InstId wide_name(asmjit::InstId id) {
  switch (id) {
    case I::kIdVbroadcastf128:
      return I::kIdVbroadcastf32x4;
    case I::kIdVbroadcasti128:
      return I::kIdVbroadcasti32x4;
    case I::kIdVextractf128:
      return I::kIdVextractf32x4;
    case I::kIdVextracti128:
      return I::kIdVextracti32x4;
    case I::kIdVinsertf128:
      return I::kIdVinsertf32x4;
    case I::kIdVinserti128:
      return I::kIdVinserti32x4;
    case I::kIdVmovdqa:
      return I::kIdVmovdqa32;
    case I::kIdVmovdqu:
      return I::kIdVmovdqu32;
    case I::kIdVpand:
      return I::kIdVpandd;
    case I::kIdVpandn:
      return I::kIdVpandnd;
    case I::kIdVpor:
      return I::kIdVpord;
    case I::kIdVpxor:
      return I::kIdVpxord;
    case I::kIdVroundpd:
      return I::kIdVrndscalepd;
    case I::kIdVroundps:
      return I::kIdVrndscaleps;
    case I::kIdVroundsd:
      return I::kIdVrndscalesd;
    case I::kIdVroundss:
      return I::kIdVrndscaless;
    default:
      return 0;
  }
}

bool next_is_exit(const FuncNode& function, const BaseNode* node) {
  for (node = node->next(); node != nullptr; node = node->next()) {
    if (node == function.exitNode()) return true;
    if (node->isCode() || node->isData()) return false;
  }
  return false;
}

// 64 places of the stack, and where in the code they are taken. Long spans are looked up and taken by blocks of runs.
class Places {
 public:
  explicit Places(uint32_t positions) : runs_(positions / kRun + 1), blocks_(runs_.size() / kBlock + 1) {
    offsets.fill(-1);
  }

  // Those of `candidates` that are free all through the span.
  [[nodiscard]] uint64_t free(const LiveSpan& span, uint64_t candidates) const {
    const uint32_t end = end_of(span);
    for (uint32_t run = span.begin / kRun; run < end && candidates != 0;) {
      const Block& block = blocks_[run / kBlock];
      if (run % kBlock == 0 && run + kBlock <= end) {
        candidates &= ~block.somewhere;
        run += kBlock;
      } else {
        candidates &= ~(runs_[run++] | block.everywhere);
      }
    }
    return candidates;
  }
  void take(const LiveSpan& span, uint32_t place) {
    const uint64_t bit = uint64_t{1} << place;
    const uint32_t end = end_of(span);
    for (uint32_t run = span.begin / kRun; run < end;) {
      Block& block = blocks_[run / kBlock];
      block.somewhere |= bit;
      if (run % kBlock == 0 && run + kBlock <= end) {
        block.everywhere |= bit;
        run += kBlock;
      } else {
        runs_[run++] |= bit;
      }
    }
  }

  std::array<int32_t, 64> offsets;  // negative: not used yet

 private:
  struct Block {
    uint64_t somewhere = 0;   // places that are taken in it
    uint64_t everywhere = 0;  // all through it; their runs do not say so
  };
  // Behind its last run.
  static uint32_t end_of(const LiveSpan& span) { return (std::max(span.end, span.begin + 1) - 1) / kRun + 1; }
  static constexpr uint32_t kRun = 8;     // positions
  static constexpr uint32_t kBlock = 64;  // runs
  std::vector<uint64_t> runs_;
  std::vector<Block> blocks_;
};

}  // namespace

StackFrame::StackFrame(x86::Compiler& compiler, FuncNode& function, Lives& lives)
    : cc_(compiler), function_(function), lives_(lives), slot_of_(lives.lives.size(), kNoIndex) {
  for (uint32_t reg = 0; reg < lives.lives.size(); ++reg)
    if (lives.lives[reg].on_stack) need(reg);
}

void StackFrame::need(uint32_t reg) {
  if (slot_of_[reg] != kNoIndex) return;
  slot_of_[reg] = static_cast<uint32_t>(slots_.size());
  slots_.push_back({.reg = reg});
}

x86::Mem StackFrame::slot(uint32_t reg, uint32_t size) {
  need(reg);
  asmjit::BaseMem mem(OperandSignature::fromOpType(asmjit::OperandType::kMem) |
                          OperandSignature::fromMemBaseType(asmjit::RegType::kX86_Gpq) |
                          OperandSignature::fromBits(OperandSignature::kMemRegHomeFlag),
                      lives_.lives[reg].virt->id(), 0, 0);
  mem.setSize(size);
  return mem.as<x86::Mem>();
}

std::pair<uint32_t, uint32_t> StackFrame::place_slots() {
  uint32_t size = 0, alignment = 1;
  const auto add = [&](const asmjit::VirtReg& virt) {
    const uint32_t align = std::max<uint32_t>(virt.alignment(), 1);
    size = (size + align - 1) & ~(align - 1);
    alignment = std::max(alignment, align);
    const auto offset = static_cast<int32_t>(size);
    size += virt.virtSize();
    return offset;
  };
  // Registers whose lives do not meet share places, so that the frame stays in the cache. By size: 64 places after 64.
  std::map<uint32_t, std::vector<Places>> places;
  for (Slot& slot : slots_) {
    const Lifetime& life = lives_.lives[slot.reg];
    if (life.on_stack) {
      slot.offset = add(*life.virt);
      continue;
    }
    auto& same_size = places[life.virt->virtSize()];
    for (size_t i = 0;; ++i) {
      if (i == same_size.size()) same_size.emplace_back(lives_.positions);
      uint64_t free = ~uint64_t{0};
      lives_.for_each_span(life, [&](const LiveSpan& span) {
        free = same_size[i].free(span, free);
        return free != 0;
      });
      if (free == 0) continue;
      const auto place = static_cast<uint32_t>(std::countr_zero(free));
      lives_.for_each_span(life, [&](const LiveSpan& span) {
        same_size[i].take(span, place);
        return true;
      });
      int32_t& offset = same_size[i].offsets[place];
      if (offset < 0) offset = add(*life.virt);
      slot.offset = offset;
      break;
    }
  }
  return {(size + alignment - 1) & ~(alignment - 1), alignment};
}

Error StackFrame::finish(const std::array<uint32_t, kGroups>& changed, asmjit::FuncArgsAssignment& arguments) {
  asmjit::FuncFrame& frame = function_.frame();
  for (uint32_t group = 0; group < kGroups; ++group)
    frame.addDirtyRegs(static_cast<asmjit::RegGroup>(group), changed[group]);
  const auto [size, alignment] = place_slots();
  frame.setLocalStackAlignment(alignment);
  frame.setLocalStackSize(size);
  WAVEJIT_TRY(arguments.updateFuncFrame(frame));
  WAVEJIT_TRY(frame.finalize());
  for (Slot& slot : slots_) slot.offset += static_cast<int32_t>(frame.localStackOffset());
  cc_.setCursor(&function_);
  WAVEJIT_TRY(cc_.emitProlog(frame));
  WAVEJIT_TRY(cc_.emitArgsAssignment(frame, arguments));
  cc_.setCursor(function_.exitNode());
  WAVEJIT_TRY(cc_.emitEpilog(frame));
  for (InstNode* node : lives_.on_stack) WAVEJIT_TRY(resolve(*node));
  for (InstNode* node : nodes_) WAVEJIT_TRY(resolve(*node));
  return asmjit::kErrorOk;
}

Error StackFrame::resolve(InstNode& node) {
  for (uint32_t i = 0; i < node.opCount(); ++i) {
    if (!node.op(i).isMem()) continue;
    auto& mem = node.op(i).as<asmjit::BaseMem>();
    if (!mem.isRegHome()) continue;
    const uint32_t reg = lives_.find_life(mem.baseId());
    if (reg == kNoIndex || slot_of_[reg] == kNoIndex) return kBroken;
    mem._setBase(asmjit::RegType::kX86_Gpq, x86::Gp::kIdSp);
    mem.clearRegHome();
    mem.addOffsetLo32(slots_[slot_of_[reg]].offset);
  }
  return asmjit::kErrorOk;
}

Error rewrite_instructions(x86::Compiler& compiler, FuncNode& function, Lives& lives) {
  const auto rewrite = [&](Instruction& inst) -> Error {
    uint32_t highest = 0;
    const auto write = [&](uint32_t places, uint32_t host) {
      for_each_bit(places, [&](uint32_t place) {
        highest = std::max(highest, host);
        inst.node->rewriteIdAtIndex(place, host);
      });
    };
    for (uint32_t u = inst.first_use; u < inst.first_use + inst.uses(); ++u) {
      const RegisterUse& use = lives.uses[u];
      write(use.use_places, use.use_id);
      write(use.out_places, use.out_id);
    }
    if (inst.transformable && highest > 15) {
      const asmjit::InstId name = wide_name(inst.node->id());
      if (name == 0) return kBroken;
      inst.node->setId(name);
    }
    if (inst.is_move && inst.node->op(0) == inst.node->op(1)) {
      compiler.removeNode(inst.node);
    } else if (inst.node->isFuncRet()) {
      if (!next_is_exit(function, inst.node)) {
        compiler.setCursor(inst.node->prev());
        WAVEJIT_TRY(compiler.jmp(function.exitNode()->label()));
      }
      compiler.removeNode(inst.node);
    }
    return asmjit::kErrorOk;
  };
  for (const FlowBlock& block : lives.blocks)
    for (uint32_t i = block.begin; i < block.end; ++i) WAVEJIT_TRY(rewrite(lives.instructions[i]));
  return asmjit::kErrorOk;
}

}  // namespace wavejit::backend
