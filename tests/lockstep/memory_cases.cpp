// Memory operations that invite special forms: atomics of lanes that share addresses, 64-bit values in pairs of
// registers, structures, lanes in odd orders.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "rows.h"

namespace wavejit::test {
namespace {

// Lanes act on the same cells in ascending order: all of them on one, eight cells between them, none at all.
LockstepCase overlapping_atomics(bool in_lds) {
  // op cell(VGPR with its byte offset) result data [data2]
  const std::string macros = in_lds ? R"(
.macro atomic op, flat, d, cell, x
  ds_\op v\cell, v\x
  s_waitcnt lgkmcnt(0)
.endm
.macro atomic_rtn op, flat, d, cell, x
  ds_\op v\d, v\cell, v\x
  s_waitcnt lgkmcnt(0)
.endm
.macro compare d, cell, old, new
  ds_cmpst_rtn_b32 v\d, v\cell, v\old, v\new
  s_waitcnt lgkmcnt(0)
.endm
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v20, 0
  ds_write_b32 v2, v9
  s_waitcnt lgkmcnt(0)
)"
                                    : R"(
.macro atomic op, flat, d, cell, x
  at 60, \cell
  flat_atomic_\flat v[60:61], v\x
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
.macro atomic_rtn op, flat, d, cell, x
  at 60, \cell
  flat_atomic_\flat v\d, v[60:61], v\x glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
.macro compare d, cell, old, new
  at 60, \cell
  v_mov_b32_e32 v62, v\new
  v_mov_b32_e32 v63, v\old
  flat_atomic_cmpswap v\d, v[60:61], v[62:63] glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
.endm
  s_lshl_b32 s9, s2, 6
  s_add_u32 s9, s9, 0xc00
  v_mov_b32_e32 v20, s9
  v_mov_b32_e32 v9, 0
  v_lshlrev_b32_e32 v21, 2, v0
  v_and_b32_e32 v21, 60, v21
  addu v21, v20, v21
  put_at 21, 9
)";
  return {.name = std::string(in_lds ? "lds" : "global") + "_overlapping_atomics",
          .body = std::string(kLoadOwn) + macros + R"(
  v_and_b32_e32 v21, 7, v5
  v_lshlrev_b32_e32 v21, 2, v21
  addu v21, v20, v21
  v_mov_b32_e32 v22, 3
  // one cell: the same number, then numbers that differ, with and without results
  atomic_rtn add_rtn_u32, add, 30, 20, 22
  atomic add_u32, add, 0, 20, 5
  atomic max_u32, umax, 0, 20, 5
  atomic xor_b32, xor, 0, 20, 5
  atomic_rtn add_rtn_u32, add, 31, 20, 5
  atomic_rtn min_rtn_u32, umin, 32, 20, 5
  atomic_rtn sub_rtn_u32, sub, 33, 20, 22
  // some lanes, no lane
  v_mov_b32_e32 v34, 77
  v_mov_b32_e32 v35, 77
  v_cmp_gt_u32_e32 vcc, 50, v5
  s_and_saveexec_b64 s[10:11], vcc
  atomic_rtn add_rtn_u32, add, 34, 20, 22
  atomic xor_b32, xor, 0, 20, 22
  atomic add_u32, add, 0, 20, 5
  atomic xor_b32, xor, 0, 20, 5
  atomic_rtn wrxchg_rtn_b32, swap, 35, 21, 5
  s_mov_b64 exec, 0
  atomic add_u32, add, 0, 20, 22
  atomic_rtn add_rtn_u32, add, 34, 20, 22
  s_mov_b64 exec, s[10:11]
  // eight cells
  atomic_rtn add_rtn_u32, add, 36, 21, 5
  v_lshlrev_b32_e32 v23, 4, v0
  compare 37, 21, 36, 23
  atomic or_b32, or, 0, 21, 0
  atomic_rtn inc_rtn_u32, inc, 38, 21, 5
  v_xor_b32_e32 v30, v30, v31
  addu v32, v32, v33
  out 0, v30
  out 1, v32
  out 2, v34
  out 3, v35
  out 4, v36
  out 5, v37
  out 6, v38
)",
          .lds = 256,
          .reference = {}};
}

