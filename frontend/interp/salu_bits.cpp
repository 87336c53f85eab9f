// Scalar ALU with one source (SOP1): moves, bit counting and searching, EXEC saves, relative moves.
#include <bit>

#include "frontend/interp/engine.h"
#include "frontend/interp/scalar_math.h"

namespace wavejit::interp {
namespace {

// y from a; SCC from scc_expr (which may be `scc` itself: unchanged). The suffixes give source and result widths.
#define WAVEJIT_UNARY_SCALAR(op, source_type, read, write, result_type, scc_expr, ...) \
  r.handler(Opcode::op, [](Context& c, const Op& o) -> Step {                          \
    [[maybe_unused]] const source_type a = read(c, o.sources[0]);                      \
    [[maybe_unused]] const uint32_t scc = c.wave.scc;                                  \
    const auto y = static_cast<result_type>(__VA_ARGS__);                              \
    c.wave.scc = static_cast<uint32_t>(scc_expr);                                      \
    write(c, o.mask_reg, y);                                                           \
    return Step::next;                                                                 \
  })
#define WAVEJIT_S32(op, scc_expr, ...) \
  WAVEJIT_UNARY_SCALAR(op, uint32_t, read_scalar32, write_scalar32, uint32_t, scc_expr, __VA_ARGS__)
#define WAVEJIT_S64(op, scc_expr, ...) \
  WAVEJIT_UNARY_SCALAR(op, uint64_t, read_scalar64, write_scalar64, uint64_t, scc_expr, __VA_ARGS__)
#define WAVEJIT_S64_TO_32(op, scc_expr, ...) \
  WAVEJIT_UNARY_SCALAR(op, uint64_t, read_scalar64, write_scalar32, uint32_t, scc_expr, __VA_ARGS__)
#define WAVEJIT_S32_TO_64(op, scc_expr, ...) \
  WAVEJIT_UNARY_SCALAR(op, uint32_t, read_scalar32, write_scalar64, uint64_t, scc_expr, __VA_ARGS__)

uint64_t whole_quad_mode(uint64_t v) {
  uint64_t y = 0;
  for (unsigned i = 0; i < 64; i += 4)
    if ((v >> i & 15) != 0) y |= 15ull << i;
  return y;
}
uint64_t quad_mask(uint64_t v) {
  uint64_t y = 0;
  for (unsigned i = 0; i < 16; ++i)
    if ((v >> (4 * i) & 15) != 0) y |= 1ull << i;
  return y;
}
uint64_t reverse64(uint64_t v) {
  return static_cast<uint64_t>(reverse_bits(static_cast<uint32_t>(v))) << 32 |
         reverse_bits(static_cast<uint32_t>(v >> 32));
}
uint64_t replicate(uint32_t v) {
  uint64_t y = 0;
  for (unsigned i = 0; i < 32; ++i)
    if ((v >> i & 1) != 0) y |= 3ull << (2 * i);
  return y;
}
uint32_t first_low64(uint64_t v) {
  return v == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(v));
}
uint32_t first_high64(uint64_t v) {
  return v == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(v));
}
uint32_t first_sign64(uint64_t v) {
  return first_high64(s64(v) < 0 ? ~v : v);
}

// D = EXEC; EXEC = f(S0, EXEC); SCC = EXEC != 0.
#define WAVEJIT_SAVEEXEC(op, ...)                             \
  r.handler(Opcode::op, [](Context& c, const Op& o) -> Step { \
    const uint64_t s = read_scalar64(c, o.sources[0]);        \
    const uint64_t exec = c.wave.exec();                      \
    write_scalar64(c, o.mask_reg, exec);                      \
    c.wave.set_exec(__VA_ARGS__);                             \
    c.wave.scc = c.wave.exec() != 0;                          \
    return Step::next;                                        \
  })
