// Integer and bit operations of VOP1 and VOP2, and their VOP3-only relatives with two operands.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "frontend/interp/kernels_int.cpp"
#include <algorithm>
#include <bit>
#include <cstring>

#include "hwy/foreach_target.h"
// After foreach_target.
#include "frontend/interp/rows-inl.h"
#include "frontend/interp/scalar_math.h"
#include "internal/semantics/screen_partition.h"

HWY_BEFORE_NAMESPACE();
namespace wavejit::interp::HWY_NAMESPACE {
namespace {

template <class D, class V>
HWY_INLINE V add_u32(D d, V a, V b, bool clamp) {
  const auto s = hn::Add(a, b);
  return clamp ? hn::IfThenElse(hn::Lt(s, a), hn::Set(d, ~0u), s) : s;
}
template <class D, class V>
HWY_INLINE V sub_u32(D d, V a, V b, bool clamp) {
  const auto s = hn::Sub(a, b);
  return clamp ? hn::IfThenElse(hn::Lt(a, b), hn::Zero(d), s) : s;
}

// Upper halves of the 32x32-bit products.
template <class D, class V>
HWY_INLINE V mul_high(D d, V a, V b) {
  const hn::Repartition<uint64_t, D> d64;
  const auto even = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, hn::MulEven(a, b))));
  const auto a_odd = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, a)));
  const auto b_odd = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, b)));
  return hn::OddEven(hn::BitCast(d, hn::MulEven(a_odd, b_odd)), even);
}

enum class Carry { add, sub, sub_reverse };

// Add or subtract with carry-out and optional carry-in. The carry is that of the unclamped operation.
template <Carry kind, bool carry_in>
void carry_kernel(Lanes& k) {
  const hn::ScalableTag<uint32_t> d;
  uint64_t out = 0;
  for (size_t i = 0; i < kWaveSize; i += hn::Lanes(d)) {
    auto a = load(d, k.src[0] + i);
    auto b = load(d, k.src[1] + i);
    if (kind == Carry::sub_reverse) std::swap(a, b);
    auto one = hn::Zero(d);
    if (carry_in) one = hn::IfThenElseZero(mask_at(d, k.mask_in, i), hn::Set(d, 1u));
    if (kind == Carry::add) {
      const auto s = hn::Add(a, b);
      const auto t = hn::Add(s, one);
      const auto carry = hn::Or(hn::Lt(s, a), hn::Lt(t, s));
      out |= bits_at(d, carry, i);
      store(k.clamp ? hn::IfThenElse(carry, hn::Set(d, ~0u), t) : t, d, k.dst + i);
    } else {
      const auto s = hn::Sub(a, b);
      const auto t = hn::Sub(s, one);
      const auto borrow = hn::Or(hn::Lt(a, b), hn::Lt(s, one));
      out |= bits_at(d, borrow, i);
      store(k.clamp ? hn::IfThenElseZero(hn::Not(borrow), t) : t, d, k.dst + i);
    }
  }
  k.mask_out = out;
}

template <class F>
void shift64(Lanes& k, F shift) {
  for (size_t l = 0; l < kWaveSize; ++l) {
    const uint64_t v = static_cast<uint64_t>(k.src[0][l + kWaveSize]) << 32 | k.src[0][l];
    const uint64_t shifted = shift(v, k.src[1][l] & 63);
    k.dst[l] = static_cast<uint32_t>(shifted);
    k.dst[l + kWaveSize] = static_cast<uint32_t>(shifted >> 32);
  }
}

