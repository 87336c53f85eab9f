// C = A B in the manner of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008): a block
// of rows of B, packed so that a panel of it stays in L1, times packed rows of A; the inner kernel keeps kRows x
// kColumns sums in registers.
#include <algorithm>
#include <vector>

#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {
namespace {

constexpr size_t kVectors = 2, kColumns = kVectors * kLanes;
constexpr size_t kRows = kWide ? 12 : 6;
constexpr size_t kDepth = kWide ? 128 : 256;  // rows of B in a block

// `depth` steps for kCount rows: c (+)= a b.
template <size_t kCount>
void multiply(const float* a, const float* b, float* c, size_t stride, size_t depth, bool accumulate) {
  F sums[kCount][kVectors];
#pragma GCC unroll 12
  for (size_t r = 0; r < kCount; ++r)
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) sums[r][v] = accumulate ? load(c + r * stride + v * kLanes) : splat(0.0f);
  for (size_t k = 0; k < depth; ++k) {
    F line[kVectors];
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) line[v] = load(b + k * kColumns + v * kLanes);
#pragma GCC unroll 12
    for (size_t r = 0; r < kCount; ++r) {
      const F x = splat(a[r * kDepth + k]);
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = fma(x, line[v], sums[r][v]);
    }
  }
#pragma GCC unroll 12
  for (size_t r = 0; r < kCount; ++r)
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) store(c + r * stride + v * kLanes, sums[r][v]);
}

template <size_t... kCounts>
void multiply_rows(size_t rows, const float* a, const float* b, float* c, size_t stride, size_t depth,
                   bool accumulate) {
  (void)((rows == kCounts && (multiply<kCounts>(a, b, c, stride, depth, accumulate), true)) || ...);
}

}  // namespace

void sgemm_blocked(const CeilingData& data) {
  const size_t n = data.scalar<uint32_t>(0), depth = data.scalar<uint32_t>(1);
  const float* const a = data.buffer<float>(0);
  const float* const b = data.buffer<float>(1);
  float* const c = data.buffer<float>(2);
  const size_t m = data.count<float>(2) / n;
  std::vector<float> rows(m * kDepth), panel(kColumns * kDepth + 16);
  float* const packed = panel.data() + (64 - reinterpret_cast<uintptr_t>(panel.data()) % 64) / 4 % 16;
  for (size_t k0 = 0; k0 < depth; k0 += kDepth) {
    const size_t steps = std::min(kDepth, depth - k0);
    for (size_t row = 0; row < m; ++row) std::copy_n(a + row * depth + k0, steps, &rows[row * kDepth]);
    size_t col = 0;
    for (; col + kColumns <= n; col += kColumns) {
      for (size_t k = 0; k < steps; ++k)
        for (size_t v = 0; v < kVectors; ++v)
          store(packed + k * kColumns + v * kLanes, load(b + (k0 + k) * n + col + v * kLanes));
      size_t row = 0;
      for (; row + kRows <= m; row += kRows)
        multiply<kRows>(&rows[row * kDepth], packed, c + row * n + col, n, steps, k0 != 0);
      if (row < m) {
        multiply_rows<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11>(m - row, &rows[row * kDepth], packed, c + row * n + col, n,
                                                         steps, k0 != 0);
      }
    }
    for (; col < n; ++col)
      for (size_t row = 0; row < m; ++row) {
        float total = k0 != 0 ? c[row * n + col] : 0.0f;
        for (size_t k = 0; k < steps; ++k) total += rows[row * kDepth + k] * b[(k0 + k) * n + col];
        c[row * n + col] = total;
      }
  }
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
