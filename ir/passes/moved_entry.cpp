// Makes code for waves that come from the interpreter in the middle of a loop (Entry::moved).
//
// The lifter has put an exit in front of that place, as if waves were let go there like at a barrier. So the passes before this
// one know of the registers at the entry what follows from the code between the kernel's start and the exit. The interpreter
// has executed just that code. Here, registers that hold the same in all lanes are found as well. Once the facts are in the
// code, the exit goes, and so do the kernel's start and all entries that waves cannot get to from here.
//
// The exit is never executed, so what it writes need not be what the interpreter leaves in the registers. In lanes that are on
// it is, as pass demanded-lanes counts them as looked at.
#include <algorithm>
#include <unordered_set>

#include "ir/analysis/lane_shape.h"
#include "ir/analysis/resumptions.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// Waves go on past the exit.
void drop_way_to(Function& function, const Block* exit) {
  const std::vector<Block*> predecessors = exit->predecessors;
  for (Block* block : predecessors) {
    Inst* branch = block->terminator();
    WAVEJIT_CHECK(branch->op == Op::cond_br && block->successors[0] != block->successors[1]);
    function.remove_edge(block, block->successors[1] == exit ? 1 : 0);
    function.unlink(branch);
    branch->parent = block;
    branch->op = Op::br;
  }
}

// Registers of which the entry reads the first lane instead, as they hold the same in all lanes. A mask that a comparison has
// made is 0 where EXEC is: of such a one, the same in all lanes that are on.
class UniformRegisters {
 public:
  UniformRegisters(Function& function, const Entry& entry, const PassContext& context)
      : function_(function), context_(context), entry_(entry) {}

  void find() {
    if (!first_lane_is_on()) return;
    for (const auto& block : function_.blocks)
      if (resumption_pc(*block) == entry_.guest_pc) exits_.push_back(block.get());
    if (exits_.empty()) return;
    // Where nobody looks at lanes that are off, masks need no zeros there.
    if (entry_.exec != ~uint64_t{0} && assume_masks()) demanded_lanes(function_, context_);
    const std::vector<Inst*> insts = entry_.block->insts;
    for (Inst* inst : insts)
      if (!inst->users.empty() &&
          (inst->op == Op::get_vgpr || (inst->op == Op::get_mask && entry_.exec == ~uint64_t{0})))
        assume(inst, false);
    // A register may hold the same in all lanes because others do.
    while (!assumed_.empty() && drop_wrong()) continue;
    for (size_t i = 0; i < assumed_.size(); ++i) function_.count(Rule::uniform_register);
  }

 private:
  struct Assumption {
    Inst* value;  // a read at the entry, or a phi of masks
    Inst* splat;
    Inst* restricted;  // to lanes that are on; or null
  };

  // A function that reads EXEC is for any. At entries of others it is a constant.
  [[nodiscard]] bool first_lane_is_on() const {
    if ((entry_.exec & 1) == 0) return false;
    return std::none_of(function_.blocks.begin(), function_.blocks.end(), [](const auto& block) {
      return std::any_of(block->insts.begin(), block->insts.end(), [](const Inst* inst) {
        const bool pair = inst->op == Op::get_mask || inst->op == Op::get_sgpr64;
        return (pair || inst->op == Op::get_sgpr) && inst->imm + (pair ? 1 : 0) >= sreg::kExecLo;
      });
    });
  }

  // Of masks that may be 0 in lanes that are off, and the same in the others.
  bool assume_masks() {
    std::vector<Inst*> masks;
    for (const auto& block : function_.blocks)
      for (Inst* inst : block->insts)
        if (inst->type == kMask && (inst->op == Op::phi || (inst->op == Op::get_mask && inst->parent == entry_.block)))
          masks.push_back(inst);
    const auto fits = [&](const Inst* value) {
      return value != nullptr &&
             (without_lanes_off(value) != nullptr || std::find(masks.begin(), masks.end(), value) != masks.end());
    };
    const auto wrong = [&](Inst* mask) {
      const std::vector<Inst*> values = incoming(mask);
      return !std::all_of(values.begin(), values.end(), fits);
    };
    while (std::erase_if(masks, wrong) != 0) continue;
    for (Inst* mask : masks) assume(mask, true);
    return !masks.empty();
  }

  void assume(Inst* value, bool restricts) {
    std::vector<Inst*> made;
    const auto make = [&](Op op, Type type, std::vector<Inst*> operands, uint64_t imm = 0) {
      Inst* inst = function_.create(op, type, std::move(operands));
      inst->imm = imm;
      inst->guest_pc = value->guest_pc;
      inst->parent = value->parent;
      made.push_back(inst);
      return inst;
    };
    Assumption assumption{.value = value, .splat = nullptr, .restricted = nullptr};
    if (value->type == kV32) {
      Inst* first = make(Op::readlane, kI32, {value, make(Op::const_, kI32, {})});
      assumption.splat = make(Op::splat, kV32, {first});
    } else {
      Inst* first = make(Op::and_, kMask, {value, make(Op::const_, kMask, {}, 1)});
      Inst* is_set = make(Op::mask_any, kI1, {first});
      // Looks at all lanes, so that the value is still right in all of them if the assumption is taken back.
      if (restricts) is_set = make(Op::and_, kI1, {is_set, make(Op::mask_any, kI1, {value})});
      assumption.splat = make(Op::splat_mask, kMask, {is_set});
      if (restricts)
        assumption.restricted = make(Op::and_, kMask, {assumption.splat, make(Op::const_, kMask, {}, entry_.exec)});
    }
    // Phis and exits go on to say where the value comes from.
    const std::vector<Inst*> users = value->users;
    Inst* same = restricts ? assumption.restricted : assumption.splat;
    for (Inst* user : users) {
      if (std::find(made.begin(), made.end(), user) != made.end() || (restricts && passes_on(user))) continue;
      for (unsigned i = 0; i < user->operands.size(); ++i)
        if (user->operands[i] == value) function_.set_operand(user, i, same);
    }
    auto& insts = value->parent->insts;
    auto at = std::find(insts.begin(), insts.end(), value) + 1;
    while ((*at)->op == Op::phi) ++at;
    insts.insert(at, made.begin(), made.end());
    assumed_.push_back(assumption);
  }
  static bool passes_on(const Inst* user) { return user->op == Op::phi || user->op == Op::set_mask; }

