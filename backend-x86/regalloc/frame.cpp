#include "backend-x86/regalloc/frame.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "backend-x86/regalloc/error.h"
#include "internal/stop_scope.h"

namespace wavejit::backend {
namespace {

using asmjit::Error;
using asmjit::OperandSignature;
using lir::Convention;
using lir::Node;
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

bool next_is_exit(const lir::Function& function, const Node* node) {
  for (node = node->next; node != nullptr; node = node->next) {
    if (node == function.exit) return true;
    if (node->is_code()) return false;
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
      const uint32_t block_end = (run / kBlock + 1) * kBlock;
      if (run % kBlock == 0 && block_end <= end) {
        candidates &= ~block.somewhere;
      } else if ((candidates & block.somewhere) != 0) {
        uint64_t taken = block.everywhere;
        for (const uint32_t last = std::min(end, block_end); run < last; ++run) taken |= runs_[run];
        candidates &= ~taken;
      }
      run = block_end;
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

StackFrame::StackFrame(lir::Builder& builder, Lives& lives)
    : builder_(builder), function_(builder.function()), lives_(lives), slot_of_(lives.lives.size(), kNoIndex) {
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
                      lives_.virtual_id(lives_.lives[reg]), 0, 0);
  mem.setSize(size);
  return mem.as<x86::Mem>();
}

std::pair<uint32_t, uint32_t> StackFrame::place_slots() {
  uint32_t size = 0, alignment = 1;
  const auto add = [&](const lir::VirtualRegister& virt) {
    const uint32_t align = virt.alignment;
    size = (size + align - 1) & ~(align - 1);
    alignment = std::max(alignment, align);
    const auto offset = static_cast<int32_t>(size);
    size += virt.bytes;
    return offset;
  };
  // Registers whose lives do not meet share places, so that the frame stays in the cache. By size: 64 places after 64.
  std::map<uint32_t, std::vector<Places>> places;
  for (Slot& slot : slots_) {
    StopScope::check();
    const Lifetime& life = lives_.lives[slot.reg];
    if (life.on_stack) {
      slot.offset = add(*life.virt);
      continue;
    }
    auto& same_size = places[life.virt->bytes];
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
  return {size, alignment};
}

Error StackFrame::finish(uint32_t changed_general, std::vector<Argument> arguments) {
  constexpr uint32_t kWord = 8, kCallAlignment = 16;
  auto [size, alignment] = place_slots();
  alignment = std::max(alignment, lives_.has_calls ? kCallAlignment : kWord);
  if (alignment > function_.stack_alignment) return kBroken;
  for (const Argument& argument : arguments) changed_general |= 1u << argument.to;
  const uint32_t saved = changed_general & Convention::kPreserved[kGpGroup];
  // Where the function begins, the stack holds the address that it returns to.
  const uint32_t pushed = kWord * (1 + static_cast<uint32_t>(std::popcount(saved)));
  const uint32_t whole = (pushed + size + alignment - 1) & ~(alignment - 1);
  const uint32_t bytes = size == 0 && !lives_.has_calls ? 0 : whole - pushed;

  builder_.set_cursor(function_.begin());
  for_each_bit(saved, [&](uint32_t id) { builder_.push(x86::gpq(id)); });
  if (bytes != 0) builder_.sub(x86::rsp, bytes);
  move_arguments(std::move(arguments));
  builder_.set_cursor(function_.exit);
  if (bytes != 0) builder_.add(x86::rsp, bytes);
  for (uint32_t rest = saved; rest != 0; rest &= ~std::bit_floor(rest))
    builder_.pop(x86::gpq(static_cast<uint32_t>(std::countr_zero(std::bit_floor(rest)))));
  builder_.emit(I::kIdRet);

  for (Node* node : lives_.on_stack) WAVEJIT_TRY(resolve(*node));
  for (Node* node : nodes_) WAVEJIT_TRY(resolve(*node));
  return asmjit::kErrorOk;
}

// A parallel copy: no register is written before its old value has been moved.
void StackFrame::move_arguments(std::vector<Argument> arguments) {
  const auto gp = [&](const Argument& argument, uint32_t id) {
    return lives_.lives[argument.reg].virt->bytes > 4 ? x86::Gp(x86::gpq(id)) : x86::Gp(x86::gpd(id));
  };
  std::erase_if(arguments, [](const Argument& a) { return a.from == a.to; });
  while (!arguments.empty()) {
    const auto free = std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) {
      return std::none_of(arguments.begin(), arguments.end(), [&](const Argument& b) { return b.from == a.to; });
    });
    if (free != arguments.end()) {
      builder_.mov(gp(*free, free->to), gp(*free, free->from));
      arguments.erase(free);
      continue;
    }
    // A cycle. The exchange puts the first argument in its place; the value that was there is in first.from now.
    const Argument first = arguments.front();
    builder_.xchg(x86::gpq(first.to), x86::gpq(first.from));
    arguments.erase(arguments.begin());
    for (Argument& other : arguments)
      if (other.from == first.to) other.from = first.from;
    std::erase_if(arguments, [](const Argument& a) { return a.from == a.to; });
  }
}

Error StackFrame::resolve(Node& node) {
  for (asmjit::Operand& op : node.ops()) {
    if (!op.isMem()) continue;
    auto& mem = op.as<asmjit::BaseMem>();
    if (!mem.isRegHome()) continue;
    const uint32_t reg = lives_.find_life(mem.baseId());
    if (reg == kNoIndex || slot_of_[reg] == kNoIndex) return kBroken;
    mem._setBase(asmjit::RegType::kX86_Gpq, x86::Gp::kIdSp);
    mem.clearRegHome();
    mem.addOffsetLo32(slots_[slot_of_[reg]].offset);
  }
  return asmjit::kErrorOk;
}

Error rewrite(lir::Function& function, const Lives& lives, const Instruction& inst) {
  Node& node = *inst.node;
  uint32_t highest = 0;
  const auto write = [&](uint32_t places, uint32_t host) {
    for_each_bit(places, [&](uint32_t place) {
      highest = std::max(highest, host);
      if (place == Place::kMask) {
        node.mask._id = host;
      } else if (place % 2 == 0) {
        node.operands[place / 2]._baseId = host;
      } else {
        node.operands[place / 2]._data[asmjit::Operand::kDataMemIndexId] = host;
      }
    });
  };
  for (uint32_t u = inst.first_use; u < inst.first_use + inst.uses(); ++u) {
    const RegisterUse& use = lives.uses[u];
    write(use.use_places, use.use_id);
    write(use.out_places, use.out_id);
  }
  if (inst.transformable && highest > 15) {
    node.id = wide_name(node.id);
    if (node.id == 0) return kBroken;
  }
  if (inst.is_move && node.operands[0] == node.operands[1]) function.remove(&node);
  return asmjit::kErrorOk;
}

Node* rewrite_result(lir::Builder& builder, Node& result) {
  lir::Function& function = builder.function();
  Node* jump = nullptr;
  if (!next_is_exit(function, &result)) {
    builder.set_cursor(result.prev);
    builder.jmp(function.exit->operands[0].as<asmjit::Label>());
    jump = builder.cursor();
  }
  function.remove(&result);
  return jump;
}

}  // namespace wavejit::backend
