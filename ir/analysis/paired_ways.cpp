#include "ir/analysis/paired_ways.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "internal/key_table.h"

namespace wavejit::ir {
namespace {

// The number of a value of the lane: the same number, the same value.
using Symbol = uint32_t;
constexpr Symbol kWithout = 0, kWith = 1;  // masks without the lane, and with it
constexpr Symbol kHolds = 2, kFails = 3, kFirstFree = 4;

// Gives equal keys equal symbols.
class SymbolTable {
 public:
  // A new key gets `next`, which is increased then.
  Symbol of(std::span<const Symbol> key, Symbol& next) {
    uint64_t hash = key.size();
    for (const Symbol word : key) hash = (hash ^ word ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    uint32_t& first = first_.at(hash);
    for (uint32_t i = first; i != 0; i = entries_[i - 1].next) {
      const Entry& entry = entries_[i - 1];
      if (std::ranges::equal(key, std::span(words_).subspan(entry.begin, entry.size))) return entry.symbol;
    }
    entries_.push_back({.begin = words_.size(), .size = key.size(), .symbol = next, .next = first});
    words_.insert(words_.end(), key.begin(), key.end());
    first = static_cast<uint32_t>(entries_.size());
    return next++;
  }

 private:
  struct Entry {
    size_t begin, size;  // the key, in words_
    Symbol symbol;
    uint32_t next;  // with the same hash: number plus 1
  };
  std::vector<Symbol> words_;
  std::vector<Entry> entries_;
  KeyTable<uint32_t> first_;  // by hash: number plus 1
};

class Values {
 public:
  void set(const Inst* inst, Symbol symbol) {
    uint32_t& number = numbers_.at(inst->id);
    if (number == 0) {
      list_.emplace_back(inst, symbol);
      number = static_cast<uint32_t>(list_.size());
    } else {
      list_[number - 1].second = symbol;
    }
  }
  // Null if there is none. Valid until the next set().
  [[nodiscard]] const Symbol* find(const Inst* inst) {
    const uint32_t* const number = numbers_.find(inst->id);
    return number == nullptr ? nullptr : &list_[*number - 1].second;
  }
  [[nodiscard]] std::span<const std::pair<const Inst*, Symbol>> all() const { return list_; }
  void clear() {
    list_.clear();
    numbers_.clear();
  }

 private:
  std::vector<std::pair<const Inst*, Symbol>> list_;
  KeyTable<uint32_t> numbers_;  // by id: place in list_, plus 1
};

// One of the two executions, at the beginning of a block.
struct Execution {
  const Block* from = nullptr;
  const Block* at = nullptr;
  const bool alone;    // the lane's own way
  bool ended = false;  // behind the block by which lanes leave: the iteration is at its end
  Values values;
  std::vector<Symbol> accesses;
  KeyTable<bool> visited;  // by the block's id

  void begin(const Block* branch, const Block* way) {
    from = branch;
    at = way;
    ended = false;
    values.clear();
    accesses.clear();
    visited.clear();
  }
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
    Execution &wave = wave_, &own = own_;
    wave.begin(branch_, branch_->successors[lanes_.some]);
    own.begin(branch_, branch_->successors[1 - lanes_.some]);
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
  bool leads_to(const Block* from, const Block* to) {
    const uint64_t key = uint64_t{from->id} << 32 | to->id;
    if (const bool* known = leads_to_.find(key)) return *known;
    const bool leads = finds_way(from, to);
    leads_to_.set(key, leads);
    return leads;
  }
  bool finds_way(const Block* from, const Block* to) const {
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
    if (std::exchange(run.visited.at(block->id), true)) return false;
    // Phis take their values at once.
    std::vector<std::pair<const Inst*, Symbol>> phis;
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::phi) break;
      phis.emplace_back(inst, of(operand_from(inst, run.from), run, kMaxDepth));
    }
    for (const auto& [phi, symbol] : phis) run.values.set(phi, symbol);
    for (const Inst* inst : block->insts) {
      if (inst->op == Op::phi || inst->op == Op::br || inst->op == Op::cond_br || inst->op == Op::poll) continue;
      if (inst->op == Op::load || inst->op == Op::store || inst->op == Op::load_scalar) {
        if (!access(*inst, run)) return false;
        continue;
      }
      if (inst->op != Op::mask_any) run.values.set(inst, compute(*inst, run));
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
        for (const auto& [phi, symbol] : phis) run.values.set(phi, symbol);
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
    for (const Block* block : inner.body) run.visited.set(block->id, true);
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
    run.values.set(&inst, compute(inst, run));
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
      key.resize(2);
      if (inst.op == Op::load) run.values.set(&inst, symbols_.of(key, next_));
      return true;
    }
    key.push_back(static_cast<Symbol>(run.accesses.size()));
    const Symbol symbol = symbols_.of(key, next_);
    if (inst.op != Op::store) run.values.set(&inst, symbol);
    if (inst.op != Op::load_scalar) run.accesses.push_back(symbol);
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
    if (const Symbol* assumed = assumed_.find(condition)) return *assumed == kHolds;
    const bool value = answer();
    assumed_.set(condition, value ? kHolds : kFails);
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
    const auto same = [&](const std::pair<const Inst*, Symbol>& value) {
      return !in_.dominators.dominates(value.first->parent, wave.at) ||
             of(value.first, wave, kMaxDepth) == of(value.first, own, kMaxDepth);
    };
    return std::ranges::all_of(wave.values.all(), same) && std::ranges::all_of(own.values.all(), same);
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
    return std::ranges::all_of(wave.values.all(), same) && std::ranges::all_of(own.values.all(), same);
  }

