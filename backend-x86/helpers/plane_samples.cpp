#include "backend-x86/helpers/plane_samples.h"

#include <immintrin.h>

#include <bit>
#include <cstring>

// Only functions that places() calls are compiled for AVX2, so that no inline function of a header is.
#define WAVEJIT_AVX2 __attribute__((target("avx2")))

namespace wavejit::backend {
namespace {

using image::Image;

// The values of unsigned normalised bytes.
const std::array<double, 256>& byte_values() {
  static const std::array<double, 256> values = [] {
    std::array<double, 256> all{};
    for (uint32_t i = 0; i < all.size(); ++i)
      all[i] = std::bit_cast<float>(format::to_register(i, 8, format::Number::unorm, false));
    return all;
  }();
  return values;
}

struct Axis {
  __m128i first, second;
  __m256d weight;
};

WAVEJIT_AVX2 __m256d floor4(__m256d x) {
  return _mm256_floor_pd(x);
}

// i modulo `size`, of whole numbers up to 2^24: the quotient is whole or at least 2^-15 away from the next whole number.
WAVEJIT_AVX2 __m128i modulo(__m128i i, uint32_t size) {
  const __m256d value = _mm256_cvtepi32_pd(i), by = _mm256_set1_pd(size);
  const __m256d quotient = floor4(_mm256_div_pd(value, by));
  return _mm256_cvttpd_epi32(_mm256_sub_pd(value, _mm256_mul_pd(quotient, by)));
}

// image::clamp_texel().
WAVEJIT_AVX2 __m128i clamp_texels(__m128i i, uint32_t size, uint32_t mode) {
  const __m128i last = _mm_set1_epi32(static_cast<int>(size) - 1);
  const __m128i mirrored = _mm_xor_si128(i, _mm_srai_epi32(i, 31));
  switch (mode) {
    case 0:
      return modulo(i, size);
    case 1: {
      const __m128i m = modulo(i, 2 * size);
      const __m128i back = _mm_sub_epi32(_mm_set1_epi32(2 * static_cast<int>(size) - 1), m);
      return _mm_min_epi32(m, back);
    }
    case 2:
      return _mm_min_epi32(_mm_max_epi32(i, _mm_setzero_si128()), last);
    case 3:
      return _mm_min_epi32(mirrored, last);
    case 4:
    case 6:
      return _mm_or_si128(_mm_or_si128(i, _mm_srai_epi32(i, 31)), _mm_cmpgt_epi32(i, last));
    default:
      return _mm_or_si128(mirrored, _mm_cmpgt_epi32(mirrored, last));
  }
}

// image::axis_of().
WAVEJIT_AVX2 Axis axis(__m256d position, uint32_t size, uint32_t mode, bool linear, bool truncate) {
  const auto clamp = [&](double low, double high) WAVEJIT_AVX2 {
    position = _mm256_min_pd(_mm256_max_pd(position, _mm256_set1_pd(low)), _mm256_set1_pd(high));
  };
  position = _mm256_and_pd(position, _mm256_cmp_pd(position, position, _CMP_ORD_Q));
  clamp(-0x1p24, 0x1p24);
  if (mode == 4 || mode == 5) clamp(mode == 4 ? 0.0 : -double{1} * size, size);
  const __m256d half = _mm256_set1_pd(0.5), per_texel = _mm256_set1_pd(256), texel = _mm256_set1_pd(0x1p-8);
  const auto fixed = [&](__m256d x) WAVEJIT_AVX2 { return floor4(_mm256_add_pd(_mm256_mul_pd(x, per_texel), half)); };
  if (!linear) {
    const __m256d i = truncate ? floor4(position) : floor4(_mm256_mul_pd(fixed(position), texel));
    const __m128i only = clamp_texels(_mm256_cvttpd_epi32(i), size, mode);
    return {only, only, _mm256_setzero_pd()};
  }
  const __m256d at = fixed(_mm256_sub_pd(position, half));
  const __m256d whole = floor4(_mm256_mul_pd(at, texel));
  const __m128i i = _mm256_cvttpd_epi32(whole);
  return {clamp_texels(i, size, mode), clamp_texels(_mm_add_epi32(i, _mm_set1_epi32(1)), size, mode),
          _mm256_mul_pd(_mm256_sub_pd(at, _mm256_mul_pd(whole, per_texel)), texel)};
}

WAVEJIT_AVX2 __m256d positions(const float* coordinates, bool normalized, uint32_t size) {
  const __m256d position = _mm256_cvtps_pd(_mm_loadu_ps(coordinates));
  return normalized ? _mm256_mul_pd(position, _mm256_set1_pd(size)) : position;
}

WAVEJIT_AVX2 void store(const Axis& axis, std::array<std::array<int32_t, 4>, 2>& texels,
                        std::array<double, 4>& weight) {
  _mm_store_si128(reinterpret_cast<__m128i*>(texels[0].data()), axis.first);
  _mm_store_si128(reinterpret_cast<__m128i*>(texels[1].data()), axis.second);
  _mm256_store_pd(weight.data(), axis.weight);
}

}  // namespace

std::optional<PlaneSamples> PlaneSamples::of(const Image& image, const image::Sampler& sampler,
                                             const image::Fields& f) {
  const bool is_plain = !f.offset && !f.compare && !f.derivatives && !f.a16;
  if (image.type != image::Type::d2 || image.levels() != 1 || !is_plain || format::is_integer(image.number) ||
      sampler.mag_linear != sampler.min_linear)
    return std::nullopt;
  PlaneSamples result;
  result.image_ = &image;
  const auto size = [&](uint32_t all) { return Image::at_level(all, image.base_level); };
  result.width_ = size(image.width);
  result.height_ = size(image.height);
  const std::optional<uint64_t> first = image.address(0, 0, 0, 0);
  if (!first) return std::nullopt;
  result.first_row_ = *first;
  result.row_bytes_ = uint64_t{image.pitch} * image.layout.bytes;
  result.clamp_[0] = sampler.clamp[0];
  result.clamp_[1] = sampler.clamp[1];
  result.linear_ = sampler.mag_linear;
  result.truncate_ = sampler.truncate;
  result.normalized_ = !f.unnormalized && !sampler.unnormalized;
  result.components_ = image.layout.components;
  // Numbers that are the same for all texels are so for the sum, as the shares add up to 1.
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t select = image.selects >> (3 * i) & 7, component = select - 4;
    const bool is_constant = select < 4 || component >= image.layout.components;
    const uint32_t constant = select >= 4   ? format::missing(component, image.number)
                              : select == 1 ? format::one(image.number)
                                            : 0;
    result.sources_[i] = {.component = is_constant ? 0 : component, .is_constant = is_constant, .constant = constant};
  }
  const auto all_of = [&](unsigned bits) {
    for (unsigned i = 0; i < image.layout.components; ++i)
      if (image.layout.bits[i] != bits || image.layout.shift[i] != i * bits) return false;
    return true;
  };
  if (image.number == format::Number::float_ && all_of(32)) result.texels_ = Texels::floats;
  if (image.number == format::Number::unorm && all_of(8)) result.texels_ = Texels::bytes;
  return result;
}

