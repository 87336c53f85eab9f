// Times of the instructions of which host_table.h has figures, and of the code that does without them, on this CPU.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend-x86/host_table.h"
#include "internal/error.h"

namespace wavejit::backend {

// One access of a chunk's dwords, which have a cache line each.
struct MeasuredAccess {
  std::string_view name;  // of the instruction
  unsigned lanes;
  double table;         // cycles of the instruction as the row of the CPU has them; 0: none
  double assumed;       // cycles lane by lane that the choice was made with
  bool by_instruction;  // what host().choices has
  struct Cycles {
    double instruction, single;
  };
  std::optional<Cycles> measured;  // nothing: the CPU lacks the instruction
};
struct HostMeasurement {
  double cycle_ns = 0;  // of a core while it was measured
  std::vector<MeasuredAccess> accesses;
};

// Takes about 50 ms of CPU time. Errors: kOutOfMemory where code cannot be executed.
[[nodiscard]] Expected<HostMeasurement> measure_host();

}  // namespace wavejit::backend
