// v_div_scale, v_div_fmas and v_div_fixup. Operands of ordinary size need no scaling anywhere in the division sequence:
// then the first passes its operand through, the second is an FMA and the third sets the sign. Everything else is out
// of line.
#include "backend-x86/emitter.h"

namespace wavejit::backend {

using ir::ICmp;

namespace {

constexpr unsigned kUnordered = 3;

// Magnitudes in [2^-kRange, 2^kRange), as bits of a float or of the upper half of a double.
struct Ordinary {
  uint32_t first, size;
};
constexpr Ordinary kOrdinary32{(127 - 40) << 23, 80 << 23}, kOrdinary64{(1023 - 300) << 20, 600 << 20};

bool is_division_step(ir::Op op) {
  switch (op) {
    case ir::Op::div_scale_f32:
    case ir::Op::div_scale_vcc_f32:
    case ir::Op::div_scale_f64:
    case ir::Op::div_scale_vcc_f64:
    case ir::Op::div_fmas_f32:
    case ir::Op::div_fmas_f64:
    case ir::Op::div_fixup_f32:
    case ir::Op::div_fixup_f64:
      return true;
    default:
      return false;
  }
}

}  // namespace

const MaskReg* Emitter::odd_division(const Inst* denominator, const Inst* numerator, unsigned chunk) {
  const auto [entry, inserted] = odd_divisions_.try_emplace({denominator, numerator, chunk});
  std::optional<MaskReg>& found = entry->second;
  if (!inserted && on(Optimisation::segment_reuse)) return found ? &*found : nullptr;
  const bool wide = denominator->type == ir::kV64;
  const Ordinary range = wide ? kOrdinary64 : kOrdinary32;
  std::optional<Vec> farthest;
  for (const Inst* value : {denominator, numerator}) {
    if (value->is_const()) {
      const auto bits = static_cast<uint32_t>(wide ? value->imm >> 32 : value->imm) & 0x7fffffff;
      if (bits - range.first < range.size) continue;
    }
    Vec bits;
    if (wide) {
      bits = isa_->vec();
      isa_->hi32(bits, v64(value, chunk));
    } else {
      bits = v32(value, chunk);
    }
    const Vec magnitude = isa_->and_(bits, isa_->c32(0x7fffffff));
    const Vec distance = isa_->make(I::kIdVpsubd, magnitude, isa_->c32(range.first));
    farthest = farthest ? isa_->make(I::kIdVpmaxud, *farthest, distance) : distance;
  }
  found.reset();
  if (!farthest) return nullptr;
  found = isa_->new_mask();
  isa_->cmp32(*found, ICmp::uge, *farthest, isa_->c32(range.size), nullptr);
  return &*found;
}

bool Emitter::emit_division(const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const Label slow = cc_.newLabel(), join = cc_.newLabel();
  bool slow_used = false;
  const auto to_slow_if_any = [&](const MaskReg& lanes) {
    cc_.j(isa_->test_any({&lanes, 1}), slow);
    slow_used = true;
  };
  const auto finish = [&](bool own_env) {
    if (slow_used) {
      cc_.bind(join);
      chunk_helper(inst, chunk, slow, join, own_env);
    }
    return true;
  };
  if (!on(Optimisation::plain_divisions)) {
    if (!is_division_step(inst.op)) return false;
    cc_.jmp(slow);
    slow_used = true;
    return finish(inst.op != Op::div_fmas_f32 && inst.op != Op::div_fmas_f64);
  }
  switch (inst.op) {
    case Op::div_scale_f32:
    case Op::div_scale_vcc_f32:
    case Op::div_scale_f64:
    case Op::div_scale_vcc_f64:
      if (const MaskReg* odd = odd_division(operand(1), operand(2), chunk)) to_slow_if_any(*odd);
      if (inst.type == ir::kMask) {
        isa_->set_mask_const(dst_mask(inst, chunk), 0);
      } else if (inst.type == ir::kV64) {
        for (unsigned i = 0; i < 2; ++i) isa_->mov(dst64(inst, chunk).part[i], v64(operand(0), chunk).part[i]);
      } else {
        isa_->mov(dst(inst, chunk), v32(operand(0), chunk));
      }
      return finish(true);
    case Op::div_fmas_f32:
    case Op::div_fmas_f64: {
      if (!operand(3)->is_const(0)) to_slow_if_any(mask(operand(3), chunk));
      if (inst.op == Op::div_fmas_f32) {
        isa_->mov(dst(inst, chunk), fma32(v32(operand(0), chunk), v32(operand(1), chunk), v32(operand(2), chunk)));
      } else {
        for (unsigned i = 0; i < 2; ++i) {
          const Vec r = isa_->vec();
          isa_->mov(r, v64(operand(2), chunk).part[i]);
          cc_.emit(I::kIdVfmadd231pd, r, v64(operand(0), chunk).part[i], v64(operand(1), chunk).part[i]);
          isa_->mov(dst64(inst, chunk).part[i], r);
        }
      }
      return finish(false);
    }
    case Op::div_fixup_f32: {
      const Vec quotient = v32(operand(0), chunk);
      MaskReg odd = fcmp(kUnordered, quotient, quotient);
      if (const MaskReg* operands = odd_division(operand(1), operand(2), chunk)) odd = either(odd, *operands);
      to_slow_if_any(odd);
      const Vec sign = isa_->xor_(v32(operand(1), chunk), v32(operand(2), chunk));
      isa_->bit_select(dst(inst, chunk), isa_->const32(0x80000000), sign, quotient);
      return finish(true);
    }
    case Op::div_fixup_f64: {
      const Vec64 q = v64(operand(0), chunk), d = v64(operand(1), chunk), n = v64(operand(2), chunk);
      MaskReg odd = isa_->mask();
      isa_->fcmp64(odd, kUnordered, q, q, nullptr);
      if (const MaskReg* operands = odd_division(operand(1), operand(2), chunk)) odd = either(odd, *operands);
      to_slow_if_any(odd);
      const Vec sign = isa_->const64(uint64_t{1} << 63);
      for (unsigned i = 0; i < 2; ++i)
        isa_->bit_select(dst64(inst, chunk).part[i], sign, isa_->xor_(d.part[i], n.part[i]), q.part[i]);
      return finish(true);
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
