// Dense and sparse linear algebra.
#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

// A * B in double, with the sum of magnitudes of each element's products, which bounds its rounding error.
void multiply(std::span<const float> a, std::span<const float> b, size_t m, size_t n, size_t k,
              std::vector<double>* product, std::vector<double>* magnitude) {
  product->assign(m * n, 0.0);
  magnitude->assign(m * n, 0.0);
  for (size_t row = 0; row < m; ++row) {
    for (size_t i = 0; i < k; ++i) {
      double x = static_cast<double>(a[row * k + i]);
      for (size_t col = 0; col < n; ++col) {
        double p = x * static_cast<double>(b[i * n + col]);
        (*product)[row * n + col] += p;
        (*magnitude)[row * n + col] += std::abs(p);
      }
    }
  }
}

// The SGEMM variants without alpha and beta share everything but the launch shape.
KernelCase make_sgemm(std::string name, uint32_t m, uint32_t n, uint32_t k, std::array<uint32_t, 3> global) {
  KernelCase c{.name = name, .object = name};
  c.buffers = {make_buffer("a", random_floats(size_t{m} * k, -1, 1, 11)),
               make_buffer("b", random_floats(size_t{k} * n, -1, 1, 12)), filled_buffer("c", size_t{m} * n, -99.0f)};
  c.launches = {{.kernel = name,
                 .global = global,
                 .local = {16, 16, 1},
                 .args = {scalar_arg(n), scalar_arg(k), buffer_arg(0), buffer_arg(1), buffer_arg(2)}}};
  c.check = [m, n, k](std::span<const Buffer> buffers, std::string* why) {
    std::vector<double> want, magnitude;
    multiply(buffers[0].as<float>(), buffers[1].as<float>(), m, n, k, &want, &magnitude);
    return close<float>(buffers[2], want, [&](size_t i) { return 1e-7 * k * magnitude[i] / 4 + 1e-6; }, why);
  };
  c.unit = "GFLOP";
  c.work = 2e-9 * m * n * k;
  return c;
}

}  // namespace

KernelCase make_vector_add(Size size) {
  const uint32_t n = size == Size::kTest ? 1000 : 1u << 21;
  KernelCase c{.name = "vector_add", .object = "vector_add"};
  c.buffers = {make_buffer("a", random_floats(n, -10, 10, 1)), make_buffer("b", random_floats(n, -10, 10, 2)),
               filled_buffer("c", n, -1.0f)};
  c.launches = {{.kernel = "vector_add",
                 .global = {round_up(n, 256), 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(n)}}};
  c.check = [n](std::span<const Buffer> buffers, std::string* why) {
    std::vector<float> want(n);
    for (uint32_t i = 0; i < n; ++i) want[i] = buffers[0].as<float>()[i] + buffers[1].as<float>()[i];
    return equal(buffers[2], want, why);
  };
  c.unit = "GB";
  c.work = 12e-9 * n;
  return c;
}

KernelCase make_triad(Size size) {
  const uint32_t n4 = size == Size::kTest ? 777 : 1u << 19;
  const float s = 3.0f;
  KernelCase c{.name = "triad", .object = "triad"};
  c.buffers = {filled_buffer("a", size_t{n4} * 4, 0.0f), make_buffer("b", random_floats(size_t{n4} * 4, -10, 10, 3)),
               make_buffer("c", random_floats(size_t{n4} * 4, -10, 10, 4))};
  c.launches = {{.kernel = "triad",
                 .global = {size == Size::kTest ? 256u : 16384u, 1, 1},
                 .local = {128, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(s), scalar_arg(n4)}}};
  c.check = [n4, s](std::span<const Buffer> buffers, std::string* why) {
    std::vector<double> want(size_t{n4} * 4);
    for (size_t i = 0; i < want.size(); ++i)
      want[i] = static_cast<double>(buffers[1].as<float>()[i]) + s * static_cast<double>(buffers[2].as<float>()[i]);
    // Fused or not: at most one rounding of the product more.
    return close<float>(buffers[0], want, [](size_t) { return 4e-6; }, why);
  };
  c.unit = "GB";
  c.work = 48e-9 * n4;
  return c;
}