// In a loop: each lane loads a 64-bit value, adds to it, and stores it one place lower, where the lane below loads
// next.
LockstepCase pairs_shifted_down(bool doubles) {
  return {.name = doubles ? "doubles_shifted_down" : "pairs_shifted_down",
          .body = R"(
  s_mul_i32 s6, s2, 0x800
  v_mov_b32_e32 v4, s6
  v_lshlrev_b32_e32 v5, 3, v0
  addu v4, v4, v5
  v_mov_b32_e32 v5, 0x100
  addu v6, v4, v5
  at 10, 6
  v_mov_b32_e32 v5, 0xf8
  addu v7, v4, v5
  at 12, 7
  s_mov_b32 s8, 4
1:
  flat_load_dwordx2 v[8:9], v[10:11]
  s_waitcnt vmcnt(0) lgkmcnt(0)
)" + std::string(doubles ? "  v_add_f64 v[8:9], v[8:9], 1.0\n" : "  add_co v8, -3, v8\n  addc v9, 0, v9\n") +
                  R"(
  flat_store_dwordx2 v[12:13], v[8:9]
  s_waitcnt vmcnt(0)
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
)",
          .prepare =
              [doubles](Memory& data) {
                for (size_t i = 1; doubles && i < data.size(); i += 2) data[i] = 0x40080000 + data[i] * 4099;
              },
          .reference =
              [doubles](Memory& data, unsigned group) {
                uint32_t* a = data.data() + group * 512 + 64;
                for (unsigned r = 0; r < 4; ++r) {
                  std::array<uint64_t, kLanes> values;
                  std::memcpy(values.data(), a, sizeof values);
                  // -3 is an unsigned 32-bit number here.
                  for (uint64_t& v : values)
                    v = doubles ? std::bit_cast<uint64_t>(std::bit_cast<double>(v) + 1.0) : v + 0xfffffffd;
                  std::memcpy(a - 2, values.data(), sizeof values);
                }
              }};
}

// Structures of two to four dwords: all lanes on one, neighbouring ones, those a stride apart, backwards.
LockstepCase structures(unsigned width) {
  const std::string type = width == 1 ? "" : "x" + std::to_string(width);
  const std::string last = std::to_string(20 + width - 1);
  const std::string registers = width == 1 ? "v20" : "v[20:" + last + "]";
  std::string body = kLoadOwn;
  const auto use = [&](const std::string& offset, unsigned target) {
    body += offset + "  at 10, 8\n  flat_load_dword" + type + " " + registers +
            ", v[10:11]\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n";
    for (unsigned i = 0; i < width; ++i)
      body += "  v_mul_u32_u24_e32 v30, " + std::to_string(3 + i) + ", v" + std::to_string(20 + i) + "\n  addu v" +
              std::to_string(target) + ", v30, v" + std::to_string(target) + "\n";
  };
  body += "  v_mov_b32_e32 v40, 0\n  v_mov_b32_e32 v41, 0\n  v_mov_b32_e32 v42, 0\n  v_mov_b32_e32 v43, 0\n";
  const std::string bytes = std::to_string(width * 4);
  use("  s_lshl_b32 s9, s2, 4\n  v_mov_b32_e32 v8, s9\n", 40);
  use("  v_mul_u32_u24_e32 v8, " + bytes + ", v0\n", 41);
  use("  v_mul_u32_u24_e32 v8, 40, v0\n", 42);
  use("  v_mul_u32_u24_e32 v8, " + bytes + ", v0\n  v_mov_b32_e32 v9, " + std::to_string(64 * 4 * width) +
          "\n  subu v8, v9, v8\n",
      43);
  body += "  out 0, v40\n  out 1, v41\n  out 2, v42\n  out 3, v43\n";
  return {.name = "structures_of_" + std::to_string(width),
          .body = body,
          .reference = [width](Memory& data, unsigned group) {
            std::array<Row, 4> sums = {};
            for (unsigned l = 0; l < kLanes; ++l) {
              const unsigned at[4] = {group * 4, l * width, l * 10, 64 * width - l * width};
              for (unsigned s = 0; s < 4; ++s)
                for (unsigned i = 0; i < width; ++i) sums[s][l] += data[at[s] + i] * (3 + i);
            }
            for (unsigned s = 0; s < 4; ++s) output(data, group, s, sums[s]);
          }};
}

