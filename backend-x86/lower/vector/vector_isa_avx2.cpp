// AVX2 + FMA + F16C: 8 lanes per register, masks as vectors. The halves of a 64-bit chunk are what vpunpckldq/hdq make
// of the low and high dwords, lanes 0 1 4 5 and 2 3 6 7, so that splitting and joining cost one in-lane shuffle.
#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/vector_isa.h"

namespace wavejit::backend {
namespace {

using asmjit::imm;

constexpr VectorIsa::Forms kFormsAvx2 = {
    .and_ = I::kIdVpand,
    .or_ = I::kIdVpor,
    .xor_ = I::kIdVpxor,
    .andn = I::kIdVpandn,
    .load = I::kIdVmovdqu,
    .store = I::kIdVmovdqu,
    .mov = I::kIdVmovdqa,
    .round_ps = I::kIdVroundps,
    .round_pd = I::kIdVroundpd,
};

class Avx2 final : public VectorIsa {
 public:
  Avx2(lir::Builder& cc, DataPool& pool, FaultLog& faults) : VectorIsa(cc, pool, faults, 8, kFormsAvx2) {}

  Vec vec() override { return cc_.new_ymm(); }
  MaskReg mask() override { return cc_.new_ymm(); }

  Mem c32(uint32_t bits) override { return full32(bits); }
  Mem c64(uint64_t bits) override {
    const uint64_t data[4] = {bits, bits, bits, bits};
    return pool_.table(data);
  }
  unsigned lane_of64(unsigned part, unsigned i) const override { return part * 2 + (i & 1) + (i >> 1) * 4; }

  void rotate_right(const Vec& d, const Vec& a, unsigned n) override {
    if (n % 8 != 0) {
      const Vec low = shr32(a, n);
      cc_.emit(I::kIdVpor, d, low, shl32(a, 32 - n));
      return;
    }
    uint8_t from[16];
    for (unsigned i = 0; i < 16; ++i) from[i] = static_cast<uint8_t>(i / 4 * 4 + (i + n / 8) % 4);
    cc_.emit(I::kIdVpshufb, d, a, full_bytes(from));
  }
  bool rotate_right(const Vec&, const Vec&, const Vec&) override { return false; }
  void ternary_logic(const Vec&, const Vec&, const Operand_&, uint8_t) override {
    WAVEJIT_CHECK(false, "AVX2 has no ternary logic");
  }
  void bit_select(const Vec& d, const Vec& sel, const Vec& a, const Vec& b) override {
    const Vec from_a = and_(sel, a);
    const Vec from_b = andn(sel, b);
    cc_.emit(I::kIdVpor, d, from_a, from_b);
  }

  // --- masks ---
  void mov_mask(const MaskReg& d, const MaskReg& s) override { cc_.emit(I::kIdVmovdqa, d, s); }
  void set_mask_const(const MaskReg& d, uint32_t bits) override {
    bits &= 0xff;
    if (bits == 0) {
      cc_.emit(I::kIdVpxor, d, d, d);
    } else if (bits == 0xff) {
      cc_.emit(I::kIdVpcmpeqd, d, d, d);
    } else {
      uint32_t data[8];
      for (unsigned i = 0; i < 8; ++i) data[i] = bits >> i & 1 ? ~0u : 0;
      cc_.emit(I::kIdVmovdqu, d, pool_.table(data));
    }
  }
  void mask_and(const MaskReg& d, const MaskReg& a, const MaskReg& b) override { cc_.emit(I::kIdVpand, d, a, b); }
  void mask_or(const MaskReg& d, const MaskReg& a, const MaskReg& b) override { cc_.emit(I::kIdVpor, d, a, b); }
  void mask_xor(const MaskReg& d, const MaskReg& a, const MaskReg& b) override { cc_.emit(I::kIdVpxor, d, a, b); }
  void mask_andn(const MaskReg& d, const MaskReg& a, const MaskReg& b) override { cc_.emit(I::kIdVpandn, d, b, a); }
  void mask_not(const MaskReg& d, const MaskReg& a) override { cc_.emit(I::kIdVpxor, d, a, full32(~0u)); }
  void mask_from_bits(const MaskReg& d, const Gp& bits) override {
    static constexpr uint32_t kBit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    Vec t = vec();
    splat32(t, bits);
    const Vec own = and_(t, pool_.table(kBit));
    cc_.emit(I::kIdVpcmpeqd, d, own, pool_.table(kBit));
  }
  Gp mask_bits(const MaskReg& m) override {
    Gp r = cc_.new_gp32();
    cc_.emit(I::kIdVmovmskps, r, m);
    return r;
  }
  void load_mask(const MaskReg& d, const Mem& at) override {
    Gp r = cc_.new_gp32();
    cc_.movzx(r, sized(at, 1));
    mask_from_bits(d, r);
  }
  void store_mask(const Mem& at, const MaskReg& m) override {
    const Gp r = mask_bits(m);
    cc_.mov(sized(at, 1), r.r8());
  }
  x86::CondCode test_any(std::span<const MaskReg> masks) override {
    const MaskReg all = reduce(I::kIdVpor, masks);
    cc_.emit(I::kIdVptest, all, all);
    return x86::CondCode::kNZ;
  }
  x86::CondCode test_all(std::span<const MaskReg> masks) override {
    const Gp r = mask_bits(reduce(I::kIdVpand, masks));
    cc_.cmp(r, 0xff);
    return x86::CondCode::kE;
  }
  Mask64 split(const MaskReg& m) override { return {{make(I::kIdVpunpckldq, m, m), make(I::kIdVpunpckhdq, m, m)}}; }
  void join(const MaskReg& d, const Mask64& m) override { cc_.emit(I::kIdVshufps, d, m.part[0], m.part[1], imm(0x88)); }
  Vec mask_vec(const MaskReg& m) override { return m.as<Vec>(); }
  void mask_from_vec(const MaskReg& d, const Vec& v) override { mov_mask(d, v); }
  bool shifts_masks() const override { return false; }
  void shift_mask(const MaskReg&, const MaskReg&, int) override { WAVEJIT_CHECK(false, "AVX2 shifts no masks"); }
  void repeat_mask(const MaskReg& m, std::span<const MaskReg> out) override {
    const std::vector<Vec> same(out.size(), m.as<Vec>());
    std::vector<Vec> registers;
    for (const MaskReg& r : out) registers.push_back(r.as<Vec>());
    interleave(same, registers);
  }

