// Lanes that count up to a common bound, as in loops over arrays in strides of the grid: they leave in the last rounds,
// and until then the first lane's counter could speak for all. And counters that go around barriers in registers.
#include "rows.h"

namespace wavejit::test {
namespace {

struct Counting {
  const char* name;
  uint32_t start, bound, step;
  unsigned shift;             // lanes are 1 << shift apart
  bool is_signed;             // the comparison, and the extension of the counter
  bool excludes_leavers;      // the mask of those that have left is kept, rather than that of those that are in
  bool tested_first = false;  // before the step
};

// The counter is extended to 64 bits: where it has wrapped around in some lanes, or is negative, that shows in the
// upper half.
LockstepCase counting(const Counting& c) {
  const auto number = [](uint32_t value) { return std::to_string(value); };
  const std::string compare = c.is_signed ? "i32_e32" : "u32_e32";
  std::string body = kLoadOwn;
  body += "  at 8, 4\n  v_lshlrev_b32_e32 v6, " + number(c.shift) + ", v0\n  v_mov_b32_e32 v7, " + number(c.start) +
          "\n  addu v6, v7, v6\n  v_mov_b32_e32 v14, " + number(c.step) + R"(
  s_load_dword s8, s[4:5], 0x10
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v12, 0
  v_mov_b32_e32 v13, 0
  s_mov_b64 s[10:11], 0
)";
  body += "  v_cmp_gt_" + compare + " vcc, s8, v6\n  s_and_saveexec_b64 s[12:13], vcc\n  s_cbranch_execz 2f\n1:\n";
  body += c.is_signed ? "  v_ashrrev_i32_e32 v7, 31, v6\n" : "  v_mov_b32_e32 v7, 0\n";
  body += R"(
  v_lshlrev_b64 v[10:11], 2, v[6:7]
  gget 15, 8
  addu v12, v10, v12
  v_xor_b32_e32 v12, v11, v12
  addu v12, v15, v12
  v_mov_b32_e32 v15, 1
  addu v13, v15, v13
  v_mov_b32_e32 v16, v6
  addu v6, v14, v6
)";
  const std::string counter = c.tested_first ? "v16" : "v6";
  if (c.excludes_leavers)
    body += "  v_cmp_le_" + compare + " vcc, s8, " + counter +
            "\n  s_or_b64 s[10:11], vcc, s[10:11]\n  s_andn2_b64 exec, exec, s[10:11]\n";
  else
    body += "  v_cmp_gt_" + compare + " vcc, s8, " + counter + "\n  s_and_b64 exec, exec, vcc\n";
  body += "  s_cbranch_execnz 1b\n2:\n  s_mov_b64 exec, -1\n  out 0, v12\n  out 1, v13\n";
  return {.name = std::string("counting_") + c.name,
          .body = body,
          .prepare = [bound = c.bound](Memory& data) { data[4] = bound; },
          .reference = {}};
}

constexpr Counting kCountings[] = {
    {"up", 0, 1000, 256, 0, false, false},
    {"to_a_row", 0, 1024, 64, 0, false, true},
    {"less_than_a_row", 0, 40, 64, 0, false, true},
    {"by_pairs", 3, 2000, 128, 1, false, false},
    {"far_up", 0xfffff5c0, 0xffffffc0, 256, 0, false, false},
    {"signed", static_cast<uint32_t>(-300), 200, 64, 0, true, false},
    {"to_a_negative_bound", static_cast<uint32_t>(-1000), static_cast<uint32_t>(-20), 64, 0, true, true},
    {"to_the_sign", 0x7ffff5c0, 0x7fffffc0, 256, 0, true, true},
    {"tested_first", 0, 1000, 256, 0, false, false, true},
    {"signed_tested_first", static_cast<uint32_t>(-300), 200, 64, 2, true, true, true},
};

// A row's number times a scalar from memory, and counters, over barriers in a loop: the registers could be computed
// again, or from the first lane's. s9 changes on the way, v9's lanes move apart in one round of three.
LockstepCase counters_around_barriers() {
  return {.name = "counters_around_barriers",
          .body = std::string(kLoadOwn) + R"(
  s_load_dword s8, s[4:5], 0x10
  s_load_dword s9, s[4:5], 0x14
  s_waitcnt lgkmcnt(0)
  v_lshrrev_b32_e32 v6, 4, v0
  v_mul_lo_u32 v7, v6, s8
  v_mul_lo_u32 v8, v6, s9
  v_mov_b32_e32 v9, v2
  v_mov_b32_e32 v10, v0
  v_mov_b32_e32 v12, 0
  s_mov_b32 s12, 0
1:
  ds_write_b32 v2, v5
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32_e32 v11, 0xa4, v2
  ds_read_b32 v11, v11
  s_waitcnt lgkmcnt(0)
  addu v12, v11, v12
  v_or_b32_e32 v11, s12, v10
  addu v12, v11, v12
  addu v12, v7, v12
  addu v12, v8, v12
  addu v12, v9, v12
  s_load_dword s9, s[4:5], 0x18
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_mov_b32_e32 v13, 16
  addu v9, v13, v9
  s_add_u32 s12, s12, 64
  s_cmp_eq_u32 s12, 0x80
  s_cbranch_scc0 2f
  addu v9, v9, v9
2:
  v_and_b32_e32 v14, 63, v9
  v_and_b32_e32 v15, 64, v0
  addu v14, v15, v14
  v_lshlrev_b32_e32 v14, 2, v14
  ds_read_b32 v14, v14
  s_waitcnt lgkmcnt(0)
  addu v5, v14, v5
  s_cmp_lt_u32 s12, 0x100
  s_cbranch_scc1 1b
  out 0, v12
  out 1, v9
  out 2, v7
  out 3, v8
)",
          .group_size = 128,
          .lds = 512,
          .reference = {}};
}

