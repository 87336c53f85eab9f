// Loops that lanes leave one by one, when numbers of their own say so. A tile whose lanes have all left may leave
// before the others only if nobody can tell: each kind here adds one thing by which it shows, but for the first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>

#include "rows.h"

namespace wavejit::test {
namespace {

enum class Shows {
  nothing,
  counter,     // a scalar counts the iterations
  all_lanes,   // vectors change in lanes that have left, too
  vcc,         // what the last comparison found
  returning,   // lanes that had left are in again
  scc,         // scalar condition of the last iteration
  last_lanes,  // which lanes were in the last iteration
  load,        // nothing: a load in the loop, of the lanes that are in
};
constexpr const char* kNames[] = {"nothing", "counter", "all_lanes", "vcc", "returning", "scc", "last_lanes", "load"};

// v6 counts the iterations of a lane; v10..v17 are carried along, so that there is work besides the chain.
LockstepCase leaving(Shows shows) {
  std::string body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 5, 4
  v_or_b32_e32 v5, 1, v5
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 0
  s_mov_b32 s12, 0
  s_mov_b64 s[14:15], 0
  s_mov_b64 s[20:21], exec
  s_cmp_eq_u32 s2, 77
)";
  for (unsigned i = 10; i < 18; ++i)
    body += "  v_mov_b32_e32 v9, " + std::to_string(i) + "\n  addu v" + std::to_string(i) + ", v5, v9\n";
  body += R"(
  v_mov_b32_e32 v9, 0
1:
  // n = n odd ? 3 n + 1 : n / 2
  v_and_b32_e32 v20, 1, v5
  v_cmp_eq_u32_e32 vcc, 1, v20
  v_lshrrev_b32_e32 v21, 1, v5
  v_lshlrev_b32_e32 v22, 1, v5
  addu v22, v22, v5
  v_mov_b32_e32 v23, 1
  addu v22, v22, v23
  v_cmp_eq_u32_e32 vcc, 1, v20
  v_cndmask_b32_e32 v5, v21, v22, vcc
  addu v6, v6, v23
)";
  for (unsigned i = 10; i < 18; ++i) {
    const std::string v = "v" + std::to_string(i);
    body += "  v_xor_b32_e32 " + v + ", v5, " + v + "\n  addu " + v + ", v6, " + v + "\n";
  }
  if (shows == Shows::counter) body += "  s_add_u32 s12, s12, 1\n";
  if (shows == Shows::all_lanes)
    body +=
        "  s_mov_b64 s[16:17], exec\n  s_mov_b64 exec, -1\n  v_xor_b32_e32 v8, v10, v8\n  addu v9, v9, v23\n"
        "  s_mov_b64 exec, s[16:17]\n";
  if (shows == Shows::load)
    body += "  v_and_b32_e32 v24, 0xff, v5\n  v_lshlrev_b32_e32 v24, 2, v24\n  get_at 24, 24\n  addu v8, v8, v24\n";
  if (shows == Shows::last_lanes) body += "  s_mov_b64 s[14:15], exec\n";
  if (shows == Shows::scc) {
    body += "  v_cmp_lt_u32_e32 vcc, 1, v5\n  s_and_b64 exec, exec, vcc\n";  // SCC: any lane is left
  } else if (shows == Shows::returning) {
    // All lanes are looked at again; those that are done have 0 and come back every fourth time.
    body += R"(
  s_add_u32 s12, s12, 1
  s_and_b32 s13, s12, 3
  s_mov_b64 s[16:17], exec
  v_cmp_lt_u32_e32 vcc, 1, v5
  s_mov_b64 s[18:19], vcc
  s_mov_b64 exec, s[20:21]
  v_cmp_gt_u32_e64 s[14:15], 3, v5
  s_mov_b64 exec, s[16:17]
  s_cmp_eq_u32 s13, 3
  s_cselect_b64 s[14:15], s[14:15], 0
  s_cmp_lt_u32 s12, 40
  s_cselect_b64 s[14:15], s[14:15], 0
  s_or_b64 exec, s[18:19], s[14:15]
)";
  } else {
    body += "  v_cmp_lt_u32_e32 vcc, 1, v5\n  s_and_b64 exec, exec, vcc\n";
  }
  body += "  s_cbranch_execnz 1b\n";
  if (shows == Shows::scc) body += "  s_cselect_b32 s12, 5, 6\n";
  body += "  s_mov_b64 exec, s[20:21]\n";
  if (shows == Shows::vcc) body += "  v_cndmask_b32_e64 v8, 3, 4, vcc\n";
  if (shows == Shows::last_lanes) body += "  v_cndmask_b32_e64 v8, 3, 4, s[14:15]\n";
  for (unsigned i = 11; i < 18; ++i) body += "  addu v10, v" + std::to_string(i) + ", v10\n";
  body += "  out 0, v6\n  out 1, v5\n  out 2, v10\n  out 3, v8\n  out 4, v9\n  out 5, s12\n";
  return {.name = std::string("leaving_shows_") + kNames[static_cast<unsigned>(shows)],
          .body = body,
          .reference = [shows](Memory& data, unsigned group) {
            Row n, count = {}, extra = {}, all = {};
            std::array<Row, 8> a;
            uint32_t s12 = 0;
            for (unsigned l = 0; l < kLanes; ++l) {
              n[l] = data[group * kLanes + l] | 1;
              for (unsigned i = 0; i < 8; ++i) a[i][l] = n[l] + 10 + i;
            }
            const Memory before = data;
            uint64_t exec = ~uint64_t{0}, vcc = 0, last = 0;
            const auto on = [&](unsigned l) { return (exec >> l & 1) != 0; };
            uint32_t trips = 0;
            while (exec != 0) {
              ++trips;
              for (unsigned l = 0; l < kLanes; ++l) {
                if (!on(l)) continue;
                n[l] = (n[l] & 1) != 0 ? 3 * n[l] + 1 : n[l] / 2;
                ++count[l];
                for (Row& row : a) row[l] = (row[l] ^ n[l]) + count[l];
                if (shows == Shows::load) extra[l] += before[n[l] & 0xff];
              }
              if (shows == Shows::all_lanes)
                for (unsigned l = 0; l < kLanes; ++l) {
                  extra[l] ^= a[0][l];
                  ++all[l];
                }
              last = exec;
              vcc = 0;
              for (unsigned l = 0; l < kLanes; ++l) vcc |= uint64_t{on(l) && n[l] > 1} << l;
              uint64_t back = 0;
              for (unsigned l = 0; l < kLanes; ++l) back |= uint64_t{n[l] < 3} << l;
              exec = vcc;
              if (shows == Shows::returning && trips % 4 == 3 && trips < 40) exec |= back;
            }
            if (shows == Shows::counter || shows == Shows::returning) s12 = trips;
            if (shows == Shows::scc) s12 = 6;
            if (shows == Shows::vcc) extra.fill(3);
            if (shows == Shows::last_lanes)
              for (unsigned l = 0; l < kLanes; ++l) extra[l] = (last >> l & 1) != 0 ? 4 : 3;
            const auto output = [&](unsigned slot, const Row& row) {
              std::copy(row.begin(), row.end(), data.begin() + 1024 + slot * 256 + group * kLanes);
            };
            Row sum = {};
            for (const Row& row : a)
              for (unsigned l = 0; l < kLanes; ++l) sum[l] += row[l];
            output(0, count);
            output(1, n);
            output(2, sum);
            output(3, extra);
            output(4, all);
            Row scalar;
            scalar.fill(s12);
            output(5, scalar);
          }};
}

