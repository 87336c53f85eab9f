// Loops that invite what optimisations of whole loops do: emission tile by tile, hoisting, merged and prefetched
// accesses, masks kept in halves. Most have a twin that may be optimised, so that both sides of the decision are run.
#include <algorithm>
#include <array>
#include <bit>

#include "rows.h"

namespace wavejit::test {
namespace {

enum class Exchange { none, lds, global, readlane, ballot };

// A loop that carries `count` vectors: more than the host has registers for a whole wave, few enough for a tile. It may
// be emitted tile by tile only if lanes do not exchange anything in it.
LockstepCase crowded_loop(unsigned count, Exchange exchange) {
  static constexpr const char* kNames[] = {"alone", "lds", "global", "readlane", "ballot"};
  static constexpr const char* kExchanges[] = {
      "",
      "  ds_write_b32 v2, v10\n  v_xor_b32_e32 v9, 0xa4, v2\n  ds_read_b32 v9, v9\n  s_waitcnt lgkmcnt(0)\n"
      "  addu v10, v9, v10\n",
      "  put 6, 10\n  get 9, 54\n  addu v10, v9, v10\n", "  v_readlane_b32 s9, v10, 50\n  v_xor_b32_e32 v10, s9, v10\n",
      "  v_cmp_lt_u32_e32 vcc, v10, v11\n  s_bcnt1_i32_b64 s9, vcc\n  s_lshl_b32 s12, s12, 1\n  s_add_u32 s12, s12, "
      "s9\n"
      "  v_xor_b32_e32 v10, s12, v10\n"};
  const auto v = [](unsigned i) { return "v" + std::to_string(10 + i); };
  std::string body = kLoadOwn;
  // v[6:7]: the own word of 64 behind the inputs; v[54:55]: that of lane ^ 41.
  body += R"(
  s_mov_b32 s12, 0
  v_mov_b32_e32 v8, 0xc00
  addu v8, v4, v8
  at 6, 8
  v_xor_b32_e32 v9, 0xa4, v8
  at 54, 9
)";
  for (unsigned i = 0; i < count; ++i)
    body += "  v_mov_b32_e32 v9, " + std::to_string(i) + "\n  addu " + v(i) + ", v5, v9\n";
  body += "  s_mov_b32 s8, 5\n1:\n";
  body += kExchanges[static_cast<unsigned>(exchange)];
  for (unsigned i = 0; i < count; ++i) {
    const std::string next = v((i + 1) % count);
    body += i % 2 == 0 ? "  v_xor_b32_e32 " + v(i) + ", " + next + ", " + v(i) + "\n"
                       : "  addu " + v(i) + ", " + next + ", " + v(i) + "\n";
  }
  body += "  s_sub_u32 s8, s8, 1\n  s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 1b\n";
  for (unsigned i = 1; i < count; ++i) body += "  v_xor_b32_e32 v10, " + v(i) + ", v10\n";
  body += "  out 0, v10\n  out 1, s12\n";
  return {.name = "crowded_loop_" + std::string(kNames[static_cast<unsigned>(exchange)]) + "_" + std::to_string(count),
          .body = body,
          .lds = 256,
          .reference = [count, exchange](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            uint32_t* words = data.data() + 0x300 + group * kLanes;
            std::vector<Row> a(count);
            for (unsigned i = 0; i < count; ++i)
              for (unsigned l = 0; l < kLanes; ++l) a[i][l] = in[l] + i;
            uint32_t hash = 0;
            for (unsigned trip = 0; trip < 5; ++trip) {
              const Row before = a[0];
              if (exchange == Exchange::lds || exchange == Exchange::global)
                for (unsigned l = 0; l < kLanes; ++l) a[0][l] += before[l ^ 41];
              if (exchange == Exchange::global) std::copy(before.begin(), before.end(), words);
              if (exchange == Exchange::readlane)
                for (uint32_t& value : a[0]) value ^= before[50];
              if (exchange == Exchange::ballot) {
                uint32_t less = 0;
                for (unsigned l = 0; l < kLanes; ++l) less += a[0][l] < a[1][l];
                hash = hash * 2 + less;
                for (uint32_t& value : a[0]) value ^= hash;
              }
              for (unsigned i = 0; i < count; ++i)
                for (unsigned l = 0; l < kLanes; ++l) {
                  const uint32_t next = a[(i + 1) % count][l];
                  a[i][l] = i % 2 == 0 ? a[i][l] ^ next : a[i][l] + next;
                }
            }
            Row all = a[0];
            for (unsigned i = 1; i < count; ++i)
              for (unsigned l = 0; l < kLanes; ++l) all[l] ^= a[i][l];
            output(data, group, 0, all);
            output(data, group, 1, hash);
          }};
}

// Each lane loads a word, replaces it, and loads the word behind it, which the next lane has just replaced: the two
// loads are not one.
LockstepCase neighbours_around_a_store(bool in_lds) {
  const std::string access = in_lds ? R"(
  ds_write_b32 v2, v5
  ds_write_b32 v2, v5 offset:4
  ds_write_b32 v2, v5
  ds_read_b32 v6, v2
  ds_write_b32 v2, v7
  ds_read_b32 v8, v2 offset:4
  s_waitcnt lgkmcnt(0)
)"
                                    : R"(
  s_mul_i32 s6, s2, 0x800
  s_add_u32 s6, s6, 0x1000
  v_mov_b32_e32 v9, s6
  addu v9, v9, v2
  at 10, 9
  add_co v12, 4, v10
  addc v13, 0, v11
  get 6, 10
  put 10, 7
  get 8, 12
)";
  return {.name = std::string(in_lds ? "lds" : "global") + "_neighbours_around_a_store",
          .body = std::string(kLoadOwn) + "  v_lshlrev_b32_e32 v7, 8, v5\n" + access + R"(
  v_mul_u32_u24_e32 v6, 3, v6
  addu v8, v8, v6
  v_lshlrev_b32_e32 v9, 2, v1
  put_at 9, 8
)",
          .lds = 260,
          .reference = [in_lds](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            uint32_t* words = data.data() + 1024 + group * 512;
            std::array<uint32_t, 65> cells;
            for (unsigned l = 0; l < 65; ++l) cells[l] = in_lds ? in[l < 64 ? l : 63] : words[l];
            Row first;
            for (unsigned l = 0; l < kLanes; ++l) {
              first[l] = cells[l];
              if (!in_lds) words[l] = in[l] << 8;
            }
            for (unsigned l = 0; l < kLanes; ++l) cells[l] = in[l] << 8;
            for (unsigned l = 0; l < kLanes; ++l) data[group * kLanes + l] = cells[l + 1] + first[l] * 3;
          }};
}

