// v_div_scale, v_div_fmas and v_div_fixup. The compiler's whole sequence is one division where it keeps denormals. Elsewhere
// operands of ordinary size need no scaling anywhere in it: then the first passes its operand through, the second is an FMA
// and the third sets the sign. Everything else is out of line.
#include <algorithm>

#include "backend-x86/helpers/helpers_float.h"
#include "backend-x86/lower/emitter.h"

namespace wavejit::backend {

using ir::ICmp;
using ir::Inst;
using ir::Op;

namespace {

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

bool keeps_denormals(const Inst& inst) {
  constexpr uint32_t kKept = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  return (inst.attr & kKept) == kKept;
}

}  // namespace

const MaskReg* Emitter::odd_division(const Inst* denominator, const Inst* numerator, unsigned chunk) {
  const auto [entry, inserted] = odd_divisions_.try_emplace({denominator, numerator, chunk});
  std::optional<MaskReg>& found = entry->second;
  if (!inserted && on(Optimisation::segment_reuse)) return found ? &*found : nullptr;
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
  found = isa_->mask();
  isa_->cmp32(*found, ICmp::uge, *farthest, isa_->c32(range.size), nullptr);
  return &*found;
}

namespace {

// The compiler's division of f32 or f64 numbers, backwards from its last step: 1/d by v_rcp and one Newton step (f64: two),
// the quotient of that, and two corrections by the remainder (f64: one). v_rcp is correctly rounded here, hence so is 1/d
// behind the steps (the residual is exact), and so is the quotient behind the last correction (Markstein, IBM J. Res. Dev.
// 34, 1990). The scaling makes that so for operands of any size; docs/isa-decisions.md has its rules.
class DivisionSequence {
 public:
  explicit DivisionSequence(const Inst& fixup) : fixup_(fixup), wide_(fixup.op == Op::div_fixup_f64) {}

  [[nodiscard]] bool matches() {
    const Inst* fmas = step(fixup_.operands[0], wide_ ? Op::div_fmas_f64 : Op::div_fmas_f32);
    if (fmas == nullptr || fmas->attr != fixup_.attr) return false;
    const Inst *remainder = fmas->operands[0], *reciprocal = fmas->operands[1], *quotient = fmas->operands[2];
    const Inst* vcc = step(fmas->operands[3], wide_ ? Op::div_scale_vcc_f64 : Op::div_scale_vcc_f32);
    if (vcc == nullptr ||
        vcc->operands != std::vector<Inst*>{fixup_.operands[2], fixup_.operands[1], fixup_.operands[2]})
      return false;
    // remainder = n - d * quotient
    if (!is_remainder(remainder, quotient)) return false;
    if (!wide_) {
      if (step(quotient, fma_) == nullptr || !has_factor(quotient, reciprocal)) return false;
      const Inst* first = quotient->operands[2];
      if (!is_remainder(other_factor(quotient, reciprocal), first)) return false;
      quotient = first;
    }
    if (step(quotient, wide_ ? Op::fmul_f64 : Op::fmul_f32) == nullptr || !has_factor(quotient, reciprocal))
      return false;
    if (other_factor(quotient, reciprocal) != scaled_n_) return false;
    // reciprocal = estimate + estimate * (1 - d * estimate)
    const Inst* estimate = reciprocal;
    for (unsigned i = 0; i < (wide_ ? 2 : 1); ++i) {
      const Inst* better = estimate;
      if (step(better, fma_) == nullptr) return false;
      estimate = better->operands[2];
      if (!has_factor(better, estimate)) return false;
      const Inst* residual = other_factor(better, estimate);
      const uint64_t one = wide_ ? 0x3ff0000000000000 : 0x3f800000;
      if (step(residual, fma_) == nullptr || !residual->operands[2]->is_const(one)) return false;
      if (!has_factor(residual, estimate) || other_factor(residual, estimate) != negative_d_) return false;
    }
    if (step(estimate, wide_ ? Op::frcp_f64 : Op::frcp_f32) == nullptr || estimate->operands[0] != scaled_d_)
      return false;
    return std::all_of(steps_.begin(), steps_.end(), [&](const Inst* own) {
      return own->parent == fixup_.parent && std::all_of(own->users.begin(), own->users.end(), [&](const Inst* user) {
               return user == &fixup_ || std::find(steps_.begin(), steps_.end(), user) != steps_.end();
             });
    });
  }
  [[nodiscard]] const std::vector<const Inst*>& steps() const { return steps_; }
  // One of those that need the mode of the sequence.
  [[nodiscard]] const Inst* multiply_add() const { return fixup_.operands[0]->operands[0]; }

