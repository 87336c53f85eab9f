// Scalar registers, SCC and masks in divergent code: one value per wave, whatever its lanes do.
#include <algorithm>
#include <array>
#include <bit>

#include "rows.h"

namespace wavejit::test {
namespace {

template <typename Predicate>
uint64_t mask_of(const Row& row, Predicate predicate) {
  uint64_t mask = 0;
  for (unsigned l = 0; l < kLanes; ++l) mask |= uint64_t{predicate(row[l])} << l;
  return mask;
}

// Contents by group: no lane below 8; one lane (in the third 16); the lower half; every second lane; all.
void varied(Memory& data) {
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned group = i / 64, lane = i % 64;
    const bool small = group == 1 ? lane == 37 : group == 2 ? lane < 32 : group == 3 ? lane % 2 == 0 : false;
    data[i] = small ? (lane * 5 + 3) % 8 : 8 + lane * 7 % 60;
  }
}

// Trip counts differ per lane. Read after the loop: the scalar counter, how many lanes ran each time, which was first.
LockstepCase divergent_loop(bool with_vccz) {
  const std::string control = with_vccz ? "  s_and_b64 vcc, exec, vcc\n  s_cbranch_vccz 2f\n  s_mov_b64 exec, vcc\n"
                                        : "  s_and_b64 exec, exec, vcc\n  s_cbranch_execz 2f\n";
  return {.name = with_vccz ? "divergent_loop_vccz" : "divergent_loop_execz",
          .body = std::string(kLoadOwn) + R"(
  v_and_b32_e32 v5, 31, v5
  s_mov_b64 s[10:11], exec
  s_mov_b32 s12, 0
  s_mov_b32 s13, 0
  s_mov_b32 s14, 0
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v7, 0
1:
  v_cmp_lt_u32_e32 vcc, v6, v5
)" + control + R"(
  s_bcnt1_i32_b64 s15, exec
  s_add_u32 s12, s12, s15
  s_add_u32 s13, s13, 1
  s_ff1_i32_b64 s16, exec
  s_mul_i32 s14, s14, 3
  s_xor_b32 s14, s14, s16
  v_readfirstlane_b32 s17, v5
  s_add_u32 s14, s14, s17
  v_mov_b32_e32 v7, s13
  v_mov_b32_e32 v8, 1
  addu v6, v6, v8
  s_branch 1b
2:
  s_mov_b64 exec, s[10:11]
  out 0, s12
  out 1, s13
  out 2, s14
  out 3, v6
  out 4, v7
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            uint32_t lanes = 0, trips = 0, hash = 0;
            Row seen = {};
            for (uint32_t& v : row) v &= 31;
            for (uint32_t trip = 0;; ++trip) {
              const uint64_t exec = mask_of(row, [trip](uint32_t v) { return trip < v; });
              if (exec == 0) break;
              lanes += static_cast<uint32_t>(std::popcount(exec));
              ++trips;
              const auto first = static_cast<uint32_t>(std::countr_zero(exec));
              hash = (hash * 3 ^ first) + row[first];
              for (unsigned l = 0; l < kLanes; ++l)
                if (bit(exec, l)) seen[l] = trips;
            }
            output(data, group, 0, lanes);
            output(data, group, 1, trips);
            output(data, group, 2, hash);
            output(data, group, 3, row);
            output(data, group, 4, seen);
          }};
}

// A block that no lane, one lane or all lanes run changes scalars and SCC; with the branch around it (skipped when no
// lane runs) or without (scalar instructions execute whatever EXEC is).
LockstepCase skipped_block(bool branch) {
  return {.name = branch ? "block_skipped_by_execz" : "block_with_empty_exec",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b32 s12, 100
  s_mov_b32 s13, 0
  v_mov_b32_e32 v6, 7
  v_cmp_gt_u32_e32 vcc, 8, v5
  s_mov_b64 s[20:21], vcc
  s_cmp_eq_u32 s2, 1000
  s_and_saveexec_b64 s[10:11], vcc
  s_cmp_eq_u32 s12, 100
)" + std::string(branch ? "  s_cbranch_execz 1f\n" : "") +
                  R"(
  s_add_u32 s12, s12, 5
  s_lshl_b32 s13, s12, 1
  v_mov_b32_e32 v6, s12
  v_readfirstlane_b32 s14, v5
  s_add_u32 s13, s13, s14
  s_cmp_eq_u32 s12, 104
1:
  s_mov_b64 exec, s[10:11]
  s_cselect_b32 s15, 11, 22
  out 0, s12
  out 1, s13
  out 2, v6
  out 3, s15
  out 4, s20
  out 5, s21
)",
          .prepare = varied,
          .reference = [branch](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            const uint64_t mask = mask_of(in, [](uint32_t v) { return v < 8; });
            const bool ran = mask != 0 || !branch;
            // With EXEC empty v_readfirstlane reads lane 0.
            const uint32_t first = in[mask != 0 ? static_cast<unsigned>(std::countr_zero(mask)) : 0];
            Row v6;
            for (unsigned l = 0; l < kLanes; ++l) v6[l] = bit(mask, l) ? 105 : 7;
            output(data, group, 0, ran ? 105 : 100);
            output(data, group, 1, ran ? 210 + first : 0);
            output(data, group, 2, v6);
            output(data, group, 3, ran ? 22 : 11);
            output(data, group, 4, static_cast<uint32_t>(mask));
            output(data, group, 5, static_cast<uint32_t>(mask >> 32));
          }};
}

