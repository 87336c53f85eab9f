// Values that LaneAddresses keeps in general registers: their arithmetic, and the way back to vectors.
#include "backend-x86/lower/memory/lane_address_code.h"

#include <algorithm>

#include "backend-x86/lower/segment_values.h"

namespace wavejit::backend {

namespace {
bool is_imm32(int64_t value) {
  return value == static_cast<int32_t>(value);
}
}  // namespace

// The value of the chunk's first lane, or, with `wave`, of the wave's: an immediate of 32 bits, or a register of the
// lane's width that must not be written.
Operand lane_base(Lowering& ctx, const Inst* value, unsigned chunk, bool wave) {
  const unsigned lane = wave ? 0 : chunk * ctx.isa->lanes;
  const bool is64 = value->type == ir::kV64;
  if (value->is_const() || value->op == Op::undef) {
    const uint64_t bits = value->is_const() ? value->imm : 0;
    if (!is64) return asmjit::imm(static_cast<int32_t>(bits));
    if (is_imm32(static_cast<int64_t>(bits))) return asmjit::imm(static_cast<int64_t>(bits));
    Gp t = ctx.cc.new_gp64();
    ctx.cc.mov(t, bits);
    return t;
  }
  if (value->op == Op::lane_id) return asmjit::imm(lane);
  const auto moved = [&](const Gp& from, int64_t by) {
    if (by == 0) return from;
    Gp t = ctx.new_gp(is64 ? 64 : 32);
    if (!is64) {
      ctx.cc.mov(t, from);
      ctx.cc.add(t, static_cast<int32_t>(by));
    } else if (is_imm32(by)) {
      ctx.cc.lea(t, x86::ptr(from, static_cast<int32_t>(by)));
    } else {
      ctx.cc.mov(t, by);
      ctx.cc.add(t, from);
    }
    return t;
  };
  if (ctx.lane_addresses.is_scalar(value)) {
    const LaneAddress& fact = ctx.lane_addresses.of(value);
    const Gp r = ctx.reg(ctx.classes.representative(value), 0, chunk, 0).as<Gp>();
    return moved(r, fact.wave && !wave ? fact.stride * lane : 0);
  }
  if ((value->op == Op::splat || value->op == Op::splat64) && !ctx.classes.is_shared(value->operands[0]) &&
      !ctx.classes.is_shared(value)) {
    return ctx.gp_operand(value->operands[0]);
  }
  // A vector: that of the first chunk there is stands for the wave.
  const unsigned from = wave ? ctx.first_chunk() : chunk;
  Gp t = ctx.new_gp(is64 ? 64 : 32);
  if (is64) {
    ctx.isa->low64(t, ctx.v64(value, from).part[0]);
  } else {
    ctx.isa->low32(t, ctx.v32(value, from));
  }
  return moved(t, wave ? -ctx.lane_addresses.of(value).stride * static_cast<int64_t>(from * ctx.isa->lanes) : 0);
}

namespace {

// A shift by up to three that the sum, its only user, does on the way.
const Inst* scaled_operand(const Lowering& ctx, const Inst& sum) {
  if (sum.op != Op::add || sum.type != ir::kV64 || sum.operands[0] == sum.operands[1]) return nullptr;
  for (const Inst* shift : sum.operands) {
    if (shift->op != Op::shl || !ctx.lane_addresses.is_scalar(shift) || !shift->operands[1]->is_const()) continue;
    if (shift->users.size() != 1 || shift->operands[1]->imm > 3 || shift->parent != sum.parent) continue;
    const LaneAddress &from = ctx.lane_addresses.of(shift->operands[0]), &to = ctx.lane_addresses.of(&sum);
    // Where a guard fails the shift is not looked at, but what it shifts.
    if (!ctx.lane_addresses.is_scalar(shift->operands[0]) || shift->operands[0]->op == Op::phi) continue;
    // A number of its own until the sum; without guards nobody asks for it again.
    const bool kept = from.guards.empty() ? to.guards.empty() && !ctx.classes.is_shared(shift->operands[0]) : true;
    if (!kept || from.wave != to.wave || ctx.lane_addresses.of(shift).wave != to.wave) continue;
    return shift;
  }
  return nullptr;
}

bool is_scaled_operand(const Lowering& ctx, const Inst& shift) {
  return shift.op == Op::shl && shift.users.size() == 1 && ctx.lane_addresses.is_scalar(shift.users[0]) &&
         scaled_operand(ctx, *shift.users[0]) == &shift;
}

// replace: takes the second operand where the first compares so with it.
void emit_lane_clamp(Lowering& ctx, const Inst& inst, unsigned chunk, InstId replace) {
  const LaneAddress& fact = ctx.lane_addresses.of(&inst);
  const Gp d = ctx.reg(ctx.classes.representative(&inst), 0, chunk, 0).as<Gp>();
  if (fact.stride != 0) {  // the index itself, if the guard holds
    const bool second = ctx.lane_addresses.of(inst.operands[0]).stride == 0;
    ctx.cc.emit(I::kIdMov, d, lane_base(ctx, inst.operands[second], chunk, fact.wave));
    return;
  }
  const Gp a = ctx.new_gp(32), b = ctx.new_gp(32);
  ctx.cc.emit(I::kIdMov, a, lane_base(ctx, inst.operands[0], chunk, fact.wave));
  ctx.cc.emit(I::kIdMov, b, lane_base(ctx, inst.operands[1], chunk, fact.wave));
  ctx.cc.cmp(a, b);
  ctx.cc.emit(replace, a, b);
  ctx.cc.mov(d, a);
}

}  // namespace

void emit_lane_address(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const bool wave = ctx.lane_addresses.of(&inst).wave;
  const Gp d = ctx.reg(ctx.classes.representative(&inst), 0, chunk, 0).as<Gp>();
  const auto operand = [&](unsigned i) { return lane_base(ctx, inst.operands[i], chunk, wave); };
  const auto binary = [&](InstId id) {
    const Operand a = operand(0), b = operand(1);
    if (b.isReg() && b.id() == d.id() && id != I::kIdSub) {  // the others commute
      ctx.cc.emit(id, d, a);
      return;
    }
    if (b.isReg() && b.id() == d.id()) {  // the result may share a register with an operand
      Gp t = ctx.new_gp(d.size() * 8);
      ctx.cc.emit(I::kIdMov, t, a);
      ctx.cc.emit(id, t, b);
      ctx.cc.mov(d, t);
      return;
    }
    if (id == I::kIdAdd && a.isReg() && a.id() != d.id()) {
      const Gp first = a.as<Gp>().r64();
      ctx.cc.lea(
          d, b.isReg() ? x86::ptr(first, b.as<Gp>().r64()) : x86::ptr(first, b.as<asmjit::Imm>().valueAs<int32_t>()));
      return;
    }
    ctx.cc.emit(I::kIdMov, d, a);
    ctx.cc.emit(id, d, b);
  };
  const auto in_register = [&](const Operand& value) {
    if (value.isReg()) return value.as<Gp>();
    Gp t = ctx.new_gp(d.size() * 8);
    ctx.cc.emit(I::kIdMov, t, value);
    return t;
  };
  const auto shift = [&](InstId by_constant, InstId by_register) {
    const unsigned bits = inst.type.bits();
    const Operand a = operand(0);
    if (inst.operands[1]->is_const()) {
      ctx.cc.emit(I::kIdMov, d, a);
      ctx.cc.emit(by_constant, d, asmjit::imm(inst.operands[1]->imm % bits));
    } else {
      ctx.cc.emit(by_register, d, in_register(a), in_register(operand(1)));  // takes the amount modulo the width, too
    }
  };
  if (is_scaled_operand(ctx, inst)) return;
  switch (inst.op) {
    case Op::phi:
      return;  // copied at the ends of the predecessors
    case Op::get_vgpr:
      ctx.cc.mov(d, ctx.row(static_cast<unsigned>(inst.imm), wave ? 0 : chunk).cloneResized(4));
      return;
    case Op::splat:
    case Op::splat64:
      ctx.cc.emit(I::kIdMov, d, ctx.gp_operand(inst.operands[0]));
      return;
    case Op::zext64: {
      const Operand a = operand(0);
      if (a.isImm()) {
        ctx.cc.mov(d.r32(), static_cast<uint32_t>(a.as<asmjit::Imm>().value()));
      } else {
        ctx.cc.mov(d.r32(), a.as<Gp>().r32());
      }
      return;
    }
    case Op::sext64: {
      const Operand a = operand(0);
      if (a.isImm()) {
        ctx.cc.mov(d, a.as<asmjit::Imm>().value());
      } else {
        ctx.cc.movsxd(d, a.as<Gp>().r32());
      }
      return;
    }
    case Op::lo32: {
      const Operand a = operand(0);
      if (a.isImm()) {
        ctx.cc.mov(d, static_cast<uint32_t>(a.as<asmjit::Imm>().value()));
      } else {
        ctx.cc.mov(d, a.as<Gp>().r32());
      }
      return;
    }
    case Op::add:
      if (const Inst* scaled = scaled_operand(ctx, inst)) {
        const Inst* other = inst.operands[inst.operands[0] == scaled];
        const Operand base = lane_base(ctx, other, chunk, wave),
                      index = lane_base(ctx, scaled->operands[0], chunk, wave);
        ctx.cc.lea(d, x86::ptr(in_register(base), in_register(index), static_cast<uint32_t>(scaled->operands[1]->imm)));
        return;
      }
      return binary(I::kIdAdd);
    case Op::sub:
      return binary(I::kIdSub);
    case Op::and_:
      return binary(I::kIdAnd);
    case Op::or_:
      return binary(I::kIdOr);
    case Op::xor_:
      return binary(I::kIdXor);
    case Op::mul: {
      Operand a = operand(0), b = operand(1);
      if (a.isImm()) std::swap(a, b);
      if (b.isImm()) {
        ctx.cc.imul(d, in_register(a), b.as<asmjit::Imm>());
      } else {
        binary(I::kIdImul);
      }
      return;
    }
    case Op::shl:
      return shift(I::kIdShl, I::kIdShlx);
    case Op::lshr:
      return shift(I::kIdShr, I::kIdShrx);
    case Op::ashr:
      return shift(I::kIdSar, I::kIdSarx);
    case Op::smin:
      return emit_lane_clamp(ctx, inst, chunk, I::kIdCmovg);
    case Op::smax:
      return emit_lane_clamp(ctx, inst, chunk, I::kIdCmovl);
    case Op::umin:
      return emit_lane_clamp(ctx, inst, chunk, I::kIdCmova);
    case Op::umax:
      return emit_lane_clamp(ctx, inst, chunk, I::kIdCmovb);
    default:
      ctx.fail(inst, "address arithmetic");
  }
}

// A register whose sign says that one of the clamps is more than the index itself somewhere in the lanes that the
// numbers speak for. Computed once in a segment.
Gp clamp_test(Lowering& ctx, const std::vector<const Inst*>& clamps, unsigned chunk) {
  const bool wave =
      std::all_of(clamps.begin(), clamps.end(), [&](const Inst* clamp) { return ctx.lane_addresses.of(clamp).wave; });
  const auto [entry, inserted] = ctx.reused->clamp_tests.try_emplace({clamps, wave ? 0 : chunk});
  if (!inserted) return entry->second;
  const Gp failed = entry->second = ctx.cc.new_gp64();
  ctx.cc.xor_(failed.r32(), failed.r32());
  for (const Inst* clamp : clamps) {
    const bool one = ctx.lane_addresses.of(clamp).wave;
    const bool is_signed = clamp->op == Op::smin || clamp->op == Op::smax;
    const bool second = ctx.lane_addresses.of(clamp->operands[0]).stride == 0;
    const int64_t span =
        ctx.lane_addresses.of(clamp).stride * static_cast<int64_t>((one ? ctx.tile : ctx.isa->lanes) - 1);
    const auto extended = [&](const Inst* value) {
      const Operand from = lane_base(ctx, value, chunk, one);
      Gp t = ctx.cc.new_gp64();
      if (from.isImm()) {
        const int64_t bits = from.as<asmjit::Imm>().value();
        ctx.cc.mov(t, is_signed ? bits : static_cast<int64_t>(static_cast<uint32_t>(bits)));
      } else if (is_signed) {
        ctx.cc.movsxd(t, from.as<Gp>().r32());
      } else {
        ctx.cc.mov(t.r32(), from.as<Gp>().r32());
      }
      return t;
    };
    const Gp first = extended(clamp->operands[second]), bound = extended(clamp->operands[!second]);
    if (clamp->op == Op::smin || clamp->op == Op::umin) {
      // The last lane is not above the bound, and so does not wrap around either.
      ctx.cc.sub(bound, first);
      if (span != 0) ctx.cc.sub(bound, static_cast<int32_t>(span));
      ctx.cc.or_(failed, bound);
      continue;
    }
    Gp room = ctx.cc.new_gp64();
    ctx.cc.mov(room, (is_signed ? INT32_MAX : int64_t{UINT32_MAX}) - span);
    ctx.cc.sub(room, first);
    ctx.cc.or_(failed, room);
    ctx.cc.sub(first, bound);
    ctx.cc.or_(failed, first);
  }
  return failed;
}

// The flags after the comparison, and the condition under which the guard fails: the index wraps around somewhere in
// the lanes that the number speaks for.
x86::CondCode test_guard(Lowering& ctx, const Inst* guard, unsigned chunk) {
  const bool extends = guard->op == Op::zext64 || guard->op == Op::sext64;
  const Inst* index = extends ? guard->operands[0] : guard;
  const LaneAddress& fact = ctx.lane_addresses.of(index);
  const bool wave = ctx.lane_addresses.of(guard).wave;
  // The low half of an extension is the index. It is read rather than the index, which may be gone by now.
  const Operand value = lane_base(ctx, guard, chunk, wave);
  Gp first;
  if (value.isImm()) {
    first = ctx.new_gp(32);
    ctx.cc.mov(first, static_cast<uint32_t>(value.as<asmjit::Imm>().value()));
  } else {
    first = value.as<Gp>().r32();
  }
  const int64_t span = fact.stride * static_cast<int64_t>((wave ? ctx.tile : ctx.isa->lanes) - 1);
  const bool is_signed = guard->op == Op::sext64;
  const int64_t low = is_signed ? INT32_MIN : 0, high = is_signed ? INT32_MAX : UINT32_MAX;
  if (span > high - low || span < low - high) {  // never without wrapping
    const Gp zero = ctx.new_gp(32);
    ctx.cc.xor_(zero, zero);
    return x86::CondCode::kZ;
  }
  if (span >= 0) {
    ctx.cc.cmp(first, static_cast<int32_t>(high - span));
    return is_signed ? x86::CondCode::kG : x86::CondCode::kA;
  }
  ctx.cc.cmp(first, static_cast<int32_t>(low - span));
  return is_signed ? x86::CondCode::kL : x86::CondCode::kB;
}

namespace {

// first + stride * lane, mod 2^32.
Vec strided_vector(Lowering& ctx, const Gp& first, int64_t stride) {
  Vec d = ctx.isa->vec();
  ctx.isa->splat32(d, first.r32());
  if (stride == 0) return d;
  return ctx.isa->make(I::kIdVpaddd, d, ctx.isa->lane_table(0, static_cast<uint32_t>(stride)));
}

}  // namespace

// The vector of a 32-bit value that is_scalar(), or any other; from the values without guards up.
Vec lane_vector32(Lowering& ctx, const Inst* value, unsigned chunk) {
  if (!ctx.lane_addresses.is_scalar(value)) return ctx.v32(value, chunk);
  if (!ctx.lane_addresses.of(value).guards.empty()) {
    const Vec a = lane_vector32(ctx, value->operands[0], chunk), b = lane_vector32(ctx, value->operands[1], chunk);
    switch (value->op) {
      case Op::add:
        return ctx.isa->make(I::kIdVpaddd, a, b);
      case Op::sub:
        return ctx.isa->make(I::kIdVpsubd, a, b);
      case Op::smin:
        return ctx.isa->make(I::kIdVpminsd, a, b);
      case Op::smax:
        return ctx.isa->make(I::kIdVpmaxsd, a, b);
      case Op::umin:
        return ctx.isa->make(I::kIdVpminud, a, b);
      case Op::umax:
        return ctx.isa->make(I::kIdVpmaxud, a, b);
      default:
        WAVEJIT_CHECK(false, "an index that is not made of clamps and sums");
    }
  }
  const Operand first = lane_base(ctx, value, chunk, false);
  return strided_vector(ctx, first.as<Gp>(), ctx.lane_addresses.of(value).stride);
}

// The same for 64-bit values; where there are guards, from the extensions up, as these may have wrapped around.
Vec64 lane_vector64(Lowering& ctx, const Inst* value, unsigned chunk) {
  if (!ctx.lane_addresses.is_scalar(value)) return ctx.v64(value, chunk);
  const LaneAddress& fact = ctx.lane_addresses.of(value);
  Vec64 d = ctx.isa->vec64();
  if (fact.guards.empty()) {
    const Operand first = lane_base(ctx, value, chunk, false);
    for (unsigned i = 0; i < 2; ++i) {
      ctx.isa->splat64(d.part[i], first.as<Gp>());
      if (fact.stride != 0)
        ctx.cc.emit(I::kIdVpaddq, d.part[i], d.part[i], ctx.isa->lane_table64(i, static_cast<uint64_t>(fact.stride)));
    }
    return d;
  }
  switch (value->op) {
    case Op::zext64:
    case Op::sext64: {
      const LaneAddress& index = ctx.lane_addresses.of(value->operands[0]);
      if (!index.guards.empty()) {
        const Vec narrow = lane_vector32(ctx, value->operands[0], chunk);
        value->op == Op::zext64 ? ctx.isa->zext64(d, narrow) : ctx.isa->sext64(d, narrow);
        return d;
      }
      Gp first = ctx.new_gp(32);
      ctx.cc.mov(first, ctx.reg(ctx.classes.representative(value), 0, chunk, 0).as<Gp>().r32());
      if (fact.wave && chunk != 0) ctx.cc.add(first, static_cast<int32_t>(index.stride * chunk * ctx.isa->lanes));
      const Vec narrow = strided_vector(ctx, first, index.stride);
      value->op == Op::zext64 ? ctx.isa->zext64(d, narrow) : ctx.isa->sext64(d, narrow);
      return d;
    }
    case Op::shl: {
      const Vec64 a = lane_vector64(ctx, value->operands[0], chunk);
      for (unsigned i = 0; i < 2; ++i)
        ctx.cc.emit(I::kIdVpsllq, d.part[i], a.part[i], asmjit::imm(value->operands[1]->imm % 64));
      return d;
    }
    case Op::add: {
      const Vec64 a = lane_vector64(ctx, value->operands[0], chunk), b = lane_vector64(ctx, value->operands[1], chunk);
      for (unsigned i = 0; i < 2; ++i) ctx.cc.emit(I::kIdVpaddq, d.part[i], a.part[i], b.part[i]);
      return d;
    }
    default:
      WAVEJIT_CHECK(false, "an address that is not made of extensions, shifts and sums");
      return d;
  }
}

}  // namespace wavejit::backend