// EXEC = f(S0, EXEC); D = EXEC.
#define WAVEJIT_WREXEC(op, ...)                               \
  r.handler(Opcode::op, [](Context& c, const Op& o) -> Step { \
    const uint64_t s = read_scalar64(c, o.sources[0]);        \
    const uint64_t exec = c.wave.exec();                      \
    const uint64_t y = __VA_ARGS__;                           \
    c.wave.set_exec(y);                                       \
    write_scalar64(c, o.mask_reg, y);                         \
    c.wave.scc = y != 0;                                      \
    return Step::next;                                        \
  })

// S_MOVREL*: M0 is added to the register number, modulo 2^32. Only general SGPRs can be reached: out of range a source
// is s0, a destination is not written (GCN3 ISA manual, "Out-of-range behavior").
constexpr unsigned kMaxRelative = 102;
Step relative_move(Context& c, const Op& o, bool source_relative, unsigned dwords) {
  const uint32_t m0 = c.wave.sgpr[sreg::kM0];
  const auto is_general = [&](uint32_t reg) { return reg <= kMaxRelative - dwords; };
  const uint32_t relative = o.sources[0].reg + m0;
  const uint32_t src = is_general(relative) ? relative : 0;
  const uint32_t dst = o.mask_reg + (source_relative ? 0 : m0);
  if (source_relative) {
    if (dwords == 2) {
      write_scalar64(c, dst, c.wave.sgpr64(src));
    } else {
      write_scalar32(c, dst, c.wave.sgpr[src]);
    }
  } else if (!is_general(dst)) {
    return Step::next;
  } else if (dwords == 2) {
    write_scalar64(c, dst, read_scalar64(c, o.sources[0]));
  } else {
    write_scalar32(c, dst, read_scalar32(c, o.sources[0]));
  }
  return Step::next;
}

void register_moves(Registry& r) {
  WAVEJIT_S32(s_mov_b32, scc, a);
  WAVEJIT_S64(s_mov_b64, scc, a);
  r.handler(Opcode::s_cmov_b32, [](Context& c, const Op& o) -> Step {
    write_scalar32(c, o.mask_reg, c.wave.scc != 0 ? read_scalar32(c, o.sources[0]) : c.wave.sgpr[o.mask_reg]);
    return Step::next;
  });
  r.handler(Opcode::s_cmov_b64, [](Context& c, const Op& o) -> Step {
    write_scalar64(c, o.mask_reg, c.wave.scc != 0 ? read_scalar64(c, o.sources[0]) : c.wave.sgpr64(o.mask_reg));
    return Step::next;
  });
  r.handler(Opcode::s_movrels_b32, [](Context& c, const Op& o) { return relative_move(c, o, true, 1); });
  r.handler(Opcode::s_movrels_b64, [](Context& c, const Op& o) { return relative_move(c, o, true, 2); });
  r.handler(Opcode::s_movreld_b32, [](Context& c, const Op& o) { return relative_move(c, o, false, 1); });
  r.handler(Opcode::s_movreld_b64, [](Context& c, const Op& o) { return relative_move(c, o, false, 2); });
}

void register_exec(Registry& r) {
  WAVEJIT_SAVEEXEC(s_and_saveexec_b64, s & exec);
  WAVEJIT_SAVEEXEC(s_or_saveexec_b64, s | exec);
  WAVEJIT_SAVEEXEC(s_xor_saveexec_b64, s ^ exec);
  WAVEJIT_SAVEEXEC(s_andn2_saveexec_b64, s & ~exec);
  WAVEJIT_SAVEEXEC(s_orn2_saveexec_b64, s | ~exec);
  WAVEJIT_SAVEEXEC(s_nand_saveexec_b64, ~(s & exec));
  WAVEJIT_SAVEEXEC(s_nor_saveexec_b64, ~(s | exec));
  WAVEJIT_SAVEEXEC(s_xnor_saveexec_b64, ~(s ^ exec));
  WAVEJIT_SAVEEXEC(s_andn1_saveexec_b64, ~s & exec);
  WAVEJIT_SAVEEXEC(s_orn1_saveexec_b64, ~s | exec);
  WAVEJIT_WREXEC(s_andn1_wrexec_b64, ~s & exec);
  WAVEJIT_WREXEC(s_andn2_wrexec_b64, s & ~exec);
}

}  // namespace

