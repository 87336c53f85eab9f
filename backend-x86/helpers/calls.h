// Out-of-line memory operations (ir/calls.def): functions that translated code calls with rows of a wave. They report
// faults as the interpreter does: they describe the access in the wave state (frontend/interp/interpreter.h).
#pragma once

#include <cstdint>
#include <span>

#include "internal/wave_state.h"
#include "ir/call_shape.h"
#include "ir/function.h"

namespace wavejit::backend {

inline constexpr unsigned kMaxCallScalars = 13;
inline constexpr unsigned kMaxCallRows = 16;    // operands
inline constexpr unsigned kMaxCallResults = 5;  // results

struct CallArgs {
  WaveState* wave;
  uint64_t mask;  // active lanes
  uint64_t guest_pc;
  uint64_t shape;  // ir::CallShape
  uint32_t scalars[kMaxCallScalars];
  uint32_t results;               // rows of the result
  uint32_t (*in)[kWaveSize];      // operands
  uint32_t (*out)[kWaveSize];     // inactive lanes: 0
  uint64_t addresses[kWaveSize];  // for the fault handler
};
// Returns false if the operands of the guest instruction are not supported.
using CallFn = uint64_t (*)(CallArgs* args);

[[nodiscard]] CallFn find_call(ir::Call call);

}  // namespace wavejit::backend
