#include "frontend/lift/cfg.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "frontend/lift/handlers.h"
#include "internal/check.h"
#include "internal/semantics/exceptions.h"
#include "internal/trap_id.h"

namespace wavejit::lift {
namespace {

using isa::Instruction;
using isa::Opcode;

// Bounds what hostile code can make the lifter allocate; the largest kernels of AMD's libraries have some 50,000.
constexpr size_t kMaxInstructions = 500'000;
// Blocks and, where there are no branches, instructions of a unit. What is larger is cut into several.
constexpr size_t kMaxBlocks = 16'384;
constexpr size_t kMaxBlockInstructions = 65'536;

// How `inst` ends a block; fallthrough when it does not.
Ending ending_of(const Instruction& inst) {
  switch (inst.opcode) {  // where it is a matter of how code is translated
    case Opcode::s_setkill:
      return (inst.words[0] & 1) != 0 ? Ending::end : Ending::fallthrough;
    case Opcode::s_setvskip:
      return Ending::new_mode;
    case Opcode::s_setreg_b32:
      return mode_write(inst).is_mode ? Ending::new_mode : Ending::fallthrough;
    case Opcode::s_sleep:
      return Ending::yield;
    case Opcode::ds_gws_init:
    case Opcode::ds_gws_sema_v:
    case Opcode::ds_gws_sema_br:
    case Opcode::ds_gws_sema_p:
    case Opcode::ds_gws_sema_release_all:
    case Opcode::ds_gws_barrier:
    case Opcode::ds_ordered_count:
      return Ending::trap;
    default:
      break;
  }
  switch (isa::info(inst.opcode).control_flow) {
    case isa::ControlFlow::none:
      break;
    case isa::ControlFlow::branch:
      return Ending::branch;
    case isa::ControlFlow::cond_branch:
      return Ending::cond_branch;
    case isa::ControlFlow::jump:
    case isa::ControlFlow::fork:
      return Ending::jump;
    case isa::ControlFlow::call:
      return Ending::call;
    case isa::ControlFlow::end:
      return Ending::end;
    case isa::ControlFlow::barrier:
      return Ending::barrier;
    case isa::ControlFlow::trap:
      return Ending::trap;
  }
  return Ending::fallthrough;
}

unsigned num_edges(Ending ending) {
  if (ending == Ending::cond_branch) return 2;
  return ending == Ending::fallthrough || ending == Ending::branch || ending == Ending::hand_over ? 1 : 0;
}

class CfgBuilder {
 public:
  explicit CfgBuilder(const LiftOptions& options) : options_(options) {}

  Expected<Cfg> build();

 private:
  struct Decoded {
    Instruction inst;
    Ending ending = Ending::fallthrough;
    bool lifted = true;  // false: illegal or unsupported, `ending` says which
  };

  const Decoded& decode(uint64_t pc);
  void discover();
  void cut();
  void make_block(uint64_t pc);
  [[nodiscard]] bool add_hand_over();
  [[nodiscard]] bool knows_all_ways(const Cfg& cfg) const;
  void find_last_indexed_row(Cfg& cfg) const;
  [[nodiscard]] std::vector<CodeRange> code_ranges() const;
  void cut_entries_of_other_modes();
  void assign_modes(Cfg& cfg) const;
  [[nodiscard]] std::vector<uint32_t> reverse_post_order() const;

