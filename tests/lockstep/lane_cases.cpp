// Loops in which each lane goes its own way, which are also executed for one lane after the other. Each kind here adds one
// thing by which lanes notice each other, or the wave, but for the first ones.
#include <bit>
#include <iterator>

#include "lockstep_case.h"

namespace wavejit::test {
namespace {

enum class Notices {
  nothing,
  counter,         // a scalar counts the iterations
  skipped_scalar,  // a scalar is written where only some lanes are
  before_last,     // what the last iteration began with
  stores,          // what other lanes have stored
  ballot,          // how many lanes are in the branch
  first_lane,      // a value of the first lane
  loop_inside,     // nothing: each lane is in a loop inside as long as it likes
  all_lanes,       // lanes that have left are changed
  skipped_write,   // lanes that are in the loop, but not in the branch, are changed in it
  uniform_end,     // the loop ends for all lanes at once, the branches do not
  bytes,           // nothing: bytes are loaded
};
struct Named {
  const char* name;
  const char* before_branch;
  const char* in_branch;
  const char* at_end;
  const char* behind;
};
// By Notices. v5: where the lane is, v6: iterations left, v8: a sum, v12: what the iteration has read; s12 and s13: 0 at first.
constexpr Named kKinds[] = {
    {"nothing", "", "", "", ""},
    {"counter", "", "", "  s_add_u32 s12, s12, 3\n", "  out 2, s12\n"},
    {"skipped_scalar", "", "  s_add_u32 s12, s12, 1\n", "  v_mov_b32_e32 v14, s12\n  addu v8, v8, v14\n",
     "  out 2, s12\n"},
    {"before_last", "  v_mov_b32_e32 v14, v5\n", "", "  v_mov_b32_e32 v15, v8\n", "  out 2, v14\n  out 3, v15\n"},
    {"stores", "", "", "  v_and_b32_e32 v14, 0x3ff, v5\n  v_lshlrev_b32_e32 v14, 2, v14\n  put_at 14, 8\n", ""},
    {"ballot", "", "  s_bcnt1_i32_b64 s12, exec\n  v_mov_b32_e32 v14, s12\n  addu v8, v8, v14\n", "", ""},
    {"first_lane", "", "  v_readfirstlane_b32 s12, v5\n  v_mov_b32_e32 v14, s12\n  addu v8, v8, v14\n", "", ""},
    {"loop_inside", "", R"(
  s_mov_b64 s[30:31], exec
  v_and_b32_e32 v14, 7, v12
3:
  v_lshlrev_b32_e32 v15, 1, v8
  v_xor_b32_e32 v8, v15, v12
  v_cmp_lt_u32_e32 vcc, 2, v14
  v_mov_b32_e32 v15, 1
  subu v14, v14, v15
  v_cmp_lt_i32_e32 vcc, 0, v14
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 3b
  s_mov_b64 exec, s[30:31]
)",
     "", ""},
    {"all_lanes", "", "",
     "  s_mov_b64 s[30:31], exec\n  s_mov_b64 exec, -1\n  v_xor_b32_e32 v9, v5, v9\n  v_mov_b32_e32 v14, 1\n"
     "  addu v9, v9, v14\n  s_mov_b64 exec, s[30:31]\n",
     "  out 2, v9\n"},
    {"skipped_write", "",
     "  s_mov_b64 s[30:31], exec\n  s_mov_b64 exec, s[22:23]\n  v_mov_b32_e32 v14, 1\n  addu v9, v9, v14\n"
     "  s_mov_b64 exec, s[30:31]\n",
     "", "  out 2, v9\n"},
    {"uniform_end", "", "", "", ""},
    {"bytes",
     "  v_lshlrev_b32_e32 v14, 1, v5\n  at 60, 14\n  gget_byte ubyte, 15, 60, 1\n  addu v8, v8, v15\n"
     "  gget_byte sbyte, 15, 60, 0\n  v_xor_b32_e32 v8, v8, v15\n",
     "", "", ""},
};

LockstepCase search(Notices kind) {
  const Named& named = kKinds[static_cast<unsigned>(kind)];
  std::string body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 5, 4
  v_and_b32_e32 v6, 15, v5
  v_lshrrev_b32_e32 v7, 3, v5
  addu v6, v6, v7
  v_and_b32_e32 v6, 31, v6
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 7
  v_mov_b32_e32 v12, 0
  v_mov_b32_e32 v14, 0
  v_mov_b32_e32 v15, 0
  s_mov_b32 s12, 0
  s_mov_b32 s13, 0
  s_mov_b64 s[20:21], exec
1:
  v_and_b32_e32 v5, 0x3ff, v5
  v_lshlrev_b32_e32 v11, 2, v5
  get_at 12, 11
)";
  body += named.before_branch;
  body += R"(
  v_and_b32_e32 v13, 3, v12
  v_cmp_eq_u32_e32 vcc, 1, v13
  s_mov_b64 s[22:23], exec
  s_and_saveexec_b64 s[24:25], vcc
  s_cbranch_execz 2f
  v_lshlrev_b32_e32 v10, 1, v12
  v_xor_b32_e32 v10, v10, v5
  v_and_b32_e32 v10, 0x3ff, v10
  v_lshlrev_b32_e32 v10, 2, v10
  get_at 10, 10
  addu v8, v8, v10
)";
  body += named.in_branch;
  body += R"(