// Lanes walk through rows of their own, one of which ends where accessible memory does; in order, or in none that the
// code shows.
LockstepCase rows(bool upwards, bool in_order) {
  constexpr unsigned kRow = 9, kWords = 4096;
  const auto row = [in_order](unsigned lane) { return in_order ? lane : (lane * 37 + 5) % 64; };
  const std::string number = in_order ? "  v_mov_b32_e32 v6, v0\n"
                                      : "  v_mul_u32_u24_e32 v6, 37, v0\n  v_mov_b32_e32 v7, 5\n  addu v6, v6, v7\n"
                                        "  v_and_b32_e32 v6, 63, v6\n";
  const unsigned first = upwards ? kWords - kLanes * kRow : kRow - 1;
  const std::string step =
      upwards ? "  add_co v10, 4, v10\n  addc v11, 0, v11\n" : "  add_co v10, -4, v10\n  addc v11, -1, v11\n";
  return {.name = std::string("rows_to_the_") + (upwards ? "end" : "front") + (in_order ? "" : "_in_disorder"),
          .body = number + "  v_mul_u32_u24_e32 v6, 36, v6\n  v_mov_b32_e32 v7, " + std::to_string(first * 4) + R"(
  addu v6, v6, v7
  at 10, 6
  v_mov_b32_e32 v8, 0
  s_mov_b32 s8, 9
  s_mov_b32 s9, 0
1:
  gget 9, 10
  v_lshlrev_b32_e32 v8, 1, v8
  addu v8, v8, v9
  s_add_u32 s9, s9, 3
)" + step + R"(
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
  out 0, v8
)",
          .words = kWords,
          .reference = [=](Memory& data, unsigned group) {
            Row sums = {};
            for (unsigned l = 0; l < kLanes; ++l)
              for (unsigned i = 0; i < kRow; ++i) {
                const unsigned at = first + row(l) * kRow;
                sums[l] = sums[l] * 2 + data[upwards ? at + i : at - i];
              }
            output(data, group, 0, sums);
          }};
}

