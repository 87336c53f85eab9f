// Sum and maximum of two arrays in one pass, with enough partial results to hide the additions' latency.
#include <algorithm>

#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {

void reduction(const CeilingData& data) {
  const float* const values = data.buffer<float>(0);
  const float* const others = data.buffer<float>(1);
  const size_t n = data.count<float>(0);
  constexpr size_t kUnroll = kWide ? 8 : 6;
  F sums[kUnroll], maxima[kUnroll];
  for (size_t u = 0; u < kUnroll; ++u) {
    sums[u] = splat(0.0f);
    maxima[u] = splat(-__builtin_inff());
  }
  size_t i = 0;
  for (; i + kUnroll * kLanes <= n; i += kUnroll * kLanes) {
    for (size_t u = 0; u < kUnroll; ++u) {
      sums[u] = sums[u] + load(values + i + u * kLanes);
      maxima[u] = max(maxima[u], load(others + i + u * kLanes));
    }
  }
  for (size_t u = 1; u < kUnroll; ++u) {
    sums[0] = sums[0] + sums[u];
    maxima[0] = max(maxima[0], maxima[u]);
  }
  float total = sum(sums[0]), most = largest(maxima[0]);
  for (; i < n; ++i) {
    total += values[i];
    most = std::max(most, others[i]);
  }
  *data.buffer<float>(4) = total;
  *data.buffer<float>(5) = most;
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
