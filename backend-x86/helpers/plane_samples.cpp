#include "backend-x86/helpers/plane_samples.h"

#include <immintrin.h>

#include <bit>
#include <cstring>
#include <type_traits>

namespace wavejit::backend {
namespace {

using image::Image;

WAVEJIT_AVX2 inline __m256i row8(const void* row) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(row));
}
WAVEJIT_AVX2 inline void put_row8(void* row, __m256i value) {
  _mm256_storeu_si256(static_cast<__m256i*>(row), value);
}
WAVEJIT_AVX2 inline __m256i together(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
WAVEJIT_AVX2 inline __m128i upper_half(__m256i v) {
  return _mm256_extracti128_si256(v, 1);
}

// i modulo `size`, of four whole numbers up to 2^25: the quotient is whole or at least 2^-15 away from the next whole
// number.
WAVEJIT_AVX2 __m128i modulo4(__m128i i, uint32_t size) {
  const __m256d value = _mm256_cvtepi32_pd(i), by = _mm256_set1_pd(size);
  const __m256d quotient = _mm256_floor_pd(_mm256_div_pd(value, by));
  return _mm256_cvttpd_epi32(_mm256_sub_pd(value, _mm256_mul_pd(quotient, by)));
}
WAVEJIT_AVX2 inline __m256i modulo8(__m256i i, uint32_t size) {
  // Mostly in the image or the one next to it.
  const __m256i all = _mm256_set1_epi32(static_cast<int>(size)), last = _mm256_set1_epi32(static_cast<int>(size) - 1);
  __m256i m = _mm256_add_epi32(i, _mm256_and_si256(_mm256_srai_epi32(i, 31), all));
  m = _mm256_sub_epi32(m, _mm256_and_si256(_mm256_cmpgt_epi32(m, last), all));
  const __m256i wrong = _mm256_or_si256(m, _mm256_sub_epi32(last, m));
  if (_mm256_movemask_ps(_mm256_castsi256_ps(wrong)) == 0) return m;
  return together(modulo4(_mm256_castsi256_si128(i), size), modulo4(upper_half(i), size));
}

// image::clamp_texel().
WAVEJIT_AVX2 inline __m256i clamp_texels(__m256i i, uint32_t size, uint32_t mode) {
  const __m256i last = _mm256_set1_epi32(static_cast<int>(size) - 1);
  const __m256i mirrored = _mm256_xor_si256(i, _mm256_srai_epi32(i, 31));
  switch (mode) {
    case 0:
      return modulo8(i, size);
    case 1: {
      const __m256i m = modulo8(i, 2 * size);
      const __m256i back = _mm256_sub_epi32(_mm256_set1_epi32(2 * static_cast<int>(size) - 1), m);
      return _mm256_min_epi32(m, back);
    }
    case 2:
      return _mm256_min_epi32(_mm256_max_epi32(i, _mm256_setzero_si256()), last);
    case 3:
      return _mm256_min_epi32(mirrored, last);
    case 4:
    case 6:
      return _mm256_or_si256(_mm256_or_si256(i, _mm256_srai_epi32(i, 31)), _mm256_cmpgt_epi32(i, last));
    default:
      return _mm256_or_si256(mirrored, _mm256_cmpgt_epi32(mirrored, last));
  }
}

}  // namespace

struct PlaneSamples::Fixed {
  __m256i texel, weight;
};

