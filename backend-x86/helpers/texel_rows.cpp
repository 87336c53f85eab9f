#include "backend-x86/helpers/texel_rows.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavejit::backend {
namespace {

using format::Number;

WAVEJIT_AVX2 inline __m256i load8(const void* row) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(row));
}
WAVEJIT_AVX2 inline void store8(void* row, __m256i value) {
  _mm256_storeu_si256(static_cast<__m256i*>(row), value);
}

// Bit i of `lanes` in all bits of element i.
WAVEJIT_AVX2 inline __m256i lane_mask(unsigned lanes) {
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(lanes)), bits), bits);
}

// Whether the eight addresses are those of texels one behind the other.
WAVEJIT_AVX2 inline bool consecutive(const uint64_t* a, unsigned bytes) {
  const __m256i first = _mm256_set1_epi64x(static_cast<long long>(a[0]));
  const __m256i step = _mm256_mul_epu32(_mm256_setr_epi64x(0, 1, 2, 3), _mm256_set1_epi64x(bytes));
  const __m256i low = _mm256_add_epi64(first, step);
  const __m256i high = _mm256_add_epi64(low, _mm256_set1_epi64x(int64_t{4} * bytes));
  const __m256i differ = _mm256_or_si256(_mm256_xor_si256(low, load8(a)), _mm256_xor_si256(high, load8(a + 4)));
  return _mm256_testz_si256(differ, differ) != 0;
}

// Texels of T at the addresses of all eight lanes.
template <typename T>
WAVEJIT_AVX2 inline void fetch_all(const uint64_t* a, uint8_t* raw, unsigned stride) {
  for (unsigned l = 0; l < TexelRows::kGroup; ++l) {
    T texel;
    std::memcpy(&texel, reinterpret_cast<const void*>(a[l]), sizeof texel);
    keep_order();
    uint64_t wide[sizeof(T) > 8 ? 2 : 1] = {};
    std::memcpy(wide, &texel, sizeof texel);
    std::memcpy(raw + size_t{l} * stride, wide, sizeof(T) < 4 ? 4 : sizeof(T));
  }
}

WAVEJIT_AVX2 inline void fetch_dwords(const uint64_t* a, uint8_t* raw) {
  const auto at = [&](unsigned l) WAVEJIT_AVX2 {
    int texel;
    std::memcpy(&texel, reinterpret_cast<const void*>(a[l]), sizeof texel);
    return texel;
  };
  const auto four = [&](unsigned l) WAVEJIT_AVX2 {
    __m128i v = _mm_cvtsi32_si128(at(l));
    keep_order();
    v = _mm_insert_epi32(v, at(l + 1), 1);
    keep_order();
    v = _mm_insert_epi32(v, at(l + 2), 2);
    keep_order();
    v = _mm_insert_epi32(v, at(l + 3), 3);
    keep_order();
    return v;
  };
  const __m128i low = four(0);
  store8(raw, _mm256_inserti128_si256(_mm256_castsi128_si256(low), four(4), 1));
}

constexpr unsigned kPage = 4096;
// Whether texels of a group of lanes, one behind the other, are in one page.
inline bool in_one_page(uint64_t address, unsigned bytes) {
  return address % kPage <= kPage - TexelRows::kGroup * bytes;
}

