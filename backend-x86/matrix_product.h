// What matrix.cpp, matrix_loops.cpp and matrix_rows.cpp know of products.
#pragma once

#include <vector>

#include "backend-x86/emitter.h"
#include "ir/matrix.h"

namespace wavejit::backend {

// The rows of one product that the segment wants.
struct Emitter::MatrixProduct {
  ir::MatrixForm form;
  std::vector<const Inst*> rows;
};

// Products in the order in which they are added to the same accumulators.
struct Emitter::MatrixChains {
  std::vector<MatrixChain> list;
  // Of each other: they may be worked through in any order, and apart by rows.
  bool independent = false;
};

// Chains whose tiles one loop works through. The code is that of the first chain's first tile.
struct Emitter::MatrixLoop {
  std::vector<const MatrixChain*> chains;
  MatrixTile origin;
  std::vector<MatrixDistance> distances;
};

}  // namespace wavejit::backend