std::optional<PlaneSamples> PlaneSamples::of(const Image& image, const image::Sampler& sampler,
                                             const image::Fields& f) {
  const bool is_plain = !f.offset && !f.compare && !f.derivatives && !f.a16;
  const bool linear = sampler.mag_linear, integer = format::is_integer(image.number);
  if (image.levels() != 1 || !is_plain || linear != sampler.min_linear || (linear && integer)) return std::nullopt;
  const std::optional<TexelPlane> plane = TexelPlane::of(image);
  if (!plane || uint64_t{plane->row_bytes} * plane->height > UINT32_MAX) return std::nullopt;
  PlaneSamples result(*plane, TexelRows(image.layout, image.number));
  result.linear_ = linear;
  result.to_edge_ = sampler.clamp[0] == 2 && sampler.clamp[1] == 2;
  const bool normalized = !f.unnormalized && !sampler.unnormalized;
  for (unsigned i = 0; i < 2; ++i) {
    const uint32_t size = i == 0 ? plane->width : plane->height, mode = sampler.clamp[i];
    const double low = mode == 4 ? 0 : mode == 5 ? -double{1} * size : -0x1p24;
    const double high = mode == 4 || mode == 5 ? size : 0x1p24;
    const float scale = normalized ? 256.0f * static_cast<float>(size) : 256.0f;
    // Filters begin half a texel to the left. Rounded to nearest, unless coordinates are truncated.
    result.scaling_[i] = {.scale = scale,
                          .truncate = !linear && sampler.truncate,
                          .bias = linear ? kLinearBias : 0,
                          .low = low * 256,
                          .high = high * 256,
                          .near = std::bit_cast<uint32_t>(0x1.fffffp21f / scale),
                          .size = size,
                          .mode = mode};
  }
  const auto all_of = [&](unsigned bits) {
    for (unsigned i = 0; i < image.layout.components; ++i)
      if (image.layout.bits[i] != bits || image.layout.shift[i] != i * bits) return false;
    return true;
  };
  if (image.number == format::Number::float_ && image.layout.components == 4)
    result.sum_ = all_of(32) ? Sum::four_floats : all_of(16) ? Sum::four_halves : Sum::others;
  if (image.number == format::Number::float_ && image.layout.components == 1 && all_of(32))
    result.sum_ = Sum::one_float;
  if (image.number == format::Number::unorm && all_of(8)) result.sum_ = Sum::bytes;
  return result;
}

// An axis in registers. Positions are in 1/256 of a texel where they are filtered, and in texels elsewhere.
template <bool kLinear, bool kToEdge, bool kNear>
struct PlaneSamples::Axis {
  WAVEJIT_AVX2 explicit Axis(const Scaling& s)
      : scaling(s),
        scale(_mm256_set1_ps(s.scale * kUnit)),
        // Truncated coordinates: the product may be less than the rounded one, and so than this rounded down.
        next(_mm256_set1_ps(s.truncate ? 0 : 1 - 0.5f * kUnit)),
        first(_mm256_set1_epi32(s.truncate ? -1 : 0)),
        last(_mm256_set1_epi32(static_cast<int>(s.size) - 1)) {}

  // image::axis_of(), of eight lanes. Positions beyond an image with a border stay there: their texels are outside, and the
  // lanes go the general way.
  WAVEJIT_AVX2 Fixed fixed_point(const float* positions) const {
    // The product has up to 38 bits: it is `near` - `error`, without further error. NaNs are too far away, too.
    const __m256 p = _mm256_loadu_ps(positions), near = _mm256_mul_ps(p, scale);
    if constexpr (!kNear) {
      const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), near);
      const __m256 far = _mm256_cmp_ps(magnitude, _mm256_set1_ps(0x1p22f * kUnit), _CMP_NLT_UQ);
      if (_mm256_movemask_ps(far) != 0) return far_fixed_point(positions, scaling);
    }
    const __m256 error = _mm256_fnmadd_ps(p, scale, near);
    // Of `near` rounded down or the next integer, the one that the position is rounded down to. The difference is exact
    // where it is about as small as the error.
    const __m256 below = _mm256_floor_ps(near);
    const __m256 above = _mm256_sub_ps(_mm256_sub_ps(near, below), next);
    const __m256i up = _mm256_castps_si256(_mm256_cmp_ps(above, error, _CMP_GE_OQ));
    __m256i t = _mm256_cvttps_epi32(below);
    if (!kLinear) t = _mm256_add_epi32(t, first);
    t = _mm256_sub_epi32(t, up);
    if (!kLinear) return {t, _mm256_setzero_si256()};
    t = _mm256_add_epi32(t, _mm256_set1_epi32(kLinearBias));
    return {_mm256_srai_epi32(t, 8), _mm256_and_si256(t, _mm256_set1_epi32(255))};
  }

  // clamp_texels() for the axis.
  WAVEJIT_AVX2 __m256i clamped(__m256i texels) const {
    if (kToEdge) return _mm256_min_epi32(_mm256_max_epi32(texels, _mm256_setzero_si256()), last);
    return clamp_texels(texels, scaling.size, scaling.mode);
  }

  static constexpr float kUnit = kLinear ? 1 : 0x1p-8f;
  const Scaling& scaling;
  __m256 scale;
  __m256 next;  // the part of the unit from which on a position is in the next one
  __m256i first, last;
};

