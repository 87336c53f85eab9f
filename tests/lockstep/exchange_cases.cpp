// Lanes of one wave that see each other's memory without s_barrier: legal, because a wave runs in lockstep.
#include <algorithm>
#include <array>
#include <numeric>

#include "rows.h"

namespace wavejit::test {
namespace {

LockstepCase lds_butterfly() {
  return {.name = "lds_butterfly_sum",
          .body = std::string(kLoadOwn) + R"(
  ds_write_b32 v2, v5
  s_waitcnt lgkmcnt(0)
  s_movk_i32 s8, 0x80
1:
  v_xor_b32_e32 v6, s8, v2
  ds_read_b32 v7, v6
  s_waitcnt lgkmcnt(0)
  addu v5, v5, v7
  ds_write_b32 v2, v5
  s_waitcnt lgkmcnt(0)
  s_lshr_b32 s8, s8, 1
  s_cmp_gt_u32 s8, 2
  s_cbranch_scc1 1b
  out 0, v5
)",
          .lds = 256,
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            row.fill(std::accumulate(row.begin(), row.end(), 0u));
            output(data, group, 0, row);
          }};
}

// Hillis-Steele scan, in LDS or in global memory, in place, unrolled or as a loop.
LockstepCase scan(bool in_lds, bool loop) {
  std::string step = in_lds ? R"(
  v_cmp_le_u32_e32 vcc, s8, v2
  s_and_saveexec_b64 s[10:11], vcc
  v_mov_b32_e32 v6, s8
  subu v6, v2, v6
  ds_read_b32 v7, v6
  ds_read_b32 v8, v2
  s_waitcnt lgkmcnt(0)
  addu v8, v8, v7
  ds_write_b32 v2, v8
  s_mov_b64 exec, s[10:11]
)"
                            : R"(
  v_cmp_le_u32_e32 vcc, s8, v2
  s_and_saveexec_b64 s[10:11], vcc
  v_mov_b32_e32 v6, s8
  subu v6, v4, v6
  get_at 7, 6
  get_at 8, 4
  addu v8, v8, v7
  put_at 4, 8
  s_mov_b64 exec, s[10:11]
)";
  std::string body = kLoadOwn;
  if (in_lds) body += "  ds_write_b32 v2, v5\n";
  if (loop) {
    body +=
        "  s_mov_b32 s8, 4\n1:\n" + step + "  s_lshl_b32 s8, s8, 1\n  s_cmp_lt_u32 s8, 0x100\n  s_cbranch_scc1 1b\n";
  } else {
    for (const char* offset : {"4", "8", "16", "32", "64", "0x80"})
      body += std::string("  s_mov_b32 s8, ") + offset + "\n" + step;
  }
  body += in_lds ? "  ds_read_b32 v9, v2\n  s_waitcnt lgkmcnt(0)\n" : "  get_at 9, 4\n";
  return {.name = std::string(in_lds ? "lds" : "global") + "_scan_" + (loop ? "loop" : "unrolled"),
          .body = body + "  out 0, v9\n",
          .lds = in_lds ? 256u : 0u,
          .reference = [in_lds](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            std::partial_sum(row.begin(), row.end(), row.begin());
            output(data, group, 0, row);
            if (!in_lds) std::copy(row.begin(), row.end(), data.begin() + group * kLanes);
          }};
}

