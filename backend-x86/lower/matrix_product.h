// Types shared by matrix.cpp, matrix_loops.cpp and matrix_rows.cpp.
#pragma once

#include <vector>

#include "backend-x86/lower/emitter.h"
#include "ir/matrix.h"

namespace wavejit::backend {

// The rows of one product that the segment uses.
struct Emitter::MatrixProduct {
  ir::MatrixForm form;
  std::vector<const Inst*> rows;
};

// Chains: products that are added to the same accumulators, in this order.
struct Emitter::MatrixChains {
  std::vector<MatrixChain> list;
  // The chains do not depend on each other: they may be computed in any order, and split by rows.
  bool independent = false;
};

// One loop over the tiles of several chains. Its code is that of the first chain's first tile.
struct Emitter::MatrixLoop {
  std::vector<const MatrixChain*> chains;
  MatrixTile origin;
  std::vector<MatrixDistance> distances;
};

}  // namespace wavejit::backend