// Dword 0 and dword 1 of texels of eight bytes.
WAVEJIT_AVX2 inline void split_pairs(const uint8_t* raw, __m256i out[4]) {
  const __m256 a = _mm256_castsi256_ps(load8(raw)), b = _mm256_castsi256_ps(load8(raw + 32));
  const auto ordered = [&](__m256 v)
                           WAVEJIT_AVX2 { return _mm256_permute4x64_epi64(_mm256_castps_si256(v), 0b11'01'10'00); };
  out[0] = ordered(_mm256_shuffle_ps(a, b, 0b10'00'10'00));
  out[1] = ordered(_mm256_shuffle_ps(a, b, 0b11'01'11'01));
}
WAVEJIT_AVX2 inline void join_pairs(const __m256i in[4], uint8_t* raw) {
  const __m256i low = _mm256_unpacklo_epi32(in[0], in[1]), high = _mm256_unpackhi_epi32(in[0], in[1]);
  store8(raw, _mm256_permute2x128_si256(low, high, 0x20));
  store8(raw + 32, _mm256_permute2x128_si256(low, high, 0x31));
}

// Four rows of eight dwords from texels of four, and back: both are a transposition within the halves.
WAVEJIT_AVX2 inline void transpose(__m256i v[4]) {
  const __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
  const __m256i c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
  v[0] = _mm256_unpacklo_epi64(a, c);
  v[1] = _mm256_unpackhi_epi64(a, c);
  v[2] = _mm256_unpacklo_epi64(b, d);
  v[3] = _mm256_unpackhi_epi64(b, d);
}
WAVEJIT_AVX2 inline void split_quads(const uint8_t* raw, __m256i out[4]) {
  for (unsigned i = 0; i < 4; ++i) {
    const auto half = [&](unsigned lane) WAVEJIT_AVX2 {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(raw + size_t{16} * lane));
    };
    out[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(half(i)), half(i + 4), 1);
  }
  transpose(out);
}
WAVEJIT_AVX2 inline void join_quads(__m256i v[4], uint8_t* raw) {
  transpose(v);
  for (unsigned i = 0; i < 4; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(raw + size_t{16} * i), _mm256_castsi256_si128(v[i]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(raw + size_t{16} * (i + 4)), _mm256_extracti128_si256(v[i], 1));
  }
}

// Dwords of which each holds a value of 16 bits, as eight such values.
WAVEJIT_AVX2 inline __m128i narrowed(__m256i v) {
  return _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

template <typename T>
void put_lanes(const uint64_t* a, unsigned lanes, const uint8_t* texels, unsigned stride) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(lanes));
    std::memcpy(reinterpret_cast<void*>(a[l]), texels + size_t{l} * stride, sizeof(T));
    keep_order();
  }
}

struct Dword3 {
  uint32_t words[3];
};
struct Dword4 {
  uint32_t words[4];
};

}  // namespace

TexelRows::TexelRows(const format::Layout& layout, Number number) : layout_(layout), number_(number) {
  stride_ = layout.bytes <= 4 ? 4 : layout.bytes <= 8 ? 8 : 16;
  const auto any_of = [&](auto&& holds) {
    for (unsigned i = 0; i < layout.components; ++i)
      if (holds(layout.bits[i])) return true;
    return false;
  };
  switch (number) {
    case Number::unorm:
      kind_ = Kind::unorm;
      break;
    case Number::snorm:
      kind_ = any_of([](unsigned bits) { return bits == 1; }) ? Kind::by_lane : Kind::snorm;
      break;
    case Number::uscaled:
      kind_ = Kind::uscaled;
      break;
    case Number::sscaled:
      kind_ = Kind::sscaled;
      break;
    case Number::uint:
      kind_ = Kind::plain;
      break;
    case Number::sint:
      kind_ = Kind::with_sign;
      break;
    case Number::float_:
      kind_ = any_of([](unsigned bits) { return bits < 16; })    ? Kind::by_lane
              : any_of([](unsigned bits) { return bits == 16; }) ? Kind::half
                                                                 : Kind::plain;
      break;
    default:
      kind_ = Kind::by_lane;
  }
}

// Where the texels are: in `raw`, or in memory if they are there as convert() wants them.
WAVEJIT_AVX2 const uint8_t* TexelRows::fetch(const uint64_t* a, unsigned lanes, uint8_t* raw) const {
  const unsigned bytes = layout_.bytes;
  if (lanes == 0xff) {
    if (consecutive(a, bytes)) {
      const auto* texels = reinterpret_cast<const uint8_t*>(a[0]);
      // Several accesses would not be in the order of the lanes.
      if (bytes == stride_ && (bytes == 4 || in_one_page(a[0], bytes))) return texels;
      if (bytes == 1) {
        store8(raw, _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(texels))));
        return raw;
      }
      if (bytes == 2) {
        store8(raw, _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(texels))));
        return raw;
      }
    }
    switch (bytes) {
      case 4:
        fetch_dwords(a, raw);
        return raw;
      case 8:
        fetch_all<uint64_t>(a, raw, 8);
        return raw;
      case 16:
        fetch_all<Dword4>(a, raw, 16);
        return raw;
      case 1:
        fetch_all<uint8_t>(a, raw, 4);
        return raw;
      case 2:
        fetch_all<uint16_t>(a, raw, 4);
        return raw;
      default:
        break;
    }
  }
  std::memset(raw, 0, size_t{kGroup} * stride_);
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(lanes));
    std::memcpy(raw + size_t{l} * stride_, reinterpret_cast<const void*>(a[l]), bytes);
    keep_order();
  }
  return raw;
}

