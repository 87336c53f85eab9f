// Matrix products of a segment, as units of work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "backend-x86/lower/lowering.h"
#include "ir/matrix.h"

namespace wavejit::backend {

// The rows of one product that the segment uses.
struct MatrixProduct {
  ir::MatrixForm form;
  std::vector<const Inst*> rows;
};

// Products that are added to the same accumulators, in this order.
using MatrixChain = std::vector<const MatrixProduct*>;

struct MatrixChains {
  std::vector<MatrixChain> list;
  // The chains do not depend on each other: they may be computed in any order, and split by rows.
  bool independent = false;
};

// The part of a chain whose accumulators are in registers at a time.
struct MatrixTile {
  unsigned row, end_row, chunk, end;
};

// Accumulators of the tile that is being worked on, and the memory for those of a loop, the same for all loops.
struct MatrixAccumulators {
  std::vector<Vec> registers;
  std::optional<Mem> sums;
  unsigned sums_bytes = 0;
};

[[nodiscard]] std::vector<MatrixProduct> matrix_products(const Lowering& ctx, std::span<const Inst* const> insts);
[[nodiscard]] MatrixChains matrix_chains(const Lowering& ctx, const std::vector<MatrixProduct>& products);
[[nodiscard]] std::vector<MatrixTile> matrix_tiles(const Lowering& ctx, const MatrixChain& chain);

// Adds a product to the accumulators of a tile. place(row, of_a): where a row of A or B is for this tile.
void add_matrix_product(Lowering& ctx, const MatrixProduct& product, const MatrixTile& tile,
                        const std::function<Vec64(unsigned row, unsigned chunk)>& accumulator,
                        const std::function<Mem(const Mem& row, bool of_a)>& place);
Vec matrix_accumulator(Lowering& ctx, size_t index);
void set_matrix_result(Lowering& ctx, const Inst& inst, unsigned chunk, const Vec64& value);

// The segment consists of matrix products.
void emit_matrix_segment(Lowering& ctx);

}  // namespace wavejit::backend