// The same for any positions.
WAVEJIT_AVX2 PlaneSamples::Fixed PlaneSamples::far_fixed_point(const float* positions, const Scaling& s) {
  __m256 p = _mm256_loadu_ps(positions);
  p = _mm256_and_ps(p, _mm256_cmp_ps(p, p, _CMP_ORD_Q));
  // The product is exact, and the sum with a half is unless the position is so near to 0 that it does not matter. The
  // integer is in the lower bits of a sum with 1.5 * 2^52.
  const auto four = [&](__m128 x) WAVEJIT_AVX2 {
    __m256d t = _mm256_mul_pd(_mm256_cvtps_pd(x), _mm256_set1_pd(s.scale));
    t = _mm256_min_pd(_mm256_max_pd(t, _mm256_set1_pd(s.low)), _mm256_set1_pd(s.high));
    t = _mm256_floor_pd(_mm256_add_pd(t, _mm256_set1_pd(s.truncate ? 0 : 0.5)));
    return _mm256_castpd_si256(_mm256_add_pd(t, _mm256_set1_pd(0x1.8p52 + s.bias)));
  };
  const __m256i a = four(_mm256_castps256_ps128(p)), b = four(_mm256_extractf128_ps(p, 1));
  const auto lower_dwords = [&](__m256i v, __m256i w) WAVEJIT_AVX2 {
    const __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(v), _mm256_castsi256_ps(w), 0b10'00'10'00);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0b11'01'10'00);
  };
  return {lower_dwords(_mm256_srli_epi64(a, 8), _mm256_srli_epi64(b, 8)),
          _mm256_and_si256(lower_dwords(a, b), _mm256_set1_epi32(255))};
}

namespace {

// Calls function(lane) for each lane, after noting it and ones behind it in `accessing`.
template <typename F>
WAVEJIT_AVX2 inline void each_lane(uint64_t lanes, uint64_t& accessing, F&& function) {
  for (; lanes != 0; lanes &= lanes - 1) {
    accessing = lanes;
    keep_order();
    function(static_cast<unsigned>(std::countr_zero(lanes)));
  }
}
// The same of the four lanes from `first` on, all of them.
template <typename F>
WAVEJIT_AVX2 inline void each_of_four(unsigned first, uint64_t& accessing, F&& function) {
  const uint64_t all = ~uint64_t{0} << first;
  const auto one = [&](unsigned i) WAVEJIT_AVX2 {
    accessing = all << i;
    keep_order();
    function(first + i);
  };
  one(0);
  one(1);
  one(2);
  one(3);
}

// The shares of the four corners, of four lanes: upper left, upper right, lower left, lower right.
struct Shares {
  __m256d corner[4];
};
WAVEJIT_AVX2 inline Shares shares_of(const int32_t* weight_right, const int32_t* weight_lower) {
  const auto weight = [&](const int32_t* w) WAVEJIT_AVX2 {
    const __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(w));
    return _mm256_mul_pd(_mm256_cvtepi32_pd(four), _mm256_set1_pd(0x1p-8));
  };
  const __m256d right = weight(weight_right), lower = weight(weight_lower), one = _mm256_set1_pd(1);
  const __m256d left = _mm256_sub_pd(one, right), upper = _mm256_sub_pd(one, lower);
  return {{_mm256_mul_pd(left, upper), _mm256_mul_pd(right, upper), _mm256_mul_pd(left, lower),
           _mm256_mul_pd(right, lower)}};
}

// The highest bit that is set in each byte; 0 of 0.
WAVEJIT_AVX2 inline __m256i highest_bits(__m256i bytes) {
  const __m256i upper = _mm256_setr_epi8(0, 16, 32, 32, 64, 64, 64, 64, -128, -128, -128, -128, -128, -128, -128, -128,
                                         0, 16, 32, 32, 64, 64, 64, 64, -128, -128, -128, -128, -128, -128, -128, -128);
  const __m256i lower =
      _mm256_setr_epi8(0, 1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 0, 1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8);
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble), low = _mm256_and_si256(bytes, nibble);
  return _mm256_max_epu8(_mm256_shuffle_epi8(upper, high), _mm256_shuffle_epi8(lower, low));
}

}  // namespace