template <TexelRows::Kind kKind>
WAVEJIT_AVX2 inline void TexelRows::convert_as(const uint8_t* raw, unsigned needed, uint32_t (*rows)[kWaveSize]) const {
  __m256i words[4];
  if (stride_ == 4) {
    words[0] = load8(raw);
  } else if (stride_ == 8) {
    split_pairs(raw, words);
  } else {
    split_quads(raw, words);
  }
  for (unsigned i = 0; i < 4; ++i) {
    if ((needed >> i & 1) == 0) continue;
    const auto bits = static_cast<int>(layout_.bits[i]), shift = static_cast<int>(layout_.shift[i]);
    __m256i v = stride_ == 4 ? words[0] : words[shift / 32];
    if (bits != 32) {
      // To the upper end, and from there to the lower.
      v = _mm256_sll_epi32(v, _mm_cvtsi32_si128(32 - bits - shift % 32));
      const __m128i down = _mm_cvtsi32_si128(32 - bits);
      constexpr bool kHasSign = kKind == Kind::with_sign || kKind == Kind::snorm || kKind == Kind::sscaled;
      v = kHasSign ? _mm256_sra_epi32(v, down) : _mm256_srl_epi32(v, down);
    }
    if constexpr (kKind == Kind::unorm) {
      // The quotient rounded once: no quotient of numbers of 16 bits is near the middle between two floats.
      const __m256 all = _mm256_set1_ps(static_cast<float>((1u << bits) - 1));
      v = _mm256_castps_si256(_mm256_div_ps(_mm256_cvtepi32_ps(v), all));
    } else if constexpr (kKind == Kind::snorm) {
      const __m256 top = _mm256_set1_ps(static_cast<float>((1u << (bits - 1)) - 1));
      v = _mm256_castps_si256(_mm256_max_ps(_mm256_div_ps(_mm256_cvtepi32_ps(v), top), _mm256_set1_ps(-1)));
    } else if constexpr (kKind == Kind::uscaled || kKind == Kind::sscaled) {
      v = _mm256_castps_si256(_mm256_cvtepi32_ps(v));
    } else if constexpr (kKind == Kind::half) {
      v = _mm256_castps_si256(_mm256_cvtph_ps(narrowed(v)));
    }
    store8(rows[i], v);
  }
}

WAVEJIT_AVX2 void TexelRows::convert(const uint8_t* raw, unsigned needed, uint32_t (*rows)[kWaveSize]) const {
  if (kind_ == Kind::by_lane) {
    for (unsigned l = 0; l < kGroup; ++l) {
      uint32_t texel[4];
      format::read_element(raw + size_t{l} * stride_, layout_, number_, texel);
      for (unsigned i = 0; i < 4; ++i)
        if ((needed >> i & 1) != 0) rows[i][l] = texel[i];
    }
    return;
  }
  switch (kind_) {
    case Kind::with_sign:
      return convert_as<Kind::with_sign>(raw, needed, rows);
    case Kind::unorm:
      return convert_as<Kind::unorm>(raw, needed, rows);
    case Kind::snorm:
      return convert_as<Kind::snorm>(raw, needed, rows);
    case Kind::uscaled:
      return convert_as<Kind::uscaled>(raw, needed, rows);
    case Kind::sscaled:
      return convert_as<Kind::sscaled>(raw, needed, rows);
    case Kind::half:
      return convert_as<Kind::half>(raw, needed, rows);
    default:
      return convert_as<Kind::plain>(raw, needed, rows);
  }
}

WAVEJIT_AVX2 void TexelRows::load(const uint64_t* addresses, uint64_t lanes, unsigned needed, Rows& rows) const {
  needed &= (1u << layout_.components) - 1;
  for (unsigned first = 0; first < kWaveSize; first += kGroup) {
    const auto active = static_cast<unsigned>(lanes >> first & 0xff);
    auto* out = reinterpret_cast<uint32_t(*)[kWaveSize]>(&rows[0][first]);
    if (active == 0) {
      for (unsigned i = 0; i < 4; ++i)
        if ((needed >> i & 1) != 0) store8(out[i], _mm256_setzero_si256());
      continue;
    }
    alignas(32) Raw raw;
    convert(fetch(addresses + first, active, raw), needed, out);
    if (kind_ != Kind::by_lane) continue;  // zeros are 0
    for (unsigned l = 0; l < kGroup; ++l)
      for (unsigned i = 0; i < 4; ++i)
        if ((active >> l & 1) == 0 && (needed >> i & 1) != 0) out[i][l] = 0;
  }
}

