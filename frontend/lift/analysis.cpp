// Data-flow facts that steer the lifting: in which form scalar pairs are wanted, which masks are full, where the
// scratch descriptor is.
#include <algorithm>

#include "frontend/isa/info.h"
#include "frontend/lift/cfg.h"

namespace wavejit::lift {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::OperandKind;
using isa::Slot;

bool is_sgpr(const Operand& operand) {
  return operand.kind == OperandKind::sgpr;
}

// 64-bit operations for which a mask result means mask operands and the other way round.
bool is_bitwise64(Opcode opcode) {
  switch (opcode) {
    case Opcode::s_mov_b64:
    case Opcode::s_cmov_b64:
    case Opcode::s_cselect_b64:
    case Opcode::s_not_b64:
    case Opcode::s_and_b64:
    case Opcode::s_or_b64:
    case Opcode::s_xor_b64:
    case Opcode::s_andn2_b64:
    case Opcode::s_orn2_b64:
    case Opcode::s_nand_b64:
    case Opcode::s_nor_b64:
    case Opcode::s_xnor_b64:
      return true;
    default:
      return false;
  }
}

bool is_carry_chain(Opcode opcode) {
  return opcode == Opcode::s_add_u32 || opcode == Opcode::s_addc_u32 || opcode == Opcode::s_sub_u32 ||
         opcode == Opcode::s_subb_u32;
}

bool is_saveexec(Opcode opcode) {
  switch (opcode) {
    case Opcode::s_and_saveexec_b64:
    case Opcode::s_or_saveexec_b64:
    case Opcode::s_xor_saveexec_b64:
    case Opcode::s_andn2_saveexec_b64:
    case Opcode::s_orn2_saveexec_b64:
    case Opcode::s_nand_saveexec_b64:
    case Opcode::s_nor_saveexec_b64:
    case Opcode::s_xnor_saveexec_b64:
    case Opcode::s_andn1_saveexec_b64:
    case Opcode::s_orn1_saveexec_b64:
      return true;
    default:
      return false;
  }
}

// How the code from here on reads a pair before it is written again.
enum Use : uint8_t { kHalf = 1, kNumber = 2, kMask = 4, kLowWritten = 8, kHighWritten = 16 };
using Uses = std::array<uint8_t, 64>;

class Demand {
 public:
  // Walks backwards over the block's instructions.
  static void transfer(const GuestBlock& block, Uses& uses, PairDemand* result) {
    for (size_t i = block.insts.size(); i-- > 0;) step(block.insts[i], uses, result);
  }

 private:
  static void write(Uses& uses, const Operand& operand) {
    const unsigned first = operand.reg, last = operand.reg + operand.dwords;
    for (unsigned reg = first; reg < last && reg < 128; ++reg) {
      uint8_t& use = uses[reg / 2];
      use |= reg % 2 ? kHighWritten : kLowWritten;
      if ((use & kLowWritten) && (use & kHighWritten)) use = 0;
    }
  }
  static void read(Uses& uses, unsigned pair, uint8_t use) {
    if (pair < 64) uses[pair] = static_cast<uint8_t>((uses[pair] & (kHalf | kNumber | kMask)) | use);
  }
  static bool wants(uint8_t uses, Use use) { return (uses & use) != 0; }

  static void step(const Instruction& inst, Uses& uses, PairDemand* result) {
    uint8_t inherited = 0;  // what a transparent operation passes on to its sources
    for (unsigned i = 0; i < inst.num_operands; ++i) {
      const Operand& operand = inst.operands[i];
      if (!is_sgpr(operand) || !operand.is_dst || operand.reg >= 128) continue;
      const uint8_t use = uses[operand.reg / 2];
      if (is_bitwise64(inst.opcode)) {
        inherited |= operand.reg >= sreg::kVccLo && operand.reg != sreg::kM0 ? kMask : use & (kNumber | kMask);
        if (result && wants(use, kMask)) result->result_is_mask[inst.pc] = true;
      } else if (is_carry_chain(inst.opcode)) {
        inherited |= use & kNumber;
      }
      write(uses, operand);
    }
    for (unsigned i = 0; i < inst.num_operands; ++i) {
      const Operand& operand = inst.operands[i];
      if (!is_sgpr(operand) || !operand.is_src || operand.reg >= 128) continue;
      const unsigned pair = operand.reg / 2;
      if (operand.type == isa::Type::mask64 || is_saveexec(inst.opcode)) {
        read(uses, pair, kMask);
      } else if (is_bitwise64(inst.opcode) && operand.dwords == 2) {
        bool mask = false;
        for (unsigned j = 0; j < inst.num_operands; ++j)
          mask |= is_sgpr(inst.operands[j]) && inst.operands[j].reg >= sreg::kVccLo && inst.operands[j].dwords == 2;
        read(uses, pair, mask ? uint8_t{kMask} : inherited ? inherited : uint8_t{kNumber});
      } else if (operand.dwords == 2) {
        read(uses, pair, kNumber);
      } else if (operand.dwords >= 4) {  // a resource descriptor: base address, then words
        read(uses, pair, kNumber);
        for (unsigned k = 1; k < operand.dwords / 2u; ++k) read(uses, pair + k, kHalf);
      } else {
        read(uses, pair, inherited ? inherited : uint8_t{kHalf});
      }
    }
  }
};

}  // namespace

