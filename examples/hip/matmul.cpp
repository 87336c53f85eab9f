// C = A*B with tiles in local memory (LDS): each value is loaded once per tile instead of once per product.
#include <cmath>
#include <vector>

#include "check.h"

constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[kTile][kTile], tb[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

int main() {
  const int n = 512;  // a multiple of the tile
  const size_t bytes = n * n * sizeof(float);
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i * 7 % 13) / 13;
    b[i] = static_cast<float>(i * 5 % 11) / 11;
  }
  float *da, *db, *dc;
  HIP(hipMalloc(&da, bytes));
  HIP(hipMalloc(&db, bytes));
  HIP(hipMalloc(&dc, bytes));
  HIP(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
  HIP(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));

  // The best of ten: wavejit interprets until the kernel's translation is there.
  const dim3 grid(n / kTile, n / kTile), block(kTile, kTile);
  hipEvent_t start, end;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&end));
  float best = INFINITY;
  for (int round = 0; round < 10; ++round) {
    HIP(hipEventRecord(start, nullptr));
    matmul<<<grid, block>>>(da, db, dc, n);
    HIP(hipEventRecord(end, nullptr));
    HIP(hipEventSynchronize(end));
    float ms = 0;
    HIP(hipEventElapsedTime(&ms, start, end));
    best = std::fmin(best, ms);
  }
  HIP(hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost));

  double worst = 0;
  for (int row = 0; row < n; row += 37)
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += static_cast<double>(a[row * n + k]) * b[k * n + column];
      worst = std::fmax(worst, std::fabs(sum - c[row * n + column]) / sum);
    }
  std::printf("%d x %d: %.2f ms, %.1f Gflop/s, largest relative error %.1e\n", n, n, best, 2e-6 * n * n * n / best,
              worst);
  return worst < 1e-5 ? 0 : 1;
}
