// Pass lane-loops: copies of loops whose lanes part, for one lane after the other (lane_copier.h), where that may be faster.
#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "internal/lane_way.h"
#include "ir/analysis/lane_by_lane.h"
#include "ir/analysis/lane_shape.h"
#include "ir/analysis/skipped_way.h"
#include "ir/passes/lane_copier.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// Estimates, in instructions of the host: a vector of all lanes, a gather or scatter, an instruction for one lane.
constexpr double kVectorCost = 8, kScatteredCost = 120, kNearCost = 12;
// The copy is made if it costs less than this many times the loop, for lanes that part as far as is known.
constexpr double kWorthTrying = 6;
constexpr unsigned kMaxRounds = 3;  // of clean_copies()

bool is_scattered(const Inst& access, const LaneShapes& shapes) {
  const Inst* address = nullptr;
  switch (access.mem.form) {
    case AddressForm::base_offset:
    case AddressForm::scratch_off:
      address = access.operands[2];
      break;
    case AddressForm::vector64:
    case AddressForm::lds_offset:
      address = access.operands[1];
      break;
    default:
      return false;
  }
  return !shapes.of(address).known();
}

// The part of the lanes that is active in the block, on average, as far as a profile tells; 1: it does not.
double profiled_share(const Block& block, const Profile& profile) {
  for (const Inst* inst : block.insts)
    if (const auto known = profile.find(inst->guest_pc); known != profile.end())
      return active_lanes(known->second) / kWaveSize;
  return 1;
}

// Whether one lane after the other may be faster. Lanes that take a branch differently are taken to be half of them, or as
// few as there were in a profile. More do not count: a profile is of the first waves.
bool worth_trying(const LaneLoop& found, const Function& function, const LaneShapes& shapes,
                  const Dominators& dominators) {
  if (found.branches == 0) return false;
  double lockstep = 0, lane = 0;
  for (const Block* block : found.loop->body) {
    double share = 1;
    for (const Block* over = block; over != nullptr && over != found.loop->header; over = dominators.immediate(over)) {
      const Block* before = dominators.immediate(over);
      if (before == nullptr || !found.loop->body.contains(before)) break;
      const auto branch = lane_branch(*before);
      if (branch && before->successors[branch->some] == over) share /= 2;
    }
    if (share < 1 || !found.empty.empty()) share = std::min(share, profiled_share(*block, function.profile));
    for (const Inst* inst : block->insts) {
      if (inst->op == Op::phi || inst->is_const()) continue;
      const bool access = inst->op == Op::load || inst->op == Op::store;
      const bool vector = inst->type.is_vector() || inst->type.is_mask() || access;
      const double elements = access ? inst->mem.count : inst->type.kind == TypeKind::v64 ? 2 : 1;
      if (!vector) {
        lockstep += 1;
        lane += share;
      } else if (access && is_scattered(*inst, shapes)) {
        lockstep += kScatteredCost * elements;
        lane += share * elements;
      } else {
        lockstep += (access ? kNearCost : shapes.of(inst).is_uniform() ? 1 : kVectorCost) * elements;
        lane += share;
      }
    }
  }
  return kWaveSize * lane < kWorthTrying * lockstep;
}

// Accesses to one place in scratch compute its address alike. Branches of masks that were unions and complements are
// branches of the same few conditions now, and decide each other.
void clean_copies(Function& function, const PassContext& context) {
  (void)gvn(function, context);
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    (void)peephole(function, context);
    const bool known = branch_facts(function, context).changed;
    (void)cfg(function, context);
    if (!known) break;
  }
}

// The record of the loop's times. Of the address only what is within a page counts, which is the same wherever the code is loaded.
uint64_t record_of(const Function& function, const Block& header) {
  return (std::hash<std::string_view>()(function.name) ^ header.guest_pc >> 2) % kLaneWays;
}

}  // namespace

PassResult lane_loops(Function& function, const PassContext& context) {
  const bool dropped = drop_unreachable(function);
  const Dominators dominators(function);
  const std::vector<Loop> loops = find_loops(dominators);
  if (loops.empty()) return {.changed = dropped};
  std::vector<LaneLoop> found;
  std::unordered_set<const Block*> taken;
  const LaneShapes shapes(function);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {  // outer ones first
    if (taken.contains(loop->header)) continue;
    LaneObstacle obstacle;
    std::optional<LaneLoop> one = find_lane_loop(*loop, dominators, shapes.bits(), obstacle);
    if (one && !context.all_lane_loops && !worth_trying(*one, function, shapes, dominators)) {
      obstacle = {.what = "lanes stay together or access memory together"};
      one.reset();
    }
    if (context.loop_remark)
      context.loop_remark({.header = loop->header, .obstacle = obstacle.what, .at = obstacle.at});
    if (!one) continue;
    taken.insert(loop->body.begin(), loop->body.end());
    found.push_back(std::move(*one));
  }
  bool copied = false;
  for (const LaneLoop& one : found) {
    copied |= LaneCopier(function, dominators, one, record_of(function, *one.loop->header)).run();
  }
  if (copied) clean_copies(function, context);
  return {.changed = copied || dropped};
}

}  // namespace wavejit::ir::passes