  // --- compares ---
  void cmp32(const MaskReg& d, ir::ICmp p, const Vec& a, const Operand_& b, const MaskReg* under) override {
    const Ids ids{I::kIdVpcmpeqd, I::kIdVpcmpgtd, I::kIdVpminud, I::kIdVpmaxud};
    Vec t = vec();
    bool invert = false;
    switch (p) {
      case ir::ICmp::ne:
        invert = true;
        [[fallthrough]];
      case ir::ICmp::eq:
        cc_.emit(ids.eq, t, a, b);
        break;
      case ir::ICmp::sle:
        invert = true;
        [[fallthrough]];
      case ir::ICmp::sgt:
        cc_.emit(ids.gt, t, a, b);
        break;
      case ir::ICmp::sge:
        invert = true;
        [[fallthrough]];
      case ir::ICmp::slt:
        cc_.emit(ids.gt, t, in_register(b), a);
        break;
      case ir::ICmp::ugt:
        invert = true;
        [[fallthrough]];
      case ir::ICmp::ule:
        cc_.emit(ids.eq, t, make(ids.min, a, b), a);
        break;
      case ir::ICmp::ult:
        invert = true;
        [[fallthrough]];
      case ir::ICmp::uge:
        cc_.emit(ids.eq, t, make(ids.max, a, b), a);
        break;
    }
    finish(d, t, invert, under);
  }
  void cmp64(const MaskReg& d, ir::ICmp p, const Vec64& a, const Vec64& b, const MaskReg* under) override {
    join_under(d, {{cmp64_half(p, a.part[0], b.part[0]), cmp64_half(p, a.part[1], b.part[1])}}, under);
  }
  void fcmp32(const MaskReg& d, unsigned predicate, const Vec& a, const Operand_& b, const MaskReg* under) override {
    if (under == nullptr) {
      cc_.emit(I::kIdVcmpps, d, a, b, imm(predicate));
    } else {
      const Vec t = make(I::kIdVcmpps, a, b, imm(predicate));
      cc_.emit(I::kIdVpand, d, t, *under);
    }
  }
  void fcmp64(const MaskReg& d, unsigned predicate, const Vec64& a, const Vec64& b, const MaskReg* under) override {
    join_under(d, {{fcmp64_half(predicate, a.part[0], b.part[0]), fcmp64_half(predicate, a.part[1], b.part[1])}},
               under);
  }
  MaskReg cmp64_half(ir::ICmp p, const Vec& a, const Operand_& b_in) override {
    Vec x = a, y = in_register(b_in);
    if (p == ir::ICmp::ult || p == ir::ICmp::ule || p == ir::ICmp::ugt || p == ir::ICmp::uge) {
      x = xor_(x, c64(uint64_t{1} << 63));
      y = xor_(y, c64(uint64_t{1} << 63));
    }
    Vec t = vec();
    bool invert = false;
    switch (p) {
      case ir::ICmp::ne:
        invert = true;
        [[fallthrough]];
      case ir::ICmp::eq:
        cc_.emit(I::kIdVpcmpeqq, t, x, y);
        break;
      case ir::ICmp::sle:
      case ir::ICmp::ule:
        invert = true;
        [[fallthrough]];
      case ir::ICmp::sgt:
      case ir::ICmp::ugt:
        cc_.emit(I::kIdVpcmpgtq, t, x, y);
        break;
      case ir::ICmp::sge:
      case ir::ICmp::uge:
        invert = true;
        [[fallthrough]];
      case ir::ICmp::slt:
      case ir::ICmp::ult:
        cc_.emit(I::kIdVpcmpgtq, t, y, x);
        break;
    }
    if (invert) t = xor_(t, full32(~0u));
    return t;
  }
  MaskReg fcmp64_half(unsigned predicate, const Vec& a, const Operand_& b) override {
    return make(I::kIdVcmppd, a, b, imm(predicate));
  }