// format::from_register() of each component, together as texels `stride()` bytes apart.
WAVEJIT_AVX2 void TexelRows::pack(const uint32_t* const (&rows)[4], unsigned first, uint8_t* texels) const {
  __m256i words[4] = {};
  for (unsigned i = 0; i < layout_.components; ++i) {
    if (rows[i] == nullptr) continue;
    const unsigned bits = layout_.bits[i], shift = layout_.shift[i];
    const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    __m256i v = load8(rows[i] + first);
    const __m256 f = _mm256_castsi256_ps(v);
    // A number between limits, 0 for NaN, times `all`, as integers.
    const auto scaled = [&](double low, double high, double all, bool truncate) WAVEJIT_AVX2 {
      const __m256 number = _mm256_and_ps(f, _mm256_cmp_ps(f, f, _CMP_ORD_Q));
      const auto half = [&](__m128 x) WAVEJIT_AVX2 {
        __m256d wide = _mm256_cvtps_pd(x);
        wide = _mm256_min_pd(_mm256_max_pd(wide, _mm256_set1_pd(low)), _mm256_set1_pd(high));
        wide = _mm256_mul_pd(wide, _mm256_set1_pd(all));
        return truncate ? _mm256_cvttpd_epi32(wide) : _mm256_cvtpd_epi32(wide);
      };
      const __m128i lower = half(_mm256_castps256_ps128(number));
      return _mm256_inserti128_si256(_mm256_castsi128_si256(lower), half(_mm256_extractf128_ps(number, 1)), 1);
    };
    switch (kind_) {
      case Kind::unorm:
        v = scaled(0, 1, mask, false);
        break;
      case Kind::snorm:
        v = scaled(-1, 1, mask >> 1, false);
        break;
      case Kind::uscaled:
        v = scaled(0, mask, 1, true);
        break;
      case Kind::sscaled:
        v = scaled(-static_cast<double>(mask >> 1) - 1, mask >> 1, 1, true);
        break;
      case Kind::half:
        if (bits == 16) v = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT));
        break;
      default:
        break;
    }
    if (bits != 32) {
      v = _mm256_and_si256(v, _mm256_set1_epi32(static_cast<int>(mask)));
      v = _mm256_sll_epi32(v, _mm_cvtsi32_si128(static_cast<int>(shift % 32)));
    }
    words[shift / 32] = _mm256_or_si256(words[shift / 32], v);
  }
  if (stride_ == 4) {
    store8(texels, words[0]);
  } else if (stride_ == 8) {
    join_pairs(words, texels);
  } else {
    join_quads(words, texels);
  }
}

WAVEJIT_AVX2 void TexelRows::store(const uint64_t* addresses, uint64_t lanes, const uint32_t* const (&rows)[4]) const {
  const unsigned bytes = layout_.bytes;
  for (unsigned first = 0; first < kWaveSize; first += kGroup) {
    auto active = static_cast<unsigned>(lanes >> first & 0xff);
    if (active == 0) continue;
    const uint64_t* a = addresses + first;
    alignas(32) Raw texels;
    if (kind_ == Kind::by_lane) {
      // An element may be shorter than its stride, and narrowed() saturates what is above it.
      std::memset(texels, 0, sizeof texels);
      for (unsigned l = 0; l < kGroup; ++l) {
        uint32_t components[4];
        for (unsigned i = 0; i < 4; ++i) components[i] = rows[i] != nullptr ? rows[i][first + l] : 0;
        if ((active >> l & 1) != 0)
          format::write_element(texels + size_t{l} * stride_, layout_, number_, components, 4);
      }
    } else {
      pack(rows, first, texels);
    }
    // At once, unless that might be a part of what the lanes before one that faults store.
    const bool at_once = active == 0xff && bytes != 12 && in_one_page(a[0], bytes) && consecutive(a, bytes);
    auto* memory = reinterpret_cast<uint8_t*>(a[0]);
    if (at_once && bytes == stride_) {
      for (unsigned i = 0; i < kGroup * bytes; i += 32) store8(memory + i, load8(texels + i));
      continue;
    }
    if (at_once) {
      const __m128i words = narrowed(load8(texels));
      if (bytes == 2) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(memory), words);
      } else {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(memory), _mm_packus_epi16(words, words));
      }
      continue;
    }
    switch (bytes) {
      case 1:
        put_lanes<uint8_t>(a, active, texels, 4);
        break;
      case 2:
        put_lanes<uint16_t>(a, active, texels, 4);
        break;
      case 4:
        put_lanes<uint32_t>(a, active, texels, 4);
        break;
      case 8:
        put_lanes<uint64_t>(a, active, texels, 8);
        break;
      case 12:
        put_lanes<Dword3>(a, active, texels, 16);
        break;
      default:
        put_lanes<Dword4>(a, active, texels, 16);
    }
  }
}

