// Loops that may be executed for one lane after the other instead of for all lanes in lockstep.
//
// A copy of such a loop for a single lane takes a branch on "some lane is in this mask" by the lane's own bit. Where the bit is
// set, the wave goes the same way. Where it is not, going there must change nothing for the lane (skipped_way.h).
//
// Besides, no lane may observe another one in the loop: no cross-lane operation, no use of a mask as a number, no atomic. Lanes must
// not look at scalars that depend on which lanes are still there. Stores to memory that lanes share are possible where each lane
// seems to write one array from its beginning on (stream_place.h): the copy keeps them back, and checks what it accesses.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis/known_bits.h"
#include "ir/analysis/loops.h"
#include "ir/function.h"

namespace wavejit::ir {

struct LaneLoop {
  const Loop* loop = nullptr;
  Block* exit_from = nullptr;  // the source of the only edge out of the loop
  unsigned exit_edge = 0;      // its number among the source's successors
  unsigned branches = 0;       // that depend on lanes
  bool by_lanes = false;       // the exit is one of them: lanes leave one by one
  std::vector<Inst*> results;  // vectors and masks of the loop that are used behind it
  // Scalars, likewise, none of which depends on lanes. If lanes leave one by one they are those of the last iteration of all.
  std::vector<Inst*> scalars;
  // Phis of the header that are used behind the loop, if lanes leave one by one. In a lane that does not leave last, such a
  // phi is what its next iteration would begin with.
  std::vector<Inst*> previous;
  // Masks among the header's phis. Lanes that are in none of their initial values are in no iteration. Empty if the loop has to be
  // executed for all lanes.
  std::vector<Inst*> empty;
  // What results are in these lanes: by value of the loop, the phi of the header whose value from outside they have. Results that
  // have none are computed from such values and those from outside.
  std::unordered_map<const Inst*, const Inst*> kept;
  // Stores to memory that lanes share, in the order of their blocks. If there are any, no lane stores to scratch.
  std::vector<const Inst*> stores;
  const Inst* always = nullptr;  // the one in `empty` that has a lane in all its iterations; null: none is known
};

// What stands against it.
struct LaneObstacle {
  std::string_view what;
  const Inst* at = nullptr;  // where; null: the loop as a whole
};

// Null if it cannot be proven; `obstacle` then has the first one that was found.
[[nodiscard]] std::optional<LaneLoop> find_lane_loop(const Loop& loop, const Dominators& dominators,
                                                     const KnownBits& bits, LaneObstacle& obstacle);

}  // namespace wavejit::ir
