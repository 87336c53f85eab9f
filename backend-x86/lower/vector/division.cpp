// v_div_scale, v_div_fmas and v_div_fixup. The compiler's whole sequence is one division where it keeps denormals. Elsewhere
// operands of ordinary size need no scaling anywhere in it: then the first passes its operand through, the second is an FMA
// and the third sets the sign. Everything else is out of line.
#include "backend-x86/lower/vector/division.h"

#include <algorithm>

#include "backend-x86/helpers/helpers_float.h"
#include "backend-x86/lower/helper_calls.h"
#include "backend-x86/lower/plans/divisions.h"
#include "backend-x86/lower/segment_values.h"
#include "backend-x86/lower/vector/building_blocks.h"

namespace wavejit::backend {

using ir::ICmp;

namespace {

bool is_division_step(Op op) {
  switch (op) {
    case Op::div_scale_f32:
    case Op::div_scale_vcc_f32:
    case Op::div_scale_f64:
    case Op::div_scale_vcc_f64:
    case Op::div_fmas_f32:
    case Op::div_fmas_f64:
    case Op::div_fixup_f32:
    case Op::div_fixup_f64:
      return true;
    default:
      return false;
  }
}

// Lanes whose quotient may need the scaling of the division sequence; null if no lane can.
const MaskReg* odd_division(Lowering& ctx, const Inst* denominator, const Inst* numerator, unsigned chunk) {
  const auto [entry, inserted] = ctx.reused->odd_divisions.try_emplace({denominator, numerator, chunk});
  std::optional<MaskReg>& found = entry->second;
  if (!inserted && ctx.on(Optimisation::segment_reuse)) return found ? &*found : nullptr;
  const bool wide = denominator->type == ir::kV64;
  const OrdinaryRange range = wide ? kOrdinary64 : kOrdinary32;
  std::optional<Vec> farthest;
  for (const Inst* value : {denominator, numerator}) {
    if (value->is_const()) {
      const auto bits = static_cast<uint32_t>(wide ? value->imm >> 32 : value->imm) & 0x7fffffff;
      if (bits - range.first < range.size) continue;
    }
    Vec bits;
    if (wide) {
      bits = ctx.isa->vec();
      ctx.isa->hi32(bits, ctx.v64(value, chunk));
    } else {
      bits = ctx.v32(value, chunk);
    }
    const Vec magnitude = ctx.isa->and_(bits, ctx.isa->c32(0x7fffffff));
    const Vec distance = ctx.isa->make(I::kIdVpsubd, magnitude, ctx.isa->c32(range.first));
    farthest = farthest ? ctx.isa->make(I::kIdVpmaxud, *farthest, distance) : distance;
  }
  found.reset();
  if (!farthest) return nullptr;
  found = ctx.isa->mask();
  ctx.isa->cmp32(*found, ICmp::uge, *farthest, ctx.isa->c32(range.size), nullptr);
  return &*found;
}

void emit_folded_division(Lowering& ctx, const Inst& inst, unsigned chunk) {
  Inst* const operands[] = {inst.operands[1], inst.operands[2]};  // denominator, numerator
  if (inst.op == Op::div_fixup_f64) {
    const Vec64 d = ctx.v64(operands[0], chunk), n = ctx.v64(operands[1], chunk);
    for (unsigned i = 0; i < 2; ++i) ctx.cc.emit(I::kIdVdivpd, ctx.dst64(inst, chunk).part[i], n.part[i], d.part[i]);
    return;
  }
  // The host's division rounds the exact quotient, makes the same of zeros, infinities and NaNs, and prefers the numerator's NaN.
  const bool exact = keeps_denormals(inst) && keeps_denormals(*ctx.divisions->steps.at(inst.id));
  const MaskReg* odd = exact ? nullptr : odd_division(ctx, operands[0], operands[1], chunk);
  const Label slow = ctx.cc.new_label(), divide = ctx.cc.new_label(), join = ctx.cc.new_label();
  if (odd != nullptr) ctx.cc.j(ctx.isa->test_any({odd, 1}), slow);
  ctx.cc.bind(divide);
  ctx.cc.emit(I::kIdVdivps, ctx.dst(inst, chunk), ctx.v32(operands[1], chunk), ctx.v32_operand(operands[0], chunk));
  ctx.cc.bind(join);
  if (odd == nullptr) return;
  ctx.cold([&] {
    ctx.cc.bind(slow);
    if (keeps_denormals(*ctx.divisions->steps.at(inst.id))) {
      // Zeros, infinities and NaNs are the only odd ones mostly.
      std::optional<Vec> farthest;
      for (const Inst* value : operands) {
        const Vec magnitude = ctx.isa->and_(ctx.v32(value, chunk), ctx.isa->c32(0x7fffffff));
        const Vec below = ctx.isa->make(I::kIdVpsubd, magnitude, ctx.isa->c32(1));
        farthest = farthest ? ctx.isa->make(I::kIdVpmaxud, *farthest, below) : below;
      }
      const MaskReg hard = ctx.isa->mask();
      ctx.isa->cmp32(hard, ICmp::ult, *farthest, ctx.isa->c32(0x7f7fffff), odd);
      const Label steps = ctx.cc.new_label();
      ctx.cc.j(ctx.isa->test_any({&hard, 1}), steps);
      ctx.cc.jmp(divide);
      ctx.cc.bind(steps);
    }
    call_helper(ctx, inst, &divide_f32, operands, chunk, 1);
    ctx.cc.jmp(join);
  });
}

void emit_fixup32(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const Inst *denominator = inst.operands[1], *numerator = inst.operands[2];
  const Label slow = ctx.cc.new_label(), join = ctx.cc.new_label();
  const Vec quotient = ctx.v32(inst.operands[0], chunk);
  MaskReg odd = fcmp(ctx, kUnordered, quotient, quotient);
  if (const MaskReg* operands = odd_division(ctx, denominator, numerator, chunk)) odd = either(ctx, odd, *operands);
  ctx.cc.j(ctx.isa->test_any({&odd, 1}), slow);
  const Vec sign = ctx.isa->xor_(ctx.v32(denominator, chunk), ctx.v32(numerator, chunk));
  ctx.isa->bit_select(ctx.dst(inst, chunk), ctx.isa->const32(0x80000000), sign, quotient);
  ctx.cc.bind(join);
  chunk_helper(ctx, inst, chunk, slow, join, true);
}

}  // namespace

bool emit_division(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const Label slow = ctx.cc.new_label(), join = ctx.cc.new_label();
  bool slow_used = false;
  const auto to_slow_if_any = [&](const MaskReg& lanes) {
    ctx.cc.j(ctx.isa->test_any({&lanes, 1}), slow);
    slow_used = true;
  };
  const auto finish = [&](bool own_env) {
    if (slow_used) {
      ctx.cc.bind(join);
      chunk_helper(ctx, inst, chunk, slow, join, own_env);
    }
    return true;
  };
  if (!ctx.on(Optimisation::plain_divisions) && !ctx.divisions->steps.contains(inst.id)) {
    if (!is_division_step(inst.op)) return false;
    ctx.cc.jmp(slow);
    slow_used = true;
    return finish(inst.op != Op::div_fmas_f32 && inst.op != Op::div_fmas_f64);
  }
  switch (inst.op) {
    case Op::div_scale_f32:
    case Op::div_scale_vcc_f32:
    case Op::div_scale_f64:
    case Op::div_scale_vcc_f64:
      if (const MaskReg* odd = odd_division(ctx, operand(1), operand(2), chunk)) to_slow_if_any(*odd);
      if (inst.type == ir::kMask) {
        ctx.isa->set_mask_const(ctx.dst_mask(inst, chunk), 0);
      } else if (inst.type == ir::kV64) {
        for (unsigned i = 0; i < 2; ++i)
          ctx.isa->mov(ctx.dst64(inst, chunk).part[i], ctx.v64(operand(0), chunk).part[i]);
      } else {
        ctx.isa->mov(ctx.dst(inst, chunk), ctx.v32(operand(0), chunk));
      }
      return finish(true);
    case Op::div_fmas_f32:
    case Op::div_fmas_f64: {
      if (!operand(3)->is_const(0)) to_slow_if_any(ctx.mask(operand(3), chunk));
      if (inst.op == Op::div_fmas_f32) {
        ctx.isa->mov(ctx.dst(inst, chunk),
                     fma32(ctx, ctx.v32(operand(0), chunk), ctx.v32(operand(1), chunk), ctx.v32(operand(2), chunk)));
      } else {
        for (unsigned i = 0; i < 2; ++i) {
          const Vec r = ctx.isa->vec();
          ctx.isa->mov(r, ctx.v64(operand(2), chunk).part[i]);
          ctx.cc.emit(I::kIdVfmadd231pd, r, ctx.v64(operand(0), chunk).part[i], ctx.v64(operand(1), chunk).part[i]);
          ctx.isa->mov(ctx.dst64(inst, chunk).part[i], r);
        }
      }
      return finish(false);
    }
    case Op::div_fixup_f32:
      if (ctx.divisions->steps.contains(inst.id)) {
        emit_folded_division(ctx, inst, chunk);
      } else {
        emit_fixup32(ctx, inst, chunk);
      }
      return true;
    case Op::div_fixup_f64: {
      if (ctx.divisions->steps.contains(inst.id)) {
        emit_folded_division(ctx, inst, chunk);
        return true;
      }
      const Vec64 q = ctx.v64(operand(0), chunk), d = ctx.v64(operand(1), chunk), n = ctx.v64(operand(2), chunk);
      MaskReg odd = ctx.isa->mask();
      ctx.isa->fcmp64(odd, kUnordered, q, q, nullptr);
      if (const MaskReg* operands = odd_division(ctx, operand(1), operand(2), chunk)) odd = either(ctx, odd, *operands);
      to_slow_if_any(odd);
      const Vec sign = ctx.isa->const64(uint64_t{1} << 63);
      for (unsigned i = 0; i < 2; ++i)
        ctx.isa->bit_select(ctx.dst64(inst, chunk).part[i], sign, ctx.isa->xor_(d.part[i], n.part[i]), q.part[i]);
      return finish(true);
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