std::optional<TexelPlane> TexelPlane::of(const image::Image& image) {
  if (image.type != image::Type::d2) return std::nullopt;
  const std::optional<uint64_t> first = image.address(0, 0, 0, 0);
  if (!first || *first == 0) return std::nullopt;  // an address of 0 accesses nothing
  TexelPlane plane;
  plane.first = *first;
  plane.texel_bytes = image.layout.bytes;
  plane.row_bytes = image.pitch * image.layout.bytes;
  plane.width = image::Image::at_level(image.width, image.base_level);
  plane.height = image::Image::at_level(image.height, image.base_level);
  return plane;
}

WAVEJIT_AVX2 uint64_t TexelPlane::addresses(const uint32_t* x, const uint32_t* y, uint64_t lanes, uint64_t* out) const {
  const __m256i last_x = _mm256_set1_epi32(static_cast<int>(width - 1));
  const __m256i last_y = _mm256_set1_epi32(static_cast<int>(height - 1));
  const __m256i rows = _mm256_set1_epi64x(row_bytes), texels = _mm256_set1_epi64x(texel_bytes);
  const __m256i start = _mm256_set1_epi64x(static_cast<long long>(first));
  uint64_t inside = 0;
  for (unsigned l = 0; l < kWaveSize; l += 8) {
    const __m256i column = load8(x + l), row = load8(y + l);
    const __m256i exists = _mm256_and_si256(_mm256_cmpeq_epi32(_mm256_min_epu32(column, last_x), column),
                                            _mm256_cmpeq_epi32(_mm256_min_epu32(row, last_y), row));
    const __m256i active = _mm256_and_si256(exists, lane_mask(static_cast<unsigned>(lanes >> l & 0xff)));
    inside |= static_cast<uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(active))) << l;
    const auto four = [&](__m128i c, __m128i r, __m128i mask) WAVEJIT_AVX2 {
      const __m256i offset = _mm256_add_epi64(_mm256_mul_epu32(_mm256_cvtepu32_epi64(c), texels),
                                              _mm256_mul_epu32(_mm256_cvtepu32_epi64(r), rows));
      return _mm256_and_si256(_mm256_add_epi64(offset, start), _mm256_cvtepi32_epi64(mask));
    };
    const auto upper = [&](__m256i v) WAVEJIT_AVX2 { return _mm256_extracti128_si256(v, 1); };
    store8(out + l, four(_mm256_castsi256_si128(column), _mm256_castsi256_si128(row), _mm256_castsi256_si128(active)));
    store8(out + l + 4, four(upper(column), upper(row), upper(active)));
  }
  return inside;
}

TexelSources texel_sources(const image::Image& image) {
  TexelSources sources;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t select = image.selects >> (3 * i) & 7, component = select - 4;
    const bool is_constant = select < 4 || component >= image.layout.components;
    const uint32_t constant = select >= 4   ? format::missing(component, image.number)
                              : select == 1 ? format::one(image.number)
                                            : 0;
    sources[i] = {.component = is_constant ? 0 : component, .is_constant = is_constant, .constant = constant};
  }
  return sources;
}

unsigned needed_components(const TexelSources& sources, unsigned dmask) {
  unsigned needed = 0;
  for (unsigned i = 0; i < 4; ++i)
    if ((dmask >> i & 1) != 0 && !sources[i].is_constant) needed |= 1u << sources[i].component;
  return std::max(needed, 1u);
}

WAVEJIT_AVX2 void put_rows(const TexelSources& sources, unsigned dmask, const Rows& rows, uint64_t lanes,
                           uint32_t (*out)[kWaveSize]) {
  for (unsigned i = 0; i < 4; ++i) {
    if ((dmask >> i & 1) == 0) continue;
    const TexelSource& source = sources[i];
    const __m256i constant = _mm256_set1_epi32(static_cast<int>(source.constant));
    for (unsigned l = 0; l < kWaveSize; l += 8) {
      const __m256i value = source.is_constant ? constant : load8(&rows[source.component][l]);
      store8(*out + l, _mm256_and_si256(value, lane_mask(static_cast<unsigned>(lanes >> l & 0xff))));
    }
    ++out;
  }
}

}  // namespace wavejit::backend
