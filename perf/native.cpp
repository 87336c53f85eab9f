// Compiled with -O3 -march=native -ffast-math (perf/CMakeLists.txt), so that the compiler may vectorise reductions and
// use its vector math library, as GPU code does.
#include "native.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "native_divergent.h"
#include "native_images.h"

namespace wavejit::perf {
namespace {

using kernels::Buffer;
using kernels::KernelCase;
void vector_add(const KernelCase&, Buffers& buffers) {
  const float* __restrict a = buffers[0].as<float>().data();
  const float* __restrict b = buffers[1].as<float>().data();
  float* __restrict out = buffers[2].as<float>().data();
  const size_t n = buffers[2].as<float>().size();
  for (size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

void triad(const KernelCase& c, Buffers& buffers) {
  float* __restrict a = buffers[0].as<float>().data();
  const float* __restrict b = buffers[1].as<float>().data();
  const float* __restrict x = buffers[2].as<float>().data();
  const float s = scalar<float>(c, 3);
  const size_t n = buffers[0].as<float>().size();
  for (size_t i = 0; i < n; ++i) a[i] = b[i] + s * x[i];
}

void saxpy(const KernelCase& c, Buffers& buffers) {
  const float* __restrict x = buffers[0].as<float>().data();
  float* __restrict y = buffers[1].as<float>().data();
  const float a = scalar<float>(c, 2);
  const size_t n = buffers[1].as<float>().size();
  for (size_t i = 0; i < n; ++i) y[i] = std::fma(a, x[i], y[i]);
}

// Blocked over k and rows so that it runs from the caches; the inner loop is contiguous.
void multiply(const float* __restrict a, const float* __restrict b, float* __restrict out, uint32_t m, uint32_t n,
              uint32_t k, float alpha) {
  constexpr uint32_t kBlock = 64;
  for (uint32_t k0 = 0; k0 < k; k0 += kBlock) {
    const uint32_t k1 = std::min(k, k0 + kBlock);
    uint32_t row = 0;
    for (; row + 4 <= m; row += 4) {
      float* __restrict r0 = out + size_t{row} * n;
      float* __restrict r1 = r0 + n;
      float* __restrict r2 = r1 + n;
      float* __restrict r3 = r2 + n;
      for (uint32_t i = k0; i < k1; ++i) {
        const float* __restrict line = b + size_t{i} * n;
        const float x0 = alpha * a[size_t{row} * k + i], x1 = alpha * a[size_t{row + 1} * k + i];
        const float x2 = alpha * a[size_t{row + 2} * k + i], x3 = alpha * a[size_t{row + 3} * k + i];
        for (uint32_t col = 0; col < n; ++col) {
          r0[col] += x0 * line[col];
          r1[col] += x1 * line[col];
          r2[col] += x2 * line[col];
          r3[col] += x3 * line[col];
        }
      }
    }
    for (; row < m; ++row)
      for (uint32_t i = k0; i < k1; ++i)
        for (uint32_t col = 0; col < n; ++col)
          out[size_t{row} * n + col] += alpha * a[size_t{row} * k + i] * b[size_t{i} * n + col];
  }
}

void sgemm_naive(const KernelCase& c, Buffers& buffers) {
  const float beta = scalar<float>(c, 6);
  for (float& v : buffers[2].as<float>()) v *= beta;
  multiply(buffers[0].as<float>().data(), buffers[1].as<float>().data(), buffers[2].as<float>().data(),
           scalar<uint32_t>(c, 0), scalar<uint32_t>(c, 1), scalar<uint32_t>(c, 2), scalar<float>(c, 3));
}

void sgemm(const KernelCase& c, Buffers& buffers) {
  const uint32_t n = scalar<uint32_t>(c, 0), k = scalar<uint32_t>(c, 1);
  const uint32_t m = static_cast<uint32_t>(buffers[2].as<float>().size() / n);
  std::fill(buffers[2].as<float>().begin(), buffers[2].as<float>().end(), 0.0f);
  multiply(buffers[0].as<float>().data(), buffers[1].as<float>().data(), buffers[2].as<float>().data(), m, n, k, 1.0f);
}

void transpose(const KernelCase& c, Buffers& buffers) {
  const float* __restrict in = buffers[0].as<float>().data();
  float* __restrict out = buffers[1].as<float>().data();
  const uint32_t width = scalar<uint32_t>(c, 2), height = scalar<uint32_t>(c, 3);
  for (uint32_t y0 = 0; y0 < height; y0 += 16)
    for (uint32_t x0 = 0; x0 < width; x0 += 16)
      for (uint32_t x = x0; x < std::min(width, x0 + 16); ++x)
        for (uint32_t y = y0; y < std::min(height, y0 + 16); ++y)
          out[size_t{x} * height + y] = in[size_t{y} * width + x];
}

void spmv_csr(const KernelCase& c, Buffers& buffers) {
  const uint32_t* __restrict start = buffers[0].as<uint32_t>().data();
  const uint32_t* __restrict columns = buffers[1].as<uint32_t>().data();
  const float* __restrict values = buffers[2].as<float>().data();
  const float* __restrict x = buffers[3].as<float>().data();
  float* __restrict y = buffers[4].as<float>().data();
  const uint32_t rows = scalar<uint32_t>(c, 5);
  for (uint32_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (uint32_t i = start[row]; i < start[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
  }
}

void nbody(const KernelCase& c, Buffers& buffers) {
  const float* __restrict p = buffers[0].as<float>().data();
  const float* __restrict v = buffers[1].as<float>().data();
  float* __restrict new_p = buffers[2].as<float>().data();
  float* __restrict new_v = buffers[3].as<float>().data();
  const uint32_t n = scalar<uint32_t>(c, 4);
  const float dt = scalar<float>(c, 5), softening2 = scalar<float>(c, 6);
  // Structure of arrays: the shape the compiler vectorises.
  std::vector<float> xs(n), ys(n), zs(n), ms(n);
  for (uint32_t i = 0; i < n; ++i) {
    xs[i] = p[4 * i];
    ys[i] = p[4 * i + 1];
    zs[i] = p[4 * i + 2];
    ms[i] = p[4 * i + 3];
  }
  const float* __restrict x = xs.data(), * __restrict y = ys.data(), * __restrict z = zs.data(), * __restrict m = ms.data();
  for (uint32_t i = 0; i < n; ++i) {
    float ax = 0, ay = 0, az = 0;
    for (uint32_t j = 0; j < n; ++j) {
      const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      const float inverse = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + softening2);
      const float s = m[j] * inverse * inverse * inverse;
      ax += s * dx;
      ay += s * dy;
      az += s * dz;
    }
    const float acceleration[3] = {ax, ay, az};
    for (int k = 0; k < 3; ++k) {
      new_v[4 * i + k] = v[4 * i + k] + acceleration[k] * dt;
      new_p[4 * i + k] = p[4 * i + k] + new_v[4 * i + k] * dt;
    }
    new_v[4 * i + 3] = v[4 * i + 3];
    new_p[4 * i + 3] = p[4 * i + 3];
  }
}

inline float normal_cdf(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
  const float poly =
      k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float tail = 0.39894228040143267794f * std::exp(-0.5f * d * d) * poly;
  return d > 0.0f ? 1.0f - tail : tail;
}

void black_scholes(const KernelCase& c, Buffers& buffers) {
  const float* __restrict spot = buffers[0].as<float>().data();
  const float* __restrict strike = buffers[1].as<float>().data();
  const float* __restrict years = buffers[2].as<float>().data();
  float* __restrict call = buffers[3].as<float>().data();
  float* __restrict put = buffers[4].as<float>().data();
  const float rate = scalar<float>(c, 5), volatility = scalar<float>(c, 6);
  const uint32_t n = scalar<uint32_t>(c, 7);
  for (uint32_t i = 0; i < n; ++i) {
    const float s = spot[i], x = strike[i], t = years[i];
    const float root = std::sqrt(t);
    const float d1 = (std::log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    const float d2 = d1 - volatility * root;
    const float c1 = normal_cdf(d1), c2 = normal_cdf(d2);
    const float discounted = x * std::exp(-rate * t);
    call[i] = s * c1 - discounted * c2;
    put[i] = discounted * (1.0f - c2) - s * (1.0f - c1);
  }
}

void stencil_f64(const KernelCase& c, Buffers& buffers) {
  const double* __restrict in = buffers[0].as<double>().data();
  double* __restrict out = buffers[1].as<double>().data();
  const size_t nx = scalar<uint32_t>(c, 2), ny = scalar<uint32_t>(c, 3), nz = scalar<uint32_t>(c, 4);
  const double c0 = scalar<double>(c, 5), c1 = scalar<double>(c, 6);
  std::memcpy(out, in, nx * ny * nz * sizeof(double));
  for (size_t z = 1; z + 1 < nz; ++z)
    for (size_t y = 1; y + 1 < ny; ++y) {
      const size_t row = (z * ny + y) * nx;
      for (size_t i = row + 1; i < row + nx - 1; ++i)
        out[i] =
            c0 * in[i] + c1 * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny]);
    }
}

void philox(const KernelCase& c, Buffers& buffers) {
  uint32_t* __restrict numbers = buffers[0].as<uint32_t>().data();
  uint32_t* __restrict inside = buffers[1].as<uint32_t>().data();
  const auto seed = scalar<std::array<uint32_t, 2>>(c, 2);
  const uint32_t rounds = scalar<uint32_t>(c, 3);
  const uint32_t n = static_cast<uint32_t>(buffers[1].as<uint32_t>().size());
  for (uint32_t i = 0; i < n; ++i) inside[i] = 0;
  for (uint32_t r = 0; r < rounds; ++r) {
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t x0 = i, x1 = r, x2 = 0xdecafbadu, x3 = 7u, k0 = seed[0], k1 = seed[1];
      for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = uint64_t{0xD2511F53u} * x0, p1 = uint64_t{0xCD9E8D57u} * x2;
        const uint32_t y0 = static_cast<uint32_t>(p1 >> 32) ^ x1 ^ k0, y2 = static_cast<uint32_t>(p0 >> 32) ^ x3 ^ k1;
        x1 = static_cast<uint32_t>(p1);
        x3 = static_cast<uint32_t>(p0);
        x0 = y0;
        x2 = y2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
      }
      const float a = static_cast<float>(x0 >> 8) * 0x1p-24f, b = static_cast<float>(x1 >> 8) * 0x1p-24f;
      inside[i] += std::fma(a, a, b * b) < 1.0f ? 1 : 0;
      numbers[4 * i] = x0;
      numbers[4 * i + 1] = x1;
      numbers[4 * i + 2] = x2;
      numbers[4 * i + 3] = x3;
    }
  }
}

void convolution3x3(const KernelCase& c, Buffers& buffers) {
  const float* __restrict in = buffers[0].as<float>().data();
  float* __restrict out = buffers[1].as<float>().data();
  const float* __restrict weights = buffers[2].as<float>().data();
  const int width = scalar<int>(c, 3), height = scalar<int>(c, 4);
  float w[9];
  std::copy(weights, weights + 9, w);
  auto slow = [&](int x, int y) {
    float sum = 0;
    for (int k = 0; k < 9; ++k) {
      const int yy = std::clamp(y + k / 3 - 1, 0, height - 1), xx = std::clamp(x + k % 3 - 1, 0, width - 1);
      sum += w[k] * in[static_cast<size_t>(yy) * static_cast<size_t>(width) + static_cast<size_t>(xx)];
    }
    out[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)] = sum;
  };
  for (int y = 0; y < height; ++y) {
    if (y == 0 || y == height - 1) {
      for (int x = 0; x < width; ++x) slow(x, y);
      continue;
    }
    slow(0, y);
    slow(width - 1, y);
    const float* __restrict p = in + static_cast<ptrdiff_t>(y) * width;
    float* __restrict q = out + static_cast<ptrdiff_t>(y) * width;
    for (int x = 1; x < width - 1; ++x)
      q[x] = w[0] * p[x - width - 1] + w[1] * p[x - width] + w[2] * p[x - width + 1] + w[3] * p[x - 1] + w[4] * p[x] +
             w[5] * p[x + 1] + w[6] * p[x + width - 1] + w[7] * p[x + width] + w[8] * p[x + width + 1];
  }
}

void histogram(const KernelCase&, Buffers& buffers) {
  const std::vector<uint8_t>& bytes = buffers[0].bytes;
  uint32_t counts[4][256] = {};  // four tables, so that equal neighbours do not wait for each other
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4)
    for (size_t k = 0; k < 4; ++k) ++counts[k][bytes[i + k]];
  for (size_t b = 0; b < 256; ++b)
    buffers[1].as<uint32_t>()[b] += counts[0][b] + counts[1][b] + counts[2][b] + counts[3][b];
}

