// How large the matrices are: small ones by default, all of them with ROCSPARSE_SIZES=full.
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace sparse_test {

struct Size {
  int rows, cols, usual;  // `usual`: elements of a row, more or less
};

inline bool full() {
  static const bool value = [] {
    const char* text = std::getenv("ROCSPARSE_SIZES");
    return text && std::string_view(text) == "full";
  }();
  return value;
}

inline std::vector<Size> sizes() {
  if (full())
    return {{1, 1, 1}, {7, 9, 2}, {64, 64, 5}, {1000, 777, 3}, {5000, 4000, 12}, {3000, 6000, 60}, {40000, 30000, 8}};
  return {{7, 9, 2}, {1500, 2100, 8}};
}
// For routines that work on rows one after the other, or whose result is denser than its operands.
inline std::vector<Size> small_sizes() {
  if (full()) return {{1, 1, 1}, {7, 9, 2}, {130, 200, 6}, {1000, 777, 5}, {4000, 4000, 6}};
  return {{7, 9, 2}, {400, 300, 5}};
}

// Whether the matrix has a reasonable number of elements when each of its own may be in a block of its own.
inline bool fits_blocks(const Size& size, int dim) {
  return static_cast<int64_t>(size.rows) * size.usual * dim * dim <= 15'000'000;
}

using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;

// Test names end in the type.
struct TypeNames {
  template <typename T>
  static std::string GetName(int) {
    if constexpr (std::is_same_v<T, float>) return "f32";
    if constexpr (std::is_same_v<T, double>) return "f64";
    if constexpr (std::is_same_v<T, std::complex<float>>) return "c32";
    if constexpr (std::is_same_v<T, std::complex<double>>) return "c64";
  }
};

}  // namespace sparse_test
