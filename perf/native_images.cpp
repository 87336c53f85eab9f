// Kernels with images, as loops over pixels in memory. Compiled with -O3 -march=native -ffast-math
// (perf/CMakeLists.txt).
#include "native_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace wavejit::perf {
namespace {

struct Footprint {
  int x[2], y[2];
  float right, down;
};

// Of a bilinear filter, clamped to the edges, at a position in pixels.
inline Footprint footprint(float u, float v, int width, int height) {
  const float x = std::floor(u - 0.5f), y = std::floor(v - 0.5f);
  const auto left = static_cast<int>(x), upper = static_cast<int>(y);
  return {{std::clamp(left, 0, width - 1), std::clamp(left + 1, 0, width - 1)},
          {std::clamp(upper, 0, height - 1), std::clamp(upper + 1, 0, height - 1)},
          u - 0.5f - x,
          v - 0.5f - y};
}

inline float mix(float a, float b, float weight) {
  return a + (b - a) * weight;
}

}  // namespace

void image_warp(const kernels::KernelCase& kernel_case, Buffers& buffers) {
  const auto steps = scalar<std::array<int, 4>>(kernel_case, 2);
  const auto start = scalar<std::array<int, 2>>(kernel_case, 3);
  const int width = scalar<int>(kernel_case, 4), height = scalar<int>(kernel_case, 5);
  const uint8_t* __restrict in = buffers[0].as<uint8_t>().data();
  uint8_t* __restrict out = buffers[1].as<uint8_t>().data();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const Footprint f =
          footprint(static_cast<float>(start[0] + steps[0] * x + steps[1] * y) * 0x1p-8f,
                    static_cast<float>(start[1] + steps[2] * x + steps[3] * y) * 0x1p-8f, width, height);
      const auto pixel = [&](int i, int j) { return in + (static_cast<size_t>(f.y[j]) * width + f.x[i]) * 4; };
      const uint8_t *a = pixel(0, 0), *b = pixel(1, 0), *c = pixel(0, 1), *d = pixel(1, 1);
      for (int k = 0; k < 4; ++k) {
        const float upper = mix(a[k], b[k], f.right), lower = mix(c[k], d[k], f.right);
        out[(static_cast<size_t>(y) * width + x) * 4 + k] = static_cast<uint8_t>(mix(upper, lower, f.down) + 0.5f);
      }
    }
}

void image_sharpen(const kernels::KernelCase& kernel_case, Buffers& buffers) {
  const auto amount = scalar<float>(kernel_case, 2);
  const int width = scalar<int>(kernel_case, 3), height = scalar<int>(kernel_case, 4);
  const float* __restrict in = buffers[0].as<float>().data();
  float* __restrict out = buffers[1].as<float>().data();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      float sum[4] = {};
      const auto pixel = [&](int dx, int dy) {
        return in +
               (static_cast<size_t>(std::clamp(y + dy, 0, height - 1)) * width + std::clamp(x + dx, 0, width - 1)) * 4;
      };
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const float* p = pixel(dx, dy);
          const auto weight = static_cast<float>((2 - std::abs(dx)) * (2 - std::abs(dy)));
          for (int k = 0; k < 4; ++k) sum[k] += weight * p[k];
        }
      const float* here = pixel(0, 0);
      float* to = out + (static_cast<size_t>(y) * width + x) * 4;
      for (int k = 0; k < 3; ++k) to[k] = here[k] + amount * (here[k] - sum[k] * 0.0625f);
      to[3] = here[3];
    }
}

void image_shadow(const kernels::KernelCase& kernel_case, Buffers& buffers) {
  const auto towards = scalar<std::array<int, 2>>(kernel_case, 2);
  const auto rise = scalar<float>(kernel_case, 3);
  const int steps = scalar<int>(kernel_case, 4);
  const int width = scalar<int>(kernel_case, 5), height = scalar<int>(kernel_case, 6);
  const float* __restrict heights = buffers[0].as<float>().data();
  float* __restrict light = buffers[1].as<float>().data();
  const auto sample = [&](float u, float v) {
    const Footprint f = footprint(u, v, width, height);
    const float *upper = heights + static_cast<size_t>(f.y[0]) * width,
                *lower = heights + static_cast<size_t>(f.y[1]) * width;
    return mix(mix(upper[f.x[0]], upper[f.x[1]], f.right), mix(lower[f.x[0]], lower[f.x[1]], f.right), f.down);
  };
  const float du = static_cast<float>(towards[0]) * 0x1p-8f, dv = static_cast<float>(towards[1]) * 0x1p-8f;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      float u = static_cast<float>(x) + 0.5f, v = static_cast<float>(y) + 0.5f;
      float ray = sample(u, v), covered = 0;
      for (int i = 0; i < steps; ++i) {
        u += du;
        v += dv;
        ray += rise;
        covered = std::max(covered, sample(u, v) - ray);
      }
      light[static_cast<size_t>(y) * width + x] = 1.0f / (1.0f + covered);
    }
}

void image_gradient(const kernels::KernelCase& kernel_case, Buffers& buffers) {
  const int width = scalar<int>(kernel_case, 2), height = scalar<int>(kernel_case, 3);
  const uint8_t* __restrict in = buffers[0].as<uint8_t>().data();
  uint8_t* __restrict out = buffers[1].as<uint8_t>().data();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      uint8_t least[4] = {255, 255, 255, 255}, most[4] = {};
      for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
          const uint8_t* p =
              in +
              (static_cast<size_t>(std::clamp(y + dy, 0, height - 1)) * width + std::clamp(x + dx, 0, width - 1)) * 4;
          for (int k = 0; k < 4; ++k) {
            least[k] = std::min(least[k], p[k]);
            most[k] = std::max(most[k], p[k]);
          }
        }
      for (int k = 0; k < 4; ++k)
        out[(static_cast<size_t>(y) * width + x) * 4 + k] = static_cast<uint8_t>(most[k] - least[k]);
    }
}

}  // namespace wavejit::perf
