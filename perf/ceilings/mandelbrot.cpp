// A register holds a tile of 4 x 4 (AVX2: 4 x 2) pixels, whose iteration counts are alike. Several tiles are iterated
// in turn, since one alone is a chain of dependent operations; where all pixels of a tile have escaped, the next tile
// takes its place at once.
#include <algorithm>
#include <cstring>

#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {
namespace {

constexpr int kSlots = kWide ? 4 : 3;
constexpr uint32_t kBatch = 8;  // iterations between looks at the masks
constexpr uint32_t kTileWidth = 4, kTileHeight = kLanes / kTileWidth;

struct Picture {
  uint32_t* image;
  uint32_t width, height, limit, columns, tiles;  // columns of tiles
  float center_x, center_y, scale;
  alignas(64) float lane_x[kLanes], lane_y[kLanes];

  void coordinates(uint32_t tile, F& cx, F& cy) const {
    const F x = splat(static_cast<float>(tile % columns * kTileWidth)) + load(lane_x);
    const F y = splat(static_cast<float>(tile / columns * kTileHeight)) + load(lane_y);
    cx = splat(center_x) + (x - splat(0.5f * static_cast<float>(width))) * splat(scale);
    cy = splat(center_y) + (y - splat(0.5f * static_cast<float>(height))) * splat(scale);
  }

  void write(uint32_t tile, I n) const {
    const I steps = min_unsigned(n, splat(limit));
    const I t = both(mul(steps, splat(11u)), splat(511u));
    const I ramp = min_unsigned(t, sub(splat(511u), t));
    const I red = shr<8>(mul(ramp, ramp)), green = shr<2>(mul(ramp, splat(3u))), blue = sub(splat(255u), shr<1>(ramp));
    const I opaque = splat(0xff000000u);
    const I colour = either(either(red, shl<8>(green)), either(shl<16>(blue), opaque));
    alignas(64) uint32_t pixels[kLanes];
    store(pixels, select_below(steps, splat(limit), colour, opaque));
    const uint32_t x = tile % columns * kTileWidth, y = tile / columns * kTileHeight;
    if (x + kTileWidth <= width && y + kTileHeight <= height) {
      for (uint32_t row = 0; row < kTileHeight; ++row)
        std::memcpy(image + size_t{y + row} * width + x, pixels + row * kTileWidth, 4 * kTileWidth);
      return;
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t px = x + lane % kTileWidth, py = y + lane / kTileWidth;
      if (px < width && py < height) image[size_t{py} * width + px] = pixels[lane];
    }
  }
};

}  // namespace

void mandelbrot(const CeilingData& data) {
  Picture picture{};
  picture.image = data.buffer<uint32_t>(0);
  picture.width = data.scalar<uint32_t>(1);
  picture.height = data.scalar<uint32_t>(2);
  picture.center_x = data.scalar<float>(3);
  picture.center_y = data.scalar<float>(4);
  picture.scale = data.scalar<float>(5);
  picture.limit = data.scalar<uint32_t>(6);
  picture.columns = (picture.width + kTileWidth - 1) / kTileWidth;
  picture.tiles = picture.columns * ((picture.height + kTileHeight - 1) / kTileHeight);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    picture.lane_x[lane] = static_cast<float>(lane % kTileWidth);
    picture.lane_y[lane] = static_cast<float>(lane / kTileWidth);
  }

  F cx[kSlots], cy[kSlots], zx[kSlots], zy[kSlots];
  I n[kSlots];
  M inside[kSlots];
  uint32_t tile[kSlots], steps[kSlots], next = 0, busy = 0;
#pragma GCC unroll 4
  for (int s = 0; s < kSlots; ++s) {
    tile[s] = next++;
    steps[s] = 0;
    picture.coordinates(tile[s], cx[s], cy[s]);
    zx[s] = zy[s] = splat(0.0f);
    n[s] = splat(0u);
    inside[s] = all_lanes();
    ++busy;
  }
  const F four = splat(4.0f), two = splat(2.0f);
  while (busy != 0) {
    for (uint32_t k = 0; k < kBatch; ++k) {
#pragma GCC unroll 4
      for (int s = 0; s < kSlots; ++s) {
        const F xx = zx[s] * zx[s], yy = zy[s] * zy[s], xy = zx[s] * zy[s];
        inside[s] = and_not_above(inside[s], xx + yy, four);
        n[s] = count(n[s], inside[s]);
        zy[s] = fma(two, xy, cy[s]);  // the product is exact: as good as rounding twice
        zx[s] = xx - yy + cx[s];
      }
    }
#pragma GCC unroll 4
    for (int s = 0; s < kSlots; ++s) {
      steps[s] += kBatch;
      if ((any(inside[s]) && steps[s] < picture.limit) || tile[s] >= picture.tiles) continue;
      picture.write(tile[s], n[s]);
      tile[s] = next++;
      if (tile[s] >= picture.tiles) {
        --busy;
        continue;
      }
      steps[s] = 0;
      picture.coordinates(tile[s], cx[s], cy[s]);
      zx[s] = zy[s] = splat(0.0f);
      n[s] = splat(0u);
      inside[s] = all_lanes();
    }
  }
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
