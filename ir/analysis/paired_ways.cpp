#include "ir/analysis/paired_ways.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace wavejit::ir {
namespace {

// The number of a value of the lane: the same number, the same value.
using Symbol = uint32_t;
constexpr Symbol kWithout = 0, kWith = 1;  // masks without the lane, and with it
constexpr Symbol kHolds = 2, kFails = 3, kFirstFree = 4;

// One of the two executions, at the beginning of a block.
struct Execution {
  const Block* from = nullptr;
  const Block* at = nullptr;
  bool alone = false;  // the lane's own way
  bool ended = false;  // behind the block by which lanes leave: the iteration is at its end
  std::unordered_map<const Inst*, Symbol> values;
  std::vector<std::vector<Symbol>> accesses;
  std::unordered_set<const Block*> visited;
};

class PairedWays {
 public:
  PairedWays(const Block* branch, const LaneBranch& lanes, const PairedLoop& in)
      : branch_(branch), lanes_(lanes), in_(in), loop_(in.loop) {}

  // Follows both for one sequence of answers after the other.
  bool run() {
    for (unsigned runs = 0; runs < kMaxRuns; ++runs) {
      position_ = 0;
      assumed_.clear();
      if (!follow()) return false;
      // The next sequence: the last answer that has another one behind it.
      while (!answers_.empty() && answers_.back() == 1) answers_.pop_back();
      if (answers_.empty()) return true;
      answers_.back() = 1;
    }
    return false;
  }

 private:
  // The answer to the next question that is open.
  bool answer() {
    if (position_ == answers_.size()) answers_.push_back(0);
    return answers_[position_++] == 1;
  }

  bool follow() {
    Execution wave{.from = branch_,
                   .at = branch_->successors[lanes_.some],
                   .alone = false,
                   .values = {},
                   .accesses = {},
                   .visited = {}};
    Execution own{.from = branch_,
                  .at = branch_->successors[1 - lanes_.some],
                  .alone = true,
                  .values = {},
                  .accesses = {},
                  .visited = {}};
    if (in_.always != nullptr) assume(number_of(in_.always), kWith);
    const Symbol mask = of(lanes_.mask, own, kMaxDepth);
    if (mask == kWith) return true;  // there is no such lane
    if (mask != kWithout) assume(mask, kWithout);
    if (in_.dominators.dominates(wave.at, branch_)) {
      // The lane leaves a loop inside, and the wave goes round for others.
      const Loop inner = natural_loop(wave.at);
      if (wave.at == loop_.header || inner.latches.size() != 1 || inner.latches[0] != branch_) return false;
      assume_own_way(own);
    }
    assume_what_led_here(own);
    for (unsigned steps = 0; steps < kMaxBlocks; ++steps) {
      if (wave.ended && own.ended) return end_alike(wave, own);
      const bool together = wave.at == own.at && wave.ended == own.ended;
      if (together && are_alike(wave, own)) return true;
      // If they are not alike yet, both go on. Else the one that is not where the other will come to.
      const bool own_first =
          wave.ended || (!own.ended && !together && leads_to(own.at, wave.at) && !leads_to(wave.at, own.at));
      if (!own_first && !execute(wave)) return false;
      if ((own_first || together) && !execute(own)) return false;
    }
    return false;
  }

  // Masks without any lane: control has come here by the edges that are taken for such.
  void assume_what_led_here(Execution& run) {
    const Block* block = branch_;
    for (unsigned i = 0; i < kMaxDepth && block != nullptr && block != loop_.header && loop_.body.contains(block);
         ++i) {
      const Inst* empty = nullptr;
      bool all = !block->predecessors.empty();
      for (const Block* from : block->predecessors) {
        const auto branch = lane_branch(*from);
        all = all && branch && from->successors[0] != from->successors[1] &&
              from->successors[1 - branch->some] == block && (empty == nullptr || empty == branch->mask);
        if (all) empty = branch->mask;
      }
      if (all) {
        const Symbol mask = of(empty, run, kMaxDepth);
        if (mask != kWithout && mask != kWith) assume(mask, kWithout);
      }
      block = in_.dominators.immediate(block);
    }
  }

