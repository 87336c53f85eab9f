// Recomputes registers after a barrier or yield instead of reading them from the wave state, if their value can be
// computed anywhere: addresses and masks that depend on the work-item id, and on scalars that the state holds as well.
// Facts such as strides and bounds are then known after the barrier too.
//
// Only for entries that only this unit's own exits lead to (Entry::resumed_only). The analysis is optimistic and covers
// all instructions and the registers at all entries together: a fact is the meet over all predecessors, and a
// predecessor about which nothing is known yet agrees with everything.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dominators.h"
#include "ir/analysis/resumptions.h"
#include "ir/analysis/wave_expressions.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

using Id = WaveExpressions::Id;

constexpr unsigned kMaxValueCost = 48;      // as WaveExpressions::cost(): a dozen vector operations
constexpr unsigned kMaxAddressCost = 96;    // of addresses in the LDS: lanes at known distances are one vector access
constexpr unsigned kWorthwhileZeros = 2;    // of a number that is not known otherwise
constexpr size_t kMaxValueWork = 1u << 20;  // entries times blocks, entries times variables

// A register as the code accesses it. Scalar pairs are one variable per view; a write through another view or of a half
// makes nothing known.
struct Variable {
  Op get;
  uint64_t index;
  bool operator==(const Variable&) const = default;
};

unsigned sgprs_in(Op access) {
  switch (access) {
    case Op::get_sgpr:
    case Op::set_sgpr:
      return 1;
    case Op::get_sgpr64:
    case Op::set_sgpr64:
    case Op::get_mask:
    case Op::set_mask:
      return 2;
    default:
      return 0;
  }
}
Op getter(Op set) {
  switch (set) {
    case Op::set_sgpr:
      return Op::get_sgpr;
    case Op::set_sgpr64:
      return Op::get_sgpr64;
    case Op::set_mask:
      return Op::get_mask;
    case Op::set_vgpr:
      return Op::get_vgpr;
    default:
      return Op::undef;
  }
}

bool is_lds_access_at(const Inst* user, const Inst* address) {
  return (user->op == Op::load || user->op == Op::store || user->op == Op::atomic) &&
         user->mem.form == AddressForm::lds_offset && user->operands[1] == address;
}

// Whether accesses to the LDS are at the value, or a constant beside it.
bool addresses_lds(const Inst* value) {
  return std::any_of(value->users.begin(), value->users.end(), [&](const Inst* user) {
    if (user->op == Op::add && user->operands[1]->is_const())
      return std::any_of(user->users.begin(), user->users.end(),
                         [&](const Inst* access) { return is_lds_access_at(access, user); });
    return is_lds_access_at(user, value);
  });
}

unsigned most_cost(const Inst* value) {
  return addresses_lds(value) ? kMaxAddressCost : kMaxValueCost;
}

class ResumedValues {
 public:
  explicit ResumedValues(Function& function)
      : function_(function), dominators_(function), values_(function.num_values(), WaveExpressions::kUndetermined) {}

  bool run() {
    if (!collect()) return false;
    solve();
    return replace();
  }

 private:
  struct Site {  // an entry
    Block* block = nullptr;
    bool resumed_only = false;
    std::vector<Inst*> reads;
    std::vector<const Block*> exits;  // those that lead here (resumed_only)
    std::vector<Id> facts;            // per variable
  };

