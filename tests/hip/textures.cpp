// Texture objects of arrays and of linear memory, layered and three-dimensional ones, surfaces.
#include <cmath>
#include <vector>

#include "check.h"

__global__ void sample(hipTextureObject_t texture, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) out[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}
__global__ void halfway(hipTextureObject_t texture, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) out[y * width + x] = tex2D<float>(texture, (x + 1.f) / width, (y + 0.5f) / height);
}
__global__ void fetch(hipTextureObject_t texture, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<int>(texture, i);
}
__global__ void invert(hipSurfaceObject_t from, hipSurfaceObject_t to, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  float value;
  surf2Dread(&value, from, x * static_cast<int>(sizeof(float)), y);
  surf2Dwrite(-value, to, x * static_cast<int>(sizeof(float)), y);
}

int main() {
  const int width = 100, height = 37;
  std::vector<float> image(width * height), result(width * height);
  for (int i = 0; i < width * height; ++i) image[i] = static_cast<float>(i % 251);
  float* out;
  HIP(hipMalloc(&out, width * height * sizeof(float)));

  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray* array;
  HIP(hipMallocArray(&array, &format, width, height));
  HIP(hipMemcpy2DToArray(array, 0, 0, image.data(), width * sizeof(float), width * sizeof(float), height,
                         hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = hipAddressModeClamp;
  how.filterMode = hipFilterModePoint;
  how.readMode = hipReadModeElementType;
  hipTextureObject_t texture;
  HIP(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  sample<<<dim3(2, height), 64>>>(texture, out, width, height);
  HIP(hipMemcpy(result.data(), out, width * height * sizeof(float), hipMemcpyDeviceToHost));
  for (int i = 0; i < width * height; ++i) CHECK(result[i] == image[i]);
  HIP(hipDestroyTextureObject(texture));

  // Between two texels, at normalised coordinates; the last column meets the first.
  how.addressMode[0] = how.addressMode[1] = hipAddressModeWrap;
  how.filterMode = hipFilterModeLinear;
  how.normalizedCoords = 1;
  HIP(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  halfway<<<dim3(2, height), 64>>>(texture, out, width, height);
  HIP(hipMemcpy(result.data(), out, width * height * sizeof(float), hipMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const float a = image[y * width + x], b = image[y * width + (x + 1) % width];
      CHECK(std::fabs(result[y * width + x] - (a + b) / 2) <= std::fabs(a - b) / 128 + 1e-3f);
    }
  HIP(hipDestroyTextureObject(texture));
  HIP(hipFreeArray(array));

  const int n = 10000;
  std::vector<int> numbers(n), fetched(n);
  for (int i = 0; i < n; ++i) numbers[i] = i * i;
  int *linear, *ints;
  HIP(hipMalloc(&linear, n * sizeof(int)));
  HIP(hipMalloc(&ints, n * sizeof(int)));
  HIP(hipMemcpy(linear, numbers.data(), n * sizeof(int), hipMemcpyHostToDevice));
  hipResourceDesc buffer = {};
  buffer.resType = hipResourceTypeLinear;
  buffer.res.linear.devPtr = linear;
  buffer.res.linear.desc = hipCreateChannelDesc<int>();
  buffer.res.linear.sizeInBytes = n * sizeof(int);
  hipTextureDesc plain = {};
  plain.readMode = hipReadModeElementType;
  HIP(hipCreateTextureObject(&texture, &buffer, &plain, nullptr));
  fetch<<<(n + 255) / 256, 256>>>(texture, ints, n);
  HIP(hipMemcpy(fetched.data(), ints, n * sizeof(int), hipMemcpyDeviceToHost));
  CHECK(fetched == numbers);
  HIP(hipDestroyTextureObject(texture));

  hipArray *source, *target;
  HIP(hipMallocArray(&source, &format, width, height));
  HIP(hipMallocArray(&target, &format, width, height));
  HIP(hipMemcpy2DToArray(source, 0, 0, image.data(), width * sizeof(float), width * sizeof(float), height,
                         hipMemcpyHostToDevice));
  hipSurfaceObject_t from, to;
  resource.res.array.array = source;
  HIP(hipCreateSurfaceObject(&from, &resource));
  resource.res.array.array = target;
  HIP(hipCreateSurfaceObject(&to, &resource));
  invert<<<dim3(2, height), 64>>>(from, to, width);
  HIP(hipMemcpy2DFromArray(result.data(), width * sizeof(float), target, 0, 0, width * sizeof(float), height,
                           hipMemcpyDeviceToHost));
  for (int i = 0; i < width * height; ++i) CHECK(result[i] == -image[i]);
}
