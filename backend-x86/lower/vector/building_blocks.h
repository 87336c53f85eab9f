// Sequences of host instructions that several kinds of vector operations use.
#pragma once

#include <cstdint>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

[[nodiscard]] Mem full64(Lowering& ctx, uint64_t bits);  // a full vector in memory
[[nodiscard]] MaskReg cmp(Lowering& ctx, ir::ICmp p, const Vec& a, const Operand_& b);
[[nodiscard]] MaskReg fcmp(Lowering& ctx, unsigned predicate, const Vec& a, const Operand_& b);
[[nodiscard]] MaskReg either(Lowering& ctx, const MaskReg& a, const MaskReg& b);
[[nodiscard]] MaskReg both(Lowering& ctx, const MaskReg& a, const MaskReg& b);
[[nodiscard]] Vec popcount32(Lowering& ctx, const Vec& a);
[[nodiscard]] Vec ctz32(Lowering& ctx, const Vec& a);  // -1 for 0
[[nodiscard]] Vec clz32(Lowering& ctx, const Vec& a);  // -1 for 0
[[nodiscard]] Vec bitrev32(Lowering& ctx, const Vec& a);
[[nodiscard]] Vec perm32(Lowering& ctx, const Vec& a, const Vec& b, const Vec& selectors);  // v_perm_b32
[[nodiscard]] Vec fma32(Lowering& ctx, const Vec& a, const Vec& b, const Operand_& c);

}  // namespace wavejit::backend
