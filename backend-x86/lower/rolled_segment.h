// Segments that are emitted once, as a loop over the chunks of the wave (rolled_segment.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/schedule/sums.h"

namespace wavejit::backend {

struct RolledAddress {
  const Inst* base = nullptr;
  int32_t offset = 0;  // the sum does not wrap around
};

struct RolledParts {
  std::vector<const Inst*> front, loop, behind;    // in the order of emission; only `loop` is in the loop
  std::unordered_set<uint32_t> local;              // ids of values that live in registers of the loop
  std::set<uint32_t> imports;                      // `local` values defined outside of the loop
  std::map<uint32_t, const Inst*> exports;         // values read outside of the loop, with their last definition
  std::map<const Inst*, RolledAddress> addresses;  // by the address of a load in the loop
  // Loads in the loop whose values repeat: chunk c gets those of chunk c - `shared_chunks`. Only the loop reads them.
  std::vector<const Inst*> shared;
  unsigned shared_chunks = 0;  // a power of two
};

// The loop over the chunks of a segment that is being emitted.
struct Rolled {
  Gp offset;                                  // bytes from the first chunk's part of a row to this one's
  std::vector<Storage> values;                // by instruction id
  std::unordered_set<uint32_t> local;         // which instructions' values are in `values`
  std::map<const Inst*, Mem> pointers;        // by the base of addresses, for all chunks
  std::map<const Inst*, Gp> loaded_pointers;  // pointers of the current iteration
  const std::map<const Inst*, RolledAddress>& addresses;
};

// Takes the instructions of the segment apart. None if the loop would be too small.
[[nodiscard]] std::optional<RolledParts> rolled_parts(const Lowering& ctx, std::span<const schedule::Node> nodes,
                                                      std::span<const uint32_t> order);
void emit_rolled(Lowering& ctx, const RolledParts& parts);

// From the LDS, by all lanes, at addresses a known distance apart: no guard, no fault, no code that knows the chunk.
[[nodiscard]] bool is_rollable_load(const Lowering& ctx, const Inst& load);
// The distance from lane to lane inside each chunk, if it is known and no address wraps around there.
[[nodiscard]] std::optional<int64_t> chunk_stride(const Lowering& ctx, const Inst& load);
// The pointer of the chunk of this iteration, and what the load adds to it.
[[nodiscard]] std::pair<Gp, int32_t> rolled_pointer(Lowering& ctx, const Inst& load);

}  // namespace wavejit::backend
