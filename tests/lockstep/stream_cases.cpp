// Loops in which each lane writes an array of its own and reads in one of these arrays. Code that executes them for one lane after the
// other, and keeps the stores back, must see when another lane's array is concerned; each kind here has one way in which it is.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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
  behind,        // in the array behind this one, what was written in the iteration before
  // The same place each time. The lane before writes three words.
  own_later,      // a word that begins in the middle of the first one
  over_end,       // the last word of the lane's array and the first one of the next array
  end_of_before,  // the last word that the lane before writes, and the one behind it
  before,         // the first word that the lane before writes
};
constexpr const char* kReads[] = {"elsewhere",    "own",    "own_pair",  "own_half", "next",          "previous", "far",
                                  "end_of_other", "behind", "own_later", "over_end", "end_of_before", "before"};
constexpr bool moves(Reads reads) {
  return reads != Reads::end_of_other && reads < Reads::own_later;
}
constexpr bool in_pairs(Reads reads) {
  return reads == Reads::own_pair || reads == Reads::over_end || reads == Reads::end_of_before;
}

enum class Writes {
  forward,     // word behind word
  backward,    // arrays lie in the opposite order of lanes
  bytes,       // one byte at a time
  beyond,      // more than there is room for, into the next lane's array
  again,       // some lanes write the same word again
  two_arrays,  // alternately into two arrays
  one_array,   // all lanes into the same one
  skipped,     // some iterations write nothing
  few,         // in every second work-group, half of the lanes are off
  late,        // even lanes write one word too much, and odd ones write that word, too, but later
};
constexpr const char* kWrites[] = {"forward",    "backward",  "bytes",   "beyond", "again",
                                   "two_arrays", "one_array", "skipped", "few",    "late"};
// Lanes that read where Reads says. The others read where nobody writes: no check of theirs hides what one of these finds.
enum class Readers { all, first, last_but_one, last };
constexpr const char* kReaders[] = {"", "_by_first", "_by_last_but_one", "_by_last"};

// Sums up what is written, and ends the loop of v6 iterations.
constexpr const char* kNextIteration = R"(
  addu v10, v10, v8
  subu v6, v6, v23
  v_cmp_ne_u32_e32 vcc, 0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 9, v10
)";

// Sets v7 to where lanes read that write at v5. Arrays are `array` bytes apart, and a step has so many bytes.
std::string place_of_reads(Reads reads, int array, int step) {
  const auto distance = [&]() -> std::optional<int> {
    switch (reads) {
      case Reads::elsewhere:
        return std::nullopt;
      case Reads::own:
        return -step;
      case Reads::own_pair:
        return -2 * step;
      case Reads::own_half:
        return -2;
      case Reads::next:
        return array - step;
      case Reads::previous:
        return step - array;
      case Reads::far:
        return 3 * array - step;
      case Reads::end_of_other:
        return -4;
      case Reads::behind:
        return -array - step;
      case Reads::own_later:
        return 2;
      case Reads::over_end:
        return array - 4;
      case Reads::end_of_before:
        return 8 - array;
      case Reads::before:
        return -array;
    }
    return std::nullopt;
  }();
  if (!distance) return "  v_lshlrev_b32_e32 v7, 2, v1\n";
  return "  v_mov_b32_e32 v12, " + std::to_string(std::abs(*distance)) + "\n" +
         (*distance < 0 ? "  subu v7, v5, v12\n" : "  addu v7, v5, v12\n");
}

// An array has 8 words, or so many bytes; lanes write 1 to 7. v5: where the lane writes next, v6: iterations left, v7: where it
// reads, v8: what it writes.
LockstepCase streams(Reads reads, Writes writes, Readers readers = Readers::all) {
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
  if (writes == Writes::late) body += "  v_mov_b32_e32 v6, 12\n";
  body += bytes ? "  v_lshlrev_b32_e32 v5, 3, v12\n" : "  v_lshlrev_b32_e32 v5, 5, v12\n";
  body += "  v_mov_b32_e32 v12, 0x1020\n  addu v5, v5, v12\n";
  const int array = bytes ? 8 : 32, step = bytes ? 1 : 4;
  body += place_of_reads(reads, array, step);
  if (readers != Readers::all) {
    const unsigned lane = readers == Readers::first ? 0 : readers == Readers::last ? kLanes - 1 : kLanes - 2;
    const auto for_lane = [&](unsigned number) {
      body += "  v_cmp_eq_u32_e32 vcc, " + std::to_string(number) + ", v0\n";
    };
    for_lane(lane);
    body +=
        "  v_lshlrev_b32_e32 v12, 2, v1\n  v_cndmask_b32_e32 v7, v12, v7, vcc\n  v_cndmask_b32_e64 v6, v6, 7, vcc\n";
    if (lane > 0) {
      for_lane(lane - 1);
      body += "  v_cndmask_b32_e64 v6, v6, 3, vcc\n";
    }
  }
  body += R"(
  s_mov_b64 s[20:21], exec
)";
  if (writes == Writes::few)
    body += "  s_bitcmp1_b32 s2, 0\n  s_cselect_b32 s25, 0, -1\n  s_and_b32 exec_hi, exec_hi, s25\n";
  body += R"(