WAVEJIT_AVX2 PlaneSamples::Way PlaneSamples::way_of(const float* x, const float* y) const {
  if (!to_edge_) return Way::general;
  // Magnitudes of floats are ordered as their bits are; those of NaNs are the largest.
  const __m256i magnitude = _mm256_set1_epi32(INT32_MAX);
  __m256i largest[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (unsigned l = 0; l < kWaveSize; l += 8) {
    largest[0] = _mm256_max_epi32(largest[0], _mm256_and_si256(row8(x + l), magnitude));
    largest[1] = _mm256_max_epi32(largest[1], _mm256_and_si256(row8(y + l), magnitude));
  }
  const auto beyond = [&](unsigned i) WAVEJIT_AVX2 {
    return _mm256_cmpgt_epi32(largest[i], _mm256_set1_epi32(static_cast<int>(scaling_[i].near)));
  };
  const __m256i far = _mm256_or_si256(beyond(0), beyond(1));
  return _mm256_testz_si256(far, far) != 0 ? Way::near : Way::to_edge;
}

template <PlaneSamples::Way kWay>
WAVEJIT_AVX2 uint64_t PlaneSamples::places(const float* x, const float* y, uint64_t lanes, Places& places) const {
  const __m256i row_bytes = _mm256_set1_epi32(static_cast<int>(plane_.row_bytes));
  const __m256i texel_bytes = _mm256_set1_epi32(static_cast<int>(plane_.texel_bytes));
  using OneAxis = Axis<true, kWay != Way::general, kWay == Way::near>;
  const OneAxis axes[2] = {OneAxis(scaling_[0]), OneAxis(scaling_[1])};
  uint64_t outside = 0, adjacent = 0;
  for (unsigned l = 0; l < kWaveSize; l += 8) {
    if ((lanes >> l & 0xff) == 0) continue;
    struct {
      __m256i first, second;
    } texels[2];
    for (unsigned i = 0; i < 2; ++i) {
      const Fixed at = axes[i].fixed_point((i == 0 ? x : y) + l);
      put_row8((i == 0 ? places.weight_right : places.weight_lower) + l, at.weight);
      const __m256i first = axes[i].clamped(at.texel);
      const __m256i second = axes[i].clamped(_mm256_add_epi32(at.texel, _mm256_set1_epi32(1)));
      texels[i] = {first, _mm256_blendv_epi8(second, first, _mm256_cmpeq_epi32(at.weight, _mm256_setzero_si256()))};
    }
    if (kWay == Way::general) {
      const __m256i any = _mm256_or_si256(_mm256_or_si256(texels[0].first, texels[0].second),
                                          _mm256_or_si256(texels[1].first, texels[1].second));
      outside |= static_cast<uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(any))) << l;
    }
    const __m256i left = _mm256_mullo_epi32(texels[0].first, texel_bytes);
    const __m256i right = _mm256_mullo_epi32(texels[0].second, texel_bytes);
    const __m256i next = _mm256_cmpeq_epi32(_mm256_sub_epi32(right, left), texel_bytes);
    adjacent |= static_cast<uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(next))) << l;
    const __m256i upper = _mm256_mullo_epi32(texels[1].first, row_bytes);
    const __m256i lower = _mm256_mullo_epi32(texels[1].second, row_bytes);
    put_row8(places.corner[0] + l, _mm256_add_epi32(upper, left));
    put_row8(places.corner[1] + l, _mm256_add_epi32(upper, right));
    put_row8(places.corner[2] + l, _mm256_add_epi32(lower, left));
    put_row8(places.corner[3] + l, _mm256_add_epi32(lower, right));
  }
  places.adjacent = adjacent;
  return lanes & ~outside;
}

// Of four components, of which a lane's are a vector.
template <PlaneSamples::Sum kSum>
WAVEJIT_AVX2 void PlaneSamples::sum_four(const Places& p, uint64_t lanes, uint64_t& accessing, unsigned needed,
                                         Rows& rows) const {
  const uint64_t base = plane_.first;
  for (unsigned first = 0; first < kWaveSize; first += 4) {
    const auto active = static_cast<unsigned>(lanes >> first & 15);
    if (active == 0) {
      for (unsigned i = 0; i < 4; ++i)
        if ((needed >> i & 1) != 0) _mm_storeu_ps(reinterpret_cast<float*>(&rows[i][first]), _mm_setzero_ps());
      continue;
    }
    const Shares s = shares_of(p.weight_right + first, p.weight_lower + first);
    alignas(32) double shares[4][4];  // by corner and lane
    unsigned weightless = 0;
    for (unsigned i = 0; i < 4; ++i) {
      _mm256_store_pd(shares[i], s.corner[i]);
      weightless |=
          static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(s.corner[i], _mm256_setzero_pd(), _CMP_EQ_OQ)));
    }
    alignas(16) float sums[4][4] = {};  // by lane and component
    const auto sum_of = [&](unsigned l, bool all) WAVEJIT_AVX2 {
      __m256d sum = _mm256_setzero_pd();
      for (unsigned i = 0; i < 4; ++i) {
        const double* share = &shares[i][l - first];
        if (!all && *share == 0) continue;
        const auto* texel = reinterpret_cast<const float*>(base + p.corner[i][l]);
        const __m128 floats = kSum == Sum::four_floats
                                  ? _mm_loadu_ps(texel)
                                  : _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(texel)));
        sum = _mm256_add_pd(sum, _mm256_mul_pd(_mm256_broadcast_sd(share), _mm256_cvtps_pd(floats)));
      }
      _mm_store_ps(sums[l - first], _mm256_cvtpd_ps(sum));
    };
    if (active == 15 && weightless == 0) {
      each_of_four(first, accessing, [&](unsigned l) WAVEJIT_AVX2 { sum_of(l, true); });
    } else {
      each_lane(lanes & uint64_t{15} << first, accessing, [&](unsigned l) WAVEJIT_AVX2 { sum_of(l, false); });
    }
    __m128 component[4];
    for (unsigned i = 0; i < 4; ++i) component[i] = _mm_load_ps(sums[i]);
    _MM_TRANSPOSE4_PS(component[0], component[1], component[2], component[3]);
    for (unsigned i = 0; i < 4; ++i)
      if ((needed >> i & 1) != 0) _mm_storeu_ps(reinterpret_cast<float*>(&rows[i][first]), component[i]);
  }
}

