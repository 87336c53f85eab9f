#include "frontend/interp/atomics.h"

#include <immintrin.h>

namespace wavejit::interp {

uint32_t packed_add_f16(uint32_t a, uint32_t b) {
  // Sums in f32 are exact enough for one correct rounding to f16 (24 >= 2 * 11 + 2 bits).
  const __m128 x = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(a)));
  const __m128 y = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(b)));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_add_ps(x, y), _MM_FROUND_TO_NEAREST_INT)));
}

}  // namespace wavejit::interp