// LDS places that are functions of the lane: columns, reversals, butterflies, one place for several lanes, with all
// lanes on and with some; then places beyond the LDS for some of them.
// Neighbouring lanes at neighbouring offsets that begin below zero: the first lanes are outside of the LDS, the others of the same
// host register are not.
LockstepCase lds_from_below() {
  return {.name = "lds_from_below",
          .body = R"(
  v_mul_u32_u24_e32 v3, 0x0101, v0
  ds_write_b32 v2, v3
  ds_write_b32 v2, v3 offset:256
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v20, 20
  v_mov_b32_e32 v21, 24
  subu v4, v2, v20
  v_lshlrev_b32_e32 v5, 1, v2
  subu v5, v5, v21
  subu v6, v0, v20
  // As far as the translation knows, any lane may be anywhere.
  ds_swizzle_b32 v4, v4 offset:0x1f
  ds_swizzle_b32 v5, v5 offset:0x1f
  ds_swizzle_b32 v6, v6 offset:0x1f
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v7, v4
  ds_read_b32 v8, v4 offset:8
  ds_read_b64 v[10:11], v5
  ds_read_u8 v9, v6
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v4, v0 offset:4
  s_waitcnt lgkmcnt(0)
  ds_write_b64 v5, v[10:11] offset:8
  s_waitcnt lgkmcnt(0)
  ds_write_b8 v6, v0 offset:3
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v12, v2
  ds_read_b32 v13, v2 offset:256
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v10, v10, v9
  v_xor_b32_e32 v11, v11, v8
  out 0, v7
  out 1, v10
  out 2, v11
  out 3, v12
  out 4, v13
)",
          .lds = 512,
          .prepare = {},
          .reference = {}};
}

LockstepCase lds_orders() {
  return {.name = "lds_orders",
          .body = std::string(kLoadOwn) + R"(
  v_lshlrev_b32_e32 v6, 8, v5
  v_or_b32_e32 v6, v6, v0
  ds_write_b32 v2, v5
  ds_write_b32 v2, v6 offset:256
  // 8 x 8 transposed
  v_and_b32_e32 v7, 7, v0
  v_lshlrev_b32_e32 v7, 5, v7
  v_lshrrev_b32_e32 v8, 3, v0
  v_lshlrev_b32_e32 v8, 2, v8
  v_or_b32_e32 v7, v7, v8
  ds_read_b32 v20, v7
  // backwards
  v_mov_b32_e32 v8, 63
  subu v8, v8, v0
  v_lshlrev_b32_e32 v8, 2, v8
  ds_read_b32 v21, v8 offset:256
  // pairs in both orders, then stored where a butterfly has them
  v_xor_b32_e32 v9, 20, v2
  ds_read2_b32 v[22:23], v9 offset0:0 offset1:64
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v9, v20
  // several lanes a place: the highest one wins
  v_and_b32_e32 v10, 12, v2
  ds_write_b32 v10, v0 offset:128
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v24, v2
  // some lanes
  v_cmp_lt_u32_e32 vcc, 60, v5
  s_and_saveexec_b64 s[10:11], vcc
  ds_write_b32 v8, v5 offset:256
  v_mov_b32_e32 v25, -1
  ds_read_b32 v25, v7 offset:256
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, s[10:11]
  v_cndmask_b32_e32 v25, 0, v25, vcc
  // beyond the end: reads are 0, writes are lost
  ds_write_b32 v2, v5 offset:384
  ds_read_b32 v26, v2 offset:320
  ds_read_b32 v27, v2 offset:256
  s_waitcnt lgkmcnt(0)
  out 0, v20
  out 1, v21
  out 2, v22
  out 3, v23
  out 4, v24
  out 5, v25
  out 6, v26
  out 7, v27
)",
          .lds = 512,
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            std::array<uint32_t, 128> lds;
            std::array<Row, 8> r = {};
            for (unsigned l = 0; l < kLanes; ++l) {
              lds[l] = in[l];
              lds[64 + l] = in[l] << 8 | l;
            }
            for (unsigned l = 0; l < kLanes; ++l) {
              r[0][l] = lds[l % 8 * 8 + l / 8];
              r[1][l] = lds[64 + 63 - l];
              r[2][l] = lds[l ^ 5];
              r[3][l] = lds[64 + (l ^ 5)];
            }
            for (unsigned l = 0; l < kLanes; ++l) lds[l ^ 5] = r[0][l];
            for (unsigned l = 0; l < kLanes; ++l) lds[32 + (l & 3)] = l;
            for (unsigned l = 0; l < kLanes; ++l) r[4][l] = lds[l];
            for (unsigned l = 0; l < kLanes; ++l)
              if (in[l] > 60) lds[64 + 63 - l] = in[l];
            for (unsigned l = 0; l < kLanes; ++l)
              if (in[l] > 60) r[5][l] = lds[64 + l % 8 * 8 + l / 8];
            for (unsigned l = 0; l < 32; ++l) lds[96 + l] = in[l];
            for (unsigned l = 0; l < kLanes; ++l) {
              r[6][l] = 80 + l < 128 ? lds[80 + l] : 0;
              r[7][l] = lds[64 + l];
            }
            for (unsigned s = 0; s < 8; ++s) output(data, group, s, r[s]);
          }};
}

