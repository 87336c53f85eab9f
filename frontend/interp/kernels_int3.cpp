// Integer and bit operations with three operands (VOP3), multiply-add to 64 bits, sums of absolute differences.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_int3.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

// D(64) = S0 * S1 + S2(64); the carry-out is bit 64 of the unsigned sum, or the signed overflow.
template <bool is_signed>
void mad_64_32(Lanes& k) {
  uint64_t out = 0;
  for (size_t l = 0; l < kWaveSize; ++l) {
    const uint64_t c = static_cast<uint64_t>(k.src[2][l + kWaveSize]) << 32 | k.src[2][l];
    uint64_t result;
    bool overflow;
    if (is_signed) {
      const int64_t product = int64_t{s32(k.src[0][l])} * s32(k.src[1][l]);
      int64_t sum;
      overflow = __builtin_add_overflow(product, s64(c), &sum);
      result = static_cast<uint64_t>(sum);
      if (k.clamp && overflow) result = product < 0 ? uint64_t{1} << 63 : ~uint64_t{0} >> 1;
    } else {
      const uint64_t product = uint64_t{k.src[0][l]} * k.src[1][l];
      overflow = __builtin_add_overflow(product, c, &result);
      if (k.clamp && overflow) result = ~uint64_t{0};
    }
    out |= uint64_t{overflow} << l;
    k.dst[l] = static_cast<uint32_t>(result);
    k.dst[l + kWaveSize] = static_cast<uint32_t>(result >> 32);
  }
  k.mask_out = out;
}

// Four sliding windows of S0 (64 bits) against the four bytes of S1.
template <bool masked>
void qsad_u16(Lanes& k) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const uint64_t a = static_cast<uint64_t>(k.src[0][l + kWaveSize]) << 32 | k.src[0][l];
    const uint64_t c = static_cast<uint64_t>(k.src[2][l + kWaveSize]) << 32 | k.src[2][l];
    const uint32_t b = k.src[1][l];
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const uint32_t sum = sad_u8(static_cast<uint32_t>(a >> (8 * i)), b, c >> (16 * i) & 0xffff, masked);
      const uint32_t field = k.clamp ? std::min(sum, 0xffffu) : sum & 0xffff;
      result |= static_cast<uint64_t>(field) << (16 * i);
    }
    k.dst[l] = static_cast<uint32_t>(result);
    k.dst[l + kWaveSize] = static_cast<uint32_t>(result >> 32);
  }
}

void mqsad_u32(Lanes& k) {
  const auto sum_of = [&](uint32_t x, uint32_t y, uint32_t z) {
    return k.clamp ? saturate_u32(uint64_t{sad_u8(x, y, 0, true)} + z) : sad_u8(x, y, z, true);
  };
  for (size_t l = 0; l < kWaveSize; ++l) {
    const uint64_t a = static_cast<uint64_t>(k.src[0][l + kWaveSize]) << 32 | k.src[0][l];
    const uint32_t b = k.src[1][l];
    uint32_t result[4];
    for (unsigned i = 0; i < 4; ++i)
      result[i] = sum_of(static_cast<uint32_t>(a >> (8 * i)), b, k.src[2][l + i * kWaveSize]);
    for (unsigned i = 0; i < 4; ++i) k.dst[l + i * kWaveSize] = result[i];
  }
}