  // --- selection ---
  void select32(const Vec& d, const MaskReg& m, const Operand_& a, const Vec& b) override {
    cc_.emit(I::kIdVblendvps, d, b, a, m);
  }
  void select64_half(const Vec& d, const MaskReg& m, const Vec& a, const Vec& b) override {
    cc_.emit(I::kIdVblendvpd, d, b, a, m);
  }
  void flip_where(const Vec& d, const MaskReg& m) override { cc_.emit(I::kIdVpxor, d, d, m); }
  bool class32(const MaskReg&, const Vec&, uint32_t, bool) override { return false; }
  void zero_unless(const Vec& d, const MaskReg& m, const Vec& a) override { cc_.emit(I::kIdVpand, d, m, a); }
  RegisterBudget budget() const override { return {.vectors = 16, .masks = 0}; }
  bool merges() const override { return false; }
  bool has_ternary_logic() const override { return false; }
  bool has_dot_products() const override { return false; }
  bool has_half_arithmetic() const override { return false; }

  // --- 32 <-> 64 ---
  void pack64(const Vec64& d, const Vec& lo, const Vec& hi) override {
    const Vec low = make(I::kIdVpunpckldq, lo, hi);
    cc_.emit(I::kIdVpunpckhdq, d.part[1], lo, hi);
    mov(d.part[0], low);
  }
  void pack64_half(const Vec& d, unsigned part, const Vec& lo, const Vec& hi) override {
    cc_.emit(part == 0 ? I::kIdVpunpckldq : I::kIdVpunpckhdq, d, lo, hi);
  }
  void extend64_half(const Vec& d, unsigned part, bool with_sign, const Vec& a) override {
    pack64_half(d, part, a, with_sign ? sar32(a, 31) : const32(0));
  }
  void lo32(const Vec& d, const Vec64& a) override { cc_.emit(I::kIdVshufps, d, a.part[0], a.part[1], imm(0x88)); }
  void hi32(const Vec& d, const Vec64& a) override { cc_.emit(I::kIdVshufps, d, a.part[0], a.part[1], imm(0xdd)); }
  void zext64(const Vec64& d, const Vec& a) override { pack64(d, a, const32(0)); }
  void sext64(const Vec64& d, const Vec& a) override { pack64(d, a, sar32(a, 31)); }
  void splat32(const Vec& d, const Gp& s) override {
    Vec t = vec();
    cc_.emit(I::kIdVmovd, t.xmm(), s.r32());
    cc_.emit(I::kIdVpbroadcastd, d, t.xmm());
  }
  void splat64(const Vec& d, const Gp& s) override {
    Vec t = vec();
    cc_.emit(I::kIdVmovq, t.xmm(), s.r64());
    cc_.emit(I::kIdVpbroadcastq, d, t.xmm());
  }
  void widen(const Vec64& d, InstId id, const Vec& a) override {
    const Vec order = make(I::kIdVpermq, a, imm(0xd8));
    Vec high = vec();
    cc_.emit(I::kIdVextracti128, high.xmm(), order, imm(1));
    cc_.emit(id, d.part[0], order.xmm());
    cc_.emit(id, d.part[1], high.xmm());
  }
  void narrow(const Vec& d, InstId id, const Vec64& a) override {
    Vec low = vec(), high = vec();
    emit_narrow(id, low, a.part[0]);
    emit_narrow(id, high, a.part[1]);
    join_xmm(d, low, high);
  }

  // --- 64-bit integers ---
  void mul64(const Vec& d, const Vec& a, const Vec& b) override {
    const Vec swapped = make(I::kIdVpshufd, b, imm(0xb1));
    const Vec cross = make(I::kIdVpmulld, a, swapped);  // a.lo * b.hi, a.hi * b.lo
    const Vec sum = make(I::kIdVpaddd, cross, shr64(cross, 32));
    const Vec low = make(I::kIdVpmuludq, a, b);
    cc_.emit(I::kIdVpaddq, d, low, shl64(sum, 32));
  }
  void mul64_short(const Vec& d, const Vec& a, const Vec& b) override {
    const Vec high = make(I::kIdVpmuludq, shr64(a, 32), b);
    const Vec low = make(I::kIdVpmuludq, a, b);
    cc_.emit(I::kIdVpaddq, d, low, shl64(high, 32));
  }
  void sar64v(const Vec& d, const Vec& a, const Vec& count) override {
    const Vec sign = make(I::kIdVpcmpgtq, const32(0), a);
    const Vec shifted = make(I::kIdVpsrlvq, xor_(a, sign), count);
    cc_.emit(I::kIdVpxor, d, shifted, sign);
  }
  void minmax64(const Vec& d, ir::Op op, const Vec& a, const Vec& b) override {
    const bool is_signed = op == ir::Op::smin || op == ir::Op::smax;
    const bool want_less = op == ir::Op::smin || op == ir::Op::umin;
    const MaskReg less = cmp64_half(is_signed ? ir::ICmp::slt : ir::ICmp::ult, a, b);
    select64_half(d, less, want_less ? a : b, want_less ? b : a);
  }
  [[nodiscard]] bool udiv64(const Vec&, const Vec&, const Vec&) override { return false; }
  void abs64(const Vec& d, const Vec& a) override {
    const Vec sign = make(I::kIdVpcmpgtq, const32(0), a);
    cc_.emit(I::kIdVpsubq, d, xor_(a, sign), sign);
  }
  void clz32(const Vec& d, const Vec& a) override {
    // The exponent of the value with the bit below the leading one cleared, so that rounding cannot carry into it.
    const Vec safe = andn(shr32(a, 1), a);
    const Vec exponent = shr32(make(I::kIdVcvtdq2ps, safe), 23);
    const Vec count = make(I::kIdVpsubd, const32(158), exponent);
    cc_.emit(I::kIdVpminsd, d, make(I::kIdVpmaxsd, count, const32(0)), full32(32));
  }