// Two pointers to what lanes next to each other read, one advanced by a constant and one by a number from memory.
LockstepCase pointers_advanced_alike() {
  constexpr uint32_t kFirst = 8, kStep = 3, kRounds = 7;
  return {.name = "pointers_advanced_alike",
          .body = R"(
  s_load_dwordx2 s[8:9], s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  addu v6, s8, v1
  v_ashrrev_i32_e32 v7, 31, v6
  v_lshlrev_b64 v[6:7], 2, v[6:7]
  v_mov_b32_e32 v8, s5
  add_co v6, s4, v6
  addc v7, v7, v8
  v_mov_b32_e32 v8, v6
  v_mov_b32_e32 v9, v7
  v_mov_b32_e32 v12, 0
  s_mov_b32 s10, 0
1:
  gget 10, 6
  gget 11, 8
  v_mad_u32_u24 v12, v10, 5, v12
  v_xor_b32_e32 v12, v11, v12
  add_co v6, s9, v6
  addc v7, 0, v7
  add_co v8, 8, v8
  addc v9, 0, v9
  s_add_u32 s10, s10, 1
  s_cmp_lt_u32 s10, 7
  s_cbranch_scc1 1b
  out 0, v12
)",
          .prepare =
              [](Memory& data) {
                data[0] = kFirst;
                data[1] = 4 * kStep;
                for (size_t i = 2; i < 1024; ++i) data[i] &= 0xffff;
              },
          .reference =
              [](Memory& data, unsigned group) {
                for (unsigned i = group * kLanes; i < (group + 1) * kLanes; ++i) {
                  uint32_t sum = 0;
                  for (unsigned k = 0; k < kRounds; ++k)
                    sum = (sum + 5 * data[kFirst + i + kStep * k]) ^ data[kFirst + i + 2 * k];
                  data[1024 + i] = sum;
                }
              }};
}

// The LDS from its end, which a number from memory says, to its beginning: behind the barrier the index is the complement
// of the lane plus what lane 0 says.
LockstepCase mirrored_behind_a_barrier() {
  constexpr unsigned kSize = 128;
  return {.name = "mirrored_behind_a_barrier",
          .body = std::string(kLoadOwn) + R"(
  s_load_dword s8, s[4:5], 0x10
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v2, v5
  v_not_b32_e32 v6, v0
  addu v6, s8, v6
  v_xor_b32_e32 v7, -1, v0
  s_mov_b32 s8, 3
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_lshlrev_b32_e32 v8, 2, v6
  ds_read_b32 v8, v8
  s_waitcnt lgkmcnt(0)
  addu v7, s8, v7
  out 0, v8
  out 1, v7
)",
          .groups = 2,
          .group_size = kSize,
          .lds = 4 * kSize,
          .prepare = [](Memory& data) { data[4] = kSize; },
          .reference =
              [](Memory& data, unsigned group) {
                for (unsigned i = 0; i < kSize; ++i) {
                  const uint32_t at = group * kSize + i;
                  data[1024 + at] = data[group * kSize + kSize - 1 - i];
                  data[1280 + at] = 2 - i;
                }
              }};
}

// The LDS from its beginning to its end: no access is beyond it.
LockstepCase words_in_turn() {
  return {.name = "words_in_turn",
          .body = std::string(kLoadOwn) + R"(
  ds_write_b32 v2, v5
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v12, 0
  s_mov_b32 s8, 0
1:
  v_mov_b32_e32 v6, s8
  v_lshlrev_b32_e32 v6, 2, v6
  ds_read_b32 v7, v6
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v7, v6, v7
  addu v12, v7, v12
  s_add_u32 s8, s8, 1
  s_cmp_lt_u32 s8, 64
  s_cbranch_scc1 1b
  out 0, v12
)",
          .lds = 256,
          .reference = {}};
}

}  // namespace

std::vector<LockstepCase> counted_loop_cases() {
  std::vector<LockstepCase> cases;
  for (const Counting& c : kCountings) cases.push_back(counting(c));
  cases.push_back(counters_around_barriers());
  cases.push_back(mirrored_behind_a_barrier());
  cases.push_back(words_in_turn());
  cases.push_back(pointers_advanced_alike());
  return cases;
}

}  // namespace wavejit::test
