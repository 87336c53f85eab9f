// Floating-point operations that have a short form for ordinary numbers: in waves of these alone, with one odd number
// among them, and with many.
#include "rows.h"

namespace wavejit::test {
namespace {

// Two operands for each lane: no odd ones in the first work-group, one in the second, more in the others.
void odd_numbers(Memory& data) {
  static constexpr uint32_t kOdd[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                      1,          0x00800000, 0x7f7fffff, 0x3f800000, 0x80000123,
                                      0x01234567, 0x7e000000, 0x7fa00000, 0xff800001};
  constexpr unsigned kCount = std::size(kOdd);
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned group = i / 64, lane = i % 64;
    uint32_t a = 0x3f000000 + (i * 2654435761u >> 8), b = 0x40000000 + (i * 40503u << 8 >> 9);
    const bool odd = group == 1 ? lane == 40 : group == 2 ? lane % 5 == 0 : group == 3;
    if (odd) a = kOdd[lane % kCount];
    if (odd) b = kOdd[lane / 5 % kCount];
    data[i] = a;
    data[256 + i] = b;
  }
}

// The division sequence of compilers on operands that need scaling in no lane, in some lanes, and are no numbers.
LockstepCase divisions() {
  return {.name = "divisions",
          .body = std::string(kLoadOwn) + R"(
  v_mov_b32_e32 v6, 0x400
  addu v6, v4, v6
  get_at 6, 6
  v_div_scale_f32 v20, s[10:11], v6, v6, v5
  v_div_scale_f32 v21, vcc, v5, v6, v5
  v_rcp_f32_e32 v22, v20
  v_fma_f32 v23, -v20, v22, 1.0
  v_fma_f32 v22, v23, v22, v22
  v_mul_f32_e32 v23, v21, v22
  v_fma_f32 v24, -v20, v23, v21
  v_fma_f32 v23, v24, v22, v23
  v_fma_f32 v20, -v20, v23, v21
  v_div_fmas_f32 v20, v20, v22, v23
  v_div_fixup_f32 v8, v20, v6, v5
  v_div_scale_f32 v21, vcc, v5, v6, v5
  v_mov_b32_e32 v25, 0x7fc00000
  v_cndmask_b32_e64 v26, 0, 1, vcc
  v_cmp_u_f32_e32 vcc, v8, v8
  v_cndmask_b32_e32 v8, v8, v25, vcc
  v_cmp_u_f32_e32 vcc, v21, v21
  v_cndmask_b32_e32 v21, v21, v25, vcc
  out 0, v8
  out 1, v21
  out 2, v26
)",
          .floats = true,
          .prepare = odd_numbers,
          .reference = {}};
}

// NaNs are told apart by kind, quiet or signalling, only.
LockstepCase minimum_and_maximum() {
  const std::string body = std::string(kLoadOwn) + R"(
.macro single slot, op, a, b
  \op v10, \a, \b
  v_mov_b32_e32 v24, 1
  v_cmp_class_f32 s[10:11], v10, v24
  v_cmp_u_f32 s[12:13], v10, v10
  v_cndmask_b32_e64 v20, 0, 16, s[10:11]
  v_cndmask_b32_e64 v10, v10, 7, s[12:13]
  v_xor_b32_e32 v10, v10, v20
  out \slot, v10
  v_mov_b32_e32 v10, 0
.endm
.macro double slot, op, a, b
  \op v[10:11], \a, \b
  v_mov_b32_e32 v24, 1
  v_cmp_class_f64 s[10:11], v[10:11], v24
  v_cmp_u_f64 s[12:13], v[10:11], v[10:11]
  v_cndmask_b32_e64 v20, 0, 16, s[10:11]
  v_cndmask_b32_e64 v10, v10, 7, s[12:13]
  v_cndmask_b32_e64 v11, v11, 7, s[12:13]
  v_lshlrev_b32_e32 v10, 1, v10
  v_xor_b32_e32 v10, v10, v11
  v_xor_b32_e32 v10, v10, v20
  out \slot, v10
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
.endm
  v_mov_b32_e32 v6, 0x400
  addu v6, v4, v6
  get_at 6, 6
  v_add_f32_e32 v7, 1.0, v5
  single 0, v_min_f32_e32, v5, v6
  single 1, v_max_f32_e32, v5, v6
  single 2, v_max_f32_e64, -v6, |v5|
  single 3, v_min_f32_e32, v7, v6
  v_mul_f32_e32 v8, 2.0, v6
  single 4, v_max_f32_e32, v7, v8
  v_mov_b32_e32 v12, v6
  v_mov_b32_e32 v13, v5
  v_mov_b32_e32 v14, v5
  v_mov_b32_e32 v15, v6
  double 5, v_min_f64, v[12:13], v[14:15]
  double 6, v_max_f64, v[12:13], v[14:15]
  v_add_f64 v[12:13], v[12:13], 1.0
  double 7, v_max_f64, v[14:15], v[12:13]
)";
  return {.name = "minimum_and_maximum", .body = body, .floats = true, .prepare = odd_numbers};
}

