// Lanes are bodies that are pulled, kVectors registers of them at a time; those that pull come one after the other as
// broadcasts. 1 / r^3 from the estimate of 1 / r: with e = 1 - r^2 y^2, it is y^3 (1 + 1.5 e) to e^2.
#include <algorithm>
#include <vector>

#include "ceilings/ceilings.h"
#include "ceilings/simd.h"

namespace wavejit::perf::WAVEJIT_CEILING {
namespace {

constexpr size_t kVectors = 2;

struct Body {
  float x, y, z, mass, mass15;  // 1.5 * mass
};

struct Pull {
  F x, y, z;
};

void pull(const Body* bodies, size_t n, const F (&x)[kVectors], const F (&y)[kVectors], const F (&z)[kVectors],
          float softening, Pull (&result)[kVectors]) {
  F ax[kVectors], ay[kVectors], az[kVectors];
  for (size_t v = 0; v < kVectors; ++v) ax[v] = ay[v] = az[v] = splat(0.0f);
  const F softening2 = splat(softening);
  for (const Body* body = bodies; body != bodies + n; ++body) {
    const F bx = splat(body->x), by = splat(body->y), bz = splat(body->z);
    const F mass = splat(body->mass), mass15 = splat(body->mass15);
    for (size_t v = 0; v < kVectors; ++v) {
      const F dx = bx - x[v], dy = by - y[v], dz = bz - z[v];
      const F r2 = fma(dx, dx, fma(dy, dy, fma(dz, dz, softening2)));
      const F inverse = rsqrt_estimate(r2);
      const F square = inverse * inverse;
      const F error = fnma(r2, square, splat(1.0f));
      const F s = fma(error, mass15, mass) * (inverse * square);
      ax[v] = fma(s, dx, ax[v]);
      ay[v] = fma(s, dy, ay[v]);
      az[v] = fma(s, dz, az[v]);
    }
  }
  for (size_t v = 0; v < kVectors; ++v) result[v] = {ax[v], ay[v], az[v]};
}

}  // namespace

void nbody(const CeilingData& data) {
  const float* const p = data.buffer<float>(0);
  const float* const velocity = data.buffer<float>(1);
  float* const new_p = data.buffer<float>(2);
  float* const new_velocity = data.buffer<float>(3);
  const size_t n = data.scalar<uint32_t>(4);
  const float dt = data.scalar<float>(5), softening2 = data.scalar<float>(6);
  constexpr size_t kBlock = kVectors * kLanes;
  const size_t padded = (n + kBlock - 1) / kBlock * kBlock;
  std::vector<Body> bodies(n);
  std::vector<float> xs(padded), ys(padded), zs(padded);
  for (size_t i = 0; i < n; ++i) {
    bodies[i] = {p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3], 1.5f * p[4 * i + 3]};
    xs[i] = p[4 * i];
    ys[i] = p[4 * i + 1];
    zs[i] = p[4 * i + 2];
  }
  for (size_t i = 0; i < n; i += kBlock) {
    F x[kVectors], y[kVectors], z[kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      x[v] = load(&xs[i + v * kLanes]);
      y[v] = load(&ys[i + v * kLanes]);
      z[v] = load(&zs[i + v * kLanes]);
    }
    Pull pulls[kVectors];
    pull(bodies.data(), n, x, y, z, softening2, pulls);
    float a[3][kBlock];
    for (size_t v = 0; v < kVectors; ++v) {
      store(&a[0][v * kLanes], pulls[v].x);
      store(&a[1][v * kLanes], pulls[v].y);
      store(&a[2][v * kLanes], pulls[v].z);
    }
    for (size_t lane = 0; lane < std::min(kBlock, n - i); ++lane) {
      const size_t at = 4 * (i + lane);
      for (size_t k = 0; k < 3; ++k) {
        new_velocity[at + k] = velocity[at + k] + a[k][lane] * dt;
        new_p[at + k] = p[at + k] + new_velocity[at + k] * dt;
      }
      new_velocity[at + 3] = velocity[at + 3];
      new_p[at + 3] = p[at + 3];
    }
  }
}

}  // namespace wavejit::perf::WAVEJIT_CEILING
