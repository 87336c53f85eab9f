#include "backend-x86/lower/plans/divisions.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

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

Divisions plan_divisions(const Lowering& ctx, Fusions& fusions) {
  Divisions divisions;
  if (!ctx.on(Optimisation::folded_divisions)) return divisions;
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::div_fixup_f32 && inst->op != Op::div_fixup_f64) continue;
      DivisionSequence sequence(*inst);
      if (!sequence.matches()) continue;
      for (const Inst* step : sequence.steps()) fusions.fused[step->id] = true;
      divisions.steps.emplace(inst->id, sequence.multiply_add());
    }
  }
  return divisions;
}

}  // namespace wavejit::backend