// Each lane walks through a row of its own, of one to sixty dwords; rows begin anywhere, and the last one ends where
// accessible memory does. Steps are four bytes, unless they are eight. returning: lanes that are done come back.
enum class Walk { plain, unaligned, by_eight, returning };
constexpr const char* kWalkNames[] = {"plain", "unaligned", "by_eight", "returning"};

LockstepCase walk(Walk kind) {
  constexpr unsigned kWords = 8192, kRow = 61, kFirst = kWords - kLanes * kRow;
  const unsigned step = kind == Walk::by_eight ? 8 : 4;
  std::string body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 5, 4
  v_and_b32_e32 v6, 31, v5
  v_lshrrev_b32_e32 v7, 2, v5
  addu v6, v6, v7
  v_mov_b32_e32 v7, 1
  addu v6, v6, v7
  v_mul_u32_u24_e32 v12, 37, v0
  v_mov_b32_e32 v13, 5
  addu v12, v12, v13
  v_and_b32_e32 v12, 63, v12
  v_mul_u32_u24_e32 v12, KROWBYTES, v12
  v_mov_b32_e32 v13, KEND
  addu v12, v12, v13
  v_mul_u32_u24_e32 v13, KSTEP, v6
  subu v12, v12, v13
  at 10, 12
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v14, 0
  s_mov_b64 s[20:21], exec
  s_mov_b32 s12, 0
1:
  gget 9, 10
  v_lshlrev_b32_e32 v8, 1, v8
  addu v8, v8, v9
  add_co v10, KSTEP, v10
  addc v11, 0, v11
  addu v14, v14, v7
  v_cmp_lt_u32_e32 vcc, v14, v6
)";
  // Lanes that come back read one dword behind their row.
  const unsigned end = (kFirst + kRow) * 4 - (kind == Walk::unaligned ? 2 : kind == Walk::returning ? 8 : 0);
  if (kind == Walk::returning) {
    // Lanes that are done are in every fourth time, at the end of their row, while others go on.
    body += R"(
  s_and_b64 s[16:17], exec, vcc
  s_mov_b64 exec, s[20:21]
  v_mov_b32_e32 v15, s12
  v_and_b32_e32 v15, 3, v15
  v_cmp_eq_u32_e32 vcc, 3, v15
  v_cmp_le_u32_e64 s[18:19], v14, v6
  s_and_b64 s[18:19], s[18:19], vcc
  s_or_b64 s[18:19], s[18:19], s[16:17]
  s_add_u32 s12, s12, 1
  s_cmp_eq_u64 s[16:17], 0
  s_cselect_b64 exec, 0, s[18:19]
)";
  } else {
    body += "  s_and_b64 exec, exec, vcc\n";
  }
  body += "  s_cbranch_execnz 1b\n  s_mov_b64 exec, s[20:21]\n  out 0, v8\n  out 1, v14\n";
  const auto replace = [&](const std::string& name, unsigned value) {
    for (size_t at; (at = body.find(name)) != std::string::npos;) body.replace(at, name.size(), std::to_string(value));
  };
  replace("KROWBYTES", kRow * 4);
  replace("KEND", end);
  replace("KSTEP", step);
  LockstepCase c{.name = std::string("walk_") + kWalkNames[static_cast<unsigned>(kind)], .body = body, .words = kWords};
  if (kind == Walk::returning) return c;
  c.reference = [=](Memory& data, unsigned group) {
    Row sums = {}, counts = {};
    const Row in = inputs(data, group);
    const auto* bytes = reinterpret_cast<const char*>(data.data());
    for (unsigned l = 0; l < kLanes; ++l) {
      counts[l] = (in[l] & 31) + in[l] / 4 + 1;
      unsigned at = (l * 37 + 5) % 64 * kRow * 4 + end - counts[l] * step;
      for (unsigned i = 0; i < counts[l]; ++i, at += step) {
        uint32_t word = 0;
        std::memcpy(&word, bytes + at, 4);
        sums[l] = sums[l] * 2 + word;
      }
    }
    output(data, group, 0, sums);
    output(data, group, 1, counts);
  };
  return c;
}