// Neighbouring places of a lane one by one: they may be accessed together, but for those that a store to one of them,
// or of another lane to one of them, keeps apart.
LockstepCase neighbouring_places() {
  return {.name = "neighbouring_places",
          .body = std::string(kLoadOwn) + R"(
  // lane l's second store hits what lane l + 1 stored first
  ds_write_b32 v2, v5
  ds_write_b32 v2, v0 offset:4
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v12, v2
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v6, 4, v0
  ds_write_b32 v6, v5
  ds_write_b32 v6, v0 offset:4
  ds_write_b32 v6, v4 offset:8
  ds_write_b32 v6, v5 offset:12
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v7, 0x50, v6
  ds_read_b32 v8, v7
  ds_read_b32 v9, v7 offset:4
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v6, v8 offset:8
  ds_read_b32 v10, v7 offset:8
  ds_write_b32 v6, v9 offset:12
  ds_read_b32 v11, v7 offset:12
  s_waitcnt lgkmcnt(0)
  addu v8, v8, v9
  addu v10, v10, v8
  addu v11, v11, v8
  out 0, v8
  out 1, v10
  out 2, v11
  out 3, v12
)",
          .lds = 1024,
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            std::array<Row, 4> r;
            for (unsigned l = 0; l < kLanes; ++l) {
              const unsigned other = l ^ 5;
              r[0][l] = in[other] + other;
              // What the other lane has stored is what it has read: this lane's.
              r[1][l] = in[l] + r[0][l];
              r[2][l] = l + r[0][l];
              r[3][l] = l == 0 ? in[0] : l - 1;
            }
            for (unsigned s = 0; s < 4; ++s) output(data, group, s, r[s]);
          }};
}

