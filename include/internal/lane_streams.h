// Stores of a loop that is executed for one lane after the other (ir pass lane-loops), while no other lane may see them.
//
// In lockstep a lane sees what others have stored in the iterations before. The copy for one lane therefore keeps its stores back, in
// a buffer for each lane, until all lanes have left the loop, and accesses nothing that could make a difference: each lane
// writes one array from its predicted beginning on, byte behind byte, not beyond its room, which ends where the next lane's array
// begins; and no lane reads in the rooms of others, but for what an array that is already written has left of its room. If a lane would, nothing has happened yet, and the loop is executed in
// lockstep from its beginning.
//
// Translated code addresses the members by offsetof.
#pragma once

#include <cstddef>
#include <cstdint>

#include "internal/wave_state.h"

namespace wavejit {

inline constexpr unsigned kStreamShift = 16;
inline constexpr uint64_t kStreamBytes = uint64_t{1} << kStreamShift;  // of a lane, at most
inline constexpr size_t kStreamBufferBytes = kWaveSize * kStreamBytes;
// Iterations, those of loops inside among them, after which a lane is taken to wait for what is kept back, or for a lane that has not
// begun.
inline constexpr uint32_t kStreamIterations = 1u << 18;

// In the frame of translated code. Rows have an element for each lane.
struct LaneStreams {
  WaveState* wave;
  uint64_t guest_pc;        // of a store
  uint64_t lanes;           // that are executed
  const uint64_t* begins;   // where each lane's array is thought to begin
  uint64_t* rooms;          // in bytes; the buffer may have less
  const uint64_t* written;  // in bytes
  uint64_t possible;
};

// Computes the rooms, and the members of WaveState. `possible`: whether all lanes have some.
void begin_streams(LaneStreams& streams);
// Writes what the lanes have stored to memory, lane after lane from the last one to the first, each in its order: aligned elements are
// never torn. May fault: the lane and the address are described in the wave state, as those of calls.h are.
void end_streams(const LaneStreams& streams);

}  // namespace wavejit
