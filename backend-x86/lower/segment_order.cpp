// The order in which a segment's instructions are emitted for a chunk: the graph of what depends on what, for the
// schedulers of backend-x86/schedule/.
#include "backend-x86/lower/segment_order.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "backend-x86/lower/lds_ranges.h"
#include "backend-x86/lower/plans/wide_accesses.h"
#include "backend-x86/lower/rolled_segment.h"
#include "backend-x86/lower/segment.h"
#include "backend-x86/schedule/sums.h"

namespace wavejit::backend {
namespace {

// What instructions read and write besides values: numbers behind those of the function's values.
enum OtherPlace : uint32_t { kMemory, kState, kRows };

bool is_access(const Inst& inst) {
  return inst.op == Op::load || inst.op == Op::load_edges || inst.op == Op::store || inst.op == Op::store_edges;
}

}  // namespace

void for_each_read(const Lowering& ctx, const Inst& inst, const std::function<void(const Inst*)>& visit) {
  for (const Inst* operand : inst.operands) {
    const bool of_load = operand->op == Op::pack64 && ctx.wide->absorbed[operand->id];
    if (operand->op != Op::phi && ctx.is_left_out(*operand) && !of_load) {
      for_each_read(ctx, *operand, visit);
      if (ctx.is_fused(operand)) continue;
    }
    visit(ctx.resolve(operand).inst);
  }
  if (inst.op == Op::store && ctx.wide->values[inst.id].any())
    visit(ctx.resolve(ctx.wide->values[inst.id].pairs[0]).inst);
}

void for_each_result(const Lowering& ctx, const Inst& inst, const std::function<void(const Inst*)>& visit) {
  if (inst.op == Op::load && ctx.wide->values[inst.id].any()) {
    for (const Inst* whole : ctx.wide->values[inst.id].pairs)
      if (whole != nullptr) visit(whole);
  } else if (inst.type.kind != ir::TypeKind::none) {
    visit(&inst);
  }
}

std::vector<const Inst*> with_late_reads(const Lowering& ctx, std::span<const Inst* const> insts) {
  std::vector<const Inst*> order;
  std::map<uint64_t, std::vector<const Inst*>> waiting;  // by row
  order.reserve(insts.size());
  const auto emit_row = [&](uint64_t row) {
    const auto it = waiting.find(row);
    if (it == waiting.end()) return;
    order.insert(order.end(), it->second.begin(), it->second.end());
    waiting.erase(it);
  };
  for (const Inst* inst : insts) {
    if (inst->op == Op::get_vgpr && !ctx.classes.is_shared(inst) && !ctx.lane_addresses.is_scalar(inst)) {
      waiting[inst->imm].push_back(inst);
      continue;
    }
    if (!waiting.empty()) {
      for_each_read(ctx, *inst, [&](const Inst* place) {
        if (place->op == Op::get_vgpr) emit_row(place->imm);
      });
      if (inst->op == Op::set_vgpr) emit_row(inst->imm);
    }
    order.push_back(inst);
  }
  for (const auto& [row, reads] : waiting) order.insert(order.end(), reads.begin(), reads.end());
  return order;
}

namespace {

// The operand to which the instruction adds a term in place, or none.
const Inst* sum_operand(const Lowering& ctx, const Inst& inst) {
  const auto in_place = [&](const Inst* operand) {
    return operand->users.size() == 1 && operand->type == inst.type && !operand->is_const() && !ctx.is_fused(operand) &&
           !ctx.is_invariant(operand) && !ctx.lane_addresses.is_scalar(operand);
  };
  switch (inst.op) {
    case Op::fma_f32:
    case Op::fma_f64:
    case Op::fma_f16:
    case Op::pk_fma_f16:
      return in_place(inst.operands[2]) ? inst.operands[2] : nullptr;
    case Op::fadd_f32:
    case Op::fadd_f64:
      for (const Inst* operand : inst.operands)
        if (in_place(operand) && (operand->op == inst.op || operand->op == Op::phi || operand->op == Op::get_vgpr))
          return operand;
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

// Numbered as the segment's instructions.
std::vector<schedule::Node> segment_nodes(const Lowering& ctx) {
  std::vector<schedule::Node> nodes(ctx.segment->insts.size());
  std::unordered_map<const Inst*, uint32_t> number;
  struct Place {
    uint32_t written = schedule::kNoNode;
    std::vector<uint32_t> read;  // since then
  };
  std::unordered_map<uint32_t, Place> places;
  std::vector<std::pair<LdsAccess, uint32_t>> lds;
  const uint32_t other = ctx.function.num_values();
  for (uint32_t i = 0; i < ctx.segment->insts.size(); ++i) {
    const Inst& inst = *ctx.segment->insts[i];
    schedule::Node& node = nodes[i];
    const auto reads = [&](uint32_t place) {
      Place& p = places[place];
      if (p.written != schedule::kNoNode) node.before.push_back(p.written);
      p.read.push_back(i);
    };
    const auto writes = [&](uint32_t place) {
      Place& p = places[place];
      if (p.written != schedule::kNoNode) node.before.push_back(p.written);
      for (const uint32_t reader : p.read)
        if (reader != i) node.before.push_back(reader);
      p.read.clear();
      p.written = i;
    };
    for_each_read(ctx, inst, [&](const Inst* place) { reads(place->id); });
    if (inst.op == Op::get_vgpr) {
      reads(other + kRows + static_cast<uint32_t>(inst.imm));
    } else if (inst.op == Op::set_vgpr) {
      writes(other + kRows + static_cast<uint32_t>(inst.imm));
    } else if (is_access(inst)) {
      // In the guest's order, so that the first of several faults is reported. In the LDS there are none, as no lane is
      // beyond its end.
      if (inst.mem.space != ir::Space::lds) {
        writes(other + kMemory);
        node.early = true;
      }
      if (accesses_lds(inst)) {
        const LdsAccess access = lds_access(ctx, inst);
        for (const auto& [earlier, index] : lds)
          if (access.conflicts(earlier)) node.before.push_back(index);
        lds.emplace_back(access, i);
      }
    } else if (!ir::is_pure(inst.op)) {
      writes(other + kState);
    }
    if (inst.type.kind != ir::TypeKind::none) writes(ctx.classes.representative(&inst)->id);
    if (inst.op == Op::load && ctx.wide->values[inst.id].any())
      for_each_result(ctx, inst, [&](const Inst* whole) { writes(ctx.classes.representative(whole)->id); });

    const bool is_element = inst.op == Op::extract && !ctx.classes.is_shared(&inst);  // in a register of the tuple
    if (inst.type.is_vector() && !is_element && !ctx.is_invariant(&inst) && !ctx.lane_addresses.is_scalar(&inst))
      node.registers = inst.type.count * ctx.parts(&inst);
    if (const Inst* sum = sum_operand(ctx, inst)) {
      node.adds = true;
      node.factor = inst.operands[0]->id;
      if (const auto it = number.find(sum); it != number.end()) node.sum = it->second;
    }
    std::sort(node.before.begin(), node.before.end());
    node.before.erase(std::unique(node.before.begin(), node.before.end()), node.before.end());
    number[&inst] = i;
  }
  const auto is_written_behind = [&](const Inst* place, uint32_t i) {
    const auto it = places.find(place->id);
    return it != places.end() && it->second.written != schedule::kNoNode && it->second.written > i;
  };
  for (uint32_t i = 0; i < ctx.segment->insts.size(); ++i) {
    const Inst& inst = *ctx.segment->insts[i];
    if (inst.op == Op::extract) {
      const auto it = number.find(inst.operands[0]);
      nodes[i].again = it != number.end() && nodes[it->second].again && !ctx.classes.is_shared(&inst);
    } else if (inst.op == Op::load && is_rollable_load(ctx, inst) && chunk_stride(ctx, inst) == 0) {
      const LdsAccess access = lds_access(ctx, inst);
      bool same = true;
      for_each_result(ctx, inst, [&](const Inst* result) { same = same && !ctx.classes.is_shared(result); });
      for_each_read(ctx, inst, [&](const Inst* place) { same = same && !is_written_behind(place, i); });
      for (const auto& [other_access, index] : lds) same = same && (index < i || !access.conflicts(other_access));
      nodes[i].again = same;
    }
  }
  // Sums are grouped by the factor that costs more to make.
  for (uint32_t i = 0; i < ctx.segment->insts.size(); ++i) {
    if (!nodes[i].adds) continue;
    const auto is_cheap = [&](const Inst* factor) {
      const auto it = number.find(ctx.resolve(factor).inst);
      return it != number.end() && nodes[it->second].again;
    };
    const std::vector<const Inst*> factors(ctx.segment->insts[i]->operands.begin(),
                                           ctx.segment->insts[i]->operands.end());
    if (is_cheap(factors[0]) && !is_cheap(factors[1])) nodes[i].factor = factors[1]->id;
  }
  return nodes;
}

}  // namespace wavejit::backend