// A load from an address that is good only if the loop runs at all, which in the first work-group it does not.
LockstepCase load_of_a_loop_that_does_not_run() {
  return {.name = "load_of_a_loop_that_does_not_run",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b64 s[12:13], 0
  s_mov_b32 s8, s2
  s_cmp_lg_u32 s8, 0
  s_cselect_b64 s[12:13], s[4:5], 0
  v_mov_b32_e32 v10, s12
  v_mov_b32_e32 v11, s13
  v_mov_b32_e32 v6, 0
  s_cbranch_scc0 2f
1:
  get 7, 10
  s_load_dword s14, s[12:13], 0x4
  s_waitcnt lgkmcnt(0)
  addu v6, v6, v7
  v_xor_b32_e32 v6, s14, v6
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
2:
  out 0, v6
)",
          .reference = [](Memory& data, unsigned group) {
            uint32_t sum = 0;
            for (unsigned i = 0; i < group; ++i) sum = (sum + data[0]) ^ data[1];
            output(data, group, 0, sum);
          }};
}

// Halves of masks go their own ways through a loop; the whole is used as a mask.
LockstepCase halves_in_a_loop() {
  return {.name = "halves_in_a_loop",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b64 s[20:21], -1
  s_mov_b32 s8, 0
  v_mov_b32_e32 v6, 0
1:
  v_mov_b32_e32 v7, s8
  v_cmp_gt_u32_e32 vcc, v5, v7
  s_bitcmp1_b32 s8, 0
  s_cbranch_scc1 2f
  s_mov_b32 s20, vcc_lo
  s_branch 3f
2:
  s_xor_b32 s21, s21, vcc_hi
3:
  v_cndmask_b32_e64 v9, 0, 1, s[20:21]
  v_lshlrev_b32_e32 v6, 1, v6
  v_or_b32_e32 v6, v6, v9
  s_mov_b32 vcc_hi, s20
  v_cndmask_b32_e32 v9, 0, v7, vcc
  v_xor_b32_e32 v6, v9, v6
  s_mov_b64 s[22:23], exec
  s_mov_b32 exec_lo, s21
  v_xor_b32_e32 v6, 0x10000, v6
  s_mov_b32 exec_hi, vcc_lo
  s_cbranch_execz 4f
  v_xor_b32_e32 v6, 0x20000, v6
4:
  s_mov_b64 exec, s[22:23]
  s_add_u32 s8, s8, 11
  s_cmp_lt_u32 s8, 0x78
  s_cbranch_scc1 1b
  out 0, v6
  out 1, s20
  out 2, s21
)",
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            uint32_t low = ~0u, high = ~0u;
            Row v6 = {};
            for (uint32_t k = 0; k < 0x78; k += 11) {
              uint64_t vcc = 0;
              for (unsigned l = 0; l < kLanes; ++l) vcc |= uint64_t{in[l] > k} << l;
              const auto vcc_low = static_cast<uint32_t>(vcc), vcc_high = static_cast<uint32_t>(vcc >> 32);
              if ((k & 1) == 0) {
                low = vcc_low;
              } else {
                high ^= vcc_high;
              }
              const uint64_t mask = low | uint64_t{high} << 32, other = vcc_low | uint64_t{low} << 32;
              const uint64_t first = high | uint64_t{~0u} << 32, second = high | uint64_t{vcc_low} << 32;
              for (unsigned l = 0; l < kLanes; ++l) {
                v6[l] = v6[l] << 1 | bit(mask, l);
                if (bit(other, l)) v6[l] ^= k;
                if (bit(first, l)) v6[l] ^= 0x10000;
                if (bit(second, l)) v6[l] ^= 0x20000;
              }
            }
            output(data, group, 0, v6);
            output(data, group, 1, low);
            output(data, group, 2, high);
          }};
}

