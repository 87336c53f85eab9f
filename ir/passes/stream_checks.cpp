// Checks of the copies that keep stores back (kept_stores.h), in inner loops whose number of iterations is known in front of them.
//
// Control may leave such a copy for the loop that is executed in lockstep from anywhere: nothing has happened that another lane could
// have seen. So a check of every iteration may be made for all of them in front of the loop.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "internal/wave_state.h"
#include "ir/passes/counted_loop.h"
#include "ir/passes/loop_front.h"
#include "ir/passes/passes.h"
#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

// A check in every iteration: control leaves the copy if `left` is in the relation to `right`.
struct Check {
  enum class Kind : uint8_t {
    always,   // the same answer in all iterations
    rising,   // `left` grows, and must not become larger than `right`
    counter,  // `left` changes by one, and must not become equal to `right`
  };
  Kind kind{};
  Block* block = nullptr;
  unsigned edge = 0;  // that leaves the copy
  Inst *left = nullptr, *right = nullptr;
  ICmp leaving{};
};

// A load from memory, or from what the lane has kept back itself (KeptStores::load).
struct Load {
  Block* block = nullptr;  // which branches to `near` if the place may be in the space of some lane's array
  Block *near = nullptr, *plain = nullptr;
  std::vector<Block*> rare;  // `near`, and what follows it
  std::vector<Inst*> elements;
  Inst *address = nullptr, *from_space = nullptr, *space = nullptr;
  Inst *place = nullptr, *written = nullptr, *begin = nullptr, *buffer = nullptr;
  uint64_t bytes = 0;
  uint64_t step = 0, written_step = 0;
};

Inst* condition_of(const Block& block, Op op) {
  Inst* branch = block.terminator();
  if (branch->op != Op::cond_br || branch->operands[0]->op != op) return nullptr;
  return branch->operands[0];
}

bool is(const Inst* condition, ICmp predicate) {
  return condition != nullptr && static_cast<ICmp>(condition->attr) == predicate;
}

// The size of the space of all arrays, with what an access needs in front of it.
bool is_space(const Inst* size) {
  if (size->op == Op::add && size->operands[1]->is_const()) size = size->operands[0];
  return size->op == Op::get_field && size->imm == offsetof(WaveState, stream_space_bytes);
}

class LoopChecks : private LoopFront {
 public:
  LoopChecks(Function& function, const Dominators& dominators, const CountedLoop& loop, Block* lockstep)
      : LoopFront(function, loop), dominators_(dominators), lockstep_(lockstep) {}

  // Returns false, and changes nothing, if no check bounds the number of iterations. Where nothing is stored only that check goes: the
  // check of a load is three instructions in an iteration, and a dozen in front of the loop, too many for the rows of sparse matrices.
  bool run() {
    find();
    const auto has = [&](Check::Kind kind) { return std::ranges::find(checks_, kind, &Check::kind) != checks_.end(); };
    if (!has(Check::Kind::counter)) return false;
    if (!has(Check::Kind::rising)) return drop_counters();
    begin();
    last_ = last_iteration();
    // The counters first: they say that products with the number of iterations do not wrap around.
    std::stable_partition(checks_.begin(), checks_.end(),
                          [](const Check& check) { return check.kind == Check::Kind::counter; });
    for (const Check& check : checks_) make_here(check);
    for (const Load& load : loads_) decide(load);
    end();
    return true;
  }

 private:
  // ---------------------------------------------------------------- what is in the loop

  void find() {
    for (Block* block : dominators_.order()) {
      if (!loop_.loop().body.contains(block) || !dominators_.dominates(block, loop_.latch())) continue;
      if (condition_of(*block, Op::icmp) == nullptr) continue;
      if (block == loop_.latch()) continue;
      if (block->successors[0] == lockstep_ || block->successors[1] == lockstep_) {
        find_check(block);
      } else {
        find_load(block);
      }
    }
  }

  // By a constant that does not go down, as a number that products of iterations have room with.
  std::optional<uint64_t> step_up(const Inst* value) const {
    const std::optional<int64_t> step = loop_.step_of(value);
    if (!step || value->type != kI64 || *step < 0 || *step > kMaxStep) return std::nullopt;
    return static_cast<uint64_t>(*step);
  }