// Texels of T by corner and lane. The lanes' loads are in order, and so are a lane's.
template <typename T, typename Stored>
WAVEJIT_AVX2 inline void PlaneSamples::fetch(const Places& p, uint64_t lanes, uint64_t& accessing,
                                             Stored (*corners)[kWaveSize]) const {
  const uint64_t base = plane_.first;
  const auto texel = [&](uint64_t address) WAVEJIT_AVX2 {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    keep_order();
    return static_cast<Stored>(value);
  };
  each_lane(lanes, accessing, [&](unsigned l) WAVEJIT_AVX2 {
    for (unsigned i = 0; i < 4; ++i) corners[i][l] = texel(base + p.corner[i][l]);
  });
}

// Other lanes' texels are 0.
template <typename T>
WAVEJIT_AVX2 inline void PlaneSamples::fetch_pairs(const Places& p, uint64_t lanes, uint64_t& accessing,
                                                   Pairs& pairs) const {
  if (lanes != ~uint64_t{0}) std::memset(&pairs, 0, sizeof pairs);
  const uint64_t base = plane_.first;
  const auto texel = [&](uint64_t address) WAVEJIT_AVX2 {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    keep_order();
    return uint32_t{value};
  };
  // Both texels of a row at once. What is between and behind smaller ones is in components that the format does not
  // have.
  const auto both = [&](unsigned l) WAVEJIT_AVX2 {
    using Two = std::conditional_t<sizeof(T) == 1, uint16_t, std::conditional_t<sizeof(T) == 2, uint32_t, uint64_t>>;
    for (unsigned row = 0; row < 2; ++row) {
      Two two;
      std::memcpy(&two, reinterpret_cast<const void*>(base + p.corner[2 * row][l]), sizeof two);
      keep_order();
      const uint64_t apart = sizeof(T) == 4 ? two : two | uint64_t{two} << (32 - 8 * sizeof(T));
      std::memcpy(&pairs[row][l], &apart, sizeof apart);
    }
  };
  const auto corners = [&](unsigned l) WAVEJIT_AVX2 {
    for (unsigned row = 0; row < 2; ++row) {
      pairs[row][l].left = texel(base + p.corner[2 * row][l]);
      pairs[row][l].right = texel(base + p.corner[2 * row + 1][l]);
    }
  };
  for (unsigned first = 0; first < kWaveSize; first += 4) {
    const bool adjacent = (p.adjacent >> first & 15) == 15;
    if ((lanes >> first & 15) != 15) {
      each_lane(lanes & uint64_t{15} << first, accessing, corners);
    } else if (adjacent) {
      each_of_four(first, accessing, both);
    } else {
      each_of_four(first, accessing, corners);
    }
  }
}