// What a branch has shown about EXEC, VCC and SCC holds until they change, and no longer.
LockstepCase conditions_that_change() {
  return {.name = "conditions_that_change",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b32 s12, 0
  v_mov_b32_e32 v6, 0
  s_mov_b64 s[10:11], exec
  v_cmp_gt_u32_e32 vcc, 8, v5
  s_and_b64 exec, exec, vcc
  s_cbranch_execz 1f
  v_cmp_eq_u32_e32 vcc, 3, v5
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 2f
  s_add_u32 s12, s12, 100
2:
  s_add_u32 s12, s12, 1
  v_mov_b32_e32 v6, 5
1:
  s_mov_b64 exec, s[10:11]
  v_cmp_gt_u32_e32 vcc, 8, v5
  s_cbranch_vccz 3f
  v_cmp_lt_u32_e32 vcc, 40, v5
  s_cbranch_vccz 4f
  s_add_u32 s12, s12, 0x1000
4:
  s_mov_b32 vcc_lo, 0
  s_cbranch_vccz 3f
  s_add_u32 s12, s12, 0x2000
3:
  s_cmp_gt_u32 s12, 0x1000
  s_cbranch_scc0 5f
  s_cmp_eq_u32 s2, 3
  s_cbranch_scc1 6f
  s_add_u32 s12, s12, 0x10000
6:
  s_addc_u32 s12, s12, 0
5:
  out 0, s12
  out 1, v6
)",
          .prepare =
              [](Memory& data) {
                for (unsigned i = 0; i < 256; ++i) {
                  const unsigned group = i / 64, lane = i % 64;
                  data[i] = group == 1 ? 9 : group == 2 ? lane == 5 ? 7 : 30 : lane % 9 == 1 ? 3 : 20 + lane;
                }
              },
          .reference =
              [](Memory& data, unsigned group) {
                const Row in = inputs(data, group);
                const auto any = [&](auto predicate) { return std::any_of(in.begin(), in.end(), predicate); };
                const bool small = any([](uint32_t v) { return v < 8; }),
                           three = any([](uint32_t v) { return v == 3; });
                uint32_t s12 = 0;
                if (small) s12 = three ? 1 : 101;
                if (small) {
                  uint64_t large = 0;
                  for (unsigned l = 0; l < kLanes; ++l) large |= uint64_t{in[l] > 40} << l;
                  if (large != 0) s12 += 0x1000;
                  if (large >> 32 != 0) s12 += 0x2000;
                }
                if (s12 > 0x1000) {
                  // The carry is SCC: of the comparison, or of the addition, which has none.
                  const bool scc = group == 3;
                  if (!scc) s12 += 0x10000;
                  s12 += scc ? 1 : 0;
                }
                Row v6 = {};
                for (unsigned l = 0; l < kLanes; ++l) v6[l] = in[l] == 3 ? 5 : 0;
                output(data, group, 0, s12);
                output(data, group, 1, v6);
              }};
}

