// Shared by the implementations of the functions of calls.h.
#pragma once

#include <atomic>
#include <bit>
#include <cstring>

#include "backend-x86/helpers/calls.h"
#include "internal/semantics/data_format.h"

namespace wavejit::backend {

uint64_t sparse_product(CallArgs* args);
uint64_t buffer_load_format(CallArgs* args);
uint64_t buffer_store_format(CallArgs* args);
uint64_t image_load(CallArgs* args);
uint64_t image_store(CallArgs* args);
uint64_t image_atomic(CallArgs* args);
uint64_t image_resinfo(CallArgs* args);
uint64_t image_sample(CallArgs* args);
uint64_t image_gather(CallArgs* args);
uint64_t record_exceptions(CallArgs* args);

template <typename F>
void for_each_lane(uint64_t lanes, F&& function) {
  for (; lanes != 0; lanes &= lanes - 1) function(static_cast<unsigned>(std::countr_zero(lanes)));
}

inline void clear_results(CallArgs* args) {
  std::memset(args->out, 0, args->results * sizeof *args->out);
}

// Tells the fault handler which lanes access which addresses (kFaultLanes of frontend/interp/interpreter.h).
inline void describe_access(CallArgs* args, uint64_t lanes, unsigned bytes, bool write, const uint64_t* addresses) {
  WaveState& wave = *args->wave;
  wave.pc = args->guest_pc;
  wave.fault_write = write;
  wave.engine_private[0] = 1;
  wave.engine_private[1] = reinterpret_cast<uint64_t>(addresses);
  wave.engine_private[2] = bytes;
  wave.engine_private[3] = lanes;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void describe_access(CallArgs* args, uint64_t lanes, unsigned bytes, bool write) {
  describe_access(args, lanes, bytes, write, args->addresses);
}

// Computes the addresses of active lanes. A lane whose address is 0 accesses nothing. Returns the lanes that access.
template <typename F>
uint64_t stage_addresses(CallArgs* args, unsigned bytes, bool write, F&& address) {
  uint64_t lanes = 0;
  for_each_lane(args->mask, [&](unsigned l) {
    args->addresses[l] = address(l);
    if (args->addresses[l] != 0) lanes |= uint64_t{1} << l;
  });
  describe_access(args, lanes, bytes, write);
  return lanes;
}

// Writes components to the rows of the result: one per row, as 32 or 16 bits, or two 16-bit values per row if `packed`.
inline void put_components(CallArgs* args, unsigned lane, const uint32_t* value, unsigned count, format::Number number,
                           bool d16, bool packed) {
  for (unsigned i = 0; i < count; ++i) {
    if (!d16) {
      args->out[i][lane] = value[i];
    } else if (packed) {
      args->out[i / 2][lane] |= format::to_d16(value[i], number) << (16 * (i % 2));
    } else {
      args->out[i][lane] = format::to_d16(value[i], number);
    }
  }
}
inline void get_components(const CallArgs* args, unsigned lane, unsigned first_row, uint32_t* value, unsigned count,
                           format::Number number, bool d16, bool packed) {
  for (unsigned i = 0; i < count; ++i) {
    if (!d16) {
      value[i] = args->in[first_row + i][lane];
    } else {
      const uint32_t row = args->in[first_row + (packed ? i / 2 : i)][lane];
      value[i] = format::from_d16(packed ? row >> (16 * (i % 2)) & 0xffff : row & 0xffff, number);
    }
  }
}

}  // namespace wavejit::backend