void reduction(const KernelCase&, Buffers& buffers) {
  float sum = 0, largest = -1e30f;
  const auto values = std::as_const(buffers[0]).as<float>(), others = std::as_const(buffers[1]).as<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    largest = std::max(largest, others[i]);
  }
  buffers[4].as<float>()[0] = sum;
  buffers[5].as<float>()[0] = largest;
}

constexpr uint32_t kScanBlock = 512;

// Exclusive prefix sums of 512 numbers as the kernel makes them: up a tree of sums and down again. Returns the total.
uint32_t scan_block(uint32_t* __restrict data) {
  uint32_t offset = 1;
  for (uint32_t d = kScanBlock / 2; d > 0; d >>= 1, offset <<= 1)
    for (uint32_t i = 0; i < d; ++i) data[offset * (2 * i + 2) - 1] += data[offset * (2 * i + 1) - 1];
  const uint32_t total = data[kScanBlock - 1];
  data[kScanBlock - 1] = 0;
  for (uint32_t d = 1; d < kScanBlock; d <<= 1) {
    offset >>= 1;
    for (uint32_t i = 0; i < d; ++i) {
      const uint32_t left = offset * (2 * i + 1) - 1, right = offset * (2 * i + 2) - 1;
      const uint32_t t = data[left];
      data[left] = data[right];
      data[right] += t;
    }
  }
  return total;
}