// A function called for some of the lanes, in a loop. It changes vectors, scalars, SCC and VCC.
LockstepCase calls_for_some_lanes() {
  return {.name = "calls_for_some_lanes",
          .body = R"(
  s_branch .Lmain
.Lfunction:
  v_mov_b32_e32 v7, 3
  addu v6, v6, v7
  s_add_u32 s13, s13, 2
  v_readfirstlane_b32 s15, v5
  s_add_u32 s13, s13, s15
  v_cmp_eq_u32_e32 vcc, v5, v0
  s_setpc_b64 s[30:31]
.Lmain:
)" + std::string(kLoadOwn) +
                  R"(
  v_mov_b32_e32 v6, v0
  v_mov_b32_e32 v7, 50
  s_mov_b32 s13, 0
  s_mov_b32 s12, 0
1:
  v_mov_b32_e32 v8, s12
  v_cmp_gt_u32_e32 vcc, v5, v8
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz 2f
  s_getpc_b64 s[20:21]
.Lhere:
  s_sub_u32 s20, s20, .Lhere-.Lfunction
  s_subb_u32 s21, s21, 0
  s_swappc_b64 s[30:31], s[20:21]
  v_cndmask_b32_e64 v9, 0, 1, vcc
  addu v6, v6, v9
2:
  s_mov_b64 exec, s[10:11]
  s_add_u32 s12, s12, 50
  s_cmp_lt_u32 s12, 0x96
  s_cbranch_scc1 1b
  out 0, v6
  out 1, v7
  out 2, s13
)",
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            Row v6, v7;
            v7.fill(50);
            for (unsigned l = 0; l < kLanes; ++l) v6[l] = l;
            uint32_t s13 = 0;
            for (uint32_t k = 0; k < 0x96; k += 50) {
              bool first = true;
              for (unsigned l = 0; l < kLanes; ++l) {
                if (in[l] <= k) continue;
                if (first) s13 += 2 + in[l];
                first = false;
                v6[l] += 3 + (in[l] == l ? 1 : 0);
                v7[l] = 3;
              }
            }
            output(data, group, 0, v6);
            output(data, group, 1, v7);
            output(data, group, 2, s13);
          }};
}

// A scalar that changes while vectors still have to read it.
LockstepCase counter_in_vectors() {
  return {.name = "counter_in_vectors",
          .body = std::string(kLoadOwn) + R"(
  v_mov_b32_e32 v6, 0
  s_mov_b32 s8, 1
  s_mov_b32 s9, 1
1:
  v_mul_u32_u24_e32 v6, 5, v6
  v_xor_b32_e32 v7, s8, v5
  addu v6, v6, v7
  s_add_u32 s8, s8, s9
  s_add_u32 s9, s9, 2
  v_xor_b32_e32 v6, s9, v6
  s_cmp_lt_u32 s8, 50
  s_cbranch_scc1 1b
  out 0, v6
  out 1, s8
)",
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            Row v6 = {};
            uint32_t s8 = 1, s9 = 1;
            do {
              for (unsigned l = 0; l < kLanes; ++l) v6[l] = (v6[l] & 0xffffff) * 5 + (s8 ^ in[l]);
              s8 += s9;
              s9 += 2;
              for (uint32_t& value : v6) value ^= s9;
            } while (s8 < 50);
            output(data, group, 0, v6);
            output(data, group, 1, s8);
          }};
}

// What two waves know about their registers is still so behind a barrier, where the other has been.
LockstepCase barrier_in_a_loop() {
  return {.name = "barrier_in_a_loop",
          .body = std::string(kLoadOwn) + R"(
  v_xor_b32_e32 v6, 0x1f0, v2
  v_mov_b32_e32 v7, 0
  s_mov_b32 s8, 3
1:
  ds_write_b32 v2, v5
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v8, v6
  s_waitcnt lgkmcnt(0)
  addu v7, v7, v8
  v_cmp_gt_u32_e32 vcc, 60, v8
  s_and_saveexec_b64 s[10:11], vcc
  v_lshlrev_b32_e32 v5, 1, v5
  s_mov_b64 exec, s[10:11]
  s_barrier
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
  out 0, v7
)",
          .groups = 2,
          .group_size = 128,
          .lds = 512,
          .reference = [](Memory& data, unsigned group) {
            std::array<uint32_t, 128> own, sum = {};
            std::copy_n(data.begin() + group * 128, 128, own.begin());
            for (unsigned trip = 0; trip < 3; ++trip) {
              const auto lds = own;
              for (unsigned i = 0; i < 128; ++i) {
                const uint32_t other = lds[i ^ 124];
                sum[i] += other;
                if (other < 60) own[i] <<= 1;
              }
            }
            std::copy(sum.begin(), sum.end(), data.begin() + 1024 + group * 128);
          }};
}

