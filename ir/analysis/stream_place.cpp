#include "ir/analysis/stream_place.h"

#include <algorithm>

#include "ir/signature.h"

namespace wavejit::ir {

StreamPlace::Prediction StreamPlace::of(const Inst* value) {
  if (!inside(value) || value->is_const()) return {.source = Source::itself};
  const auto [entry, inserted] = predictions_.try_emplace(value);  // unknown while it is looked for
  if (!inserted) return entry->second;
  const Prediction found = predict(*value);
  return predictions_[value] = found;
}

StreamPlace::Prediction StreamPlace::predict(const Inst& inst) {
  if (inst.op == Op::phi) {
    if (inst.parent == loop_.header) return {.source = Source::initial};
    // The first way into an inner loop, or to where ways meet, stands for all.
    Prediction first;
    for (unsigned i = 0; i < inst.operands.size(); ++i) {
      if (dominators_.dominates(inst.parent, inst.parent->predecessors[i])) continue;
      if (of(inst.operands[i]).source == Source::unknown) return {};
      if (first.source == Source::unknown) first = {.source = Source::operand, .operand = i};
    }
    return first;
  }
  if (inst.op == Op::lane_id) return {.source = Source::itself};
  if (!is_pure(inst.op) || !op_info(inst.op).lane_wise || inst.type.is_tuple()) return {};
  const auto known = [&](unsigned i) { return of(inst.operands[i]).source != Source::unknown; };
  unsigned all = 0;
  while (all < inst.operands.size() && known(all)) ++all;
  if (all == inst.operands.size()) return {.source = Source::computed};
  switch (inst.op) {
    case Op::add:
    case Op::or_:
      if (known(0) || known(1)) return {.source = Source::operand, .operand = known(0) ? 0u : 1u};
      return {};
    case Op::sub:
      if (known(0)) return {.source = Source::operand, .operand = 0};
      return {};
    case Op::select:
      if (known(1) && known(2)) return {.source = Source::operand, .operand = 2};
      return {};
    case Op::pack64:
      return known(1) ? Prediction{.source = Source::computed} : Prediction{};
    default:
      return {};
  }
}

// The phis that the prediction of a value has met.
bool StreamPlace::collect_phis(const Inst* value, unsigned depth) {
  if (!inside(value) || value->is_const() || !visited_.insert(value).second) return true;
  if (depth == 0) return false;
  if (value->op == Op::phi) phis_.insert(value);
  const Prediction p = of(value);
  switch (p.source) {
    case Source::unknown:
      return false;
    case Source::operand:
      return collect_phis(value->operands[p.operand], depth - 1);
    case Source::computed:
      return std::ranges::all_of(value->operands, [&](const Inst* operand) {
        return of(operand).source == Source::unknown || collect_phis(operand, depth - 1);
      });
    default:
      return true;
  }
}

// Whether a value is the same in all iterations.
bool StreamPlace::stays(const Inst* value, unsigned depth) const {
  if (!inside(value) || value->is_const()) return true;
  return depth > 0 && is_pure(value->op) && value->op != Op::phi &&
         std::ranges::all_of(value->operands, [&](const Inst* operand) { return stays(operand, depth - 1); });
}

// Whether a value is one of the phis with something added, on some way at least.
bool StreamPlace::grows(const Inst* value, unsigned depth) {
  if (phis_.contains(value)) return true;
  if (!inside(value) || depth == 0 || !growing_.insert(value).second) return false;
  const auto grows_by = [&](size_t step) {
    const Inst* by = value->operands[step];
    const bool possible = by->is_const() ? by->imm <= kLargestStep : !stays(by, kMaxDepth);
    return possible && grows(value->operands[1 - step], depth - 1);
  };
  switch (value->op) {
    case Op::add:
      return grows_by(0) || grows_by(1);
    case Op::phi:
    case Op::addc:
    case Op::or_:
    case Op::select:
    case Op::pack64:
    case Op::zext64:
    case Op::lo32:
    case Op::hi32:
    case Op::splat:
    case Op::splat64:
      return std::ranges::any_of(value->operands, [&](const Inst* operand) { return grows(operand, depth - 1); });
    default:
      return false;
  }
}

bool StreamPlace::goes_on(const Inst& store) {
  const size_t addresses = address_operands(store.mem.form);
  for (size_t i = 1; i <= addresses; ++i) {
    if (of(store.operands[i]).source == Source::unknown || !collect_phis(store.operands[i], kMaxDepth)) return false;
  }
  return std::ranges::all_of(phis_, [&](const Inst* phi) {
    for (unsigned i = 0; i < phi->operands.size(); ++i) {
      if (!inside(phi->operands[i])) continue;
      growing_.clear();
      if (!grows(phi->operands[i], kMaxDepth)) return false;
    }
    return true;
  });
}

}  // namespace wavejit::ir
