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

constexpr unsigned kPage = 4096;
// Whether texels of a group of lanes, one behind the other, are in one page.
inline bool in_one_page(uint64_t address, unsigned bytes) {
  return address % kPage <= kPage - TexelRows::kGroup * bytes;
}

// Where the texels of lanes are: by addresses, which have been described for the report of a fault.
class ByAddress {
 public:
  WAVEJIT_AVX2 ByAddress(const uint64_t* addresses, unsigned bytes)
      : addresses_(addresses), low_(_mm256_mul_epu32(_mm256_setr_epi64x(0, 1, 2, 3), _mm256_set1_epi64x(bytes))) {
    high_ = _mm256_add_epi64(low_, _mm256_set1_epi64x(int64_t{4} * bytes));
  }
  [[nodiscard]] uint64_t of(unsigned lane) const { return addresses_[lane]; }
  // Whether the texels of the eight lanes from `first` on are one behind the other.
  [[nodiscard]] WAVEJIT_AVX2 bool consecutive(unsigned first) const {
    const uint64_t* a = addresses_ + first;
    const __m256i begin = _mm256_set1_epi64x(static_cast<long long>(a[0]));
    const __m256i low = _mm256_xor_si256(_mm256_add_epi64(begin, low_), load8(a));
    const __m256i high = _mm256_xor_si256(_mm256_add_epi64(begin, high_), load8(a + 4));
    const __m256i differ = _mm256_or_si256(low, high);
    return _mm256_testz_si256(differ, differ) != 0;
  }
  // Called before memory is read for the lane, and perhaps for ones behind it.
  void note(unsigned /*lane*/) const {}
  // A fault finds its lane, so that the texels of several lanes may be read at once, also from two pages.
  static constexpr bool kFindsLanes = true;

 private:
  const uint64_t* addresses_;
  __m256i low_, high_;  // distances from the first texel
};

// By offsets from a base: a fault is that of the lane that has been noted last.
class ByOffset {
 public:
  WAVEJIT_AVX2 ByOffset(uint64_t base, const uint32_t* offsets, unsigned bytes, uint64_t& accessing)
      : base_(base),
        offsets_(offsets),
        accessing_(accessing),
        steps_(_mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                  _mm256_set1_epi32(static_cast<int>(bytes)))) {}
  [[nodiscard]] uint64_t of(unsigned lane) const { return base_ + offsets_[lane]; }
  [[nodiscard]] WAVEJIT_AVX2 bool consecutive(unsigned first) const {
    const __m256i begin = _mm256_set1_epi32(static_cast<int>(offsets_[first]));
    const __m256i differ = _mm256_xor_si256(_mm256_add_epi32(begin, steps_), load8(offsets_ + first));
    return _mm256_testz_si256(differ, differ) != 0;
  }
  void note(unsigned lane) const {
    accessing_ = ~uint64_t{0} << lane;
    keep_order();
  }
  static constexpr bool kFindsLanes = false;

 private:
  uint64_t base_;
  const uint32_t* offsets_;
  uint64_t& accessing_;
  __m256i steps_;
};

// Texels of T of the eight lanes from `first` on.
template <typename T, typename Places>
WAVEJIT_AVX2 inline void fetch_all(const Places& places, unsigned first, uint8_t* raw, unsigned stride) {
  for (unsigned l = 0; l < TexelRows::kGroup; ++l) {
    T texel;
    places.note(first + l);
    std::memcpy(&texel, reinterpret_cast<const void*>(places.of(first + l)), sizeof texel);
    keep_order();
    uint64_t wide[sizeof(T) > 8 ? 2 : 1] = {};
    std::memcpy(wide, &texel, sizeof texel);
    std::memcpy(raw + size_t{l} * stride, wide, sizeof(T) < 4 ? 4 : sizeof(T));
  }
}

