#include "backend-x86/lower/vector/masks.h"

#include "backend-x86/lower/control.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

namespace {

// vcmpps predicates by the bits of FCmp: 1 less, 2 equal, 4 greater, 8 unordered; quiet forms.
constexpr uint8_t kFloatPredicates[16] = {0x0b, 0x11, 0x00, 0x12, 0x1e, 0x0c, 0x1d, 0x07,
                                          0x03, 0x19, 0x08, 0x1a, 0x16, 0x04, 0x15, 0x0f};

void emit_compare(Lowering& ctx, const Inst& inst, unsigned chunk, const MaskReg& d, const MaskReg* under) {
  const Inst* a = inst.operands[0];
  const Inst* b = inst.operands[1];
  switch (inst.op) {
    case Op::icmp: {
      const auto p = static_cast<ir::ICmp>(inst.attr);
      if (a->type == ir::kV64) {
        ctx.isa->cmp64(d, p, ctx.v64(a, chunk), ctx.v64(b, chunk), under);
      } else {
        ctx.isa->cmp32(d, p, ctx.v32(a, chunk), ctx.v32_operand(b, chunk), under);
      }
      break;
    }
    case Op::fcmp_f32:
      emit_fcmp32(ctx, inst.attr, d, ctx.v32(a, chunk), ctx.v32_operand(b, chunk), under);
      break;
    case Op::fcmp_f64:
      ctx.isa->fcmp64(d, kFloatPredicates[inst.attr >> ir::fpenv::kFCmpShift & 15], ctx.v64(a, chunk),
                      ctx.v64(b, chunk), under);
      break;
    default:
      ctx.fail(inst);
      break;
  }
}

}  // namespace

bool emit_mask(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  switch (inst.op) {
    case Op::splat_mask: {
      // 0 or 1 -> no or all lanes.
      Gp t = ctx.cc.new_gp32();
      ctx.cc.mov(t, ctx.gp(operand(0)));
      ctx.cc.neg(t);
      ctx.isa->mask_from_bits(ctx.dst_mask(inst, chunk), t);
      return true;
    }
    case Op::i64_to_mask: {
      Gp t = ctx.cc.new_gp64();
      ctx.cc.mov(t, ctx.gp(operand(0)));
      if (chunk > 0) ctx.cc.shr(t, chunk * ctx.isa->lanes);
      ctx.isa->mask_from_bits(ctx.dst_mask(inst, chunk), t);
      return true;
    }
    default:
      break;
  }
  if (inst.type != ir::kMask) return false;
  switch (inst.op) {
    case Op::and_: {
      for (unsigned i = 0; i < 2; ++i) {
        if (!ctx.is_fused(operand(i))) continue;
        const MaskReg under = ctx.mask(operand(1 - i), chunk);
        emit_compare(ctx, *operand(i), chunk, ctx.dst_mask(inst, chunk), &under);
        return true;
      }
      ctx.isa->mask_and(ctx.dst_mask(inst, chunk), ctx.mask(operand(0), chunk), ctx.mask(operand(1), chunk));
      return true;
    }
    case Op::or_:
      ctx.isa->mask_or(ctx.dst_mask(inst, chunk), ctx.mask(operand(0), chunk), ctx.mask(operand(1), chunk));
      return true;
    case Op::xor_:
      ctx.isa->mask_xor(ctx.dst_mask(inst, chunk), ctx.mask(operand(0), chunk), ctx.mask(operand(1), chunk));
      return true;
    case Op::andn:
      ctx.isa->mask_andn(ctx.dst_mask(inst, chunk), ctx.mask(operand(0), chunk), ctx.mask(operand(1), chunk));
      return true;
    case Op::not_:
      ctx.isa->mask_not(ctx.dst_mask(inst, chunk), ctx.mask(operand(0), chunk));
      return true;
    case Op::select: {
      const MaskReg c = condition_mask(ctx, operand(0), chunk);
      MaskReg from_a = ctx.isa->mask(), from_b = ctx.isa->mask();
      ctx.isa->mask_and(from_a, ctx.mask(operand(1), chunk), c);
      ctx.isa->mask_andn(from_b, ctx.mask(operand(2), chunk), c);
      ctx.isa->mask_or(ctx.dst_mask(inst, chunk), from_a, from_b);
      return true;
    }
    case Op::extract:
      ctx.isa->mov_mask(ctx.dst_mask(inst, chunk), ctx.reg(operand(0), static_cast<unsigned>(inst.imm), chunk, 0));
      return true;
    case Op::icmp:
    case Op::fcmp_f32:
    case Op::fcmp_f64:
      emit_compare(ctx, inst, chunk, ctx.dst_mask(inst, chunk), nullptr);
      return true;
    default:
      return false;
  }
}

