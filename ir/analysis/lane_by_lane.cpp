#include "ir/analysis/lane_by_lane.h"

#include <algorithm>
#include <unordered_map>

#include "ir/analysis/paired_ways.h"
#include "ir/analysis/skipped_way.h"
#include "ir/analysis/stream_place.h"

namespace wavejit::ir {
namespace {

// Operations of which a lane's result depends on that lane alone.
bool works_on_one_lane(const Inst& inst) {
  switch (inst.op) {
    case Op::phi:
    case Op::extract:
    case Op::tuple:
    case Op::br:
    case Op::cond_br:
    case Op::poll:
    case Op::const_:
    case Op::undef:
    case Op::lane_id:
      return true;
    case Op::i64_to_mask:  // of a number, which has a bit for each lane
    case Op::writelane:
      return false;
    default:
      return op_info(inst.op).lane_wise;
  }
}

bool is_aligned(const Inst& access, const KnownBits& bits) {
  const MemAttr& mem = access.mem;
  if (mem.bytes == 1) return mem.count == 1;
  uint64_t offset = static_cast<uint64_t>(mem.imm);
  if (mem.form == AddressForm::scratch_off) offset |= bits.of(access.operands[2]).possible;
  return (offset & (mem.bytes - 1)) == 0 && (mem.bytes == 4 || mem.count == 1);
}

bool is_access_of_one_lane(const Inst& inst, const KnownBits& bits, std::string_view& why) {
  const MemAttr& mem = inst.mem;
  const bool scratch = mem.form == AddressForm::scratch_off || mem.form == AddressForm::scratch_base;
  if (mem.bytes > 4 || (mem.bytes < 4 && mem.count > 1 && mem.bytes != 1)) return why = "size of an access", false;
  if (scratch) return is_aligned(inst, bits) || (why = "unaligned scratch", false);
  const bool shared = mem.space == Space::global || mem.space == Space::flat;
  if (inst.op == Op::store && (!shared || mem.form == AddressForm::base_only || mem.glc)) return why = "store", false;
  return !mem.wraps || mem.count == 1 || (why = "wrapping elements", false);
}

bool depends_on_memory(const Inst* value, const Loop& loop, std::unordered_set<const Inst*>& seen) {
  if (!loop.body.contains(value->parent) || !seen.insert(value).second) return false;
  if (value->op == Op::load_scalar) return true;
  return std::any_of(value->operands.begin(), value->operands.end(),
                     [&](const Inst* operand) { return depends_on_memory(operand, loop, seen); });
}

// Asks for lanes only to branch in the loop: the copy has an answer for one lane.
bool decides_branches(const Inst& any, const Loop& loop) {
  return std::all_of(any.users.begin(), any.users.end(), [&](const Inst* user) {
    return loop.body.contains(user->parent) &&
           (user->op == Op::cond_br || (user->op == Op::not_ && decides_branches(*user, loop)));
  });
}

class Finder {
 public:
  Finder(const Loop& loop, const Dominators& dominators, const KnownBits& bits, LaneObstacle& obstacle)
      : loop_(loop), dominators_(dominators), bits_(bits), obstacle_(obstacle) {}