// if / else over EXEC, each side with its own scalar effects and its own early way out.
LockstepCase if_else() {
  return {.name = "if_else_with_scalars",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b32 s12, 1
  v_mov_b32_e32 v6, 0
  v_cmp_gt_u32_e32 vcc, 8, v5
  s_and_saveexec_b64 s[10:11], vcc
  s_xor_b64 s[10:11], exec, s[10:11]
  s_cbranch_execz 1f
  s_mul_i32 s12, s12, 3
  v_mov_b32_e32 v6, s12
1:
  s_or_saveexec_b64 s[10:11], s[10:11]
  s_xor_b64 exec, exec, s[10:11]
  s_cbranch_execz 2f
  s_mul_i32 s12, s12, 5
  v_mov_b32_e32 v6, s12
2:
  s_or_b64 exec, exec, s[10:11]
  out 0, s12
  out 1, v6
)",
          .prepare = varied,
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            const uint64_t mask = mask_of(in, [](uint32_t v) { return v < 8; });
            const uint32_t after_if = mask != 0 ? 3 : 1, after_else = ~mask != 0 ? after_if * 5 : after_if;
            // s[10:11] after s_or_saveexec is the EXEC of the if side, so the else side runs where it is not set.
            Row v6;
            for (unsigned l = 0; l < kLanes; ++l) v6[l] = bit(mask, l) ? after_if : after_else;
            output(data, group, 0, after_else);
            output(data, group, 1, v6);
          }};
}

// One iteration per distinct value.
LockstepCase waterfall() {
  return {.name = "waterfall",
          .body = std::string(kLoadOwn) + R"(
  v_and_b32_e32 v5, 15, v5
  s_mov_b64 s[10:11], exec
  s_mov_b32 s12, 0
  s_mov_b32 s13, 0
  v_mov_b32_e32 v6, 0
1:
  v_readfirstlane_b32 s14, v5
  v_cmp_eq_u32_e32 vcc, s14, v5
  s_and_saveexec_b64 s[16:17], vcc
  s_bcnt1_i32_b64 s18, exec
  s_mul_i32 s13, s13, 31
  s_add_u32 s13, s13, s18
  s_add_u32 s12, s12, 1
  v_mov_b32_e32 v6, s12
  s_xor_b64 exec, s[16:17], exec
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[10:11]
  out 0, v6
  out 1, s12
  out 2, s13
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group), order = {};
            for (uint32_t& v : row) v &= 15;
            uint32_t count = 0, hash = 0;
            for (uint64_t left = ~uint64_t{0}; left != 0;) {
              const uint32_t value = row[static_cast<unsigned>(std::countr_zero(left))];
              const uint64_t same = left & mask_of(row, [value](uint32_t v) { return v == value; });
              hash = hash * 31 + static_cast<uint32_t>(std::popcount(same));
              ++count;
              for (unsigned l = 0; l < kLanes; ++l)
                if (bit(same, l)) order[l] = count;
              left &= ~same;
            }
            output(data, group, 0, order);
            output(data, group, 1, count);
            output(data, group, 2, hash);
          }};
}

