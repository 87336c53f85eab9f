// Arithmetic that is recognised as a whole, next to code that only looks like it; registers that are used again under
// another EXEC.
#include <array>

#include "rows.h"

namespace wavejit::test {
namespace {

// The end of the sequence below for the quotient, and for the remainder.
constexpr const char* kQuotient = R"(
  sub_co v11, v0, v6
  subb v10, v10, v20
  v_cmp_ge_u32_e64 s[0:1], v10, v7
  v_cndmask_b32_e64 v12, 0, -1, s[0:1]
  v_cmp_ge_u32_e64 s[0:1], v11, v6
  v_cndmask_b32_e64 v11, 0, -1, s[0:1]
  v_cmp_eq_u32_e64 s[0:1], v10, v7
  v_cndmask_b32_e64 v10, v12, v11, s[0:1]
  add_co v11, MORE, v2
  addc v12, 0, v3
  add_co v13, 1, v2
  addc v14, 0, v3
  s_mov_b64 vcc, s[8:9]
  subb v1, v5, v1
  v_cmp_ne_u32_e64 s[0:1], 0, v10
  v_cmp_ge_u32_e32 vcc, v1, v7
  v_cndmask_b32_e64 v10, v14, v12, s[0:1]
  v_cndmask_b32_e64 v12, 0, -1, vcc
  REACHED
  v_cndmask_b32_e64 v0, 0, -1, vcc
  v_cmp_eq_u32_e32 vcc, v1, v7
  v_cndmask_b32_e32 v0, v12, v0, vcc
  v_cmp_ne_u32_e32 vcc, 0, v0
  v_cndmask_b32_e64 v0, v13, v11, s[0:1]
  v_cndmask_b32_e32 v8, v3, v10, vcc
  v_cndmask_b32_e32 v9, v2, v0, vcc
)";
constexpr const char* kRemainder = R"(
  sub_co v11, v0, v6
  s_mov_b64 s[10:11], vcc
  subb v12, v10, v20
  v_cmp_ge_u32_e64 s[0:1], v12, v7
  v_cndmask_b32_e64 v13, 0, -1, s[0:1]
  v_cmp_ge_u32_e64 s[0:1], v11, v6
  v_cndmask_b32_e64 v14, 0, -1, s[0:1]
  v_cmp_eq_u32_e64 s[0:1], v12, v7
  v_cndmask_b32_e64 v13, v13, v14, s[0:1]
  s_mov_b64 vcc, s[10:11]
  subb v10, v10, v7
  THIRD
  subb v10, v10, v20
  s_mov_b64 vcc, s[8:9]
  subb v1, v5, v1
  v_cmp_ne_u32_e64 s[0:1], 0, v13
  v_cmp_ge_u32_e32 vcc, v1, v7
  v_cndmask_b32_e64 v13, 0, -1, vcc
  REACHED
  v_cndmask_b32_e64 v15, 0, -1, vcc
  v_cmp_eq_u32_e32 vcc, v1, v7
  v_cndmask_b32_e32 v13, v13, v15, vcc
  v_cmp_ne_u32_e32 vcc, 0, v13
  v_cndmask_b32_e64 v14, v11, v14, s[0:1]
  v_cndmask_b32_e64 v10, v12, v10, s[0:1]
  v_cndmask_b32_e32 v8, v1, v10, vcc
  v_cndmask_b32_e32 v9, v0, v14, vcc
)";

// The sequence of compilers for the unsigned quotient of 64-bit numbers, v[4:5] / v[6:7], or for the remainder, and what may
// differ in it.
struct Sequence {
  const char* name;
  const char* end = kQuotient;
  const char* third = "sub_co v14, v11, v6";
  bool uniform = false;  // the divisor
  const char* scale = "0x5f7ffffc";
  const char* second_step = "v_mul_lo_u32 v2, v12, v14";
  unsigned correction = 2;
  const char* reached = "v_cmp_ge_u32_e32 vcc, v0, v6";
};