template <typename Places>
WAVEJIT_AVX2 inline void fetch_dwords(const Places& places, unsigned first, uint8_t* raw) {
  const auto at = [&](unsigned l) WAVEJIT_AVX2 {
    int texel;
    places.note(first + l);
    std::memcpy(&texel, reinterpret_cast<const void*>(places.of(first + l)), sizeof texel);
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
  if (layout.bits[0] == 32) kind_ = Kind::dwords;  // other components have 32 bits, too, and numbers are not scaled
}

// Calls function(Form) with the format's form.
template <typename F>
WAVEJIT_AVX2 inline void TexelRows::with_form(F&& function) const {
  const auto with_kind = [&]<unsigned kStride>() WAVEJIT_AVX2 {
    switch (kind_) {
      case Kind::dwords:
        return function(Form<Kind::dwords, kStride>());
      case Kind::with_sign:
        return function(Form<Kind::with_sign, kStride>());
      case Kind::unorm:
        return function(Form<Kind::unorm, kStride>());
      case Kind::snorm:
        return function(Form<Kind::snorm, kStride>());
      case Kind::uscaled:
        return function(Form<Kind::uscaled, kStride>());
      case Kind::sscaled:
        return function(Form<Kind::sscaled, kStride>());
      case Kind::half:
        return function(Form<Kind::half, kStride>());
      default:
        return function(Form<Kind::plain, kStride>());
    }
  };
  if (stride_ == 4) return with_kind.template operator()<4>();
  if (stride_ == 8) return with_kind.template operator()<8>();
  return function(Form<Kind::dwords, 16>());
}

namespace {

// Reads the texels of `lanes`, of the eight from `first` on, to `raw`: `kStride` bytes apart.
template <unsigned kStride, typename Places>
[[gnu::noinline]] WAVEJIT_AVX2 void fetch_lanes(const Places& places, unsigned first, unsigned lanes, unsigned bytes,
                                                uint8_t* raw) {
  if (lanes == 0xff) {
    switch (bytes) {
      case 4:
        return fetch_dwords(places, first, raw);
      case 8:
        return fetch_all<uint64_t>(places, first, raw, 8);
      case 16:
        return fetch_all<Dword4>(places, first, raw, 16);
      case 1:
        return fetch_all<uint8_t>(places, first, raw, 4);
      case 2:
        return fetch_all<uint16_t>(places, first, raw, 4);
      default:
        break;
    }
  }
  std::memset(raw, 0, size_t{TexelRows::kGroup} * kStride);
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(lanes));
    places.note(first + l);
    std::memcpy(raw + size_t{l} * kStride, reinterpret_cast<const void*>(places.of(first + l)), bytes);
    keep_order();
  }
}

// Where the texels are: in `raw`, or in memory if they are there as convert() wants them.
template <unsigned kStride, typename Places>
[[gnu::always_inline]] WAVEJIT_AVX2 inline const uint8_t* fetch(const Places& places, unsigned first, unsigned lanes,
                                                                unsigned bytes, uint8_t* raw) {
  const uint64_t begin = places.of(first);
  // Texels on two pages are read lane by lane, so that the first lane that faults is the one that is reported, unless the fault's
  // address tells the lane.
  const bool at_once = (bytes <= 4 && Places::kFindsLanes) || in_one_page(begin, bytes);
  if (lanes != 0xff || !at_once || !places.consecutive(first) || (bytes != kStride && bytes > 2)) {
    fetch_lanes<kStride>(places, first, lanes, bytes, raw);
    return raw;
  }
  places.note(first);
  const auto* texels = reinterpret_cast<const uint8_t*>(begin);
  if (bytes == kStride) return texels;
  store8(raw, bytes == 1 ? _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(texels)))
                         : _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(texels))));
  return raw;
}

// The quotient of a whole number and 2^bits - 1 or 2^(bits - 1) - 1, rounded once, for up to 16 bits: the first guess is
// less than a unit in the last place away, its remainder is exact, and no quotient is near the middle between two floats.
WAVEJIT_AVX2 inline __m256 quotient(__m256i number, __m256 divisor, __m256 inverse) {
  const __m256 n = _mm256_cvtepi32_ps(number), guess = _mm256_mul_ps(n, inverse);
  return _mm256_fmadd_ps(_mm256_fnmadd_ps(guess, divisor, n), inverse, guess);
}