  void find_check(Block* block) {
    const Inst* condition = condition_of(*block, Op::icmp);
    const unsigned edge = block->successors[0] == lockstep_ ? 0 : 1;
    Check check{.block = block, .edge = edge, .left = condition->operands[0], .right = condition->operands[1]};
    check.leaving = static_cast<ICmp>(condition->attr);
    if (edge == 1) check.leaving = inverse(check.leaving);
    if (loop_.step_of(check.left) == 0) {
      std::swap(check.left, check.right);
      check.leaving = swapped(check.leaving);
    }
    const auto left = loop_.step_of(check.left), right = loop_.step_of(check.right);
    if (!left || !right) return;
    const bool equality = check.leaving == ICmp::eq || check.leaving == ICmp::ne;
    if (left == right && (equality || *left == 0)) {
      check.kind = Check::Kind::always;
    } else if (check.leaving == ICmp::ugt && *right == 0 && step_up(check.left)) {
      check.kind = Check::Kind::rising;
    } else if (check.leaving == ICmp::eq && check.left->type == kI32 && (*left == 1 || *left == -1) && *right == 0) {
      check.kind = Check::Kind::counter;
    } else {
      return;
    }
    checks_.push_back(check);
  }

  void find_load(Block* block) {
    Load load{.block = block, .near = block->successors[0], .plain = block->successors[1]};
    const Inst* near = condition_of(*block, Op::icmp);
    load.from_space = near->operands[0];
    load.space = near->operands[1];
    if (!is(near, ICmp::ult) || load.from_space->op != Op::sub || !is_space(load.space)) return;
    load.address = load.from_space->operands[0];
    const Inst* own = condition_of(*load.near, Op::icmp);
    if (!is(own, ICmp::ult) || load.near->predecessors.size() != 1) return;
    load.place = own->operands[0];
    load.written = own->operands[1];
    if (load.place->op != Op::sub || load.place->operands[0] != load.address) return;
    load.begin = load.place->operands[1];
    Block* whole = load.near->successors[0];
    load.rare = {load.near, load.near->successors[1], whole};
    if (whole->successors.size() == 2) load.rare.push_back(whole = whole->successors[0]);
    for (const Inst* inst : whole->insts)
      if (inst->op == Op::add && inst->operands[1] == load.place) load.buffer = inst->operands[0];
    if (load.buffer == nullptr || loop_.step_of(load.buffer) != 0 || loop_.step_of(load.begin) != 0) return;
    for (Inst* inst : load.plain->insts) {
      if (inst->op == Op::phi || (!is_pure(inst->op) && inst->op != Op::load_lane && inst->op != Op::br)) return;
      if (inst->op != Op::load_lane) continue;
      if (inst->mem.space != Space::global) return;
      load.elements.push_back(inst);
      load.bytes += uint64_t{inst->mem.bytes} * inst->mem.count;
    }
    const auto step = step_up(load.from_space), written = step_up(load.written);
    if (!step || !written || load.elements.empty()) return;
    for (const Inst* element : load.elements)
      if (loop_.step_of(element->operands[1]) != step) return;
    load.step = *step;
    load.written_step = *written;
    loads_.push_back(std::move(load));
  }

  // ---------------------------------------------------------------- in front of the loop

  Inst* number(uint64_t value) { return constant(kI64, value); }
  // What something that grows by `step` grows by up to the last iteration.
  Inst* grown(uint64_t step) {
    return step == 0 ? number(0) : step == 1 ? last_ : make(Op::mul, kI64, {last_, number(step)});
  }

  void stay_if(Inst* condition) {
    Block* const rest = add_block_here(false);
    branch(condition, rest, lockstep_);
    go_on_in(rest);
  }