// Short blocks for some lanes, of the kind that may be executed always: one computes only, one loads from where only
// these lanes may look, one is left early, one reads across lanes. Masks are put together in more than one order.
LockstepCase short_blocks() {
  return {.name = "short_blocks",
          .body = std::string(kLoadOwn) + R"(
  v_mov_b32_e32 v6, 1
  v_mov_b32_e32 v7, 2
  v_mov_b32_e32 v12, 9
  v_cmp_gt_u32_e32 vcc, 8, v5
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz 1f
  v_mul_u32_u24_e32 v6, 5, v5
1:
  s_or_b64 exec, exec, s[10:11]
  v_cmp_gt_u32_e64 s[12:13], 8, v5
  v_mov_b32_e32 v8, s4
  v_mov_b32_e32 v9, s5
  v_cndmask_b32_e64 v8, 0, v8, s[12:13]
  v_cndmask_b32_e64 v9, 0, v9, s[12:13]
  s_and_saveexec_b64 s[10:11], s[12:13]
  s_cbranch_execz 2f
  get 7, 8
2:
  s_or_b64 exec, exec, s[10:11]
  v_cmp_lt_u32_e64 s[14:15], 2, v5
  v_cmp_ne_u32_e64 s[16:17], 5, v5
  s_and_b64 s[18:19], s[12:13], s[14:15]
  s_and_b64 s[18:19], s[18:19], s[16:17]
  s_and_b64 s[20:21], s[14:15], s[16:17]
  s_and_b64 s[20:21], s[12:13], s[20:21]
  s_and_saveexec_b64 s[10:11], s[18:19]
  s_cbranch_execz 3f
  v_mov_b32_dpp v12, v5 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
3:
  s_mov_b64 exec, s[10:11]
  s_andn2_b64 s[22:23], s[18:19], s[20:21]
  s_xor_b64 s[24:25], s[18:19], s[20:21]
  v_cndmask_b32_e64 v13, 7, v12, s[20:21]
  out 0, v6
  out 1, v7
  out 2, v13
  out 3, s22
  out 4, s24
  out 5, s18
)",
          .prepare =
              [](Memory& data) {
                for (unsigned i = 0; i < 256; ++i) {
                  const unsigned group = i / 64, lane = i % 64;
                  const bool small = group == 1 ? lane == 37 : group == 2 ? lane < 32 : group == 3;
                  data[i] = small ? (lane * 5 + 3) % 8 : 8 + lane * 7 % 60;
                }
              },
          .reference =
              [](Memory& data, unsigned group) {
                const Row in = inputs(data, group);
                Row v6, v7, v13;
                uint32_t low = 0;
                for (unsigned l = 0; l < kLanes; ++l) {
                  const bool small = in[l] < 8, some = small && in[l] > 2 && in[l] != 5;
                  v6[l] = small ? in[l] * 5 : 1;
                  v7[l] = small ? data[0] : 2;
                  // A lane whose source is off gets 0, as one outside the row does.
                  const uint32_t left = l % 16 != 0 ? in[l - 1] : 8;
                  const bool left_on = left < 8 && left > 2 && left != 5;
                  v13[l] = some ? left_on ? left : 0 : 7;
                  if (some && l < 32) low |= 1u << l;
                }
                output(data, group, 0, v6);
                output(data, group, 1, v7);
                output(data, group, 2, v13);
                output(data, group, 3, 0u);
                output(data, group, 4, 0u);
                output(data, group, 5, low);
              }};
}