LockstepCase long_division(const Sequence& s) {
  const std::string body = R"(
  v_lshlrev_b32_e32 v20, 4, v1
  at 16, 20
  get 4, 16
  add_co v16, 4, v16
  addc v17, 0, v17
  get 5, 16
  add_co v16, 4, v16
  addc v17, 0, v17
  get 6, 16
  add_co v16, 4, v16
  addc v17, 0, v17
  get 7, 16
  DIVISOR
  v_mov_b32_e32 v18, v1
  v_mov_b32_e32 v20, 0
  v_cvt_f32_u32_e32 v0, v6
  v_cvt_f32_u32_e32 v1, v7
  NEGATIVE
  v_mac_f32_e32 v0, 0x4f800000, v1
  v_rcp_f32_e32 v0, v0
  v_mul_f32_e32 v0, SCALE, v0
  v_mul_f32_e32 v1, 0x2f800000, v0
  v_trunc_f32_e32 v1, v1
  v_mac_f32_e32 v0, 0xcf800000, v1
  v_cvt_u32_f32_e32 v10, v1
  v_cvt_u32_f32_e32 v11, v0
  v_mul_lo_u32 v2, v12, v10
  v_mul_lo_u32 v3, v13, v11
  v_mad_u64_u32 v[0:1], s[0:1], v12, v11, 0
  addu v2, v1, v2
  addu v3, v2, v3
  v_mul_hi_u32 v14, v11, v0
  v_mad_u64_u32 v[22:23], s[0:1], v11, v3, 0
  add_co v14, v14, v22
  v_mad_u64_u32 v[16:17], s[0:1], v10, v0, 0
  addc v15, 0, v23
  v_mad_u64_u32 v[2:3], s[0:1], v10, v3, 0
  add_co v0, v14, v16
  addc v0, v15, v17
  addc v1, 0, v3
  add_co v0, v0, v2
  addc v1, 0, v1
  add_co v3, v11, v0
  addc v14, v10, v1
  SECOND
  v_mul_lo_u32 v10, v13, v3
  v_mad_u64_u32 v[0:1], s[0:1], v12, v3, 0
  addu v2, v1, v2
  addu v10, v2, v10
  v_mad_u64_u32 v[22:23], s[0:1], v14, v10, 0
  v_mad_u64_u32 v[10:11], s[0:1], v3, v10, 0
  v_mul_hi_u32 v15, v3, v0
  v_mad_u64_u32 v[12:13], s[0:1], v14, v0, 0
  add_co v0, v15, v10
  addc v10, 0, v11
  add_co v0, v0, v12
  addc v0, v10, v13
  addc v2, 0, v23
  add_co v0, v0, v22
  addc v1, 0, v2
  add_co v2, v3, v0
  addc v3, v14, v1
  v_mad_u64_u32 v[0:1], s[0:1], v4, v3, 0
  v_mul_hi_u32 v10, v4, v2
  add_co v10, v10, v0
  addc v11, 0, v1
  v_mad_u64_u32 v[0:1], s[0:1], v5, v2, 0
  v_mad_u64_u32 v[12:13], s[0:1], v5, v3, 0
  add_co v0, v10, v0
  addc v0, v11, v1
  addc v1, 0, v13
  add_co v2, v0, v12
  addc v3, 0, v1
  v_mul_lo_u32 v10, v7, v2
  v_mul_lo_u32 v11, v6, v3
  v_mad_u64_u32 v[0:1], s[0:1], v6, v2, 0
  addu v1, v1, v11
  addu v1, v1, v10
  subu v10, v5, v1
  sub_co v0, v4, v0
  s_mov_b64 s[8:9], vcc
  subb v10, v10, v7
  END
  v_mov_b32_e32 v1, v18
  out 0, v9
  out 1, v8
)";
  LockstepCase c{.name = std::string(s.end == kQuotient ? "long_division" : "long_remainder") + s.name,
                 .body = body,
                 .words = 4096};
  const auto replace = [&](const std::string& name, const std::string& by) {
    for (size_t at; (at = c.body.find(name)) != std::string::npos;) c.body.replace(at, name.size(), by);
  };
  replace("DIVISOR", s.uniform ? "v_readfirstlane_b32 s12, v6\n  v_readfirstlane_b32 s13, v7\n  v_mov_b32_e32 v6, s12\n"
                                 "  v_mov_b32_e32 v7, s13"
                               : "");
  replace("NEGATIVE", s.uniform ? "s_sub_u32 s14, 0, s12\n  s_subb_u32 s15, 0, s13\n  v_mov_b32_e32 v12, s14\n"
                                  "  v_mov_b32_e32 v13, s15"
                                : "sub_co v12, 0, v6\n  subb v13, v20, v7");
  replace("END", s.end);
  replace("THIRD", s.third);
  replace("SCALE", s.scale);
  replace("SECOND", s.second_step);
  replace("MORE", std::to_string(s.correction));
  replace("REACHED", s.reached);
  // Operands of all lengths, and what is special; 256 lanes.
  c.prepare = [](Memory& data) {
    const std::array<uint64_t, 12> special = {
        0, 1, 2, 3, ~0ull, ~0ull - 1, 1ull << 63, ~0ull >> 1, 1ull << 32, 0xffffffff, ~0ull << 32, 0xfffff80000000000};
    uint64_t state = 99;
    const auto next = [&] {
      state = state * 6364136223846793005 + 1442695040888963407;
      return (state >> 32) * 0x9e3779b97f4a7c15;
    };
    for (unsigned lane = 0; lane < 256; ++lane) {
      const uint64_t a = lane < 144 ? special[lane / 12] : next() >> lane % 7 * 9;
      const uint64_t b = lane < 144 ? special[lane % 12] : next() >> lane % 64;
      for (unsigned half = 0; half < 2; ++half) {
        data[4 * lane + half] = static_cast<uint32_t>(a >> 32 * half);
        data[4 * lane + 2 + half] = static_cast<uint32_t>(b >> 32 * half);
      }
    }
  };
  return c;
}

