// Copies of loops for as long as all lanes are in them.
//
// Where each lane counts up to the same bound, as in loops that go through an array in strides of the grid, lanes leave
// in the last iteration or two. Until then the first lane's counter says that all are in: it is below the bound by the
// distance of the last lane, at least. The copy counts in that scalar, has no mask, and its indices do not wrap around
// from one lane to the next. When the test fails, the loop as it was does what is left.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/lane_shape.h"
#include "ir/clone.h"
#include "ir/passes/passes.h"
#include "ir/passes/simplify.h"

namespace wavejit::ir::passes {
namespace {

constexpr size_t kMaxCopied = 200;
constexpr int64_t kMaxStride = 1 << 16;
constexpr unsigned kMaxLoopDepth = 4;

class LoopCopier {
 public:
  LoopCopier(Function& function, const LaneShapes& shapes, Block* loop)
      : function_(function), shapes_(shapes), loop_(loop) {}

  bool run() {
    if (!find_edges() || !find_mask() || !find_counter() || !worthwhile()) return false;
    function_.count(Rule::loop_copied);
    copy();
    return true;
  }

 private:
  [[nodiscard]] bool inside(const Inst* inst) const { return inst->parent == loop_; }
  [[nodiscard]] Inst* from_outside(const Inst* phi) const { return phi->operands[1 - latch_]; }
  [[nodiscard]] Inst* from_latch(const Inst* phi) const { return phi->operands[latch_]; }

  // A block that goes back to itself while some lane is in, and else to one place.
  bool find_edges() {
    if (loop_->insts.size() > kMaxCopied || loop_->predecessors.size() != 2 || loop_->successors.size() != 2)
      return false;
    if (loop_->successors[0] != loop_ || loop_->successors[1] == loop_) return false;
    latch_ = loop_->predecessors[1] == loop_;
    before_ = loop_->predecessors[1 - latch_];
    after_ = loop_->successors[1];
    const auto& next = before_->successors;
    if (before_ == loop_ || std::count(next.begin(), next.end(), loop_) != 1) return false;
    return std::none_of(function_.entries.begin(), function_.entries.end(),
                        [&](const Entry& entry) { return entry.block == loop_; });
  }

  // The mask of the lanes that are in, and the comparison that a lane stays in by.
  bool find_mask() {
    const Inst* branch = loop_->terminator();
    const Inst* any = branch->op == Op::cond_br ? branch->operands[0] : nullptr;
    if (any == nullptr || any->op != Op::mask_any || !inside(any)) return false;
    staying_ = any->operands[0];
    if (!inside(staying_) || (staying_->op != Op::andn && staying_->op != Op::and_)) return false;
    for (Inst* phi : loop_->insts) {
      if (phi->op != Op::phi) break;
      if (phi->type == kMask && from_latch(phi) == staying_) mask_ = phi;
    }
    if (mask_ == nullptr) return false;
    if (staying_->op == Op::andn) {
      if (staying_->operands[0] != mask_) return false;
      test_ = staying_->operands[1];
    } else {
      test_ = staying_->operands[staying_->operands[0] == mask_];
      if (staying_->operands[0] != mask_ && staying_->operands[1] != mask_) return false;
    }
    return inside(test_) && test_->op == Op::icmp;
  }