  // Masks that have the lane: it has come to the branch on its own way, by its bits.
  void assume_own_way(Execution& run) {
    const Block* block = branch_;
    for (unsigned i = 0; i < kMaxDepth && block != nullptr && block != loop_.header && loop_.body.contains(block);
         ++i) {
      const Block* const before = block->predecessors.size() == 1 ? block->predecessors[0] : nullptr;
      if (before != nullptr && before->successors.size() == 2 && before->successors[0] != before->successors[1]) {
        const auto branch = lane_branch(*before);
        if (branch && before->successors[branch->some] == block) assume(of(branch->mask, run, kMaxDepth), kWith);
      }
      block = in_.dominators.immediate(block);
    }
  }

  // Whether control can come from one block to another in this iteration.
  bool leads_to(const Block* from, const Block* to) const {
    std::unordered_set<const Block*> seen;
    std::vector<const Block*> work{from};
    while (!work.empty()) {
      const Block* block = work.back();
      work.pop_back();
      if (block == to) return true;
      if (!loop_.body.contains(block) || (block == loop_.header && block != from) || !seen.insert(block).second)
        continue;
      work.insert(work.end(), block->successors.begin(), block->successors.end());
    }
    return false;
  }

  bool execute(Execution& run) {
    const Block* block = run.at;
    if (!loop_.body.contains(block) || block == loop_.header) return false;
    if (begins_loop(block)) return !run.alone && pass_by(natural_loop(block), run);
    if (!run.visited.insert(block).second) return false;
    // Phis take their values at once.
    std::vector<std::pair<const Inst*, Symbol>> phis;
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::phi) break;
      phis.emplace_back(inst, of(operand_from(inst, run.from), run, kMaxDepth));
    }
    for (const auto& [phi, symbol] : phis) run.values[phi] = symbol;
    for (const Inst* inst : block->insts) {
      if (inst->op == Op::phi || inst->op == Op::br || inst->op == Op::cond_br || inst->op == Op::poll) continue;
      if (inst->op == Op::load || inst->op == Op::store || inst->op == Op::load_scalar) {
        if (!access(*inst, run)) return false;
        continue;
      }
      if (inst->op != Op::mask_any) run.values[inst] = compute(*inst, run);
    }
    return go_on(run);
  }

  // ---------------------------------------------------------------- loops inside

  [[nodiscard]] bool begins_loop(const Block* block) const {
    return std::ranges::any_of(block->predecessors,
                               [&](const Block* from) { return in_.dominators.dominates(block, from); });
  }
  [[nodiscard]] Loop natural_loop(const Block* header) const {
    Loop inner{.header = const_cast<Block*>(header), .latches = {}, .body = {header}};
    std::vector<const Block*> work;
    for (Block* from : header->predecessors)
      if (in_.dominators.dominates(header, from)) inner.latches.push_back(from);
    work.assign(inner.latches.begin(), inner.latches.end());
    while (!work.empty()) {
      const Block* block = work.back();
      work.pop_back();
      if (inner.body.insert(block).second)
        work.insert(work.end(), block->predecessors.begin(), block->predecessors.end());
    }
    return inner;
  }

  // The wave executes a loop for other lanes, on any of its ways, any number of times. Of the header's phis is assumed that they keep
  // the symbols with which the loop is entered, until an iteration refutes it.
  bool pass_by(const Loop& inner, Execution& run) {
    const Block *exit_from = nullptr, *exit_to = nullptr;
    std::vector<const Block*> blocks;
    for (const Block* block : in_.dominators.order()) {
      if (!inner.body.contains(block)) continue;
      if (block != inner.header && begins_loop(block)) return false;
      blocks.push_back(block);
      for (const Block* to : block->successors) {
        if (inner.body.contains(to)) continue;
        if (exit_from != nullptr) return false;
        exit_from = block;
        exit_to = to;
      }
    }
    if (exit_from == nullptr || inner.body.contains(in_.exit_from)) return false;
    if (inner.body.contains(run.from) && run.from != branch_) return false;
    std::unordered_map<const Inst*, Symbol> entered, others;  // others: of phis that have several values
    for (const Inst* phi : inner.header->insts) {
      if (phi->op != Op::phi) break;
      entered[phi] = of(operand_from(phi, run.from), run, kMaxDepth);
    }
    const auto several = [&](const Inst* phi) {
      const auto [it, inserted] = others.try_emplace(phi, next_);
      if (inserted) ++next_;
      return it->second;
    };
    const auto accesses = run.accesses;
    for (bool refuted = true; refuted;) {
      refuted = false;
      for (const Block* block : blocks) {
        std::vector<std::pair<const Inst*, Symbol>> phis;
        for (const Inst* inst : block->insts) {
          if (inst->op != Op::phi) break;
          const bool assumed = block == inner.header && !others.contains(inst);
          phis.emplace_back(inst, assumed                 ? entered.at(inst)
                                  : block == inner.header ? several(inst)
                                                          : merged(inst, run).value_or(several(inst)));
        }
        for (const auto& [phi, symbol] : phis) run.values[phi] = symbol;
        for (const Inst* inst : block->insts)
          if (inst->op != Op::phi && !execute_for_others(*inst, run)) return false;
      }
      if (run.accesses != accesses) return false;
      for (const auto& [phi, symbol] : entered) {
        if (others.contains(phi)) continue;
        for (const Block* latch : inner.latches) {
          if (of(operand_from(phi, latch), run, kMaxDepth) == symbol) continue;
          (void)several(phi);
          refuted = true;
          break;
        }
      }
    }
    run.visited.insert(inner.body.begin(), inner.body.end());
    run.from = exit_from;
    run.at = exit_to;
    return true;
  }
  std::optional<Symbol> merged(const Inst* phi, Execution& run) {
    const Symbol first = of(phi->operands[0], run, kMaxDepth);
    const bool same = std::ranges::all_of(phi->operands, [&](const Inst* x) { return of(x, run, kMaxDepth) == first; });
    return same ? std::optional(first) : std::nullopt;
  }
  bool execute_for_others(const Inst& inst, Execution& run) {
    if (is_terminator(inst.op) || inst.op == Op::poll || inst.op == Op::mask_any) return true;
    if (inst.op == Op::load || inst.op == Op::store) return access(inst, run);
    if (inst.op == Op::load_scalar) return false;
    run.values[&inst] = compute(inst, run);
    return true;
  }

  static const Inst* operand_from(const Inst* phi, const Block* from) {
    const auto& predecessors = phi->parent->predecessors;
    return phi->operands[static_cast<size_t>(std::ranges::find(predecessors, from) - predecessors.begin())];
  }

  // An access is made by lanes in its mask. A load gives what the same load in the other execution gives.
  bool access(const Inst& inst, Execution& run) {
    std::vector<Symbol> key{static_cast<Symbol>(inst.id)};
    for (const Inst* operand : inst.operands) key.push_back(of(operand, run, kMaxDepth));
    if (inst.op != Op::load_scalar && key[1] == kWithout) {
      // Nothing is made; what a load leaves for the lane is the same each time.
      if (inst.op == Op::load) run.values[&inst] = interned({static_cast<Symbol>(inst.id), kWithout});
      return true;
    }
    key.push_back(static_cast<Symbol>(run.accesses.size()));
    if (inst.op != Op::store) run.values[&inst] = interned(key);
    if (inst.op != Op::load_scalar) run.accesses.push_back(std::move(key));
    return inst.op != Op::load_scalar;  // of which the copy may make one where the wave makes none
  }

  bool go_on(Execution& run) {
    const Block* block = run.at;
    run.from = block;
    if (block == in_.exit_from) {
      run.ended = true;
      run.at = loop_.header;
      return true;
    }
    const Inst* last = block->terminator();
    if (last->op == Op::br) {
      run.at = block->successors[0];
      return true;
    }
    if (last->op != Op::cond_br || block->successors[0] == block->successors[1]) return false;
    const auto branch = lane_branch(*block);
    if (!branch) {
      const Symbol condition = of(last->operands[0], run, kMaxDepth);
      run.at = block->successors[is_true(condition) ? 0 : 1];
      return true;
    }
    const Symbol mask = of(branch->mask, run, kMaxDepth);
    // A lane goes by its own bit, the wave where some lane goes.
    bool some = mask == kWith;
    if (mask != kWith && mask != kWithout) {
      some = answer();
      assume(mask, some ? kWith : kWithout);
    }
    if (!run.alone && !some) some = answer();
    run.at = block->successors[some ? branch->some : 1 - branch->some];
    return true;
  }
  // Of a scalar condition, which is the same in both executions if its symbol is.
  bool is_true(Symbol condition) {
    if (condition == kHolds) return true;
    if (condition == kFails) return false;
    const auto it = assumed_.find(condition);
    if (it != assumed_.end()) return it->second == kHolds;
    const bool value = answer();
    assumed_[condition] = value ? kHolds : kFails;
    return value;
  }

  // At the beginning of one block.
  bool are_alike(Execution& wave, Execution& own) {
    if (wave.accesses != own.accesses) return false;
    for (const Inst* inst : wave.at->insts) {
      if (inst->op != Op::phi) break;
      if (of(operand_from(inst, wave.from), wave, kMaxDepth) != of(operand_from(inst, own.from), own, kMaxDepth))
        return false;
    }
    // Values that may be used further on without being computed anew.
    const auto same = [&](const std::pair<const Inst* const, Symbol>& value) {
      return !in_.dominators.dominates(value.first->parent, wave.at) ||
             of(value.first, wave, kMaxDepth) == of(value.first, own, kMaxDepth);
    };
    return std::ranges::all_of(wave.values, same) && std::ranges::all_of(own.values, same);
  }

  // At the end of the iteration.
  bool end_alike(Execution& wave, Execution& own) {
    if (wave.accesses != own.accesses) return false;
    const auto differ = [&](const Inst* value) { return of(value, wave, kMaxDepth) != of(value, own, kMaxDepth); };
    const auto used_behind = [&](const Inst* value) {
      return std::ranges::any_of(value->users, [&](const Inst* user) { return !loop_.body.contains(user->parent); });
    };
    if (in_.staying != nullptr && differ(in_.staying)) return false;
    const bool leaves = in_.staying != nullptr && of(in_.staying, wave, kMaxDepth) == kWithout;
    if (std::ranges::find(loop_.header->predecessors, in_.exit_from) != loop_.header->predecessors.end()) {
      for (const Inst* phi : loop_.header->insts) {
        if (phi->op != Op::phi) break;
        if (differ(operand_from(phi, in_.exit_from)) && (!leaves || used_behind(phi))) return false;
      }
    } else if (!leaves) {
      return false;
    }
    const auto same = [&](const auto& value) { return !used_behind(value.first) || !differ(value.first); };
    return std::ranges::all_of(wave.values, same) && std::ranges::all_of(own.values, same);
  }

  // ---------------------------------------------------------------- values

  Symbol interned(std::vector<Symbol> key) {
    const auto [it, inserted] = symbols_.try_emplace(std::move(key), next_);
    if (inserted) ++next_;
    return it->second;
  }

  Symbol number_of(const Inst* value) {
    const auto [it, inserted] = numbers_.try_emplace(value, next_);
    if (inserted) ++next_;
    return it->second;
  }

  // In front of the branch, masks are followed as far as they are made of others.
  Symbol of(const Inst* value, Execution& run, unsigned depth) {
    const auto it = run.values.find(value);
    const Symbol symbol = it != run.values.end() ? it->second : before(value, run, depth);
    const auto assumed = assumed_.find(symbol);
    return assumed == assumed_.end() ? symbol : assumed->second;
  }
  Symbol before(const Inst* value, Execution& run, unsigned depth) {
    if (value->is_const()) return constant(*value);
    const bool made_of_masks =
        value->type.is_mask() && loop_.body.contains(value->parent) &&
        (value->op == Op::and_ || value->op == Op::or_ || value->op == Op::andn || value->op == Op::not_);
    return made_of_masks && depth > 0 ? compute(*value, run, depth - 1) : number_of(value);
  }
  Symbol constant(const Inst& value) {
    if (value.type.is_mask() && (value.imm == 0 || value.imm == ~uint64_t{0})) return value.imm == 0 ? kWithout : kWith;
    if (value.type == kI1) return value.imm != 0 ? kHolds : kFails;
    return interned(key_of(value));
  }
  static std::vector<Symbol> key_of(const Inst& inst) {
    return {static_cast<Symbol>(inst.op),        inst.attr,
            static_cast<Symbol>(inst.imm),       static_cast<Symbol>(inst.imm >> 32),
            static_cast<Symbol>(inst.imm2),      static_cast<Symbol>(inst.imm2 >> 32),
            static_cast<Symbol>(inst.type.kind), inst.type.count};
  }

  Symbol compute(const Inst& inst, Execution& run, unsigned depth = kMaxDepth) {
    if (inst.is_const()) return constant(inst);
    if (inst.op == Op::undef) return number_of(&inst);
    std::vector<Symbol> x(inst.operands.size());
    std::ranges::transform(inst.operands, x.begin(), [&](const Inst* operand) { return of(operand, run, depth); });
    if (inst.op == Op::select) {
      if (x[1] == x[2]) return x[1];
      if (x[0] == kWith || x[0] == kHolds) return x[1];
      if (x[0] == kWithout || x[0] == kFails) return x[2];
    }
    if (inst.type.is_mask()) {
      if (const auto known = mask_of(inst.op, x)) return *known;
    }
    std::vector<Symbol> key = key_of(inst);
    key.insert(key.end(), x.begin(), x.end());
    const Symbol symbol = interned(std::move(key));
    if (inst.type.is_mask() && (inst.op == Op::and_ || inst.op == Op::or_ || inst.op == Op::andn))
      made_of_.try_emplace(symbol, inst.op, x[0], x[1]);
    return symbol;
  }
  Symbol complement(Symbol mask) {
    if (const auto it = complements_.find(mask); it != complements_.end()) return it->second;
    const Symbol other = next_++;
    complements_[mask] = other;
    complements_[other] = mask;
    return other;
  }
  // A lane is in a mask, or not; and so in what it is made of.
  void assume(Symbol mask, Symbol lanes) {
    if (mask == kWithout || mask == kWith || !assumed_.try_emplace(mask, lanes).second) return;
    if (const auto it = complements_.find(mask); it != complements_.end())
      assume(it->second, lanes == kWith ? kWithout : kWith);
    const auto made = made_of_.find(mask);
    if (made == made_of_.end()) return;
    const auto& [op, one, other] = made->second;
    if (op == Op::or_ && lanes == kWithout) {
      assume(one, kWithout);
      assume(other, kWithout);
    } else if (op != Op::or_ && lanes == kWith) {
      assume(one, kWith);
      assume(other, op == Op::and_ ? kWith : kWithout);
    }
  }
  std::optional<Symbol> mask_of(Op op, const std::vector<Symbol>& x) {
    switch (op) {
      case Op::and_:
        if (x[0] == kWithout || x[1] == kWithout) return kWithout;
        if (x[0] == kWith || x[0] == x[1]) return x[1];
        if (x[1] == kWith) return x[0];
        return std::nullopt;
      case Op::or_:
        if (x[0] == kWith || x[1] == kWith) return kWith;
        if (x[0] == kWithout || x[0] == x[1]) return x[1];
        if (x[1] == kWithout) return x[0];
        return std::nullopt;
      case Op::andn:
        if (x[0] == kWithout || x[1] == kWith || x[0] == x[1]) return kWithout;
        if (x[1] == kWithout) return x[0];
        if (x[0] == kWith) return complement(x[1]);
        return std::nullopt;
      case Op::xor_:
        if (x[0] == x[1]) return kWithout;
        if (x[0] == kWithout) return x[1];
        if (x[1] == kWithout) return x[0];
        return std::nullopt;
      case Op::not_:
        if (x[0] == kWithout) return kWith;
        if (x[0] == kWith) return kWithout;
        return complement(x[0]);
      default:
        return std::nullopt;
    }
  }

  static constexpr unsigned kMaxRuns = 512, kMaxBlocks = 24, kMaxDepth = 12;

  const Block* branch_;
  const LaneBranch lanes_;
  const PairedLoop& in_;
  const Loop& loop_;
  std::vector<uint8_t> answers_;  // 0, then 1
  size_t position_ = 0;
  std::unordered_map<Symbol, Symbol> assumed_;
  std::unordered_map<Symbol, Symbol> complements_;  // of masks
  std::unordered_map<Symbol, std::tuple<Op, Symbol, Symbol>> made_of_;
  std::map<std::vector<Symbol>, Symbol> symbols_;
  std::unordered_map<const Inst*, Symbol> numbers_;
  Symbol next_ = kFirstFree;
};

}  // namespace

bool ways_are_alike(const Block* branch, const LaneBranch& lanes, const PairedLoop& loop) {
  return PairedWays(branch, lanes, loop).run();
}

}  // namespace wavejit::ir
