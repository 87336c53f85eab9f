// How many chunks of a segment are emitted side by side, instruction by instruction.
//
// Chunk after chunk, intermediate values stay in registers, and the processor overlaps the chunks as far as it looks
// ahead. Long chains of divisions, roots and polynomials fill that window with a single chunk, whose instructions wait
// for each other. Side by side there is always something to do, at the price of more values that are live at once.
#include "backend-x86/lower/interleaving.h"

#include <algorithm>
#include <unordered_map>

namespace wavejit::backend {
namespace {

// Instructions, and cycles until the result is there. Estimates.
struct Cost {
  unsigned work, latency;
};

Cost cost_of(const Inst& inst) {
  const unsigned parts = inst.type.kind == ir::TypeKind::v64 ? 2 : 1;
  switch (inst.op) {
    case Op::fexp_f32:
      return {16, 45};
    case Op::flog_f32:
    case Op::fsin_f32:
    case Op::fcos_f32:
      return {25, 70};
    case Op::frcp_f32:
    case Op::frsq_f32:
    case Op::fsqrt_f32:
      return {6, 25};
    case Op::frcp_f64:
    case Op::frsq_f64:
    case Op::fsqrt_f64:
      return {12, 35};
    case Op::div_fixup_f32:
    case Op::div_fixup_f64:
      return {8 * parts, 20};
    case Op::load:
      return {3, 8};
    case Op::store:
      return {2, 0};
    case Op::mul:
    case Op::mul_wide_u:
    case Op::mul_wide_s:
    case Op::mulhi_u:
    case Op::mulhi_s:
    case Op::fldexp_f32:
    case Op::fldexp_f64:
      return {2 * parts, 8};
    default:
      break;
  }
  if (inst.op >= Op::fadd_f32 && inst.op <= Op::cvt_u16_f16) return {parts, 4};
  return {parts, 1};
}

}  // namespace

unsigned chunks_side_by_side(const Lowering& ctx, std::span<const Inst* const> insts) {
  const unsigned all = ctx.end_chunk() - ctx.first_chunk();
  // Shorter chains, and those next to enough other work, do not keep the processor waiting.
  constexpr unsigned kMinLatency = 150;
  std::unordered_map<const Inst*, unsigned> ready;  // cycles
  std::unordered_map<const Inst*, size_t> last;     // position of the last reader
  unsigned work = 0, latency = 0;
  const auto in_registers = [&](const Inst* inst) {
    return (inst->type.is_vector() || (inst->type.is_mask() && ctx.isa->budget().masks == 0)) && !inst->is_const() &&
           !ctx.is_invariant(inst) && !ctx.lane_addresses.is_scalar(inst);
  };
  for (size_t i = 0; i < insts.size(); ++i) {
    const Inst& inst = *insts[i];
    unsigned start = 0;
    const auto reads = [&](const Inst& reader, const auto& self) -> void {
      for (const Inst* operand : reader.operands) {
        const auto it = ready.find(operand);
        if (it != ready.end()) {
          start = std::max(start, it->second);
          last[operand] = i;
        } else if (ctx.is_fused(operand)) {
          self(*operand, self);
        }
      }
    };
    reads(inst, reads);
    if (ctx.is_invariant(&inst) || ctx.lane_addresses.is_scalar(&inst)) continue;
    const Cost cost = cost_of(inst);
    work += cost.work;
    ready[&inst] = start + cost.latency;
    latency = std::max(latency, start + cost.latency);
  }
  unsigned live = 0, most = 0;
  std::vector<unsigned> ends(insts.size() + 1);
  for (size_t i = 0; i < insts.size(); ++i) {
    live -= ends[i];
    const Inst* inst = insts[i];
    const auto it = last.find(inst);
    if (it == last.end() || !in_registers(inst)) continue;
    const unsigned registers = inst->type.count * ctx.parts(inst);
    live += registers;
    ends[it->second] += registers;
    most = std::max(most, live);
  }
  if (latency < kMinLatency || 4 * latency < 3 * work) return 1;
  // Twice the registers: what does not fit waits in memory less long than results do.
  unsigned together = 1;
  while (2 * together <= all && 2 * together * most <= 2 * ctx.isa->budget().vectors) together *= 2;
  return together;
}

}  // namespace wavejit::backend
