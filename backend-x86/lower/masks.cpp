// Lane masks: logic, comparisons' results, and their use as numbers.
#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {

bool Emitter::emit_mask(const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  switch (inst.op) {
    case Op::splat_mask: {
      // 0 or 1 -> no or all lanes.
      Gp t = cc_.new_gp32();
      cc_.mov(t, gp(operand(0)));
      cc_.neg(t);
      isa_->mask_from_bits(dst_mask(inst, chunk), t);
      return true;
    }
    case Op::i64_to_mask: {
      Gp t = cc_.new_gp64();
      cc_.mov(t, gp(operand(0)));
      if (chunk > 0) cc_.shr(t, chunk * isa_->lanes);
      isa_->mask_from_bits(dst_mask(inst, chunk), t);
      return true;
    }
    default:
      break;
  }
  if (inst.type != ir::kMask) return false;
  switch (inst.op) {
    case Op::and_: {
      for (unsigned i = 0; i < 2; ++i) {
        if (!is_fused(operand(i))) continue;
        const MaskReg under = mask(operand(1 - i), chunk);
        emit_compare(*operand(i), chunk, dst_mask(inst, chunk), &under);
        return true;
      }
      isa_->mask_and(dst_mask(inst, chunk), mask(operand(0), chunk), mask(operand(1), chunk));
      return true;
    }
    case Op::or_:
      isa_->mask_or(dst_mask(inst, chunk), mask(operand(0), chunk), mask(operand(1), chunk));
      return true;
    case Op::xor_:
      isa_->mask_xor(dst_mask(inst, chunk), mask(operand(0), chunk), mask(operand(1), chunk));
      return true;
    case Op::andn:
      isa_->mask_andn(dst_mask(inst, chunk), mask(operand(0), chunk), mask(operand(1), chunk));
      return true;
    case Op::not_:
      isa_->mask_not(dst_mask(inst, chunk), mask(operand(0), chunk));
      return true;
    case Op::select: {
      const MaskReg c = condition_mask(operand(0), chunk);
      MaskReg from_a = isa_->mask(), from_b = isa_->mask();
      isa_->mask_and(from_a, mask(operand(1), chunk), c);
      isa_->mask_andn(from_b, mask(operand(2), chunk), c);
      isa_->mask_or(dst_mask(inst, chunk), from_a, from_b);
      return true;
    }
    case Op::extract:
      isa_->mov_mask(dst_mask(inst, chunk), reg(operand(0), static_cast<unsigned>(inst.imm), chunk, 0));
      return true;
    case Op::icmp:
    case Op::fcmp_f32:
    case Op::fcmp_f64:
      emit_compare(inst, chunk, dst_mask(inst, chunk), nullptr);
      return true;
    default:
      return false;
  }
}

// A mask from a condition: a mask, or a scalar for all lanes.
MaskReg Emitter::condition_mask(const Inst* condition, unsigned chunk) {
  if (condition->type == ir::kMask) return mask(condition, chunk);
  Gp t = cc_.new_gp32();
  cc_.mov(t, gp(condition));
  cc_.neg(t);
  MaskReg d = isa_->mask();
  isa_->mask_from_bits(d, t);
  return d;
}

// vcmpps predicates by the bits of FCmp: 1 less, 2 equal, 4 greater, 8 unordered; quiet forms.
static constexpr uint8_t kFloatPredicates[16] = {0x0b, 0x11, 0x00, 0x12, 0x1e, 0x0c, 0x1d, 0x07,
                                                 0x03, 0x19, 0x08, 0x1a, 0x16, 0x04, 0x15, 0x0f};

void Emitter::emit_fcmp32(uint32_t attr, const MaskReg& d, const Vec& a, const Operand_& b, const MaskReg* under) {
  isa_->fcmp32(d, kFloatPredicates[attr >> ir::fpenv::kFCmpShift & 15], a, b, under);
}

