#include "ir/analysis/resumptions.h"

#include <algorithm>
#include <cstddef>
#include <unordered_set>

namespace wavejit::ir {
namespace {

constexpr size_t kMaxWork = 1u << 20;  // entries times blocks

// An entry that does not read EXEC may have been specialised for one value of it. A wave that comes with another EXEC
// goes on in another translation then, which may read what this one has no use for.
bool same_exec(const Block* leaving, const Entry& resumed) {
  const Block* entry = resumed.block;
  const auto reads_exec = [](const Inst* inst) { return inst->op == Op::get_mask && inst->imm == sreg::kExecLo; };
  if (std::any_of(entry->insts.begin(), entry->insts.end(), reads_exec)) return true;
  return std::all_of(leaving->insts.begin(), leaving->insts.end(), [&](const Inst* inst) {
    if (inst->op == Op::set_mask && inst->imm == sreg::kExecLo) return inst->operands[0]->is_const(resumed.exec);
    const bool writes = inst->op == Op::set_sgpr || inst->op == Op::set_sgpr64 || inst->op == Op::set_mask;
    return !writes || inst->imm + 1 < sreg::kExecLo;
  });
}

}  // namespace

std::optional<uint64_t> resumption_pc(const Block& leaving) {
  const Inst* last = leaving.terminator();
  if (last->op != Op::exit) return std::nullopt;
  const auto reason = static_cast<ExitReason>(last->attr);
  if (reason != ExitReason::kBarrier && reason != ExitReason::kYield) return std::nullopt;
  const bool writes_mode = std::any_of(leaving.insts.begin(), leaving.insts.end(), [](const Inst* inst) {
    return inst->op == Op::set_field && inst->imm == offsetof(WaveState, mode);
  });
  return writes_mode ? std::nullopt : std::optional(last->imm);
}

std::unordered_map<const Block*, std::vector<size_t>> origins_of_exits(const Function& function) {
  std::unordered_map<const Block*, std::vector<size_t>> origins;
  for (size_t i = 0; i < function.entries.size(); ++i) {
    std::unordered_set<const Block*> seen{function.entries[i].block};
    std::vector<const Block*> work{function.entries[i].block};
    while (!work.empty()) {
      const Block* block = work.back();
      work.pop_back();
      if (block->successors.empty()) origins[block].push_back(i);
      for (const Block* successor : block->successors)
        if (seen.insert(successor).second) work.push_back(successor);
    }
  }
  return origins;
}

Resumptions::Resumptions(const Function& function) {
  std::unordered_map<uint64_t, size_t> entry_at;
  std::unordered_set<const Block*> entry_blocks;
  for (size_t i = 0; i < function.entries.size(); ++i) {
    if (!entry_at.emplace(function.entries[i].guest_pc, i).second) return;
    entry_blocks.insert(function.entries[i].block);
  }
  if (function.entries.size() * function.blocks.size() > kMaxWork) return;
  for (const auto& block : function.blocks) {
    if (!collect(block.get(), entry_blocks.contains(block.get()), function.entries, entry_at)) return;
  }
  sites_.resize(function.entries.size());
  for (size_t i = 0; i < function.entries.size(); ++i) {
    sites_[i].block = function.entries[i].block;
    for (Inst* inst : sites_[i].block->insts) {
      if (inst->op == Op::get_vgpr) sites_[i].reads.push_back(inst);
    }
    find_leaving(sites_[i]);
  }
}

std::optional<size_t> Resumptions::resumed_by(const Block* block) const {
  const auto it = exits_.find(block);
  if (sites_.empty() || it == exits_.end()) return std::nullopt;
  const size_t entry = it->second.resumes_at;
  return entry == kElsewhere || entry == kNowhere ? std::nullopt : std::optional(entry);
}

// False when the registers are used in a way this analysis does not understand.
bool Resumptions::collect(const Block* block, bool is_entry, const std::vector<Entry>& entries,
                          const std::unordered_map<uint64_t, size_t>& entry_at) {
  bool writes = false;
  Exit exit;
  for (const Inst* inst : block->insts) {
    const bool reads = inst->op == Op::get_vgpr || inst->op == Op::get_mask;
    if (reads && (writes || !is_entry)) return false;
    writes |=
        inst->op == Op::set_vgpr || inst->op == Op::set_mask || inst->op == Op::set_sgpr || inst->op == Op::set_sgpr64;
    if (inst->op == Op::set_vgpr) exit.written.set(inst->imm);
  }
  if (!block->successors.empty()) return !writes;
  const Inst* last = block->terminator();
  if (last->op == Op::exit) {
    if (static_cast<ExitReason>(last->attr) == ExitReason::kEnd) exit.resumes_at = kNowhere;
  }
  if (const std::optional<uint64_t> pc = resumption_pc(*block)) {
    const auto entry = entry_at.find(*pc);
    if (entry != entry_at.end() && same_exec(block, entries[entry->second])) exit.resumes_at = entry->second;
  }
  exits_.emplace(block, exit);
  return true;
}

void Resumptions::find_leaving(Site& site) const {
  std::unordered_set<const Block*> seen{site.block};
  std::vector<const Block*> work{site.block};
  while (!work.empty()) {
    const Block* block = work.back();
    work.pop_back();
    for (const Block* successor : block->successors) {
      if (seen.insert(successor).second) work.push_back(successor);
    }
    if (!block->successors.empty()) continue;
    const Exit& exit = exits_.at(block);
    if (exit.resumes_at == kNowhere) continue;
    if (exit.resumes_at == kElsewhere) {
      site.read_outside |= ~exit.written;
    } else {
      site.handed_on.push_back({block, exit.resumes_at, ~exit.written});
    }
  }
}

}  // namespace wavejit::ir