// a[i + to] = a[i + from] for all lanes at once, `rounds` times. All loads of a round come before its stores.
LockstepCase shifted_copy(const std::string& name, int from, int to, unsigned rounds, bool unrolled, unsigned width) {
  // 128 words a group, lanes start 32 words into them; `width` dwords a lane (1, 2 or 4).
  std::string load = width == 1   ? "flat_load_dword v8, v[10:11]"
                     : width == 2 ? "flat_load_dwordx2 v[8:9], v[10:11]"
                                  : "flat_load_dwordx4 v[20:23], v[10:11]";
  std::string store = width == 1   ? "flat_store_dword v[12:13], v8"
                      : width == 2 ? "flat_store_dwordx2 v[12:13], v[8:9]"
                                   : "flat_store_dwordx4 v[12:13], v[20:23]";
  const std::string round = "  " + load + "\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n  " + store + "\n  s_waitcnt vmcnt(0)\n";
  const unsigned stride = 512;  // words of a group
  std::string body = "  s_mul_i32 s6, s2, " + std::to_string(stride * 4) + "\n  v_mov_b32_e32 v4, s6\n" +
                     "  v_mul_u32_u24_e32 v5, " + std::to_string(width * 4) + ", v0\n  addu v4, v4, v5\n";
  body += "  v_mov_b32_e32 v5, " + std::to_string((64 + from) * 4) + "\n  addu v6, v4, v5\n  at 10, 6\n";
  body += "  v_mov_b32_e32 v5, " + std::to_string((64 + to) * 4) + "\n  addu v7, v4, v5\n  at 12, 7\n";
  if (unrolled)
    for (unsigned i = 0; i < rounds; ++i) body += round;
  else
    body += "  s_mov_b32 s8, " + std::to_string(rounds) + "\n1:\n" + round +
            "  s_sub_u32 s8, s8, 1\n  s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 1b\n";
  return {.name = name, .body = body, .reference = [=](Memory& data, unsigned group) {
            uint32_t* a = data.data() + group * stride + 64;
            for (unsigned r = 0; r < rounds; ++r) {
              std::vector<uint32_t> loaded(kLanes * width);
              for (unsigned i = 0; i < kLanes * width; ++i) loaded[i] = a[static_cast<int>(i) + from];
              for (unsigned i = 0; i < kLanes * width; ++i) a[static_cast<int>(i) + to] = loaded[i];
            }
          }};
}

// The same in LDS, where each lane's store may hit what another lane loads next.
LockstepCase lds_rotate(int distance, unsigned rounds) {
  const std::string mask = "0xff";
  return {
      .name = "lds_rotate_" + std::to_string(distance < 0 ? -distance : distance) + (distance < 0 ? "_down" : "_up"),
      .body = std::string(kLoadOwn) + "  ds_write_b32 v2, v5\n  s_mov_b32 s8, " + std::to_string(rounds) +
              "\n  v_mov_b32_e32 v7, " + std::to_string(distance * 4) + R"(
  addu v6, v2, v7
  v_and_b32_e32 v6, 0xff, v6
1:
  ds_read_b32 v8, v6
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v2, v8
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v9, v2
  s_waitcnt lgkmcnt(0)
  out 0, v9
)",
      .lds = 256,
      .reference = [=](Memory& data, unsigned group) {
        const Row in = inputs(data, group);
        Row row;
        for (unsigned l = 0; l < kLanes; ++l)
          row[l] = in[static_cast<unsigned>(static_cast<int>(l) + distance * static_cast<int>(rounds)) & 63];
        output(data, group, 0, row);
      }};
}

// Each round all lanes read one word, and then one lane (another each round) replaces it.
LockstepCase one_lane_writes_what_all_read() {
  return {.name = "one_lane_writes_what_all_read",
          .body = std::string(kLoadOwn) + R"(
  s_lshl_b32 s9, s2, 2
  s_add_u32 s9, s9, 0xc00
  v_mov_b32_e32 v20, s9
  at 10, 20
  s_mov_b32 s8, 0
1:
  get 6, 10
  addu v5, v5, v6
  v_cmp_eq_u32_e32 vcc, s8, v0
  s_and_saveexec_b64 s[12:13], vcc
  put 10, 5
  s_mov_b64 exec, s[12:13]
  s_add_u32 s8, s8, 7
  s_cmp_lt_u32 s8, 64
  s_cbranch_scc1 1b
  out 0, v5
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            uint32_t& shared = data[0x300 + group];
            for (unsigned k = 0; k < 64; k += 7) {
              const uint32_t seen = shared;
              for (uint32_t& v : row) v += seen;
              shared = row[k];
            }
            output(data, group, 0, row);
          }};
}

