// Dot products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_dot.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

// Integer dot products: `bits`-wide elements, exact sum, saturated to 32 bits with clamp.
template <unsigned bits, bool is_signed>
void dot(Lanes& k) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const uint32_t a = k.src[0][l], b = k.src[1][l];
    int64_t sum = is_signed ? int64_t{s32(k.src[2][l])} : int64_t{k.src[2][l]};
    for (unsigned i = 0; i < 32; i += bits) {
      if (is_signed) {
        const int32_t x = static_cast<int32_t>(a << (32 - bits - i)) >> (32 - bits);
        const int32_t y = static_cast<int32_t>(b << (32 - bits - i)) >> (32 - bits);
        sum += int64_t{x} * y;
      } else {
        const uint32_t mask = (1u << bits) - 1;
        sum += int64_t{a >> i & mask} * (b >> i & mask);
      }
    }
    k.dst[l] = !k.clamp    ? static_cast<uint32_t>(sum)
               : is_signed ? saturate_s32(sum)
                           : saturate_u32(static_cast<uint64_t>(sum));
  }
}

void dot2_f32_f16(Lanes& k) {
  const hn::ScalableTag<float> df;
  WAVEJIT_LANES_LOOP(uint32_t) {
    const auto a = load(d, k.src[0] + i), b = load(d, k.src[1] + i);
    const auto low = hn::Set(d, 0xffffu);
    const uint32_t mode = k.dot2_flushes_halves ? 0 : kDenormIn16;
    const auto half = [&](auto bits) HWY_ATTR { return f16_operand(d, bits, mode); };
    auto sum = load(df, k.src[2] + i);
    sum = hn::MulAdd(half(hn::And(a, low)), half(hn::And(b, low)), sum);
    sum = hn::MulAdd(half(hn::ShiftRight<16>(a)), half(hn::ShiftRight<16>(b)), sum);
    store(sum, df, k.dst + i);
  }
}

void do_register(Registry& r) {
  r.kernel(Opcode::v_dot2_f32_f16, dot2_f32_f16, Env::trans);
  r.kernel(Opcode::v_dot2c_f32_f16, dot2_f32_f16, Env::trans);
  r.kernel(Opcode::v_dot2_i32_i16, dot<16, true>);
  r.kernel(Opcode::v_dot2c_i32_i16, dot<16, true>);
  r.kernel(Opcode::v_dot2_u32_u16, dot<16, false>);
  r.kernel(Opcode::v_dot4_i32_i8, dot<8, true>);
  r.kernel(Opcode::v_dot4c_i32_i8, dot<8, true>);
  r.kernel(Opcode::v_dot4_u32_u8, dot<8, false>);
  r.kernel(Opcode::v_dot8_i32_i4, dot<4, true>);
  r.kernel(Opcode::v_dot8c_i32_i4, dot<4, true>);
  r.kernel(Opcode::v_dot8_u32_u4, dot<4, false>);
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_dot(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
