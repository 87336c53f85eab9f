// Loops in which each lane writes an array of its own and reads in one of these arrays. Code that executes them for one lane after the
// other, and keeps the stores back, must see when another lane's array is concerned; each kind here has one way in which it is.
#include <algorithm>
#include <array>

#include "lockstep_case.h"

namespace wavejit::test {
namespace {

enum class Reads {
  elsewhere,     // where nobody writes
  own,           // what the lane has written in the iteration before; first the word before its array
  own_pair,      // that and the word before it
  own_half,      // a word that begins in the middle of what was written in the iteration before
  next,          // what the next lane has written in the iteration before
  previous,      // what the lane before writes in the next iteration
  far,           // what some lane behind has written
  end_of_other,  // a word beyond the last one that the lane before writes
};
constexpr const char* kReads[] = {"elsewhere", "own",      "own_pair", "own_half",
                                  "next",      "previous", "far",      "end_of_other"};

enum class Writes {
  forward,     // word behind word
  backward,    // arrays lie in the opposite order of lanes
  bytes,       // one byte at a time
  beyond,      // more than there is room for, into the next lane's array
  again,       // some lanes write the same word again
  two_arrays,  // alternately into two arrays
  one_array,   // all lanes into the same one
  skipped,     // some iterations write nothing
};
constexpr const char* kWrites[] = {"forward", "backward",   "bytes",     "beyond",
                                   "again",   "two_arrays", "one_array", "skipped"};

// An array has 8 words, or so many bytes; lanes write 1 to 7. v5: where the lane writes next, v6: iterations left, v7: where it
// reads, v8: what it writes.
LockstepCase streams(Reads reads, Writes writes) {
  std::string body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 8, 4
  v_and_b32_e32 v6, 7, v8
  v_mov_b32_e32 v23, 1
  v_max_u32_e32 v6, 1, v6
  v_mov_b32_e32 v9, 4
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  v_mov_b32_e32 v12, v1
)";
  const bool bytes = writes == Writes::bytes;
  if (writes == Writes::backward) body += "  v_mov_b32_e32 v12, 0xff\n  subu v12, v12, v1\n";
  if (writes == Writes::one_array) body += "  v_mov_b32_e32 v12, 0\n";
  if (writes == Writes::beyond) body += "  addu v6, v6, v9\n";
  body += bytes ? "  v_lshlrev_b32_e32 v5, 3, v12\n" : "  v_lshlrev_b32_e32 v5, 5, v12\n";
  body += "  v_mov_b32_e32 v12, 0x1020\n  addu v5, v5, v12\n";
  const auto offset = [&](int distance) {
    const uint32_t magnitude = distance < 0 ? -distance : distance;
    body += "  v_mov_b32_e32 v12, " + std::to_string(magnitude) + "\n";
    body += distance < 0 ? "  subu v7, v5, v12\n" : "  addu v7, v5, v12\n";
  };
  const int array = bytes ? 8 : 32, step = bytes ? 1 : 4;
  switch (reads) {
    case Reads::elsewhere:
      body += "  v_lshlrev_b32_e32 v7, 2, v1\n";
      break;
    case Reads::own:
      offset(-step);
      break;
    case Reads::own_pair:
      offset(-2 * step);
      break;
    case Reads::own_half:
      offset(-2);
      break;
    case Reads::next:
      offset(array - step);
      break;
    case Reads::previous:
      offset(step - array);
      break;
    case Reads::far:
      offset(3 * array - step);
      break;
    case Reads::end_of_other:
      offset(-4);
      break;
  }
  body += R"(
  s_mov_b64 s[20:21], exec
1:
  at 40, 7
)";
  if (reads == Reads::own_pair) {
    body += "  gget_pair 14, 40\n  addu v8, v15, v8\n";
  } else if (bytes) {
    body += "  gget_byte ubyte, 14, 40, 0\n";
  } else {
    body += "  gget 14, 40\n";
  }
  body += "  v_lshlrev_b32_e32 v16, 1, v8\n  addu v8, v14, v16\n  addu v8, v23, v8\n";
  if (writes == Writes::skipped)
    body +=
        "  v_and_b32_e32 v17, 3, v8\n  s_mov_b64 s[22:23], exec\n  v_cmp_ne_u32_e32 vcc, 0, v17\n  s_and_b64 exec, "
        "exec, vcc\n";
  body += bytes ? "  at 42, 5\n  gput_byte 42, 8\n" : "  at 42, 5\n  gput 42, 8\n";
  if (writes == Writes::two_arrays)
    body +=
        "  v_mov_b32_e32 v12, 0x1020\n  v_lshlrev_b32_e32 v17, 2, v1\n  v_mov_b32_e32 v18, 0x3040\n  addu v17, v17, "
        "v18\n"
        "  at 44, 17\n  gput 44, 16\n";
  body += bytes ? "  addu v5, v5, v23\n" : "  addu v5, v5, v9\n";
  if (writes == Writes::again) body += "  v_and_b32_e32 v17, 4, v8\n  subu v5, v5, v17\n";
  if (writes == Writes::skipped) body += "  s_mov_b64 exec, s[22:23]\n";
  if (reads != Reads::end_of_other) body += bytes ? "  addu v7, v7, v23\n" : "  addu v7, v7, v9\n";
  body += R"(
  addu v10, v10, v8
  subu v6, v6, v23
  v_cmp_ne_u32_e32 vcc, 0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 9, v10
  out 10, v5
)";
  return {.name = std::string("streams_") + kWrites[static_cast<unsigned>(writes)] + "_" +
                  kReads[static_cast<unsigned>(reads)],
          .body = std::move(body)};
}