  bool ieee_minmax(const Vec&, const Vec&, const Vec&, unsigned, bool) override { return false; }

  // --- conversions ---
  void cvt_f32_u32(const Vec& d, const Vec& a) override {
    // Both halves convert exactly; the sum rounds once.
    const Vec high = make(I::kIdVmulps, make(I::kIdVcvtdq2ps, shr32(a, 16)), cf(65536.0f));
    const Vec low = make(I::kIdVcvtdq2ps, and_(a, full32(0xffff)));
    cc_.emit(I::kIdVaddps, d, high, low);
  }
  Vec cvt_u32_f32(const Vec& a) override {
    const Vec high = make(I::kIdVcmpps, cf_reg(2147483648.0f), a, imm(2));  // 2^31 <= a
    const Vec reduced = make(I::kIdVsubps, a, and_(high, cf(2147483648.0f)));
    const Vec converted = make(I::kIdVcvttps2dq, reduced);
    return xor_(converted, shl32(high, 31));
  }
  void cvt_f64_u32(const Vec64& d, const Vec& a) override {
    // 2^52 + a has a as its fraction; subtracting 2^52 is exact. Rounding down would make 0 negative.
    Vec64 t = vec64();
    pack64(t, a, const32(0x43300000));
    for (unsigned i = 0; i < 2; ++i) {
      const Vec difference = make(I::kIdVsubpd, t.part[i], cd(4503599627370496.0));
      cc_.emit(I::kIdVpand, d.part[i], difference, c64(~(uint64_t{1} << 63)));
    }
  }
  Vec flush_denormals(const Vec& a) override {
    const Vec magnitude = and_(a, c32(0x7fffffff));
    const Vec tiny = make(I::kIdVpcmpgtd, const32(0x00800000), magnitude);
    return andn(and_(tiny, c32(0x7fffffff)), a);
  }
  [[nodiscard]] bool has_scale() const override { return false; }
  void ldexp32(const Vec& d, const Vec& x, const Vec& n) override {
    // Exact in f64; the conversion back rounds.
    const Vec limited = make(I::kIdVpminsd, make(I::kIdVpmaxsd, n, const32(static_cast<uint32_t>(-400))), const32(400));
    Vec64 power = vec64(), value = vec64();
    sext64(power, limited);
    widen(value, I::kIdVcvtps2pd, x);
    for (unsigned i = 0; i < 2; ++i) {
      const Vec exponent = shl64(make(I::kIdVpaddq, power.part[i], const64(1023)), 52);
      value.part[i] = make(I::kIdVmulpd, value.part[i], exponent);
    }
    narrow(d, I::kIdVcvtpd2ps, value);
  }
  void ldexp64(const Vec& d, const Vec& x_in, const Vec& n) override {
    // x = m * 2^e with m in [1, 2); then m * 2^(e + n) as a product of which only the last step can round. The exponent
    // is limited to where results are zero, or infinite, all the same. Denormals are scaled up first.
    const Vec zero = const32(0), magnitude = and_(x_in, c64(~(uint64_t{1} << 63)));
    const Vec denormal = make(I::kIdVpcmpgtq, in_register(c64(uint64_t{1} << 52)), magnitude);
    // Zero where the environment flushes operands.
    const Vec normal =
        make(I::kIdVblendvpd, x_in, make(I::kIdVmulpd, x_in, cd(18014398509481984.0)), denormal);  // 2^54
    const Vec field = shr64(shl64(normal, 1), 53);
    const Vec down = and_(denormal, c64(54));
    // Exponents fit the low dwords, and there is no 64-bit minimum.
    const Vec sum =
        make(I::kIdVpsubd, make(I::kIdVpaddd, limit(n, 4000), field), make(I::kIdVpaddd, down, full32(1023)));
    const Vec power = limit(sum, 1100);
    const Vec first = sar32(power, 1);
    const Vec second = make(I::kIdVpsubd, power, first);
    const Vec special = or_(make(I::kIdVpcmpeqq, field, zero), make(I::kIdVpcmpeqq, field, in_register(c64(2047))));
    const auto factor = [&](const Vec& exponent) { return shl64(make(I::kIdVpaddd, exponent, full32(1023)), 52); };
    const Vec fraction = or_(and_(normal, c64(0x800fffffffffffff)), c64(uint64_t{1023} << 52));
    const Vec scaled = make(I::kIdVmulpd, make(I::kIdVmulpd, fraction, factor(first)), factor(second));
    cc_.emit(I::kIdVblendvpd, d, scaled, make(I::kIdVmulpd, x_in, cd(1.0)), special);  // zeros, infinities, quiet NaNs
  }
  Vec f32_to_f16(const Vec& a, unsigned rounding_imm) override {
    Vec words = vec();
    cc_.emit(I::kIdVcvtps2ph, words.xmm(), a, imm(rounding_imm));
    return make(I::kIdVpmovzxwd, words.xmm());
  }
  Vec f16_to_f32(const Vec& a) override { return make(I::kIdVcvtph2ps, low_words(a).xmm()); }
  std::array<Vec, 2> halves_to_f32(const Vec& pairs) override {
    const Vec high = vec();
    cc_.emit(I::kIdVextracti128, high.xmm(), pairs, imm(1));
    return {words_to_f32(pairs), words_to_f32(high)};
  }
  Vec f32_to_words(const Vec& a, unsigned rounding_imm) override {
    const Vec words = vec();
    cc_.emit(I::kIdVcvtps2ph, words.xmm(), a, imm(rounding_imm));
    return words;
  }
  Vec words_to_f32(const Vec& words) override { return make(I::kIdVcvtph2ps, words.xmm()); }
  Vec join_words(const std::array<Vec, 2>& words) override {
    return make(I::kIdVinserti128, words[0], words[1].xmm(), imm(1));
  }
  Vec flush_f16(const Vec& x, const Vec& half) override {
    const Vec tiny = make(I::kIdVpcmpeqd, and_(half, c32(0x7c00)), const32(0));
    return andn(shr32(tiny, 1), x);
  }
  // What rounding to nearest has lost (two-sum) says on which side of the sum the exact one is.
  Vec fma_to_odd(const Vec& a, const Vec& b, const Vec& c) override {
    constexpr unsigned kNotEqualOrdered = 0x0c;
    const Vec product = make(I::kIdVmulps, a, b), sum = make(I::kIdVaddps, product, c);
    const Vec c_part = make(I::kIdVsubps, sum, product), product_part = make(I::kIdVsubps, sum, c_part);
    const Vec lost = make(I::kIdVaddps, make(I::kIdVsubps, product, product_part), make(I::kIdVsubps, c, c_part));
    const Vec inexact = make(I::kIdVcmpps, lost, const32(0), imm(kNotEqualOrdered));
    // One less where the sum is further from zero than the exact one; then the last bit.
    const Vec truncated = make(I::kIdVpaddd, sum, and_(inexact, sar32(xor_(sum, lost), 31)));
    return or_(truncated, shr32(inexact, 31));
  }