// Of unsigned normalised bytes. The value of byte i is i / 255 rounded to 24 bits, which is i * 0x808080 + h(i) in
// 2^-31, where h(i) is the highest bit that is set in i. With weights w in 2^-16 the sum is therefore 0x808080 * sum(w
// * i) + sum(w * h(i)) in 2^-47, of which both sums have at most 24 bits: one fused multiply-add rounds it once, as the
// exact sum is.
WAVEJIT_AVX2 void PlaneSamples::sum_bytes(const Places& p, uint64_t lanes, uint64_t& accessing, unsigned needed,
                                          Rows& rows) const {
  alignas(32) Pairs texels;
  switch (plane_.texel_bytes) {
    case 1:
      fetch_pairs<uint8_t>(p, lanes, accessing, texels);
      break;
    case 2:
      fetch_pairs<uint16_t>(p, lanes, accessing, texels);
      break;
    default:
      fetch_pairs<uint32_t>(p, lanes, accessing, texels);
  }
  const __m256i zero = _mm256_setzero_si256(), bias = _mm256_set1_epi8(-0x80);
  // The two weights of a lane for each of its four bytes: of lanes 0 and 1, 2 and 3 of each half.
  const __m256i first_two =
      _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 4, 5, 4, 5, 4, 5, 4, 5, 0, 1, 0, 1, 0, 1, 0, 1, 4, 5, 4, 5, 4, 5, 4, 5);
  const __m256i last_two = _mm256_add_epi8(first_two, _mm256_set1_epi8(8));
  // Each byte of the left texel and that of the right one, of two lanes.
  const __m256i neighbours = _mm256_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15, 0, 4, 1, 5, 2, 6, 3,
                                              7, 8, 12, 9, 13, 10, 14, 11, 15);
  for (unsigned first = 0; first < kWaveSize; first += 8) {
    if ((lanes >> first & 0xff) == 0) {
      for (unsigned i = 0; i < 4; ++i)
        if ((needed >> i & 1) != 0) put_row8(&rows[i][first], zero);
      continue;
    }
    const __m256i right = row8(p.weight_right + first), lower = row8(p.weight_lower + first);
    // (256 - w, w), as multiply-adds of pairs want it: of bytes, and of words. Where w is 0, both texels are the same,
    // so that the weights may be any that have this sum.
    const __m256i halves = _mm256_and_si256(_mm256_cmpeq_epi32(right, zero), _mm256_set1_epi32(128));
    const __m256i weight = _mm256_or_si256(right, halves), all = _mm256_set1_epi32(256);
    const __m256i across = _mm256_or_si256(_mm256_sub_epi32(all, weight), _mm256_slli_epi32(weight, 8));
    const __m256i weights[2] = {_mm256_shuffle_epi8(across, first_two), _mm256_shuffle_epi8(across, last_two)};
    const __m256i down = _mm256_or_si256(_mm256_sub_epi32(all, lower), _mm256_slli_epi32(lower, 16));
    const __m256i pairs[4] = {_mm256_shuffle_epi32(down, 0x00), _mm256_shuffle_epi32(down, 0x55),
                              _mm256_shuffle_epi32(down, 0xaa), _mm256_shuffle_epi32(down, 0xff)};
    // The sums of lane i of each half, of bytes[row][i / 2]. Numbers are less by half of their range, and so have a
    // sign.
    const auto sums = [&](const __m256i(&bytes)[2][2], __m256i(&out)[4]) WAVEJIT_AVX2 {
      for (unsigned k = 0; k < 2; ++k) {
        const __m256i upper_row = _mm256_maddubs_epi16(weights[k], _mm256_xor_si256(bytes[0][k], bias));
        const __m256i lower_row = _mm256_maddubs_epi16(weights[k], _mm256_xor_si256(bytes[1][k], bias));
        out[2 * k] = _mm256_madd_epi16(_mm256_unpacklo_epi16(upper_row, lower_row), pairs[2 * k]);
        out[2 * k + 1] = _mm256_madd_epi16(_mm256_unpackhi_epi16(upper_row, lower_row), pairs[2 * k + 1]);
      }
    };
    __m256i bytes[2][2], tops[2][2], sum[4], sum_of_tops[4];
    for (unsigned row = 0; row < 2; ++row) {
      for (unsigned k = 0; k < 2; ++k) {
        // Two lanes of each half.
        const auto* two = reinterpret_cast<const __m128i*>(&texels[row][first + 2 * k]);
        const __m256i both = together(_mm_loadu_si128(two), _mm_loadu_si128(two + 2));
        bytes[row][k] = _mm256_shuffle_epi8(both, neighbours);
        tops[row][k] = highest_bits(bytes[row][k]);
      }
    }
    sums(bytes, sum);
    sums(tops, sum_of_tops);
    __m256 lane[4];
    const __m256i unbias = _mm256_set1_epi32(0x8000 * 256);
    for (unsigned i = 0; i < 4; ++i) {
      const __m256 most = _mm256_cvtepi32_ps(_mm256_add_epi32(sum[i], unbias));
      const __m256 rest = _mm256_cvtepi32_ps(_mm256_add_epi32(sum_of_tops[i], unbias));
      lane[i] = _mm256_mul_ps(_mm256_fmadd_ps(most, _mm256_set1_ps(0x808080), rest), _mm256_set1_ps(0x1p-47f));
    }
    // To rows by component.
    const __m256 a = _mm256_unpacklo_ps(lane[0], lane[1]), b = _mm256_unpackhi_ps(lane[0], lane[1]);
    const __m256 c = _mm256_unpacklo_ps(lane[2], lane[3]), d = _mm256_unpackhi_ps(lane[2], lane[3]);
    const __m256 components[4] = {_mm256_shuffle_ps(a, c, 0b01'00'01'00), _mm256_shuffle_ps(a, c, 0b11'10'11'10),
                                  _mm256_shuffle_ps(b, d, 0b01'00'01'00), _mm256_shuffle_ps(b, d, 0b11'10'11'10)};
    for (unsigned i = 0; i < 4; ++i)
      if ((needed >> i & 1) != 0) put_row8(&rows[i][first], _mm256_castps_si256(components[i]));
  }
}

