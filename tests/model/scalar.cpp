#include "tests/model/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace wavejit::model {
namespace {

using Step = ScalarStep;

uint32_t u(uint64_t value) {
  return static_cast<uint32_t>(value);
}
int64_t s(uint64_t value) {
  return static_cast<int32_t>(value);
}
int64_t s64(uint64_t value) {
  return static_cast<int64_t>(value);
}

template <unsigned kBits>
void logic(Step& x, uint64_t result) {
  x.d = kBits == 32 ? u(result) : result;
  x.scc = x.d != 0;
}
void logic32(Step& x, uint64_t result) {
  logic<32>(x, result);
}
void logic64(Step& x, uint64_t result) {
  logic<64>(x, result);
}
void set(Step& x, uint64_t result) {
  x.d = result;
}
void set32(Step& x, uint64_t result) {
  x.d = u(result);
}
// Signed sums: SCC is the overflow.
void signed_result(Step& x, int64_t result) {
  x.d = u(static_cast<uint64_t>(result));
  x.scc = result != s(x.d);
}
// Unsigned sums: SCC is the carry.
void unsigned_result(Step& x, uint64_t result) {
  x.d = u(result);
  x.scc = result >> 32 != 0;
}
void choose(Step& x, bool first) {
  x.d = first ? x.a : x.b;
  x.scc = first;
}

uint64_t whole_quads(uint64_t value) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 64; i += 4)
    if ((value >> i & 15) != 0) result |= uint64_t{15} << i;
  return result;
}
uint64_t quad_mask(uint64_t value) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 16; ++i)
    if ((value >> 4 * i & 15) != 0) result |= uint64_t{1} << i;
  return result;
}
uint64_t reversed(uint64_t value, unsigned bits) {
  uint64_t result = 0;
  for (unsigned i = 0; i < bits; ++i) result |= (value >> i & 1) << (bits - 1 - i);
  return result;
}
uint64_t replicated(uint64_t value) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (value >> i & 1) * 3 << 2 * i;
  return result;
}
uint64_t first_one(uint64_t value) {
  return value == 0 ? 0xffffffff : static_cast<uint64_t>(std::countr_zero(value));
}
// Zeros above the highest one.
uint64_t leading_zeros(uint64_t value, unsigned bits) {
  return value == 0 ? 0xffffffff : static_cast<uint64_t>(std::countl_zero(value)) - (64 - bits);
}
// Bits like the sign above the first that differs from it.
uint64_t leading_signs(int64_t value, unsigned bits) {
  return leading_zeros((value < 0 ? ~static_cast<uint64_t>(value) : static_cast<uint64_t>(value)) &
                           (bits == 64 ? ~uint64_t{0} : 0xffffffff),
                       bits);
}
// Width in bits 22:16 of the second source, offset in its low bits.
template <unsigned kBits, bool kSigned>
void extract(Step& x) {
  const unsigned offset = u(x.b) & (kBits - 1), width = u(x.b) >> 16 & 127;
  const int64_t value = kBits == 64 ? s64(x.a) : kSigned ? s(x.a) : static_cast<int64_t>(u(x.a));
  const uint64_t shifted = kSigned ? static_cast<uint64_t>(value >> offset) : static_cast<uint64_t>(value) >> offset;
  uint64_t field = 0;
  if (width != 0) {
    field = width >= 64 ? shifted : shifted << (64 - width);
    if (width < 64) field = kSigned ? static_cast<uint64_t>(s64(field) >> (64 - width)) : field >> (64 - width);
  }
  logic<kBits>(x, field);
}
void save_exec(Step& x, uint64_t exec) {
  x.d = x.exec;
  x.exec = exec;
  x.scc = exec != 0;
}
void write_exec(Step& x, uint64_t exec) {
  x.d = x.exec = exec;
  x.scc = exec != 0;
}
void set_bit(Step& x, unsigned width, bool value) {
  const uint64_t bit = uint64_t{1} << (x.a & (width - 1));
  x.d = value ? x.d | bit : x.d & ~bit;
}
void condition(Step& x, bool value) {
  x.scc = value;
}