using Kind = TexelRows::Kind;

// Shifts of a component to the upper end of a dword and back, and the number that stands for 1.
template <Kind kKind>
struct Parts {
  WAVEJIT_AVX2 explicit Parts(const format::Layout& layout) {
    if constexpr (kKind == Kind::dwords) return;
    for (unsigned i = 0; i < layout.components; ++i) {
      const unsigned bits = layout.bits[i];
      const auto one = static_cast<float>((1u << (kKind == Kind::snorm ? bits - 1 : bits)) - 1);
      part[i] = {_mm256_set1_epi32(static_cast<int>(32 - bits - layout.shift[i] % 32)),
                 _mm256_set1_epi32(static_cast<int>(32 - bits)), _mm256_set1_ps(one), _mm256_set1_ps(1 / one)};
    }
  }
  struct Part {
    __m256i left, right;
    __m256 one, inverse;
  } part[4];
};

// `kAsSums`: added to 0.
template <Kind kKind, unsigned kStride, bool kAsSums>
WAVEJIT_AVX2 inline void convert_as(const Parts<kKind>& parts, const uint8_t* raw, unsigned needed,
                                    uint32_t (*rows)[kWaveSize]) {
  __m256i words[4];
  if constexpr (kStride == 4) {
    words[0] = load8(raw);
  } else if constexpr (kStride == 8) {
    split_pairs(raw, words);
  } else {
    split_quads(raw, words);
  }
  // Several components of a dword have 8 bytes for up to four of them.
  for (unsigned i = 0; i < (kKind == Kind::dwords ? kStride / 4 : 4); ++i) {
    if ((needed >> i & 1) == 0) continue;
    __m256i v = words[kKind == Kind::dwords ? i : kStride == 8 ? i / 2 : 0];
    if constexpr (kKind != Kind::dwords) {
      const auto& part = parts.part[i];
      v = _mm256_sllv_epi32(v, part.left);
      constexpr bool kHasSign = kKind == Kind::with_sign || kKind == Kind::snorm || kKind == Kind::sscaled;
      v = kHasSign ? _mm256_srav_epi32(v, part.right) : _mm256_srlv_epi32(v, part.right);
      if constexpr (kKind == Kind::unorm) {
        v = _mm256_castps_si256(quotient(v, part.one, part.inverse));
      } else if constexpr (kKind == Kind::snorm) {
        v = _mm256_castps_si256(_mm256_max_ps(quotient(v, part.one, part.inverse), _mm256_set1_ps(-1)));
      } else if constexpr (kKind == Kind::uscaled || kKind == Kind::sscaled) {
        v = _mm256_castps_si256(_mm256_cvtepi32_ps(v));
      } else if constexpr (kKind == Kind::half) {
        v = _mm256_castps_si256(_mm256_cvtph_ps(narrowed(v)));
      }
    }
    if constexpr (kAsSums) v = _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(v), _mm256_setzero_ps()));
    store8(rows[i], v);
  }
}

}  // namespace

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
  with_form([&](auto form) WAVEJIT_AVX2 {
    using F = decltype(form);
    convert_as<F::kind, F::stride, false>(Parts<F::kind>(layout_), raw, needed, rows);
  });
}

