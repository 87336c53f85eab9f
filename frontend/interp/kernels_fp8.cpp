// Eight-bit floating point of GFX940: E4M3 ("fp8") with exponent bias 8 and E5M2 ("bf8") with bias 16. Neither has
// infinities or a negative zero; 0x80 is the only NaN. (MI300 ISA manual, "FP8 and BF8"; ROCm "FNUZ" formats.)
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "frontend/interp/engine.h"
#include "frontend/interp/fp8.h"

namespace wavejit::interp {
namespace {

float float_at(const uint32_t* row, unsigned lane) {
  return std::bit_cast<float>(row[lane]);
}

template <Fp8 format>
void to_f32(Lanes& k) {
  for (unsigned l = 0; l < kWaveSize; ++l) k.dst[l] = std::bit_cast<uint32_t>(fp8_value<format>(k.src[0][l] & 0xff));
}

// The two bytes of the word that SDWA has selected.
template <Fp8 format>
void to_two_f32(Lanes& k) {
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const uint32_t word = k.src[0][l];
    k.dst[l] = std::bit_cast<uint32_t>(fp8_value<format>(word & 0xff));
    k.dst[kWaveSize + l] = std::bit_cast<uint32_t>(fp8_value<format>(word >> 8 & 0xff));
  }
}

// op_sel[3]: which half of the destination (the last source) is replaced.
template <Fp8 format>
void pack(Lanes& k) {
  const unsigned shift = (k.op_sel & 8) != 0 ? 16 : 0;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const uint32_t pair = fp8_rounded<format>(float_at(k.src[0], l)) | fp8_rounded<format>(float_at(k.src[1], l)) << 8;
    k.dst[l] = (k.src[2][l] & ~(0xffffu << shift)) | pair << shift;
  }
}

// The upper bits of the second source are added to the fraction, modulo 2^23, before it is rounded. op_sel[3:2]: which
// byte of the destination is replaced.
template <Fp8 format>
void stochastic(Lanes& k) {
  constexpr unsigned kDropped = format == Fp8::e4m3 ? 12 : 11;
  const unsigned shift = 8 * (k.op_sel >> 2 & 3);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const uint32_t x = k.src[0][l];
    const uint32_t fraction = ((x & 0x7fffff) + (k.src[1][l] >> kDropped)) & 0x7fffff;
    const uint32_t sum = (x & 0xff800000) | fraction;
    // An infinity may have become a NaN or the other way round; both give NaN.
    k.dst[l] = (k.src[2][l] & ~(0xffu << shift)) | fp8_rounded<format>(std::bit_cast<float>(sum)) << shift;
  }
}

}  // namespace

void register_fp8(Registry& r) {
  r.kernel(Opcode::v_cvt_f32_fp8, to_f32<Fp8::e4m3>);
  r.kernel(Opcode::v_cvt_f32_bf8, to_f32<Fp8::e5m2>);
  r.kernel(Opcode::v_cvt_pk_f32_fp8, to_two_f32<Fp8::e4m3>);
  r.kernel(Opcode::v_cvt_pk_f32_bf8, to_two_f32<Fp8::e5m2>);
  r.kernel(Opcode::v_cvt_pk_fp8_f32, pack<Fp8::e4m3>, Env::rn);
  r.kernel(Opcode::v_cvt_pk_bf8_f32, pack<Fp8::e5m2>, Env::rn);
  r.kernel(Opcode::v_cvt_sr_fp8_f32, stochastic<Fp8::e4m3>, Env::rn);
  r.kernel(Opcode::v_cvt_sr_bf8_f32, stochastic<Fp8::e5m2>, Env::rn);
}

}  // namespace wavejit::interp