  bool collect() {
    std::unordered_map<uint64_t, size_t> entry_at;
    bool any = false;
    for (size_t i = 0; i < function_.entries.size(); ++i) {
      const Entry& entry = function_.entries[i];
      if (!entry_at.emplace(entry.guest_pc, i).second) return false;
      sites_.push_back({.block = entry.block, .resumed_only = entry.resumed_only});
      for (Inst* inst : entry.block->insts) {
        if (inst->op != Op::get_vgpr && sgprs_in(inst->op) == 0) continue;
        if (getter(inst->op) != Op::undef) continue;  // a write
        any_exec_ |= sgprs_in(inst->op) != 0 && inst->imm + sgprs_in(inst->op) > sreg::kExecLo;
        sites_.back().reads.push_back(inst);
        // What the start reads, expressions may refer to.
        if (entry.resumed_only || inst->op == Op::get_sgpr) variable(inst);
      }
      any |= entry.resumed_only && !sites_.back().reads.empty();
    }
    if (!any || sites_.size() * std::max(variables_.size(), function_.blocks.size()) > kMaxValueWork) return false;
    for (const auto& block : function_.blocks) {
      bool writes = false;
      for (const Inst* inst : block->insts) {
        // The registers must be what the entries read and the exits write.
        const bool reads = inst->op == Op::get_vgpr || (sgprs_in(inst->op) != 0 && getter(inst->op) == Op::undef);
        if (reads && (writes || !is_entry(block.get()))) return false;
        writes |= getter(inst->op) != Op::undef;
      }
      if (!block->successors.empty()) {
        if (writes) return false;
        continue;
      }
      const std::optional<uint64_t> pc = resumption_pc(*block);
      if (!pc) continue;
      const auto it = entry_at.find(*pc);
      if (it != entry_at.end() && sites_[it->second].resumed_only) sites_[it->second].exits.push_back(block.get());
    }
    origins_ = origins_of_exits(function_);
    find_blocks_executed_once();
    for (Site& site : sites_) {
      const Id start = site.resumed_only ? WaveExpressions::kUndetermined : WaveExpressions::kUnknown;
      site.facts.assign(variables_.size(), start);
    }
    // The unit's start: the registers that expressions may refer to are its own.
    const Site& first = sites_.front();
    if (!first.resumed_only)
      for (size_t v = 0; v < variables_.size(); ++v)
        if (variables_[v].get == Op::get_sgpr)
          sites_.front().facts[v] = pool_.initial_sgpr(static_cast<unsigned>(variables_[v].index));
    return true;
  }

  [[nodiscard]] bool is_entry(const Block* block) const {
    return std::any_of(function_.entries.begin(), function_.entries.end(),
                       [&](const Entry& entry) { return entry.block == block; });
  }

  size_t variable(const Inst* read) {
    const Variable wanted{read->op, read->imm};
    const auto it = std::find(variables_.begin(), variables_.end(), wanted);
    if (it != variables_.end()) return static_cast<size_t>(it - variables_.begin());
    variables_.push_back(wanted);
    return variables_.size() - 1;
  }

  // Blocks that a wave executes at most once, before it leaves for the first time: all paths to them come from the
  // start alone. In a cycle no block can be the first whose predecessors are all among them.
  void find_blocks_executed_once() {
    const Site& start = sites_.front();
    if (start.resumed_only || !start.block->predecessors.empty()) return;
    for (const Block* block : dominators_.order()) {
      const bool entry = is_entry(block);
      const auto& from = block->predecessors;
      if (block == start.block || (!entry && std::all_of(from.begin(), from.end(), [&](const Block* predecessor) {
            return once_.contains(predecessor);
          })))
        once_.insert(block);
    }
  }

  [[nodiscard]] Id value_of(const Inst* inst) const { return values_[inst->id]; }

  // What a variable holds when the wave is let go at an exit.
  [[nodiscard]] Id at_exit(const Block* exit, size_t index) {
    const Variable& wanted = variables_[index];
    Id result = WaveExpressions::kUndetermined;
    bool written = false;
    for (const Inst* inst : exit->insts) {
      const Op get = getter(inst->op);
      if (get == Op::undef) continue;
      if (get == wanted.get && inst->imm == wanted.index) {
        result = value_of(inst->operands[0]);
        written = true;
        continue;
      }
      const unsigned count = sgprs_in(inst->op), wanted_count = sgprs_in(wanted.get);
      if (count != 0 && wanted_count != 0 && inst->imm < wanted.index + wanted_count &&
          wanted.index < inst->imm + count)
        return WaveExpressions::kUnknown;
    }
    if (written) return result;
    for (const size_t origin : origins_.at(exit)) result = pool_.meet(result, sites_[origin].facts[index]);
    return result;
  }

  Id evaluate(const Inst* inst, const Block* block) {
    if (inst->op == Op::phi) {
      Id result = WaveExpressions::kUndetermined;
      for (const Inst* operand : inst->operands) result = pool_.meet(result, value_of(operand));
      return of_scalar(inst, result);
    }
    const bool reads = inst->op == Op::get_vgpr || (sgprs_in(inst->op) != 0 && getter(inst->op) == Op::undef);
    if (reads) {
      const auto it = std::find(variables_.begin(), variables_.end(), Variable{inst->op, inst->imm});
      for (const Site& site : sites_)
        if (site.block == block && it != variables_.end())
          return of_scalar(inst, site.facts[static_cast<size_t>(it - variables_.begin())]);
      if (inst->op == Op::get_sgpr && !sites_.front().resumed_only && sites_.front().block == block)
        return pool_.initial_sgpr(static_cast<unsigned>(inst->imm));
      return of_scalar(inst, WaveExpressions::kUnknown);
    }
    std::vector<Id> operands;
    operands.reserve(inst->operands.size());
    for (const Inst* operand : inst->operands) operands.push_back(value_of(operand));
    const Id id = pool_.of(*inst, operands);
    if (id == WaveExpressions::kUnknown && inst->type == kI32 && once_.contains(block))
      return pool_.computed_once(*inst);
    return of_scalar(inst, id);
  }
  Id of_scalar(const Inst* inst, Id id) {
    return id == WaveExpressions::kUnknown && inst->type == kI32 ? pool_.some_number(kI32, 0) : id;
  }