// Loops over the bits of a mask: s_ff1, s_bitset0, v_readlane; leaves by s_cbranch_vccz / vccnz.
LockstepCase loop_over_mask_bits() {
  return {.name = "loop_over_mask_bits",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b32 s12, 0
  v_mov_b32_e32 v6, 0
  v_cmp_gt_u32_e32 vcc, 8, v5
  s_cbranch_vccz 2f
1:
  s_ff1_i32_b64 s14, vcc
  s_lshl_b64 s[16:17], 1, s14
  v_readlane_b32 s15, v5, s14
  s_mul_i32 s12, s12, 7
  s_add_u32 s12, s12, s15
  v_mov_b32_e32 v7, s14
  v_xor_b32_e32 v6, v6, v7
  s_andn2_b64 vcc, vcc, s[16:17]
  s_cbranch_vccnz 1b
2:
  out 0, s12
  out 1, v6
)",
          .prepare = varied,
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            uint32_t hash = 0, x = 0;
            for (unsigned l = 0; l < kLanes; ++l)
              if (in[l] < 8) {
                hash = hash * 7 + in[l];
                x ^= l;
              }
            output(data, group, 0, hash);
            output(data, group, 1, x);
          }};
}

// EXEC saved and restored by ways other than the compiler's.
LockstepCase exec_by_other_ways() {
  return {.name = "exec_by_other_ways",
          .body = std::string(kLoadOwn) + R"(
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v7, 0
  v_cmp_gt_u32_e64 s[20:21], 30, v5
  // through VGPR lanes
  v_writelane_b32 v7, exec_lo, 3
  v_writelane_b32 v7, exec_hi, 60
  s_mov_b64 exec, s[20:21]
  v_or_b32_e32 v6, 1, v6
  v_readlane_b32 s22, v7, 3
  v_readlane_b32 s23, v7, 60
  s_mov_b32 exec_lo, s22
  s_mov_b32 exec_hi, s23
  // half of it
  s_mov_b32 exec_hi, 0
  v_or_b32_e32 v6, 2, v6
  s_not_b32 exec_hi, exec_hi
  // by exclusive or, twice
  s_xor_b64 exec, exec, s[20:21]
  v_or_b32_e32 v6, 4, v6
  s_xor_b64 exec, exec, s[20:21]
  // from SCC
  s_cmp_eq_u32 s2, 2
  s_cselect_b64 exec, s[20:21], -1
  v_or_b32_e32 v6, 8, v6
  // arithmetic on it
  s_mov_b64 exec, -1
  s_add_u32 exec_lo, exec_lo, 2
  s_addc_u32 exec_hi, exec_hi, 0
  v_or_b32_e32 v6, 16, v6
  s_mov_b64 exec, -1
  s_lshl_b64 exec, exec, 5
  v_or_b32_e32 v6, 32, v6
  s_bfm_b64 exec, 20, 10
  v_or_b32_e32 v6, 64, v6
  s_mov_b64 exec, -1
  v_cmpx_lt_u32_e64 s[24:25], 50, v5
  v_or_b32_e32 v6, 0x80, v6
  s_mov_b64 exec, -1
  out 0, v6
  out 1, s24
  out 2, s25
)",
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            Row v6;
            for (unsigned l = 0; l < kLanes; ++l) {
              const bool small = in[l] < 30;
              v6[l] = (small ? 1 : 0) | (l < 32 ? 2 : 0) | (small ? 0 : 4) | (group != 2 || small ? 8 : 0) |
                      (l == 0 ? 16 : 0) | (l >= 5 ? 32 : 0) | (l >= 10 && l < 30 ? 64 : 0) | (in[l] > 50 ? 0x80 : 0);
            }
            const uint64_t large = mask_of(in, [](uint32_t v) { return v > 50; });
            output(data, group, 0, v6);
            output(data, group, 1, static_cast<uint32_t>(large));
            output(data, group, 2, static_cast<uint32_t>(large >> 32));
          }};
}

// SCC set before a loop (nothing in it writes SCC) and used after; another SCC crosses a divergent block.
LockstepCase scc_across_loop() {
  return {.name = "scc_across_loop",
          .body = std::string(kLoadOwn) + R"(
  v_and_b32_e32 v5, 7, v5
  v_mov_b32_e32 v6, 0
  s_mov_b64 s[10:11], exec
  s_and_b32 s12, s2, 1
  s_cmp_eq_u32 s12, 1
1:
  v_mov_b32_e32 v7, 1
  addu v6, v6, v7
  v_cmpx_lt_u32_e32 vcc, v6, v5
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[10:11]
  s_cselect_b32 s13, 17, 33
  s_addc_u32 s14, s2, 0
  out 0, v6
  out 1, s13
  out 2, s14
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            for (uint32_t& v : row) v = std::max(v & 7, 1u);
            output(data, group, 0, row);
            output(data, group, 1, group % 2 == 1 ? 17 : 33);
            output(data, group, 2, group + group % 2);
          }};
}