void register_salu_bits(Registry& r) {
  register_moves(r);
  register_exec(r);
  WAVEJIT_S32(s_not_b32, y != 0, ~a);
  WAVEJIT_S64(s_not_b64, y != 0, ~a);
  WAVEJIT_S32(s_wqm_b32, y != 0, whole_quad_mode(a));
  WAVEJIT_S64(s_wqm_b64, y != 0, whole_quad_mode(a));
  WAVEJIT_S32(s_quadmask_b32, y != 0, quad_mask(a));
  WAVEJIT_S64(s_quadmask_b64, y != 0, quad_mask(a));
  WAVEJIT_S32(s_brev_b32, scc, reverse_bits(a));
  WAVEJIT_S64(s_brev_b64, scc, reverse64(a));
  WAVEJIT_S32(s_bcnt0_i32_b32, y != 0, std::popcount(~a));
  WAVEJIT_S64_TO_32(s_bcnt0_i32_b64, y != 0, std::popcount(~a));
  WAVEJIT_S32(s_bcnt1_i32_b32, y != 0, std::popcount(a));
  WAVEJIT_S64_TO_32(s_bcnt1_i32_b64, y != 0, std::popcount(a));
  WAVEJIT_S32(s_ff0_i32_b32, scc, find_first_low(~a));
  WAVEJIT_S64_TO_32(s_ff0_i32_b64, scc, first_low64(~a));
  WAVEJIT_S32(s_ff1_i32_b32, scc, find_first_low(a));
  WAVEJIT_S64_TO_32(s_ff1_i32_b64, scc, first_low64(a));
  WAVEJIT_S32(s_flbit_i32_b32, scc, find_first_high(a));
  WAVEJIT_S64_TO_32(s_flbit_i32_b64, scc, first_high64(a));
  WAVEJIT_S32(s_flbit_i32, scc, find_first_sign(a));
  WAVEJIT_S64_TO_32(s_flbit_i32_i64, scc, first_sign64(a));
  WAVEJIT_S32(s_sext_i32_i8, scc, static_cast<int32_t>(static_cast<int8_t>(a)));
  WAVEJIT_S32(s_sext_i32_i16, scc, static_cast<int32_t>(s16(a)));
  WAVEJIT_S32_TO_64(s_bitreplicate_b64_b32, scc, replicate(a));
  r.handler(Opcode::s_bitset0_b32, [](Context& c, const Op& o) -> Step {
    write_scalar32(c, o.mask_reg, c.wave.sgpr[o.mask_reg] & ~(1u << (read_scalar32(c, o.sources[0]) & 31)));
    return Step::next;
  });
  r.handler(Opcode::s_bitset1_b32, [](Context& c, const Op& o) -> Step {
    write_scalar32(c, o.mask_reg, c.wave.sgpr[o.mask_reg] | 1u << (read_scalar32(c, o.sources[0]) & 31));
    return Step::next;
  });
  r.handler(Opcode::s_bitset0_b64, [](Context& c, const Op& o) -> Step {
    write_scalar64(c, o.mask_reg, c.wave.sgpr64(o.mask_reg) & ~(1ull << (read_scalar32(c, o.sources[0]) & 63)));
    return Step::next;
  });
  r.handler(Opcode::s_bitset1_b64, [](Context& c, const Op& o) -> Step {
    write_scalar64(c, o.mask_reg, c.wave.sgpr64(o.mask_reg) | 1ull << (read_scalar32(c, o.sources[0]) & 63));
    return Step::next;
  });
}

}  // namespace wavejit::interp
