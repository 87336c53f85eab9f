// Sparse matrix products (v_smfmac): see SparseShape.
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "backend-x86/helpers/calls_internal.h"

namespace wavejit::backend {
namespace {

using ir::SparseElement;
using ir::SparseShape;

constexpr bool is_half(SparseElement e) {
  return e == SparseElement::f16 || e == SparseElement::bf16;
}

// Values of all bytes.
template <unsigned kFraction, unsigned kBias>
struct ByteFloats {
  float value[256];
  ByteFloats() {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const unsigned magnitude = byte & 0x7f;
      // As f32 the exponent is too small by a constant.
      float f = std::bit_cast<float>(magnitude << (23 - kFraction)) * std::bit_cast<float>((254u - kBias) << 23);
      if (byte == 0x80) f = std::bit_cast<float>(0x7fc00000u);
      value[byte] = (byte & 0x80) != 0 ? -f : f;
    }
  }
};

float half_value(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  const float f = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(f));
}

// Element `k` of those that a lane holds in consecutive rows.
template <SparseElement e>
auto element(const uint32_t (*rows)[kWaveSize], unsigned lane, unsigned k) {
  if constexpr (is_half(e)) {
    const uint32_t bits = rows[k / 2][lane] >> (16 * (k % 2)) & 0xffff;
    if constexpr (e == SparseElement::bf16) {
      return std::bit_cast<float>(bits << 16);
    } else {
      return half_value(bits);
    }
  } else {
    const uint32_t byte = rows[k / 4][lane] >> (8 * (k % 4)) & 0xff;
    if constexpr (e == SparseElement::i8) {
      return static_cast<int32_t>(static_cast<int8_t>(byte));
    } else if constexpr (e == SparseElement::fp8) {
      static const ByteFloats<3, 8> kValues;
      return kValues.value[byte];
    } else {
      static const ByteFloats<2, 16> kValues;
      return kValues.value[byte];
    }
  }
}

template <SparseElement e, SparseElement eb>
void product(CallArgs* args) {
  constexpr unsigned kStored = is_half(e) ? 4 : 8;
  const SparseShape shape = SparseShape::unpack(args->shape);
  const unsigned groups = kWaveSize / shape.size;
  const auto* a = args->in;
  const auto* b = args->in + 2;
  const auto* indices = args->in + 6;
  const auto* sums = args->in + 7;
  for (unsigned r = 0; r < SparseShape::kRows; ++r) {
    const unsigned row = shape.first_row + r;
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      // Registers hold groups of four rows of D, lanes beyond the columns the next group.
      const unsigned i = shape.size == 16 ? 4 * (lane / 16) + row : 8 * (row / 4) + 4 * (lane / 32) + row % 4;
      const unsigned j = lane % shape.size;
      std::conditional_t<e == SparseElement::i8, uint32_t, float> sum;
      std::memcpy(&sum, &sums[r][lane], sizeof sum);
      for (unsigned group = 0; group < groups; ++group) {
        const unsigned from = i + shape.size * group, to = j + shape.size * group;
        const uint32_t index = indices[0][from] >> shape.index_shift;
        for (unsigned k = 0; k < kStored; ++k) {
          const auto x = element<e>(a, from, k);
          const auto y = element<eb>(b, to, 4 * (k / 2) + (index >> (2 * k) & 3));
          if constexpr (e == SparseElement::i8) {
            sum += static_cast<uint32_t>(x * y);
          } else {
            sum = std::fma(x, y, sum);
          }
        }
      }
      std::memcpy(&args->out[r][lane], &sum, sizeof sum);
    }
  }
}

}  // namespace

uint64_t sparse_product(CallArgs* args) {
  using enum SparseElement;
  const SparseShape shape = SparseShape::unpack(args->shape);
  const bool bf8_b = shape.element_b == bf8;
  switch (shape.element) {
    case f16:
      product<f16, f16>(args);
      break;
    case bf16:
      product<bf16, bf16>(args);
      break;
    case i8:
      product<i8, i8>(args);
      break;
    case fp8:
      bf8_b ? product<fp8, bf8>(args) : product<fp8, fp8>(args);
      break;
    case bf8:
      bf8_b ? product<bf8, bf8>(args) : product<bf8, fp8>(args);
      break;
  }
  return 1;
}

}  // namespace wavejit::backend
