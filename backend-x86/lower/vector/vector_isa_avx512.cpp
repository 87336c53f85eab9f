// AVX-512 F/BW/DQ/VL/CD: 16 lanes per register, masks in k registers. The halves of a 64-bit chunk are lanes 0..7
// and 8..15.
#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/vector_isa.h"

namespace wavejit::backend {
namespace {

using asmjit::imm;

// Tables of shuffles in registers.
constexpr size_t kMostKept = 4;

constexpr VectorIsa::Forms kFormsAvx512 = {
    .and_ = I::kIdVpandd,
    .or_ = I::kIdVpord,
    .xor_ = I::kIdVpxord,
    .andn = I::kIdVpandnd,
    .load = I::kIdVmovdqu32,
    .store = I::kIdVmovdqu32,
    .mov = I::kIdVmovdqa32,
    .round_ps = I::kIdVrndscaleps,
    .round_pd = I::kIdVrndscalepd,
};

// Immediate of vpcmp[u]d.
unsigned compare_immediate(ir::ICmp p) {
  switch (p) {
    case ir::ICmp::eq:
      return 0;
    case ir::ICmp::ne:
      return 4;
    case ir::ICmp::ult:
    case ir::ICmp::slt:
      return 1;
    case ir::ICmp::ule:
    case ir::ICmp::sle:
      return 2;
    case ir::ICmp::ugt:
    case ir::ICmp::sgt:
      return 6;
    case ir::ICmp::uge:
    case ir::ICmp::sge:
      return 5;
  }
  return 0;
}
bool is_unsigned(ir::ICmp p) {
  return p == ir::ICmp::ult || p == ir::ICmp::ule || p == ir::ICmp::ugt || p == ir::ICmp::uge;
}

class Avx512 final : public VectorIsa {
 public:
  Avx512(lir::Builder& cc, DataPool& pool, FaultLog& faults) : VectorIsa(cc, pool, faults, 16, kFormsAvx512) {}

  Vec vec() override { return cc_.new_zmm(); }
  MaskReg mask() override { return cc_.new_mask16(); }

  Mem c32(uint32_t bits) override { return pool_.get(&bits, 4)._1to16(); }
  Mem c64(uint64_t bits) override { return pool_.get(&bits, 8)._1to8(); }
  unsigned lane_of64(unsigned part, unsigned i) const override { return part * 8 + i; }

  void rotate_right(const Vec& d, const Vec& a, unsigned n) override { cc_.emit(I::kIdVprord, d, a, imm(n)); }
  bool rotate_right(const Vec& d, const Vec& a, const Vec& n) override {
    cc_.emit(I::kIdVprorvd, d, a, n);
    return true;
  }
  void ternary_logic(const Vec& d, const Vec& a, const Operand_& b, uint8_t table) override {
    cc_.emit(I::kIdVpternlogd, d, a, b, imm(table));
  }
  void bit_select(const Vec& d, const Vec& sel, const Vec& a, const Vec& b) override {
    Vec t = vec();
    mov(t, sel);
    cc_.emit(I::kIdVpternlogd, t, a, b, imm(0xca));
    mov(d, t);
  }