// A uniform loop around a divergent one; both counters and a per-lane sum are read afterwards.
LockstepCase nested_loops() {
  return {.name = "nested_loops",
          .body = std::string(kLoadOwn) + R"(
  v_and_b32_e32 v5, 15, v5
  s_mov_b32 s12, 0
  s_mov_b32 s13, 0
  v_mov_b32_e32 v6, 0
1:
  s_mov_b64 s[10:11], exec
  v_mov_b32_e32 v7, s12
2:
  v_cmp_lt_u32_e32 vcc, v7, v5
  s_and_b64 exec, exec, vcc
  s_cbranch_execz 3f
  addu v6, v6, v7
  v_mov_b32_e32 v8, 3
  addu v7, v7, v8
  s_add_u32 s13, s13, 1
  s_branch 2b
3:
  s_mov_b64 exec, s[10:11]
  s_add_u32 s12, s12, 1
  s_cmp_lt_u32 s12, 5
  s_cbranch_scc1 1b
  out 0, v6
  out 1, s12
  out 2, s13
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group), sum = {};
            uint32_t trips = 0;
            for (uint32_t outer = 0; outer < 5; ++outer) {
              uint32_t longest = 0;
              for (unsigned l = 0; l < kLanes; ++l) {
                uint32_t n = 0;
                for (uint32_t i = outer; i < (row[l] & 15); i += 3, ++n) sum[l] += i;
                longest = std::max(longest, n);
              }
              trips += longest;
            }
            output(data, group, 0, sum);
            output(data, group, 1, 5u);
            output(data, group, 2, trips);
          }};
}

// Lanes switched off keep their registers, and others may look at them.
LockstepCase inactive_lanes_keep() {
  return {.name = "inactive_lanes_keep",
          .body = std::string(kLoadOwn) + R"(
  v_mov_b32_e32 v6, v5
  v_cmp_gt_u32_e32 vcc, 64, v5
  s_and_saveexec_b64 s[10:11], vcc
  v_lshlrev_b32_e32 v6, 4, v5
  v_readlane_b32 s12, v6, 63
  v_readlane_b32 s13, v6, 17
  v_mov_b32_e32 v7, s12
  addu v6, v6, v7
  s_andn2_b64 exec, s[10:11], exec
  v_readlane_b32 s14, v6, 17
  s_mov_b64 exec, s[10:11]
  v_mov_b32_e32 v8, 0
  s_nop 4
  v_mov_b32_dpp v8, v6 row_ror:3 row_mask:0xf bank_mask:0xf
  out 0, v6
  out 1, s13
  out 2, s14
  out 3, v8
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            const uint64_t small = mask_of(row, [](uint32_t v) { return v < 64; });
            for (unsigned l = 0; l < kLanes; ++l)
              if (bit(small, l)) row[l] <<= 4;
            const uint32_t s12 = row[63], s13 = row[17];
            for (unsigned l = 0; l < kLanes; ++l)
              if (bit(small, l)) row[l] += s12;
            Row rotated;
            for (unsigned l = 0; l < kLanes; ++l) rotated[l] = row[l / 16 * 16 + (l % 16 + 13) % 16];
            output(data, group, 0, row);
            output(data, group, 1, s13);
            output(data, group, 2, row[17]);
            output(data, group, 3, rotated);
          }};
}

