// The rows of A and B that matrix products read: on the stack, where an element can be broadcast from (matrix_rows.cpp).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

// Products that follow each other and share rows of A and B.
struct MatrixBatch {
  std::vector<const Inst*> products;
  size_t first = 0, last = 0;  // positions in the block
  std::map<const Inst*, Mem> rows;
  std::set<const Inst*> stored;  // already stored, or stored as soon as they are made
};

// Memory of the frame for the rows of batches, one after the other.
struct MatrixArea {
  Mem memory;
  unsigned bytes = 0;
  size_t free_from = 0;  // position in the block
};

// Of the block that is being emitted; the areas are those of all blocks.
struct MatrixRows {
  std::vector<MatrixBatch> batches;
  std::map<const Inst*, size_t> batch_of;                                // by product
  std::map<const Inst*, std::vector<std::pair<const Inst*, Mem>>> made;  // by the instruction that makes them
  std::vector<MatrixArea> areas;

  [[nodiscard]] const Mem& of(const Inst& product, size_t operand) const {
    return batches[batch_of.at(&product)].rows.at(product.operands[operand]);
  }
};

void plan_matrix_rows(Lowering& ctx, const ir::Block& block);
// In front of the products, which do not change the rows.
void store_matrix_rows(Lowering& ctx, const Inst& product);
// Behind an instruction that has made rows of a chunk.
void store_made_rows(Lowering& ctx, const Inst& inst, unsigned chunk);

// Whether the instruction reads results of the products lane by lane.
[[nodiscard]] bool reads_lanes_of(const Inst& inst, std::span<const Inst* const> products);
// Byte offset of a lane's element in a row.
[[nodiscard]] unsigned matrix_offset(const Lowering& ctx, unsigned lane, bool wide);

}  // namespace wavejit::backend
