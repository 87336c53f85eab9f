// Stores of all lanes to one place: one store of the wave, of the last active lane's data. A wave without active lanes
// reads no data.
//
// The hardware writes such a place once per instruction. A store per lane would be visible between the lanes: another
// work-group could react to the first store, and the next one would overwrite its reaction.
#include <algorithm>
#include <bit>

#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {
namespace {

bool same_in_all_lanes(const ir::Inst* data) {
  return data->is_const() || data->op == ir::Op::splat;
}

}  // namespace

bool Emitter::is_store_of_wave(const Inst& inst) {
  return inst.op == Op::store && inst.mem.form == ir::AddressForm::base_only;
}

// A dword of the lane `last`; must not be written.
Gp Emitter::dword_of_wave(const Inst* value, const Operand& last) {
  if (value->op == Op::splat && !classes_.is_shared(value->operands[0])) return gp(value->operands[0]);
  const Gp d = cc_.new_gp32();
  if (value->is_const()) {
    cc_.mov(d, static_cast<uint32_t>(value->imm));
  } else if (is_uniform(value)) {
    isa_->low32(d, v32(value, 0));
  } else {
    forget_rows();  // the store may lie behind a branch
    read_lane(d, value, last);
    forget_rows();
  }
  return d;
}

bool Emitter::emit_store_of_wave(const Inst& inst) {
  if (!is_store_of_wave(inst)) return false;
  const ir::MemAttr& mem = inst.mem;
  const Inst* lanes = inst.operands[0];
  const asmjit::Label join = cc_.new_label();
  Operand last;
  if (lanes->is_const() && lanes->imm != 0) {
    last = asmjit::imm(63 - std::countl_zero(lanes->imm));
    cc_.mov(wave_field(offsetof(WaveState, fault_lane), 4), asmjit::imm(std::countr_zero(lanes->imm)));
  } else {
    const Gp number = mask_to_number(lanes), first = cc_.new_gp64();
    cc_.tzcnt(first, number);  // sets carry if there is none
    cc_.jc(join);
    cc_.mov(wave_field(offsetof(WaveState, fault_lane), 4), first.r32());
    if (!std::all_of(inst.operands.begin() + 2, inst.operands.end(), same_in_all_lanes)) {
      const Gp lane = cc_.new_gp64();
      cc_.lzcnt(lane, number);
      cc_.xor_(lane.r32(), kWaveSize - 1);
      last = lane;
    }
  }
  Gp base = gp(inst.operands[1]);
  int64_t disp = mem.imm;
  if (const int64_t end = disp + 16; disp != static_cast<int32_t>(disp) || end != static_cast<int32_t>(end)) {
    const Gp far = cc_.new_gp64();
    cc_.mov(far, disp);
    cc_.add(far, base);
    base = far;
    disp = 0;
  }
  const auto place = [&](unsigned element, unsigned bytes) {
    faults_.mark({.guest_pc = inst.guest_pc,
                  .first_lane = 0,
                  .lanes = kWaveSize,
                  .element_bytes = mem.bytes,
                  .write = true,
                  .lane_in_state = true});
    return x86::ptr(base, static_cast<int32_t>(disp) + static_cast<int32_t>(element * mem.bytes), bytes);
  };
  for (unsigned i = 0; i < mem.count; ++i) {
    const Gp low = dword_of_wave(inst.operands[2 + i], last);
    if (mem.bytes < 4) {
      cc_.mov(place(i, mem.bytes), mem.bytes == 1 ? Gp(low.r8()) : Gp(low.r16()));
    } else if (i + 1 < mem.count) {
      // Aligned pairs are seen whole by others.
      const Gp high = dword_of_wave(inst.operands[2 + i + 1], last), pair = cc_.new_gp64(), rest = cc_.new_gp64();
      cc_.mov(pair.r32(), high.r32());
      cc_.shl(pair, 32);
      cc_.mov(rest.r32(), low.r32());
      cc_.or_(pair, rest);
      cc_.mov(place(i, 8), pair);
      ++i;
    } else {
      cc_.mov(place(i, 4), low.r32());
    }
  }
  cc_.bind(join);
  return true;
}

}  // namespace wavejit::backend