// Each lane waits, in the loop in which it stores, for what a lane of the other wave stores there.
LockstepCase meeting() {
  constexpr const char* kBody = R"(
  v_lshlrev_b32_e32 v5, 5, v1
  v_xor_b32_e32 v7, 64, v1
  v_lshlrev_b32_e32 v7, 5, v7
  v_mov_b32_e32 v12, 0x1020
  addu v5, v5, v12
  addu v7, v7, v12
  v_mov_b32_e32 v23, 1
  v_mov_b32_e32 v9, 4
  v_mov_b32_e32 v6, 0
  addu v8, v1, v23
  s_mov_b64 s[20:21], exec
1:
  s_mov_b64 s[22:23], exec
  v_cmp_gt_u32_e32 vcc, 1, v6
  s_and_b64 exec, exec, vcc
  at 42, 5
  gput 42, 8
  addu v5, v5, v9
  s_mov_b64 exec, s[22:23]
  addu v6, v6, v23
  at 40, 7
  gget_coherent 14, 40
  v_cmp_eq_u32_e32 vcc, 0, v14
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 9, v14
)";
  return {.name = "streams_meeting",
          .body = kBody,
          .groups = 2,
          .group_size = 128,
          .prepare = [](Memory& data) { std::fill(data.begin() + 0x1020 / 4, data.begin() + 0x1020 / 4 + 2048, 0); },
          .reference =
              [](Memory& data, unsigned group) {
                for (unsigned lane = 0; lane < 128; ++lane) {
                  const unsigned item = group * 128 + lane;
                  data[0x1020 / 4 + 8 * item] = item + 1;
                  data[1024 + 9 * 256 + item] = (item ^ 64) + 1;
                }
              }};
}

}  // namespace

std::vector<LockstepCase> stream_cases() {
  std::vector<LockstepCase> cases;
  for (unsigned reads = 0; reads < std::size(kReads); ++reads)
    cases.push_back(streams(static_cast<Reads>(reads), Writes::forward));
  for (const Writes writes : {Writes::backward, Writes::bytes, Writes::skipped})
    for (const Reads reads : {Reads::own, Reads::next}) cases.push_back(streams(reads, writes));
  cases.push_back(streams(Reads::previous, Writes::backward));
  for (const Writes writes : {Writes::beyond, Writes::again, Writes::two_arrays, Writes::one_array})
    cases.push_back(streams(Reads::own, writes));
  cases.push_back(streams(Reads::next, Writes::beyond));
  return cases;
}

std::vector<LockstepCase> waiting_cases() {
  return {meeting()};
}

}  // namespace wavejit::test