  // --- masks ---
  void mov_mask(const MaskReg& d, const MaskReg& s) override { cc_.emit(I::kIdKmovw, d, s); }
  void set_mask_const(const MaskReg& d, uint32_t bits) override {
    bits &= 0xffff;
    if (bits == 0) {
      cc_.emit(I::kIdKxorw, d, d, d);
    } else if (bits == 0xffff) {
      cc_.emit(I::kIdKxnorw, d, d, d);
    } else {
      Gp r = cc_.new_gp32();
      cc_.mov(r, bits);
      cc_.emit(I::kIdKmovw, d, r);
    }
  }
  void mask_and(const MaskReg& d, const MaskReg& a, const MaskReg& b) override { cc_.emit(I::kIdKandw, d, a, b); }
  void mask_or(const MaskReg& d, const MaskReg& a, const MaskReg& b) override { cc_.emit(I::kIdKorw, d, a, b); }
  void mask_xor(const MaskReg& d, const MaskReg& a, const MaskReg& b) override { cc_.emit(I::kIdKxorw, d, a, b); }
  void mask_andn(const MaskReg& d, const MaskReg& a, const MaskReg& b) override { cc_.emit(I::kIdKandnw, d, b, a); }
  void mask_not(const MaskReg& d, const MaskReg& a) override { cc_.emit(I::kIdKnotw, d, a); }
  void mask_from_bits(const MaskReg& d, const Gp& bits) override { cc_.emit(I::kIdKmovw, d, bits.r32()); }
  Gp mask_bits(const MaskReg& m) override {
    Gp r = cc_.new_gp32();
    cc_.emit(I::kIdKmovw, r, m);
    return r;
  }
  void load_mask(const MaskReg& d, const Mem& at) override { cc_.emit(I::kIdKmovw, d, sized(at, 2)); }
  void store_mask(const Mem& at, const MaskReg& m) override { cc_.emit(I::kIdKmovw, sized(at, 2), m); }
  x86::CondCode test_any(std::span<const MaskReg> masks) override {
    const MaskReg all = reduce(I::kIdKorw, masks);
    cc_.emit(I::kIdKortestw, all, all);
    return x86::CondCode::kNZ;
  }
  x86::CondCode test_all(std::span<const MaskReg> masks) override {
    const MaskReg all = reduce(I::kIdKandw, masks);
    cc_.emit(I::kIdKortestw, all, all);
    return x86::CondCode::kC;
  }
  Mask64 split(const MaskReg& m) override {
    MaskReg high = mask();
    cc_.emit(I::kIdKshiftrw, high, m, imm(8));
    return {{m, high}};
  }
  void join(const MaskReg& d, const Mask64& m) override { cc_.emit(I::kIdKunpckbw, d, m.part[1], m.part[0]); }
  void repeat_mask(const MaskReg& m, std::span<const MaskReg> out) override {
    // Every bit n times: spread out, then multiplied by n ones.
    const auto n = static_cast<unsigned>(out.size());
    uint64_t spread = 0;
    for (unsigned l = 0; l < 16; ++l) spread |= uint64_t{1} << (l * n);
    Gp bits = cc_.new_gp64(), pattern = cc_.new_gp64();
    cc_.mov(bits.r32(), mask_bits(m));
    cc_.mov(pattern, spread);
    cc_.pdep(bits, bits, pattern);
    cc_.imul(bits, bits, imm((1u << n) - 1));
    for (unsigned i = 0; i < n; ++i) {
      if (i > 0) cc_.shr(bits, 16);
      mask_from_bits(out[i], bits);
    }
  }
  Vec mask_vec(const MaskReg& m) override { return make(I::kIdVpmovm2d, m); }
  void mask_from_vec(const MaskReg& d, const Vec& v) override { cc_.emit(I::kIdVpmovd2m, d, v); }
  bool shifts_masks() const override { return true; }
  void shift_mask(const MaskReg& d, const MaskReg& m, int by) override {
    if (by == 0)
      mov_mask(d, m);
    else
      cc_.emit(by > 0 ? I::kIdKshiftlw : I::kIdKshiftrw, d, m, imm(std::abs(by)));
  }

  // --- compares ---
  void cmp32(const MaskReg& d, ir::ICmp p, const Vec& a, const Operand_& b, const MaskReg* under) override {
    set_mask(under);
    cc_.emit(is_unsigned(p) ? I::kIdVpcmpud : I::kIdVpcmpd, d, a, b, imm(compare_immediate(p)));
  }
  void cmp64(const MaskReg& d, ir::ICmp p, const Vec64& a, const Vec64& b, const MaskReg* under) override {
    Mask64 halves{{cmp64_half(p, a.part[0], b.part[0]), cmp64_half(p, a.part[1], b.part[1])}};
    join_under(d, halves, under);
  }
  void fcmp32(const MaskReg& d, unsigned predicate, const Vec& a, const Operand_& b, const MaskReg* under) override {
    set_mask(under);
    cc_.emit(I::kIdVcmpps, d, a, b, imm(predicate));
  }
  void fcmp64(const MaskReg& d, unsigned predicate, const Vec64& a, const Vec64& b, const MaskReg* under) override {
    Mask64 halves{{fcmp64_half(predicate, a.part[0], b.part[0]), fcmp64_half(predicate, a.part[1], b.part[1])}};
    join_under(d, halves, under);
  }
  MaskReg cmp64_half(ir::ICmp p, const Vec& a, const Operand_& b) override {
    MaskReg d = mask();
    cc_.emit(is_unsigned(p) ? I::kIdVpcmpuq : I::kIdVpcmpq, d, a, b, imm(compare_immediate(p)));
    return d;
  }
  MaskReg fcmp64_half(unsigned predicate, const Vec& a, const Operand_& b) override {
    MaskReg d = mask();
    cc_.emit(I::kIdVcmppd, d, a, b, imm(predicate));
    return d;
  }