void Emitter::emit_compare(const Inst& inst, unsigned chunk, const MaskReg& d, const MaskReg* under) {
  const Inst* a = inst.operands[0];
  const Inst* b = inst.operands[1];
  switch (inst.op) {
    case Op::icmp: {
      const auto p = static_cast<ir::ICmp>(inst.attr);
      if (a->type == ir::kV64) {
        isa_->cmp64(d, p, v64(a, chunk), v64(b, chunk), under);
      } else {
        isa_->cmp32(d, p, v32(a, chunk), v32_operand(b, chunk), under);
      }
      break;
    }
    case Op::fcmp_f32:
      emit_fcmp32(inst.attr, d, v32(a, chunk), v32_operand(b, chunk), under);
      break;
    case Op::fcmp_f64:
      isa_->fcmp64(d, kFloatPredicates[inst.attr >> ir::fpenv::kFCmpShift & 15], v64(a, chunk), v64(b, chunk), under);
      break;
    default:
      fail(inst);
      break;
  }
}

Gp Emitter::mask_to_number(const Inst* value) {
  Gp d = cc_.new_gp64();
  if (value->is_const()) {
    cc_.mov(d, value->imm);
    return d;
  }
  cc_.mov(d.r32(), isa_->mask_bits(mask(value, 0)));
  for (unsigned c = 1; c < chunks_; ++c) {
    Gp part = cc_.new_gp64();
    cc_.mov(part.r32(), isa_->mask_bits(mask(value, c)));
    cc_.shl(part, c * isa_->lanes);
    cc_.or_(d, part);
  }
  return d;
}

// The bits of a 64-bit register become the mask that `inst` defines.
void Emitter::number_to_mask(const Gp& number, const Inst& inst) {
  Gp t = cc_.new_gp64();
  cc_.mov(t, number);
  for (unsigned c = 0; c < chunks_; ++c) {
    if (c > 0) cc_.shr(t, isa_->lanes);
    isa_->mask_from_bits(dst_mask(inst, c), t);
  }
}

bool Emitter::emit_mask_number(const Inst& inst) {
  switch (inst.op) {
    case Op::mask_to_i64:
      cc_.mov(dst_gp(inst), mask_to_number(inst.operands[0]));
      return true;
    case Op::mask_any:
    case Op::mask_all: {
      const x86::CondCode condition = test_mask(inst);
      Gp t = cc_.new_gp8();
      cc_.emit(x86::Inst::setccFromCond(condition), t);
      cc_.movzx(dst_gp(inst), t);
      return true;
    }
    case Op::mbcnt: {
      const Gp bits = mask_to_number(inst.operands[0]);
      for (unsigned c = 0; c < chunks_; ++c) isa_->mov(dst(inst, c), count_below(bits, c));
      return true;
    }
    default:
      return false;
  }
}

// Those of earlier chunks, plus popcount(bits & ((1 << lane) - 1)) within the chunk.
Vec Emitter::count_below(const Gp& bits, unsigned chunk) {
  const Gp before = cc_.new_gp64(), own = cc_.new_gp64();
  cc_.mov(own, bits);
  if (chunk > 0) {
    cc_.bzhi(before, bits, lane_number(chunk * isa_->lanes));
    cc_.popcnt(before, before);
    cc_.shr(own, chunk * isa_->lanes);
  }
  uint32_t below[16];
  for (unsigned l = 0; l < isa_->lanes; ++l) below[l] = (1u << l) - 1;
  Vec splat = isa_->vec();
  isa_->splat32(splat, own.r32());
  const Vec count = popcount32(isa_->and_(splat, pool_.get(below, isa_->bytes())));
  if (chunk == 0) return count;
  Vec base = isa_->vec();
  isa_->splat32(base, before.r32());
  return isa_->make(I::kIdVpaddd, count, base);
}

Gp Emitter::lane_number(uint32_t value) {
  Gp d = cc_.new_gp64();
  cc_.mov(d.r32(), value);
  return d;
}

}  // namespace wavejit::backend