// All lanes store to the same few words: the highest lane wins; then each lane reads them.
LockstepCase colliding_stores(bool in_lds) {
  const std::string access = in_lds ? R"(
  ds_write_b32 v7, v5
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v8, v7
  s_waitcnt lgkmcnt(0)
)"
                                    : R"(
  s_lshl_b32 s9, s2, 6
  s_add_u32 s9, s9, 0xc00
  v_mov_b32_e32 v9, s9
  addu v9, v9, v7
  at 10, 9
  put 10, 5
  get 8, 10
)";
  return {.name = std::string(in_lds ? "lds" : "global") + "_colliding_stores",
          .body = std::string(kLoadOwn) + R"(
  v_and_b32_e32 v6, 7, v5
  v_lshlrev_b32_e32 v7, 2, v6
  v_lshlrev_b32_e32 v5, 8, v5
  v_or_b32_e32 v5, v5, v0
)" + access + "  out 0, v8\n",
          .lds = in_lds ? 64u : 0u,
          .reference = [in_lds](Memory& data, unsigned group) {
            const Row in = inputs(data, group);
            uint32_t cells[8] = {};
            for (unsigned l = 0; l < kLanes; ++l) cells[in[l] & 7] = in[l] << 8 | l;
            Row row;
            for (unsigned l = 0; l < kLanes; ++l) {
              row[l] = cells[in[l] & 7];
              if (!in_lds) data[0x300 + group * 16 + (in[l] & 7)] = row[l];
            }
            output(data, group, 0, row);
          }};
}

// Bytes written by one set of lanes, dwords read by another.
LockstepCase bytes_and_dwords() {
  return {.name = "bytes_and_dwords",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b32 s8, 4
1:
  ds_write_b8 v0, v5
  s_waitcnt lgkmcnt(0)
  v_and_b32_e32 v6, 60, v2
  ds_read_b32 v7, v6
  s_waitcnt lgkmcnt(0)
  v_lshrrev_b32_e32 v8, 9, v7
  v_xor_b32_e32 v5, v5, v8
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
  out 0, v5
)",
          .lds = 64,
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            for (unsigned round = 0; round < 4; ++round) {
              uint8_t bytes[64];
              for (unsigned l = 0; l < kLanes; ++l) bytes[l] = static_cast<uint8_t>(row[l]);
              for (unsigned l = 0; l < kLanes; ++l) {
                const unsigned o = (l * 4) & 60;
                const uint32_t word = bytes[o] | bytes[o + 1] << 8 | bytes[o + 2] << 16 | uint32_t{bytes[o + 3]} << 24;
                row[l] ^= word >> 9;
              }
            }
            output(data, group, 0, row);
          }};
}

// Two waves, each with its own part of LDS: no barrier is needed within a wave, none may be invented between them.
LockstepCase two_waves() {
  return {.name = "two_waves_reverse",
          .body = std::string(kLoadOwn) + R"(
  ds_write_b32 v2, v5
  v_xor_b32_e32 v6, 0xfc, v2
  ds_read_b32 v7, v6
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v6, v7
  ds_read_b32 v8, v2
  s_waitcnt lgkmcnt(0)
  addu v8, v8, v7
  out 0, v8
)",
          .groups = 2,
          .group_size = 128,
          .lds = 512,
          .reference = [](Memory& data, unsigned group) {
            for (unsigned wave = group * 2; wave < group * 2 + 2; ++wave) {
              const Row in = inputs(data, wave);
              Row row;
              // After the second store cell c holds the value lane (63 - c) read from it: unchanged.
              for (unsigned l = 0; l < kLanes; ++l) row[l] = in[l] + in[63 - l];
              output(data, wave, 0, row);
            }
          }};
}

// Cross-lane reads in a loop: a bpermute by a changing distance, a lane picked by a counter, a shift across 16 lanes.
LockstepCase cross_lane_loop() {
  return {.name = "cross_lane_loop",
          .body = std::string(kLoadOwn) + R"(
  s_mov_b32 s8, 0
1:
  s_lshl_b32 s9, s8, 2
  v_mov_b32_e32 v6, s9
  addu v6, v6, v2
  ds_bpermute_b32 v7, v6, v5
  v_readlane_b32 s10, v5, s8
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v5, s10, v5
  addu v5, v5, v7
  s_add_u32 s8, s8, 13
  s_cmp_lt_u32 s8, 64
  s_cbranch_scc1 1b
  s_nop 4
  v_mov_b32_e32 v8, 0
  v_mov_b32_dpp v8, v5 wave_shr:1 row_mask:0xf bank_mask:0xf
  s_nop 4
  v_mov_b32_e32 v9, 0
  v_mov_b32_dpp v9, v8 row_bcast:15 row_mask:0xa bank_mask:0xf
  out 0, v5
  out 1, v8
  out 2, v9
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            for (unsigned k = 0; k < 64; k += 13) {
              const Row before = row;
              for (unsigned l = 0; l < kLanes; ++l) row[l] = (before[l] ^ before[k]) + before[(l + k) & 63];
            }
            output(data, group, 0, row);
            Row shifted = {}, spread = {};
            for (unsigned l = 1; l < kLanes; ++l) shifted[l] = row[l - 1];
            for (unsigned l = 0; l < kLanes; ++l)
              if (l / 16 % 2 == 1) spread[l] = shifted[l / 16 * 16 - 1];
            output(data, group, 1, shifted);
            output(data, group, 2, spread);
          }};
}