  const LiftOptions& options_;
  std::unordered_map<uint64_t, Decoded> decoded_;
  std::map<uint64_t, bool> leaders_;  // pc -> is an entry
  std::vector<GuestBlock> blocks_;
  std::unordered_map<uint64_t, uint32_t> block_at_;
  std::vector<Unsupported> unsupported_;
  bool is_part_ = false;  // of what is reachable
};

const CfgBuilder::Decoded& CfgBuilder::decode(uint64_t pc) {
  const auto [it, is_new] = decoded_.try_emplace(pc);
  Decoded& result = it->second;
  if (!is_new) return result;
  const uint64_t offset = pc - options_.code_base;
  if (pc < options_.code_base || offset >= options_.code.size() || offset % 4 != 0 ||
      isa::decode(options_.target, options_.code.subspan(offset), pc, result.inst) != isa::DecodeStatus::ok) {
    result.ending = Ending::illegal;
    result.lifted = false;
  } else if (!can_lift(result.inst)) {
    result.ending = Ending::unsupported;
    result.lifted = false;
    unsupported_.push_back({.pc = pc, .what = isa::describe(result.inst)});
  } else {
    result.ending = ending_of(result.inst);
  }
  return result;
}

// Finds every reachable instruction and the starts of blocks.
void CfgBuilder::discover() {
  std::vector<uint64_t> work{options_.entry_pc};
  std::unordered_map<uint64_t, bool> seen;
  leaders_[options_.entry_pc] = true;
  const auto reach = [&](uint64_t pc, bool entry) {
    leaders_[pc] |= entry;
    work.push_back(pc);
  };
  while (!work.empty()) {
    uint64_t pc = work.back();
    work.pop_back();
    while (!std::exchange(seen[pc], true)) {
      if (!options_.part.contains(pc)) {
        is_part_ = true;
        break;
      }
      if (decoded_.size() > kMaxInstructions) {
        is_part_ = true;
        return;
      }
      const Decoded& d = decode(pc);
      if (!d.lifted) break;
      const uint64_t next = d.inst.next_pc();
      if (d.ending == Ending::branch || d.ending == Ending::cond_branch)
        reach(isa::branch_target(d.inst).value(), false);
      if (d.ending == Ending::cond_branch) reach(next, false);
      if (d.ending == Ending::barrier || d.ending == Ending::yield || d.ending == Ending::call) reach(next, true);
      if (d.ending != Ending::fallthrough) break;
      pc = next;
    }
  }
}

// Keeps the part of too large a function that the entry is in: so many blocks in the order of their addresses. Other
// parts enter it where they lead to it, but not the code that starts a kernel, which knows what registers hold.
void CfgBuilder::cut() {
  std::erase_if(leaders_, [&](const auto& leader) { return !decoded_.contains(leader.first); });
  if (leaders_.size() > kMaxBlocks) {
    is_part_ = true;
    const auto entry = leaders_.find(options_.entry_pc);
    const auto index = static_cast<size_t>(std::distance(leaders_.begin(), entry));
    const auto begin = std::next(leaders_.begin(), static_cast<ptrdiff_t>(index / kMaxBlocks * kMaxBlocks));
    const size_t rest = leaders_.size() - index / kMaxBlocks * kMaxBlocks;
    const auto end = std::next(begin, static_cast<ptrdiff_t>(std::min(rest, kMaxBlocks)));
    std::map<uint64_t, bool> part(begin, end);
    if (!options_.is_kernel_entry) {
      const uint64_t first = part.begin()->first, last = part.rbegin()->first;
      const auto lead = [&](uint64_t from, uint64_t to) {
        // A block of the part may end behind `last`; an entry too many does no harm.
        if (from >= first && from < last) return;
        if (const auto it = part.find(to); it != part.end()) it->second = true;
      };
      for (const auto& [pc, d] : decoded_) {
        if (!d.lifted) continue;
        if (d.ending == Ending::branch || d.ending == Ending::cond_branch) lead(pc, isa::branch_target(d.inst).value());
        if (d.ending == Ending::cond_branch || d.ending == Ending::fallthrough) lead(pc, d.inst.next_pc());
      }
    }
    leaders_ = std::move(part);
  }
}

void CfgBuilder::make_block(uint64_t pc) {
  GuestBlock block;
  block.pc = pc;
  block.is_entry = leaders_[pc];
  while (true) {
    const Decoded& d = decode(pc);
    block.end_pc = pc;
    block.ending = d.ending;
    if (!d.lifted) break;
    block.insts.push_back(d.inst);
    pc = d.inst.next_pc();
    block.end_pc = pc;
    block.changes_mode |= mode_behind(d.inst, 0) != 0 || mode_behind(d.inst, UINT32_MAX) != UINT32_MAX;
    if (d.ending != Ending::fallthrough || leaders_.contains(pc)) break;
    if (block.insts.size() >= kMaxBlockInstructions || !options_.part.contains(pc)) break;
  }
  block_at_[block.pc] = static_cast<uint32_t>(blocks_.size());
  blocks_.push_back(std::move(block));
}

// Leads all ways to moved_pc through a block at which the wave may be handed over. False: there is no such block, or waves
// enter there by other ways.
bool CfgBuilder::add_hand_over() {
  const auto it = block_at_.find(*options_.moved_pc);
  if (it == block_at_.end() || blocks_[it->second].is_entry) return false;
  const uint32_t at = it->second, hand_over = static_cast<uint32_t>(blocks_.size());
  for (GuestBlock& block : blocks_)
    for (uint32_t& next : block.next)
      if (next == at) next = hand_over;
  blocks_[at].is_entry = true;
  blocks_.push_back({.pc = *options_.moved_pc,
                     .end_pc = *options_.moved_pc,
                     .insts = {},
                     .ending = Ending::hand_over,
                     .next = {at, at}});
  return true;
}

// Whether a wave of the kernel never leaves the unit but to come back where it was, with the EXEC that the unit is for: so the
// unit's code says what its registers hold anywhere in it.
bool CfgBuilder::knows_all_ways(const Cfg& cfg) const {
  const std::vector<uint64_t> full = analyse_full_masks(cfg, options_.exec_full);
  size_t index = 0;
  return std::all_of(cfg.blocks.begin(), cfg.blocks.end(), [&](const GuestBlock& block) {
    const uint64_t full_at_start = full[index++];
    switch (block.ending) {
      case Ending::jump:
      case Ending::call:
      case Ending::new_mode:
      case Ending::unsupported:  // not by the interpreter, perhaps
      case Ending::illegal:      // it may be another module's code
        return false;
      case Ending::trap:  // most end the wave
        return block.insts.back().opcode == Opcode::s_trap &&
               (block.insts.back().words[0] & 0xff) != trap_id::kDebugTrap;
      case Ending::barrier:
      case Ending::yield:
        if (options_.exec_at_entries != ~uint64_t{0}) return false;
        if (options_.exec_full && !ends_with_full_exec(block, full_at_start)) return false;
        [[fallthrough]];
      default:
        return !block.leaves[0] && !block.leaves[1];
    }
  });
}

void CfgBuilder::find_last_indexed_row(Cfg& cfg) const {
  if (!options_.is_kernel_entry || is_part_) return;
  unsigned last = 0;
  for (const GuestBlock& block : cfg.blocks) {
    if (block.ending == Ending::call || block.ending == Ending::jump || block.ending == Ending::new_mode) return;
    for (const Instruction& inst : block.insts)
      for (unsigned i = 0; i < inst.num_operands; ++i)
        if (const isa::Operand& operand = inst.operands[i]; operand.kind == isa::OperandKind::vgpr)
          last = std::max(last, operand.reg + std::max<unsigned>(operand.dwords, 1) - 1);
  }
  cfg.last_indexed_row = std::min(last, kNumVgprs - 1);
}

// Depth first from the unit's entry; what follows a barrier or call counts as a successor here, so that the order
// follows the program text.
std::vector<uint32_t> CfgBuilder::reverse_post_order() const {
  std::vector<uint32_t> order;
  std::vector<bool> seen(blocks_.size());
  std::vector<std::pair<uint32_t, unsigned>> stack;
  const uint32_t root = block_at_.at(options_.entry_pc);
  stack.emplace_back(root, 0);
  seen[root] = true;
  while (!stack.empty()) {
    auto& [block, index] = stack.back();
    if (index == 2) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    const uint32_t next = blocks_[block].next[index++];
    if (next == kNoBlock || seen[next]) continue;
    seen[next] = true;
    stack.emplace_back(next, 0);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// Where bytes are no instruction, as many as the longest one has decide about that.
std::vector<CodeRange> CfgBuilder::code_ranges() const {
  const uint64_t region_end = options_.code_base + options_.code.size();
  std::vector<CodeRange> all;
  for (const auto& [pc, decoded] : decoded_) {
    if (pc - options_.code_base >= options_.code.size()) continue;
    const bool is_instruction = decoded.ending != Ending::illegal;
    all.push_back({pc, std::min(is_instruction ? decoded.inst.next_pc() : pc + sizeof decoded.inst.words, region_end)});
  }
  std::sort(all.begin(), all.end(), [](const CodeRange& a, const CodeRange& b) { return a.begin < b.begin; });
  std::vector<CodeRange> merged;
  for (const CodeRange& range : all) {
    if (!merged.empty() && range.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, range.end);
    else
      merged.push_back(range);
  }
  return merged;
}

uint32_t mode_after(const GuestBlock& block, uint32_t mode) {
  if (!block.changes_mode) return mode;
  for (const Instruction& inst : block.insts) mode = mode_behind(inst, mode);
  return mode;
}

// No wave that goes on behind a barrier with another MODE than the unit's enters the unit there. Code for such an entry would
// be of no use; where the unit's MODE has gpr_idx_en, each instruction of it may mean any register.
void CfgBuilder::cut_entries_of_other_modes() {
  std::vector<std::optional<uint32_t>> mode_at(blocks_.size());
  std::vector<uint32_t> pending{block_at_.at(options_.entry_pc)};
  mode_at[pending.back()] = options_.mode;
  while (!pending.empty()) {
    const uint32_t index = pending.back();
    pending.pop_back();
    GuestBlock& block = blocks_[index];
    const uint32_t mode = mode_after(block, *mode_at[index]);
    if ((block.ending == Ending::barrier || block.ending == Ending::yield) && mode != options_.mode &&
        block.next[1] != kNoBlock) {
      blocks_[block.next[1]].is_entry = false;
      block.next[1] = kNoBlock;
      block.leaves[1] = true;
    }
    for (const uint32_t next : block.next) {
      if (next == kNoBlock || mode_at[next]) continue;
      mode_at[next] = blocks_[next].is_entry ? options_.mode : mode;
      pending.push_back(next);
    }
  }
}

// MODE at the start of each block. The first edge found decides; an edge that arrives with another MODE leaves the
// unit.
void CfgBuilder::assign_modes(Cfg& cfg) const {
  std::vector<bool> known(cfg.blocks.size());
  for (size_t i = 0; i < cfg.blocks.size(); ++i)
    if (cfg.blocks[i].is_entry) {
      cfg.blocks[i].mode = options_.mode;
      known[i] = true;
    }
  for (GuestBlock& block : cfg.blocks) {  // reverse post-order: some predecessor is visited before
    const uint32_t mode = mode_after(block, block.mode);
    for (unsigned i = 0; i < 2; ++i) {
      if (block.next[i] == kNoBlock) continue;
      GuestBlock& next = cfg.blocks[block.next[i]];
      const bool edge = i == 0 || block.ending == Ending::cond_branch;
      if (edge && !known[block.next[i]]) {
        known[block.next[i]] = true;
        next.mode = mode;
      }
      block.leaves[i] = next.mode != mode;
    }
  }
}

Expected<Cfg> CfgBuilder::build() {
  if (options_.entry_pc < options_.code_base || options_.entry_pc - options_.code_base >= options_.code.size())
    return make_error(ErrorCode::kBadCodeObject,
                      fmt::format("{}: the entry {:#x} is outside of the code", options_.name, options_.entry_pc));
  WAVEJIT_CHECK(options_.part.contains(options_.entry_pc));
  discover();
  cut();
  for (const auto& [pc, is_entry] : leaders_) make_block(pc);
  for (GuestBlock& block : blocks_) {
    const auto find = [&](uint64_t pc) {
      const auto it = block_at_.find(pc);
      return it == block_at_.end() ? kNoBlock : it->second;
    };
    const unsigned edges = num_edges(block.ending);
    for (unsigned i = 0; i < edges; ++i) {
      block.next[i] = find(block.target(i));
      block.leaves[i] = block.next[i] == kNoBlock;
    }
    if (block.ending == Ending::barrier || block.ending == Ending::yield || block.ending == Ending::call) {
      block.next[1] = find(block.end_pc);
      block.leaves[1] = block.next[1] == kNoBlock;
    }
  }
  const auto no_hand_over = [&] {
    return make_error(ErrorCode::kUnsupported,
                      fmt::format("{}: no wave can come from the interpreter to {:#x} behind the start", options_.name,
                                  *options_.moved_pc - options_.entry_pc));
  };
  if (options_.moved_pc && (!options_.shape || !add_hand_over())) return no_hand_over();

  cut_entries_of_other_modes();
  Cfg cfg;
  const std::vector<uint32_t> order = reverse_post_order();
  std::vector<uint32_t> position(blocks_.size(), kNoBlock);
  for (uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (const uint32_t index : order) {
    GuestBlock& block = cfg.blocks.emplace_back(std::move(blocks_[index]));
    for (uint32_t& next : block.next)
      if (next != kNoBlock) next = position[next];
    cfg.instructions += static_cast<uint32_t>(block.insts.size());
  }
  cfg.unsupported = std::move(unsupported_);
  std::sort(cfg.unsupported.begin(), cfg.unsupported.end(),
            [](const Unsupported& a, const Unsupported& b) { return a.pc < b.pc; });
  assign_modes(cfg);
  if (options_.moved_pc && !knows_all_ways(cfg)) return no_hand_over();
  find_last_indexed_row(cfg);
  cfg.code = code_ranges();
  return cfg;
}

}  // namespace

uint64_t GuestBlock::target(unsigned edge) const {
  const bool branches = edge == 0 && ending != Ending::fallthrough;
  return branches ? isa::branch_target(insts.back()).value() : end_pc;
}

std::vector<uint32_t> Cfg::successors(uint32_t index) const {
  const GuestBlock& block = blocks[index];
  std::vector<uint32_t> result;
  for (unsigned i = 0; i < num_edges(block.ending); ++i)
    if (!block.leaves[i]) result.push_back(block.next[i]);
  return result;
}

ModeWrite mode_write(const Instruction& inst) {
  const uint32_t simm16 = inst.words[0] & 0xffff;
  const unsigned size = (simm16 >> 11) + 1;
  const unsigned offset = (simm16 >> 6) & 31;
  // hwreg id 1 is MODE (GCN3 ISA manual, table "Hardware register IDs").
  const bool is_mode = (simm16 & 63) == 1;
  uint32_t mask = size == 32 ? UINT32_MAX : (1u << size) - 1;
  if (is_mode) mask &= ~static_cast<uint32_t>(uint64_t{exceptions::kRecords} >> offset);
  return {.is_mode = is_mode, .offset = offset, .mask = mask};
}

uint32_t mode_behind(const Instruction& inst, uint32_t mode) {
  switch (inst.opcode) {
    case Opcode::s_setreg_imm32_b32: {
      const ModeWrite write = mode_write(inst);
      if (!write.is_mode) return mode;
      return (mode & ~(write.mask << write.offset)) | ((inst.words[1] & write.mask) << write.offset);
    }
    case Opcode::s_set_gpr_idx_on:
      return mode | mode::kGprIdxEn;
    case Opcode::s_set_gpr_idx_off:
      return mode & ~mode::kGprIdxEn;
    default:
      return mode;
  }
}

Expected<Cfg> build_cfg(const LiftOptions& options) {
  return CfgBuilder(options).build();
}

}  // namespace wavejit::lift