// What a case does with n (v5), the word (v9) and the sum (v8); v11 is left to what follows.
constexpr const char* kCases[] = {
    "  v_and_b32_e32 v11, 0xff, v8\n  v_lshlrev_b32_e32 v11, 2, v11\n  get_at 11, 11\n  addu v5, v5, v11\n",
    "  v_lshrrev_b32_e32 v11, 1, v9\n  subu v5, v5, v11\n",
    "  v_lshrrev_b32_e32 v11, 3, v8\n  v_xor_b32_e32 v5, v11, v9\n",
    "  v_lshlrev_b32_e32 v11, 1, v5\n  addu v5, v11, v9\n",
    "  v_or_b32_e32 v11, v5, v9\n",
    "  v_not_b32_e32 v5, v5\n",
    "  v_mul_u32_u24_e32 v11, 5, v9\n  addu v5, v5, v11\n",
    "  v_lshrrev_b32_e32 v5, 7, v5\n  v_and_b32_e32 v11, v11, v9\n",
};

// The cases from the first on, as compilers write them: at each level the lanes of the one way and then those of the other, so that
// a single lane would execute each branch twice. s[12 + 2 * level] has the lanes of the other way.
std::string choice(unsigned first, unsigned count, unsigned level) {
  if (count == 1) return kCases[first % std::size(kCases)];
  const unsigned middle = first + count / 2, label = 16 * level + first;
  const std::string saved = fmt::format("s[{}:{}]", 12 + 2 * level, 13 + 2 * level);
  return fmt::format(
             "  v_cmp_lt_u32_e32 vcc, {0}, v10\n  s_and_saveexec_b64 {1}, vcc\n  s_xor_b64 {1}, exec, {1}\n"
             "  s_cbranch_execz .Lother{2}\n",
             middle - 1, saved, label) +
         choice(middle, count - count / 2, level + 1) +
         fmt::format(
             ".Lother{1}:\n  s_or_saveexec_b64 {0}, {0}\n  s_xor_b64 exec, exec, {0}\n  s_cbranch_execz .Ljoined{1}\n",
             saved, label) +
         choice(first, count / 2, level + 1) +
         fmt::format("  addu v8, v8, v11\n.Ljoined{1}:\n  s_or_b64 exec, exec, {0}\n", saved, label);
}

