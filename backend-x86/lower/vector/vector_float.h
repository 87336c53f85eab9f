// f32 and f64 arithmetic.
#pragma once

#include <array>
#include <cstdint>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_float(Lowering& ctx, const Inst& inst, unsigned chunk);

// The rest is used for f16, too, where that is computed in f32.

// v_min/v_max on one register of f32 or f64 lanes. signalling: operands may be signalling NaNs.
void fminmax(Lowering& ctx, uint32_t attr, const Vec& d, const Vec& a, const Vec& b, unsigned bits, bool want_max,
             bool signalling);
Vec clamp32(Lowering& ctx, const Vec& x);
Vec frexp_mantissa32(Lowering& ctx, const Vec& x);
Vec frexp_exponent32(Lowering& ctx, const Vec& x);

// v_cmp_class from the facts about a magnitude: bit numbers as in the ISA manual (0 signalling NaN .. 9 +inf).
struct ClassFacts {
  MaskReg negative, nonzero, normal_up, inf_up, nan, quiet;  // *_up: that kind or one of larger magnitude
};
void class_test(Lowering& ctx, const MaskReg& d, const Vec& wanted, const ClassFacts& f);
// The same for constant classes. The limits are the smallest magnitude, as bits, of each kind: zero, denormal,
// normal, infinity, signalling NaN, quiet NaN; then the sign bit.
using ClassLimits = std::array<uint32_t, 7>;
void known_class_test(Lowering& ctx, const MaskReg& d, const Vec& bits, uint32_t wanted, const ClassLimits& limits);

}  // namespace wavejit::backend