  // --- selection ---
  void select32(const Vec& d, const MaskReg& m, const Operand_& a, const Vec& b) override {
    set_mask(&m);
    cc_.emit(I::kIdVpblendmd, d, b, a);
  }
  void select64_half(const Vec& d, const MaskReg& m, const Vec& a, const Vec& b) override {
    set_mask(&m);
    cc_.emit(I::kIdVpblendmq, d, b, a);
  }
  void flip_where(const Vec& d, const MaskReg& m) override {
    set_mask(&m);
    cc_.emit(I::kIdVpxord, d, d, c32(~0u));
  }
  bool class32(const MaskReg& d, const Vec& a, uint32_t classes, bool denormals) override {
    // v_cmp_class (bit 0 signalling NaN .. 9 +infinity) and the bits of vfpclassps.
    struct Category {
      uint32_t classes;
      uint8_t immediate;
      bool needs_denormals;
    };
    static constexpr Category kCategories[] = {{1u << 0, 0x80, false}, {1u << 1, 0x01, false}, {1u << 2, 0x10, false},
                                               {1u << 9, 0x08, false}, {1u << 5, 0x04, true},  {1u << 6, 0x02, true},
                                               {0x090, 0x20, true},    {0x018, 0x40, true}};
    uint32_t covered = 0;
    unsigned immediate = 0;
    for (const Category& c : kCategories) {
      if ((classes & c.classes) != c.classes || (c.needs_denormals && !denormals)) continue;
      covered |= c.classes;
      immediate |= c.immediate;
    }
    if (covered != classes) return false;
    cc_.emit(I::kIdVfpclassps, d, a, imm(immediate));
    return true;
  }
  void zero_unless(const Vec& d, const MaskReg& m, const Vec& a) override {
    set_zero_mask(&m);
    cc_.emit(I::kIdVmovdqa32, d, a);
  }
  RegisterBudget budget() const override { return {.vectors = 32, .masks = 7}; }
  bool merges() const override { return true; }
  bool has_ternary_logic() const override { return true; }
  bool has_dot_products() const override { return host_has_vnni(); }
  bool has_half_arithmetic() const override { return host_has_fp16(); }

