#include "sobol.h"

namespace wavejit::rocrand {
namespace {

// The first rows of new-joe-kuo-6.21201: degree and coefficients of the primitive polynomial, initial numbers.
struct Row {
  unsigned degree, coefficients;
  uint64_t m[7];
};
constexpr Row kRows[kSobolDimensions] = {
    {0, 0, {}},
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
};

}  // namespace

Sobol::Sobol(unsigned bits, unsigned dimension) : bits_(bits) {
  const Row& row = kRows[dimension];
  for (unsigned k = 0; k < bits; ++k) {
    // The first dimension is van der Corput's sequence.
    if (dimension == 0 || k < row.degree) {
      directions_[k] = (dimension == 0 ? 1 : row.m[k]) << (bits - 1 - k);
      continue;
    }
    uint64_t v = directions_[k - row.degree] ^ directions_[k - row.degree] >> row.degree;
    for (unsigned i = 1; i < row.degree; ++i) {
      if (row.coefficients >> (row.degree - 1 - i) & 1) v ^= directions_[k - i];
    }
    directions_[k] = v;
  }
}

uint64_t Sobol::at(uint64_t index) const {
  uint64_t x = 0;
  const uint64_t gray = index ^ index >> 1;
  for (unsigned k = 0; k < bits_; ++k) {
    if (gray >> k & 1) x ^= directions_[k];
  }
  return x;
}

}  // namespace wavejit::rocrand