  // --- memory ---
  void load(const Vec& d, const Mem& m, const MaskReg* k) override {
    if (k != nullptr) {
      cc_.emit(I::kIdVpmaskmovd, d, *k, sized(m, 32));
    } else {
      cc_.emit(I::kIdVmovdqu, d, sized(m, 32));
    }
  }
  void load64(const Vec& d, const Mem& m, const MaskReg* k) override {
    if (k != nullptr) {
      cc_.emit(I::kIdVpmaskmovq, d, *k, sized(m, 32));
    } else {
      cc_.emit(I::kIdVmovdqu, d, sized(m, 32));
    }
  }
  void store(const Mem& m, const Vec& v, const MaskReg* k) override {
    if (k != nullptr) {
      cc_.emit(I::kIdVpmaskmovd, sized(m, 32), *k, v);
    } else {
      cc_.emit(I::kIdVmovdqu, sized(m, 32), v);
    }
  }
  void stream(const Mem& m, const Vec& v) override { cc_.emit(I::kIdVmovntps, sized(m, 32), v); }
  void store_merged(const Mem& m, const Vec& v, const MaskReg& k, FaultRange range) override {
    const Vec merged = vec();
    faults_.mark(range);
    cc_.emit(I::kIdVmovdqu, merged, sized(m, 32));
    cc_.emit(I::kIdVblendvps, merged, merged, v, k);
    faults_.mark(range);
    cc_.emit(I::kIdVmovdqu, sized(m, 32), merged);
  }
  // It is only asked for when some lane is active.
  void load_broadcast(const Vec& d, const Mem& m, const MaskReg* k) override {
    if (k == nullptr) {
      cc_.emit(I::kIdVpbroadcastd, d, sized(m, 4));
    } else {
      Vec t = vec();
      cc_.emit(I::kIdVpbroadcastd, t, sized(m, 4));
      cc_.emit(I::kIdVpand, d, t, *k);
    }
  }
  void load_broadcast64(const Vec& d, const Mem& m) override { cc_.emit(I::kIdVpbroadcastq, d, sized(m, 8)); }
  Operand broadcast_operand32(const Mem& m) override {
    Vec d = vec();
    load_broadcast(d, m, nullptr);
    return d;
  }
  Operand broadcast_operand64(const Mem& m) override {
    Vec d = vec();
    load_broadcast64(d, m);
    return d;
  }
  void load_narrow(const Vec& d, const Mem& m, unsigned bytes, bool sign, const MaskReg*) override {
    const InstId id =
        bytes == 1 ? (sign ? I::kIdVpmovsxbd : I::kIdVpmovzxbd) : (sign ? I::kIdVpmovsxwd : I::kIdVpmovzxwd);
    cc_.emit(id, d, sized(m, 8 * bytes));
  }
  void store_narrow(const Mem& m, const Vec& v, unsigned bytes, const MaskReg*) override {
    // The caller's mark belongs to the access, not to the shuffles before it.
    const uint32_t pending = cc_.take_mark();
    if (bytes == 2) {
      const Vec words = low_words(v);
      cc_.set_mark(pending);
      cc_.emit(I::kIdVmovdqu, sized(m, 16), words.xmm());
      return;
    }
    static constexpr uint8_t kLowBytes[16] = {0, 4, 8, 12, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128};
    const Vec packed = make(I::kIdVpshufb, v, full_bytes(kLowBytes));
    Vec high = vec();
    cc_.emit(I::kIdVextracti128, high.xmm(), packed, imm(1));
    Vec both = vec();
    cc_.emit(I::kIdVpunpckldq, both.xmm(), packed.xmm(), high.xmm());
    cc_.set_mark(pending);
    cc_.emit(I::kIdVmovq, sized(m, 8), both.xmm());
  }
  bool has_masked_narrow() const override { return false; }
  bool has_scatter() const override { return false; }

