// a = b + s * c: as fast as memory. Stores that go past the caches spare reading what they overwrite; buffers start on
// cache lines.
#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {

void triad(const CeilingData& data) {
  float* const a = data.buffer<float>(0);
  const float* const b = data.buffer<float>(1);
  const float* const c = data.buffer<float>(2);
  const F s = splat(data.scalar<float>(3));
  const size_t n = data.count<float>(0);
  size_t i = 0;
  constexpr size_t kUnroll = 4;
  for (; i + kUnroll * kLanes <= n; i += kUnroll * kLanes) {
    F v[kUnroll];
    for (size_t u = 0; u < kUnroll; ++u) v[u] = fma(s, load(c + i + u * kLanes), load(b + i + u * kLanes));
    for (size_t u = 0; u < kUnroll; ++u) stream(a + i + u * kLanes, v[u]);
  }
  for (; i < n; i += kLanes) {
    const auto left = static_cast<ptrdiff_t>(n - i);
    store_first(a + i, fma(s, load_first(c + i, left), load_first(b + i, left)), left);
  }
  _mm_sfence();
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
