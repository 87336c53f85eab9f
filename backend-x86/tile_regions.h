// Loops that are emitted tile by tile: all iterations for the first lanes of the wave, then all for the next ones, so
// that what the loop carries stays in host registers although a wave has more lanes than those hold.
//
// That is the same as lockstep where no lane can observe another one inside the loop and every tile takes the same way
// through it: no cross-lane operation, no use of a mask as a number, no branch that depends on lanes, no store or
// atomic to memory that lanes share (loads alone cannot tell the order of lanes).
//
// Loops that end when their last lane is done are emitted like that, too, where a tile may leave before the others
// (ir/analysis/divergent_loop.h): no tile waits for the longest way of another one.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend-x86/phi_classes.h"
#include "backend-x86/vector_isa.h"
#include "ir/analysis/lane_shape.h"
#include "ir/function.h"

namespace wavejit::backend {

struct TileRegion {
  const ir::Block* header = nullptr;
  std::vector<const ir::Block*> blocks;  // the header, then the others in layout order
  unsigned width = 1;                    // chunks that are live at once
  std::unordered_set<const ir::Block*> body;
  // Values from outside that it uses, other than as the first values of the header's phis.
  std::vector<const ir::Inst*> live_in;

  [[nodiscard]] bool contains(const ir::Block* block) const { return body.contains(block); }
};

class TileRegions {
 public:
  // chunks: host registers for a 32-bit value of all lanes. lane_wise: instructions that work on each lane alone, or on
  // scalars. wanted: otherwise there are none; divergent: loops that lanes leave one by one, too.
  TileRegions(const ir::Function& function, const Liveness& liveness, const ir::LaneShapes& shapes,
              const RegisterBudget& budget, unsigned chunks, bool (*lane_wise)(const ir::Inst&), bool wanted = true,
              bool divergent = true);

  [[nodiscard]] const TileRegion* of(const ir::Block* block) const { return by_block_[block->id]; }

 private:
  std::vector<std::unique_ptr<TileRegion>> regions_;
  std::vector<const TileRegion*> by_block_;
};

}  // namespace wavejit::backend