2:
  s_mov_b64 exec, s[24:25]
  v_xor_b32_e32 v5, v12, v5
  addu v5, v5, v6
  v_lshlrev_b32_e32 v8, 1, v8
  v_xor_b32_e32 v8, v8, v12
)";
  body += named.at_end;
  body += "  v_cmp_lt_u32_e32 vcc, 1, v6\n  v_mov_b32_e32 v11, 1\n  v_mov_b32_e32 v13, v6\n";
  if (kind == Notices::uniform_end) {
    body += R"(
  v_cmp_lt_u32_e32 vcc, 1, v6
  v_cndmask_b32_e64 v11, 0, 1, vcc
  subu v6, v6, v11
  s_add_u32 s13, s13, 1
  s_cmp_lt_u32 s13, 9
  s_cbranch_scc1 1b
)";
  } else {
    body += R"(
  subu v6, v6, v11
  v_cmp_lt_i32_e32 vcc, 1, v13
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
)";
  }
  body += "  s_mov_b64 exec, s[20:21]\n  out 0, v8\n  out 1, v5\n";
  if (kind == Notices::uniform_end) body += "  out 2, s13\n";
  body += named.behind;
  // Work-groups must not see each other's stores.
  return {.name = std::string("search_notices_") + named.name,
          .body = body,
          .groups = kind == Notices::stores ? 1u : 4u,
          .reference = {}};
}

// Each lane keeps a stack of its own in the LDS of the wave, and looks at what is on it.
LockstepCase lds_stacks() {
  return {.name = "search_through_lds",
          .body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 5, 4
  v_lshlrev_b32_e32 v6, 2, v0
  ds_write_b32 v6, v5
  s_waitcnt lgkmcnt(0)
  v_and_b32_e32 v7, 63, v5
  v_and_b32_e32 v9, 31, v5
  v_mov_b32_e32 v8, 0
  s_mov_b64 s[20:21], exec
1:
  v_lshlrev_b32_e32 v10, 2, v7
  ds_read_b32 v11, v10
  s_waitcnt lgkmcnt(0)
  addu v8, v8, v11
  addu v7, v11, v9
  v_and_b32_e32 v7, 63, v7
  v_mov_b32_e32 v12, 1
  subu v9, v9, v12
  v_cmp_lt_i32_e32 vcc, 0, v9
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 0, v8
  out 1, v7
)",
          .lds = 256,
          .reference = {}};
}

// Each lane goes on until its number in floating point is small, and takes the least and the greatest of what it finds.
LockstepCase floats() {
  return {.name = "search_in_floats",
          .body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 5, 4
  v_and_b32_e32 v5, 0x3ff, v5
  v_cvt_f32_u32_e32 v6, v5
  v_mov_b32_e32 v7, 0
  v_mov_b32_e32 v8, 1.0
  s_mov_b64 s[20:21], exec
1:
  v_cvt_u32_f32_e32 v10, v6
  v_and_b32_e32 v10, 0x3ff, v10
  v_lshlrev_b32_e32 v10, 2, v10
  get_at 11, 10
  v_and_b32_e32 v12, 0x7f7fffff, v11
  v_max_f32_e32 v7, v7, v12
  v_min_f32_e32 v8, v12, v8
  v_and_b32_e32 v11, 3, v11
  v_cvt_f32_u32_e32 v11, v11
  v_add_f32_e32 v13, v6, v11
  v_mul_f32_e32 v6, 0.5, v6
  v_cmp_lt_f32_e32 vcc, 4.0, v13
  s_mov_b64 s[24:25], exec
  s_and_saveexec_b64 s[22:23], vcc
  s_cbranch_execz 2f
  v_sub_f32_e32 v6, v6, v11
2:
  s_mov_b64 exec, s[24:25]
  v_cmp_lt_f32_e32 vcc, 1.0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 0, v6
  out 1, v7
  out 2, v8
)",
          .reference = {}};
}

// Each lane subtracts the squares of as many numbers as it likes, every second one with the other sign.
LockstepCase squares() {
  return {.name = "squares_with_signs",
          .body = R"(
  v_and_b32_e32 v6, 15, v0
  v_mov_b32_e32 v8, 1
  addu v6, 1, v6
  v_mul_u32_u24_e32 v10, 36, v0
  v_mov_b32_e32 v7, 0
  s_mov_b64 s[20:21], exec
1:
  v_and_b32_e32 v10, 0xffc, v10
  at 60, 10
  gget 11, 60
  v_fma_f32 v7, -v11, v11, v7
  addu v10, 0x5c, v10
  v_and_b32_e32 v12, 1, v6
  v_cmp_ne_u32_e32 vcc, 0, v12
  s_and_saveexec_b64 s[22:23], vcc
  s_cbranch_execz 2f
  v_and_b32_e32 v10, 0xffc, v10
  at 60, 10
  gget 13, 60
  v_fma_f32 v7, -v13, -v13, v7
2:
  s_mov_b64 exec, s[22:23]
  subu v6, v6, v8
  v_cmp_ne_u32_e32 vcc, 0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 0, v7
)",
          .prepare =
              [](Memory& data) {
                for (size_t i = 0; i < 1024; ++i) data[i] = std::bit_cast<uint32_t>(static_cast<float>(data[i]) / 7);
              },
          .reference = {}};
}

}  // namespace

std::vector<LockstepCase> lane_cases() {
  std::vector<LockstepCase> cases;
  for (unsigned kind = 0; kind < std::size(kKinds); ++kind) cases.push_back(search(static_cast<Notices>(kind)));
  cases.push_back(lds_stacks());
  cases.push_back(floats());
  cases.push_back(squares());
  LockstepCase partial = search(Notices::counter);
  partial.name += "_partial";
  partial.group_size = 40;
  cases.push_back(std::move(partial));
  return cases;
}

}  // namespace wavejit::test