// Exponents that are added to make results that are ordinary, denormal, rounded there, zero and infinite.
LockstepCase exponents_added() {
  return {.name = "exponents_added",
          .body = std::string(kLoadOwn) + R"(
  v_mov_b32_e32 v6, 0x400
  addu v6, v4, v6
  get_at 6, 6
  v_mov_b32_e32 v7, 0x800
  addu v7, v4, v7
  get_at 7, 7
  v_mov_b32_e32 v24, 7
  v_ldexp_f32 v10, v5, v7
  v_cmp_u_f32_e32 vcc, v10, v10
  v_cndmask_b32_e32 v10, v10, v24, vcc
  out 0, v10
  v_mov_b32_e32 v12, v6
  v_mov_b32_e32 v13, v5
  v_ldexp_f64 v[10:11], v[12:13], v7
  v_cmp_u_f64_e32 vcc, v[10:11], v[10:11]
  v_cndmask_b32_e32 v10, v10, v24, vcc
  v_cndmask_b32_e32 v11, v11, v24, vcc
  out 1, v10
  out 2, v11
)",
          .floats = true,
          .prepare = [](Memory& data) {
            odd_numbers(data);
            static constexpr int kExponents[] = {-126,  -127,  127,   128,     -149,       -150,  -30,
                                                 254,   -1022, -1023, 1023,    1024,       -1074, 2046,
                                                 -2100, -1060, 4000,  1 << 30, -(1 << 30), 3};
            for (unsigned i = 0; i < 256; ++i) {
              const unsigned group = i / 64, lane = i % 64;
              const bool odd = group == 1 ? lane == 40 : group == 2 ? lane % 3 == 0 : group == 3;
              const int n = odd ? kExponents[i % std::size(kExponents)] : static_cast<int>(lane) - 30;
              data[512 + i] = static_cast<uint32_t>(n);
            }
          }};
}

// Packed multiply-adds that a loop carries as a factor, so that result and factor are one register.
LockstepCase carried_halves() {
  return {.name = "carried_halves",
          .body = std::string(kLoadOwn) + R"(
  v_and_b32_e32 v5, 7, v5
  v_cvt_f32_u32_e32 v6, v5
  v_cvt_pkrtz_f16_f32 v8, v6, 1.0
  v_mov_b32_e32 v9, 0x34003800
  v_mov_b32_e32 v10, 0xbc003e00
  v_mov_b32_e32 v11, v8
  v_mov_b32_e32 v12, 0x30003400
  s_mov_b32 s10, 5
.Lagain:
  fma_halves v8, v8, v9, v10
  fma_halves v11, v9, v11, v10
  fma_halves v12, v12, v12, v12
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lagain
  out 0, v8
  out 1, v11
  out 2, v12
)",
          .prepare = {},
          .reference = {}};
}

}  // namespace

std::vector<LockstepCase> float_cases() {
  return {divisions(), minimum_and_maximum(), exponents_added(), carried_halves()};
}

}  // namespace wavejit::test