// Lanes that are off, or whose places are beyond the LDS, have theirs next to those of others: below its start, and far
// behind its end.
LockstepCase lds_places_of_lanes_that_are_off() {
  return {.name = "lds_places_of_lanes_that_are_off",
          .body = std::string(kLoadOwn) + R"(
  ds_write_b32 v2, v5
  ds_write_b32 v2, v0 offset:256
  v_mov_b32_e32 v20, 1
  v_mov_b32_e32 v21, 2
  v_xor_b32_e32 v6, 4, v2
  v_mov_b32_e32 v7, 0xa0
  subu v7, v6, v7
  v_cmp_le_u32_e64 s[12:13], 40, v0
  s_and_saveexec_b64 s[10:11], s[12:13]
  ds_read_b32 v20, v7
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v7, v0
  s_mov_b64 exec, s[10:11]
  s_waitcnt lgkmcnt(0)
  // all lanes: those below 40 are below the start
  ds_read_b32 v21, v7
  v_mov_b32_e32 v8, 0x1c0
  addu v8, v6, v8
  ds_read_b32 v22, v8
  v_lshlrev_b32_e32 v9, 8, v0
  ds_write_b32 v8, v9
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v23, v2
  ds_read_b32 v24, v2 offset:256
  s_waitcnt lgkmcnt(0)
  addu v23, v23, v24
  out 0, v20
  out 1, v21
  out 2, v22
  out 3, v23
)",
          .lds = 512,
          .reference = [](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            std::array<uint32_t, 128> lds;
            for (unsigned l = 0; l < kLanes; ++l) {
              lds[l] = in[l];
              lds[64 + l] = l;
            }
            std::array<Row, 4> r = {};
            for (unsigned l = 0; l < kLanes; ++l) r[0][l] = l >= 40 ? lds[(l ^ 1) - 40] : 1;
            for (unsigned l = 40; l < kLanes; ++l) lds[(l ^ 1) - 40] = l;
            for (unsigned l = 0; l < kLanes; ++l) {
              r[1][l] = l >= 40 ? lds[(l ^ 1) - 40] : 0;
              r[2][l] = (l ^ 1) + 112 < 128 ? lds[(l ^ 1) + 112] : 0;
            }
            for (unsigned l = 0; l < kLanes; ++l)
              if ((l ^ 1) + 112 < 128) lds[(l ^ 1) + 112] = l << 8;
            for (unsigned l = 0; l < kLanes; ++l) r[3][l] = lds[l] + lds[64 + l];
            for (unsigned s = 0; s < 4; ++s) output(data, group, s, r[s]);
          }};
}

// Indices that are kept inside bounds, as those of a stencil at its edges: the bound lies between lanes, at the end of
// a tile, or nowhere near. Loads, and stores in which lanes at the bound meet.
LockstepCase clamped_indices(int bound, bool is_signed) {
  const std::string low =
      is_signed ? "  v_max_i32_e32 v8, 0, v8\n  v_min_i32_e32 v8, s13, v8\n" : "  v_min_u32_e32 v8, s13, v8\n";
  static constexpr int kDistances[] = {-20, -1, 0, 1, 7, 33};
  std::string body = kLoadOwn;
  body += R"(
  s_load_dword s12, s[4:5], 0xffc
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s13, s12, 1
  v_mov_b32_e32 v6, 0
)";
  const auto address = [&](int distance, const std::string& base) {
    body += "  v_mov_b32_e32 v8, " + std::to_string(distance) + "\n  addu v8, v1, v8\n" + low + R"(
  v_mov_b32_e32 v9, 0
  v_lshlrev_b64 v[8:9], 2, v[8:9]
  v_mov_b32_e32 v11, s5
)" + base + "  add_co v10, s4, v8\n  addc v11, v11, v9\n";
  };
  for (const int distance : kDistances) {
    if (!is_signed && distance < 0) continue;
    address(distance, "");
    body += "  gget 12, 10\n  v_mul_u32_u24_e32 v6, 3, v6\n  addu v6, v6, v12\n";
  }
  // Stores go 512 words further up.
  body += "  s_add_u32 s4, s4, 0x2800\n  s_addc_u32 s5, s5, 0\n";
  address(5, "");
  body += "  put 10, 0\n  s_sub_u32 s4, s4, 0x2800\n  s_subb_u32 s5, s5, 0\n  out 0, v6\n";
  return {
      .name = std::string(is_signed ? "clamped_indices_" : "clamped_unsigned_indices_") + std::to_string(bound),
      .body = body,
      .prepare = [bound](Memory& data) { data[1023] = static_cast<uint32_t>(bound); },
      .reference =
          [bound, is_signed](Memory& data, unsigned group) {
            Row sums = {};
            const auto clamped = [&](unsigned l, int distance) {
              return static_cast<unsigned>(std::clamp(static_cast<int>(group * kLanes + l) + distance, 0, bound - 1));
            };
            for (unsigned l = 0; l < kLanes; ++l) {
              for (const int distance : kDistances)
                if (is_signed || distance >= 0) sums[l] = sums[l] * 3 + data[clamped(l, distance)];
              data[0x2800 / 4 + clamped(l, 5)] = l;
            }
            output(data, group, 0, sums);
          }};
}

