// Scalar ALU: arithmetic, logic and compares (SOP2, SOPC, SOPK, part of SOP1).
#include "frontend/interp/engine.h"
#include "frontend/interp/scalar_math.h"

namespace wavejit::interp {
namespace {

// Handlers are generated from expressions over a, b (sources) and scc. The result goes to the scalar destination; the
// flavours differ in width and in how SCC is set.
#define WAVEJIT_S32(op, scc_expr, ...)                                  \
  r.handler(Opcode::op, [](Context& c, const Op& o) -> Step {           \
    [[maybe_unused]] const uint32_t a = read_scalar32(c, o.sources[0]); \
    [[maybe_unused]] const uint32_t b = read_scalar32(c, o.sources[1]); \
    [[maybe_unused]] const uint32_t scc = c.wave.scc;                   \
    const auto y = static_cast<uint32_t>(__VA_ARGS__);                  \
    c.wave.scc = static_cast<uint32_t>(scc_expr);                       \
    write_scalar32(c, o.mask_reg, y);                                   \
    return Step::next;                                                  \
  })
#define WAVEJIT_S64(op, scc_expr, ...)                                  \
  r.handler(Opcode::op, [](Context& c, const Op& o) -> Step {           \
    [[maybe_unused]] const uint64_t a = read_scalar64(c, o.sources[0]); \
    [[maybe_unused]] const uint64_t b = read_scalar64(c, o.sources[1]); \
    [[maybe_unused]] const uint32_t scc = c.wave.scc;                   \
    const auto y = static_cast<uint64_t>(__VA_ARGS__);                  \
    c.wave.scc = static_cast<uint32_t>(scc_expr);                       \
    write_scalar64(c, o.mask_reg, y);                                   \
    return Step::next;                                                  \
  })
// 64-bit value, 32-bit second source (shift amounts, field descriptions).
#define WAVEJIT_S64_32(op, scc_expr, ...)                     \
  r.handler(Opcode::op, [](Context& c, const Op& o) -> Step { \
    const uint64_t a = read_scalar64(c, o.sources[0]);        \
    const uint32_t b = read_scalar32(c, o.sources[1]);        \
    const auto y = static_cast<uint64_t>(__VA_ARGS__);        \
    c.wave.scc = static_cast<uint32_t>(scc_expr);             \
    write_scalar64(c, o.mask_reg, y);                         \
    return Step::next;                                        \
  })
// Both widths of a bitwise operation.
#define WAVEJIT_LOGIC(name, ...)                \
  WAVEJIT_S32(name##_b32, y != 0, __VA_ARGS__); \
  WAVEJIT_S64(name##_b64, y != 0, __VA_ARGS__)
// Compares write only SCC.
#define WAVEJIT_SCMP(op, ...)                                 \
  r.handler(Opcode::op, [](Context& c, const Op& o) -> Step { \
    const uint32_t a = read_scalar32(c, o.sources[0]);        \
    const uint32_t b = read_scalar32(c, o.sources[1]);        \
    c.wave.scc = (__VA_ARGS__) ? 1 : 0;                       \
    return Step::next;                                        \
  })
#define WAVEJIT_SCMP64(op, ...)                                                                                    \
  r.handler(Opcode::op, [](Context& c, const Op& o) -> Step {                                                      \
    const uint64_t a = read_scalar64(c, o.sources[0]);                                                             \
    const uint64_t b = o.sources[1].dwords == 2 ? read_scalar64(c, o.sources[1]) : read_scalar32(c, o.sources[1]); \
    c.wave.scc = (__VA_ARGS__) ? 1 : 0;                                                                            \
    return Step::next;                                                                                             \
  })

bool add_overflows(uint32_t a, uint32_t b) {
  return ((a ^ (a + b)) & (b ^ (a + b)) & 0x80000000u) != 0;
}
bool sub_overflows(uint32_t a, uint32_t b) {
  return ((a ^ b) & (a ^ (a - b)) & 0x80000000u) != 0;
}

uint64_t bitfield_u64(uint64_t v, unsigned offset, unsigned width) {
  if (width == 0) return 0;
  return v >> offset & (width >= 64 ? ~0ull : (1ull << width) - 1);
}
uint64_t bitfield_i64(uint64_t v, unsigned offset, unsigned width) {
  if (width == 0) return 0;
  if (offset + width >= 64) return static_cast<uint64_t>(s64(v) >> offset);
  return static_cast<uint64_t>(s64(v << (64 - offset - width)) >> (64 - width));
}
uint32_t scalar_bitfield_u32(uint32_t v, unsigned offset, unsigned width) {
  return static_cast<uint32_t>(bitfield_u64(v, offset, width));
}
uint32_t scalar_bitfield_i32(uint32_t v, unsigned offset, unsigned width) {
  return bitfield_i32(v, offset, width > 32 ? 32 : width);
}
uint32_t shl_add_carry(uint32_t a, uint32_t b, unsigned n) {
  return ((uint64_t{a} << n) + b) >> 32 != 0;
}

void register_arithmetic(Registry& r) {
  WAVEJIT_S32(s_add_u32, y < a, a + b);
  WAVEJIT_S32(s_sub_u32, a < b, a - b);
  WAVEJIT_S32(s_add_i32, add_overflows(a, b), a + b);
  WAVEJIT_S32(s_sub_i32, sub_overflows(a, b), a - b);
  WAVEJIT_S32(s_addc_u32, (uint64_t{a} + b + scc) >> 32, a + b + scc);
  WAVEJIT_S32(s_subb_u32, uint64_t{b} + scc > a, a - b - scc);
  WAVEJIT_S32(s_min_i32, s32(a) < s32(b), s32(a) < s32(b) ? a : b);
  WAVEJIT_S32(s_min_u32, a < b, a < b ? a : b);
  WAVEJIT_S32(s_max_i32, s32(a) > s32(b), s32(a) > s32(b) ? a : b);
  WAVEJIT_S32(s_max_u32, a > b, a > b ? a : b);
  WAVEJIT_S32(s_mul_i32, scc, a * b);
  WAVEJIT_S32(s_mul_hi_u32, scc, (uint64_t{a} * b) >> 32);
  WAVEJIT_S32(s_mul_hi_i32, scc, (int64_t{s32(a)} * s32(b)) >> 32);
  WAVEJIT_S32(s_absdiff_i32, y != 0, s32(a - b) < 0 ? b - a : a - b);
  WAVEJIT_S32(s_abs_i32, y != 0, s32(a) < 0 ? 0 - a : a);
  WAVEJIT_S32(s_lshl1_add_u32, shl_add_carry(a, b, 1), (a << 1) + b);
  WAVEJIT_S32(s_lshl2_add_u32, shl_add_carry(a, b, 2), (a << 2) + b);
  WAVEJIT_S32(s_lshl3_add_u32, shl_add_carry(a, b, 3), (a << 3) + b);
  WAVEJIT_S32(s_lshl4_add_u32, shl_add_carry(a, b, 4), (a << 4) + b);
  WAVEJIT_S32(s_cselect_b32, scc, scc != 0 ? a : b);
  WAVEJIT_S64(s_cselect_b64, scc, scc != 0 ? a : b);
}

void register_logic(Registry& r) {
  WAVEJIT_LOGIC(s_and, a & b);
  WAVEJIT_LOGIC(s_or, a | b);
  WAVEJIT_LOGIC(s_xor, a ^ b);
  WAVEJIT_LOGIC(s_andn2, a & ~b);
  WAVEJIT_LOGIC(s_orn2, a | ~b);
  WAVEJIT_LOGIC(s_nand, ~(a & b));
  WAVEJIT_LOGIC(s_nor, ~(a | b));
  WAVEJIT_LOGIC(s_xnor, ~(a ^ b));
  WAVEJIT_S32(s_lshl_b32, y != 0, a << (b & 31));
  WAVEJIT_S32(s_lshr_b32, y != 0, a >> (b & 31));
  WAVEJIT_S32(s_ashr_i32, y != 0, s32(a) >> (b & 31));
  WAVEJIT_S64_32(s_lshl_b64, y != 0, a << (b & 63));
  WAVEJIT_S64_32(s_lshr_b64, y != 0, a >> (b & 63));
  WAVEJIT_S64_32(s_ashr_i64, y != 0, s64(a) >> (b & 63));
  WAVEJIT_S32(s_bfm_b32, scc, ((1u << (a & 31)) - 1) << (b & 31));
  r.handler(Opcode::s_bfm_b64, [](Context& c, const Op& o) -> Step {
    const uint32_t a = read_scalar32(c, o.sources[0]), b = read_scalar32(c, o.sources[1]);
    write_scalar64(c, o.mask_reg, ((1ull << (a & 63)) - 1) << (b & 63));
    return Step::next;
  });
  WAVEJIT_S32(s_bfe_u32, y != 0, scalar_bitfield_u32(a, b & 31, b >> 16 & 0x7f));
  WAVEJIT_S32(s_bfe_i32, y != 0, scalar_bitfield_i32(a, b & 31, b >> 16 & 0x7f));
  WAVEJIT_S64_32(s_bfe_u64, y != 0, bitfield_u64(a, b & 63, b >> 16 & 0x7f));
  WAVEJIT_S64_32(s_bfe_i64, y != 0, bitfield_i64(a, b & 63, b >> 16 & 0x7f));
  WAVEJIT_S32(s_pack_ll_b32_b16, scc, lo16(a) | b << 16);
  WAVEJIT_S32(s_pack_lh_b32_b16, scc, lo16(a) | (b & 0xffff0000u));
  WAVEJIT_S32(s_pack_hh_b32_b16, scc, a >> 16 | (b & 0xffff0000u));
}

void register_compare(Registry& r) {
  WAVEJIT_SCMP(s_cmp_eq_i32, a == b);
  WAVEJIT_SCMP(s_cmp_lg_i32, a != b);
  WAVEJIT_SCMP(s_cmp_gt_i32, s32(a) > s32(b));
  WAVEJIT_SCMP(s_cmp_ge_i32, s32(a) >= s32(b));
  WAVEJIT_SCMP(s_cmp_lt_i32, s32(a) < s32(b));
  WAVEJIT_SCMP(s_cmp_le_i32, s32(a) <= s32(b));
  WAVEJIT_SCMP(s_cmp_eq_u32, a == b);
  WAVEJIT_SCMP(s_cmp_lg_u32, a != b);
  WAVEJIT_SCMP(s_cmp_gt_u32, a > b);
  WAVEJIT_SCMP(s_cmp_ge_u32, a >= b);
  WAVEJIT_SCMP(s_cmp_lt_u32, a < b);
  WAVEJIT_SCMP(s_cmp_le_u32, a <= b);
  WAVEJIT_SCMP(s_bitcmp0_b32, (a >> (b & 31) & 1) == 0);
  WAVEJIT_SCMP(s_bitcmp1_b32, (a >> (b & 31) & 1) != 0);
  WAVEJIT_SCMP64(s_bitcmp0_b64, (a >> (b & 63) & 1) == 0);
  WAVEJIT_SCMP64(s_bitcmp1_b64, (a >> (b & 63) & 1) != 0);
  WAVEJIT_SCMP64(s_cmp_eq_u64, a == b);
  WAVEJIT_SCMP64(s_cmp_lg_u64, a != b);
  // SOPK: the immediate is sign-extended for signed compares, zero-extended for unsigned ones.
  WAVEJIT_SCMP(s_cmpk_eq_i32, s32(a) == s16(b));
  WAVEJIT_SCMP(s_cmpk_lg_i32, s32(a) != s16(b));
  WAVEJIT_SCMP(s_cmpk_gt_i32, s32(a) > s16(b));
  WAVEJIT_SCMP(s_cmpk_ge_i32, s32(a) >= s16(b));
  WAVEJIT_SCMP(s_cmpk_lt_i32, s32(a) < s16(b));
  WAVEJIT_SCMP(s_cmpk_le_i32, s32(a) <= s16(b));
  WAVEJIT_SCMP(s_cmpk_eq_u32, a == lo16(b));
  WAVEJIT_SCMP(s_cmpk_lg_u32, a != lo16(b));
  WAVEJIT_SCMP(s_cmpk_gt_u32, a > lo16(b));
  WAVEJIT_SCMP(s_cmpk_ge_u32, a >= lo16(b));
  WAVEJIT_SCMP(s_cmpk_lt_u32, a < lo16(b));
  WAVEJIT_SCMP(s_cmpk_le_u32, a <= lo16(b));
}

void register_immediate(Registry& r) {
  WAVEJIT_S32(s_movk_i32, scc, s16(a));
  r.handler(Opcode::s_cmovk_i32, [](Context& c, const Op& o) -> Step {
    const auto b = static_cast<uint32_t>(s16(static_cast<uint32_t>(o.sources[0].value)));
    write_scalar32(c, o.mask_reg, c.wave.scc != 0 ? b : c.wave.sgpr[o.mask_reg]);
    return Step::next;
  });
  r.handler(Opcode::s_addk_i32, [](Context& c, const Op& o) -> Step {
    const uint32_t a = c.wave.sgpr[o.mask_reg];
    const auto b = static_cast<uint32_t>(s16(static_cast<uint32_t>(o.sources[0].value)));
    c.wave.scc = add_overflows(a, b) ? 1 : 0;
    write_scalar32(c, o.mask_reg, a + b);
    return Step::next;
  });
  r.handler(Opcode::s_mulk_i32, [](Context& c, const Op& o) -> Step {
    const auto b = static_cast<uint32_t>(s16(static_cast<uint32_t>(o.sources[0].value)));
    write_scalar32(c, o.mask_reg, c.wave.sgpr[o.mask_reg] * b);
    return Step::next;
  });
}

}  // namespace

void register_salu(Registry& r) {
  register_arithmetic(r);
  register_logic(r);
  register_compare(r);
  register_immediate(r);
}

}  // namespace wavejit::interp