// Three ways, which share registers for what they compute; lanes take one of them, or one and then another if the masks
// overlap. Their numbers are read again where the ways have met.
LockstepCase ways_with_shared_registers(bool overlap, bool in_a_loop) {
  std::string body = std::string(kLoadOwn) + R"(
  s_mov_b64 s[20:21], exec
  s_mov_b32 s8, 3
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v12, 7
1:
  v_and_b32_e32 v6, 7, v5
  v_mov_b32_e32 v7, v5
  v_cmp_lt_u32_e64 s[10:11], 3, v6
  v_cmp_gt_u32_e64 s[12:13], LIMIT, v6
  s_and_b64 exec, s[20:21], s[10:11]
  s_cbranch_execz 2f
  v_lshlrev_b32_e32 v6, 1, v7
  v_xor_b32_e32 v7, 0x55, v6
  addu v12, v12, v7
2:
  s_and_b64 exec, s[20:21], s[12:13]
  s_cbranch_execz 5f
  v_cmp_lt_u32_e64 s[14:15], 1, v6
  s_and_b64 s[16:17], exec, s[14:15]
  s_andn2_b64 s[18:19], exec, s[14:15]
  s_mov_b64 exec, s[16:17]
  s_cbranch_execz 3f
  v_lshlrev_b32_e32 v6, 3, v7
  addu v12, v12, v6
3:
  s_mov_b64 exec, s[18:19]
  s_cbranch_execz 4f
  v_mul_u32_u24_e32 v7, 3, v6
  addu v12, v12, v7
4:
5:
  s_mov_b64 exec, s[20:21]
  v_xor_b32_e32 v8, v6, v7
  addu v9, v9, v8
  addu v5, v5, v12
)";
  const std::string limit = overlap ? "6" : "4";
  body.replace(body.find("LIMIT"), 5, limit);
  if (in_a_loop) body += "  s_sub_u32 s8, s8, 1\n  s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 1b\n";
  body += "  out 0, v6\n  out 1, v7\n  out 2, v9\n  out 3, v12\n";
  return {
      .name = std::string("ways_with_shared_registers") + (overlap ? "_overlapping" : "") + (in_a_loop ? "_loop" : ""),
      .body = body,
      .reference = [=](Memory& data, unsigned group) {
        Row r6, r7, r9, r12;
        const Row in = inputs(data, group);
        for (unsigned l = 0; l < kLanes; ++l) {
          uint32_t v5 = in[l], v6 = 0, v7 = 0, v9 = 0, v12 = 7;
          for (unsigned i = 0; i < (in_a_loop ? 3u : 1u); ++i) {
            v6 = v5 & 7;
            v7 = v5;
            const bool first = v6 > 3, second = v6 < (overlap ? 6u : 4u);
            if (first) {
              v6 = v7 << 1;
              v7 = v6 ^ 0x55;
              v12 += v7;
            }
            if (second && v6 > 1) {
              v6 = v7 << 3;
              v12 += v6;
            } else if (second) {
              v7 = (v6 & 0xffffff) * 3;
              v12 += v7;
            }
            v9 += v6 ^ v7;
            v5 += v12;
          }
          r6[l] = v6, r7[l] = v7, r9[l] = v9, r12[l] = v12;
        }
        output(data, group, 0, r6);
        output(data, group, 1, r7);
        output(data, group, 2, r9);
        output(data, group, 3, r12);
      }};
}