void scan_blocks(std::span<const uint32_t> in, std::span<uint32_t> out, std::span<uint32_t> totals) {
  for (size_t base = 0, block = 0; base < in.size(); base += kScanBlock, ++block) {
    const size_t count = std::min<size_t>(kScanBlock, in.size() - base);
    uint32_t data[kScanBlock] = {};
    std::copy_n(in.data() + base, count, data);
    totals[block] = scan_block(data);
    std::copy_n(data, count, out.data() + base);
  }
}

// Block by block, then the totals of the blocks, then their addition: the kernel's algorithm.
void scan(const KernelCase&, Buffers& buffers) {
  const auto out = buffers[1].as<uint32_t>(), offsets = buffers[3].as<uint32_t>();
  scan_blocks(std::as_const(buffers[0]).as<uint32_t>(), out, buffers[2].as<uint32_t>());
  scan_blocks(std::as_const(buffers[2]).as<uint32_t>(), offsets, buffers[4].as<uint32_t>());
  for (size_t i = 0; i < out.size(); ++i) out[i] += offsets[i / kScanBlock];
}

void scan_serial(const KernelCase&, Buffers& buffers) {
  uint32_t sum = 0;
  const auto in = std::as_const(buffers[0]).as<uint32_t>();
  const auto out = buffers[1].as<uint32_t>();
  for (size_t i = 0; i < in.size(); ++i) {
    out[i] = sum;
    sum += in[i];
  }
  buffers[4].as<uint32_t>()[0] = sum;
}