PairDemand analyse_demand(const Cfg& cfg) {
  PairDemand result;
  std::vector<Uses> at_start(cfg.blocks.size());
  const auto at_end = [&](uint32_t i) {
    Uses uses{};
    for (const uint32_t next : cfg.successors(i))
      for (unsigned pair = 0; pair < 64; ++pair) uses[pair] |= at_start[next][pair] & (kHalf | kNumber | kMask);
    return uses;
  };
  // The flags of half-written pairs make this not quite monotone; a few rounds are enough for a heuristic.
  for (unsigned round = 0; round < 6; ++round) {
    bool changed = false;
    for (uint32_t i = static_cast<uint32_t>(cfg.blocks.size()); i-- > 0;) {
      Uses uses = at_end(i);
      Demand::transfer(cfg.blocks[i], uses, nullptr);
      if (uses == at_start[i]) continue;
      at_start[i] = uses;
      changed = true;
    }
    if (!changed) break;
  }
  result.at_start.resize(cfg.blocks.size());
  for (uint32_t i = 0; i < cfg.blocks.size(); ++i) {
    Uses uses = at_end(i);
    Demand::transfer(cfg.blocks[i], uses, &result);
    for (unsigned pair = 0; pair < 64; ++pair) {
      const uint8_t use = at_start[i][pair];
      result.at_start[i][pair] = pair == sreg::kM0 / 2 ? PairView::halves
                                 : use & kMask         ? PairView::mask
                                 : use & kNumber       ? PairView::i64
                                                       : PairView::halves;
    }
  }
  return result;
}

namespace {

uint64_t bit_of(const Operand& operand) {
  return operand.reg < 128 ? uint64_t{1} << (operand.reg / 2) : 0;
}

// Whether the 64-bit source is known to be all ones.
bool is_full(uint64_t full, const Operand& operand) {
  if (operand.kind == OperandKind::constant) return operand.value == ~uint64_t{0};
  return is_sgpr(operand) && operand.reg % 2 == 0 && (full & bit_of(operand));
}

// What s_movreld may write.
constexpr uint64_t kGeneralPairs = (uint64_t{1} << kGeneralSgprs / 2) - 1;

void full_masks_step(const Instruction& inst, uint64_t& full) {
  const uint64_t exec_bit = uint64_t{1} << kExecPair;
  const bool exec_full = full & exec_bit;
  bool result_full = false;
  bool exec_after = exec_full;
  bool writes_exec = isa::info(inst.opcode).implicit.writes_exec;
  const Operand* src0 = inst.find(Slot::src0);
  const Operand* src1 = inst.find(Slot::src1);
  switch (inst.opcode) {
    case Opcode::s_mov_b64:
      result_full = is_full(full, *src0);
      break;
    case Opcode::s_or_b64:
      result_full = is_full(full, *src0) || is_full(full, *src1);
      break;
    case Opcode::s_and_b64:
      result_full = is_full(full, *src0) && is_full(full, *src1);
      break;
    case Opcode::s_and_saveexec_b64:
      result_full = exec_full;
      exec_after = exec_full && is_full(full, *src0);
      break;
    case Opcode::s_or_saveexec_b64:
      result_full = exec_full;
      exec_after = exec_full || is_full(full, *src0);
      break;
    default:
      result_full = is_saveexec(inst.opcode) && exec_full;
      exec_after = exec_full && !writes_exec;
      break;
  }
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const Operand& operand = inst.operands[i];
    if (!is_sgpr(operand) || !operand.is_dst) continue;
    for (unsigned reg = operand.reg; reg < unsigned{operand.reg} + operand.dwords && reg < 128; ++reg) {
      full &= ~(uint64_t{1} << (reg / 2));
      if (reg / 2 == kExecPair) exec_after = result_full && operand.dwords == 2;
    }
    if (result_full && operand.dwords == 2 && operand.reg % 2 == 0) full |= bit_of(operand);
  }
  if (inst.opcode == Opcode::s_movreld_b32 || inst.opcode == Opcode::s_movreld_b64) full &= ~kGeneralPairs;
  full = exec_after ? full | exec_bit : full & ~exec_bit;
}

}  // namespace

uint64_t full_masks_at_entries(bool exec_full) {
  return exec_full ? uint64_t{1} << kExecPair : 0;
}

std::vector<uint64_t> analyse_full_masks(const Cfg& cfg, bool exec_full) {
  // Optimistic: all ones until an edge or entry says otherwise.
  std::vector<uint64_t> at_start(cfg.blocks.size(), ~uint64_t{0});
  const uint64_t entry = full_masks_at_entries(exec_full);
  for (size_t i = 0; i < cfg.blocks.size(); ++i)
    if (cfg.blocks[i].is_entry) at_start[i] = entry;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < cfg.blocks.size(); ++i) {
      uint64_t full = at_start[i];
      for (const Instruction& inst : cfg.blocks[i].insts) full_masks_step(inst, full);
      for (const uint32_t next : cfg.successors(i)) {
        const uint64_t merged = at_start[next] & full;
        changed |= merged != at_start[next];
        at_start[next] = merged;
      }
    }
  }
  return at_start;
}

