// Demanded lanes: for every per-lane value, which lanes anyone ever looks at. A merge under EXEC whose other lanes
// nobody looks at is just the new value, and a compare that was cut down to EXEC is just the compare.
//
// A demand is a union of terms "lanes in the masks `include` and `also`, but not in the masks `minus`". Masks are SSA
// values; a term speaks of their latest instance at the place that looks (see MaskFacts). Crossing a phi backwards
// changes which instance is meant, so terms are rewritten there: a phi of the same block becomes its operand, values
// from above the block stay, anything else is replaced by something larger.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "internal/stop_scope.h"
#include "ir/analysis/mask_facts.h"
#include "ir/analysis/resumptions.h"
#include "ir/analysis/skipped_way.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace wavejit::ir::passes {
namespace {

constexpr size_t kMaxTerms = 12;
constexpr size_t kMaxMinus = 3;
constexpr int kMaxDemandRounds = 60;

struct Term {
  Inst* include = nullptr;  // null: all lanes
  Inst* also = nullptr;     // null: nothing beside `include`; neither of the two is known to contain the other
  std::array<Inst*, kMaxMinus> minus{};

  bool operator==(const Term&) const = default;
  [[nodiscard]] bool everything() const { return include == nullptr && minus[0] == nullptr; }
};

// How much is left out of terms, as there have been too many.
enum class Width : uint8_t {
  exact,
  one_mask,  // no `also`
  regions,   // `include` stands for a region, not for a single condition
};

struct Demand {
  std::vector<Term> terms;  // kMaxTerms at most
  bool all = false;
  Width width = Width::exact;
  size_t handed_on = 0;  // that many terms have been given to the operands
};

enum class Decision : uint8_t { keep, operand0, operand1, operand2, not_operand0, not_operand1, none };

bool lane_wise(Op op) {
  return op_info(op).lane_wise;
}

bool per_lane(const Inst* inst) {
  return (inst->type.is_vector() || inst->type.is_mask()) && !inst->type.is_tuple();
}

class Analysis {
 public:
  Analysis(Function& function, const Dominators& dominators)
      : dominators_(dominators),
        facts_(dominators),
        resumptions_(function),
        demands_(function.num_values()),
        pending_(function.num_values(), 1),
        has_moved_(std::any_of(function.entries.begin(), function.entries.end(),
                               [](const Entry& entry) { return entry.moved && entry.resumed_only; })) {}

  // False when it did not settle; nothing may be concluded then.
  bool run() {
    for (int round = 0; round < kMaxDemandRounds; ++round) {
      changed_ = false;
      update_sites();
      const auto& order = dominators_.order();
      for (auto block = order.rbegin(); block != order.rend(); ++block) {
        for (auto inst = (*block)->insts.rbegin(); inst != (*block)->insts.rend(); ++inst) {
          // What a save is looked at for depends on other values than itself.
          if (!std::exchange(pending_[(*inst)->id], 0) && (*inst)->op != Op::set_vgpr) continue;
          StopScope::check();
          Demand& demand = demands_[(*inst)->id];
          first_term_ = std::exchange(demand.handed_on, demand.terms.size());
          uses(*inst, [&](unsigned index, const Term& term) { add((*inst)->operands[index], term); });
          first_term_ = 0;
        }
      }
      if (!changed_) return true;
    }
    return false;
  }

  // What the instruction amounts to for all who look at it.
  Decision decide(const Inst* inst) { return decide(inst, demands_[inst->id]); }

  // Whether the instruction looks at any lane of any operand.
  bool looks_at_something(Inst* inst) {
    bool some = false;
    uses(inst, [&](unsigned, const Term&) { some = true; });
    return some;
  }

  // Whether the phi, which somebody looks at, looks at no lane of what comes by the edge.
  bool looks_away(Inst* phi, unsigned edge) {
    bool some = false, other = false;
    uses(phi, [&](unsigned index, const Term&) { (index == edge ? some : other) = true; });
    return other && !some;
  }