  void gather(const Vec& d, const Gp& base, const GatherIndex& index, int32_t disp, const MaskReg* k,
              FaultRange range) override {
    const SignedIndex b = make_signed(base, index);
    const MaskReg left = copy_mask(k);
    Vec t = const32(0);
    faults_.mark(range);
    cc_.emit(I::kIdVpgatherdd, t, x86::ptr(b.base, b.index, index.shift, disp), left);
    mov(d, t);
  }
  void gather(const Vec& d, const Vec64& address, int32_t disp, const MaskReg* k, FaultRange range) override {
    const Vec order = make(I::kIdVpermq, copy_mask(k), imm(0xd8));
    Vec left[2] = {order, vec()};
    cc_.emit(I::kIdVextracti128, left[1].xmm(), order, imm(1));
    Vec half[2] = {const32(0), const32(0)};
    range.paired_order = true;
    range.lanes = 4;
    for (unsigned i = 0; i < 2; ++i) {
      faults_.mark(range);
      cc_.emit(I::kIdVpgatherqd, half[i].xmm(), x86::ptr(static_cast<uint64_t>(int64_t{disp}), address.part[i], 0),
               left[i].xmm());
      range.first_lane += 2;
    }
    join_xmm(d, half[0], half[1]);
  }
  void gather64(const Vec64& d, const Vec64& address, int32_t disp, const MaskReg* k, FaultRange range) override {
    const Mask64 left = split(copy_mask(k));
    const Vec half[2] = {const32(0), const32(0)};  // not over the addresses
    range.paired_order = true;
    range.lanes = 4;
    for (unsigned i = 0; i < 2; ++i) {
      const Vec all = vec();  // a gather clears its mask
      mov(all, left.part[i]);
      faults_.mark(range);
      cc_.emit(I::kIdVpgatherqq, half[i], x86::ptr(static_cast<uint64_t>(int64_t{disp}), address.part[i], 0), all);
      range.first_lane += 2;
    }
    for (unsigned i = 0; i < 2; ++i) mov(d.part[i], half[i]);
  }
  void scatter(const Vec&, const Gp&, const GatherIndex&, int32_t, const MaskReg*, FaultRange) override {
    WAVEJIT_CHECK(false, "AVX2 has no scatter");
  }
  void scatter(const Vec&, const Vec64&, int32_t, const MaskReg*, FaultRange) override {
    WAVEJIT_CHECK(false, "AVX2 has no scatter");
  }
  void store_row32(const Mem& m, const Vec& v) override { store(m, v, nullptr); }
  void store_row64(const Mem& m, const Vec64& v) override {
    const Vec64 row = vec64();
    swap_row64(row, v);
    store(m, row.part[0], nullptr);
    store(m.cloneAdjusted(32), row.part[1], nullptr);
  }
  void load_row64(const Vec64& d, const Mem& m) override {
    const Vec64 row = vec64();
    load(row.part[0], m, nullptr);
    load(row.part[1], m.cloneAdjusted(32), nullptr);
    swap_row64(d, row);
  }
  void swap_row64(const Vec64& d, const Vec64& a) override {
    cc_.emit(I::kIdVperm2i128, d.part[0], a.part[0], a.part[1], imm(0x20));
    cc_.emit(I::kIdVperm2i128, d.part[1], a.part[0], a.part[1], imm(0x31));
  }

