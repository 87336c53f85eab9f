// Stores of all lanes to one place, of the same data: one store of the wave, if a lane is on. The pass uniform-stores has
// made the data the last lane's.
#include "backend-x86/emitter.h"

namespace wavejit::backend {
namespace {

bool same_in_all_lanes(const ir::Inst* data) {
  return data->is_const() || data->op == ir::Op::splat;
}

}  // namespace

bool Emitter::is_store_of_wave(const Inst& inst) {
  return inst.op == Op::store && inst.mem.form == ir::AddressForm::base_only && inst.mem.space == ir::Space::global &&
         inst.mem.count <= 4 && std::all_of(inst.operands.begin() + 2, inst.operands.end(), same_in_all_lanes);
}

// A dword that is the same in all lanes; must not be written.
Gp Emitter::dword_of_wave(const Inst* value) {
  if (value->op == Op::splat && !classes_.is_shared(value->operands[0])) return gp(value->operands[0]);
  const Gp d = cc_.newUInt32();
  if (value->is_const()) {
    cc_.mov(d, static_cast<uint32_t>(value->imm));
  } else {
    isa_->low32(d, v32(value, 0));
  }
  return d;
}

bool Emitter::emit_store_of_wave(const Inst& inst) {
  if (!is_store_of_wave(inst)) return false;
  const ir::MemAttr& mem = inst.mem;
  const Inst* lanes = inst.operands[0];
  const asmjit::Label join = cc_.newLabel();
  const Gp first = cc_.newUInt64();
  if (is_full(lanes)) {
    cc_.xor_(first.r32(), first.r32());
  } else {
    const Gp number = mask_to_number(lanes);
    cc_.tzcnt(first, number);  // sets carry if there is none
    cc_.jc(join);
  }
  cc_.mov(wave_field(offsetof(WaveState, fault_lane), 4), first.r32());
  Gp base = gp(inst.operands[1]);
  int64_t disp = mem.imm;
  if (const int64_t last = disp + 16; disp != static_cast<int32_t>(disp) || last != static_cast<int32_t>(last)) {
    const Gp far = cc_.newUInt64();
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
    const Gp low = dword_of_wave(inst.operands[2 + i]);
    if (mem.bytes < 4) {
      cc_.mov(place(i, mem.bytes), mem.bytes == 1 ? Gp(low.r8()) : Gp(low.r16()));
    } else if (i + 1 < mem.count) {
      // Aligned pairs are seen whole by others.
      const Gp high = dword_of_wave(inst.operands[2 + i + 1]), pair = cc_.newUInt64(), rest = cc_.newUInt64();
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