  // What may be the value: operands, or what exits leave in the register. A null for what cannot be seen.
  [[nodiscard]] std::vector<Inst*> incoming(const Inst* value) const {
    if (value->op == Op::phi) return value->operands;
    std::vector<Inst*> values(exits_.size());
    std::transform(exits_.begin(), exits_.end(), values.begin(), [&](const Block* exit) { return saved(exit, value); });
    return values;
  }

  // What an exit writes to the register; null if that cannot be seen.
  [[nodiscard]] static Inst* saved(const Block* exit, const Inst* read) {
    const auto width = [](Op op) {
      return op == Op::set_sgpr ? 1u : op == Op::set_sgpr64 || op == Op::set_mask ? 2u : 0u;
    };
    Inst* value = nullptr;
    for (const Inst* inst : exit->insts) {
      if (read->op == Op::get_vgpr) {
        if (inst->op == Op::set_vgpr && inst->imm == read->imm) value = inst->operands[0];
      } else if (inst->op == Op::set_mask && inst->imm == read->imm) {
        value = inst->operands[0];
      } else if (width(inst->op) != 0 && inst->imm < read->imm + 2 && read->imm < inst->imm + width(inst->op)) {
        return nullptr;
      }
    }
    return value;
  }

  // x, of "x in the lanes that are on, and 0 elsewhere"; null for anything else.
  [[nodiscard]] Inst* without_lanes_off(const Inst* value) const {
    if (value == nullptr || value->op != Op::and_ || entry_.exec == ~uint64_t{0}) return nullptr;
    for (unsigned i = 0; i < 2; ++i)
      if (value->operands[i]->is_const(entry_.exec)) return value->operands[1 - i];
    return nullptr;
  }

  // Drops each assumption that the values at the exits do not confirm, given the other assumptions. Returns whether it dropped any.
  bool drop_wrong() {
    const LaneShapes shapes(function_);
    const auto assumed = [&](const Inst* value) {
      return std::any_of(assumed_.begin(), assumed_.end(), [&](const Assumption& a) { return a.value == value; });
    };
    std::vector<Assumption> wrong;
    for (const Assumption& assumption : assumed_) {
      const std::vector<Inst*> values = incoming(assumption.value);
      const bool right = std::all_of(values.begin(), values.end(), [&](const Inst* value) {
        if (assumption.restricted && assumed(value)) return true;
        if (assumption.restricted) value = without_lanes_off(value);
        return value != nullptr && shapes.of(value).is_uniform();
      });
      if (!right) wrong.push_back(assumption);
    }
    for (const Assumption& assumption : wrong) {
      if (assumption.restricted) function_.replace_all_uses(assumption.restricted, assumption.value);
      function_.replace_all_uses(assumption.splat, assumption.value);
      std::erase_if(assumed_, [&](const Assumption& a) { return a.value == assumption.value; });
    }
    return !wrong.empty();
  }

  Function& function_;
  const PassContext& context_;
  const Entry entry_;
  std::vector<const Block*> exits_;
  std::vector<Assumption> assumed_;
};

// Entries that a wave can get to from the first one of the list, and that one.
std::vector<Entry> reachable(const Entry& first, const std::vector<Entry>& others) {
  std::vector<Entry> entries{first};
  std::unordered_set<const Block*> seen{first.block};
  for (size_t i = 0; i < entries.size(); ++i) {
    std::vector<const Block*> work{entries[i].block};
    while (!work.empty()) {
      const Block* block = work.back();
      work.pop_back();
      for (const Block* next : block->successors)
        if (seen.insert(next).second) work.push_back(next);
      const std::optional<uint64_t> pc = block->successors.empty() ? resumption_pc(*block) : std::nullopt;
      if (!pc) continue;
      const auto it =
          std::find_if(others.begin(), others.end(), [&](const Entry& other) { return other.guest_pc == *pc; });
      if (it != others.end() && seen.insert(it->block).second) entries.push_back(*it);
    }
  }
  return entries;
}

}  // namespace

PassResult moved_entry(Function& function, const PassContext& context) {
  const bool dropped = drop_unreachable(function);
  const auto moved =
      std::find_if(function.entries.begin(), function.entries.end(), [](const Entry& entry) { return entry.moved; });
  if (moved == function.entries.end() || !moved->resumed_only) return {.changed = dropped};
  UniformRegisters(function, *moved, context).find();
  for (const auto& block : function.blocks)
    if (resumption_pc(*block) == moved->guest_pc) drop_way_to(function, block.get());
  Entry first = *moved;
  first.resumed_only = false;
  function.entries = reachable(first, function.entries);
  drop_unreachable(function);
  function.sweep();
  function.count(Rule::entry_moved);
  peephole(function, context);
  uniform_phis(function, context);
  return {.changed = true};
}

}  // namespace wavejit::ir::passes
