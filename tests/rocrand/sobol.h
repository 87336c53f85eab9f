// Sobol sequences: S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections", 2008,
// with Gray-code order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace wavejit::rocrand {

constexpr unsigned kSobolDimensions = 20;  // as many as sobol.cpp has of the published table

class Sobol {
 public:
  // `bits` is 32 or 64, `dimension` begins with 0.
  Sobol(unsigned bits, unsigned dimension);
  [[nodiscard]] uint64_t at(uint64_t index) const;
  // The point behind the one at `index`.
  [[nodiscard]] uint64_t after(uint64_t index, uint64_t point) const {
    return point ^ directions_[std::countr_one(index)];
  }

 private:
  unsigned bits_;
  std::array<uint64_t, 64> directions_{};
};

}  // namespace wavejit::rocrand
