#include "cases_matrix.h"

#include <bit>
#include <cstring>

#include "case_util.h"

namespace wavejit::kernels {
namespace {

constexpr uint32_t kBenchSize = 768;

// f16 bits of n / 8 for n from -16 to 15, which f16 has exactly.
uint16_t eighths_f16(int n) {
  if (n == 0) return 0;
  const int magnitude = std::abs(n);
  const int exponent = std::bit_width(static_cast<unsigned>(magnitude)) - 1;
  const int fraction = (magnitude << (10 - exponent)) & 1023;
  return static_cast<uint16_t>((n < 0 ? 0x8000 : 0) | (exponent - 3 + 15) << 10 | fraction);
}

struct Dimensions {
  uint32_t m, n, k;
};
Dimensions dimensions(Size size, uint32_t tile) {
  if (size == Size::kBench) return {kBenchSize, kBenchSize, kBenchSize};
  return {2 * tile, tile, 64};
}

// Where the element is in panels of `tile` rows (of A, columns of B), which hold `together` consecutive k of a row side
// by side.
size_t packed(Dimensions d, uint32_t tile, uint32_t together, uint32_t row, uint32_t k) {
  return size_t{row / tile} * tile * d.k + (size_t{k / together} * tile + row % tile) * together + k % together;
}

// value(row, column) is what must have come out, bit for bit; of large products a sample is looked at.
template <typename T, typename Value>
Check product_check(Dimensions d, Value value) {
  return [d, value](std::span<const Buffer> buffers, std::string* why) {
    const std::span<const T> c = buffers[2].as<T>();
    const uint32_t step = d.m > 128 ? 37 : 1;
    for (uint32_t i = 0; i < d.m; i += step) {
      for (uint32_t j = 0; j < d.n; ++j) {
        const T want = value(buffers, i, j), got = c[size_t{i} * d.n + j];
        if (std::memcmp(&want, &got, sizeof want) == 0) continue;
        *why = fmt::format("c[{}][{}] is {}, not {}", i, j, got, want);
        return false;
      }
    }
    return true;
  };
}

KernelCase product_case(const char* name, Dimensions d, uint32_t tile, Buffer a, Buffer b, Buffer c, const char* unit) {
  KernelCase result{.name = name, .object = "matrix"};
  result.buffers = {std::move(a), std::move(b), std::move(c)};
  result.launches = {
      {.kernel = name,
       .global = {d.n / tile * 64, d.m / tile, 1},
       .local = {64, 1, 1},
       .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(d.m), scalar_arg(d.n), scalar_arg(d.k)}}};
  result.unit = unit;
  result.work = 2e-9 * d.m * d.n * d.k;
  return result;
}

// Fused multiply-adds in order of k.
template <typename T>
KernelCase floating_case(const char* name, Size size, uint32_t tile,
                         std::vector<T> (*random)(size_t, double, double, uint64_t)) {
  const Dimensions d = dimensions(size, tile);
  KernelCase c = product_case(name, d, tile, make_buffer("a", random(size_t{d.m} * d.k, -1, 1, 1)),
                              make_buffer("b", random(size_t{d.n} * d.k, -1, 1, 2)),
                              filled_buffer("c", size_t{d.m} * d.n, T{0}), "GFLOP");
  c.check = product_check<T>(d, [d, tile](std::span<const Buffer> buffers, uint32_t i, uint32_t j) {
    const std::span<const T> a = buffers[0].as<T>(), b = buffers[1].as<T>();
    T sum = 0;
    for (uint32_t k = 0; k < d.k; ++k) sum = std::fma(a[packed(d, tile, 1, i, k)], b[packed(d, tile, 1, j, k)], sum);
    return sum;
  });
  return c;
}

KernelCase make_matrix_f32(Size size) {
  return floating_case<float>("matrix_f32", size, 64, random_floats);
}

KernelCase make_matrix_f64(Size size) {
  return floating_case<double>("matrix_f64", size, 32, random_doubles);
}

KernelCase make_matrix_f16(Size size) {
  const Dimensions d = dimensions(size, 64);
  // Small numbers whose sums are exact, as the host has no f16.
  const auto eighths = [](size_t n, uint64_t seed) {
    Random random(seed);
    std::vector<int8_t> values(n);
    for (int8_t& v : values) v = static_cast<int8_t>(static_cast<int>(random.below(32)) - 16);
    return values;
  };
  const auto halves = [](const std::vector<int8_t>& values) {
    std::vector<uint16_t> bits;
    for (const int8_t v : values) bits.push_back(eighths_f16(v));
    return bits;
  };
  const std::vector<int8_t> a = eighths(size_t{d.m} * d.k, 5), b = eighths(size_t{d.n} * d.k, 6);
  KernelCase c = product_case("matrix_f16", d, 64, make_buffer("a", halves(a)), make_buffer("b", halves(b)),
                              filled_buffer("c", size_t{d.m} * d.n, 0.0f), "GFLOP");
  c.check = product_check<float>(d, [d, a, b](std::span<const Buffer>, uint32_t i, uint32_t j) {
    int sum = 0;
    for (uint32_t k = 0; k < d.k; ++k) sum += a[packed(d, 64, 4, i, k)] * b[packed(d, 64, 4, j, k)];
    return static_cast<float>(sum) / 64;
  });
  return c;
}

KernelCase make_matrix_i8(Size size) {
  const Dimensions d = dimensions(size, 32);
  KernelCase c = product_case("matrix_i8", d, 32, make_buffer("a", random_integers<int8_t>(size_t{d.m} * d.k, 7)),
                              make_buffer("b", random_integers<int8_t>(size_t{d.n} * d.k, 8)),
                              filled_buffer("c", size_t{d.m} * d.n, 0), "GOP");
  c.check = product_check<int32_t>(d, [d](std::span<const Buffer> buffers, uint32_t i, uint32_t j) {
    const std::span<const int8_t> a = buffers[0].as<int8_t>(), b = buffers[1].as<int8_t>();
    int32_t sum = 0;
    for (uint32_t k = 0; k < d.k; ++k) sum += a[packed(d, 32, 4, i, k)] * b[packed(d, 32, 4, j, k)];
    return sum;
  });
  return c;
}

}  // namespace

const std::vector<MatrixCase>& matrix_cases() {
  static const std::vector<MatrixCase> cases = {
      {"matrix_f32", make_matrix_f32, {"gfx908", "gfx90a"}},
      {"matrix_f16", make_matrix_f16, {"gfx908", "gfx90a"}},
      {"matrix_i8", make_matrix_i8, {"gfx908", "gfx90a"}},
      {"matrix_f64", make_matrix_f64, {"gfx90a"}},
  };
  return cases;
}

}  // namespace wavejit::kernels
