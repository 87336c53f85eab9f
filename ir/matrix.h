// Matrix operations. Each computes result row `index` of D = A * B + C, where A is size x K and B is K x size, for each
// of `blocks` independent blocks. A lane of A holds `rows` consecutive elements of a row of a block, one in each
// operand; a lane of B those of a column. The remaining elements are in lanes further on. (MI100 and MI200 ISA manuals,
// "Matrix arithmetic"; AMD matrix instruction calculator.)
//
// Operands: C, then `rows` rows of A, then as many of B. Lane l of the result is
//   C[l] + sum over group, row: A[row][lane_of_a(l, group)] * B[row][lane_of_b(l, group)]
// added in this order. In floating point each step is a fused multiply-add.
#pragma once

#include <cstdint>
#include <string>

#include "ir/function.h"

namespace wavejit::ir {

struct MatrixForm {
  uint8_t size = 0;             // 4, 16, 32: rows and columns of a block
  uint8_t blocks = 0;           // 1..16
  uint8_t rows = 0;             // operand rows of A, and of B
  uint8_t groups = 0;           // lanes that share a row of A in a block: K = rows * groups
  uint8_t index = 0;            // row of the result: a register, or a pair of registers in f64
  uint8_t broadcast_log2 = 0;   // CBSZ: one block of A serves groups of 2^n blocks
  uint8_t broadcast_block = 0;  // ABID: which
  uint8_t swizzle = 0;          // BLGP: from which lanes a lane takes its elements of B

  [[nodiscard]] constexpr uint64_t encode() const {
    const uint8_t fields[8] = {size, blocks, rows, groups, index, broadcast_log2, broadcast_block, swizzle};
    uint64_t bits = 0;
    for (unsigned i = 0; i < 8; ++i) bits |= uint64_t{fields[i]} << (8 * i);
    return bits;
  }
  [[nodiscard]] static constexpr MatrixForm decode(uint64_t bits) {
    const auto field = [&](unsigned i) { return static_cast<uint8_t>(bits >> (8 * i)); };
    return {field(0), field(1), field(2), field(3), field(4), field(5), field(6), field(7)};
  }
  // Registers of a 32-bit result, or pairs of a 64-bit one.
  [[nodiscard]] constexpr unsigned result_rows() const { return size * size * blocks / kWaveSize; }
  // Returns true if both differ at most in the row of the result.
  [[nodiscard]] bool same_product(const MatrixForm& other) const {
    MatrixForm mine = *this;
    mine.index = other.index;
    return mine.encode() == other.encode();
  }
};

[[nodiscard]] constexpr bool is_matrix_op(Op op) {
  return op == Op::mfma_f32 || op == Op::mfma_f64 || op == Op::mfma_i16;
}

// The lane of A, or of B, from which a lane of the result takes the elements of a group.
[[nodiscard]] unsigned lane_of_a(const Inst& inst, unsigned lane, unsigned group);
[[nodiscard]] unsigned lane_of_b(const Inst& inst, unsigned lane, unsigned group);

// Empty if form and operands are valid, else the problem.
[[nodiscard]] std::string check_matrix(const Inst& inst);

}  // namespace wavejit::ir