  // What operands amount to for this user alone; calls action(index, decision).
  template <typename Action>
  void decide_operands(Inst* inst, Action&& action) {
    const auto open = [](const Inst* value) {
      return value->users.size() > 1 && !value->operands.empty() && per_lane(value) &&
             (value->op == Op::select || value->op == Op::and_ || value->op == Op::andn || value->op == Op::or_);
    };
    if (std::none_of(inst->operands.begin(), inst->operands.end(), open)) return;
    std::vector<Demand> demands(inst->operands.size());
    uses(inst, [&](unsigned index, const Term& term) {
      if (open(inst->operands[index])) (void)insert(demands[index], term);
    });
    for (unsigned i = 0; i < inst->operands.size(); ++i) {
      if (open(inst->operands[i])) action(i, decide(inst->operands[i], demands[i]));
    }
  }

 private:
  Decision decide(const Inst* inst, const Demand& demand) {
    if (demand.all || demand.terms.empty()) return Decision::keep;
    const auto inside = [&](Inst* mask) {
      return every(demand, [&](const Term& term) { return term_inside(term, mask); });
    };
    const auto outside = [&](Inst* mask) {
      return every(demand, [&](const Term& term) { return term_outside(term, mask); });
    };
    Inst* a = inst->operands.empty() ? nullptr : inst->operands[0];
    Inst* b = inst->operands.size() < 2 ? nullptr : inst->operands[1];
    if (inst->op == Op::select && a->type == kMask) {
      if (inside(a)) return Decision::operand1;
      return outside(a) ? Decision::operand2 : Decision::keep;
    }
    if (inst->type != kMask) return Decision::keep;
    switch (inst->op) {
      case Op::and_:
        if (inside(a)) return Decision::operand1;
        if (inside(b)) return Decision::operand0;
        return outside(a) || outside(b) ? Decision::none : Decision::keep;
      case Op::or_: {
        // The operand that is not looked at where the other one is set (added_uses) cannot stand for both.
        const unsigned cut = cut_of(inst);
        if (outside(a) || (inside(b) && cut != 1)) return Decision::operand1;
        return outside(b) || (inside(a) && cut != 0) ? Decision::operand0 : Decision::keep;
      }
      case Op::andn:
        if (outside(b)) return Decision::operand0;
        if (inside(b) || outside(a)) return Decision::none;
        return inside(a) ? Decision::not_operand1 : Decision::keep;
      case Op::xor_:
        if (outside(a)) return Decision::operand1;
        if (outside(b)) return Decision::operand0;
        if (inside(a)) return Decision::not_operand1;
        return inside(b) ? Decision::not_operand0 : Decision::keep;
      default:
        return Decision::keep;
    }
  }

  template <typename Predicate>
  static bool every(const Demand& demand, Predicate&& predicate) {
    return std::ranges::all_of(demand.terms, predicate);
  }

  bool term_inside(const Term& term, const Inst* mask) {
    std::array<const Inst*, 1 + kMaxMinus> masks{mask};
    size_t count = 1;
    for (const Inst* minus : term.minus) {
      if (minus != nullptr) masks[count++] = minus;
    }
    std::array<const Inst*, 2> parts{};
    size_t part_count = 0;
    for (const Inst* part : {term.include, term.also}) {
      if (part != nullptr) parts[part_count++] = part;
    }
    if (part_count == 0 && count == 1) return mask->is_const(~uint64_t{0});
    return facts_.covered(std::span(parts).first(part_count), std::span(masks).first(count));
  }
  bool term_outside(const Term& term, Inst* mask) {
    for (Inst* minus : term.minus) {
      if (minus != nullptr && facts_.implies(mask, minus)) return true;
    }
    return any_part(term, [&](const Inst* part) { return facts_.disjoint(part, mask); });
  }

