// A row's elements go to four sums in turn. The elements of x are loaded one by one: this is faster than gathers on the
// CPUs that have both, and the columns of a row come two per load.
#include <cstring>

#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {
namespace {

// x[columns[0]] .. x[columns[3]]
inline __m128 pick4(const float* x, const uint32_t* columns) {
  uint64_t first, second;
  std::memcpy(&first, columns, sizeof first);
  std::memcpy(&second, columns + 2, sizeof second);
  __m128 v = _mm_load_ss(x + static_cast<uint32_t>(first));
  v = _mm_insert_ps(v, _mm_load_ss(x + (first >> 32)), 0x10);
  v = _mm_insert_ps(v, _mm_load_ss(x + static_cast<uint32_t>(second)), 0x20);
  return _mm_insert_ps(v, _mm_load_ss(x + (second >> 32)), 0x30);
}

}  // namespace

void spmv_csr(const CeilingData& data) {
  const uint32_t* const start = data.buffer<uint32_t>(0);
  const uint32_t* const columns = data.buffer<uint32_t>(1);
  const float* const values = data.buffer<float>(2);
  const float* const x = data.buffer<float>(3);
  float* const y = data.buffer<float>(4);
  const uint32_t rows = data.scalar<uint32_t>(5);
  for (uint32_t row = 0; row < rows; ++row) {
    uint32_t i = start[row];
    const uint32_t end = start[row + 1];
    __m128 a = _mm_setzero_ps(), b = _mm_setzero_ps();
    for (; i + 8 <= end; i += 8) {
      a = _mm_fmadd_ps(_mm_loadu_ps(values + i), pick4(x, columns + i), a);
      b = _mm_fmadd_ps(_mm_loadu_ps(values + i + 4), pick4(x, columns + i + 4), b);
    }
    if (i + 4 <= end) {
      a = _mm_fmadd_ps(_mm_loadu_ps(values + i), pick4(x, columns + i), a);
      i += 4;
    }
    a = _mm_add_ps(a, b);
    const __m128 pairs = _mm_add_ps(a, _mm_movehl_ps(a, a));
    float sum = _mm_cvtss_f32(_mm_add_ss(pairs, _mm_movehdup_ps(pairs)));
    for (; i < end; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
  }
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