void hash(const KernelCase& c, Buffers& buffers) {
  const uint32_t* __restrict in = buffers[0].as<uint32_t>().data();
  uint32_t* __restrict out32 = buffers[1].as<uint32_t>().data();
  uint64_t* __restrict out64 = buffers[2].as<uint64_t>().data();
  const uint32_t n = scalar<uint32_t>(c, 3);
  auto rotl32 = [](uint32_t v, int by) { return (v << by) | (v >> (32 - by)); };
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t h = 0x2a;
    uint64_t acc = 0x27d4eb2f165667c5u + i;
    for (uint32_t k = 0; k < 8; ++k) {
      uint32_t index = i + k * 97;
      index = index >= n ? index - n : index;
      const uint32_t w = in[index];
      h = rotl32(h ^ (rotl32(w * 0xcc9e2d51u, 15) * 0x1b873593u), 13) * 5 + 0xe6546b64u;
      acc ^= uint64_t{w} * 0x9e3779b185ebca87u;
      acc = ((acc << 23) | (acc >> 41)) * 0xc2b2ae3d27d4eb4fu + 0x165667b19e3779f9u;
    }
    h ^= 32;
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    out32[i] = h ^ (h >> 16);
    acc = (acc ^ (acc >> 33)) * 0xc2b2ae3d27d4eb4fu;
    out64[i] = acc ^ (acc >> 29);
  }
}

constexpr std::pair<std::string_view, NativeFunction> kFunctions[] = {
    {"vector_add", vector_add},
    {"triad", triad},
    {"asm_saxpy", saxpy},
    {"sgemm_naive", sgemm_naive},
    {"sgemm_tiled", sgemm},
    {"sgemm_blocked", sgemm},
    {"transpose", transpose},
    {"spmv_csr", spmv_csr},
    {"nbody", nbody},
    {"black_scholes", black_scholes},
    {"stencil_f64", stencil_f64},
    {"philox", philox},
    {"convolution3x3", convolution3x3},
    {"histogram", histogram},
    {"reduction", reduction},
    {"scan", scan},
    {"hash", hash},
    {"nqueens", nqueens},
    {"tree_lookup", tree_lookup},
    {"hash_lookup", hash_lookup},
    {"string_match", string_match},
    {"union_find", union_find},
    {"bvh_trace", bvh_trace},
    {"lds_tile", lds_tile},
    {"lz_decode", lz_decode},
    {"row_hash", row_hash},
    {"sptrsv", sptrsv},
    {"byte_code", byte_code},
    {"quadrature", quadrature},
    {"rejection", rejection},
    {"edit_distance", edit_distance},
    {"image_warp", image_warp},
    {"image_sharpen", image_sharpen},
    {"image_shadow", image_shadow},
    {"image_gradient", image_gradient},
};

}  // namespace

NativeFunction native_serial_function(std::string_view case_name) {
  return case_name == "scan" ? scan_serial : nullptr;
}

NativeFunction native_function(std::string_view case_name) {
  for (const auto& [name, function] : kFunctions)
    if (name == case_name) return function;
  return nullptr;
}

}  // namespace wavejit::perf
