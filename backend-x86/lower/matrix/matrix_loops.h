// Loops over the tiles of matrix products (matrix_loops.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "backend-x86/lower/matrix/matrix_product.h"

namespace wavejit::backend {

// Distances in bytes from the elements of the loop's first tile to those of a tile.
struct MatrixDistance {
  int32_t a, b, sums, unused;
};

// One loop over the tiles of several chains. Its code is that of the first chain's first tile.
struct MatrixLoop {
  std::vector<const MatrixChain*> chains;
  MatrixTile origin;
  std::vector<MatrixDistance> distances;
};

// False, and nothing is added, if the chain's tiles differ from those of the loop by more than where their elements
// are.
[[nodiscard]] bool add_to_matrix_loop(const Lowering& ctx, MatrixLoop& loop, const MatrixChain& chain);
void emit_matrix_loop(Lowering& ctx, const MatrixLoop& loop);

}  // namespace wavejit::backend