#define ROW(name, ...) {#name, [](Step& x) { __VA_ARGS__; }}
// clang-format off
// The second source is a register, a constant of 32 bits, or an immediate that was extended to 64.
#define COMPARISONS(prefix)                               \
    ROW(prefix##_eq_i32, condition(x, s(x.a) == s(x.b))), \
    ROW(prefix##_lg_i32, condition(x, s(x.a) != s(x.b))), \
    ROW(prefix##_gt_i32, condition(x, s(x.a) > s(x.b))),  \
    ROW(prefix##_ge_i32, condition(x, s(x.a) >= s(x.b))), \
    ROW(prefix##_lt_i32, condition(x, s(x.a) < s(x.b))),  \
    ROW(prefix##_le_i32, condition(x, s(x.a) <= s(x.b))), \
    ROW(prefix##_eq_u32, condition(x, u(x.a) == u(x.b))), \
    ROW(prefix##_lg_u32, condition(x, u(x.a) != u(x.b))), \
    ROW(prefix##_gt_u32, condition(x, u(x.a) > u(x.b))),  \
    ROW(prefix##_ge_u32, condition(x, u(x.a) >= u(x.b))), \
    ROW(prefix##_lt_u32, condition(x, u(x.a) < u(x.b))),  \
    ROW(prefix##_le_u32, condition(x, u(x.a) <= u(x.b)))
constexpr ScalarEntry kEntries[] = {
    // SOP1
    ROW(s_mov_b32, set(x, x.a)),
    ROW(s_mov_b64, set(x, x.a)),
    ROW(s_cmov_b32, set(x, x.scc ? x.a : x.d)),
    ROW(s_cmov_b64, set(x, x.scc ? x.a : x.d)),
    ROW(s_not_b32, logic32(x, ~x.a)),
    ROW(s_not_b64, logic64(x, ~x.a)),
    ROW(s_wqm_b32, logic32(x, whole_quads(x.a))),
    ROW(s_wqm_b64, logic64(x, whole_quads(x.a))),
    ROW(s_brev_b32, set(x, reversed(x.a, 32))),
    ROW(s_brev_b64, set(x, reversed(x.a, 64))),
    ROW(s_bcnt0_i32_b32, logic32(x, static_cast<uint64_t>(32 - std::popcount(x.a)))),
    ROW(s_bcnt0_i32_b64, logic32(x, static_cast<uint64_t>(64 - std::popcount(x.a)))),
    ROW(s_bcnt1_i32_b32, logic32(x, static_cast<uint64_t>(std::popcount(x.a)))),
    ROW(s_bcnt1_i32_b64, logic32(x, static_cast<uint64_t>(std::popcount(x.a)))),
    ROW(s_ff0_i32_b32, set(x, first_one(~x.a & 0xffffffff))),
    ROW(s_ff0_i32_b64, set(x, first_one(~x.a))),
    ROW(s_ff1_i32_b32, set(x, first_one(x.a))),
    ROW(s_ff1_i32_b64, set(x, first_one(x.a))),
    ROW(s_flbit_i32_b32, set(x, leading_zeros(x.a, 32))),
    ROW(s_flbit_i32_b64, set(x, leading_zeros(x.a, 64))),
    ROW(s_flbit_i32, set(x, leading_signs(s(x.a), 32))),
    ROW(s_flbit_i32_i64, set(x, leading_signs(s64(x.a), 64))),
    ROW(s_sext_i32_i8, set32(x, static_cast<uint64_t>(int64_t{static_cast<int8_t>(x.a)}))),
    ROW(s_sext_i32_i16, set32(x, static_cast<uint64_t>(int64_t{static_cast<int16_t>(x.a)}))),
    ROW(s_bitset0_b32, set_bit(x, 32, false)),
    ROW(s_bitset0_b64, set_bit(x, 64, false)),
    ROW(s_bitset1_b32, set_bit(x, 32, true)),
    ROW(s_bitset1_b64, set_bit(x, 64, true)),
    ROW(s_and_saveexec_b64, save_exec(x, x.a & x.exec)),
    ROW(s_or_saveexec_b64, save_exec(x, x.a | x.exec)),
    ROW(s_xor_saveexec_b64, save_exec(x, x.a ^ x.exec)),
    ROW(s_andn2_saveexec_b64, save_exec(x, x.a & ~x.exec)),
    ROW(s_orn2_saveexec_b64, save_exec(x, x.a | ~x.exec)),
    ROW(s_nand_saveexec_b64, save_exec(x, ~(x.a & x.exec))),
    ROW(s_nor_saveexec_b64, save_exec(x, ~(x.a | x.exec))),
    ROW(s_xnor_saveexec_b64, save_exec(x, ~(x.a ^ x.exec))),
    ROW(s_andn1_saveexec_b64, save_exec(x, ~x.a & x.exec)),
    ROW(s_orn1_saveexec_b64, save_exec(x, ~x.a | x.exec)),
    ROW(s_andn1_wrexec_b64, write_exec(x, ~x.a & x.exec)),
    ROW(s_andn2_wrexec_b64, write_exec(x, x.a & ~x.exec)),
    ROW(s_quadmask_b32, logic32(x, quad_mask(x.a))),
    ROW(s_quadmask_b64, logic64(x, quad_mask(x.a))),
    ROW(s_abs_i32, logic32(x, static_cast<uint64_t>(s(x.a) < 0 ? -s(x.a) : s(x.a)))),
    ROW(s_bitreplicate_b64_b32, set(x, replicated(x.a))),
    // SOP2
    ROW(s_add_u32, unsigned_result(x, x.a + x.b)),
    ROW(s_sub_u32, unsigned_result(x, x.a - x.b)),
    ROW(s_addc_u32, unsigned_result(x, x.a + x.b + (x.scc ? 1 : 0))),
    ROW(s_subb_u32, unsigned_result(x, x.a - x.b - (x.scc ? 1 : 0))),
    ROW(s_add_i32, signed_result(x, s(x.a) + s(x.b))),
    ROW(s_sub_i32, signed_result(x, s(x.a) - s(x.b))),
    ROW(s_min_i32, choose(x, s(x.a) < s(x.b))),
    ROW(s_min_u32, choose(x, x.a < x.b)),
    ROW(s_max_i32, choose(x, s(x.a) > s(x.b))),
    ROW(s_max_u32, choose(x, x.a > x.b)),
    ROW(s_cselect_b32, set(x, x.scc ? x.a : x.b)),
    ROW(s_cselect_b64, set(x, x.scc ? x.a : x.b)),
    ROW(s_and_b32, logic32(x, x.a & x.b)),
    ROW(s_and_b64, logic64(x, x.a & x.b)),
    ROW(s_or_b32, logic32(x, x.a | x.b)),
    ROW(s_or_b64, logic64(x, x.a | x.b)),
    ROW(s_xor_b32, logic32(x, x.a ^ x.b)),
    ROW(s_xor_b64, logic64(x, x.a ^ x.b)),
    ROW(s_andn2_b32, logic32(x, x.a & ~x.b)),
    ROW(s_andn2_b64, logic64(x, x.a & ~x.b)),
    ROW(s_orn2_b32, logic32(x, x.a | ~x.b)),
    ROW(s_orn2_b64, logic64(x, x.a | ~x.b)),
    ROW(s_nand_b32, logic32(x, ~(x.a & x.b))),
    ROW(s_nand_b64, logic64(x, ~(x.a & x.b))),
    ROW(s_nor_b32, logic32(x, ~(x.a | x.b))),
    ROW(s_nor_b64, logic64(x, ~(x.a | x.b))),
    ROW(s_xnor_b32, logic32(x, ~(x.a ^ x.b))),
    ROW(s_xnor_b64, logic64(x, ~(x.a ^ x.b))),
    ROW(s_lshl_b32, logic32(x, x.a << (x.b & 31))),
    ROW(s_lshl_b64, logic64(x, x.a << (x.b & 63))),
    ROW(s_lshr_b32, logic32(x, x.a >> (x.b & 31))),
    ROW(s_lshr_b64, logic64(x, x.a >> (x.b & 63))),
    ROW(s_ashr_i32, logic32(x, static_cast<uint64_t>(s(x.a) >> (x.b & 31)))),
    ROW(s_ashr_i64, logic64(x, static_cast<uint64_t>(s64(x.a) >> (x.b & 63)))),
    ROW(s_bfm_b32, set32(x, ((uint64_t{1} << (x.a & 31)) - 1) << (x.b & 31))),
    ROW(s_bfm_b64, set(x, ((uint64_t{1} << (x.a & 63)) - 1) << (x.b & 63))),
    ROW(s_mul_i32, set32(x, x.a * x.b)),
    ROW(s_bfe_u32, extract<32, false>(x)),
    ROW(s_bfe_i32, extract<32, true>(x)),
    ROW(s_bfe_u64, extract<64, false>(x)),
    ROW(s_bfe_i64, extract<64, true>(x)),
    ROW(s_absdiff_i32, logic32(x, u(x.a - x.b) >> 31 != 0 ? x.b - x.a : x.a - x.b)),
    ROW(s_mul_hi_u32, set32(x, x.a * x.b >> 32)),
    ROW(s_mul_hi_i32, set32(x, static_cast<uint64_t>(s(x.a) * s(x.b) >> 32))),
    ROW(s_lshl1_add_u32, unsigned_result(x, (x.a << 1) + x.b)),
    ROW(s_lshl2_add_u32, unsigned_result(x, (x.a << 2) + x.b)),
    ROW(s_lshl3_add_u32, unsigned_result(x, (x.a << 3) + x.b)),
    ROW(s_lshl4_add_u32, unsigned_result(x, (x.a << 4) + x.b)),
    ROW(s_pack_ll_b32_b16, set(x, (x.a & 0xffff) | u(x.b << 16))),
    ROW(s_pack_lh_b32_b16, set(x, (x.a & 0xffff) | (x.b & 0xffff0000))),
    ROW(s_pack_hh_b32_b16, set(x, x.a >> 16 | (x.b & 0xffff0000))),
    // SOPC
    COMPARISONS(s_cmp),
    ROW(s_cmp_eq_u64, condition(x, x.a == x.b)),
    ROW(s_cmp_lg_u64, condition(x, x.a != x.b)),
    ROW(s_bitcmp0_b32, condition(x, (x.a >> (x.b & 31) & 1) == 0)),
    ROW(s_bitcmp1_b32, condition(x, (x.a >> (x.b & 31) & 1) != 0)),
    ROW(s_bitcmp0_b64, condition(x, (x.a >> (x.b & 63) & 1) == 0)),
    ROW(s_bitcmp1_b64, condition(x, (x.a >> (x.b & 63) & 1) != 0)),
    // SOPK
    ROW(s_movk_i32, set32(x, x.b)),
    ROW(s_cmovk_i32, set32(x, x.scc ? x.b : x.d)),
    COMPARISONS(s_cmpk),
    ROW(s_addk_i32, signed_result(x, s(x.d) + s(x.b))),
    ROW(s_mulk_i32, set32(x, static_cast<uint64_t>(s(x.d) * s(x.b)))),
};
// clang-format on
#undef COMPARISONS
#undef ROW

}  // namespace

std::span<const ScalarEntry> scalar_opcodes() {
  return kEntries;
}

std::span<const ScalarInstruction> all_scalar_instructions() {
  static const std::vector<ScalarInstruction> all = [] {
    std::vector<ScalarInstruction> result;
    for (unsigned number = 0; number < isa::kNumOpcodes; ++number) {
      const auto opcode = static_cast<isa::Opcode>(number);
      const auto* entry = std::find_if(std::begin(kEntries), std::end(kEntries),
                                       [&](const ScalarEntry& e) { return e.name == isa::opcode_name(opcode); });
      if (entry == std::end(kEntries)) continue;
      ScalarInstruction i{.entry = entry, .opcode = opcode, .row = &isa::row_of(opcode)};
      unsigned source = 0;
      for (const isa::OperandSpec& spec : i.row->specs()) {
        if (spec.slot == isa::Slot::simm16) {
          i.has_immediate = true;
        } else if (spec.dst) {
          i.result_dwords = isa::type_dwords(spec.type);
          i.reads_old = spec.src;
        } else {
          i.source_dwords[source++] = isa::type_dwords(spec.type);
        }
      }
      i.writes_exec = i.row->has(isa::flag::writes_exec);
      result.push_back(i);
    }
    return result;
  }();
  return all;
}

uint64_t extended_immediate(const ScalarInstruction& i, uint16_t immediate) {
  if (i.entry->name.starts_with("s_cmpk") && i.entry->name.ends_with("u32")) return immediate;
  return u(static_cast<uint64_t>(int64_t{static_cast<int16_t>(immediate)}));
}

std::string scalar_assembly(const ScalarInstruction& i, isa::Target target, std::string_view result, std::string_view a,
                            std::string_view b) {
  std::string text(isa::printed_name(i.opcode, isa::family_of(target)));
  std::string separator = " ";
  const auto operand = [&](std::string_view what) {
    text += fmt::format("{}{}", separator, what);
    separator = ", ";
  };
  if (i.result_dwords != 0) operand(result);
  if (i.source_dwords[0] != 0) operand(a);
  if (i.source_dwords[1] != 0 || i.has_immediate) operand(b);
  return text;
}

}  // namespace wavejit::model
