// Recording of exceptions (internal/semantics/exceptions.h): a call in front of each instruction that may raise one.
#include "frontend/isa/exceptions.h"

#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"
#include "frontend/lift/packed.h"
#include "ir/call_shape.h"

namespace wavejit::lift {
namespace {

bool is_mix(Opcode opcode) {
  switch (opcode) {
    case Opcode::v_mad_mix_f32:
    case Opcode::v_mad_mixlo_f16:
    case Opcode::v_mad_mixhi_f16:
    case Opcode::v_fma_mix_f32:
    case Opcode::v_fma_mixlo_f16:
    case Opcode::v_fma_mixhi_f16:
      return true;
    default:
      return false;
  }
}

// With signalling NaNs of f16, which conversion to f32 makes quiet, as signalling ones.
Inst* signalling_mixed_source(Context& c, unsigned i) {
  Inst* value = mixed_source(c, i);
  if ((c.inst->op_sel_hi >> i & 1) == 0) return value;
  constexpr Slot kSources[] = {Slot::src0, Slot::src1, Slot::src2};
  Inst* half = c.raw32(c.operand(kSources[i]));
  if ((c.inst->op_sel >> i & 1) != 0) half = c.lshr(half, 16);
  Inst* behind = c.b.op(Op::sub, {c.and_(half, c.v(0x7fff)), c.v(0x7c01)});
  return c.b.select(c.b.icmp(ir::ICmp::ult, behind, c.v(0x1ff)), c.v(0x7f800001), value);
}

// The operands that the rule counts, in its order.
std::vector<const Operand*> sources_of(const Instruction& inst, unsigned count) {
  std::vector<const Operand*> sources;
  for (unsigned i = 0; i < inst.num_operands && sources.size() < count; ++i) {
    const Operand& operand = inst.operands[i];
    if (operand.slot == Slot::src0 || operand.slot == Slot::src1 || operand.slot == Slot::src2 ||
        operand.slot == Slot::literal)
      sources.push_back(&operand);
  }
  if (sources.size() < count) sources.push_back(&inst.get(Slot::vdst));  // v_mac and its like
  return sources;
}

}  // namespace

void record_exceptions(Context& c) {
  const exceptions::Rule rule = isa::raises(*c.inst);
  if (rule.kind == exceptions::Kind::none) return;
  Inst* mask = c.write_enable();
  const Operand* vdst = c.inst->find(Slot::vdst);
  if (c.mode & mode::kGprIdxEn && vdst && vdst->kind == OperandKind::vgpr)
    if (Inst* relative = c.gpr_index(Context::kDestination))
      mask = c.b.select(c.in_range({.base = vdst->reg, .dwords = vdst->dwords, .index = relative}), mask, c.b.mask(0));
  std::vector<Inst*> rows;
  const std::vector<const Operand*> sources = sources_of(*c.inst, rule.sources);
  unsigned wide = 0;
  for (unsigned i = 0; i < sources.size(); ++i) {
    const Operand& operand = *sources[i];
    if (is_mix(c.opcode())) {
      rows.push_back(signalling_mixed_source(c, i));
    } else if (rule.pair && rule.number == exceptions::Number::f32) {
      rows.push_back(pair_source(c, i, false));
      rows.push_back(pair_source(c, i, true));
      wide |= 1u << i;
    } else if (operand.slot == Slot::vdst || operand.slot == Slot::literal) {
      if (operand.dwords == 2) {
        Inst* value = c.raw64(operand);
        rows.push_back(c.b.op(Op::lo32, {value}));
        rows.push_back(c.b.op(Op::hi32, {value}));
        wide |= 1u << i;
      } else {
        rows.push_back(c.raw32(operand));
      }
    } else if (rule.pair) {
      rows.push_back(packed_source(c, i));
    } else if (operand.dwords == 2) {
      Inst* value = c.src64(operand.slot);
      rows.push_back(c.b.op(Op::lo32, {value}));
      rows.push_back(c.b.op(Op::hi32, {value}));
      wide |= 1u << i;
    } else {
      rows.push_back(c.src32(operand.slot));
    }
  }
  if (rule.kind == exceptions::Kind::fused_scaled)
    rows.push_back(c.b.select(c.ssa.read_mask(sreg::kVccLo), c.v(1), c.v(0)));
  std::vector<Inst*> operands{mask, c.b.i32(c.mode), c.b.i32(rule.pack()), c.b.i32(wide)};
  operands.insert(operands.end(), rows.begin(), rows.end());
  c.b.op_typed(Op::call, ir::kNone, std::move(operands), static_cast<uint32_t>(ir::Call::record_exceptions), 0);
}

}  // namespace wavejit::lift
