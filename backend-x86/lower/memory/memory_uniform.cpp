// Stores of all lanes to one place: one store of the wave, of the last active lane's data. A wave without active lanes
// reads no data.
//
// The hardware writes such a place once per instruction. A store per lane would be visible between the lanes: another
// work-group could react to the first store, and the next one would overwrite its reaction.
#include <algorithm>
#include <bit>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/vector/cross_lane.h"
#include "backend-x86/lower/vector/masks.h"

namespace wavejit::backend {
namespace {

bool same_in_all_lanes(const Inst* data) {
  return data->is_const() || data->op == Op::splat;
}

}  // namespace

bool is_store_of_wave(const Inst& inst) {
  return inst.op == Op::store && inst.mem.form == ir::AddressForm::base_only;
}

namespace {

// A dword of the lane `last`; must not be written.
Gp dword_of_wave(Lowering& ctx, const Inst* value, const Operand& last) {
  if (value->op == Op::splat && !ctx.classes.is_shared(value->operands[0])) return ctx.gp(value->operands[0]);
  const Gp d = ctx.cc.new_gp32();
  if (value->is_const()) {
    ctx.cc.mov(d, static_cast<uint32_t>(value->imm));
  } else if (ctx.is_uniform(value)) {
    ctx.isa->low32(d, ctx.v32(value, 0));
  } else {
    forget_rows(ctx);  // the store may lie behind a branch
    read_lane(ctx, d, value, last);
    forget_rows(ctx);
  }
  return d;
}

}  // namespace

bool emit_store_of_wave(Lowering& ctx, const Inst& inst) {
  if (!is_store_of_wave(inst)) return false;
  const ir::MemAttr& mem = inst.mem;
  const Inst* lanes = inst.operands[0];
  const asmjit::Label join = ctx.cc.new_label();
  Operand last;
  if (lanes->is_const() && lanes->imm != 0) {
    last = asmjit::imm(63 - std::countl_zero(lanes->imm));
    ctx.cc.mov(ctx.wave_field(offsetof(WaveState, fault_lane), 4), asmjit::imm(std::countr_zero(lanes->imm)));
  } else {
    const Gp number = mask_to_number(ctx, lanes), first = ctx.cc.new_gp64();
    ctx.cc.tzcnt(first, number);  // sets carry if there is none
    ctx.cc.jc(join);
    ctx.cc.mov(ctx.wave_field(offsetof(WaveState, fault_lane), 4), first.r32());
    if (!std::all_of(inst.operands.begin() + 2, inst.operands.end(), same_in_all_lanes)) {
      const Gp lane = ctx.cc.new_gp64();
      ctx.cc.lzcnt(lane, number);
      ctx.cc.xor_(lane.r32(), kWaveSize - 1);
      last = lane;
    }
  }
  Gp base = ctx.gp(inst.operands[1]);
  int64_t disp = mem.imm;
  if (const int64_t end = disp + 16; disp != static_cast<int32_t>(disp) || end != static_cast<int32_t>(end)) {
    const Gp far = ctx.cc.new_gp64();
    ctx.cc.mov(far, disp);
    ctx.cc.add(far, base);
    base = far;
    disp = 0;
  }
  const auto place = [&](unsigned element, unsigned bytes) {
    ctx.faults.mark({.guest_pc = inst.guest_pc,
                     .first_lane = 0,
                     .lanes = kWaveSize,
                     .element_bytes = mem.bytes,
                     .write = true,
                     .lane_in_state = true});
    return x86::ptr(base, static_cast<int32_t>(disp) + static_cast<int32_t>(element * mem.bytes), bytes);
  };
  for (unsigned i = 0; i < mem.count; ++i) {
    const Gp low = dword_of_wave(ctx, inst.operands[2 + i], last);
    if (mem.bytes < 4) {
      ctx.cc.mov(place(i, mem.bytes), mem.bytes == 1 ? Gp(low.r8()) : Gp(low.r16()));
    } else if (i + 1 < mem.count) {
      // Aligned pairs are seen whole by others.
      const Gp high = dword_of_wave(ctx, inst.operands[2 + i + 1], last), pair = ctx.cc.new_gp64(),
               rest = ctx.cc.new_gp64();
      ctx.cc.mov(pair.r32(), high.r32());
      ctx.cc.shl(pair, 32);
      ctx.cc.mov(rest.r32(), low.r32());
      ctx.cc.or_(pair, rest);
      ctx.cc.mov(place(i, 8), pair);
      ++i;
    } else {
      ctx.cc.mov(place(i, 4), low.r32());
    }
  }
  ctx.cc.bind(join);
  return true;
}

}  // namespace wavejit::backend