// Chains of slow operations, for which the lanes of a wave are apt to be computed side by side. In between they read
// v7, the same in all lanes, which the iteration goes on to change, as it does the address, and v10, which only some
// lanes do. The neighbour's result goes into the next iteration. `others` values are there throughout, so that not all
// lanes find registers.
LockstepCase long_chains(unsigned others) {
  std::string body = std::string(kLoadOwn) + R"(
  v_and_b32_e32 v6, 0xff, v5
  v_cvt_f32_u32_e32 v6, v6
  v_mov_b32_e32 v7, 2.0
  v_mov_b32_e32 v10, 4.0
  s_mov_b32 s8, 3
  at 50, 4
  v_mov_b32_e32 v52, 0x100
  v_mov_b32_e32 v53, 0
1:
  gget 9, 50
  v_and_b32_e32 v9, 0xff, v9
  v_cvt_f32_u32_e32 v9, v9
  v_add_f32_e32 v6, v6, v9
  add_co v50, v50, v52
  addc v51, v51, v53
)";
  const auto other = [](unsigned i) { return "v" + std::to_string(12 + i); };
  for (unsigned i = 0; i < others; ++i)
    body += "  v_add_f32_e32 " + other(i) + ", " + std::to_string(0x40400000 + i * 0x100000) + ", v6\n";
  for (unsigned i = 0; i < 3; ++i) {
    body += R"(
  v_add_f32_e32 v6, v7, v6
  v_log_f32_e32 v6, v6
  v_sqrt_f32_e32 v6, v6
  v_mul_f32_e32 v9, 0.5, v6
  v_exp_f32_e32 v9, v9
  v_add_f32_e32 v9, v9, v10
  v_rcp_f32_e32 v9, v9
  v_add_f32_e32 v6, v6, v9
  v_cmp_gt_f32_e32 vcc, v6, v7
  s_and_saveexec_b64 s[10:11], vcc
  v_add_f32_e32 v10, 0.5, v6
  v_mul_f32_e32 v6, 0.5, v6
  s_mov_b64 exec, s[10:11]
  v_add_f32_e32 v7, 1.0, v7
)";
  }
  for (unsigned i = 0; i < others; ++i) body += "  v_max_f32_e32 v6, v6, " + other(i) + "\n";
  body += R"(
  v_mov_b32_dpp v11, v6 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
  v_add_f32_e32 v6, v6, v11
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
  out 0, v6
  out 1, v7
  out 2, v10
)";
  return {.name = "long_chains_" + std::to_string(others), .body = body, .reference = {}};
}

}  // namespace

std::vector<LockstepCase> loop_cases() {
  std::vector<LockstepCase> cases;
  // For the 32 registers of AVX-512, and for the 16 of AVX2.
  for (const unsigned count : {24u, 11u})
    for (const Exchange e : {Exchange::none, Exchange::lds, Exchange::global, Exchange::readlane, Exchange::ballot})
      cases.push_back(crowded_loop(count, e));
  cases.push_back(neighbours_around_a_store(true));
  cases.push_back(neighbours_around_a_store(false));
  for (const bool upwards : {true, false})
    for (const bool in_order : {true, false}) cases.push_back(rows(upwards, in_order));
  cases.push_back(load_of_a_loop_that_does_not_run());
  cases.push_back(halves_in_a_loop());
  cases.push_back(conditions_that_change());
  cases.push_back(calls_for_some_lanes());
  cases.push_back(barrier_in_a_loop());
  cases.push_back(counter_in_vectors());
  cases.push_back(short_blocks());
  for (const unsigned others : {0u, 6u, 20u}) cases.push_back(long_chains(others));
  return cases;
}

}  // namespace wavejit::test