  void add(Inst* value, const Term& term) {
    if (!per_lane(value) || value->is_const() || !insert(demands_[value->id], term)) return;
    pending_[value->id] = 1;
    changed_ = true;
  }
  // Returns whether the demand has grown.
  bool insert(Demand& demand, const Term& term) {
    if (demand.all) return false;
    if (std::ranges::find(demand.terms, term) != demand.terms.end()) return false;  // as most are
    // No lane at all: what is taken from elsewhere wherever it is looked at.
    for (Inst* minus : term.minus) {
      if (minus != nullptr && any_part(term, [&](const Inst* part) { return facts_.implies(part, minus); }))
        return false;
    }
    if (term.also != nullptr && facts_.disjoint(term.include, term.also)) return false;
    const auto contained = [&](const Term& t) {
      return std::ranges::any_of(demand.terms, [&](const Term& large) { return contains(large, t); });
    };
    if (contained(term)) return false;
    if (term.everything()) {
      demand.all = true;
      return true;
    }
    // Terms are only ever added: dropping one that the new term contains could make the process go in circles.
    const Term added = widened(term, demand.width);
    if (demand.terms.size() < kMaxTerms && !added.everything()) {
      if (added != term && contained(added)) return false;
      constexpr size_t kUsual = 4;
      if (demand.terms.empty()) demand.terms.reserve(kUsual);
      demand.terms.push_back(added);
      return true;
    }
    if (demand.width == Width::regions) {
      demand.all = true;
      return true;
    }
    // Too many: from now on terms are larger. In the end EXEC cut down by this and that condition is taken for all of EXEC.
    const Demand old = std::exchange(demand, {});
    const bool two_masks = std::ranges::any_of(old.terms, [](const Term& t) { return t.also != nullptr; });
    demand.width = old.width == Width::exact && (two_masks || term.also != nullptr) ? Width::one_mask : Width::regions;
    for (const Term& other : old.terms) (void)insert(demand, other);
    (void)insert(demand, term);
    return true;
  }
  static Term widened(Term term, Width width) {
    if (width != Width::exact) term.also = nullptr;
    return width == Width::regions ? Term{.include = guard_of(term.include)} : term;
  }
  // A mask that contains the given one and stands for a region rather than for a single compare.
  static Inst* guard_of(Inst* mask) {
    while (mask != nullptr && (mask->op == Op::and_ || mask->op == Op::andn)) {
      mask = mask->operands[mask->op == Op::and_ && computed(mask->operands[0]) ? 1 : 0];
    }
    return mask;
  }
  // Made by an operation on lanes, such as a compare.
  static bool computed(const Inst* value) {
    return lane_wise(value->op) && !value->is_const() && value->op != Op::and_ && value->op != Op::andn &&
           value->op != Op::or_ && value->op != Op::xor_ && value->op != Op::not_ && value->op != Op::i64_to_mask;
  }
  bool contains(const Term& large, const Term& small) {
    if (large == small) return true;
    for (Inst* minus : large.minus) {
      if (minus != nullptr && std::find(small.minus.begin(), small.minus.end(), minus) == small.minus.end())
        return false;
    }
    const auto holds = [&](const Inst* mask) {
      return mask == nullptr || any_part(small, [&](const Inst* part) { return facts_.implies(part, mask); });
    };
    return holds(large.include) && holds(large.also);
  }
  template <typename Predicate>
  static bool any_part(const Term& term, Predicate&& predicate) {
    return (term.include != nullptr && predicate(term.include)) || (term.also != nullptr && predicate(term.also));
  }

  // A superset of the lanes of the term that are in the mask.
  Term restricted(Term term, Inst* mask) {
    if (mask->is_const(~uint64_t{0})) return term;
    if (any_part(term, [&](const Inst* part) { return part == mask || facts_.implies(part, mask); })) return term;
    if (term.also != nullptr && facts_.implies(mask, term.also)) term.also = nullptr;
    if (term.include != nullptr && facts_.implies(mask, term.include)) term.include = std::exchange(term.also, nullptr);
    // Of three masks, regions are worth more than single conditions.
    if (term.include == nullptr) {
      term.include = mask;
    } else if (term.also == nullptr || !computed(mask)) {
      term.also = mask;
    }
    return term;
  }
  // A superset of the lanes of the term that are not in the mask.
  static Term without(Term term, Inst* mask) {
    for (Inst*& minus : term.minus) {
      if (minus == mask) return term;
      if (minus == nullptr) {
        minus = mask;
        return term;
      }
    }
    return term;
  }