  std::optional<LaneLoop> find() {
    found_.loop = &loop_;
    if (!find_exit() || !find_branches() || !check_operations()) return std::nullopt;
    if (!prove()) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool no(std::string_view what, const Inst* at = nullptr) {
    obstacle_ = {.what = what, .at = at};
    return false;
  }

  bool find_exit() {
    for (const Block* block : loop_.body) {
      for (unsigned i = 0; i < block->successors.size(); ++i) {
        if (loop_.body.contains(block->successors[i])) continue;
        if (found_.exit_from != nullptr) return no("several exits");
        found_.exit_from = const_cast<Block*>(block);
        found_.exit_edge = i;
      }
    }
    return found_.exit_from != nullptr || no("no exit");
  }

  bool find_branches() {
    std::unordered_set<const Inst*> seen;
    for (const Block* block : loop_.body) {
      if (const auto branch = lane_branch(*block)) {
        branches_.emplace_back(block, *branch);
      } else if (block->terminator()->op == Op::cond_br) {
        if (depends_on_memory(block->terminator()->operands[0], loop_, seen))
          return no("branch on a scalar load", block->terminator());
      }
    }
    found_.branches = static_cast<unsigned>(branches_.size());
    return true;
  }

  bool check_operations() {
    const Inst *to_scratch = nullptr, *scalar_load = nullptr;
    for (const Block* block : dominators_.order()) {
      if (!loop_.body.contains(block)) continue;
      for (const Inst* inst : block->insts) {
        if (inst->op == Op::load || inst->op == Op::store) {
          std::string_view why;
          if (!is_access_of_one_lane(*inst, bits_, why)) return no(why, inst);
          if (inst->op == Op::store)
            (inst->mem.space == Space::scratch ? to_scratch : found_.stores.emplace_back()) = inst;
        } else if (inst->op == Op::mask_any) {
          if (!decides_branches(*inst, loop_)) return no("a mask used as a number", inst);
        } else if (inst->op == Op::load_scalar) {
          scalar_load = inst;
        } else if (!works_on_one_lane(*inst)) {
          return no(op_info(inst->op).mnemonic, inst);
        }
      }
    }
    const bool stores = !found_.stores.empty();
    // Scratch of other lanes could be what is loaded.
    if (to_scratch != nullptr && scalar_load != nullptr) return no("scalar load beside a store", scalar_load);
    if (to_scratch != nullptr && stores) return no("a store to scratch beside another one", to_scratch);
    if (found_.stores.size() > kMaxStores) return no("many stores", found_.stores.back());
    for (const Inst* store : found_.stores)
      if (!StreamPlace(loop_, dominators_).goes_on(*store)) return no("store", store);
    return true;
  }

  bool prove() {
    std::string_view why;
    const auto end = std::find_if(branches_.begin(), branches_.end(), [&](const auto& branch) {
      return branch.first == found_.exit_from && 1 - branch.second.some == found_.exit_edge;
    });
    if (end != branches_.end()) {
      SkippedWay way(end->first, end->second, loop_, nullptr, true);
      found_.by_lanes = true;
      if (!way.changes_nothing(why)) return no(why, end->first->terminator());
      find_kept(way);
    }
    if (!find_results()) return false;
    const Inst* staying = nullptr;
    if (end != branches_.end()) found_.always = find_always(end->second);
    if (end != branches_.end() && ends_at_exit()) staying = end->second.mask;
    const PairedLoop paired{.loop = loop_,
                            .dominators = dominators_,
                            .exit_from = found_.exit_from,
                            .always = found_.always,
                            .staying = end != branches_.end() ? end->second.mask : nullptr};
    for (auto branch = branches_.begin(); branch != branches_.end(); ++branch) {
      if (branch == end) continue;
      SkippedWay way(branch->first, branch->second, loop_, found_.always, false, staying);
      if (!way.changes_nothing(why) && !ways_are_alike(branch->first, branch->second, paired))
        return no(why, branch->first->terminator());
    }
    return true;
  }

  bool find_results() {
    for (const Block* block : loop_.body) {
      for (Inst* inst : block->insts) {
        const bool used = std::any_of(inst->users.begin(), inst->users.end(),
                                      [&](const Inst* user) { return !loop_.body.contains(user->parent); });
        if (!used) continue;
        if (inst->type.is_tuple()) return no("a tuple used behind the loop");
        const bool previous = previous_.contains(inst) && !found_.kept.contains(inst);
        (inst->type.is_scalar() ? found_.scalars : previous ? found_.previous : found_.results).push_back(inst);
      }
    }
    // Lanes that have left hold what the next iteration would begin with, so that value is a result, too.
    for (const Inst* phi : found_.previous) {
      Inst* next = const_cast<Inst*>(previous_.at(phi));
      if (std::find(found_.results.begin(), found_.results.end(), next) == found_.results.end())
        found_.results.push_back(next);
    }
    for (auto* list : {&found_.results, &found_.scalars, &found_.previous})
      std::sort(list->begin(), list->end(), [](const Inst* a, const Inst* b) { return a->id < b->id; });
    if (!std::all_of(found_.results.begin(), found_.results.end(),
                     [&](const Inst* result) { return computed_.contains(result); }))
      found_.empty.clear();
    return true;
  }

  // Lanes that are in none of these masks at the start are in no iteration.
  void find_kept(SkippedWay& way) {
    for (const Inst* phi : way.empty_masks()) {
      if (phi->parent != loop_.header) break;
      found_.empty.push_back(const_cast<Inst*>(phi));
    }
    for (const Block* block : loop_.body)
      for (const Inst* inst : block->insts)
        if (const Inst* phi = way.carried_by(inst); phi != nullptr && phi->parent == loop_.header)
          found_.kept[inst] = phi;
    for (const Block* block : loop_.body)
      for (const Inst* inst : block->insts)
        if (is_computed(inst, kMaxComputed)) computed_.insert(inst);
    for (const Inst* phi : loop_.header->insts) {
      if (phi->op != Op::phi) break;
      if (way.settles(phi) && loop_.body.contains(way.next(phi)->parent)) previous_[phi] = way.next(phi);
    }
  }

  // Whether the copy can compute what the value is in lanes that are in no iteration.
  [[nodiscard]] bool is_computed(const Inst* value, unsigned depth) const {
    if (value->is_const() || !loop_.body.contains(value->parent) || found_.kept.contains(value)) return true;
    return depth > 0 && !value->type.is_scalar() && !value->type.is_tuple() && value->op != Op::phi &&
           op_info(value->op).lane_wise &&
           std::all_of(value->operands.begin(), value->operands.end(),
                       [&](const Inst* operand) { return is_computed(operand, depth - 1); });
  }

  // All iterations end with the branch by which lanes leave.
  [[nodiscard]] bool ends_at_exit() const { return loop_.latches.size() == 1 && loop_.latches[0] == found_.exit_from; }

  // A lane that is executed is in the mask at first, and stays in the loop as long as it stays in the mask.
  [[nodiscard]] const Inst* find_always(const LaneBranch& end) const {
    if (found_.empty.size() != 1 || !ends_at_exit()) return nullptr;
    const Inst* phi = found_.empty[0];
    for (size_t i = 0; i < phi->operands.size(); ++i)
      if (loop_.header->predecessors[i] == found_.exit_from && phi->operands[i] == end.mask) return phi;
    return nullptr;
  }

  static constexpr unsigned kMaxComputed = 4;
  static constexpr size_t kMaxStores = 8;

  const Loop& loop_;
  const Dominators& dominators_;
  const KnownBits& bits_;
  LaneObstacle& obstacle_;
  LaneLoop found_;
  std::vector<std::pair<const Block*, LaneBranch>> branches_;
  std::unordered_map<const Inst*, const Inst*> previous_;  // by phi: what the next iteration begins with
  std::unordered_set<const Inst*> computed_;               // see is_computed()
};

}  // namespace

std::optional<LaneLoop> find_lane_loop(const Loop& loop, const Dominators& dominators, const KnownBits& bits,
                                       LaneObstacle& obstacle) {
  return Finder(loop, dominators, bits, obstacle).find();
}

}  // namespace wavejit::ir