// Numbers of 64 bits in the LDS of lanes that constants say: the first ones of each sixteen, which fit short registers, the
// last ones of each eight, and so on. Other lanes keep what they have. The first lane's neighbour in memory is clamped.
LockstepCase sums_of_few_lanes() {
  return {.name = "sums_of_few_lanes",
          .body = std::string(kLoadOwn) + R"(
.macro few bits, compare, number, slot
  v_and_b32_e32 v6, \bits, v0
  v_cmp_\compare\()_u32_e32 vcc, \number, v6
  s_and_saveexec_b64 s[8:9], vcc
  ds_read_b32 v7, v2
  ds_read_b32 v8, v2 offset:4
  ds_read_b32 v9, v2 offset:8
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v10, v8
  v_lshlrev_b64 v[12:13], 29, v[10:11]
  v_ashrrev_i32_e32 v17, 31, v9
  add_co v12, v9, v12
  addc v13, v17, v13
  add_co v12, v7, v12
  addc v13, 0, v13
  v_lshrrev_b64 v[18:19], 3, v[12:13]
  v_xor_b32_e32 v19, v19, v9
  addu v14, -1, v1
  v_max_i32_e32 v14, 0, v14
  v_mov_b32_e32 v15, 0
  v_lshlrev_b64 v[14:15], 2, v[14:15]
  v_mov_b32_e32 v23, s5
  add_co v22, s4, v14
  addc v23, v23, v15
  gget 14, 22
  v_xor_b32_e32 v18, v18, v14
  ds_write_b64 v16, v[18:19] offset:512
  ds_write_b32 v2, v18
  s_mov_b64 exec, s[8:9]
  ds_read_b64 v[20:21], v16 offset:512
  ds_read_b32 v22, v2
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v21, v21, v22
  out \slot, v20
  out \slot+1, v21
.endm
  v_mov_b32_e32 v11, 0
  v_lshlrev_b32_e32 v16, 3, v0
  v_mov_b32_e32 v3, v5
  ds_write_b32 v2, v5
  ds_write_b32 v2, v11 offset:256
  ds_write_b64 v16, v[2:3] offset:512
  s_waitcnt lgkmcnt(0)
  few 15, eq, 0, 0
  few 15, gt, 2, 2
  few 15, gt, 4, 4
  few 15, gt, 8, 6
  few 7, lt, 5, 8
  few 15, lt, 7, 10
)",
          .lds = 1024};
}

}  // namespace

std::vector<LockstepCase> arithmetic_cases() {
  std::vector<LockstepCase> cases;
  for (const Sequence& s :
       {Sequence{.name = ""}, Sequence{.name = "_from_a_low_estimate", .scale = "0x5f700000"},
        Sequence{.name = "_with_half_a_step", .second_step = "v_mul_lo_u32 v2, v12, v13"},
        Sequence{.name = "_corrected_by_three", .correction = 3},
        Sequence{.name = "_that_stops_early", .reached = "v_cmp_gt_u32_e32 vcc, v0, v6"},
        Sequence{.name = "", .end = kRemainder}, Sequence{.name = "_by_one_number", .uniform = true},
        Sequence{.name = "_by_one_number", .end = kRemainder, .uniform = true},
        Sequence{.name = "_of_another", .end = kRemainder, .third = "sub_co v14, v11, v4"},
        Sequence{.name = "_that_stops_early", .end = kRemainder, .reached = "v_cmp_gt_u32_e32 vcc, v0, v6"}})
    cases.push_back(long_division(s));
  for (const bool overlap : {false, true})
    for (const bool in_a_loop : {false, true}) cases.push_back(ways_with_shared_registers(overlap, in_a_loop));
  cases.push_back(sums_of_few_lanes());
  return cases;
}

}  // namespace wavejit::test