KernelCase make_sgemm_naive(Size size) {
  const uint32_t m = size == Size::kTest ? 37 : 256, n = size == Size::kTest ? 45 : 256;
  const uint32_t k = size == Size::kTest ? 19 : 256;
  const float alpha = 0.5f, beta = -2.0f;
  KernelCase c{.name = "sgemm_naive", .object = "sgemm_naive"};
  c.buffers = {make_buffer("a", random_floats(size_t{m} * k, -1, 1, 5)),
               make_buffer("b", random_floats(size_t{k} * n, -1, 1, 6)),
               make_buffer("c", random_floats(size_t{m} * n, -1, 1, 7))};
  c.launches = {{.kernel = "sgemm_naive",
                 .global = {round_up(n, 32), round_up(m, 8), 1},
                 .local = {32, 8, 1},
                 .args = {scalar_arg(m), scalar_arg(n), scalar_arg(k), scalar_arg(alpha), buffer_arg(0), buffer_arg(1),
                          scalar_arg(beta), buffer_arg(2)}}};
  c.check = [=, initial = c.buffers[2]](std::span<const Buffer> buffers, std::string* why) {
    std::vector<double> want, magnitude;
    multiply(buffers[0].as<float>(), buffers[1].as<float>(), m, n, k, &want, &magnitude);
    for (size_t i = 0; i < want.size(); ++i)
      want[i] = static_cast<double>(alpha) * want[i] + static_cast<double>(beta * initial.as<float>()[i]);
    return close<float>(buffers[2], want, [&](size_t i) { return 1e-7 * k * magnitude[i] / 4 + 1e-6; }, why);
  };
  c.unit = "GFLOP";
  c.work = 2e-9 * m * n * k;
  return c;
}

KernelCase make_sgemm_tiled(Size size) {
  return size == Size::kTest ? make_sgemm("sgemm_tiled", 48, 32, 32, {32, 48, 1})
                             : make_sgemm("sgemm_tiled", 384, 384, 384, {384, 384, 1});
}

KernelCase make_sgemm_blocked(Size size) {
  return size == Size::kTest ? make_sgemm("sgemm_blocked", 64, 128, 16, {32, 16, 1})
                             : make_sgemm("sgemm_blocked", 512, 512, 512, {128, 128, 1});
}

KernelCase make_transpose(Size size) {
  const uint32_t width = size == Size::kTest ? 53 : 2048, height = size == Size::kTest ? 38 : 1024;
  KernelCase c{.name = "transpose", .object = "transpose"};
  c.buffers = {make_buffer("in", random_floats(size_t{width} * height, -5, 5, 8)),
               filled_buffer("out", size_t{width} * height, 0.0f)};
  c.launches = {{.kernel = "transpose",
                 .global = {round_up(width, 16), round_up(height, 16), 1},
                 .local = {16, 16, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(width), scalar_arg(height)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<float> want(size_t{width} * height);
    for (size_t y = 0; y < height; ++y)
      for (size_t x = 0; x < width; ++x) want[x * height + y] = buffers[0].as<float>()[y * width + x];
    return equal(buffers[1], want, why);
  };
  c.unit = "GB";
  c.work = 8e-9 * width * height;
  return c;
}

KernelCase make_spmv_csr(Size size) {
  const uint32_t rows = size == Size::kTest ? 500 : 65536;
  const uint32_t columns = size == Size::kTest ? 300 : 65536;
  const uint32_t longest = size == Size::kTest ? 12 : 48;
  Random random(9);
  std::vector<uint32_t> start(rows + 1), index;
  for (uint32_t row = 0; row < rows; ++row) {
    start[row] = static_cast<uint32_t>(index.size());
    uint32_t length = random.below(longest + 1);
    for (uint32_t i = 0; i < length; ++i) index.push_back(random.below(columns));
  }
  start[rows] = static_cast<uint32_t>(index.size());
  KernelCase c{.name = "spmv_csr", .object = "spmv_csr"};
  c.buffers = {make_buffer("row_start", start), make_buffer("columns", index),
               make_buffer("values", random_floats(index.size(), -1, 1, 10)),
               make_buffer("x", random_floats(columns, -1, 1, 11)), filled_buffer("y", rows, 77.0f)};
  c.launches = {
      {.kernel = "spmv_csr",
       .global = {round_up(rows, 256), 1, 1},
       .local = {256, 1, 1},
       .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), buffer_arg(4), scalar_arg(rows)}}};
  c.check = [rows](std::span<const Buffer> buffers, std::string* why) {
    auto row_start = buffers[0].as<uint32_t>();
    std::vector<double> want(rows);
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t i = row_start[row]; i < row_start[row + 1]; ++i)
        want[row] += static_cast<double>(buffers[2].as<float>()[i]) *
                     static_cast<double>(buffers[3].as<float>()[buffers[1].as<uint32_t>()[i]]);
    return close<float>(buffers[4], want, [](size_t) { return 2e-5; }, why);
  };
  c.unit = "GFLOP";
  c.work = 2e-9 * static_cast<double>(index.size());
  return c;
}

}  // namespace wavejit::kernels
