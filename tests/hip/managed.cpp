// Managed and pitched memory; pointer attributes.
#include <cstdlib>
#include <vector>

#include "check.h"

__global__ void increment(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++data[i];
}
__global__ void fill(char* base, size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) reinterpret_cast<int*>(base + y * pitch)[x] = 1000 * y + x;
}

int main() {
  const int n = 10000;
  int* managed;
  HIP(hipMallocManaged(&managed, n * sizeof(int)));
  for (int i = 0; i < n; ++i) managed[i] = i;
  increment<<<(n + 255) / 256, 256>>>(managed, n);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) CHECK(managed[i] == i + 1);

  char* pitched;
  size_t pitch;
  const int width = 123, height = 45;
  HIP(hipMallocPitch(reinterpret_cast<void**>(&pitched), &pitch, width * sizeof(int), height));
  CHECK(pitch >= width * sizeof(int));
  fill<<<dim3(8, 12), dim3(16, 4)>>>(pitched, pitch, width, height);
  std::vector<int> image(width * height);
  HIP(hipMemcpy2D(image.data(), width * sizeof(int), pitched, pitch, width * sizeof(int), height,
                  hipMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) CHECK(image[y * width + x] == 1000 * y + x);

  hipPointerAttribute_t attributes;
  HIP(hipPointerGetAttributes(&attributes, pitched));
  CHECK(attributes.memoryType == hipMemoryTypeDevice && attributes.device == 0);
  HIP(hipFree(pitched));
  HIP(hipFree(managed));
}