  // From first_term_ on. `action` may add to the same demand.
  template <typename Action>
  void for_each_term(const Inst* inst, Action&& action) {
    const Demand& demand = demands_[inst->id];
    if (demand.all) {
      action(Term{});
      return;
    }
    std::array<Term, kMaxTerms> terms;
    const auto end =
        std::copy(demand.terms.begin() + static_cast<ptrdiff_t>(first_term_), demand.terms.end(), terms.begin());
    std::for_each(terms.begin(), end, action);
  }

  // Calls use(operand index, term) for what the instruction looks at in its operands.
  template <typename Use>
  void uses(Inst* inst, Use&& use) {
    switch (inst->op) {
      case Op::load:
      case Op::load_edges:
      case Op::store:
      case Op::store_edges:
      case Op::atomic:
        use(0, Term{});
        for (unsigned i = 1; i < inst->operands.size(); ++i) use(i, restricted({}, inst->operands[0]));
        return;
      case Op::call:
        for (unsigned i = 0; i < inst->operands.size(); ++i)
          use(i, inst->operands[i]->type == kV32 ? restricted({}, inst->operands[0]) : Term{});
        return;
      case Op::phi:
        return phi_uses(inst, use);
      case Op::set_vgpr:
        if (const auto site = resumptions_.resumed_by(inst->parent)) return saved_uses(inst, *site, use);
        break;
      case Op::bpermute:
        use(2, Term{});
        for_each_term(inst, [&](const Term& term) { use(0, term); });
        use(1, restricted({}, inst->operands[2]));
        return;
      case Op::permute:
        use(2, Term{});
        for (unsigned i = 0; i < 2; ++i) use(i, restricted({}, inst->operands[2]));
        return;
      case Op::dpp:
      case Op::swizzle:
        use(1, Term{});
        use(0, restricted({}, inst->operands[1]));
        return;
      case Op::select:
        if (per_lane(inst) && inst->operands[0]->type == kMask) {
          for_each_term(inst, [&](const Term& term) {
            use(0, term);
            use(1, restricted(term, inst->operands[0]));
            use(2, without(term, inst->operands[0]));
          });
          return;
        }
        break;
      case Op::and_:
      case Op::andn:
        if (inst->type == kMask) return guarded_uses(inst, use);
        break;
      case Op::or_:
        if (inst->type == kMask) return added_uses(inst, use);
        break;
      default:
        break;
    }
    if (lane_wise(inst->op) && per_lane(inst)) {
      for_each_term(inst, [&](const Term& term) {
        for (unsigned i = 0; i < inst->operands.size(); ++i) use(i, term);
      });
      return;
    }
    // Reads of single lanes included: readfirstlane takes lane 0 when its mask is empty.
    for (unsigned i = 0; i < inst->operands.size(); ++i) use(i, Term{});
  }

  // One side of an `and` only matters where the other is set. Compares gain most from that; what guards them is
  // demanded whole.
  template <typename Use>
  void guarded_uses(Inst* inst, Use&& use) {
    unsigned guarded = 1;
    if (inst->op == Op::and_ && !computed(inst->operands[1]) && computed(inst->operands[0])) guarded = 0;
    Inst* guard = inst->operands[1 - guarded];
    for_each_term(inst, [&](const Term& term) {
      use(1 - guarded, term);
      use(guarded, restricted(term, guard));
    });
  }

  // One side of an `or` only matters where the other is not set: of a phi, which often has old lanes, and what is added to it,
  // the phi.
  template <typename Use>
  void added_uses(Inst* inst, Use&& use) {
    const unsigned cut = cut_of(inst);
    for_each_term(inst, [&](const Term& term) {
      for (unsigned i = 0; i < 2; ++i) use(i, i == cut ? without(term, inst->operands[1 - i]) : term);
    });
  }
  // The number of the operand that is only looked at where the other one is not set; 2: there is none. Of two phis it is the
  // one with fewer users: conditions that a loop collects in a mask have one, EXEC of the loop, which stands for both, has many.
  static unsigned cut_of(const Inst* inst) {
    const Inst* a = inst->operands[0];
    const Inst* b = inst->operands[1];
    if (a->op == Op::phi && b->op == Op::phi) return b->users.size() < a->users.size() ? 1 : 0;
    if (a->op == Op::phi) return 0;
    return b->op == Op::phi ? 1 : 2;
  }