// Each lane goes through one of sixteen cases in each iteration; optimisations make one block of two.
LockstepCase cases_of_lanes() {
  return {.name = "cases_of_lanes",
          .body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 5, 4
  v_and_b32_e32 v6, 31, v5
  v_mov_b32_e32 v7, 1
  addu v6, v6, v7
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v11, 0
  s_mov_b64 s[20:21], exec
1:
  v_and_b32_e32 v9, 0xff, v5
  v_lshlrev_b32_e32 v9, 2, v9
  get_at 9, 9
  addu v9, v9, v5
  v_lshrrev_b32_e32 v12, 3, v9
  v_xor_b32_e32 v9, v9, v12
  v_and_b32_e32 v10, 15, v9
)" + choice(0, 16, 0) +
                  R"(
  v_xor_b32_e32 v8, v8, v11
  subu v6, v6, v7
  v_cmp_lt_u32_e32 vcc, 0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 0, v8
  out 1, v5
)",
          .reference = [](Memory& data, unsigned group) {
            Row n = inputs(data, group), sum = {};
            for (unsigned l = 0; l < kLanes; ++l) {
              uint32_t other = 0;
              for (unsigned left = (n[l] & 31) + 1; left != 0; --left) {
                uint32_t word = data[n[l] & 0xff] + n[l];
                word ^= word >> 3;
                const unsigned taken = word & 15;
                switch (taken & 7) {
                  case 0:
                    other = data[sum[l] & 0xff];
                    n[l] += other;
                    break;
                  case 1:
                    other = word >> 1;
                    n[l] -= other;
                    break;
                  case 2:
                    other = sum[l] >> 3;
                    n[l] = other ^ word;
                    break;
                  case 3:
                    other = 2 * n[l];
                    n[l] = other + word;
                    break;
                  case 4:
                    other = n[l] | word;
                    break;
                  case 5:
                    n[l] = ~n[l];
                    break;
                  case 6:
                    other = 5 * (word & 0xffffff);
                    n[l] += other;
                    break;
                  default:
                    n[l] >>= 7;
                    other &= word;
                }
                // Behind the lower half at each of the four levels.
                sum[l] += other * static_cast<uint32_t>(4 - std::popcount(taken));
                sum[l] ^= other;
              }
            }
            output(data, group, 0, sum);
            output(data, group, 1, n);
          }};
}

}  // namespace

std::vector<LockstepCase> divergent_cases() {
  std::vector<LockstepCase> cases;
  for (const Shows shows : {Shows::nothing, Shows::counter, Shows::all_lanes, Shows::vcc, Shows::returning, Shows::scc,
                            Shows::last_lanes, Shows::load})
    cases.push_back(leaving(shows));
  for (const Walk kind : {Walk::plain, Walk::unaligned, Walk::by_eight, Walk::returning}) cases.push_back(walk(kind));
  cases.push_back(cases_of_lanes());
  return cases;
}

}  // namespace wavejit::test
