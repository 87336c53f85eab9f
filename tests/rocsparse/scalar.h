// The four types of rocSPARSE: their names in its API, and what rounding errors of sums are bounded by.
#pragma once

#include <complex>
#include <limits>
#include <type_traits>

namespace sparse_test {

template <typename T>
struct Scalar;
template <>
struct Scalar<float> {
  using Real = float;
  using Wide = double;  // references are computed in it
  static constexpr char kLetter = 's';
};
template <>
struct Scalar<double> {
  using Real = double;
  using Wide = long double;
  static constexpr char kLetter = 'd';
};
template <>
struct Scalar<std::complex<float>> {
  using Real = float;
  using Wide = std::complex<double>;
  static constexpr char kLetter = 'c';
};
template <>
struct Scalar<std::complex<double>> {
  using Real = double;
  using Wide = std::complex<long double>;
  static constexpr char kLetter = 'z';
};

template <typename T>
using Real = typename Scalar<T>::Real;
template <typename T>
using Wide = typename Scalar<T>::Wide;
template <typename T>
constexpr bool kComplex = !std::is_same_v<T, Real<T>>;

template <typename T>
T conjugate(const T& value) {
  if constexpr (std::is_floating_point_v<T>)
    return value;
  else
    return std::conj(value);
}

// A number made of two; the second counts in complex types only.
template <typename T>
T make(double re, double im) {
  if constexpr (kComplex<T>)
    return {static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  else
    return static_cast<T>(re);
}

template <typename T>
Wide<T> widen(const T& value) {
  return static_cast<Wide<T>>(value);
}

// How far a sum of `terms` products, in whatever order and with or without fused operations, may be from the exact one
// when the sum of the terms' magnitudes is `magnitude` (Higham, "Accuracy and Stability of Numerical Algorithms", 3.1
// and, for the factor of complex products, 3.6).
template <typename T>
long double sum_bound(size_t terms, long double magnitude) {
  constexpr long double kUnit = std::numeric_limits<Real<T>>::epsilon() / 2;
  return (static_cast<long double>(terms) + 3) * kUnit * (kComplex<T> ? 3 : 1) * magnitude;
}

}  // namespace sparse_test