  // A register saved in front of a barrier: what code behind the barrier looks at.
  template <typename Use>
  void saved_uses(Inst* save, size_t site, Use&& use) {
    // Waves come to a moved entry with what the interpreter has left, which passes up to moved-entry take to be what exits write:
    // this one, or those in front of barriers on the way to it. In lanes that are on that has to be so.
    if (has_moved_) use(0, Term{.include = saved_exec(save->parent)});
    const SiteDemand& demands = site_demands_[site];
    if (demands.whole[save->imm]) return use(0, Term{});
    const auto found = demands.others.find(save->imm);
    if (found == demands.others.end()) return;
    const Demand demand = found->second;
    for (const Term& term : demand.terms) use(0, at_exit(term, save->parent));
  }
  // What is looked at in the rows of the state when the entries are entered, in terms of masks read there.
  void update_sites() {
    const std::vector<Resumptions::Site>& sites = resumptions_.sites();
    if (site_demands_.empty() && !sites.empty()) {
      site_demands_.resize(sites.size());
      for (size_t i = 0; i < sites.size(); ++i) add_whole_rows(i, sites[i].read_outside);
    }
    for (size_t i = 0; i < sites.size(); ++i) {
      const Resumptions::Site& site = sites[i];
      for (Inst* read : site.reads) {
        for_each_term(read, [&](const Term& term) { add_to_site(i, read->imm, term); });
      }
      for (const Resumptions::HandedOn& on : site.handed_on) {
        add_whole_rows(i, site_demands_[on.resumes_at].whole & on.rows);
        for (const auto& [row, later] : std::unordered_map<uint64_t, Demand>(site_demands_[on.resumes_at].others)) {
          if (!on.rows[row]) continue;
          for (const Term& term : later.terms) add_to_site(i, row, at_exit(term, on.exit));
        }
      }
    }
  }
  void add_whole_rows(size_t index, const Resumptions::Rows& rows) {
    SiteDemand& demands = site_demands_[index];
    if ((rows & ~demands.whole).none()) return;
    demands.whole |= rows;
    std::erase_if(demands.others, [&](const auto& other) { return demands.whole[other.first]; });
    changed_ = true;
  }
  void add_to_site(size_t index, uint64_t row, const Term& term) {
    SiteDemand& demands = site_demands_[index];
    if (demands.whole[row]) return;
    const Block* block = resumptions_.sites()[index].block;
    const auto known = [&](Inst* mask) {
      return mask->is_const() || (mask->op == Op::get_mask && mask->parent == block);
    };
    Term translated;
    size_t kept = 0;
    for (Inst* minus : term.minus) {
      if (minus != nullptr && known(minus)) translated.minus[kept++] = minus;
    }
    Demand& demand = demands.others[row];
    std::vector<Inst*> larger;
    if (!bounds_of(term, block, known, larger)) {
      changed_ |= insert(demand, translated);
    } else {
      for (Inst* mask : larger) {
        translated.include = mask;
        changed_ |= insert(demand, translated);
      }
    }
    if (demand.all) {
      demands.whole.set(row);
      demands.others.erase(row);
    }
  }
  // A term about constants and masks read at an entry in terms of what the exit leaves in the state for them.
  Term at_exit(const Term& term, const Block* exit) {
    Term translated;
    size_t kept = 0;
    for (Inst* minus : term.minus) {
      Inst* same = minus == nullptr ? nullptr : saved_mask(exit, minus);
      if (same != nullptr) translated.minus[kept++] = same;
    }
    if (term.include != nullptr) translated.include = saved_mask(exit, term.include);
    if (term.also != nullptr)
      (translated.include != nullptr ? translated.also : translated.include) = saved_mask(exit, term.also);
    return translated;
  }
  // EXEC at an exit that writes it; null, which stands for all lanes, at any other.
  static Inst* saved_exec(const Block* exit) {
    for (const Inst* inst : exit->insts)
      if (inst->op == Op::set_mask && inst->imm == sreg::kExecLo)
        return inst->operands[0]->is_const(~uint64_t{0}) ? nullptr : inst->operands[0];
    return nullptr;
  }
  // What is in the wave state, when the block is left, for the mask that `read` reads back; null when that is not
  // known.
  Inst* saved_mask(const Block* block, Inst* read) {
    if (read->is_const()) return read;
    Inst* value = nullptr;
    for (const Inst* inst : block->insts) {
      if (inst->op == Op::set_mask && inst->imm == read->imm) {
        value = inst->operands[0];
        continue;
      }
      const uint64_t last = inst->imm + (inst->op == Op::set_sgpr ? 0 : 1);
      const bool writes = inst->op == Op::set_sgpr || inst->op == Op::set_sgpr64 || inst->op == Op::set_mask;
      if (writes && last >= read->imm && inst->imm <= read->imm + 1) return nullptr;
    }
    return value != nullptr ? value : unchanged_mask(block, read->imm);
  }
  // Not written on the way out, so still what the entry read: registers are written only where the unit is left.
  Inst* unchanged_mask(const Block* block, uint64_t index) {
    const auto [known, fresh] = entry_masks_.try_emplace(index);
    std::unordered_set<const Inst*>& values = known->second;
    if (fresh) find_entry_masks(index, values);
    for (const Block* above = block; above != nullptr; above = dominators_.immediate(above)) {
      for (Inst* inst : above->insts) {
        if (values.contains(inst)) return inst;
      }
    }
    return nullptr;
  }
  // Reads of the register in entry blocks, and phis of nothing else.
  void find_entry_masks(uint64_t index, std::unordered_set<const Inst*>& values) const {
    std::vector<const Inst*> phis;
    for (const Block* block : dominators_.order()) {
      for (const Inst* inst : block->insts) {
        if (inst->op == Op::phi && inst->type == kMask) phis.push_back(inst);
        if (inst->op == Op::phi ? inst->type == kMask : inst->op == Op::get_mask && inst->imm == index)
          values.insert(inst);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const Inst* phi : phis) {
        if (!values.contains(phi)) continue;
        if (std::all_of(phi->operands.begin(), phi->operands.end(), [&](const Inst* x) { return values.contains(x); }))
          continue;
        values.erase(phi);
        changed = true;
      }
    }
  }