WAVEJIT_AVX2 PlaneSamples::Places PlaneSamples::places(const float* x, const float* y) const {
  Places result;
  store(axis(positions(x, normalized_, width_), width_, clamp_[0], linear_, truncate_), result.x, result.weight_x);
  store(axis(positions(y, normalized_, height_), height_, clamp_[1], linear_, truncate_), result.y, result.weight_y);
  return result;
}

// One that has a weight of 0 is not read.
inline PlaneSamples::Corners PlaneSamples::corners(const Places& places, unsigned lane) const {
  const bool right = places.weight_x[lane] != 0, down = places.weight_y[lane] != 0;
  const uint64_t bytes = image_->layout.bytes;
  const uint64_t left = first_row_ + static_cast<uint32_t>(places.x[0][lane]) * bytes;
  const uint64_t next = first_row_ + static_cast<uint32_t>(places.x[1][lane]) * bytes;
  const uint64_t upper = static_cast<uint32_t>(places.y[0][lane]) * row_bytes_;
  const uint64_t lower = static_cast<uint32_t>(places.y[1][lane]) * row_bytes_;
  return {{upper + left, upper + next, lower + left, lower + next}, {true, right, down, right && down}};
}

inline void PlaneSamples::read(uint64_t address, double out[4]) const {
  switch (texels_) {
    case Texels::floats: {
      float texel[4] = {};
      if (components_ == 4)
        std::memcpy(texel, reinterpret_cast<const void*>(address), sizeof texel);
      else
        for (unsigned i = 0; i < components_; ++i)
          std::memcpy(&texel[i], reinterpret_cast<const void*>(address + uint64_t{4} * i), 4);
      for (unsigned i = 0; i < 4; ++i) out[i] = texel[i];
      return;
    }
    case Texels::bytes: {
      const std::array<double, 256>& values = byte_values();
      for (unsigned i = 0; i < components_; ++i) out[i] = values[reinterpret_cast<const uint8_t*>(address)[i]];
      return;
    }
    case Texels::others:
      break;
  }
  uint32_t texel[4];
  format::read_element(reinterpret_cast<const void*>(address), image_->layout, image_->number, texel);
  for (unsigned i = 0; i < 4; ++i) out[i] = std::bit_cast<float>(texel[i]);
}