  // As "counter < bound" or "counter <= bound".
  bool find_counter() {
    auto predicate = static_cast<ICmp>(test_->attr);
    if (staying_->op == Op::andn) predicate = inverse(predicate);
    Inst* counter = test_->operands[0];
    Inst* bound = test_->operands[1];
    if (predicate == ICmp::ugt || predicate == ICmp::uge || predicate == ICmp::sgt || predicate == ICmp::sge) {
      std::swap(counter, bound);
      predicate = swapped(predicate);
    }
    if (counter->type != kV32 || !inside(counter)) return false;
    is_signed_ = predicate == ICmp::slt || predicate == ICmp::sle;
    if (!is_signed_ && predicate != ICmp::ult && predicate != ICmp::ule) return false;
    below_ = predicate;
    // Loops with constant bounds are mostly short: tiles that a work-group copies.
    if (!uniform_outside(bound) || bound->is_const()) return false;
    bound_ = bound;
    for (Inst* phi : loop_->insts) {
      if (phi->op != Op::phi) break;
      Inst* next = from_latch(phi);
      if (phi->type != kV32 || (counter != phi && counter != next) || !inside(next) || next->op != Op::add) continue;
      Inst* step = next->operands[next->operands[0] == phi];
      if ((next->operands[0] != phi && next->operands[1] != phi) || !uniform_outside(step)) continue;
      const LaneShape shape = shapes_.of(phi);
      if (shape.group < kWaveSize || shape.stride <= 0 || shape.stride > kMaxStride) continue;
      counter_ = phi;
      next_ = next;
      step_ = step;
      stride_ = shape.stride;
      tests_next_ = counter == next;
      return true;
    }
    return false;
  }

  [[nodiscard]] bool uniform_outside(const Inst* value) const {
    return value->is_const() || (value->op == Op::splat && !inside(value->operands[0]));
  }

  // Accesses of the lanes that are in.
  [[nodiscard]] bool worthwhile() const {
    return std::any_of(loop_->insts.begin(), loop_->insts.end(), [&](const Inst* inst) {
      return (inst->op == Op::load || inst->op == Op::store) && inst->operands[0] == mask_;
    });
  }

  // ---------------------------------------------------------------- code

  Inst* make(Block* block, Op op, Type type, std::vector<Inst*> operands, uint64_t imm = 0, uint32_t attr = 0) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->imm = imm;
    inst->attr = attr;
    inst->guest_pc = loop_->guest_pc;
    function_.append(block, inst);
    return inst;
  }
  Inst* scalar(Block* block, Inst* value) {
    return value->is_const() ? make(block, Op::const_, kI32, {}, value->imm) : value->operands[0];
  }
  // The value in lane 0, where scalars say what it is: null elsewhere.
  Inst* first_of(Block* block, Inst* value, unsigned depth) {
    if (value->op == Op::splat) return value->operands[0];
    if (value->op == Op::lane_id) return make(block, Op::const_, kI32, {}, 0);
    if (value->is_const()) return make(block, Op::const_, kI32, {}, value->imm);
    if (value->op != Op::add || depth == 0) return nullptr;
    Inst* a = first_of(block, value->operands[0], depth - 1);
    Inst* b = a != nullptr ? first_of(block, value->operands[1], depth - 1) : nullptr;
    return b != nullptr ? make(block, Op::add, kI32, {a, b}) : nullptr;
  }
  Inst* compare(Block* block, ICmp predicate, Inst* a, Inst* b) {
    return make(block, Op::icmp, kI1, {a, b}, 0, static_cast<uint32_t>(predicate));
  }
  // The counter of all lanes, from the first one's.
  Inst* all_lanes(Block* block, Inst* first) {
    return make(block, Op::add, kV32, {make(block, Op::splat, kV32, {first}), distances_});
  }
  [[nodiscard]] Inst* mapped(Inst* value) const {
    const auto it = map_.find(value);
    return it != map_.end() ? it->second : value;
  }

  void copy() {
    Block* const test = function_.add_block(loop_->guest_pc);
    Block* const full = function_.add_block(loop_->guest_pc);
    Block* const rest = function_.add_block(loop_->guest_pc);
    Block* const end = function_.add_block(loop_->guest_pc);
    // In the layout the test, the copy and what decides on the rest go in front of the loop.
    auto& blocks = function_.blocks;
    const auto at = std::find_if(blocks.begin(), blocks.end(), [&](const auto& owned) { return owned.get() == loop_; });
    const auto index = at - blocks.begin();
    std::rotate(at, blocks.end() - 4, blocks.end());
    std::rotate(blocks.begin() + index + 3, blocks.begin() + index + 4, blocks.begin() + index + 5);

    enter(test, full);
    fill(full, rest);
    leave(rest, end);
  }