  template <typename Use>
  void phi_uses(Inst* phi, Use&& use) {
    for_each_term(phi, [&](const Term& term) {
      std::vector<Inst*> larger;  // in terms of values that mean the same at the end of the predecessors
      const auto known = [&](Inst* mask) {
        return (mask->op == Op::phi && mask->parent == phi->parent) || facts_.precedes(mask, phi->parent);
      };
      const bool bounded = bounds_of(term, phi->parent, known, larger);
      Inst* const also = term.also != nullptr && known(term.also) ? term.also : nullptr;
      Inst* const rest = rest_of(term, known);
      for (unsigned edge = 0; edge < phi->operands.size(); ++edge) {
        Inst* const empty = empty_at(phi->parent, edge);
        const auto used = [&](const Term& at) {
          if (empty == nullptr) return use(edge, at);
          if (term_inside(at, empty)) return;
          const bool apart = any_part(at, [&](const Inst* part) { return facts_.disjoint(part, empty); });
          use(edge, apart || phi->type != kMask ? at : without(at, empty));
        };
        const auto at_edge = [&](Inst* mask) -> Inst* {
          if (mask->op == Op::phi && mask->parent == phi->parent) return mask->operands[edge];
          return facts_.precedes(mask, phi->parent) ? mask : nullptr;
        };
        Term translated;
        size_t kept = 0;
        for (Inst* minus : term.minus) {
          if (minus == nullptr) continue;
          if (Inst* same = at_edge(minus)) translated.minus[kept++] = same;
        }
        if (!bounded) {
          used(translated);
          continue;
        }
        for (Inst* mask : larger) {
          translated.include = at_edge(mask);
          translated.also = nullptr;
          if (translated.include->is_const(0)) continue;
          Term bounds = translated;
          if (also != nullptr && also != mask) bounds = restricted(bounds, at_edge(also));
          if (rest != nullptr) bounds = restricted(bounds, at_edge(rest));
          used(bounds);
        }
      }
    });
  }