  // ---------------------------------------------------------------- values

  Symbol number_of(const Inst* value) {
    if (const Symbol* known = numbers_.find(value->id)) return *known;
    numbers_.set(value->id, next_);
    return next_++;
  }

  // In front of the branch, masks are followed as far as they are made of others.
  Symbol of(const Inst* value, Execution& run, unsigned depth) {
    const Symbol* const computed = run.values.find(value);
    const Symbol symbol = computed != nullptr ? *computed : before(value, run, depth);
    const Symbol* const assumed = assumed_.find(symbol);
    return assumed == nullptr ? symbol : *assumed;
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
    const size_t begin = push_operation(value);
    const Symbol symbol = symbols_.of(std::span(keys_).subspan(begin), next_);
    keys_.resize(begin);
    return symbol;
  }
  // Begins the key of an operation, and returns where. The symbols of its operands follow.
  size_t push_operation(const Inst& inst) {
    const size_t begin = keys_.size();
    keys_.insert(keys_.end(),
                 {static_cast<Symbol>(inst.op), inst.attr, static_cast<Symbol>(inst.imm),
                  static_cast<Symbol>(inst.imm >> 32), static_cast<Symbol>(inst.imm2),
                  static_cast<Symbol>(inst.imm2 >> 32), static_cast<Symbol>(inst.type.kind), inst.type.count});
    return begin;
  }

  Symbol compute(const Inst& inst, Execution& run, unsigned depth = kMaxDepth) {
    if (inst.is_const()) return constant(inst);
    if (inst.op == Op::undef) return number_of(&inst);
    const size_t begin = push_operation(inst), operands = keys_.size();
    for (const Inst* operand : inst.operands) {
      const Symbol symbol = of(operand, run, depth);  // whose keys are gone again
      keys_.push_back(symbol);
    }
    const Symbol result = result_of(inst, std::span(keys_).subspan(begin), std::span(keys_).subspan(operands));
    keys_.resize(begin);
    return result;
  }
  Symbol result_of(const Inst& inst, std::span<const Symbol> key, std::span<const Symbol> x) {
    if (inst.op == Op::select) {
      if (x[1] == x[2]) return x[1];
      if (x[0] == kWith || x[0] == kHolds) return x[1];
      if (x[0] == kWithout || x[0] == kFails) return x[2];
    }
    if (inst.type.is_mask()) {
      if (const auto known = mask_of(inst.op, x)) return *known;
    }
    const Symbol symbol = symbols_.of(key, next_);
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
    if (mask == kWithout || mask == kWith || assumed_.find(mask) != nullptr) return;
    assumed_.set(mask, lanes);
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
  std::optional<Symbol> mask_of(Op op, std::span<const Symbol> x) {
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
  Execution wave_{.alone = false, .values = {}, .accesses = {}, .visited = {}};
  Execution own_{.alone = true, .values = {}, .accesses = {}, .visited = {}};
  KeyTable<Symbol> assumed_;
  std::unordered_map<Symbol, Symbol> complements_;  // of masks
  std::unordered_map<Symbol, std::tuple<Op, Symbol, Symbol>> made_of_;
  SymbolTable symbols_;
  std::vector<Symbol> keys_;  // being built, one above the other
  KeyTable<Symbol> numbers_;  // by the value's id
  KeyTable<bool> leads_to_;   // by the ids of both blocks
  Symbol next_ = kFirstFree;
};

}  // namespace

bool ways_are_alike(const Block* branch, const LaneBranch& lanes, const PairedLoop& loop) {
  return PairedWays(branch, lanes, loop).run();
}

}  // namespace wavejit::ir