// The neighbours of a place in an image whose rows and columns are kept inside bounds, as filters read them. What a
// wave may take for granted where nothing is clamped must not hold for others: at the edges, with lanes off, where
// bounds or parts of the sum are so large that it wraps around, on the way to an index that is small.
struct ImageParameters {
  const char* name;
  uint32_t columns, rows, quarter_pitch, limit;
  uint32_t parts[3];  // of the index; their sum is 0 modulo 2^32
};

constexpr ImageParameters kImages[] = {
    {"inside", 300, 6, 16, 256, {0, 0, 0}},
    {"right_edge", 130, 6, 16, 256, {5, uint32_t(-3), uint32_t(-2)}},
    {"lower_edge", 300, 3, 16, 256, {0, 0, 0}},
    {"one_place", 1, 1, 16, 256, {0, 0, 0}},
    {"lanes_off", 300, 6, 16, 200, {0, 0, 0}},
    {"far_bounds", 0x7fffffff, 0x7fffffff, 16, 256, {0, 0, 0}},
    {"sum_wraps", 300, 6, 16, 256, {0x60000000, 0x60000000, 0x40000000}},
    {"product_wraps", 300, 6, 0x40000010, 256, {0, 0, 0}},
};

LockstepCase image_neighbours(const ImageParameters& image) {
  std::string body = R"(
  s_load_dwordx8 s[12:19], s[4:5], 0xfe0
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s20, s12, 1
  s_sub_u32 s21, s13, 1
  v_lshrrev_b32_e32 v3, 5, v0
  addu v3, s2, v3
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v18, s5
  v_cmp_gt_u32_e32 vcc, s15, v1
  s_and_saveexec_b64 s[22:23], vcc
  s_cbranch_execz 1f
)";
  const auto address = [&](int row, int column) {
    const auto clamped = [&](const std::string& to, const std::string& from, int distance, const std::string& last) {
      body += "  v_mov_b32_e32 " + to + ", " + std::to_string(distance) + "\n  addu " + to + ", " + from + ", " + to +
              "\n  v_max_i32_e32 " + to + ", 0, " + to + "\n  v_min_i32_e32 " + to + ", " + last + ", " + to + "\n";
    };
    clamped("v8", "v3", row, "s21");
    clamped("v9", "v1", column, "s20");
    body += R"(
  v_lshlrev_b32_e32 v8, 2, v8
  v_mul_lo_u32 v8, v8, s14
  addu v8, v8, v9
  addu v8, s16, v8
  addu v8, s17, v8
  addu v8, s18, v8
  v_ashrrev_i32_e32 v9, 31, v8
  v_lshlrev_b64 v[8:9], 2, v[8:9]
  add_co v10, s4, v8
  addc v11, v18, v9
)";
  };
  for (const int row : {-1, 0, 1}) {
    for (const int column : {-1, 2}) {
      address(row, column);
      body += "  gget 12, 10\n  v_mul_u32_u24_e32 v6, 3, v6\n  addu v6, v6, v12\n";
    }
  }
  // Stores go 2560 words further up, over what no one reads.
  body += "  s_add_u32 s4, s4, 0x2800\n  s_addc_u32 s5, s5, 0\n  v_mov_b32_e32 v18, s5\n";
  address(0, 0);
  body += "  put 10, 0\n  s_sub_u32 s4, s4, 0x2800\n  s_subb_u32 s5, s5, 0\n  out 0, v6\n1:\n";
  return {.name = std::string("image_neighbours_") + image.name,
          .body = body,
          .prepare =
              [image](Memory& data) {
                const uint32_t parameters[] = {image.columns,  image.rows,     image.quarter_pitch, image.limit,
                                               image.parts[0], image.parts[1], image.parts[2],      0};
                std::copy(std::begin(parameters), std::end(parameters), data.begin() + 0xfe0 / 4);
              },
          .reference =
              [image](Memory& data, unsigned group) {
                const auto place = [&](unsigned l, int down, int right) {
                  const auto row = static_cast<int>(group + l / 32), column = static_cast<int>(group * kLanes + l);
                  const int y = std::clamp(row + down, 0, static_cast<int>(image.rows) - 1);
                  const int x = std::clamp(column + right, 0, static_cast<int>(image.columns) - 1);
                  return static_cast<uint32_t>(y) * 4 * image.quarter_pitch + static_cast<uint32_t>(x);
                };
                for (unsigned l = 0; l < kLanes; ++l) {
                  const unsigned x = group * kLanes + l;
                  if (x >= image.limit) continue;
                  uint32_t sum = 0;
                  for (const int down : {-1, 0, 1})
                    for (const int right : {-1, 2}) sum = (sum & 0xffffff) * 3 + data[place(l, down, right)];
                  data[0x2800 / 4 + place(l, 0, 0)] = l;
                  data[1024 + x] = sum;
                }
              }};
}