  // If the term leaves out `x and not y`, which is not known, lanes of x: y, which is known.
  template <typename Known>
  Inst* rest_of(const Term& term, Known&& known) {
    for (Inst* minus : term.minus) {
      if (minus == nullptr || known(minus) || minus->op != Op::andn || !known(minus->operands[1])) continue;
      if (any_part(term, [&](const Inst* part) { return facts_.implies(part, minus->operands[0]); }))
        return minus->operands[1];
    }
    return nullptr;
  }

  // The mask that has no lane when control comes by the edge: that of a branch which is not taken; null: none is known.
  static Inst* empty_at(const Block* block, unsigned edge) {
    const Block* from = block->predecessors[edge];
    const auto branch = lane_branch(*from);
    if (!branch || from->successors[0] == from->successors[1]) return nullptr;
    return from->successors[1 - branch->some] == block ? branch->mask : nullptr;
  }

  // Masks for which known(mask) holds and that together contain the term; false when there are none.
  template <typename Known>
  bool bounds_of(const Term& term, const Block* block, Known&& known, std::vector<Inst*>& bounds) {
    for (Inst* part : {term.include, term.also}) {
      std::vector<const Inst*> seen;
      bounds.clear();
      if (part != nullptr && collect_bounds(part, block, known, bounds, seen)) return true;
    }
    return false;
  }
  // Masks for which known(mask) holds and that together contain `mask`; false when there are none. The block is where
  // the values flow in whose instances are meant.
  template <typename Known>
  bool collect_bounds(Inst* mask, const Block* block, Known&& known, std::vector<Inst*>& bounds,
                      std::vector<const Inst*>& seen) {
    const auto collect = [&](Inst* other) { return collect_bounds(other, block, known, bounds, seen); };
    if (known(mask)) {
      if (std::find(bounds.begin(), bounds.end(), mask) == bounds.end()) bounds.push_back(mask);
      return bounds.size() <= kMaxTerms;
    }
    if (std::find(seen.begin(), seen.end(), mask) != seen.end()) return true;
    if (seen.size() > 24) return false;
    seen.push_back(mask);
    switch (mask->op) {
      case Op::and_: {
        const std::vector<Inst*> saved = bounds;
        const std::vector<const Inst*> saved_seen = seen;
        if (collect(mask->operands[0])) return true;
        bounds = saved;
        seen = saved_seen;
        return collect(mask->operands[1]);
      }
      case Op::andn:
        return collect(mask->operands[0]);
      case Op::or_:
      case Op::xor_:
        return collect(mask->operands[0]) && collect(mask->operands[1]);
      case Op::phi:
        // Defined below the block: all that can flow into it since the block was entered.
        if (!dominators_.dominates(block, mask->parent)) return false;
        return std::all_of(mask->operands.begin(), mask->operands.end(), collect);
      default:
        return false;
    }
  }

  const Dominators& dominators_;
  MaskFacts facts_;
  Resumptions resumptions_;
  // What code behind an entry looks at in the rows of the state.
  struct SiteDemand {
    Resumptions::Rows whole;                      // rows of which it looks at all lanes
    std::unordered_map<uint64_t, Demand> others;  // by row
  };
  std::vector<SiteDemand> site_demands_;                                       // by entry
  std::unordered_map<uint64_t, std::unordered_set<const Inst*>> entry_masks_;  // see unchanged_mask
  std::vector<Demand> demands_;                                                // by id
  std::vector<uint8_t> pending_;  // by value: its demand has grown since its operands were visited
  const bool has_moved_;          // see saved_uses
  size_t first_term_ = 0;         // of the visited instruction's demand: those before it have been handed on
  bool changed_ = false;
};

}  // namespace

