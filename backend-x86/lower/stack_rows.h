// Rows on the stack that lowering takes for intermediate values. Each is made when it is first used.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "backend-x86/lower/host_code.h"
#include "ir/function.h"

namespace wavejit::backend {

// A row that holds a value here, on every path from the block's start.
struct KnownRow {
  std::optional<Mem> row;
  const ir::Inst* value = nullptr;
};

// The rows of a walk (memory/walks.cpp).
struct WalkRows {
  std::vector<Mem> rows;    // by chunk of a pass
  std::vector<Gp> cursors;  // by chunk of the current pass
};

struct StackRows {
  // Used by the loops over lanes. None is live across two loops.
  std::optional<Mem> addresses, data, compared, results;                                   // a chunk of 64-bit lanes
  std::optional<Mem> flat_lanes;                                                           // FlatLanes
  std::optional<Mem> chunk_access;                                                         // ChunkAccess
  std::optional<Mem> atomic_addresses, atomic_data, atomic_second, atomic_results;         // all lanes, 64 bits each
  std::optional<Mem> wave, second, third, helper_args, helper_rows, call_args, call_rows;  // all lanes
  std::optional<Mem> lane_timing, lane_streams;                                            // LaneTiming, LaneStreams
  std::optional<Mem> walk_lines;
  std::array<KnownRow, 2> known;  // two, as 64-bit values are moved half by half
  unsigned next_known = 0;
  std::map<uint64_t, Mem> frame;       // rows of loops executed for one lane after the other, by number
  std::map<uint32_t, WalkRows> walks;  // by the load's id
};

}  // namespace wavejit::backend
