// Sobol sequences: S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections", 2008,
// with Gray-code order.
#pragma once

#include <array>
#include <cstdint>

namespace wavejit::rocrand {

constexpr unsigned kSobolDimensions = 20;  // as many as sobol.cpp has of the published table

class Sobol {
 public:
  // `bits` is 32 or 64, `dimension` begins with 0.
  Sobol(unsigned bits, unsigned dimension);
  [[nodiscard]] uint64_t at(uint64_t index) const;

 private:
  unsigned bits_;
  std::array<uint64_t, 64> directions_{};
};

}  // namespace wavejit::rocrand
