// Conversions between number formats.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_convert.cpp"
#include <bit>

#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

int32_t to_i32(double x) {  // truncate, saturate, NaN -> 0
  if (!(x == x)) return 0;
  return x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : static_cast<int32_t>(x);
}
uint32_t to_u32(double x) {
  if (!(x > 0)) return 0;
  return x >= 4294967295.0 ? UINT32_MAX : static_cast<uint32_t>(x);
}
double f64_at(const uint32_t* rows, size_t l) {
  return std::bit_cast<double>(static_cast<uint64_t>(rows[l + kWaveSize]) << 32 | rows[l]);
}
void set_f64(uint32_t* rows, size_t l, double x) {
  const auto v = std::bit_cast<uint64_t>(x);
  rows[l] = static_cast<uint32_t>(v);
  rows[l + kWaveSize] = static_cast<uint32_t>(v >> 32);
}

template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> convert_i32(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  // The host gives INT_MIN for everything out of range.
  auto y = hn::ConvertTo(di, x);
  y = hn::IfThenElse(hn::RebindMask(di, hn::Ge(x, hn::Set(d, 2147483648.0f))), hn::Set(di, INT32_MAX), y);
  y = hn::IfThenElse(hn::RebindMask(di, hn::Le(x, hn::Set(d, -2147483648.0f))), hn::Set(di, INT32_MIN), y);
  return hn::IfThenZeroElse(hn::RebindMask(di, hn::IsNaN(x)), y);
}
template <class D>
HWY_INLINE hn::Vec<D> as_float(D d, hn::Vec<hn::RebindToSigned<D>> v) {
  return hn::BitCast(d, v);
}

// Rounds to nearest-even after clamping; NaN -> 0.
uint32_t to_snorm16(float x) {
  if (!(x == x)) return 0;
  return static_cast<uint32_t>(static_cast<int32_t>(std::nearbyint(std::min(std::max(x, -1.0f), 1.0f) * 32767.0f))) &
         0xffff;
}
uint32_t to_unorm16(float x) {
  if (!(x == x)) return 0;
  return static_cast<uint32_t>(std::nearbyint(std::min(std::max(x, 0.0f), 1.0f) * 65535.0f)) & 0xffff;
}
uint32_t to_u8(float x) {
  if (!(x > 0)) return 0;
  return x >= 255.0f ? 255u : static_cast<uint32_t>(std::nearbyint(x));
}

// The f16 operands of one vector as an array of floats.
struct Floats {
  alignas(64) float v[kWaveSize];
  Floats(const uint32_t* row, uint32_t mode) {
    const hn::ScalableTag<uint32_t> du;
    const hn::ScalableTag<float> df;
    for (size_t i = 0; i < kWaveSize; i += hn::Lanes(du))
      hn::Store(f16_operand(du, load(du, row + i), mode), df, v + i);
  }
};

