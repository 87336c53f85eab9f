// Segments: runs of instructions in a block in which no lane sees another, emitted chunk after chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend-x86/lower/environment.h"
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/operations.h"

namespace wavejit::backend {

// The segment that waits to be emitted.
struct Segment {
  explicit Segment(size_t values) : read(values) {}

  std::vector<const Inst*> insts;
  std::optional<EnvNeed> env;  // one environment for all, so that it is not switched in every chunk
  struct Facts {
    unsigned loads = 0, stores = 0;            // sets of memories
    std::vector<const Inst*> deferred, state;  // instructions emitted last; instructions that access the wave state
  };
  Facts facts;
  uint32_t number = 1;
  std::vector<uint32_t> read;  // by id of a class: the last segment that reads it
};

// Whether the instruction cannot join the segment, nor overtake it if it is a scalar one.
[[nodiscard]] bool must_flush_before(const Lowering& ctx, const Inst& inst, Shape shape);
void add_to_segment(Lowering& ctx, const Inst& inst);
// Emits the segment and begins the next one.
void flush_segment(Lowering& ctx);

// Chunk after chunk. Accesses to the same bytes of the LDS stay in order: instructions in front of the second are emitted
// for all chunks first. Accesses to different bytes have no order, as nobody but the waves of the work-group sees the
// LDS, and these do not run meanwhile.
void emit_chunks(Lowering& ctx, std::span<const Inst* const> insts);

}  // namespace wavejit::backend