WAVEJIT_AVX2 unsigned PlaneSamples::sample(const Places& p, unsigned active, uint64_t& accessing, unsigned first_lane,
                                           uint32_t (&result)[4][4]) const {
  const auto signs = [](const std::array<int32_t, 4>& texels) WAVEJIT_AVX2 {
    return _mm_movemask_ps(_mm_castsi128_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(texels.data()))));
  };
  const __m256d right = _mm256_load_pd(p.weight_x.data()), down = _mm256_load_pd(p.weight_y.data());
  const __m256d zero = _mm256_setzero_pd(), one = _mm256_set1_pd(1);
  const auto nonzero = [&](__m256d x) WAVEJIT_AVX2 { return _mm256_movemask_pd(_mm256_cmp_pd(x, zero, _CMP_NEQ_OQ)); };
  const int outside =
      signs(p.x[0]) | signs(p.y[0]) | (signs(p.x[1]) & nonzero(right)) | (signs(p.y[1]) & nonzero(down));
  const unsigned done = active & ~static_cast<unsigned>(outside);

  const __m256d left = _mm256_sub_pd(one, right), up = _mm256_sub_pd(one, down);
  alignas(32) double shares[4][4];  // by corner and lane
  _mm256_store_pd(shares[0], _mm256_mul_pd(left, up));
  _mm256_store_pd(shares[1], _mm256_mul_pd(right, up));
  _mm256_store_pd(shares[2], _mm256_mul_pd(left, down));
  _mm256_store_pd(shares[3], _mm256_mul_pd(right, down));
  const auto at_lane = [&](unsigned lane) WAVEJIT_AVX2 {
    accessing = uint64_t{1} << (first_lane + lane);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return corners(p, lane);
  };

  const auto texel_at = [&](uint64_t address) WAVEJIT_AVX2 {
    if (texels_ == Texels::floats && components_ == 4)
      return _mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(address)));
    alignas(32) double texel[4] = {};
    read(address, texel);
    return _mm256_load_pd(texel);
  };

  alignas(16) float sums[4][4] = {};  // by component and lane
  if (texels_ == Texels::floats && components_ == 1) {
    alignas(16) float texels[4][4] = {};  // by corner and lane
    for (unsigned left_lanes = done; left_lanes != 0; left_lanes &= left_lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left_lanes));
      const Corners c = at_lane(lane);
      for (unsigned i = 0; i < 4; ++i)
        if (c.counts[i]) std::memcpy(&texels[i][lane], reinterpret_cast<const void*>(c.address[i]), 4);
    }
    __m256d sum = zero;
    for (unsigned i = 0; i < 4; ++i)
      sum = _mm256_add_pd(sum, _mm256_mul_pd(_mm256_load_pd(shares[i]), _mm256_cvtps_pd(_mm_load_ps(texels[i]))));
    _mm_store_ps(sums[0], _mm256_cvtpd_ps(sum));
  } else {
    for (unsigned left_lanes = done; left_lanes != 0; left_lanes &= left_lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left_lanes));
      const Corners c = at_lane(lane);
      __m256d sum = zero;
      for (unsigned i = 0; i < 4; ++i) {
        if (!c.counts[i]) continue;
        sum = _mm256_add_pd(sum, _mm256_mul_pd(_mm256_set1_pd(shares[i][lane]), texel_at(c.address[i])));
      }
      alignas(16) float components[4];
      _mm_store_ps(components, _mm256_cvtpd_ps(sum));
      for (unsigned i = 0; i < 4; ++i) sums[i][lane] = components[i];
    }
  }
  for (unsigned i = 0; i < 4; ++i) {
    const Source& source = sources_[i];
    for (unsigned lane = 0; lane < 4; ++lane)
      result[i][lane] = source.is_constant ? source.constant : std::bit_cast<uint32_t>(sums[source.component][lane]);
  }
  return done;
}

}  // namespace wavejit::backend