template <bool kAsSums, typename Places>
WAVEJIT_AVX2 inline void TexelRows::load_from(const Places& places, uint64_t lanes, unsigned needed, Rows& rows) const {
  if (kind_ == Kind::by_lane) {
    for (unsigned l = 0; l < kWaveSize; ++l) {
      uint32_t texel[4] = {};
      if ((lanes >> l & 1) != 0) {
        places.note(l);
        format::read_element(reinterpret_cast<const void*>(places.of(l)), layout_, number_, texel);
      }
      keep_order();
      for (unsigned i = 0; i < 4; ++i) {
        if ((needed >> i & 1) == 0) continue;
        rows[i][l] = kAsSums ? std::bit_cast<uint32_t>(std::bit_cast<float>(texel[i]) + 0.0f) : texel[i];
      }
    }
    return;
  }
  needed &= (1u << layout_.components) - 1;
  with_form([=, &rows, this](auto form) WAVEJIT_AVX2 {
    using F = decltype(form);
    const Parts<F::kind> parts(layout_);
    const unsigned bytes = layout_.bytes;
    for (unsigned first = 0; first < kWaveSize; first += kGroup) {
      const auto active = static_cast<unsigned>(lanes >> first & 0xff);
      auto* out = reinterpret_cast<uint32_t(*)[kWaveSize]>(&rows[0][first]);
      if (active == 0) {
        for (unsigned i = 0; i < 4; ++i)
          if ((needed >> i & 1) != 0) store8(out[i], _mm256_setzero_si256());
        continue;
      }
      alignas(32) Raw raw;
      const uint8_t* texels = fetch<F::stride>(places, first, active, bytes, raw);
      convert_as<F::kind, F::stride, kAsSums>(parts, texels, needed, out);  // zeros are 0
    }
  });
}

WAVEJIT_AVX2 void TexelRows::load(const uint64_t* addresses, uint64_t lanes, unsigned needed, Rows& rows) const {
  load_from<false>(ByAddress(addresses, layout_.bytes), lanes, needed, rows);
}

WAVEJIT_AVX2 void TexelRows::load(uint64_t base, const uint32_t* offsets, uint64_t lanes, unsigned needed,
                                  uint64_t& accessing, Rows& rows) const {
  const ByOffset places(base, offsets, layout_.bytes, accessing);
  if (format::is_integer(number_)) {
    load_from<false>(places, lanes, needed, rows);
  } else {
    load_from<true>(places, lanes, needed, rows);
  }
}

namespace {

// Numbers in registers as integers: between limits, 0 for NaN, times a factor.
struct Scale {
  double low, high, factor;
};
template <Kind kKind>
constexpr Scale scale_of(uint32_t mask) {
  switch (kKind) {
    case Kind::unorm:
      return {0, 1, static_cast<double>(mask)};
    case Kind::snorm:
      return {-1, 1, static_cast<double>(mask >> 1)};
    case Kind::uscaled:
      return {0, static_cast<double>(mask), 1};
    default:
      return {-static_cast<double>(mask >> 1) - 1, static_cast<double>(mask >> 1), 1};
  }
}
template <bool kTruncate>
WAVEJIT_AVX2 inline __m256i scaled(__m256 numbers, const Scale& scale) {
  numbers = _mm256_and_ps(numbers, _mm256_cmp_ps(numbers, numbers, _CMP_ORD_Q));
  const auto half = [&](__m128 x) WAVEJIT_AVX2 {
    __m256d wide = _mm256_cvtps_pd(x);
    wide = _mm256_min_pd(_mm256_max_pd(wide, _mm256_set1_pd(scale.low)), _mm256_set1_pd(scale.high));
    wide = _mm256_mul_pd(wide, _mm256_set1_pd(scale.factor));
    return kTruncate ? _mm256_cvttpd_epi32(wide) : _mm256_cvtpd_epi32(wide);
  };
  const __m128i lower = half(_mm256_castps256_ps128(numbers));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(lower), half(_mm256_extractf128_ps(numbers, 1)), 1);
}