// A mask in a register pair is used as a number in a loop, and as a mask after it.
LockstepCase mask_as_number() {
  return {.name = "mask_as_number",
          .body = std::string(kLoadOwn) + R"(
  v_mov_b32_e32 v6, 0
  s_mov_b64 s[20:21], 0
  s_mov_b32 s12, 6
1:
  v_mov_b32_e32 v7, s12
  v_and_b32_e32 v8, v7, v5
  v_cmp_ne_u32_e32 vcc, 0, v8
  s_add_u32 s20, s20, vcc_lo
  s_addc_u32 s21, s21, vcc_hi
  v_cndmask_b32_e32 v9, 0, v7, vcc
  addu v6, v6, v9
  s_lshl_b64 s[22:23], s[20:21], 1
  s_xor_b64 s[20:21], s[20:21], s[22:23]
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 1b
  v_cndmask_b32_e64 v10, 1, v6, s[20:21]
  v_mbcnt_lo_u32_b32 v11, s20, 0
  v_mbcnt_hi_u32_b32 v11, s21, v11
  out 0, v10
  out 1, v11
  out 2, s20
)",
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            Row v10, v11;
            uint64_t mask = 0;
            Row sum = {};
            for (uint32_t k = 6; k != 0; --k) {
              mask += mask_of(in, [k](uint32_t v) { return (v & k) != 0; });
              for (unsigned l = 0; l < kLanes; ++l) sum[l] += (in[l] & k) != 0 ? k : 0;
              mask ^= mask << 1;
            }
            for (unsigned l = 0; l < kLanes; ++l) {
              v10[l] = bit(mask, l) ? sum[l] : 1;
              v11[l] = static_cast<uint32_t>(std::popcount(mask & ((uint64_t{1} << l) - 1)));
            }
            output(data, group, 0, v10);
            output(data, group, 1, v11);
            output(data, group, 2, static_cast<uint32_t>(mask));
          }};
}

// Lanes leave for good; the wave ends when none is left, before the last store.
LockstepCase lanes_leave() {
  return {.name = "lanes_leave",
          .body = std::string(kLoadOwn) + R"(
  v_mov_b32_e32 v6, 0
1:
  v_mov_b32_e32 v7, 8
  addu v6, v6, v7
  out 0, v6
  v_cmp_lt_u32_e32 vcc, v6, v5
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_cmp_eq_u32 s2, 1
  s_cbranch_scc0 2f
  s_endpgm
2:
  s_mov_b64 exec, -1
  out 1, v6
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            for (uint32_t& v : row) v = std::max((v + 7) / 8 * 8, 8u);
            output(data, group, 0, row);
            if (group != 1) output(data, group, 1, row);
          }};
}

// The last wave of a group of 100 has 36 lanes; ballots and counts must not see the others.
LockstepCase partial_wave() {
  return {.name = "partial_wave",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b64 s[20:21], exec
  s_bcnt1_i32_b64 s12, exec
  v_cmp_ne_u32_e32 vcc, -1, v5
  s_bcnt1_i32_b64 s13, vcc
  v_cmp_lt_u32_e64 s[22:23], v5, 64
  s_not_b64 s[24:25], s[22:23]
  s_bcnt1_i32_b64 s14, s[24:25]
  s_mov_b64 exec, s[24:25]
  s_and_b64 exec, exec, s[20:21]
  v_mov_b32_e32 v5, 3
  s_mov_b64 exec, s[20:21]
  out 0, s12
  out 1, s13
  out 2, s14
  out 3, v5
)",
          .groups = 2,
          .group_size = 100,
          .reference = [](Memory& data, unsigned group) {
            for (unsigned first = 0; first < 100; first += 64) {
              const unsigned count = std::min(100 - first, 64u);
              uint32_t small = 0;
              for (unsigned i = 0; i < count; ++i) small += data[group * 100 + first + i] < 64;
              for (unsigned i = 0; i < count; ++i) {
                const unsigned item = group * 100 + first + i;
                const uint32_t v = data[item];
                data[1024 + item] = count;
                data[1024 + 256 + item] = count;
                data[1024 + 512 + item] = 64 - small;
                data[1024 + 768 + item] = v < 64 ? v : 3;
              }
            }
          }};
}

// Some lanes sleep in front of a place that waves also come to without it: a wave goes on in code for any EXEC then. Behind the trap,
// other code reads what the registers of all lanes hold.
LockstepCase some_lanes_sleep() {
  return {.name = "some_lanes_sleep",
          .body = std::string(kLoadOwn) + R"(
  s_lshl_b32 s12, s2, 2
  s_add_u32 s12, s12, 9
  s_sub_u32 s13, s12, 1
  v_mov_b32_e32 v8, s13
  v_cmp_gt_u32_e32 vcc, 8, v5
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz 1f
  s_sleep 1
1:
  s_or_b64 exec, exec, s[10:11]
  s_barrier
  s_trap 3
  out 0, v8
  out 1, v5
)",
          .prepare = varied,
          .reference = [](Memory& data, unsigned group) {
            output(data, group, 0, group * 4 + 8);
            output(data, group, 1, inputs(data, group));
          }};
}

}  // namespace