  void solve() {
    // Values only go from undetermined to an expression, to some number plus an expression, to unknown.
    const auto lower = [&](Id& fact, Id now) {
      now = pool_.meet(fact, now);
      const bool changed = now != fact;
      fact = now;
      return changed;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const Block* block : dominators_.order())
        for (const Inst* inst : block->insts)
          if (inst->type != kNone) changed |= lower(values_[inst->id], evaluate(inst, block));
      for (Site& site : sites_) {
        if (!site.resumed_only) continue;
        for (size_t v = 0; v < variables_.size(); ++v) {
          Id now = WaveExpressions::kUndetermined;
          for (const Block* exit : site.exits) now = pool_.meet(now, at_exit(exit, v));
          changed |= lower(site.facts[v], now);
        }
      }
    }
  }

  // The register that holds the scalar times `factor` at a site, or none.
  [[nodiscard]] const Variable* holder(const Site& site, Id scalar, uint32_t factor) const {
    for (size_t v = 0; v < variables_.size(); ++v)
      if (variables_[v].get == Op::get_sgpr && pool_.is_multiple(site.facts[v], scalar, factor)) return &variables_[v];
    return nullptr;
  }

  bool replace() {
    bool changed = false;
    for (Site& site : sites_) {
      if (!site.resumed_only) continue;
      std::vector<Inst*> made;
      const Inst* replaced = nullptr;
      const auto make = [&](Op op, Type type, const std::vector<Inst*>& operands, uint64_t imm, uint32_t attr) {
        return make_in(site.block, made, *replaced, op, type, operands, imm, attr);
      };
      const auto held = [&](Id scalar, uint32_t factor) { return holder(site, scalar, factor) != nullptr; };
      const auto read_held = [&](Id scalar, uint32_t factor) {
        const Variable* found = holder(site, scalar, factor);
        return make(found->get, kI32, {}, found->index, 0u);
      };
      for (Inst* read : site.reads) {
        const Id id = value_of(read);
        if (id == WaveExpressions::kUnknown || id == WaveExpressions::kUndetermined) continue;
        if (pool_.cost(id) > most_cost(read) || read->users.empty()) continue;
        replaced = read;
        const auto constant = [&](Type type, uint64_t value) { return make(Op::const_, type, {}, value, 0u); };
        // Not known, or a scalar that no register holds any more: lane 0 says which number.
        const bool from_lane_0 = pool_.has_some_number(id) || (read->op == Op::get_vgpr && !pool_.computable(id, held));
        if (read->op == Op::get_vgpr && from_lane_0 && any_exec_) continue;
        if (const auto low = pool_.below_some_number(id);
            low && read->op == Op::get_vgpr && low->second >= kWorthwhileZeros && pool_.computable(low->first, held)) {
          Inst* number =
              make(Op::readlane, kI32, {make(read->op, read->type, {}, read->imm, 0u), constant(kI32, 0)}, 0u, 0u);
          number = make(Op::and_, kI32, {number, constant(kI32, UINT32_MAX << low->second & UINT32_MAX)}, 0u, 0u);
          Inst* value = make(Op::splat, kV32, {number}, 0u, 0u);
          if (!pool_.is_zero(low->first))
            value = make(Op::add, kV32, {pool_.materialise(low->first, held, read_held, make), value}, 0u, 0u);
          function_.replace_all_uses(read, value);
          function_.count(Rule::number_and_value);
          changed = true;
          continue;
        }
        if (const std::optional<Id> rest = from_lane_0 ? pool_.beside_uniform_part(id) : std::nullopt) {
          const std::optional<uint32_t> first = pool_.in_lane_0(*rest);
          const unsigned zeros = pool_.uniform_zeros(id);
          if (read->type == kI32 ? zeros < kWorthwhileZeros : read->op != Op::get_vgpr || !first) continue;
          if (!pool_.computable(*rest, held)) continue;
          const bool all_uses = pool_.has_some_number(id);
          if (!all_uses && std::all_of(read->users.begin(), read->users.end(), carries_on)) continue;
          Inst* number = make(read->op, read->type, {}, read->imm, 0u);
          if (read->type == kV32) number = make(Op::readlane, kI32, {number, constant(kI32, 0)}, 0u, 0u);
          if (read->type == kV32 && *first != 0) number = make(Op::sub, kI32, {number, constant(kI32, *first)}, 0u, 0u);
          if (zeros >= kWorthwhileZeros)
            number = make(Op::and_, kI32, {number, constant(kI32, UINT32_MAX << zeros & UINT32_MAX)}, 0u, 0u);
          Inst* value = read->type == kI32 ? number : make(Op::splat, kV32, {number}, 0u, 0u);
          if (!pool_.is_constant(*rest))
            value = make(Op::add, kV32, {pool_.materialise(*rest, held, read_held, make), value}, 0u, 0u);
          if (all_uses)
            function_.replace_all_uses(read, value);
          else
            replace_but_carried(read, value);
          function_.count(Rule::number_and_value);
          changed = true;
          continue;
        }
        if (!pool_.computable(id, held)) continue;
        // A register that is only known to be itself, or the same as another one.
        if (read->op == Op::get_sgpr && pool_.is_found(id)) continue;
        function_.replace_all_uses(read, pool_.materialise(id, held, read_held, make));
        function_.count(Rule::value_recomputed);
        changed = true;
      }
      site.block->insts.insert(site.block->insts.begin(), made.begin(), made.end());
    }
    return merge_phis() || changed;
  }

  // Whether a user hands the register on, which may then stay as it is: a value that is made again would have to be written at
  // the next exit.
  static bool carries_on(const Inst* user) { return user->op == Op::phi || user->op == Op::set_vgpr; }
  void replace_but_carried(Inst* read, Inst* value) {
    for (Inst* user : std::vector<Inst*>(read->users)) {
      if (carries_on(user)) continue;
      for (unsigned i = 0; i < user->operands.size(); ++i)
        if (user->operands[i] == read) function_.set_operand(user, i, value);
    }
  }

  // Where paths from the start and from barriers join, each has its own instructions for the same value.
  bool merge_phis() {
    const auto nothing_held = [](Id, uint32_t) { return false; };
    bool changed = false;
    for (Block* block : dominators_.order()) {
      std::vector<Inst*> made;
      size_t phis = 0;
      for (; phis < block->insts.size() && block->insts[phis]->op == Op::phi; ++phis) {
        Inst* phi = block->insts[phis];
        const Id id = value_of(phi);
        if (id == WaveExpressions::kUnknown || id == WaveExpressions::kUndetermined || phi->users.empty()) continue;
        if (pool_.cost(id) > most_cost(phi) || !pool_.computable(id, nothing_held)) continue;
        const auto make = [&](Op op, Type type, const std::vector<Inst*>& operands, uint64_t imm, uint32_t attr) {
          return make_in(block, made, *phi, op, type, operands, imm, attr);
        };
        const auto none = [](Id, uint32_t) { return static_cast<Inst*>(nullptr); };
        function_.replace_all_uses(phi, pool_.materialise(id, nothing_held, none, make));
        function_.count(Rule::phi_recomputed);
        changed = true;
      }
      block->insts.insert(block->insts.begin() + static_cast<std::ptrdiff_t>(phis), made.begin(), made.end());
    }
    return changed;
  }

  Inst* make_in(Block* block, std::vector<Inst*>& made, const Inst& replaced, Op op, Type type,
                const std::vector<Inst*>& operands, uint64_t imm, uint32_t attr) {
    for (Inst* same : made)
      if (same->op == op && same->type == type && same->operands == operands && same->imm == imm && same->attr == attr)
        return same;
    Inst* inst = function_.create(op, type, operands);
    inst->imm = imm;
    inst->attr = attr;
    inst->guest_pc = replaced.guest_pc;
    inst->parent = block;
    made.push_back(inst);
    return inst;
  }

  Function& function_;
  Dominators dominators_;
  WaveExpressions pool_;
  std::vector<Id> values_;  // by instruction id
  std::vector<Variable> variables_;
  std::unordered_set<const Block*> once_;
  std::vector<Site> sites_;  // as Function::entries
  // Waves may enter with any EXEC, after exits of the variant for full EXEC, too. Only active lanes hold what this variant's
  // exits write then: `demanded-lanes` has changed what they write to others.
  bool any_exec_ = false;
  std::unordered_map<const Block*, std::vector<size_t>> origins_;  // per exit: entries
};

}  // namespace

PassResult resumed_values(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const bool changed = ResumedValues(function).run();
  if (changed) function.sweep();
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