// format::from_register() of each component, together as texels `kStride` bytes apart.
template <Kind kKind, unsigned kStride>
WAVEJIT_AVX2 inline void pack(const format::Layout& layout, const uint32_t* const (&rows)[4], unsigned first,
                              uint8_t* texels) {
  __m256i words[4] = {};
  for (unsigned i = 0; i < (kKind == Kind::dwords ? kStride / 4 : 4) && i < layout.components; ++i) {
    if (rows[i] == nullptr) continue;
    __m256i v = load8(rows[i] + first);
    __m256i& word = words[kKind == Kind::dwords ? i : kStride == 8 ? i / 2 : 0];
    if constexpr (kKind == Kind::dwords) {
      word = v;
      continue;
    }
    const uint32_t mask = (1u << layout.bits[i]) - 1;
    const __m256 f = _mm256_castsi256_ps(v);
    if constexpr (kKind == Kind::unorm || kKind == Kind::snorm) {
      v = scaled<false>(f, scale_of<kKind>(mask));
    } else if constexpr (kKind == Kind::uscaled || kKind == Kind::sscaled) {
      v = scaled<true>(f, scale_of<kKind>(mask));
    } else if constexpr (kKind == Kind::half) {
      v = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT));
    } else if constexpr (kKind == Kind::with_sign) {
      const auto high = static_cast<int>(mask >> 1);
      v = _mm256_min_epi32(_mm256_max_epi32(v, _mm256_set1_epi32(-high - 1)), _mm256_set1_epi32(high));
    } else {
      v = _mm256_min_epu32(v, _mm256_set1_epi32(static_cast<int>(mask)));
    }
    v = _mm256_and_si256(v, _mm256_set1_epi32(static_cast<int>(mask)));
    v = _mm256_sllv_epi32(v, _mm256_set1_epi32(layout.shift[i] % 32));
    word = _mm256_or_si256(word, v);
  }
  if constexpr (kStride == 4) {
    store8(texels, words[0]);
  } else if constexpr (kStride == 8) {
    join_pairs(words, texels);
  } else {
    join_quads(words, texels);
  }
}

}  // namespace

// Texels of a group of lanes to memory.
WAVEJIT_AVX2 inline void TexelRows::put(const uint64_t* a, unsigned active, const uint8_t* texels) const {
  const unsigned bytes = layout_.bytes;
  // At once, unless that might be a part of what the lanes before one that faults store.
  if (active == 0xff && bytes != 12 && in_one_page(a[0], bytes) && ByAddress(a, bytes).consecutive(0)) {
    auto* memory = reinterpret_cast<uint8_t*>(a[0]);
    if (bytes == stride_) {
      for (unsigned i = 0; i < kGroup * bytes; i += 32) store8(memory + i, load8(texels + i));
      return;
    }
    const __m128i words = narrowed(load8(texels));
    if (bytes == 2) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(memory), words);
    } else {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(memory), _mm_packus_epi16(words, words));
    }
    return;
  }
  switch (bytes) {
    case 1:
      return put_lanes<uint8_t>(a, active, texels, 4);
    case 2:
      return put_lanes<uint16_t>(a, active, texels, 4);
    case 4:
      return put_lanes<uint32_t>(a, active, texels, 4);
    case 8:
      return put_lanes<uint64_t>(a, active, texels, 8);
    case 12:
      return put_lanes<Dword3>(a, active, texels, 16);
    default:
      return put_lanes<Dword4>(a, active, texels, 16);
  }
}

void TexelRows::store_by_lane(const uint64_t* addresses, uint64_t lanes, const uint32_t* const (&rows)[4]) const {
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(lanes));
    uint32_t components[4];
    for (unsigned i = 0; i < 4; ++i) components[i] = rows[i] != nullptr ? rows[i][l] : 0;
    format::write_element(reinterpret_cast<void*>(addresses[l]), layout_, number_, components, 4);
    keep_order();
  }
}

WAVEJIT_AVX2 void TexelRows::store(const uint64_t* addresses, uint64_t lanes, const uint32_t* const (&rows)[4]) const {
  if (kind_ == Kind::by_lane) return store_by_lane(addresses, lanes, rows);
  const uint32_t* const data[4] = {rows[0], rows[1], rows[2], rows[3]};
  with_form([=, this](auto form) WAVEJIT_AVX2 {
    using F = decltype(form);
    const format::Layout layout = layout_;
    for (unsigned first = 0; first < kWaveSize; first += kGroup) {
      const auto active = static_cast<unsigned>(lanes >> first & 0xff);
      if (active == 0) continue;
      alignas(32) Raw texels;
      pack<F::kind, F::stride>(layout, data, first, texels);
      put(addresses + first, active, texels);
    }
  });
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
