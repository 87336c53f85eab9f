// Reads and writes of the wave state.
#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {

namespace {
size_t sgpr_offset(uint64_t index) {
  return offsetof(WaveState, sgpr) + index * sizeof(uint32_t);
}
}  // namespace

bool Emitter::emit_state(const Inst& inst, unsigned chunk) {
  switch (inst.op) {
    case Op::get_vgpr:
      isa_->load(dst(inst, chunk), row(static_cast<unsigned>(inst.imm), chunk), nullptr);
      return true;
    case Op::set_vgpr:
      isa_->store(row(static_cast<unsigned>(inst.imm), chunk), v32(inst.operands[0], chunk), nullptr);
      return true;
    case Op::get_mask:
      isa_->load_mask(dst_mask(inst, chunk),
                      wave_field(sgpr_offset(inst.imm) + chunk * isa_->lanes / 8, isa_->lanes / 8));
      return true;
    case Op::set_mask:
      isa_->store_mask(wave_field(sgpr_offset(inst.imm) + chunk * isa_->lanes / 8, isa_->lanes / 8),
                       mask(inst.operands[0], chunk));
      return true;
    default:
      return false;
  }
}

bool Emitter::emit_scalar_state(const Inst& inst) {
  const auto get = [&](size_t offset) {
    const Gp d = dst_gp(inst);
    cc_.mov(d, wave_field(offset, d.size()));
    return true;
  };
  const auto set = [&](size_t offset) {
    const Inst* value = inst.operands[0];
    const uint32_t size = value->type == ir::kI64 ? 8 : 4;
    cc_.emit(I::kIdMov, wave_field(offset, size), gp_operand(value));
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
