// Tiled matrix product: two-dimensional work-groups, dynamic LDS for both tiles, sizes that are no multiples of the
// tile.
#include <vector>

#include "check.h"

__global__ void matmul(const float* a, const float* b, float* c, int rows, int inner, int columns, int tile) {
  extern __shared__ float tiles[];
  float* const ta = tiles;
  float* const tb = tiles + tile * tile;
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  for (int k = 0; k < inner; k += tile) {
    ta[y * tile + x] = row < rows && k + x < inner ? a[row * inner + k + x] : 0;
    tb[y * tile + x] = k + y < inner && column < columns ? b[(k + y) * columns + column] : 0;
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum += ta[y * tile + i] * tb[i * tile + x];
    __syncthreads();
  }
  if (row < rows && column < columns) c[row * columns + column] = sum;
}

int main() {
  const int rows = 131, inner = 77, columns = 199;
  std::vector<float> a(rows * inner), b(inner * columns), c(rows * columns);
  // Small integers: sums are exact in any order.
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7 % 19) - 9;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 11 % 23) - 11;
  float *da, *db, *dc;
  HIP(hipMalloc(&da, a.size() * sizeof(float)));
  HIP(hipMalloc(&db, b.size() * sizeof(float)));
  HIP(hipMalloc(&dc, c.size() * sizeof(float)));
  HIP(hipMemcpy(da, a.data(), a.size() * sizeof(float), hipMemcpyHostToDevice));
  HIP(hipMemcpy(db, b.data(), b.size() * sizeof(float), hipMemcpyHostToDevice));
  for (const int tile : {8, 16, 32}) {
    HIP(hipMemset(dc, 0xff, c.size() * sizeof(float)));
    const dim3 grid((columns + tile - 1) / tile, (rows + tile - 1) / tile);
    matmul<<<grid, dim3(tile, tile), 2 * tile * tile * sizeof(float)>>>(da, db, dc, rows, inner, columns, tile);
    HIP(hipMemcpy(c.data(), dc, c.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        float sum = 0;
        for (int k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
        CHECK(c[i * columns + j] == sum);
      }
  }
}
