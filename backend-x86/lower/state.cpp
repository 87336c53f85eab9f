#include "backend-x86/lower/state.h"

namespace wavejit::backend {

namespace {
size_t sgpr_offset(uint64_t index) {
  return offsetof(WaveState, sgpr) + index * sizeof(uint32_t);
}
}  // namespace

bool emit_state(Lowering& ctx, const Inst& inst, unsigned chunk) {
  switch (inst.op) {
    case Op::get_vgpr:
      ctx.isa->load(ctx.dst(inst, chunk), ctx.row(static_cast<unsigned>(inst.imm), chunk), nullptr);
      return true;
    case Op::set_vgpr:
      ctx.isa->store(ctx.row(static_cast<unsigned>(inst.imm), chunk), ctx.v32(inst.operands[0], chunk), nullptr);
      return true;
    case Op::get_mask:
      ctx.isa->load_mask(ctx.dst_mask(inst, chunk),
                         ctx.wave_field(sgpr_offset(inst.imm) + chunk * ctx.isa->lanes / 8, ctx.isa->lanes / 8));
      return true;
    case Op::set_mask:
      ctx.isa->store_mask(ctx.wave_field(sgpr_offset(inst.imm) + chunk * ctx.isa->lanes / 8, ctx.isa->lanes / 8),
                          ctx.mask(inst.operands[0], chunk));
      return true;
    default:
      return false;
  }
}

bool emit_scalar_state(Lowering& ctx, const Inst& inst) {
  const auto get = [&](size_t offset) {
    const Gp d = ctx.dst_gp(inst);
    ctx.cc.mov(d, ctx.wave_field(offset, d.size()));
    return true;
  };
  const auto set = [&](size_t offset) {
    const Inst* value = inst.operands[0];
    const uint32_t size = value->type == ir::kI64 ? 8 : 4;
    ctx.cc.emit(I::kIdMov, ctx.wave_field(offset, size), ctx.gp_operand(value));
    return true;
  };
  switch (inst.op) {
    case Op::get_sgpr:
    case Op::get_sgpr64:
      return get(sgpr_offset(inst.imm));
    case Op::set_sgpr:
    case Op::set_sgpr64:
      return set(sgpr_offset(inst.imm));
    case Op::get_scc:
      return get(offsetof(WaveState, scc));
    case Op::set_scc:
      return set(offsetof(WaveState, scc));
    case Op::get_vccz:
      return get(offsetof(WaveState, vccz));
    case Op::set_vccz:
      return set(offsetof(WaveState, vccz));
    case Op::get_field:
      return get(inst.imm);
    case Op::set_field:
      return set(inst.imm);
    default:
      return false;
  }
}

}  // namespace wavejit::backend
