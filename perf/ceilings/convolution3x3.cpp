// kRows rows of output at a time, so that a row of input serves three of them from one set of loads. The neighbours to
// the left and right are shifted in from the registers next to it: loads stay within cache lines.
#include <algorithm>

#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {
namespace {

constexpr int kRows = 4;

struct Image {
  const float* in;
  float* out;
  int width, height;
  const float* weights;

  [[nodiscard]] const float* row(int y) const {
    return in + static_cast<ptrdiff_t>(std::clamp(y, 0, height - 1)) * width;
  }

  void pixel(int x, int y) const {
    float total = 0;
    for (int k = 0; k < 9; ++k) total += weights[k] * row(y + k / 3 - 1)[std::clamp(x + k % 3 - 1, 0, width - 1)];
    out[static_cast<ptrdiff_t>(y) * width + x] = total;
  }

  // What is left and right of the vector at x of a row, the edges repeated.
  static F left_of(const float* row, int x) { return x == 0 ? splat(row[0]) : load(row + x - kLanes); }
  [[nodiscard]] F right_of(const float* row, int x) const {
    const int next = x + kLanes;
    if (next + kLanes <= width) return load(row + next);
    return next < width ? load_first(row + next, width - next) : splat(row[width - 1]);
  }

  template <typename Left, typename Right>
  inline __attribute__((always_inline)) void vectors(int x, int y, const F (&w)[9], const Left& left,
                                                     const Right& right) const {
    F sums[kRows];
#pragma GCC unroll 6
    for (int r = 0; r < kRows + 2; ++r) {
      const float* const line = row(y + r - 1);
      const F v = load(line + x);
      const F a = with_left(left(line, x), v), b = with_right(v, right(line, x));
#pragma GCC unroll 3
      for (int k = 0; k < 3; ++k) {
        const int to = r - k;  // as line k of its window
        if (to < 0 || to >= kRows) continue;
        sums[to] = k == 0 ? w[0] * a : fma(w[3 * k], a, sums[to]);
        sums[to] = fma(w[3 * k + 1], v, sums[to]);
        sums[to] = fma(w[3 * k + 2], b, sums[to]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) store(out + static_cast<ptrdiff_t>(y + r) * width + x, sums[r]);
  }
};

}  // namespace

void convolution3x3(const CeilingData& data) {
  const Image image = {data.buffer<float>(0), data.buffer<float>(1), data.scalar<int>(3), data.scalar<int>(4),
                       data.buffer<float>(2)};
  F w[9];
  for (int k = 0; k < 9; ++k) w[k] = splat(image.weights[k]);
  const auto edge_left = [](const float* line, int x) { return Image::left_of(line, x); };
  const auto edge_right = [&](const float* line, int x) { return image.right_of(line, x); };
  const auto inner_left = [](const float* line, int x) { return load(line + x - kLanes); };
  const auto inner_right = [](const float* line, int x) { return load(line + x + kLanes); };
  const int whole = image.width / kLanes * kLanes;
  int y = 0;
  for (; y + kRows <= image.height; y += kRows) {
    int x = 0;
    for (; x < std::min(whole, kLanes); x += kLanes) image.vectors(x, y, w, edge_left, edge_right);
    for (; x + 2 * kLanes <= whole; x += kLanes) image.vectors(x, y, w, inner_left, inner_right);
    for (; x < whole; x += kLanes) image.vectors(x, y, w, edge_left, edge_right);
    for (; x < image.width; ++x)
      for (int r = 0; r < kRows; ++r) image.pixel(x, y + r);
  }
  for (; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) image.pixel(x, y);
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