  // --- 32 <-> 64 ---
  void pack64(const Vec64& d, const Vec& lo, const Vec& hi) override {
    if (d.part[0].id() == lo.id() || d.part[0].id() == hi.id()) {
      const Vec low = vec();
      pack64_half(low, 0, lo, hi);
      pack64_half(d.part[1], 1, lo, hi);
      mov(d.part[0], low);
    } else {
      pack64_half(d.part[0], 0, lo, hi);
      pack64_half(d.part[1], 1, lo, hi);
    }
  }
  void pack64_half(const Vec& d, unsigned part, const Vec& lo, const Vec& hi) override {
    static constexpr uint32_t kLow[16] = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    static constexpr uint32_t kHigh[16] = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    permute2_to(d, part == 0 ? kLow : kHigh, lo, hi);
  }
  void lo32(const Vec& d, const Vec64& a) override {
    static constexpr uint32_t kEven[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
    permute2_to(d, kEven, a.part[0], a.part[1]);
  }
  void hi32(const Vec& d, const Vec64& a) override {
    static constexpr uint32_t kOdd[16] = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    permute2_to(d, kOdd, a.part[0], a.part[1]);
  }
  void zext64(const Vec64& d, const Vec& a) override { widen(d, I::kIdVpmovzxdq, a); }
  void sext64(const Vec64& d, const Vec& a) override { widen(d, I::kIdVpmovsxdq, a); }
  void splat32(const Vec& d, const Gp& s) override { cc_.emit(I::kIdVpbroadcastd, d, s.r32()); }
  void splat64(const Vec& d, const Gp& s) override { cc_.emit(I::kIdVpbroadcastq, d, s.r64()); }
  void widen(const Vec64& d, InstId id, const Vec& a) override {
    Vec high = vec();
    cc_.emit(I::kIdVextracti64x4, high.ymm(), a, imm(1));
    cc_.emit(id, d.part[0], a.ymm());
    cc_.emit(id, d.part[1], high.ymm());
  }
  void extend64_half(const Vec& d, unsigned part, bool with_sign, const Vec& a) override {
    Vec half = a;
    if (part != 0) {
      half = vec();
      cc_.emit(I::kIdVextracti64x4, half.ymm(), a, imm(1));
    }
    cc_.emit(with_sign ? I::kIdVpmovsxdq : I::kIdVpmovzxdq, d, half.ymm());
  }
  void narrow(const Vec& d, InstId id, const Vec64& a) override {
    Vec low = vec(), high = vec();
    cc_.emit(id, low.ymm(), a.part[0]);
    cc_.emit(id, high.ymm(), a.part[1]);
    cc_.emit(I::kIdVinserti64x4, d, low, high.ymm(), imm(1));
  }

  // --- 64-bit integers ---
  void mul64(const Vec& d, const Vec& a, const Vec& b) override { cc_.emit(I::kIdVpmullq, d, a, b); }
  void sar64v(const Vec& d, const Vec& a, const Vec& count) override { cc_.emit(I::kIdVpsravq, d, a, count); }
  void minmax64(const Vec& d, ir::Op op, const Vec& a, const Vec& b) override {
    const InstId id = op == ir::Op::smin   ? I::kIdVpminsq
                      : op == ir::Op::smax ? I::kIdVpmaxsq
                      : op == ir::Op::umin ? I::kIdVpminuq
                                           : I::kIdVpmaxuq;
    cc_.emit(id, d, a, b);
  }
  // With everything rounded so that quotients come out too small: the first by less than one part in 2^50, what it
  // leaves over is less than (2^14 + 2) b, and the quotient of that is too small by one at most. Directed rounding is
  // part of these instructions, whose operands must not be memory then: what may be spilled is copied.
  [[nodiscard]] bool udiv64(const Vec& d, const Vec& a, const Vec& b) override {
    const Vec inverse = vec(), first = vec(), more = vec(), t = vec(), one = const64(0x3ff0000000000000);
    mov(t, b);
    cc_.ru_sae().emit(I::kIdVcvtuqq2pd, t, t);
    cc_.rd_sae().emit(I::kIdVdivpd, inverse, one, t);
    mov(t, a);
    cc_.rd_sae().emit(I::kIdVcvtuqq2pd, t, t);
    cc_.rd_sae().emit(I::kIdVmulpd, t, inverse, t);
    cc_.emit(I::kIdVcvttpd2uqq, first, t);
    cc_.emit(I::kIdVpmullq, t, first, b);
    const Vec left = make(I::kIdVpsubq, a, t);
    cc_.rd_sae().emit(I::kIdVcvtuqq2pd, t, left);
    cc_.rd_sae().emit(I::kIdVmulpd, t, inverse, t);
    cc_.emit(I::kIdVcvttpd2uqq, more, t);
    cc_.emit(I::kIdVpmullq, t, more, b);
    const Vec rest = make(I::kIdVpsubq, left, t);
    const Vec sum = make(I::kIdVpaddq, first, more);
    const MaskReg again = cmp64_half(ir::ICmp::uge, rest, b);
    const Vec next = make(I::kIdVpaddq, sum, const64(1));
    select64_half(d, again, next, sum);
    return true;
  }
  void abs64(const Vec& d, const Vec& a) override { cc_.emit(I::kIdVpabsq, d, a); }
  void clz32(const Vec& d, const Vec& a) override { cc_.emit(I::kIdVplzcntd, d, a); }

  bool ieee_minmax(const Vec& d, const Vec& a, const Vec& b, unsigned bits, bool want_max) override {
    cc_.emit(bits == 64 ? I::kIdVrangepd : I::kIdVrangeps, d, a, b, imm(4 | (want_max ? 1 : 0)));
    return true;
  }

  // --- conversions ---
  void cvt_f32_u32(const Vec& d, const Vec& a) override { cc_.emit(I::kIdVcvtudq2ps, d, a); }
  Vec cvt_u32_f32(const Vec& a) override { return make(I::kIdVcvttps2udq, a); }
  void cvt_f64_u32(const Vec64& d, const Vec& a) override { widen(d, I::kIdVcvtudq2pd, a); }
  Vec flush_denormals(const Vec& a) override {
    MaskReg denormal = mask();
    cc_.emit(I::kIdVfpclassps, denormal, a, imm(0x26));  // with DAZ they count as zeros
    Vec d = vec();
    mov(d, a);
    set_mask(&denormal);
    cc_.emit(I::kIdVpandd, d, a, c32(0x80000000));
    return d;
  }
  [[nodiscard]] bool has_scale() const override { return true; }
  void ldexp32(const Vec& d, const Vec& x, const Vec& n) override {
    cc_.emit(I::kIdVscalefps, d, x, make(I::kIdVcvtdq2ps, n));  // large exponents may be rounded
  }
  void ldexp64(const Vec& d, const Vec& x, const Vec& n) override {
    cc_.emit(I::kIdVscalefpd, d, x, make(I::kIdVcvtqq2pd, n));
  }
  Vec f32_to_f16(const Vec& a, unsigned rounding_imm) override {
    Vec words = vec();
    cc_.emit(I::kIdVcvtps2ph, words.ymm(), a, imm(rounding_imm));
    return make(I::kIdVpmovzxwd, words.ymm());
  }
  Vec f16_to_f32(const Vec& a) override {
    Vec words = vec();
    cc_.emit(I::kIdVpmovdw, words.ymm(), a);
    return make(I::kIdVcvtph2ps, words.ymm());
  }
  std::array<Vec, 2> halves_to_f32(const Vec& pairs) override {
    const Vec high = vec();
    cc_.emit(I::kIdVextracti64x4, high.ymm(), pairs, imm(1));
    return {words_to_f32(pairs), words_to_f32(high)};
  }
  Vec f32_to_words(const Vec& a, unsigned rounding_imm) override {
    const Vec words = vec();
    cc_.emit(I::kIdVcvtps2ph, words.ymm(), a, imm(rounding_imm));
    return words;
  }
  Vec words_to_f32(const Vec& words) override { return make(I::kIdVcvtph2ps, words.ymm()); }
  Vec join_words(const std::array<Vec, 2>& words) override {
    return make(I::kIdVinserti64x4, words[0], words[1].ymm(), imm(1));
  }
  Vec flush_f16(const Vec& x, const Vec& half) override {
    const MaskReg tiny = mask();
    cc_.emit(I::kIdVptestnmd, tiny, half, c32(0x7c00));
    set_mask(&tiny);
    cc_.emit(I::kIdVpandd, x, x, c32(0x80000000));
    return x;
  }
  Vec fma_to_odd(const Vec& a, const Vec& b, const Vec& c) override {
    const Vec down = make(I::kIdVmovdqa32, c), up = make(I::kIdVmovdqa32, c);
    cc_.rd_sae().emit(I::kIdVfmadd231ps, down, a, b);
    cc_.ru_sae().emit(I::kIdVfmadd231ps, up, a, b);
    const MaskReg odd = mask();
    cc_.emit(I::kIdVptestmd, odd, down, c32(1));
    set_mask(&odd);
    cc_.emit(I::kIdVmovdqa32, up, down);
    return up;
  }

  // --- memory ---
  void load(const Vec& d, const Mem& m, const MaskReg* k) override {
    set_zero_mask(k);
    cc_.emit(I::kIdVmovdqu32, d, sized(m, 64));
  }
  void load64(const Vec& d, const Mem& m, const MaskReg* k) override {
    set_zero_mask(k);
    cc_.emit(I::kIdVmovdqu64, d, sized(m, 64));
  }
  void store(const Mem& m, const Vec& v, const MaskReg* k) override {
    set_mask(k);
    cc_.emit(I::kIdVmovdqu32, sized(m, 64), v);
  }
  void stream(const Mem& m, const Vec& v) override { cc_.emit(I::kIdVmovntps, sized(m, 64), v); }
  void store_merged(const Mem& m, const Vec& v, const MaskReg& k, FaultRange range) override {
    faults_.mark(range);
    store(m, v, &k);
  }
  void load_broadcast(const Vec& d, const Mem& m, const MaskReg* k) override {
    set_zero_mask(k);
    cc_.emit(I::kIdVpbroadcastd, d, sized(m, 4));
  }
  void load_broadcast64(const Vec& d, const Mem& m) override { cc_.emit(I::kIdVpbroadcastq, d, sized(m, 8)); }
  Operand broadcast_operand32(const Mem& m) override { return sized(m, 4)._1to16(); }
  Operand broadcast_operand64(const Mem& m) override { return sized(m, 8)._1to8(); }
  void load_narrow(const Vec& d, const Mem& m, unsigned bytes, bool sign, const MaskReg* k) override {
    const InstId id =
        bytes == 1 ? (sign ? I::kIdVpmovsxbd : I::kIdVpmovzxbd) : (sign ? I::kIdVpmovsxwd : I::kIdVpmovzxwd);
    set_zero_mask(k);
    cc_.emit(id, d, sized(m, 16 * bytes));
  }
  void store_narrow(const Mem& m, const Vec& v, unsigned bytes, const MaskReg* k) override {
    set_mask(k);
    cc_.emit(bytes == 1 ? I::kIdVpmovdb : I::kIdVpmovdw, sized(m, 16 * bytes), v);
  }
  bool has_masked_narrow() const override { return true; }
  bool has_scatter() const override { return true; }

  void gather(const Vec& d, const Gp& base, const GatherIndex& index, int32_t disp, const MaskReg* k,
              FaultRange range) override {
    const SignedIndex b = make_signed(base, index);
    const MaskReg left = copy_mask(k);
    Vec t = zero();
    faults_.mark(range);
    cc_.setExtraReg(left);
    cc_.emit(I::kIdVpgatherdd, t, x86::ptr(b.base, b.index, index.shift, disp));
    mov(d, t);
  }
  void gather(const Vec& d, const Vec64& address, int32_t disp, const MaskReg* k, FaultRange range) override {
    const Mask64 left = split(copy_mask(k));
    Vec half[2] = {zero(), zero()};
    range.lanes = 8;
    for (unsigned i = 0; i < 2; ++i) {
      faults_.mark(range);
      cc_.setExtraReg(left.part[i]);
      cc_.emit(I::kIdVpgatherqd, half[i].ymm(), indexed(address.part[i], disp));
      range.first_lane += 8;
    }
    cc_.emit(I::kIdVinserti64x4, d, half[0], half[1].ymm(), imm(1));
  }
  void gather64(const Vec64& d, const Vec64& address, int32_t disp, const MaskReg* k, FaultRange range) override {
    const Mask64 left = split(copy_mask(k));
    const Vec half[2] = {zero(), zero()};  // not over the addresses
    range.lanes = 8;
    for (unsigned i = 0; i < 2; ++i) {
      faults_.mark(range);
      cc_.setExtraReg(left.part[i]);
      cc_.emit(I::kIdVpgatherqq, half[i], indexed(address.part[i], disp));
      range.first_lane += 8;
    }
    for (unsigned i = 0; i < 2; ++i) mov(d.part[i], half[i]);
  }
  void scatter(const Vec& v, const Gp& base, const GatherIndex& index, int32_t disp, const MaskReg* k,
               FaultRange range) override {
    const SignedIndex b = make_signed(base, index);
    const MaskReg left = copy_mask(k);
    faults_.mark(range);
    cc_.setExtraReg(left);
    cc_.emit(I::kIdVpscatterdd, x86::ptr(b.base, b.index, index.shift, disp), v);
  }
  void scatter(const Vec& v, const Vec64& address, int32_t disp, const MaskReg* k, FaultRange range) override {
    const Mask64 left = split(copy_mask(k));
    Vec high = vec();
    cc_.emit(I::kIdVextracti64x4, high.ymm(), v, imm(1));
    range.lanes = 8;
    for (unsigned i = 0; i < 2; ++i) {
      faults_.mark(range);
      cc_.setExtraReg(left.part[i]);
      cc_.emit(I::kIdVpscatterqd, indexed(address.part[i], disp), i == 0 ? v.ymm() : high.ymm());
      range.first_lane += 8;
    }
  }
  void store_row64(const Mem& m, const Vec64& v) override {
    // Lanes are read one by one. From stores of 512 bits these reads take longer (backend-x86.md, "The host").
    for (unsigned part = 0; part < 2; ++part) {
      cc_.emit(I::kIdVmovdqu, sized(m.cloneAdjusted(64 * part), 32), v.part[part].ymm());
      cc_.emit(I::kIdVextracti64x4, sized(m.cloneAdjusted(64 * part + 32), 32), v.part[part], imm(1));
    }
  }
  void load_row64(const Vec64& d, const Mem& m) override {
    load(d.part[0], m, nullptr);
    load(d.part[1], m.cloneAdjusted(64), nullptr);
  }
  void swap_row64(const Vec64& d, const Vec64& a) override {  // the same order
    for (unsigned i = 0; i < 2; ++i) mov(d.part[i], a.part[i]);
  }
  // On Intel's processors a read of one lane takes longer from a store of 512 bits than from two of 256.
  void store_row32(const Mem& m, const Vec& v) override {
    cc_.emit(I::kIdVmovdqu, sized(m, 32), v.ymm());
    cc_.emit(I::kIdVextracti64x4, sized(m.cloneAdjusted(32), 32), v, imm(1));
  }

  void shuffle(const Vec& d, std::span<const Vec> sources, std::span<const uint8_t> from) override {
    bool begun = false;
    for (unsigned first = 0; first < sources.size(); first += 2) {
      uint32_t index[16] = {}, used = 0, both = 0;
      for (unsigned l = 0; l < 16; ++l) {
        if (from[l] == kAnyLane || from[l] / 32u != first / 2) continue;
        index[l] = from[l] % 32;
        used |= 1u << l;
        both |= 1u << (from[l] % 32 / 16);
      }
      if (used == 0) continue;
      const MaskReg k = begun ? const_mask(used) : MaskReg();
      if (both == 3) {
        const Vec r = permute_pair(index, sources[first], sources[first + 1], false);
        if (begun) set_mask(&k);
        cc_.emit(I::kIdVmovdqa32, d, r);
      } else {
        const Vec table = load_index(index);
        if (begun) set_mask(&k);
        cc_.emit(I::kIdVpermd, d, table, sources[first + (both == 2 ? 1 : 0)]);
      }
      begun = true;
    }
    if (!begun) set_const32(d, 0);
  }
  // In two steps: two elements of eight lanes, then each element of all.
  void deinterleave4(std::span<const Vec> in, std::span<const Vec> out) {
    for (unsigned e = 0; e < 4; e += 2) {
      uint32_t index[16];
      for (unsigned l = 0; l < 16; ++l) index[l] = l % 8 * 4 + l / 8 + e;
      const bool last = e == 2;
      const Vec low = permute_pair(index, in[0], in[1], last), high = permute_pair(index, in[2], in[3], last);
      cc_.emit(I::kIdVinserti64x4, out[e], low, high.ymm(), imm(1));
      cc_.emit(I::kIdVshufi64x2, out[e + 1], low, high, imm(0xee));
    }
  }
  // Pairs of elements, then pairs of pairs.
  void interleave4(std::span<const Vec> in, std::span<const Vec> out) {
    Vec pairs[2][2];  // [half of the lanes][elements 0 and 1, or 2 and 3]
    for (unsigned half = 0; half < 2; ++half) {
      uint32_t index[16];
      for (unsigned i = 0; i < 16; ++i) index[i] = half * 8 + i / 2 + i % 2 * 16;
      for (unsigned e = 0; e < 2; ++e) {
        pairs[half][e] = load_index(index);
        cc_.emit(I::kIdVpermi2d, pairs[half][e], in[2 * e], in[2 * e + 1]);
      }
    }
    for (unsigned o = 0; o < 4; ++o) {
      uint32_t index[16];
      for (unsigned i = 0; i < 16; ++i) index[i] = o % 2 * 8 + i / 4 * 2 + i % 2 + i % 4 / 2 * 16;
      const Vec r = load_index(index);
      cc_.emit(I::kIdVpermi2d, r, pairs[o / 2][0], pairs[o / 2][1]);
      cc_.emit(I::kIdVmovdqa32, out[o], r);
    }
  }
  bool can_interleave(unsigned count) const override { return count >= 2 && count <= 4; }
  bool load_quads(const Mem&, std::span<const Vec>) override { return false; }
  bool load_pairs64(const Mem&, std::span<const Vec64, 2>) override { return false; }
  void deinterleave(std::span<const Vec> in, std::span<const Vec> out) override {
    const unsigned n = in.size();
    if (n == 4) return deinterleave4(in, out);
    for (unsigned e = 0; e < n; ++e) {
      uint8_t from[16];
      for (unsigned l = 0; l < 16; ++l) from[l] = static_cast<uint8_t>(l * n + e);
      shuffle(out[e], in, from);
    }
  }
  void interleave(std::span<const Vec> in, std::span<const Vec> out) override {
    const unsigned n = in.size();
    if (n == 4) return interleave4(in, out);
    for (unsigned o = 0; o < n; ++o) {
      uint8_t from[16];
      for (unsigned i = 0; i < 16; ++i) from[i] = static_cast<uint8_t>((o * 16 + i) % n * 16 + (o * 16 + i) / n);
      shuffle(out[o], in, from);
    }
  }

  void insert_group(const Vec& d, const Operand_& source, unsigned group) override {
    if (source.isMem()) {
      cc_.emit(I::kIdVinserti32x4, d, d, sized(source.as<Mem>(), 16), imm(group));
    } else {
      cc_.emit(I::kIdVinserti32x4, d, d, source, imm(group));
    }
  }
  void store_group(const Mem& m, const Vec& v, unsigned group) override {
    if (group == 0) {
      cc_.emit(I::kIdVmovdqu, sized(m, 16), v.xmm());
    } else {
      cc_.emit(I::kIdVextracti32x4, sized(m, 16), v, imm(group));
    }
  }
  Vec group(const Vec& v, unsigned group) override {
    Vec d = vec();
    if (group == 0) {
      mov(d, v);
    } else {
      cc_.emit(I::kIdVextracti32x4, d.xmm(), v, imm(group));
    }
    return d;
  }
  void widen_narrow(const Vec& d, const Vec& packed, unsigned bytes, bool sign) override {
    if (bytes == 1) {
      cc_.emit(sign ? I::kIdVpmovsxbd : I::kIdVpmovzxbd, d, packed.xmm());
    } else {
      cc_.emit(sign ? I::kIdVpmovsxwd : I::kIdVpmovzxwd, d, packed.ymm());
    }
  }

  void permute32(const Vec& d, const Vec& a, const Vec& index) override { cc_.emit(I::kIdVpermd, d, index, a); }

 private:
  static Mem sized(const Mem& m, uint32_t size) {
    Mem copy = m;
    copy.setSize(size);
    return copy;
  }
  void set_mask(const MaskReg* k) {
    if (k != nullptr) cc_.setExtraReg(*k);
  }
  void set_zero_mask(const MaskReg* k) {
    if (k == nullptr) return;
    cc_.setExtraReg(*k);
    cc_.addInstOptions(asmjit::InstOptions::kX86_ZMask);
  }
  Vec zero() { return const32(0); }
  MaskReg const_mask(uint32_t bits) {
    MaskReg k = mask();
    set_mask_const(k, bits);
    return k;
  }
  MaskReg copy_mask(const MaskReg* k) {  // gathers and scatters clear their mask
    MaskReg d = mask();
    if (k != nullptr) {
      mov_mask(d, *k);
    } else {
      set_mask_const(d, 0xffff);
    }
    return d;
  }
  MaskReg reduce(InstId id, std::span<const MaskReg> masks) {
    MaskReg all = masks[0];
    for (const MaskReg& m : masks.subspan(1)) {
      MaskReg d = mask();
      cc_.emit(id, d, all, m);
      all = d;
    }
    return all;
  }
  void join_under(const MaskReg& d, const Mask64& halves, const MaskReg* under) {
    if (under == nullptr) return join(d, halves);
    MaskReg t = mask();
    join(t, halves);
    mask_and(d, t, *under);
  }
  Vec load_index(const uint32_t (&index)[16]) {
    Vec d = vec();
    cc_.emit(I::kIdVmovdqu32, d, pool_.table(index));
    return d;
  }
  // The register that holds the table during the loop (keep_tables()); null outside of loops and if there are too many.
  const Vec* kept_table(const uint32_t (&index)[16]) {
    if (tables_front_ == nullptr) return nullptr;
    const Mem table = pool_.table(index);
    const auto known = kept_tables_.find(table.baseId());
    if (known != kept_tables_.end()) return &known->second;
    if (kept_tables_.size() == kMostKept) return nullptr;
    lir::Node* const behind = cc_.set_cursor(tables_front_);
    const Vec d = vec();
    cc_.emit(I::kIdVmovdqu32, d, table);
    tables_front_ = cc_.cursor();
    cc_.set_cursor(behind);
    return &kept_tables_.emplace(table.baseId(), d).first->second;
  }
  // Dword i of the result is that number index[i] of both registers. `spent`: a may be overwritten.
  Vec permute_pair(const uint32_t (&index)[16], const Vec& a, const Vec& b, bool spent) {
    const Vec* table = kept_table(index);
    if (table == nullptr) return permute2(index, a, b);
    const Vec d = spent ? a : make(I::kIdVmovdqa32, a);
    cc_.emit(I::kIdVpermt2d, d, *table, b);
    return d;
  }
  Vec permute2(const uint32_t (&index)[16], const Vec& a, const Vec& b) {
    Vec d = load_index(index);
    cc_.emit(I::kIdVpermi2d, d, a, b);
    return d;
  }
  // The index is loaded into the destination, so that must not be a source.
  void permute2_to(const Vec& d, const uint32_t (&index)[16], const Vec& a, const Vec& b) {
    if (d.id() == a.id() || d.id() == b.id()) return mov(d, permute2(index, a, b));
    cc_.emit(I::kIdVmovdqu32, d, pool_.table(index));
    cc_.emit(I::kIdVpermi2d, d, a, b);
  }
  static Mem indexed(const Vec& address, int32_t disp) {
    return x86::ptr(static_cast<uint64_t>(int64_t{disp}), address, 0);
  }
};

}  // namespace

std::unique_ptr<VectorIsa> make_avx512(lir::Builder& cc, DataPool& pool, FaultLog& faults) {
  return std::make_unique<Avx512>(cc, pool, faults);
}

}  // namespace wavejit::backend