PassResult demanded_lanes(Function& function, const PassContext&) {
  const bool dropped_blocks = drop_unreachable(function);
  const Dominators dominators(function);
  Analysis analysis(function, dominators);
  if (!analysis.run()) return {.changed = dropped_blocks};
  // Facts are about the function as it is, so everything is decided before anything changes.
  //
  // Masks that come by edges by which nobody looks at them: old ones, often of the iteration before.
  std::vector<std::pair<Inst*, unsigned>> stale;
  std::unordered_set<const Inst*> bounded;  // what comes by the other edges
  for (const Block* block : dominators.order()) {
    for (Inst* inst : block->insts) {
      if (inst->op != Op::phi) break;
      if (inst->type != kMask) continue;
      bool some = false;
      for (unsigned i = 0; i < inst->operands.size(); ++i) {
        const bool none = inst->operands[i]->is_const(0);
        if (!none && analysis.looks_away(inst, i)) stale.emplace_back(inst, i);
        some |= none || (!stale.empty() && stale.back() == std::pair{inst, i});
      }
      if (some) bounded.insert(inst->operands.begin(), inst->operands.end());
    }
  }
  // lane-loops wants to see that they have no lane that skips the way by which they come (SkippedWay).
  const auto stays = [&](const Inst* inst) {
    return inst->type == kMask && (inst->op == Op::and_ || inst->op == Op::andn) && bounded.contains(inst);
  };
  std::vector<Decision> decisions(function.num_values(), Decision::keep);
  for (const Block* block : dominators.order()) {
    for (const Inst* inst : block->insts) {
      const Decision decision = analysis.decide(inst);
      if (decision == Decision::none || !stays(inst)) decisions[inst->id] = decision;
    }
  }
  std::vector<Inst*> dead_saves;
  for (const auto& block : function.blocks) {
    for (Inst* inst : block->insts) {
      if (inst->op == Op::set_vgpr && !analysis.looks_at_something(inst)) dead_saves.push_back(inst);
    }
  }
  struct OperandDecision {
    Inst* user;
    unsigned index;
    Inst* value;
  };
  std::vector<OperandDecision> operands;
  for (const Block* block : dominators.order()) {
    for (Inst* inst : block->insts) {
      if (stays(inst)) continue;
      analysis.decide_operands(inst, [&](unsigned index, Decision decision) {
        if (decision > Decision::operand2 || decision == Decision::keep) return;
        const auto choice = static_cast<unsigned>(decision) - static_cast<unsigned>(Decision::operand0);
        operands.push_back({inst, index, inst->operands[index]->operands[choice]});
      });
    }
  }
  for (Inst* save : dead_saves) {
    std::erase(save->parent->insts, save);
    function.unlink(save);
    function.count(Rule::save_dropped);
  }
  for (const OperandDecision& decision : operands) {
    if (decision.user->parent == nullptr) continue;
    function.set_operand(decision.user, decision.index, decision.value);
    function.count(Rule::operand_dropped);
  }
  for (const auto& [phi, edge] : stale) {
    Inst* none = function.create(Op::const_, kMask);
    Block* from = phi->parent->predecessors[edge];
    function.insert_before(from->terminator(), none);
    function.set_operand(phi, edge, none);
    function.count(Rule::stale_mask);
  }

  Rewriter rewriter(function);
  const bool replaced = rewriter.run([&](Inst* inst) -> Replacement {
    if (inst->id >= decisions.size()) return nullptr;
    const Rule dropped = inst->op == Op::select ? Rule::merge_dropped : Rule::mask_dropped;
    switch (decisions[inst->id]) {
      case Decision::keep:
        return nullptr;
      case Decision::operand0:
        return {dropped, inst->operands[0]};
      case Decision::operand1:
        return {dropped, inst->operands[1]};
      case Decision::operand2:
        return {dropped, inst->operands[2]};
      case Decision::not_operand0:
        return {Rule::mask_complement, rewriter.make(Op::not_, {inst->operands[0]})};
      case Decision::not_operand1:
        return {Rule::mask_complement, rewriter.make(Op::not_, {inst->operands[1]})};
      case Decision::none:
        return {Rule::mask_empty, rewriter.constant(kMask, 0)};
    }
    return nullptr;
  });
  const bool changed = replaced || !operands.empty() || !dead_saves.empty() || !stale.empty();
  if (changed) function.sweep();
  return {.changed = changed || dropped_blocks};
}

}  // namespace wavejit::ir::passes