void do_register(Registry& r) {
  constexpr Env kF = Env::f32;
  WAVEJIT_UNARY(v_cvt_i32_f32, float, Env::rn, as_float(d, convert_i32(d, a)));
  WAVEJIT_UNARY(v_cvt_flr_i32_f32, float, kF, as_float(d, convert_i32(d, hn::Floor(a))));
  WAVEJIT_UNARY(v_cvt_rpi_i32_f32, float, kF, as_float(d, convert_i32(d, hn::Floor(hn::Add(a, hn::Set(d, 0.5f))))));
  WAVEJIT_EACH1(v_cvt_u32_f32, 0, to_u32(static_cast<double>(std::bit_cast<float>(a))));
  r.kernel(
      Opcode::v_cvt_f32_i32,
      [](Lanes& k) HWY_ATTR {
        const hn::ScalableTag<float> df;
        WAVEJIT_LANES_LOOP(int32_t) store(hn::ConvertTo(df, load(d, k.src[0] + i)), df, k.dst + i);
      },
      kF);
  r.kernel(
      Opcode::v_cvt_f32_u32,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = std::bit_cast<uint32_t>(static_cast<float>(k.src[0][l]));
      },
      kF);
  WAVEJIT_EACH1(v_cvt_f32_ubyte0, 0, std::bit_cast<uint32_t>(static_cast<float>(s32(a & 0xff))));
  WAVEJIT_EACH1(v_cvt_f32_ubyte1, 0, std::bit_cast<uint32_t>(static_cast<float>(s32(a >> 8 & 0xff))));
  WAVEJIT_EACH1(v_cvt_f32_ubyte2, 0, std::bit_cast<uint32_t>(static_cast<float>(s32(a >> 16 & 0xff))));
  WAVEJIT_EACH1(v_cvt_f32_ubyte3, 0, std::bit_cast<uint32_t>(static_cast<float>(s32(a >> 24))));
  // Signed 4-bit sixteenths.
  WAVEJIT_EACH1(v_cvt_off_f32_i4, 0,
                std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(a << 28) >> 28) * 0.0625f));

  r.kernel(
      Opcode::v_cvt_i32_f64,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = static_cast<uint32_t>(to_i32(f64_at(k.src[0], l)));
      },
      Env::rn);
  r.kernel(
      Opcode::v_cvt_u32_f64,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = to_u32(f64_at(k.src[0], l));
      },
      Env::rn);
  r.kernel(Opcode::v_cvt_f64_i32, [](Lanes& k) HWY_ATTR {
    for (size_t l = 0; l < kWaveSize; ++l) set_f64(k.dst, l, s32(k.src[0][l]));
  });
  r.kernel(Opcode::v_cvt_f64_u32, [](Lanes& k) HWY_ATTR {
    for (size_t l = 0; l < kWaveSize; ++l) set_f64(k.dst, l, k.src[0][l]);
  });
  r.kernel(
      Opcode::v_cvt_f32_f64,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l)
          k.dst[l] = std::bit_cast<uint32_t>(static_cast<float>(f64_at(k.src[0], l)));
      },
      kF);
  r.kernel(
      Opcode::v_cvt_f64_f32,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l) set_f64(k.dst, l, std::bit_cast<float>(k.src[0][l]));
      },
      kF);

  r.kernel(
      Opcode::v_cvt_f16_f32,
      [](Lanes& k) HWY_ATTR {
        const hn::ScalableTag<float> df;
        WAVEJIT_LANES_LOOP(uint32_t) store(f16_result(d, load(df, k.src[0] + i), k.mode), d, k.dst + i);
      },
      kF, kResult16);
  r.kernel(
      Opcode::v_cvt_f32_f16,
      [](Lanes& k) HWY_ATTR {
        const hn::ScalableTag<float> df;
        WAVEJIT_LANES_LOOP(uint32_t) store(f16_operand(d, load(d, k.src[0] + i), k.mode), df, k.dst + i);
      },
      Env::f16);
  r.kernel(
      Opcode::v_cvt_f16_u16,
      [](Lanes& k) HWY_ATTR {
        const hn::ScalableTag<float> df;
        WAVEJIT_LANES_LOOP(uint32_t) {
          const auto v = hn::BitCast(hn::ScalableTag<int32_t>(), hn::And(load(d, k.src[0] + i), hn::Set(d, 0xffffu)));
          store(f16_result(d, hn::ConvertTo(df, v), k.mode), d, k.dst + i);
        }
      },
      Env::f16, kResult16);
  r.kernel(
      Opcode::v_cvt_f16_i16,
      [](Lanes& k) HWY_ATTR {
        const hn::ScalableTag<float> df;
        WAVEJIT_LANES_LOOP(uint32_t) {
          const hn::ScalableTag<int32_t> di;
          const auto v = hn::ShiftRight<16>(hn::ShiftLeft<16>(load(di, k.src[0] + i)));
          store(f16_result(d, hn::ConvertTo(df, v), k.mode), d, k.dst + i);
        }
      },
      Env::f16, kResult16);
  r.kernel(
      Opcode::v_cvt_u16_f16,
      [](Lanes& k) HWY_ATTR {
        const Floats x(k.src[0], k.mode);
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = std::min(to_u32(x.v[l]), 0xffffu);
      },
      Env::rn, kResult16);
  r.kernel(
      Opcode::v_cvt_i16_f16,
      [](Lanes& k) HWY_ATTR {
        const Floats x(k.src[0], k.mode);
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = saturate_s16(to_i32(x.v[l]));
      },
      Env::rn, kResult16);
  r.kernel(
      Opcode::v_cvt_norm_i16_f16,
      [](Lanes& k) HWY_ATTR {
        const Floats x(k.src[0], k.mode);
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = to_snorm16(x.v[l]);
      },
      Env::rn, kResult16);
  r.kernel(
      Opcode::v_cvt_norm_u16_f16,
      [](Lanes& k) HWY_ATTR {
        const Floats x(k.src[0], k.mode);
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = to_unorm16(x.v[l]);
      },
      Env::rn, kResult16);
  r.kernel(
      Opcode::v_cvt_pknorm_i16_f16,
      [](Lanes& k) HWY_ATTR {
        const Floats x(k.src[0], k.mode), y(k.src[1], k.mode);
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = to_snorm16(x.v[l]) | to_snorm16(y.v[l]) << 16;
      },
      Env::rn);
  r.kernel(
      Opcode::v_cvt_pknorm_u16_f16,
      [](Lanes& k) HWY_ATTR {
        const Floats x(k.src[0], k.mode), y(k.src[1], k.mode);
        for (size_t l = 0; l < kWaveSize; ++l) k.dst[l] = to_unorm16(x.v[l]) | to_unorm16(y.v[l]) << 16;
      },
      Env::rn);
  r.kernel(
      Opcode::v_cvt_pknorm_i16_f32,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l)
          k.dst[l] = to_snorm16(std::bit_cast<float>(k.src[0][l])) | to_snorm16(std::bit_cast<float>(k.src[1][l]))
                                                                         << 16;
      },
      Env::rn);
  r.kernel(
      Opcode::v_cvt_pknorm_u16_f32,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l)
          k.dst[l] = to_unorm16(std::bit_cast<float>(k.src[0][l])) | to_unorm16(std::bit_cast<float>(k.src[1][l]))
                                                                         << 16;
      },
      Env::rn);
  r.kernel(
      Opcode::v_cvt_pkrtz_f16_f32,
      [](Lanes& k) HWY_ATTR {
        const hn::ScalableTag<float> df;
        WAVEJIT_LANES_LOOP(uint32_t) {
          const auto lo = f32_to_f16_round(d, load(df, k.src[0] + i), 3);
          const auto hi = f32_to_f16_round(d, load(df, k.src[1] + i), 3);
          store(hn::Or(lo, hn::ShiftLeft<16>(hi)), d, k.dst + i);
        }
      },
      Env::rn);
  r.kernel(
      Opcode::v_cvt_pk_u8_f32,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l) {
          const uint32_t shift = 8 * (k.src[1][l] & 3);
          k.dst[l] = (k.src[2][l] & ~(0xffu << shift)) | to_u8(std::bit_cast<float>(k.src[0][l])) << shift;
        }
      },
      Env::rn);
  // The third source is the destination, of which the other bytes stay.
  r.kernel(
      Opcode::v_cvt_pkaccum_u8_f32,
      [](Lanes& k) HWY_ATTR {
        for (size_t l = 0; l < kWaveSize; ++l) {
          const uint32_t shift = 8 * (k.src[1][l] & 3);
          k.dst[l] = (k.src[2][l] & ~(0xffu << shift)) | to_u8(std::bit_cast<float>(k.src[0][l])) << shift;
        }
      },
      Env::rn);
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_conversions(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