// A mask from a condition: a mask, or a scalar for all lanes.
MaskReg condition_mask(Lowering& ctx, const Inst* condition, unsigned chunk) {
  if (condition->type == ir::kMask) return ctx.mask(condition, chunk);
  Gp t = ctx.cc.new_gp32();
  ctx.cc.mov(t, ctx.gp(condition));
  ctx.cc.neg(t);
  MaskReg d = ctx.isa->mask();
  ctx.isa->mask_from_bits(d, t);
  return d;
}

void emit_fcmp32(Lowering& ctx, uint32_t attr, const MaskReg& d, const Vec& a, const Operand_& b,
                 const MaskReg* under) {
  ctx.isa->fcmp32(d, kFloatPredicates[attr >> ir::fpenv::kFCmpShift & 15], a, b, under);
}

Gp mask_to_number(Lowering& ctx, const Inst* value) {
  Gp d = ctx.cc.new_gp64();
  if (value->is_const()) {
    ctx.cc.mov(d, value->imm);
    return d;
  }
  ctx.cc.mov(d.r32(), ctx.isa->mask_bits(ctx.mask(value, 0)));
  for (unsigned c = 1; c < ctx.chunks; ++c) {
    Gp part = ctx.cc.new_gp64();
    ctx.cc.mov(part.r32(), ctx.isa->mask_bits(ctx.mask(value, c)));
    ctx.cc.shl(part, c * ctx.isa->lanes);
    ctx.cc.or_(d, part);
  }
  return d;
}

bool emit_mask_number(Lowering& ctx, const Inst& inst) {
  switch (inst.op) {
    case Op::mask_to_i64:
      ctx.cc.mov(ctx.dst_gp(inst), mask_to_number(ctx, inst.operands[0]));
      return true;
    case Op::mask_any:
    case Op::mask_all: {
      const x86::CondCode condition = test_mask(ctx, inst);
      Gp t = ctx.cc.new_gp8();
      ctx.cc.emit(x86::Inst::setccFromCond(condition), t);
      ctx.cc.movzx(ctx.dst_gp(inst), t);
      return true;
    }
    case Op::mbcnt: {
      const Gp bits = mask_to_number(ctx, inst.operands[0]);
      for (unsigned c = 0; c < ctx.chunks; ++c) ctx.isa->mov(ctx.dst(inst, c), count_below(ctx, bits, c));
      return true;
    }
    default:
      return false;
  }
}

namespace {

Gp lane_number(Lowering& ctx, uint32_t value) {
  Gp d = ctx.cc.new_gp64();
  ctx.cc.mov(d.r32(), value);
  return d;
}

}  // namespace

// Those of earlier chunks, plus popcount(bits & ((1 << lane) - 1)) within the chunk.
Vec count_below(Lowering& ctx, const Gp& bits, unsigned chunk) {
  const Gp before = ctx.cc.new_gp64(), own = ctx.cc.new_gp64();
  ctx.cc.mov(own, bits);
  if (chunk > 0) {
    ctx.cc.bzhi(before, bits, lane_number(ctx, chunk * ctx.isa->lanes));
    ctx.cc.popcnt(before, before);
    ctx.cc.shr(own, chunk * ctx.isa->lanes);
  }
  uint32_t below[16];
  for (unsigned l = 0; l < ctx.isa->lanes; ++l) below[l] = (1u << l) - 1;
  Vec splat = ctx.isa->vec();
  ctx.isa->splat32(splat, own.r32());
  const Vec count = popcount32(ctx, ctx.isa->and_(splat, ctx.pool.get(below, ctx.isa->bytes())));
  if (chunk == 0) return count;
  Vec base = ctx.isa->vec();
  ctx.isa->splat32(base, before.r32());
  return ctx.isa->make(I::kIdVpaddd, count, base);
}

}  // namespace wavejit::backend
