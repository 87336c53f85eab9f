// Particles, finance, grids, transforms and random numbers.
#include <algorithm>
#include <complex>
#include <numbers>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {

KernelCase make_nbody(Size size) {
  const uint32_t n = size == Size::kTest ? 128 : 4096;
  const float dt = 0.01f, softening2 = 0.05f;
  std::vector<float> position = random_floats(size_t{n} * 4, -1, 1, 20);
  for (uint32_t i = 0; i < n; ++i) position[4 * i + 3] = 0.5f + 0.5f * std::abs(position[4 * i + 3]);
  std::vector<float> velocity = random_floats(size_t{n} * 4, -0.1, 0.1, 21);
  KernelCase c{.name = "nbody", .object = "nbody"};
  c.buffers = {make_buffer("pos", position), make_buffer("vel", velocity),
               filled_buffer("new_pos", size_t{n} * 4, 0.0f), filled_buffer("new_vel", size_t{n} * 4, 0.0f)};
  c.launches = {{.kernel = "nbody",
                 .global = {n, 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), scalar_arg(n), scalar_arg(dt),
                          scalar_arg(softening2)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    auto p = buffers[0].as<float>();
    auto v = buffers[1].as<float>();
    std::vector<double> want_p(size_t{n} * 4), want_v(size_t{n} * 4);
    for (uint32_t i = 0; i < n; ++i) {
      double a[3] = {};
      for (uint32_t j = 0; j < n; ++j) {
        double d[3], r2 = static_cast<double>(softening2);
        for (int k = 0; k < 3; ++k) {
          d[k] = static_cast<double>(p[4 * j + k]) - static_cast<double>(p[4 * i + k]);
          r2 += d[k] * d[k];
        }
        double s = static_cast<double>(p[4 * j + 3]) / (r2 * std::sqrt(r2));
        for (int k = 0; k < 3; ++k) a[k] += s * d[k];
      }
      for (int k = 0; k < 3; ++k) {
        want_v[4 * i + k] = static_cast<double>(v[4 * i + k]) + a[k] * static_cast<double>(dt);
        want_p[4 * i + k] = static_cast<double>(p[4 * i + k]) + want_v[4 * i + k] * static_cast<double>(dt);
      }
      want_v[4 * i + 3] = static_cast<double>(v[4 * i + 3]);
      want_p[4 * i + 3] = static_cast<double>(p[4 * i + 3]);
    }
    auto bound = [&](size_t i) { return 2e-5 * std::abs(want_v[i]) + 1e-7 * n; };
    return close<float>(buffers[2], want_p, bound, why) && close<float>(buffers[3], want_v, bound, why);
  };
  c.unit = "Ginteractions";
  c.work = 1e-9 * n * n;
  return c;
}

KernelCase make_black_scholes(Size size) {
  const uint32_t n = size == Size::kTest ? 300 : 1u << 19;
  const float rate = 0.02f, volatility = 0.30f;
  KernelCase c{.name = "black_scholes", .object = "black_scholes"};
  c.buffers = {make_buffer("spot", random_floats(n, 5, 30, 22)), make_buffer("strike", random_floats(n, 1, 100, 23)),
               make_buffer("years", random_floats(n, 0.25, 10, 24)), filled_buffer("call", n, -1.0f),
               filled_buffer("put", n, -1.0f)};
  c.launches = {{.kernel = "black_scholes",
                 .global = {round_up(n, 256), 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), buffer_arg(4), scalar_arg(rate),
                          scalar_arg(volatility), scalar_arg(n)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    // The exact normal distribution; the kernel's polynomial is good to 7.5e-8.
    auto cdf = [](double d) { return 0.5 * std::erfc(-d / std::numbers::sqrt2); };
    std::vector<double> call(n), put(n);
    for (uint32_t i = 0; i < n; ++i) {
      double s = static_cast<double>(buffers[0].as<float>()[i]), x = static_cast<double>(buffers[1].as<float>()[i]);
      double t = static_cast<double>(buffers[2].as<float>()[i]), r = static_cast<double>(rate),
             v = static_cast<double>(volatility);
      double d1 = (std::log(s / x) + (r + 0.5 * v * v) * t) / (v * std::sqrt(t));
      double d2 = d1 - v * std::sqrt(t);
      double discounted = x * std::exp(-r * t);
      call[i] = s * cdf(d1) - discounted * cdf(d2);
      put[i] = discounted * (1 - cdf(d2)) - s * (1 - cdf(d1));
    }
    auto bound = [](size_t) { return 8e-5; };
    return close<float>(buffers[3], call, bound, why) && close<float>(buffers[4], put, bound, why);
  };
  c.unit = "Moptions";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_stencil_f64(Size size) {
  const uint32_t nx = size == Size::kTest ? 21 : 128, ny = size == Size::kTest ? 10 : 128,
                 nz = size == Size::kTest ? 5 : 64;
  const double c0 = 0.4, c1 = 0.1;
  const size_t cells = size_t{nx} * ny * nz;
  KernelCase c{.name = "stencil_f64", .object = "stencil_f64"};
  c.buffers = {make_buffer("in", random_doubles(cells, -1, 1, 25)), filled_buffer("out", cells, 9.0)};
  c.launches = {{.kernel = "stencil_f64",
                 .global = {round_up(nx, 16), round_up(ny, 4), round_up(nz, 2)},
                 .local = {16, 4, 2},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(nx), scalar_arg(ny), scalar_arg(nz), scalar_arg(c0),
                          scalar_arg(c1)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    auto in = buffers[0].as<double>();
    std::vector<double> want(in.begin(), in.end());
    for (size_t z = 1; z + 1 < nz; ++z)
      for (size_t y = 1; y + 1 < ny; ++y)
        for (size_t x = 1; x + 1 < nx; ++x) {
          size_t i = (z * ny + y) * nx + x;
          want[i] = c0 * in[i] + c1 * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - size_t{nx} * ny] +
                                       in[i + size_t{nx} * ny]);
        }
    return close<double>(buffers[1], want, [](size_t) { return 1e-15; }, why);
  };
  c.unit = "Mcells";
  c.work = 1e-6 * static_cast<double>(cells);
  return c;
}

KernelCase make_jacobi_lds(Size size) {
  const uint32_t width = size == Size::kTest ? 32 : 512, height = size == Size::kTest ? 16 : 512;
  const uint32_t sweeps = size == Size::kTest ? 7 : 32;
  KernelCase c{.name = "jacobi_lds", .object = "jacobi_lds"};
  c.buffers = {make_buffer("in", random_floats(size_t{width} * height, 0, 1, 26)),
               filled_buffer("out", size_t{width} * height, 9.0f)};
  c.launches = {{.kernel = "jacobi_lds",
                 .global = {width, height, 1},
                 .local = {16, 16, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(width), scalar_arg(sweeps)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    auto in = buffers[0].as<float>();
    std::vector<double> want(in.size());
    for (uint32_t ty = 0; ty < height; ty += 16) {
      for (uint32_t tx = 0; tx < width; tx += 16) {
        double tile[2][18][18] = {};
        for (int y = 0; y < 16; ++y)
          for (int x = 0; x < 16; ++x) tile[0][y + 1][x + 1] = static_cast<double>(in[(ty + y) * width + tx + x]);
        for (uint32_t s = 0; s < sweeps; ++s)
          for (int y = 1; y <= 16; ++y)
            for (int x = 1; x <= 16; ++x)
              tile[(s + 1) & 1][y][x] = 0.25 * (tile[s & 1][y - 1][x] + tile[s & 1][y + 1][x] + tile[s & 1][y][x - 1] +
                                                tile[s & 1][y][x + 1]);
        for (int y = 0; y < 16; ++y)
          for (int x = 0; x < 16; ++x) want[(ty + y) * width + tx + x] = tile[sweeps & 1][y + 1][x + 1];
      }
    }
    return close<float>(buffers[1], want, [](size_t) { return 1e-6; }, why);
  };
  c.unit = "Mcells";
  c.work = 1e-6 * width * height * sweeps;
  return c;
}

KernelCase make_fft_lds(Size size) {
  constexpr uint32_t kPoints = 256;
  const uint32_t transforms = size == Size::kTest ? 3 : 2048;
  std::vector<float> twiddles;
  for (uint32_t j = 0; j < kPoints / 2; ++j) {
    double angle = -2 * std::numbers::pi * j / kPoints;
    twiddles.push_back(static_cast<float>(std::cos(angle)));
    twiddles.push_back(static_cast<float>(std::sin(angle)));
  }
  KernelCase c{.name = "fft_lds", .object = "fft_lds"};
  c.buffers = {make_buffer("data", random_floats(size_t{transforms} * kPoints * 2, -1, 1, 27)),
               make_buffer("twiddles", twiddles)};
  c.launches = {{.kernel = "fft_lds",
                 .global = {transforms * kPoints / 2, 1, 1},
                 .local = {kPoints / 2, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1)}}};
  c.check = [transforms, initial = c.buffers[0]](std::span<const Buffer> buffers, std::string* why) {
    // The definition, in O(n^2); of many transforms only some are checked.
    auto in = initial.as<float>();
    auto out = buffers[0].as<float>();
    std::vector<std::complex<double>> roots(kPoints);
    for (uint32_t j = 0; j < kPoints; ++j) roots[j] = std::polar(1.0, -2 * std::numbers::pi * j / kPoints);
    for (uint32_t t = 0; t < transforms; t += transforms > 64 ? 61 : 1) {
      for (uint32_t f = 0; f < kPoints; ++f) {
        std::complex<double> sum = 0;
        for (uint32_t x = 0; x < kPoints; ++x)
          sum += std::complex<double>(static_cast<double>(in[(t * kPoints + x) * 2]),
                                      static_cast<double>(in[(t * kPoints + x) * 2 + 1])) *
                 roots[f * x % kPoints];
        std::complex<double> got(static_cast<double>(out[(t * kPoints + f) * 2]),
                                 static_cast<double>(out[(t * kPoints + f) * 2 + 1]));
        if (!(std::abs(got - sum) <= 3e-5))
          return fail(why, fmt::format("transform {} frequency {}: {} {:+}i, expected {} {:+}i", t, f, got.real(),
                                       got.imag(), sum.real(), sum.imag()));
      }
    }
    return true;
  };
  c.unit = "GFLOP";
  c.work = 1e-9 * 5 * transforms * kPoints * 8;  // 5 n log2 n by convention
  return c;
}

KernelCase make_philox(Size size) {
  const uint32_t n = size == Size::kTest ? 256 : 65536, rounds = size == Size::kTest ? 3 : 32;
  const std::array<uint32_t, 2> seed = {0x12345678, 0x9abcdef0};
  KernelCase c{.name = "philox", .object = "philox"};
  c.buffers = {filled_buffer("numbers", size_t{n} * 4, 0u), filled_buffer("inside", n, 0u)};
  c.launches = {{.kernel = "philox",
                 .global = {n, 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(seed), scalar_arg(rounds)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> numbers(size_t{n} * 4), inside(n);
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t r = 0; r < rounds; ++r) {
        uint32_t x[4] = {i, r, 0xdecafbadu, 7u}, k[2] = {seed[0], seed[1]};
        for (int round = 0; round < 10; ++round) {
          uint64_t p0 = uint64_t{0xD2511F53u} * x[0], p1 = uint64_t{0xCD9E8D57u} * x[2];
          uint32_t y[4] = {static_cast<uint32_t>(p1 >> 32) ^ x[1] ^ k[0], static_cast<uint32_t>(p1),
                           static_cast<uint32_t>(p0 >> 32) ^ x[3] ^ k[1], static_cast<uint32_t>(p0)};
          std::copy(y, y + 4, x);
          k[0] += 0x9E3779B9u;
          k[1] += 0xBB67AE85u;
        }
        float a = static_cast<float>(x[0] >> 8) * 0x1p-24f, b = static_cast<float>(x[1] >> 8) * 0x1p-24f;
        inside[i] += std::fma(a, a, b * b) < 1.0f;
        std::copy(x, x + 4, &numbers[size_t{i} * 4]);
      }
    }
    return equal(buffers[0], numbers, why) && equal(buffers[1], inside, why);
  };
  c.unit = "Mnumbers";
  c.work = 4e-6 * n * rounds;
  return c;
}

}  // namespace wavejit::kernels