  // In front of the loop: all lanes in, and the first one's counter low enough.
  void enter(Block* test, Block* full) {
    std::replace(before_->successors.begin(), before_->successors.end(), loop_, test);
    test->predecessors.push_back(before_);
    loop_->predecessors[1 - latch_] = test;

    Inst* lane = make(test, Op::const_, kI32, {}, 0);
    distances_ = make(test, Op::lane_id, kV32, {});
    if (stride_ != 1)
      distances_ =
          make(test, Op::mul, kV32, {distances_, make(test, Op::const_, kV32, {}, static_cast<uint64_t>(stride_))});
    first_ = first_of(test, from_outside(counter_), kMaxLoopDepth);
    if (first_ == nullptr) first_ = make(test, Op::readlane, kI32, {from_outside(counter_), lane});
    scalar_step_ = scalar(test, step_);
    Inst* bound = scalar(test, bound_);
    Inst* span = make(test, Op::const_, kI32, {}, static_cast<uint64_t>(stride_) * (kWaveSize - 1));
    limit_ = make(test, Op::sub, kI32, {bound, span});
    Inst* holds = make(test, Op::and_, kI1,
                       {make(test, Op::mask_all, kI1, {from_outside(mask_)}),
                        compare(test, is_signed_ ? ICmp::sge : ICmp::uge, bound, span)});
    // Indices of the first iteration must not wrap around either.
    if (tests_next_) holds = make(test, Op::and_, kI1, {holds, compare(test, below_, first_, limit_)});
    make(test, Op::cond_br, kNone, {holds});
    test->successors.push_back(full);
    test->successors.push_back(loop_);
    full->predecessors.push_back(test);
  }

  void fill(Block* full, Block* rest) {
    std::vector<std::pair<const Inst*, Inst*>> phis;
    Inst* const first = make(full, Op::phi, kI32, {first_});
    for (Inst* inst : loop_->insts) {
      if (inst->op != Op::phi) break;
      if (inst == mask_ || inst == counter_) continue;
      Inst* phi = make(full, Op::phi, inst->type, {from_outside(inst)});
      map_[inst] = phi;
      phis.emplace_back(inst, phi);
    }
    Inst* const next_first = make(full, Op::add, kI32, {first, scalar_step_});
    map_[mask_] = make(full, Op::const_, kMask, {}, ~uint64_t{0});
    map_[counter_] = all_lanes(full, first);
    Inst* extended = nullptr;
    for (Inst* inst : loop_->insts) {
      if (inst->op == Op::phi || is_terminator(inst->op)) continue;
      if (inst == next_) {
        map_[inst] = all_lanes(full, next_first);
        continue;
      }
      const Op extension = is_signed_ ? Op::sext64 : Op::zext64;
      if (inst->op == extension && inst->operands[0] == counter_ && tests_next_) {
        // No lane's counter has wrapped around.
        if (extended == nullptr) {
          Inst* lanes = make(full, Op::zext64, kV64, {distances_});
          Inst* base = make(full, Op::splat64, kV64, {make(full, extension, kI64, {first})});
          extended = make(full, Op::add, kV64, {lanes, base});
        }
        map_[inst] = extended;
        continue;
      }
      std::vector<Inst*> operands;
      for (Inst* operand : inst->operands) operands.push_back(mapped(operand));
      Inst* copy = clone(function_, *inst, std::move(operands));
      function_.append(full, copy);
      map_[inst] = copy;
    }
    // What of it would only be needed behind the loop is made there.
    next_first_ = next_first;
    Inst* stay = compare(full, below_, tests_next_ ? next_first : first, limit_);
    tested_first_ = tests_next_ ? next_first : first;
    make(full, Op::cond_br, kNone, {stay});
    Function::connect(full, full);
    Function::connect(full, rest);
    const auto add_operand = [](Inst* phi, Inst* value) {
      phi->operands.push_back(value);
      value->users.push_back(phi);
    };
    add_operand(first, next_first);
    for (const auto& [original, phi] : phis) add_operand(phi, mapped(from_latch(original)));
  }