void do_register(Registry& r) {
  constexpr Env kNo = Env::none;
  WAVEJIT_EACH3(v_mad_u32_u24, 0, clamp ? saturate_u32(uint64_t{u24(a)} * u24(b) + c) : u24(a) * u24(b) + c);
  WAVEJIT_EACH3(v_mad_i32_i24, 0,
                clamp ? saturate_s32(int64_t{s24(a)} * s24(b) + s32(c))
                      : static_cast<uint32_t>(s24(a)) * static_cast<uint32_t>(s24(b)) + c);
  WAVEJIT_EACH3(v_bfe_u32, 0, bitfield_u32(a, b & 31, c & 31));
  WAVEJIT_EACH3(v_bfe_i32, 0, bitfield_i32(a, b & 31, c & 31));
  WAVEJIT_TERNARY(v_bfi_b32, uint32_t, kNo, hn::Or(hn::And(a, b), hn::AndNot(a, c)));
  WAVEJIT_EACH3(v_lerp_u8, 0, [](uint32_t x, uint32_t y, uint32_t z) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 32; i += 8) result |= (((x >> i & 0xff) + (y >> i & 0xff) + (z >> i & 1)) >> 1) << i;
    return result;
  }(a, b, c));
  WAVEJIT_EACH3(v_alignbit_b32, 0, (static_cast<uint64_t>(a) << 32 | b) >> (c & 31));
  WAVEJIT_EACH3(v_alignbyte_b32, 0, (static_cast<uint64_t>(a) << 32 | b) >> (8 * (c & 3)));
  WAVEJIT_TERNARY(v_min3_i32, int32_t, kNo, hn::Min(hn::Min(a, b), c));
  WAVEJIT_TERNARY(v_max3_i32, int32_t, kNo, hn::Max(hn::Max(a, b), c));
  WAVEJIT_TERNARY(v_med3_i32, int32_t, kNo, hn::Max(hn::Min(a, b), hn::Min(hn::Max(a, b), c)));
  WAVEJIT_TERNARY(v_min3_u32, uint32_t, kNo, hn::Min(hn::Min(a, b), c));
  WAVEJIT_TERNARY(v_max3_u32, uint32_t, kNo, hn::Max(hn::Max(a, b), c));
  WAVEJIT_TERNARY(v_med3_u32, uint32_t, kNo, hn::Max(hn::Min(a, b), hn::Min(hn::Max(a, b), c)));
  WAVEJIT_EACH3(v_sad_u8, 0, clamp ? saturate_u32(uint64_t{sad_u8(a, b, 0)} + c) : sad_u8(a, b, c));
  WAVEJIT_EACH3(v_sad_hi_u8, 0,
                clamp ? saturate_u32((uint64_t{sad_u8(a, b, 0)} << 16) + c) : (sad_u8(a, b, 0) << 16) + c);
  WAVEJIT_EACH3(v_sad_u16, 0, [](uint64_t sum, bool saturate) {
    return saturate ? saturate_u32(sum) : static_cast<uint32_t>(sum);
  }(uint64_t{abs_diff(lo16(a), lo16(b))} + abs_diff(a >> 16, b >> 16) + c, clamp));
  WAVEJIT_EACH3(v_sad_u32, 0, clamp ? saturate_u32(uint64_t{abs_diff(a, b)} + c) : abs_diff(a, b) + c);
  WAVEJIT_EACH3(v_msad_u8, 0, clamp ? saturate_u32(uint64_t{sad_u8(a, b, 0, true)} + c) : sad_u8(a, b, c, true));
  r.kernel(Opcode::v_qsad_pk_u16_u8, qsad_u16<false>);
  r.kernel(Opcode::v_mqsad_pk_u16_u8, qsad_u16<true>);
  r.kernel(Opcode::v_mqsad_u32_u8, mqsad_u32);
  r.kernel(Opcode::v_mad_u64_u32, mad_64_32<false>);
  r.kernel(Opcode::v_mad_i64_i32, mad_64_32<true>);
  WAVEJIT_EACH3(v_perm_b32, 0, permute_bytes(a, b, c));
  WAVEJIT_EACH3(v_mad_u32_u16, 0, clamp ? saturate_u32(uint64_t{lo16(a)} * lo16(b) + c) : lo16(a) * lo16(b) + c);
  WAVEJIT_EACH3(v_mad_i32_i16, 0,
                clamp ? saturate_s32(int64_t{s16(a)} * s16(b) + s32(c)) : static_cast<uint32_t>(s16(a) * s16(b)) + c);
  WAVEJIT_TERNARY(v_xad_u32, uint32_t, kNo, hn::Add(hn::Xor(a, b), c));
  WAVEJIT_TERNARY(v_lshl_add_u32, uint32_t, kNo, hn::Add(hn::Shl(a, hn::And(b, hn::Set(d, 31u))), c));
  WAVEJIT_TERNARY(v_add_lshl_u32, uint32_t, kNo, hn::Shl(hn::Add(a, b), hn::And(c, hn::Set(d, 31u))));
  WAVEJIT_TERNARY(v_add3_u32, uint32_t, kNo, hn::Add(hn::Add(a, b), c));
  WAVEJIT_TERNARY(v_lshl_or_b32, uint32_t, kNo, hn::Or(hn::Shl(a, hn::And(b, hn::Set(d, 31u))), c));
  WAVEJIT_TERNARY(v_and_or_b32, uint32_t, kNo, hn::Or(hn::And(a, b), c));
  WAVEJIT_TERNARY(v_or3_b32, uint32_t, kNo, hn::Or(hn::Or(a, b), c));

  // The "legacy" opcodes clear the upper half of the destination, the GFX9 ones keep it.
  WAVEJIT_EACH3(v_mad_legacy_u16, kResult16,
                clamp ? saturate_u16(int64_t{lo16(a)} * lo16(b) + lo16(c)) : lo16(lo16(a) * lo16(b) + lo16(c)));
  WAVEJIT_EACH3(v_mad_u16, kResult16 | kPreservesHi,
                clamp ? saturate_u16(int64_t{lo16(a)} * lo16(b) + lo16(c)) : lo16(lo16(a) * lo16(b) + lo16(c)));
  WAVEJIT_EACH3(v_mad_legacy_i16, kResult16,
                clamp ? saturate_s16(int64_t{s16(a)} * s16(b) + s16(c)) : lo16(lo16(a) * lo16(b) + lo16(c)));
  WAVEJIT_EACH3(v_mad_i16, kResult16 | kPreservesHi,
                clamp ? saturate_s16(int64_t{s16(a)} * s16(b) + s16(c)) : lo16(lo16(a) * lo16(b) + lo16(c)));
  WAVEJIT_EACH3(v_min3_i16, kResult16 | kPreservesHi, lo16(static_cast<uint32_t>(std::min({s16(a), s16(b), s16(c)}))));
  WAVEJIT_EACH3(v_max3_i16, kResult16 | kPreservesHi, lo16(static_cast<uint32_t>(std::max({s16(a), s16(b), s16(c)}))));
  WAVEJIT_EACH3(v_med3_i16, kResult16 | kPreservesHi, lo16(static_cast<uint32_t>(median(s16(a), s16(b), s16(c)))));
  WAVEJIT_EACH3(v_min3_u16, kResult16 | kPreservesHi, std::min({lo16(a), lo16(b), lo16(c)}));
  WAVEJIT_EACH3(v_max3_u16, kResult16 | kPreservesHi, std::max({lo16(a), lo16(b), lo16(c)}));
  WAVEJIT_EACH3(v_med3_u16, kResult16 | kPreservesHi, median(lo16(a), lo16(b), lo16(c)));
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_valu_int3(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