1:
  at 40, 7
)";
  if (in_pairs(reads)) {
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
  if (writes == Writes::late)
    body += R"(
  v_and_b32_e32 v17, 1, v0
  v_cmp_lt_u32_e32 vcc, 3, v6
  v_cndmask_b32_e64 v18, 0, 1, vcc
  s_mov_b64 s[22:23], exec
  v_cmp_ne_u32_e32 vcc, v17, v18
  s_and_b64 exec, exec, vcc
)";
  body += bytes ? "  at 42, 5\n  gput_byte 42, 8\n" : "  at 42, 5\n  gput 42, 8\n";
  if (writes == Writes::two_arrays)
    body +=
        "  v_mov_b32_e32 v12, 0x1020\n  v_lshlrev_b32_e32 v17, 2, v1\n  v_mov_b32_e32 v18, 0x3040\n  addu v17, v17, "
        "v18\n"
        "  at 44, 17\n  gput 44, 16\n";
  body += bytes ? "  addu v5, v5, v23\n" : "  addu v5, v5, v9\n";
  if (writes == Writes::again) body += "  v_and_b32_e32 v17, 4, v8\n  subu v5, v5, v17\n";
  if (writes == Writes::skipped || writes == Writes::late) body += "  s_mov_b64 exec, s[22:23]\n";
  if (moves(reads)) body += bytes ? "  addu v7, v7, v23\n" : "  addu v7, v7, v9\n";
  body += kNextIteration;
  body += "  out 10, v5\n";
  return {.name = std::string("streams_") + kWrites[static_cast<unsigned>(writes)] + "_" +
                  kReads[static_cast<unsigned>(reads)] + kReaders[static_cast<unsigned>(readers)],
          .body = std::move(body)};
}

// Each lane writes one or two rows of one to three words or bytes, in a loop inside, by addresses of 64 bits: checks of all of a row go
// in front of it. v[42:43]: where the lane writes next, v6: rows left, v11: the length of a row, v[40:41]: where it reads.
LockstepCase rows(Reads reads, bool bytes = false) {
  std::string body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 8, 4
  v_mov_b32_e32 v23, 1
  v_and_b32_e32 v6, 1, v8
  addu v6, v6, v23
  v_bfe_u32 v11, v8, 1, 2
  v_max_u32_e32 v11, 1, v11
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v17, -1
)";
  const int array = bytes ? 8 : 32, step = bytes ? 1 : 4;
  body += "  v_mov_b32_e32 v9, " + std::to_string(-step) + "\n";
  body += bytes ? "  v_lshlrev_b32_e32 v5, 3, v1\n" : "  v_lshlrev_b32_e32 v5, 5, v1\n";
  body += "  v_mov_b32_e32 v12, 0x1020\n  addu v5, v5, v12\n" + place_of_reads(reads, array, step);
  body += R"(
  at 42, 5
  at 40, 7
  s_mov_b64 s[20:21], exec
1:
  v_mov_b32_e32 v13, v11
  s_mov_b64 s[22:23], exec
2:
)";
  body += bytes ? "  gget_byte ubyte, 14, 40, 0\n" : "  gget 14, 40\n";
  body += "  v_lshlrev_b32_e32 v16, 1, v8\n  addu v8, v14, v16\n  addu v8, v23, v8\n";
  body += bytes ? "  gput_byte 42, 8\n" : "  gput 42, 8\n";
  body += "  sub_co v42, v42, v9\n  subb v43, v43, v17\n";
  if (moves(reads)) body += "  sub_co v40, v40, v9\n  subb v41, v41, v17\n";
  body += R"(
  subu v13, v13, v23
  v_cmp_ne_u32_e32 vcc, 0, v13
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 2b
  s_mov_b64 exec, s[22:23]
)";
  body += kNextIteration;
  return {.name = std::string(bytes ? "streams_rows_bytes_" : "streams_rows_") + kReads[static_cast<unsigned>(reads)],
          .body = std::move(body)};
}