// Barriers at which the last wave, which is not full, has fewer lanes on than at its start, or all of the register's,
// and then those of its start again.
LockstepCase partial_wave_at_barriers() {
  return {.name = "partial_wave_at_barriers",
          .body = R"(
  v_mul_u32_u24_e32 v5, 3, v0
  v_mov_b32_e32 v6, 7
  v_and_b32_e32 v8, 1, v0
  v_cmp_eq_u32_e32 vcc, 1, v8
  s_and_saveexec_b64 s[12:13], vcc
  v_mov_b32_e32 v6, v5
  v_mov_b32_e32 v9, 1
  s_barrier
  addu v6, v6, v9
  s_mov_b64 s[16:17], exec
  s_mov_b64 exec, -1
  v_mov_b32_e32 v7, 5
  v_mov_b32_e32 v9, 1
  s_barrier
  addu v7, v7, v9
  v_readlane_b32 s14, v7, 63
  s_bcnt1_i32_b64 s15, s[12:13]
  s_mov_b64 exec, s[12:13]
  addu v6, v6, v9
  s_barrier
  s_bcnt1_i32_b64 s18, exec
  s_bcnt1_i32_b64 s16, s[16:17]
  out 0, v6
  out 1, s14
  out 2, v5
  s_add_u32 s15, s15, s18
  out 3, s15
  out 4, s16
)",
          .groups = 2,
          .group_size = 100,
          .reference = [](Memory& data, unsigned group) {
            for (unsigned i = 0; i < 100; ++i) {
              const uint32_t at = 1024 + group * 100 + i, lanes = i < 64 ? 64 : 36;
              data[at] = (i % 2 != 0 ? 3 * i + 1 : 7) + 1;
              data[at + 256] = 6;
              data[at + 512] = 3 * i;
              data[at + 768] = 2 * lanes;
              data[at + 1024] = lanes / 2;
            }
          }};
}

// Registers behind a barrier that can be computed again, in a kernel that records exceptions, as it reads them.
LockstepCase recording_at_a_barrier() {
  return {.name = "recording_at_a_barrier",
          .body = std::string(kLoadOwn) + R"(
  v_mul_u32_u24_e32 v7, 54, v0
  s_barrier
  addu v8, v0, v7
  v_cvt_f32_u32_e32 v9, v5
  v_rcp_f32_e32 v9, v9
  s_getreg_b32 s8, hwreg(HW_REG_TRAPSTS, 3, 1)
  out 0, v8
  out 1, v7
  out 2, s8
)",
          .groups = 2,
          .group_size = 128,
          .reference = [](Memory& data, unsigned group) {
            for (unsigned i = 0; i < 128; ++i) {
              const unsigned at = 1024 + group * 128 + i;
              data[at] = 55 * i;
              data[at + 256] = 54 * i;
              data[at + 512] = 0;
            }
          }};
}

// Barriers behind which MODE is another than at the kernel's start, so that other code goes on, and then the kernel's
// again; the first work-group only comes to the second one. What that code reads must be in the registers.
LockstepCase mode_changes_at_barriers() {
  return {.name = "mode_changes_at_barriers",
          .body = R"(
  v_mul_u32_u24_e32 v5, 10, v0
  v_xor_b32_e32 v5, s2, v5
  v_mul_u32_u24_e32 v6, 6, v0
  v_mov_b32_e32 v7, v5
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 1f
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5
  s_barrier
  addu v7, v5, v6
  v_mul_u32_u24_e32 v6, 7, v0
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0
1:
  s_barrier
  out 0, v5
  out 1, v6
  out 2, v7
)",
          .groups = 3,
          .group_size = 80,
          .reference = [](Memory& data, unsigned group) {
            for (unsigned i = 0; i < 80; ++i) {
              const unsigned at = 1024 + group * 80 + i, first = i * 10 ^ group;
              data[at] = first;
              data[at + 256] = (group == 0 ? 6 : 7) * i;
              data[at + 512] = group == 0 ? first : first + 6 * i;
            }
          }};
}

std::vector<LockstepCase> scalar_state_cases() {
  return {divergent_loop(false),
          divergent_loop(true),
          skipped_block(true),
          skipped_block(false),
          if_else(),
          waterfall(),
          loop_over_mask_bits(),
          exec_by_other_ways(),
          scc_across_loop(),
          nested_loops(),
          inactive_lanes_keep(),
          mask_as_number(),
          lanes_leave(),
          partial_wave(),
          partial_wave_at_barriers(),
          recording_at_a_barrier(),
          mode_changes_at_barriers(),
          some_lanes_sleep()};
}

}  // namespace wavejit::test