namespace {

// Sums of four lanes, by corner.
WAVEJIT_AVX2 inline __m128 weighted(const Shares& shares, const __m128 (&corners)[4]) {
  __m256d sum = _mm256_setzero_pd();
  for (unsigned i = 0; i < 4; ++i) {
    // Infinities without weight are no NaNs.
    const __m256d counts = _mm256_cmp_pd(shares.corner[i], _mm256_setzero_pd(), _CMP_NEQ_OQ);
    const __m256d texel = _mm256_and_pd(_mm256_cvtps_pd(corners[i]), counts);
    sum = _mm256_add_pd(sum, _mm256_mul_pd(shares.corner[i], texel));
  }
  return _mm256_cvtpd_ps(sum);
}

}  // namespace

// Of one component, a float.
WAVEJIT_AVX2 void PlaneSamples::sum_one(const Places& p, uint64_t lanes, uint64_t& accessing, Rows& rows) const {
  alignas(32) Pairs pairs;
  fetch_pairs<uint32_t>(p, lanes, accessing, pairs);
  for (unsigned first = 0; first < kWaveSize; first += 4) {
    const bool active = (lanes >> first & 15) != 0;
    __m128 corners[4];
    for (unsigned row = 0; row < 2; ++row) {
      const auto* four = reinterpret_cast<const float*>(&pairs[row][first]);
      const __m128 a = _mm_loadu_ps(four), b = _mm_loadu_ps(four + 4);
      corners[2 * row] = _mm_shuffle_ps(a, b, 0b10'00'10'00);
      corners[2 * row + 1] = _mm_shuffle_ps(a, b, 0b11'01'11'01);
    }
    const __m128 sum =
        active ? weighted(shares_of(p.weight_right + first, p.weight_lower + first), corners) : _mm_setzero_ps();
    _mm_storeu_ps(reinterpret_cast<float*>(&rows[0][first]), sum);
  }
}

// Of other formats: converts the texels, and adds in f64.
template <typename T, typename Stored>
WAVEJIT_AVX2 void PlaneSamples::sum_others(const Places& p, uint64_t lanes, uint64_t& accessing, unsigned needed,
                                           Rows& rows) const {
  alignas(32) Stored corners[4][kWaveSize];
  if (lanes != ~uint64_t{0}) std::memset(corners, 0, sizeof corners);
  fetch<T>(p, lanes, accessing, corners);
  for (unsigned first = 0; first < kWaveSize; first += 8) {
    if ((lanes >> first & 0xff) == 0) {
      for (unsigned i = 0; i < 4; ++i)
        if ((needed >> i & 1) != 0) put_row8(&rows[i][first], _mm256_setzero_si256());
      continue;
    }
    alignas(32) Rows texels;  // by corner: rows of components, of eight lanes
    for (unsigned corner = 0; corner < 4; ++corner)
      texels_.convert(reinterpret_cast<const uint8_t*>(corners[corner] + first), needed,
                      reinterpret_cast<uint32_t(*)[kWaveSize]>(&texels[0][8 * corner]));
    for (unsigned four = 0; four < 8; four += 4) {
      const Shares s = shares_of(p.weight_right + first + four, p.weight_lower + first + four);
      for (unsigned i = 0; i < 4; ++i) {
        if ((needed >> i & 1) == 0) continue;
        __m128 values[4];
        for (unsigned corner = 0; corner < 4; ++corner)
          values[corner] = _mm_load_ps(reinterpret_cast<const float*>(&texels[i][8 * corner + four]));
        const __m128 sum = weighted(s, values);
        _mm_storeu_ps(reinterpret_cast<float*>(&rows[i][first + four]), sum);
      }
    }
  }
}

namespace {

struct Bytes12 {
  uint32_t words[3];
};
struct Bytes16 {
  Bytes16() = default;
  explicit Bytes16(const Bytes12& b) : words{b.words[0], b.words[1], b.words[2], 0} {}
  uint32_t words[4];
};

}  // namespace

uint64_t PlaneSamples::sums(const float* x, const float* y, uint64_t lanes, unsigned needed, uint64_t& accessing,
                            Rows& rows) const {
  Places p;
  const Way way = way_of(x, y);
  const uint64_t inside = way == Way::near      ? places<Way::near>(x, y, lanes, p)
                          : way == Way::to_edge ? places<Way::to_edge>(x, y, lanes, p)
                                                : places<Way::general>(x, y, lanes, p);
  needed &= (1u << texels_.layout().components) - 1;
  switch (sum_) {
    case Sum::one_float:
      sum_one(p, inside, accessing, rows);
      return inside;
    case Sum::four_floats:
      sum_four<Sum::four_floats>(p, inside, accessing, needed, rows);
      return inside;
    case Sum::four_halves:
      sum_four<Sum::four_halves>(p, inside, accessing, needed, rows);
      return inside;
    case Sum::bytes:
      sum_bytes(p, inside, accessing, needed, rows);
      return inside;
    case Sum::others:
      break;
  }
  switch (plane_.texel_bytes) {
    case 1:
      sum_others<uint8_t, uint32_t>(p, inside, accessing, needed, rows);
      break;
    case 2:
      sum_others<uint16_t, uint32_t>(p, inside, accessing, needed, rows);
      break;
    case 4:
      sum_others<uint32_t, uint32_t>(p, inside, accessing, needed, rows);
      break;
    case 8:
      sum_others<uint64_t, uint64_t>(p, inside, accessing, needed, rows);
      break;
    default:  // 12: there are no four components of 32 bits other than floats
      sum_others<Bytes12, Bytes16>(p, inside, accessing, needed, rows);
  }
  return inside;
}

// Neighbouring groups of lanes mostly sample the same line, whose place is computed once then.
template <PlaneSamples::Way kWay>
WAVEJIT_AVX2 uint64_t PlaneSamples::nearest(const float* x, const float* y, uint64_t lanes, uint32_t* out) const {
  const Axis<false, kWay != Way::general, kWay == Way::near> columns(scaling_[0]), lines(scaling_[1]);
  const __m256i row_bytes = _mm256_set1_epi32(static_cast<int>(plane_.row_bytes));
  const __m256i texel_bytes = _mm256_set1_epi32(static_cast<int>(plane_.texel_bytes));
  uint64_t outside = 0;
  __m256i line = _mm256_setzero_si256(), row = line, offset_of_row = line;
  for (unsigned l = 0; l < kWaveSize; l += 8) {
    const __m256i next = row8(y + l), differ = _mm256_xor_si256(line, next);
    if (l == 0 || _mm256_testz_si256(differ, differ) == 0) {
      line = next;
      row = lines.clamped(lines.fixed_point(y + l).texel);
      offset_of_row = _mm256_mullo_epi32(row, row_bytes);
    }
    const __m256i column = columns.clamped(columns.fixed_point(x + l).texel);
    if (kWay == Way::general) {
      const __m256 any = _mm256_castsi256_ps(_mm256_or_si256(column, row));
      outside |= static_cast<uint64_t>(_mm256_movemask_ps(any)) << l;
    }
    // Columns in the image are below 2^15, so that they are one word each.
    put_row8(out + l, _mm256_add_epi32(offset_of_row, _mm256_madd_epi16(column, texel_bytes)));
  }
  return lanes & ~outside;
}

uint64_t PlaneSamples::sample(const float* x, const float* y, uint64_t lanes, unsigned needed, uint64_t& accessing,
                              Rows& rows) const {
  if (linear_) return sums(x, y, lanes, needed, accessing, rows);
  alignas(32) uint32_t offsets[kWaveSize];
  const Way way = way_of(x, y);
  const uint64_t inside = way == Way::near      ? nearest<Way::near>(x, y, lanes, offsets)
                          : way == Way::to_edge ? nearest<Way::to_edge>(x, y, lanes, offsets)
                                                : nearest<Way::general>(x, y, lanes, offsets);
  texels_.load(plane_.first, offsets, inside, needed, accessing, rows);
  return inside;
}

}  // namespace wavejit::backend