// The first lane writes a little more than is kept back of a lane (kStreamBytes) into an array that has room for it; the second one
// some words.
LockstepCase long_array() {
  constexpr unsigned kFirst = 0x2000, kRoom = 0x11000, kWords = 0x10010 / 4;
  std::string body = R"(
  v_mul_u32_u24_e32 v5, ROOM, v0
  v_mov_b32_e32 v12, FIRST
  addu v5, v5, v12
  v_mov_b32_e32 v6, WORDS
  v_cmp_eq_u32_e32 vcc, 1, v0
  v_cndmask_b32_e64 v6, v6, 5, vcc
  v_mov_b32_e32 v9, 4
  v_mov_b32_e32 v8, v0
  v_mov_b32_e32 v23, 1
  at 42, 5
  s_mov_b64 s[20:21], exec
  s_mov_b64 exec, 3
1:
  at 42, 5
  gput 42, 8
  v_lshlrev_b32_e32 v8, 1, v8
  addu v8, v6, v8
  addu v5, v5, v9
  subu v6, v6, v23
  v_cmp_ne_u32_e32 vcc, 0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 0, v8
)";
  for (const auto& [name, value] : {std::pair{"ROOM", kRoom}, {"FIRST", kFirst}, {"WORDS", kWords}})
    body.replace(body.find(name), std::string_view(name).size(), std::to_string(value));
  return {
      .name = "streams_long", .body = std::move(body), .groups = 1, .words = (kFirst + 2 * kRoom) / 4, .reference = {}};
}

// The second lane, which is the last one, fills all the 16 words that are taken to be its array. Then the first lane reads a pair of
// words of which the last one of these is the first.
LockstepCase end_of_last() {
  return {.name = "streams_end_of_last",
          .body = R"(
  v_lshlrev_b32_e32 v5, 5, v0
  v_mov_b32_e32 v12, 0x2000
  addu v5, v5, v12
  v_mov_b32_e32 v7, 0x205c
  v_mov_b32_e32 v6, 18
  v_cmp_eq_u32_e32 vcc, 0, v0
  v_cndmask_b32_e64 v11, 2, 16, vcc
  v_mov_b32_e32 v9, 4
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v23, 1
  at 42, 5
  s_mov_b64 s[20:21], exec
  s_mov_b64 exec, 3
1:
  at 40, 7
  gget_pair 14, 40
  v_xor_b32_e32 v10, v10, v14
  addu v10, v10, v15
  s_mov_b64 s[22:23], exec
  v_cmp_lt_u32_e32 vcc, v11, v6
  s_and_b64 exec, exec, vcc
  at 42, 5
  gput 42, 6
  addu v5, v5, v9
  s_mov_b64 exec, s[22:23]
  subu v6, v6, v23
  v_cmp_ne_u32_e32 vcc, 0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  out 0, v10
)",
          .groups = 1,
          .reference = {}};
}

// Each lane writes an array in the LDS by flat addresses, which are none of memory.
LockstepCase in_lds() {
  return {.name = "streams_in_lds",
          .body = R"(
  v_lshlrev_b32_e32 v4, 2, v1
  get_at 8, 4
  v_and_b32_e32 v6, 7, v8
  v_mov_b32_e32 v23, 1
  v_max_u32_e32 v6, 1, v6
  v_lshlrev_b32_e32 v42, 5, v0
  v_mov_b32_e32 v43, 0x10000
  v_mov_b32_e32 v9, 4
  s_mov_b64 s[20:21], exec
1:
  put 42, 8
  v_lshlrev_b32_e32 v8, 1, v8
  addu v8, v6, v8
  addu v42, v42, v9
  subu v6, v6, v23
  v_cmp_ne_u32_e32 vcc, 0, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  s_mov_b64 exec, s[20:21]
  v_lshlrev_b32_e32 v42, 5, v0
  ds_read_b32 v10, v42
  s_waitcnt lgkmcnt(0)
  out 0, v8
  out 1, v10
)",
          .lds = kLanes * 32,
          .reference = {}};
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
  cases.push_back(streams(Reads::behind, Writes::backward));
  for (const Writes writes : {Writes::few, Writes::late}) cases.push_back(streams(Reads::elsewhere, writes));
  for (const Readers readers : {Readers::first, Readers::last_but_one, Readers::last})
    for (const Reads reads : {Reads::own_pair, Reads::own_half, Reads::next, Reads::behind})
      cases.push_back(streams(reads, Writes::forward, readers));
  cases.push_back(streams(Reads::own_later, Writes::forward, Readers::first));
  cases.push_back(streams(Reads::over_end, Writes::forward, Readers::first));
  cases.push_back(streams(Reads::end_of_before, Writes::forward, Readers::last));
  cases.push_back(streams(Reads::before, Writes::forward, Readers::last));
  for (unsigned reads = 0; reads < std::size(kReads); ++reads)
    if (!in_pairs(static_cast<Reads>(reads))) cases.push_back(rows(static_cast<Reads>(reads)));
  for (const Reads reads : {Reads::own, Reads::next}) cases.push_back(rows(reads, true));
  cases.push_back(long_array());
  cases.push_back(end_of_last());
  cases.push_back(in_lds());
  return cases;
}

std::vector<LockstepCase> waiting_cases() {
  return {meeting()};
}

}  // namespace wavejit::test