  void leave(Block* rest, Block* end) {
    // Which lanes stay in.
    map_[next_] = all_lanes(rest, next_first_);
    Inst* counter = tests_next_ ? map_[next_] : all_lanes(rest, tested_first_);
    Inst* bound = make(rest, Op::splat, kV32, {scalar(rest, bound_)});
    Inst* operands[2];
    for (unsigned i = 0; i < 2; ++i) operands[i] = test_->operands[i] == bound_ ? bound : counter;
    Inst* passed = make(rest, Op::icmp, kMask, {operands[0], operands[1]}, 0, test_->attr);
    Inst* staying = passed;
    if (staying_->op == Op::andn)
      staying = make(rest, Op::andn, kMask, {make(rest, Op::const_, kMask, {}, ~uint64_t{0}), passed});
    map_[test_] = passed;
    map_[staying_] = staying;
    Inst* any = make(rest, Op::mask_any, kI1, {staying});
    map_[loop_->terminator()->operands[0]] = any;
    make(rest, Op::cond_br, kNone, {any});

    Function::connect(rest, loop_);
    for (Inst* inst : loop_->insts) {
      if (inst->op != Op::phi) break;
      Inst* value = mapped(from_latch(inst));
      inst->operands.push_back(value);
      value->users.push_back(inst);
    }
    // Values of the loop that are read behind it come from there or from the copy.
    std::replace(loop_->successors.begin(), loop_->successors.end(), after_, end);
    end->predecessors.push_back(loop_);
    Function::connect(rest, end);
    for (Inst* inst : loop_->insts) {
      std::vector<Inst*> users;
      for (Inst* user : inst->users)
        if (!inside(user) && !is_new(user) && std::find(users.begin(), users.end(), user) == users.end())
          users.push_back(user);
      if (users.empty()) continue;
      Inst* merged = make(end, Op::phi, inst->type, {inst, mapped(inst)});
      for (Inst* user : users)
        for (unsigned i = 0; i < user->operands.size(); ++i)
          if (user->operands[i] == inst) function_.set_operand(user, i, merged);
    }
    make(end, Op::br, kNone, {});
    end->successors.push_back(after_);
    std::replace(after_->predecessors.begin(), after_->predecessors.end(), loop_, end);
  }

  // Of the blocks made here, which read values of the loop in phis alone.
  [[nodiscard]] bool is_new(const Inst* inst) const { return inst->parent->id >= first_new_block_; }

  Function& function_;
  const LaneShapes& shapes_;
  Block* const loop_;
  const uint32_t first_new_block_ = function_.num_block_ids();
  size_t latch_ = 0;
  Block* before_ = nullptr;
  Block* after_ = nullptr;
  Inst* mask_ = nullptr;     // of the lanes that are in
  Inst* staying_ = nullptr;  // those of the next iteration
  Inst* test_ = nullptr;
  Inst* bound_ = nullptr;
  Inst* counter_ = nullptr;
  Inst* next_ = nullptr;
  Inst* step_ = nullptr;
  int64_t stride_ = 0;
  bool is_signed_ = false, tests_next_ = false;
  ICmp below_ = ICmp::ult;

  Inst* distances_ = nullptr;
  Inst* first_ = nullptr;
  Inst* scalar_step_ = nullptr;
  Inst* limit_ = nullptr;
  Inst* next_first_ = nullptr;
  Inst* tested_first_ = nullptr;
  std::unordered_map<const Inst*, Inst*> map_;
};

}  // namespace

PassResult full_loops(Function& function, const PassContext&) {
  std::vector<Block*> loops;
  for (const auto& block : function.blocks)
    if (std::find(block->successors.begin(), block->successors.end(), block.get()) != block->successors.end())
      loops.push_back(block.get());
  if (loops.empty()) return {.changed = false};
  bool changed = false;
  const LaneShapes shapes(function);
  for (Block* loop : loops) changed |= LoopCopier(function, shapes, loop).run();
  if (changed) function.sweep();
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