void do_register(Registry& r) {
  constexpr Env kNo = Env::none;
  WAVEJIT_UNARY(v_mov_b32, uint32_t, kNo, a);
  WAVEJIT_UNARY(v_accvgpr_mov_b32, uint32_t, kNo, a);
  WAVEJIT_UNARY(v_accvgpr_read_b32, uint32_t, kNo, a);
  WAVEJIT_UNARY(v_accvgpr_write_b32, uint32_t, kNo, a);
  WAVEJIT_UNARY(v_not_b32, uint32_t, kNo, hn::Not(a));
  WAVEJIT_EACH1(v_bfrev_b32, 0, reverse_bits(a));
  WAVEJIT_EACH1(v_ffbh_u32, 0, find_first_high(a));
  WAVEJIT_EACH1(v_ffbl_b32, 0, find_first_low(a));
  WAVEJIT_EACH1(v_ffbh_i32, 0, find_first_sign(a));
  WAVEJIT_EACH1(v_screen_partition_4se_b32, 0, kScreenPartition4Se[a & 0xff]);
  WAVEJIT_EACH1(v_sat_pk_u8_i16, kResult16,
                std::clamp<int32_t>(s16(a), 0, 255) | std::clamp<int32_t>(s16(a >> 16), 0, 255) << 8);

  r.kernel(Opcode::v_cndmask_b32, [](Lanes& k) HWY_ATTR {
    WAVEJIT_LANES_LOOP(uint32_t)
    store(hn::IfThenElse(mask_at(d, k.mask_in, i), load(d, k.src[1] + i), load(d, k.src[0] + i)), d, k.dst + i);
  });

  WAVEJIT_BINARY(v_and_b32, uint32_t, kNo, hn::And(a, b));
  WAVEJIT_BINARY(v_or_b32, uint32_t, kNo, hn::Or(a, b));
  WAVEJIT_BINARY(v_xor_b32, uint32_t, kNo, hn::Xor(a, b));
  WAVEJIT_BINARY(v_xnor_b32, uint32_t, kNo, hn::Not(hn::Xor(a, b)));
  WAVEJIT_BINARY(v_min_i32, int32_t, kNo, hn::Min(a, b));
  WAVEJIT_BINARY(v_max_i32, int32_t, kNo, hn::Max(a, b));
  WAVEJIT_BINARY(v_min_u32, uint32_t, kNo, hn::Min(a, b));
  WAVEJIT_BINARY(v_max_u32, uint32_t, kNo, hn::Max(a, b));
  WAVEJIT_BINARY(v_lshlrev_b32, uint32_t, kNo, hn::Shl(b, hn::And(a, hn::Set(d, 31u))));
  WAVEJIT_BINARY(v_lshrrev_b32, uint32_t, kNo, hn::Shr(b, hn::And(a, hn::Set(d, 31u))));
  WAVEJIT_BINARY(v_ashrrev_i32, int32_t, kNo, hn::Shr(b, hn::And(a, hn::Set(d, 31))));
  WAVEJIT_BINARY(v_lshl_b32, uint32_t, kNo, hn::Shl(a, hn::And(b, hn::Set(d, 31u))));
  WAVEJIT_BINARY(v_lshr_b32, uint32_t, kNo, hn::Shr(a, hn::And(b, hn::Set(d, 31u))));
  WAVEJIT_BINARY(v_ashr_i32, int32_t, kNo, hn::Shr(a, hn::And(b, hn::Set(d, 31))));
  WAVEJIT_BINARY(v_add_u32, uint32_t, kNo, add_u32(d, a, b, k.clamp));
  WAVEJIT_BINARY(v_sub_u32, uint32_t, kNo, sub_u32(d, a, b, k.clamp));
  WAVEJIT_BINARY(v_subrev_u32, uint32_t, kNo, sub_u32(d, b, a, k.clamp));
  WAVEJIT_EACH2(v_add_i32, 0, clamp ? saturate_s32(int64_t{s32(a)} + s32(b)) : a + b);
  WAVEJIT_EACH2(v_sub_i32, 0, clamp ? saturate_s32(int64_t{s32(a)} - s32(b)) : a - b);
  r.kernel(Opcode::v_add_co_u32, carry_kernel<Carry::add, false>);
  r.kernel(Opcode::v_sub_co_u32, carry_kernel<Carry::sub, false>);
  r.kernel(Opcode::v_subrev_co_u32, carry_kernel<Carry::sub_reverse, false>);
  r.kernel(Opcode::v_addc_co_u32, carry_kernel<Carry::add, true>);
  r.kernel(Opcode::v_subb_co_u32, carry_kernel<Carry::sub, true>);
  r.kernel(Opcode::v_subbrev_co_u32, carry_kernel<Carry::sub_reverse, true>);

  WAVEJIT_BINARY(v_mul_lo_u32, uint32_t, kNo, hn::Mul(a, b));
  WAVEJIT_BINARY(v_mul_lo_i32, uint32_t, kNo, hn::Mul(a, b));
  WAVEJIT_BINARY(v_mul_hi_u32, uint32_t, kNo, mul_high(d, a, b));
  WAVEJIT_BINARY(v_mul_hi_i32, int32_t, kNo, mul_high(d, a, b));
  WAVEJIT_EACH2(v_mul_u32_u24, 0, clamp ? saturate_u32(uint64_t{u24(a)} * u24(b)) : u24(a) * u24(b));
  WAVEJIT_EACH2(
      v_mul_i32_i24, 0,
      clamp ? saturate_s32(int64_t{s24(a)} * s24(b)) : static_cast<uint32_t>(s24(a)) * static_cast<uint32_t>(s24(b)));
  WAVEJIT_EACH2(v_mul_hi_u32_u24, 0, (uint64_t{u24(a)} * u24(b)) >> 32);
  WAVEJIT_EACH2(v_mul_hi_i32_i24, 0, (int64_t{s24(a)} * s24(b)) >> 32);

  WAVEJIT_EACH2(v_add_u16, kResult16, clamp ? saturate_u16(int64_t{lo16(a)} + lo16(b)) : lo16(a + b));
  WAVEJIT_EACH2(v_sub_u16, kResult16, clamp ? saturate_u16(int64_t{lo16(a)} - lo16(b)) : lo16(a - b));
  WAVEJIT_EACH2(v_subrev_u16, kResult16, clamp ? saturate_u16(int64_t{lo16(b)} - lo16(a)) : lo16(b - a));
  WAVEJIT_EACH2(v_mul_lo_u16, kResult16, clamp ? saturate_u16(int64_t{lo16(a)} * lo16(b)) : lo16(lo16(a) * lo16(b)));
  WAVEJIT_EACH2(v_lshlrev_b16, kResult16, lo16(b << (a & 15)));
  WAVEJIT_EACH2(v_lshrrev_b16, kResult16, lo16(b) >> (a & 15));
  WAVEJIT_EACH2(v_ashrrev_i16, kResult16, lo16(static_cast<uint32_t>(s16(b) >> (a & 15))));
  WAVEJIT_EACH2(v_max_u16, kResult16, std::max(lo16(a), lo16(b)));
  WAVEJIT_EACH2(v_min_u16, kResult16, std::min(lo16(a), lo16(b)));
  WAVEJIT_EACH2(v_max_i16, kResult16, lo16(static_cast<uint32_t>(std::max(s16(a), s16(b)))));
  WAVEJIT_EACH2(v_min_i16, kResult16, lo16(static_cast<uint32_t>(std::min(s16(a), s16(b)))));
  WAVEJIT_EACH2(v_add_i16, kResult16 | kPreservesHi, clamp ? saturate_s16(int64_t{s16(a)} + s16(b)) : lo16(a + b));
  WAVEJIT_EACH2(v_sub_i16, kResult16 | kPreservesHi, clamp ? saturate_s16(int64_t{s16(a)} - s16(b)) : lo16(a - b));

  WAVEJIT_EACH2(v_bfm_b32, 0, ((1u << (a & 31)) - 1) << (b & 31));
  WAVEJIT_BINARY(v_bcnt_u32_b32, uint32_t, kNo, hn::Add(hn::PopulationCount(a), b));
  r.kernel(Opcode::v_mbcnt_lo_u32_b32, [](Lanes& k) HWY_ATTR {
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const uint32_t below = l >= 32 ? ~0u : (1u << l) - 1;
      k.dst[l] = static_cast<uint32_t>(std::popcount(k.src[0][l] & below)) + k.src[1][l];
    }
  });
  r.kernel(Opcode::v_mbcnt_hi_u32_b32, [](Lanes& k) HWY_ATTR {
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const uint32_t below = l >= 32 ? (1u << (l - 32)) - 1 : 0u;
      k.dst[l] = static_cast<uint32_t>(std::popcount(k.src[0][l] & below)) + k.src[1][l];
    }
  });
  WAVEJIT_EACH2(v_cvt_pk_u16_u32, 0, std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16);
  WAVEJIT_EACH2(v_cvt_pk_i16_i32, 0, saturate_s16(s32(a)) | saturate_s16(s32(b)) << 16);
  WAVEJIT_EACH2(v_pack_b32_f16, 0, lo16(a) | b << 16);

  // The pairs may share a register.
  r.kernel(Opcode::v_mov_b64, [](Lanes& k) { std::memmove(k.dst, k.src[0], 2 * kWaveSize * sizeof *k.dst); });
  // The amount has three bits (MI300 ISA, V_LSHL_ADD_U64).
  r.kernel(Opcode::v_lshl_add_u64, [](Lanes& k) HWY_ATTR {
    WAVEJIT_LANES_LOOP(uint64_t) {
      const auto n = hn::And(hn::PromoteTo(d, load(hn::Rebind<uint32_t, decltype(d)>(), k.src[1] + i)), hn::Set(d, 7u));
      store64(hn::Add(hn::Shl(load64(d, k.src[0] + i), n), load64(d, k.src[2] + i)), d, k.dst + i);
    }
  });
  // 64-bit shifts: the amount is one row.
  r.kernel(Opcode::v_lshlrev_b64, [](Lanes& k) HWY_ATTR {
    WAVEJIT_LANES_LOOP(uint64_t) {
      const auto n =
          hn::And(hn::PromoteTo(d, load(hn::Rebind<uint32_t, decltype(d)>(), k.src[0] + i)), hn::Set(d, 63u));
      store64(hn::Shl(load64(d, k.src[1] + i), n), d, k.dst + i);
    }
  });
  r.kernel(Opcode::v_lshrrev_b64, [](Lanes& k) HWY_ATTR {
    WAVEJIT_LANES_LOOP(uint64_t) {
      const auto n =
          hn::And(hn::PromoteTo(d, load(hn::Rebind<uint32_t, decltype(d)>(), k.src[0] + i)), hn::Set(d, 63u));
      store64(hn::Shr(load64(d, k.src[1] + i), n), d, k.dst + i);
    }
  });
  r.kernel(Opcode::v_ashrrev_i64, [](Lanes& k) HWY_ATTR {
    for (size_t l = 0; l < kWaveSize; ++l) {
      const uint64_t v = static_cast<uint64_t>(k.src[1][l + kWaveSize]) << 32 | k.src[1][l];
      const auto shifted = static_cast<uint64_t>(s64(v) >> (k.src[0][l] & 63));
      k.dst[l] = static_cast<uint32_t>(shifted);
      k.dst[l + kWaveSize] = static_cast<uint32_t>(shifted >> 32);
    }
  });

  // GFX6 and GFX7 have the value first.
  r.kernel(Opcode::v_lshl_b64, [](Lanes& k) HWY_ATTR { shift64(k, [](uint64_t v, unsigned n) { return v << n; }); });
  r.kernel(Opcode::v_lshr_b64, [](Lanes& k) HWY_ATTR { shift64(k, [](uint64_t v, unsigned n) { return v >> n; }); });
  r.kernel(Opcode::v_ashr_i64, [](Lanes& k) HWY_ATTR {
    shift64(k, [](uint64_t v, unsigned n) { return static_cast<uint64_t>(s64(v) >> n); });
  });
}

}  // namespace
}  // namespace wavejit::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavejit::interp {
void register_valu_int(Registry& r) {
  WAVEJIT_INTERP_DISPATCH(do_register)(r);
}
}  // namespace wavejit::interp
#endif