  void shuffle(const Vec& d, std::span<const Vec> sources, std::span<const uint8_t> from) override {
    bool begun = false;
    for (unsigned s = 0; s < sources.size(); ++s) {
      uint32_t index[8] = {}, used = 0;
      bool in_place = true;
      for (unsigned l = 0; l < 8; ++l) {
        if (from[l] == kAnyLane || from[l] / 8u != s) continue;
        index[l] = from[l] % 8;
        in_place &= index[l] == l;
        used |= 1u << l;
      }
      if (used == 0) continue;
      Vec r = sources[s];
      if (!in_place) {
        const Vec lanes = make(I::kIdVmovdqu, pool_.table(index));
        r = make(I::kIdVpermd, lanes, r);
      }
      if (begun) {
        cc_.emit(I::kIdVpblendd, d, d, r, imm(used));
      } else {
        mov(d, r);
      }
      begun = true;
    }
    if (!begun) set_const32(d, 0);
  }
  bool can_interleave(unsigned count) const override { return count == 2 || count == 4; }
  void deinterleave(std::span<const Vec> in, std::span<const Vec> out) override {
    if (in.size() == 2) {
      const Vec even = make(I::kIdVshufps, in[0], in[1], imm(0x88));
      const Vec odd = make(I::kIdVshufps, in[0], in[1], imm(0xdd));
      cc_.emit(I::kIdVpermq, out[0], even, imm(0xd8));
      cc_.emit(I::kIdVpermq, out[1], odd, imm(0xd8));
      return;
    }
    deinterleave_quads(
        {make(I::kIdVperm2i128, in[0], in[2], imm(0x20)), make(I::kIdVperm2i128, in[0], in[2], imm(0x31)),
         make(I::kIdVperm2i128, in[1], in[3], imm(0x20)), make(I::kIdVperm2i128, in[1], in[3], imm(0x31))},
        out);
  }
  // Lanes l and l + 4 in the halves of rows[l] -> elements.
  void deinterleave_quads(const std::array<Vec, 4>& rows, std::span<const Vec> out) {
    const auto& [r0, r1, r2, r3] = rows;
    const Vec t0 = make(I::kIdVunpcklps, r0, r1), t1 = make(I::kIdVunpckhps, r0, r1);
    const Vec t2 = make(I::kIdVunpcklps, r2, r3), t3 = make(I::kIdVunpckhps, r2, r3);
    cc_.emit(I::kIdVunpcklpd, out[0], t0, t2);
    cc_.emit(I::kIdVunpckhpd, out[1], t0, t2);
    cc_.emit(I::kIdVunpcklpd, out[2], t1, t3);
    cc_.emit(I::kIdVunpckhpd, out[3], t1, t3);
  }
  // Inserting from memory needs no shuffle unit.
  bool load_quads(const Mem& at, std::span<const Vec> out) override {
    std::array<Vec, 4> rows;
    for (int l = 0; l < 4; ++l) {
      const Vec low = vec();
      cc_.emit(I::kIdVmovdqu, low.xmm(), sized(at.cloneAdjusted(16 * l), 16));
      rows[l] = make(I::kIdVinserti128, low, sized(at.cloneAdjusted(64 + 16 * l), 16), imm(1));
    }
    deinterleave_quads(rows, out);
    return true;
  }
  bool load_pairs64(const Mem& at, std::span<const Vec64, 2> out) override {
    for (int part = 0; part < 2; ++part) {
      std::array<Vec, 2> rows;  // of lanes four apart, which are neighbours in a Vec64
      for (int l = 0; l < 2; ++l) {
        const Vec low = vec();
        cc_.emit(I::kIdVmovdqu, low.xmm(), sized(at.cloneAdjusted(32 * part + 16 * l), 16));
        rows[l] = make(I::kIdVinserti128, low, sized(at.cloneAdjusted(64 + 32 * part + 16 * l), 16), imm(1));
      }
      cc_.emit(I::kIdVunpcklpd, out[0].part[part], rows[0], rows[1]);
      cc_.emit(I::kIdVunpckhpd, out[1].part[part], rows[0], rows[1]);
    }
    return true;
  }
  void interleave(std::span<const Vec> in, std::span<const Vec> out) override {
    if (in.size() == 2) {
      const Vec low = make(I::kIdVunpcklps, in[0], in[1]), high = make(I::kIdVunpckhps, in[0], in[1]);
      cc_.emit(I::kIdVperm2i128, out[0], low, high, imm(0x20));
      cc_.emit(I::kIdVperm2i128, out[1], low, high, imm(0x31));
      return;
    }
    const Vec t0 = make(I::kIdVunpcklps, in[0], in[1]), t1 = make(I::kIdVunpckhps, in[0], in[1]);
    const Vec t2 = make(I::kIdVunpcklps, in[2], in[3]), t3 = make(I::kIdVunpckhps, in[2], in[3]);
    const Vec r0 = make(I::kIdVunpcklpd, t0, t2), r1 = make(I::kIdVunpckhpd, t0, t2);
    const Vec r2 = make(I::kIdVunpcklpd, t1, t3), r3 = make(I::kIdVunpckhpd, t1, t3);
    cc_.emit(I::kIdVperm2i128, out[0], r0, r1, imm(0x20));
    cc_.emit(I::kIdVperm2i128, out[1], r2, r3, imm(0x20));
    cc_.emit(I::kIdVperm2i128, out[2], r0, r1, imm(0x31));
    cc_.emit(I::kIdVperm2i128, out[3], r2, r3, imm(0x31));
  }