// Sums of products, in a straight line and in a loop; some of them for some lanes only, whose sums others look at.
LockstepCase sums_of_products() {
  return {.name = "sums_of_products",
          .body = std::string(kLoadOwn) + R"(
  v_cvt_f32_u32_e32 v6, v5
  v_mov_b32_e32 v7, 1.0
  v_mov_b32_e32 v8, 2.0
  s_mov_b32 s8, 3
1:
  v_mac_f32_e32 v7, v6, v6
  v_mac_f32_e32 v7, 2.0, v6
  v_fma_f32 v9, v7, 2.0, v6
  v_mac_f32_e32 v9, 4.0, v6
  v_mac_f32_e32 v9, -1.0, v7
  v_cmp_gt_u32_e32 vcc, 60, v5
  s_and_saveexec_b64 s[10:11], vcc
  v_mac_f32_e32 v7, 0.5, v6
  v_mac_f32_e32 v9, 2.0, v6
  v_mac_f32_e32 v9, 2.0, v6
  s_mov_b64 exec, s[10:11]
  v_readlane_b32 s12, v9, 50
  v_mac_f32_e32 v9, 4.0, v8
  v_add_f32_e32 v8, s12, v9
  v_and_b32_e32 v8, 0xffff0000, v8
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
  v_cvt_f64_f32_e32 v[12:13], v7
  v_cvt_f64_f32_e32 v[14:15], v6
  v_fma_f64 v[16:17], v[14:15], v[14:15], v[12:13]
  v_fma_f64 v[16:17], v[14:15], 4.0, v[16:17]
  v_fma_f64 v[16:17], v[12:13], 2.0, v[16:17]
  v_cvt_u32_f64_e32 v16, v[16:17]
  v_cvt_u32_f32_e32 v7, v7
  out 0, v7
  out 1, v8
  out 2, v9
  out 3, v16
)",
          .reference = {}};
}

// Bytes next to each other, at places of which nothing is known, in one work-group around the end of a page: eight of
// all lanes, five of some lanes with signs, and four with a store of each lane to its third in between.
LockstepCase neighbouring_bytes() {
  std::string body = std::string(kLoadOwn) + R"(
  s_lshl_b32 s9, s2, 7
  s_sub_u32 s9, 0x2fc0, s9
  v_mov_b32_e32 v6, s9
  addu v6, v6, v5
  at 10, 6
  v_mov_b32_e32 v30, 1
)";
  const auto load = [&](const char* type, unsigned first, unsigned last) {
    for (unsigned k = first; k <= last; ++k) body += fmt::format("  gget_byte {}, {}, 10, {}\n", type, 16 + k, k);
  };
  const auto mix = [&](unsigned first, unsigned last) {
    for (unsigned k = first; k <= last; ++k)
      body += fmt::format("  v_mul_u32_u24_e32 v30, 37, v30\n  v_xor_b32_e32 v30, v30, v{}\n", 16 + k);
  };
  load("ubyte", 0, 7);
  mix(0, 7);
  body += "  out 0, v30\n  v_mov_b32_e32 v24, 77\n  v_cmp_gt_u32_e32 vcc, 90, v5\n  s_and_saveexec_b64 s[10:11], vcc\n";
  load("sbyte", 8, 12);
  mix(8, 12);
  body += R"(
  s_mov_b64 exec, s[10:11]
  out 1, v30
  out 2, v24
  s_lshl_b32 s9, s2, 8
  s_add_u32 s9, s9, 0x3800
  v_mov_b32_e32 v6, s9
  addu v6, v6, v5
  at 10, 6
  v_mov_b32_e32 v7, 2
  addu v6, v6, v7
  at 14, 6
)";
  load("ubyte", 0, 1);
  body += "  flat_store_byte v[14:15], v5\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n";
  load("ubyte", 2, 3);
  mix(0, 3);
  body += "  out 3, v30\n";
  return {.name = "neighbouring_bytes", .body = body, .reference = {}};
}