 private:
  const Inst* step(const Inst* value, Op op) {
    if (value->op != op) return nullptr;
    // Where denormals are kept, only rounding matters; f64 is folded there alone. Where a program flushes denormals of f32, compilers
    // keep them in the multiply-adds, between v_rcp and v_div_fmas.
    if (op != scale_ && op != Op::div_scale_vcc_f32 && op != Op::div_scale_vcc_f64 && op != Op::xor_) {
      if ((value->attr & ir::fpenv::kRoundMask) != 0 || (wide_ && !keeps_denormals(*value))) return nullptr;
      const bool outside = op == Op::frcp_f32 || op == Op::div_fmas_f32;
      if (!outside && attr_ && *attr_ != value->attr) return nullptr;
      if (!outside) attr_ = value->attr;
    }
    if (std::find(steps_.begin(), steps_.end(), value) == steps_.end()) steps_.push_back(value);
    return value;
  }
  [[nodiscard]] static bool has_factor(const Inst* product, const Inst* factor) {
    return product->operands[0] == factor || product->operands[1] == factor;
  }
  [[nodiscard]] static const Inst* other_factor(const Inst* product, const Inst* factor) {
    return product->operands[product->operands[0] == factor ? 1 : 0];
  }
  // fma(-d, quotient, n) of the scaled operands, which are the same all over.
  bool is_remainder(const Inst* value, const Inst* quotient) {
    if (step(value, fma_) == nullptr || !has_factor(value, quotient)) return false;
    const Inst* negative = other_factor(value, quotient);
    const Inst* numerator = value->operands[2];
    if (negative_d_ != nullptr) return negative == negative_d_ && numerator == scaled_n_;
    const uint64_t sign = uint64_t{1} << (wide_ ? 63 : 31);
    if (step(negative, Op::xor_) == nullptr || !negative->operands[1]->is_const(sign)) return false;
    const Inst* denominator = negative->operands[0];
    if (!is_scaled(denominator, fixup_.operands[1]) || !is_scaled(numerator, fixup_.operands[2])) return false;
    negative_d_ = negative;
    scaled_d_ = denominator;
    scaled_n_ = numerator;
    return true;
  }
  bool is_scaled(const Inst* value, Inst* of) {
    return step(value, scale_) != nullptr &&
           value->operands == std::vector<Inst*>{of, fixup_.operands[1], fixup_.operands[2]};
  }

  const Inst& fixup_;
  const bool wide_;
  const Op fma_ = wide_ ? Op::fma_f64 : Op::fma_f32, scale_ = wide_ ? Op::div_scale_f64 : Op::div_scale_f32;
  const Inst *scaled_d_ = nullptr, *scaled_n_ = nullptr, *negative_d_ = nullptr;
  std::optional<uint32_t> attr_;
  std::vector<const Inst*> steps_;
};

}  // namespace

void Emitter::plan_divisions() {
  for (const auto& block : function_.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::div_fixup_f32 && inst->op != Op::div_fixup_f64) continue;
      DivisionSequence sequence(*inst);
      if (!sequence.matches()) continue;
      for (const Inst* step : sequence.steps()) fused_[step->id] = true;
      divisions_.emplace(inst->id, sequence.multiply_add());
    }
  }
}

void Emitter::emit_folded_division(const Inst& inst, unsigned chunk) {
  Inst* const operands[] = {inst.operands[1], inst.operands[2]};  // denominator, numerator
  if (inst.op == Op::div_fixup_f64) {
    const Vec64 d = v64(operands[0], chunk), n = v64(operands[1], chunk);
    for (unsigned i = 0; i < 2; ++i) cc_.emit(I::kIdVdivpd, dst64(inst, chunk).part[i], n.part[i], d.part[i]);
    return;
  }
  // The host's division rounds the exact quotient, makes the same of zeros, infinities and NaNs, and prefers the numerator's NaN.
  const bool exact = keeps_denormals(inst) && keeps_denormals(*divisions_.at(inst.id));
  const MaskReg* odd = exact ? nullptr : odd_division(operands[0], operands[1], chunk);
  const Label slow = cc_.new_label(), divide = cc_.new_label(), join = cc_.new_label();
  if (odd != nullptr) cc_.j(isa_->test_any({odd, 1}), slow);
  cc_.bind(divide);
  cc_.emit(I::kIdVdivps, dst(inst, chunk), v32(operands[1], chunk), v32_operand(operands[0], chunk));
  cc_.bind(join);
  if (odd == nullptr) return;
  cold([&] {
    cc_.bind(slow);
    if (keeps_denormals(*divisions_.at(inst.id))) {
      // Zeros, infinities and NaNs are the only odd ones mostly.
      std::optional<Vec> farthest;
      for (const Inst* value : operands) {
        const Vec magnitude = isa_->and_(v32(value, chunk), isa_->c32(0x7fffffff));
        const Vec below = isa_->make(I::kIdVpsubd, magnitude, isa_->c32(1));
        farthest = farthest ? isa_->make(I::kIdVpmaxud, *farthest, below) : below;
      }
      const MaskReg hard = isa_->mask();
      isa_->cmp32(hard, ICmp::ult, *farthest, isa_->c32(0x7f7fffff), odd);
      const Label steps = cc_.new_label();
      cc_.j(isa_->test_any({&hard, 1}), steps);
      cc_.jmp(divide);
      cc_.bind(steps);
    }
    call_helper(inst, &divide_f32, operands, chunk, 1);
    cc_.jmp(join);
  });
}

void Emitter::emit_fixup32(const Inst& inst, unsigned chunk) {
  const Inst *denominator = inst.operands[1], *numerator = inst.operands[2];
  const Label slow = cc_.new_label(), join = cc_.new_label();
  const Vec quotient = v32(inst.operands[0], chunk);
  MaskReg odd = fcmp(kUnordered, quotient, quotient);
  if (const MaskReg* operands = odd_division(denominator, numerator, chunk)) odd = either(odd, *operands);
  cc_.j(isa_->test_any({&odd, 1}), slow);
  const Vec sign = isa_->xor_(v32(denominator, chunk), v32(numerator, chunk));
  isa_->bit_select(dst(inst, chunk), isa_->const32(0x80000000), sign, quotient);
  cc_.bind(join);
  chunk_helper(inst, chunk, slow, join, true);
}

bool Emitter::emit_division(const Inst& inst, unsigned chunk) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const Label slow = cc_.new_label(), join = cc_.new_label();
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
  if (!on(Optimisation::plain_divisions) && !divisions_.contains(inst.id)) {
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
    case Op::div_fixup_f32:
      if (divisions_.contains(inst.id)) {
        emit_folded_division(inst, chunk);
      } else {
        emit_fixup32(inst, chunk);
      }
      return true;
    case Op::div_fixup_f64: {
      if (divisions_.contains(inst.id)) {
        emit_folded_division(inst, chunk);
        return true;
      }
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
