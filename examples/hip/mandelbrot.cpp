// The Mandelbrot set as a PNG file: mandelbrot [FILE [WIDTH HEIGHT]]
#include <png.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kMost = 500;  // iterations

// How many iterations the point takes to leave the circle of radius 2. Products and sums are rounded one by one, on the
// device as on the host, so that both see the same picture.
__host__ __device__ int iterations(int px, int py, int width, int height) {
#pragma clang fp contract(off)
  const double scale = 2.4 / height;
  const double cx = -0.7 + (px - width / 2) * scale, cy = (py - height / 2) * scale;
  double x = 0, y = 0;
  int i = 0;
  while (i < kMost && x * x + y * y <= 4) {
    const double next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    ++i;
  }
  return i;
}

__global__ void mandelbrot(int* counts, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) counts[y * width + x] = iterations(x, y, width, height);
}

unsigned char shade(double phase) {
  return static_cast<unsigned char>(127.5 - 127.5 * std::cos(phase));
}

int main(int argc, char** argv) {
  const char* const file = argc > 1 ? argv[1] : "mandelbrot.png";
  const int width = argc > 3 ? std::atoi(argv[2]) : 1200, height = argc > 3 ? std::atoi(argv[3]) : 800;
  if (width < 1 || height < 1 || width > 16384 || height > 16384) {
    std::fprintf(stderr, "usage: mandelbrot [FILE [WIDTH HEIGHT]], at most 16384 each\n");
    return 2;
  }
  const size_t pixels = static_cast<size_t>(width) * height;
  std::vector<int> counts(pixels);
  int* device;
  HIP(hipMalloc(&device, pixels * sizeof(int)));
  const dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
  mandelbrot<<<grid, block>>>(device, width, height);
  HIP(hipGetLastError());
  HIP(hipMemcpy(counts.data(), device, pixels * sizeof(int), hipMemcpyDeviceToHost));
  HIP(hipFree(device));

  std::vector<unsigned char> image(3 * pixels);
  for (size_t i = 0; i < pixels; ++i) {
    if (counts[i] == kMost) continue;  // of the set: black
    const double t = std::sqrt(counts[i]) * 0.6;
    image[3 * i] = shade(t);
    image[3 * i + 1] = shade(t + 0.7);
    image[3 * i + 2] = shade(t + 1.6);
  }
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(width);
  png.height = static_cast<png_uint_32>(height);
  png.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&png, file, 0, image.data(), 0, nullptr)) {
    std::fprintf(stderr, "%s: %s\n", file, png.message);
    return 1;
  }

  // Every 7th point again, on the host.
  size_t wrong = 0;
  for (size_t i = 0; i < pixels; i += 7)
    wrong += counts[i] != iterations(static_cast<int>(i % width), static_cast<int>(i / width), width, height);
  std::printf("%s: %d x %d, %zu of %zu points differ from the host's\n", file, width, height, wrong, (pixels + 6) / 7);
  return wrong == 0 ? 0 : 1;
}