  void insert_group(const Vec& d, const Operand_& source, unsigned) override {
    cc_.emit(I::kIdVinserti128, d, d, source, imm(1));
  }
  void store_group(const Mem& m, const Vec& v, unsigned group) override {
    if (group == 0) {
      cc_.emit(I::kIdVmovdqu, sized(m, 16), v.xmm());
    } else {
      cc_.emit(I::kIdVextracti128, sized(m, 16), v, imm(1));
    }
  }
  Vec group(const Vec& v, unsigned group) override {
    Vec d = vec();
    if (group == 0) {
      mov(d, v);
    } else {
      cc_.emit(I::kIdVextracti128, d.xmm(), v, imm(1));
    }
    return d;
  }
  void widen_narrow(const Vec& d, const Vec& packed, unsigned bytes, bool sign) override {
    cc_.emit(bytes == 1 ? (sign ? I::kIdVpmovsxbd : I::kIdVpmovzxbd) : (sign ? I::kIdVpmovsxwd : I::kIdVpmovzxwd), d,
             packed.xmm());
  }

  void permute32(const Vec& d, const Vec& a, const Vec& index) override { cc_.emit(I::kIdVpermd, d, index, a); }

 private:
  struct Ids {
    InstId eq, gt, min, max;
  };
  static Mem sized(const Mem& m, uint32_t size) {
    Mem copy = m;
    copy.setSize(size);
    return copy;
  }
  Vec in_register(const Operand_& operand) {
    if (operand.isReg()) return operand.as<Vec>();
    Vec d = vec();
    mov(d, operand);
    return d;
  }
  Vec limit(const Vec& n, uint32_t most) {  // to [-most, most], dwords
    return make(I::kIdVpminsd, make(I::kIdVpmaxsd, n, full32(0u - most)), full32(most));
  }
  Vec cf_reg(float value) { return in_register(cf(value)); }
  MaskReg copy_mask(const MaskReg* k) {  // gathers clear their mask
    MaskReg d = mask();
    if (k != nullptr) {
      mov_mask(d, *k);
    } else {
      set_mask_const(d, 0xff);
    }
    return d;
  }
  MaskReg reduce(InstId id, std::span<const MaskReg> masks) {
    MaskReg all = masks[0];
    for (const MaskReg& m : masks.subspan(1)) all = make(id, all, m);
    return all;
  }
  void finish(const MaskReg& d, const Vec& t, bool invert, const MaskReg* under) {
    if (under != nullptr) {
      if (invert) {
        cc_.emit(I::kIdVpandn, d, t, *under);
      } else {
        cc_.emit(I::kIdVpand, d, t, *under);
      }
    } else if (invert) {
      cc_.emit(I::kIdVpxor, d, t, full32(~0u));
    } else {
      mov_mask(d, t);
    }
  }
  void join_under(const MaskReg& d, const Mask64& halves, const MaskReg* under) {
    if (under == nullptr) return join(d, halves);
    Vec t = vec();
    join(t, halves);
    cc_.emit(I::kIdVpand, d, t, *under);
  }
  void emit_narrow(InstId id, const Vec& d, const Vec& a) { cc_.emit(id, d.xmm(), a); }
  // xmm halves holding lanes 0 1 4 5 and 2 3 6 7 -> lanes in order.
  void join_xmm(const Vec& d, const Vec& low, const Vec& high) {
    Vec first = vec(), second = vec();
    cc_.emit(I::kIdVpunpcklqdq, first.xmm(), low.xmm(), high.xmm());
    cc_.emit(I::kIdVpunpckhqdq, second.xmm(), low.xmm(), high.xmm());
    cc_.emit(I::kIdVinserti128, d, first, second.xmm(), imm(1));
  }
  // The low word of each lane, packed into the low 128 bits.
  Vec low_words(const Vec& a) {
    const Vec clean = and_(a, full32(0xffff));
    return make(I::kIdVpermq, make(I::kIdVpackusdw, clean, clean), imm(0x08));
  }
};

}  // namespace

std::unique_ptr<VectorIsa> make_avx2(lir::Builder& cc, DataPool& pool, FaultLog& faults) {
  return std::make_unique<Avx2>(cc, pool, faults);
}

}  // namespace wavejit::backend
