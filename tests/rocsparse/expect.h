// Comparisons that name the first element that is wrong, and how many are.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <complex>
#include <string>
#include <vector>

#include "tests/rocsparse/matrix.h"

namespace sparse_test {

template <typename T>
std::string show(const T& value) {
  if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", value);
  else
    return fmt::format("({}, {})", value.real(), value.imag());
}

template <typename T>
void expect_equal(const std::vector<T>& got, const std::vector<T>& wanted, std::string_view what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (!(got[i] == wanted[i]) && wrong++ == 0) first = i;
  if (wrong == 0) return;
  ADD_FAILURE() << what << ": " << wrong << " of " << got.size() << " differ, the first at " << first << ": "
                << show(got[first]) << " instead of " << show(wanted[first]);
}

// Each number within the bound of its sum, and not a NaN.
template <typename T>
void expect_sums(const std::vector<T>& got, const std::vector<Sum<T>>& wanted, std::string_view what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(widen(got[i]) - wanted[i].value) <= wanted[i].bound()) && wrong++ == 0) first = i;
  if (wrong == 0) return;
  ADD_FAILURE() << what << ": " << wrong << " of " << got.size() << " are wrong, the first at " << first << ": "
                << show(got[first]) << " instead of " << show(wanted[first].value) << " within "
                << show(wanted[first].bound());
}

template <typename T>
void expect_same(const Csr<T>& got, const Csr<T>& wanted, std::string_view what) {
  expect_equal(got.row_ptr, wanted.row_ptr, fmt::format("{}, rows", what));
  expect_equal(got.col, wanted.col, fmt::format("{}, columns", what));
  expect_equal(got.val, wanted.val, fmt::format("{}, values", what));
}

}  // namespace sparse_test
