// Finds loops that are emitted tile by tile: all iterations for the first lanes of the wave, then all for the next
// ones. The loop-carried values of a tile fit the host registers although those of the whole wave do not.
//
// The result equals lockstep execution if no lane can observe another one inside the loop and every tile takes the same
// path: no cross-lane operation, no use of a mask as a number, no divergent branch, no store or atomic to memory that
// lanes share (loads alone cannot tell the order of lanes).
//
// Divergent loops, which end when their last lane is done, are emitted like this if a tile may leave before the others
// (ir/analysis/divergent_loop.h). A tile then does not wait for the trip count of another one.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend-x86/lower/plans/phi_classes.h"
#include "backend-x86/lower/vector/vector_isa.h"
#include "ir/analysis/lane_shape.h"
#include "ir/function.h"

namespace wavejit::backend {

struct TileRegion {
  const ir::Block* header = nullptr;
  std::vector<const ir::Block*> blocks;  // the header, then the others in layout order
  unsigned width = 1;                    // chunks that are live at once
  std::unordered_set<const ir::Block*> body;
  // Values defined outside and used inside, except for initial values of the header's phis.
  std::vector<const ir::Inst*> live_in;

  [[nodiscard]] bool contains(const ir::Block* block) const { return body.contains(block); }
};

class TileRegions {
 public:
  // chunks: host registers of a 32-bit vector. lane_wise: returns true for instructions that work on each lane alone or
  // on scalars. wanted: if false, there are no regions. divergent: include divergent loops.
  TileRegions(const ir::Function& function, const Liveness& liveness, const ir::LaneShapes& shapes,
              const RegisterBudget& budget, unsigned chunks, bool (*lane_wise)(const ir::Inst&), bool wanted = true,
              bool divergent = true);

  [[nodiscard]] const TileRegion* of(const ir::Block* block) const { return by_block_[block->id]; }

 private:
  std::vector<std::unique_ptr<TileRegion>> regions_;
  std::vector<const TileRegion*> by_block_;
};

}  // namespace wavejit::backend