  // Makes the check for all iterations here, and not in the loop any more.
  void make_here(const Check& check) {
    Inst* left = first(check.left);
    Inst* right = first(check.right);
    switch (check.kind) {
      case Check::Kind::always:
        stay_if(icmp(inverse(check.leaving), left, right));
        break;
      case Check::Kind::rising: {
        // The last value is the largest one if none wraps around.
        Inst* room = make(Op::sub, kI64, {right, left});
        Inst* in_room = icmp(ICmp::ule, grown(*step_up(check.left)), room);
        stay_if(icmp(ICmp::ule, left, right));
        stay_if(in_room);
        break;
      }
      case Check::Kind::counter: {
        const bool up = loop_.step_of(check.left) == 1;
        stay_if(icmp(ICmp::ult, last_, wide(make(Op::sub, kI32, {up ? right : left, up ? left : right}))));
        replace_outside(check.left);
        if (check.left->op == Op::add) replace_outside(check.left->operands[0]);
        break;
      }
    }
    function_.remove_edge(check.block, check.edge);
    make_unconditional(check.block);
    function_.count(Rule::check_in_front);
  }
  // The loop ends after a number of iterations that is known when it begins: it does not wait for anybody, so its iterations need not be
  // counted. A lane keeps what it has left for other loops.
  bool drop_counters() {
    bool changed = false;
    for (const Check& check : checks_) {
      Inst* const left = check.left;
      if (check.kind != Check::Kind::counter || !only_counts(left)) continue;
      Inst* const phi = left->operands[0];
      Inst* const before = first(phi);
      function_.remove_edge(check.block, check.edge);
      make_unconditional(check.block);
      function_.replace_all_uses(left, before);
      function_.replace_all_uses(phi, before);
      function_.count(Rule::counter_unneeded);
      changed = true;
    }
    return changed;
  }
  // Whether the counter of this loop is for nothing but such checks, here and in other loops.
  [[nodiscard]] bool only_counts(Inst* left) const {
    constexpr size_t kMost = 64;
    if (left->op != Op::add || left->operands[0]->op != Op::phi || left->operands[0]->parent != loop_.loop().header)
      return false;
    std::vector<const Inst*> known{left, left->operands[0]};
    for (size_t i = 0; i < known.size(); ++i) {
      if (known.size() > kMost) return false;
      for (const Inst* user : known[i]->users) {
        const bool counts = user->op == Op::phi || (user->op == Op::add && user->operands[1]->is_const(0xffffffff));
        if (counts && std::ranges::find(known, user) == known.end()) known.push_back(user);
        if (!counts && !is_check(*user)) return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool is_check(const Inst& compare) const {
    return compare.op == Op::icmp && std::ranges::all_of(compare.users, [&](const Inst* user) {
             return user->op == Op::cond_br &&
                    std::ranges::find(user->parent->successors, lockstep_) != user->parent->successors.end();
           });
  }
  void make_unconditional(Block* block) {
    function_.erase(block->terminator());
    function_.append(block, function_.create(Op::br, kNone));
  }

  // Behind the loop the counter has the value of the last iteration.
  void replace_outside(Inst* value) {
    if (!loop_.contains(value)) return;
    Inst* final = nullptr;
    for (Inst* user : std::vector<Inst*>(value->users)) {
      if (loop_.contains(user)) continue;
      if (final == nullptr) {
        Inst* change = value->type == kI64 ? last_ : make(Op::lo32, kI32, {last_});
        final = make(loop_.step_of(value) == 1 ? Op::add : Op::sub, value->type, {first(value), change});
        function_.count(Rule::counter_dropped);
      }
      for (unsigned i = 0; i < user->operands.size(); ++i)
        if (user->operands[i] == value) function_.set_operand(user, i, final);
    }
  }

  // ---------------------------------------------------------------- loads

  // The value by a phi that grows as fast, so that the loop needs one of these only. `plus`: what to add, if anything.
  // The difference is computed in front of the loop, and the sum at the place at which code is made.
  struct Moving {
    Inst *phi = nullptr, *distance = nullptr;
  };
  Moving moving(Inst* value, uint64_t step, Inst* plus) {
    Inst* phi = nullptr;
    for (Inst* candidate : loop_.loop().header->insts) {
      if (candidate->op != Op::phi) break;
      if (phi == nullptr && candidate->type == kI64 && step != 0 &&
          loop_.step_of(candidate) == static_cast<int64_t>(step))
        phi = candidate;
    }
    Inst* distance = first(value);
    if (phi != nullptr) distance = make(Op::sub, kI64, {distance, first(phi)});
    if (plus != nullptr) distance = add64(distance, plus);
    return {phi, distance};
  }
  Inst* sum(const Moving& m) { return m.phi == nullptr ? m.distance : add64(m.phi, m.distance); }

  // Where no iteration loads from any lane's array, or all do of what the lane has kept back, the address is all that differs.
  // Otherwise each iteration decides, as before.
  void decide(const Load& load) {
    Inst* const grows = grown(load.step);
    Inst* place = first(load.place);
    Inst* written = first(load.written);
    Inst* from_space = add64(first(load.from_space), grows);
    Inst* space = add64(first(load.space), grows);
    Inst* begin = first(load.begin);
    Inst* buffer = first(load.buffer);
    Block *const rare = add_block_here(true), *const rest = add_block_here(false);
    Inst* nowhere = number(0);
    Inst* decided = constant(kI1, 0);
    branch(icmp(ICmp::ult, from_space, space), rare, rest);

    set_place_for(rare, *load.place);
    Inst* span = number(load.bytes);
    if (load.step != load.written_step) span = add64(span, grows);
    Inst* behind = make(Op::sub, kI64, {written, place});
    Inst* own = make(Op::and_, kI1, {icmp(ICmp::ult, place, written), icmp(ICmp::ule, span, behind)});
    Inst* away = make(Op::select, kI64, {own, make(Op::sub, kI64, {buffer, begin}), nowhere});
    Inst* open = make(Op::not_, kI1, {own});
    make(Op::br, kNone, {});
    Function::connect(rare, rest);

    set_place_for(rest, *load.place);
    Inst* moved = make(Op::phi, kI64, {nowhere, away});
    Inst* undecided = make(Op::phi, kI1, {decided, open});
    std::unordered_map<Inst*, Moving> places;
    for (const Inst* element : load.elements) {
      Inst* at = element->operands[1];
      if (!places.contains(at)) places[at] = moving(at, load.step, moved);
    }
    const Moving address = moving(load.address, load.step, nullptr);

    // In the loop.
    Block* const still = function_.add_block(load.block->guest_pc);
    const Inst* near = load.block->terminator()->operands[0];
    {
      const Elsewhere elsewhere(*this, still, nullptr);
      set_place_for(still, *near);
      Inst* again = sum(address);
      branch_as_before(load, still, make(Op::sub, kI64, {again, load.from_space->operands[1]}));
      for (Block* block : load.rare)
        for (Inst* inst : block->insts)
          for (unsigned i = 0; i < inst->operands.size(); ++i)
            if (inst->operands[i] == load.address) function_.set_operand(inst, i, again);
    }
    function_.set_operand(load.block->terminator(), 0, undecided);
    for (Inst* element : load.elements) {
      const Elsewhere elsewhere(*this, load.plain, element);
      function_.set_operand(element, 1, sum(places.at(element->operands[1])));
    }
    function_.count(Rule::load_decided);
  }

  // The branch of the load's block, in another one.
  void branch_as_before(const Load& load, Block* still, Inst* from_space) {
    make(Op::cond_br, kNone, {icmp(ICmp::ult, from_space, load.space)});
    still->successors = {load.near, load.plain};
    load.near->predecessors[0] = still;
    load.plain->predecessors.push_back(still);
    load.block->successors[0] = still;
    still->predecessors.push_back(load.block);
  }

  static constexpr int64_t kMaxStep = 1 << 16;

  const Dominators& dominators_;
  Block* const lockstep_;
  std::vector<Check> checks_;
  std::vector<Load> loads_;
  Inst* last_ = nullptr;
};

// Counters need no second register where they change behind their last use.
void sink_increments(Function& function, const CountedLoop& loop) {
  for (Inst* phi : loop.loop().header->insts) {
    if (phi->op != Op::phi) break;
    Inst* next = phi->operands[loop.from_latch()];
    if (next->op != Op::add || next->operands[0] != phi || !next->operands[1]->is_const() || !loop.contains(next))
      continue;
    if (std::ranges::any_of(next->users, [&](const Inst* user) { return user != phi && loop.contains(user); }))
      continue;
    std::erase(next->parent->insts, next);
    next->parent = nullptr;
    function.insert_before(loop.latch()->terminator(), next);
  }
}

// Where control goes if stores cannot be kept back, by the branches on that.
std::unordered_set<Block*> lockstep_loops(const Function& function) {
  std::unordered_set<Block*> found;
  for (const auto& block : function.blocks) {
    if (condition_of(*block, Op::begin_streams) == nullptr) continue;
    Block* const lockstep = block->successors[1];
    if (lockstep->insts.front()->op != Op::phi) found.insert(lockstep);
  }
  return found;
}

}  // namespace

PassResult stream_checks(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const std::unordered_set<Block*> lockstep = lockstep_loops(function);
  if (lockstep.empty()) return {.changed = dropped};
  const Dominators dominators(function);
  std::vector<CountedLoop> changed;
  std::vector<const Block*> headers;  // of loops that have been looked at: those inside come first
  const std::vector<Loop> loops = find_loops(dominators);
  for (const Loop& loop : loops) {
    const bool inner = std::ranges::none_of(headers, [&](const Block* header) { return loop.body.contains(header); });
    headers.push_back(loop.header);
    if (!inner) continue;
    for (Block* aside : lockstep) {
      const auto counted = CountedLoop::find(loop, aside);
      if (counted && LoopChecks(function, dominators, *counted, aside).run()) changed.push_back(*counted);
    }
  }
  if (!changed.empty()) (void)function.sweep();
  for (const CountedLoop& loop : changed) sink_increments(function, loop);
  return {.changed = !changed.empty() || dropped};
}

}  // namespace wavejit::ir::passes