// HIP's shuffles in a loop that changes what it shuffles: from a lane that all share, by a butterfly, and from the next lanes, of which
// the last ones have none.
LockstepCase shuffles_in_a_loop() {
  return {.name = "shuffles_in_a_loop",
          .body = std::string(kLoadOwn) + R"(
  v_mbcnt_lo_u32_b32 v4, -1, 0
  v_mbcnt_hi_u32_b32 v4, -1, v4
  v_lshlrev_b32_e32 v6, 2, v4
  v_xor_b32_e32 v7, 0x44, v6
  addu v8, 5, v4
  v_cmp_gt_u32_e32 vcc, 64, v8
  v_cndmask_b32_e32 v8, v4, v8, vcc
  v_lshlrev_b32_e32 v8, 2, v8
  v_and_b32_e32 v6, 0x100, v6
  s_mov_b32 s8, 0
1:
  addu v9, s8, v6
  ds_bpermute_b32 v10, v9, v5
  ds_bpermute_b32 v11, v7, v5
  ds_bpermute_b32 v12, v8, v5 offset:4
  ds_bpermute_b32 v13, v9, v5 offset:12
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v5, v10, v5
  addu v5, v5, v11
  v_xor_b32_e32 v5, v12, v5
  addu v5, v5, v13
  s_add_u32 s8, s8, 28
  s_cmp_lt_u32 s8, 0x100
  s_cbranch_scc1 1b
  out 0, v5
)",
          .reference = [](Memory& data, unsigned group) {
            Row row = inputs(data, group);
            for (unsigned k = 0; k < 64; k += 7) {
              const Row before = row;
              for (unsigned l = 0; l < kLanes; ++l) {
                const unsigned down = l + 5 < kLanes ? l + 5 : l;
                row[l] = ((before[l] ^ before[k]) + before[l ^ 17]) ^ before[(down + 1) % kLanes];
                row[l] += before[(k + 3) % kLanes];
              }
            }
            output(data, group, 0, row);
          }};
}

}  // namespace

std::vector<LockstepCase> exchange_cases() {
  std::vector<LockstepCase> cases = {lds_butterfly(),        scan(true, false),
                                     scan(true, true),       scan(false, false),
                                     scan(false, true),      lds_rotate(1, 5),
                                     lds_rotate(-1, 5),      lds_rotate(16, 3),
                                     lds_rotate(-17, 9),     one_lane_writes_what_all_read(),
                                     colliding_stores(true), colliding_stores(false),
                                     bytes_and_dwords(),     two_waves(),
                                     cross_lane_loop(),      shuffles_in_a_loop()};
  const struct {
    const char* name;
    int from, to;
  } shifts[] = {{"next", 1, 0}, {"previous", 0, 1}, {"next_tile", 16, 0}, {"previous_tile", 0, 16}, {"far", 0, -33}};
  for (const auto& s : shifts) {
    cases.push_back(shifted_copy(std::string("copy_") + s.name, s.from, s.to, 3, true, 1));
    cases.push_back(shifted_copy(std::string("copy_loop_") + s.name, s.from, s.to, 6, false, 1));
    cases.push_back(shifted_copy(std::string("copy_pairs_loop_") + s.name, s.from, s.to, 4, false, 2));
    cases.push_back(shifted_copy(std::string("copy_quads_") + s.name, s.from, s.to, 2, true, 4));
  }
  return cases;
}

}  // namespace wavejit::test
