#include "tests/model/matrix.h"

#include <algorithm>

#include "tests/model/fp8.h"
#include "tests/model/number.h"

namespace wavejit::model {
namespace {

using enum Element;

constexpr MatrixEntry kEntries[] = {
    {"v_mfma_f32_32x32x1f32", 32, 1, 2, f32, f32},
    {"v_mfma_f32_16x16x1f32", 16, 1, 4, f32, f32},
    {"v_mfma_f32_4x4x1f32", 4, 1, 16, f32, f32},
    {"v_mfma_f32_32x32x2f32", 32, 2, 1, f32, f32},
    {"v_mfma_f32_16x16x4f32", 16, 4, 1, f32, f32},
    {"v_mfma_f32_32x32x4f16", 32, 4, 2, f16, f16},
    {"v_mfma_f32_16x16x4f16", 16, 4, 4, f16, f16},
    {"v_mfma_f32_4x4x4f16", 4, 4, 16, f16, f16},
    {"v_mfma_f32_32x32x8f16", 32, 8, 1, f16, f16},
    {"v_mfma_f32_16x16x16f16", 16, 16, 1, f16, f16},
    {"v_mfma_i32_32x32x4i8", 32, 4, 2, i8, i8},
    {"v_mfma_i32_16x16x4i8", 16, 4, 4, i8, i8},
    {"v_mfma_i32_4x4x4i8", 4, 4, 16, i8, i8},
    {"v_mfma_i32_32x32x8i8", 32, 8, 1, i8, i8},
    {"v_mfma_i32_16x16x16i8", 16, 16, 1, i8, i8},
    {"v_mfma_f32_32x32x4bf16_1k", 32, 4, 2, bf16, bf16},
    {"v_mfma_f32_16x16x4bf16_1k", 16, 4, 4, bf16, bf16},
    {"v_mfma_f32_4x4x4bf16_1k", 4, 4, 16, bf16, bf16},
    {"v_mfma_f32_32x32x8bf16_1k", 32, 8, 1, bf16, bf16},
    {"v_mfma_f32_16x16x16bf16_1k", 16, 16, 1, bf16, bf16},
    {"v_mfma_f32_32x32x2bf16", 32, 2, 2, bf16, bf16},
    {"v_mfma_f32_16x16x2bf16", 16, 2, 4, bf16, bf16},
    {"v_mfma_f32_4x4x2bf16", 4, 2, 16, bf16, bf16},
    {"v_mfma_f32_32x32x4bf16", 32, 4, 1, bf16, bf16},
    {"v_mfma_f32_16x16x8bf16", 16, 8, 1, bf16, bf16},
    {"v_mfma_f64_16x16x4f64", 16, 4, 1, f64, f64},
    {"v_mfma_f64_4x4x4f64", 4, 4, 4, f64, f64},
    {"v_mfma_f32_16x16x8_xf32", 16, 8, 1, xf32, xf32},
    {"v_mfma_f32_32x32x4_xf32", 32, 4, 1, xf32, xf32},
    {"v_mfma_i32_32x32x16_i8", 32, 16, 1, i8, i8},
    {"v_mfma_i32_16x16x32_i8", 16, 32, 1, i8, i8},
    {"v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 1, bf8, bf8},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 1, bf8, fp8},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 1, fp8, bf8},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, fp8, fp8},
    {"v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 1, bf8, bf8},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 16, 1, bf8, fp8},
    {"v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 1, fp8, bf8},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 1, fp8, fp8},
    {"v_smfmac_f32_16x16x32_f16", 16, 32, 1, f16, f16, true},
    {"v_smfmac_f32_32x32x16_f16", 32, 16, 1, f16, f16, true},
    {"v_smfmac_f32_16x16x32_bf16", 16, 32, 1, bf16, bf16, true},
    {"v_smfmac_f32_32x32x16_bf16", 32, 16, 1, bf16, bf16, true},
    {"v_smfmac_i32_16x16x64_i8", 16, 64, 1, i8, i8, true},
    {"v_smfmac_i32_32x32x32_i8", 32, 32, 1, i8, i8, true},
    {"v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, 1, bf8, bf8, true},
    {"v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, 1, bf8, fp8, true},
    {"v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, 1, fp8, bf8, true},
    {"v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, 1, fp8, fp8, true},
    {"v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, 1, bf8, bf8, true},
    {"v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, 1, bf8, fp8, true},
    {"v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, 1, fp8, bf8, true},
    {"v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, 1, fp8, fp8, true},
};

// Element `number` of a lane.
uint64_t element(const std::vector<Row>& rows, unsigned lane, unsigned number, unsigned bits) {
  if (bits == 64) return rows[2 * number][lane] | uint64_t{rows[2 * number + 1][lane]} << 32;
  const unsigned at = number * bits;
  const uint64_t word = rows[at / 32][lane];
  return bits == 32 ? word : word >> (at % 32) & ((1u << bits) - 1);
}

// Where an element of C and D is.
struct Place {
  unsigned lane, number;
};
Place place_of(const MatrixEntry& e, unsigned i, unsigned j, unsigned block) {
  if (e.is_f64()) {
    if (e.size == 4) return {16 * i + 4 * block + j, 0};
    return {16 * (i % 4) + j, i / 4};
  }
  // Four rows in one lane; then the lanes beside each other have the next four.
  const unsigned lanes_beside = e.size == 4 ? 1 : 64 / e.size;
  if (e.size == 4) return {4 * block + j, i};
  return {e.size * (i / 4 % lanes_beside) + j, e.size * e.size / 64 * block + 4 * (i / 4 / lanes_beside) + i % 4};
}

// The lane whose registers have column `k` of row `i` of A (row k of column i of B), and which element it is.
Place source_of(const MatrixEntry& e, unsigned i, unsigned k, unsigned block, unsigned in_lane) {
  if (e.is_f64() && e.size == 4) return {16 * k + 4 * block + i, 0};
  const unsigned groups = 64 / e.size / e.blocks;  // of columns, beside each other
  return {e.size * (block * groups + k / in_lane) + i, k % in_lane};
}

// BLGP: lanes that B is read from.
unsigned pattern(unsigned lane, unsigned blgp) {
  switch (blgp) {
    case 1:
      return lane % 32;
    case 2:
      return lane % 32 + 32;
    case 3:
      return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7:
      return lane % 16 + 16 * (blgp - 4);
    default:
      return lane;
  }
}

// To ten bits of fraction, ties to even; infinities and NaNs stay.
uint64_t to_xf32(uint64_t x) {
  if (!kF32.is_finite(x)) return x;
  constexpr uint64_t kDropped = 0x1fff, kHalf = 0x1000;
  const uint64_t rest = x & kDropped, cut = x - rest;
  const bool up = rest > kHalf || (rest == kHalf && (cut & (kDropped + 1)) != 0);
  return up ? cut + kDropped + 1 : cut;
}

class Product {
 public:
  Product(const MatrixEntry& e, const MatrixModifiers& m, isa::Family family, uint32_t mode, const MatrixInput& input)
      : e_(e), m_(m), input_(input), env_(e.is_f64() ? exact(kF64) : exact(kF32)) {
    flushes_ = family == isa::Family::gfx90a && (e.a == f16 || e.a == bf16);
    if (e.a == f32 || e.a == xf32) env_ = env_of(kF32, mode);
    env_.round = Round::nearest;
    if (flushes_) env_.flush_in = env_.flush_out = true;
    negates_ = e.is_f64() && family == isa::Family::gfx940;
  }

  [[nodiscard]] std::vector<Row> result() const {
    std::vector<Row> rows(e_.result_dwords());
    for (unsigned block = 0; block < e_.blocks; ++block)
      for (unsigned i = 0; i < e_.size; ++i)
        for (unsigned j = 0; j < e_.size; ++j) {
          const Place p = place_of(e_, i, j, block);
          const unsigned bits = e_.is_f64() ? 64 : 32;
          uint64_t sum = element(input_.c, p.lane, p.number, bits);
          if (negates_ && (m_.blgp & 4) != 0) sum ^= kF64.sign();
          sum = e_.sparse ? sparse_sum(i, j, sum) : dense_sum(i, j, block, sum);
          if (e_.a != i8 && env_.format.is_nan(sum)) sum = env_.format.nan();
          if (bits == 64) {
            rows[2 * p.number][p.lane] = static_cast<uint32_t>(sum);
            rows[2 * p.number + 1][p.lane] = static_cast<uint32_t>(sum >> 32);
          } else {
            rows[p.number][p.lane] = static_cast<uint32_t>(sum);
          }
        }
    return rows;
  }

 private:
  // As a number of the sum's format.
  [[nodiscard]] uint64_t value(Element kind, uint64_t bits) const {
    switch (kind) {
      case f16:
        return convert(exact(kF16), exact(kF32), flushes_ ? kF16.flush(bits) : bits);
      case bf16:
        return bits << 16;
      case xf32:
        return to_xf32(bits);
      case fp8:
        return fp8_to_f32(kFp8, static_cast<uint8_t>(bits));
      case bf8:
        return fp8_to_f32(kBf8, static_cast<uint8_t>(bits));
      default:
        return bits;
    }
  }
  [[nodiscard]] uint64_t b_at(unsigned k, unsigned j, unsigned block) const {
    const Place p = source_of(e_, j, k, block, e_.b_elements());
    const unsigned lane = e_.is_f64() ? p.lane : pattern(p.lane, m_.blgp);
    return element(input_.b, lane, p.number, bits_of(e_.b));
  }
  [[nodiscard]] uint64_t add_product(uint64_t a, uint64_t b, uint64_t sum) const {
    if (e_.a == i8)
      return static_cast<uint32_t>(sum +
                                   static_cast<uint64_t>(int64_t{static_cast<int8_t>(a)} * static_cast<int8_t>(b)));
    uint64_t x = value(e_.a, a), y = value(e_.b, b);
    if (negates_ && (m_.blgp & 1) != 0) x ^= kF64.sign();
    if (negates_ && (m_.blgp & 2) != 0) y ^= kF64.sign();
    return fma(env_, x, y, sum);
  }

  [[nodiscard]] uint64_t dense_sum(unsigned i, unsigned j, unsigned block, uint64_t sum) const {
    // CBSZ: groups of 2^CBSZ blocks all have block ABID of the group.
    const unsigned group = 1u << m_.cbsz, a_block = block / group * group + m_.abid % group;
    for (unsigned k = 0; k < e_.depth; ++k) {
      const Place p = source_of(e_, i, k, a_block, e_.a_elements());
      sum = add_product(element(input_.a, p.lane, p.number, bits_of(e_.a)), b_at(k, j, block), sum);
    }
    return sum;
  }

  // Elements 2 g and 2 g + 1 of a lane are of the columns 4 g to 4 g + 3 that the lane has; which, the indices say.
  [[nodiscard]] uint64_t sparse_sum(unsigned i, unsigned j, uint64_t sum) const {
    const unsigned in_lane = e_.a_elements();
    for (unsigned number = 0; number < e_.depth / 2; ++number) {
      const Place p = source_of(e_, i, number, 0, in_lane);
      const unsigned first_bit = m_.cbsz == 0 ? m_.abid * 2 * in_lane : 0;
      const unsigned which = input_.index[p.lane] >> (first_bit + 2 * p.number) & 3;
      const unsigned k = 2 * (number - p.number) + 4 * (p.number / 2) + which;
      sum = add_product(element(input_.a, p.lane, p.number, bits_of(e_.a)), b_at(k, j, 0), sum);
    }
    return sum;
  }

  const MatrixEntry& e_;
  const MatrixModifiers& m_;
  const MatrixInput& input_;
  Env env_;
  bool flushes_ = false, negates_ = false;
};

}  // namespace

unsigned bits_of(Element element) {
  switch (element) {
    case f64:
      return 64;
    case f32:
    case xf32:
      return 32;
    case f16:
    case bf16:
      return 16;
    default:
      return 8;
  }
}

std::span<const MatrixEntry> matrix_opcodes() {
  return kEntries;
}

const MatrixEntry* find_matrix(std::string_view opcode) {
  const auto* const found =
      std::find_if(std::begin(kEntries), std::end(kEntries), [&](const MatrixEntry& e) { return e.name == opcode; });
  return found != std::end(kEntries) ? found : nullptr;
}

std::vector<Row> multiply(const MatrixEntry& entry, const MatrixModifiers& m, isa::Family family, uint32_t mode,
                          const MatrixInput& input) {
  return Product(entry, m, family, mode, input).result();
}

}  // namespace wavejit::model