bool ends_with_full_exec(const GuestBlock& block, uint64_t full_at_start) {
  for (const Instruction& inst : block.insts) full_masks_step(inst, full_at_start);
  return full_at_start >> kExecPair & 1;
}

// --- the scratch descriptor
// -------------------------------------------------------------------------------------------------

void ScratchDescriptor::step(const Instruction& inst) {
  const auto word = [&](const Operand& operand, unsigned index) -> uint8_t {
    return is_sgpr(operand) && operand.reg + index < 128 ? words_[operand.reg + index] : 0;
  };
  std::array<uint8_t, 2> result{};
  if (inst.opcode == Opcode::s_mov_b32 || inst.opcode == Opcode::s_mov_b64) {
    for (unsigned i = 0; i < 2; ++i) result[i] = word(inst.get(Slot::src0), i);
  } else if (inst.opcode == Opcode::s_add_u32) {
    // Kernels add the wave's scratch offset to the base address; the flags in words 1 and 3 stay.
    if (word(inst.get(Slot::src0), 0) == 1) result[0] = 1;
  } else if (inst.opcode == Opcode::s_addc_u32) {
    const Operand& carry_only = inst.get(Slot::src1);
    if (word(inst.get(Slot::src0), 0) == 2 && carry_only.kind == OperandKind::constant && carry_only.value == 0)
      result[0] = 2;
  }
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const Operand& operand = inst.operands[i];
    if (!is_sgpr(operand) || !operand.is_dst) continue;
    for (unsigned k = 0; k < operand.dwords && operand.reg + k < 128u; ++k)
      words_[operand.reg + k] = k < 2 ? result[k] : 0;
  }
  if (inst.opcode == Opcode::s_movreld_b32 || inst.opcode == Opcode::s_movreld_b64)
    std::fill_n(words_.begin(), kGeneralSgprs, uint8_t{0});
}

bool ScratchDescriptor::at(unsigned reg) const {
  for (unsigned i = 0; i < 4; ++i)
    if (reg + i >= 128 || words_[reg + i] != i + 1) return false;
  return true;
}

bool ScratchDescriptor::merge(const ScratchDescriptor& other) {
  bool changed = false;
  for (unsigned i = 0; i < 128; ++i) {
    if (words_[i] == other.words_[i] || words_[i] == 0) continue;
    words_[i] = 0;
    changed = true;
  }
  return changed;
}

std::vector<ScratchDescriptor> analyse_scratch_descriptor(const Cfg& cfg, const LiftOptions& options) {
  std::vector<ScratchDescriptor> at_start(cfg.blocks.size());
  std::vector<bool> reached(cfg.blocks.size());
  if (options.scratch_srd_at_entries) {
    for (uint32_t i = 0; i < cfg.blocks.size(); ++i) {
      if (!cfg.blocks[i].is_entry) continue;
      at_start[i] = ScratchDescriptor(0);
      reached[i] = true;
    }
  } else if (options.scratch_srd_sgpr >= 0) {
    at_start[0] = ScratchDescriptor(static_cast<unsigned>(options.scratch_srd_sgpr));
    reached[0] = true;
  } else {
    return at_start;
  }
  // A wave resumes behind a barrier or yield with the registers that it had there. A call may leave anything in them, unless
  // the runtime compares s[0:3] when the wave comes back.
  const ScratchDescriptor behind_calls = options.scratch_srd_behind_calls ? ScratchDescriptor(0) : ScratchDescriptor();
  // Without a shape, waves may come to a barrier's resumption from elsewhere, where nothing was assumed.
  const bool forgets = options.scratch_srd_behind_calls && !options.shape &&
                       std::any_of(cfg.blocks.begin(), cfg.blocks.end(),
                                   [](const GuestBlock& block) { return block.ending == Ending::call; });
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < cfg.blocks.size(); ++i) {
      if (!reached[i]) continue;
      const GuestBlock& block = cfg.blocks[i];
      ScratchDescriptor state = at_start[i];
      for (const Instruction& inst : block.insts) state.step(inst);
      std::vector<uint32_t> next = cfg.successors(i);
      if (!options.scratch_srd_at_entries && block.next[1] != kNoBlock && block.ending != Ending::cond_branch)
        next.push_back(block.next[1]);
      if (block.ending == Ending::call) state = behind_calls;
      if (forgets && (block.ending == Ending::barrier || block.ending == Ending::yield)) state = {};
      for (const uint32_t n : next) {
        if (!reached[n]) {
          reached[n] = changed = true;
          at_start[n] = state;
        } else {
          changed |= at_start[n].merge(state);
        }
      }
    }
  }
  return at_start;
}

}  // namespace wavejit::lift