// Four dwords a lane, of rows that four lanes read together: all lanes, one off, one elsewhere, with a double for each two
// dwords, and at the end of the buffer, where some lanes get a part.
LockstepCase rows_of_four_lanes() {
  std::string body = kLoadOwn;
  body += R"(
  s_mov_b32 s12, s4
  s_mov_b32 s13, s5
  s_mov_b32 s14, 0x4000
  s_mov_b32 s15, 0x27000
  v_mov_b32_e32 v9, 0
)";
  const auto use = [&](unsigned slot, const char* index) {
    body +=
        fmt::format("  buffer_load_dwordx4 v[20:23], {}, s[12:15], 0 offen offset:16\n  s_waitcnt vmcnt(0)\n", index);
    body += "  s_mov_b64 exec, -1\n  v_mov_b32_e32 v40, 0\n";
    for (unsigned i = 0; i < 4; ++i)
      body += fmt::format("  v_mul_u32_u24_e32 v30, {}, v{}\n  addu v40, v30, v40\n", 3 + i, 20 + i);
    body += fmt::format("  out {}, v40\n", slot);
  };
  use(0, "v5");
  body += "  s_mov_b32 exec_lo, 0xfffffdff\n";
  use(1, "v5");
  body += "  v_cmp_eq_u32_e32 vcc, 37, v0\n  v_cndmask_b32_e32 v6, v5, v9, vcc\n";
  use(2, "v6");
  body += "  s_movk_i32 s14, 0x788\n";
  use(3, "v5");
  body += R"(
  s_mov_b32 s14, 0x4000
  buffer_load_dwordx4 v[20:23], v5, s[12:15], 0 offen
  s_waitcnt vmcnt(0)
  v_add_f64 v[24:25], v[20:21], v[22:23]
  v_xor_b32_e32 v24, v24, v25
  out 4, v24
  v_lshrrev_b32_e32 v6, 1, v5
  buffer_load_dwordx2 v[20:21], v6, s[12:15], 0 offen offset:528
  s_waitcnt vmcnt(0)
  v_mul_u32_u24_e32 v30, 3, v20
  addu v30, v30, v21
  out 5, v30
  buffer_load_dwordx2 v[20:21], v6, s[12:15], 0 offen offset:512
  s_waitcnt vmcnt(0)
  v_add_f64 v[24:25], v[20:21], 1.0
  v_xor_b32_e32 v24, v24, v25
  out 6, v24
)";
  return {.name = "rows_of_four_lanes",
          .body = body,
          .prepare =
              [](Memory& data) {
                for (uint32_t i = 0; i < 4 * kLanes; ++i) data[i] = 1024 + i / 4 * 23 % 29 * 80 + i % 4 * 16;
                for (uint32_t i = 257; i < 1024; i += 2) data[i] = 0x40080000 + data[i] * 4099;
              },
          .reference = {}};
}

}  // namespace

std::vector<LockstepCase> memory_cases() {
  std::vector<LockstepCase> cases = {overlapping_atomics(true), overlapping_atomics(false), pairs_shifted_down(false),
                                     pairs_shifted_down(true),  lds_from_below(),           lds_orders(),
                                     neighbouring_places()};
  for (const unsigned width : {1u, 2u, 3u, 4u}) cases.push_back(structures(width));
  for (const int bound : {1, 16, 77, 200, 256}) cases.push_back(clamped_indices(bound, true));
  for (const int bound : {16, 77}) cases.push_back(clamped_indices(bound, false));
  for (const ImageParameters& image : kImages) cases.push_back(image_neighbours(image));
  cases.push_back(sums_of_products());
  cases.push_back(lds_places_of_lanes_that_are_off());
  cases.push_back(neighbouring_bytes());
  cases.push_back(rows_of_four_lanes());
  return cases;
}

}  // namespace wavejit::test
