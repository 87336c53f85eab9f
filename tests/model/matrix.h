// What matrix instructions do (MI100, MI200 and MI300 ISA manuals, "VOP3P-MAI"; where elements are: AMD's matrix
// instruction calculator; sums, denormals and modifiers: docs/isa-decisions.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/isa/target.h"

namespace wavejit::model {

enum class Element : uint8_t { f32, xf32, f16, bf16, f64, i8, fp8, bf8 };
[[nodiscard]] unsigned bits_of(Element element);

// D = A * B + C in each of `blocks` blocks: A has `size` rows and `depth` columns, B `depth` rows and `size` columns.
struct MatrixEntry {
  std::string_view name;  // of isa::Opcode
  unsigned size, depth, blocks;
  Element a, b;
  bool sparse = false;  // two of every four columns of A are there

  [[nodiscard]] bool is_f64() const { return a == Element::f64; }
  [[nodiscard]] unsigned result_dwords() const { return size * size * blocks / 64 * (is_f64() ? 2 : 1); }
  // Elements of A and B in a lane.
  [[nodiscard]] unsigned a_elements() const { return size * depth * blocks / 64 / (sparse ? 2 : 1); }
  [[nodiscard]] unsigned b_elements() const { return size * depth * blocks / 64; }
  [[nodiscard]] unsigned a_dwords() const { return a_elements() * bits_of(a) / 32; }
  [[nodiscard]] unsigned b_dwords() const { return b_elements() * bits_of(b) / 32; }
};
[[nodiscard]] std::span<const MatrixEntry> matrix_opcodes();
[[nodiscard]] const MatrixEntry* find_matrix(std::string_view opcode);

struct MatrixModifiers {
  unsigned cbsz = 0, abid = 0;  // which block of A others see; of sparse products which part of the indices
  unsigned blgp = 0;            // which lanes B is read from; of f64 on GFX940 the negated operands
};

using Row = std::array<uint32_t, 64>;
struct MatrixInput {
  std::vector<Row> a, b, c;
  Row index{};  // of sparse products
};
// Registers of the result; a NaN is kF32.nan() or kF64.nan().
[[nodiscard]] std::vector<Row> multiply(const MatrixEntry& entry, const MatrixModifiers& m, isa::Family family,
                                        uint32_t mode, const MatrixInput& input);

}  // namespace wavejit::model
