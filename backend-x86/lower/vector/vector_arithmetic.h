// Primitives of a host vector instruction set without accesses to memory: registers, constants, arithmetic and masks of a
// chunk. vector_isa.h has the others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>

#include "backend-x86/lower/host_code.h"
#include "ir/function.h"

namespace wavejit::backend {

inline constexpr unsigned kUnordered = 3;  // as a predicate of vcmpps

// Number of host registers. `masks` is 0 if masks live in vector registers.
struct RegisterBudget {
  unsigned vectors, masks;
};

class VectorArithmetic {
 public:
  // Instructions that differ by tier only in name.
  struct Forms {
    InstId and_, or_, xor_, andn;  // andn: ~a & b
    InstId load, store;            // unaligned
    InstId mov;
    InstId round_ps, round_pd;
  };

  VectorArithmetic(lir::Builder& cc, DataPool& pool, FaultLog& faults, unsigned lanes, const Forms& forms)
      : lanes(lanes), f(forms), cc_(cc), pool_(pool), faults_(faults) {}
  virtual ~VectorArithmetic() = default;
  VectorArithmetic(const VectorArithmetic&) = delete;
  VectorArithmetic& operator=(const VectorArithmetic&) = delete;

  const unsigned lanes;  // 32-bit lanes per register
  const Forms f;
  [[nodiscard]] unsigned bytes() const { return lanes * 4; }

  // --- registers ---
  [[nodiscard]] virtual Vec vec() = 0;
  [[nodiscard]] virtual MaskReg mask() = 0;
  [[nodiscard]] Vec64 vec64() { return {vec(), vec()}; }
  void mov(const Vec& d, const Operand_& s) { cc_.emit(s.isMem() ? f.load : f.mov, d, s); }
  template <class... A>
  Vec make(InstId id, const A&... a) {
    Vec d = vec();
    cc_.emit(id, d, a...);
    return d;
  }

  // Moves the lowest element to a general register.
  void low32(const Gp& d, const Vec& v) { cc_.emit(I::kIdVmovd, d.r32(), v.xmm()); }
  void low64(const Gp& d, const Vec& v) { cc_.emit(I::kIdVmovq, d.r64(), v.xmm()); }

  // --- constants ---
  [[nodiscard]] virtual Mem c32(uint32_t bits) = 0;
  [[nodiscard]] virtual Mem c64(uint64_t bits) = 0;
  [[nodiscard]] Mem cf(float value);
  [[nodiscard]] Mem cd(double value);
  [[nodiscard]] Mem full32(uint32_t bits);
  [[nodiscard]] Mem full_bytes(const uint8_t (&sixteen)[16]);  // a 16-byte pattern in each 128-bit lane
  void set_const32(const Vec& d, uint32_t bits);
  void set_const64(const Vec& d, uint64_t bits);
  [[nodiscard]] Vec const32(uint32_t bits);
  [[nodiscard]] Vec const64(uint64_t bits);
  [[nodiscard]] Vec ones() { return const32(~0u); }
  [[nodiscard]] Mem lane_table(uint32_t first, uint32_t stride);   // dword i: first + i * stride
  [[nodiscard]] Mem lane_table64(unsigned part, uint64_t stride);  // qword i: stride * lane_of64(part, i)
  [[nodiscard]] virtual unsigned lane_of64(unsigned part, unsigned i) const = 0;
  // In a loop, the tables of shuffles are loaded in front of it, behind the node, and keep their registers. Null: the loop
  // is over.
  void keep_tables(lir::Node* front) {
    tables_front_ = front;
    kept_tables_.clear();
  }

  // --- bitwise and shifts by immediates ---
  Vec and_(const Vec& a, const Operand_& b) { return make(f.and_, a, b); }
  Vec or_(const Vec& a, const Operand_& b) { return make(f.or_, a, b); }
  Vec xor_(const Vec& a, const Operand_& b) { return make(f.xor_, a, b); }
  Vec andn(const Vec& not_a, const Operand_& b) { return make(f.andn, not_a, b); }
  Vec shl32(const Vec& a, unsigned n) { return make(I::kIdVpslld, a, asmjit::imm(n)); }
  Vec shr32(const Vec& a, unsigned n) { return make(I::kIdVpsrld, a, asmjit::imm(n)); }
  Vec sar32(const Vec& a, unsigned n) { return make(I::kIdVpsrad, a, asmjit::imm(n)); }
  Vec shl64(const Vec& a, unsigned n) { return make(I::kIdVpsllq, a, asmjit::imm(n)); }
  Vec shr64(const Vec& a, unsigned n) { return make(I::kIdVpsrlq, a, asmjit::imm(n)); }
  virtual void rotate_right(const Vec& d, const Vec& a, unsigned n) = 0;  // 32-bit lanes; n below 32
  // The same with a count per lane, modulo 32. False if there is no such instruction.
  [[nodiscard]] virtual bool rotate_right(const Vec& d, const Vec& a, const Vec& n) = 0;
  // d = table[d, a, b] for each bit: the index into `table` is 4 d + 2 a + b. Requires has_ternary_logic().
  virtual void ternary_logic(const Vec& d, const Vec& a, const Operand_& b, uint8_t table) = 0;
  virtual void bit_select(const Vec& d, const Vec& sel, const Vec& a, const Vec& b) = 0;  // (sel & a) | (~sel & b)

  // --- masks ---
  virtual void mov_mask(const MaskReg& d, const MaskReg& s) = 0;
  virtual void set_mask_const(const MaskReg& d, uint32_t bits) = 0;
  virtual void mask_and(const MaskReg& d, const MaskReg& a, const MaskReg& b) = 0;
  virtual void mask_or(const MaskReg& d, const MaskReg& a, const MaskReg& b) = 0;
  virtual void mask_xor(const MaskReg& d, const MaskReg& a, const MaskReg& b) = 0;
  virtual void mask_andn(const MaskReg& d, const MaskReg& a, const MaskReg& b) = 0;  // a & ~b
  virtual void mask_not(const MaskReg& d, const MaskReg& a) = 0;
  virtual void mask_from_bits(const MaskReg& d, const Gp& bits) = 0;  // low `lanes` bits; others are ignored
  virtual Gp mask_bits(const MaskReg& m) = 0;                         // 32-bit register, bits above `lanes` zero
  virtual void load_mask(const MaskReg& d, const Mem& at) = 0;        // lanes / 8 bytes
  virtual void store_mask(const Mem& at, const MaskReg& m) = 0;
  // Sets the flags; the condition returned holds when some (all) lanes of all chunks are set.
  virtual x86::CondCode test_any(std::span<const MaskReg> masks) = 0;
  virtual x86::CondCode test_all(std::span<const MaskReg> masks) = 0;
  virtual Mask64 split(const MaskReg& m) = 0;  // for the two halves of a 64-bit chunk
  virtual void join(const MaskReg& d, const Mask64& m) = 0;
  virtual Vec mask_vec(const MaskReg& m) = 0;                      // all-ones / zero dwords
  virtual void mask_from_vec(const MaskReg& d, const Vec& v) = 0;  // back
  // Lane l of d = lane l - by of m, clear where there is none. Only where shifts_masks().
  virtual void shift_mask(const MaskReg& d, const MaskReg& m, int by) = 0;
  [[nodiscard]] virtual bool shifts_masks() const = 0;
  // The masks of `out.size()` (2..4) consecutive registers that hold as many elements of each lane, lane after lane.
  virtual void repeat_mask(const MaskReg& m, std::span<const MaskReg> out) = 0;

  // --- compares; `under` null or a mask that is ANDed in ---
  virtual void cmp32(const MaskReg& d, ir::ICmp p, const Vec& a, const Operand_& b, const MaskReg* under) = 0;
  virtual void cmp64(const MaskReg& d, ir::ICmp p, const Vec64& a, const Vec64& b, const MaskReg* under) = 0;
  // `predicate` is the immediate of vcmpps.
  virtual void fcmp32(const MaskReg& d, unsigned predicate, const Vec& a, const Operand_& b, const MaskReg* under) = 0;
  virtual void fcmp64(const MaskReg& d, unsigned predicate, const Vec64& a, const Vec64& b, const MaskReg* under) = 0;
  // One half of a 64-bit chunk.
  virtual MaskReg cmp64_half(ir::ICmp p, const Vec& a, const Operand_& b) = 0;
  virtual MaskReg fcmp64_half(unsigned predicate, const Vec& a, const Operand_& b) = 0;

  // --- selection: m ? a : b ---
  virtual void select32(const Vec& d, const MaskReg& m, const Operand_& a, const Vec& b) = 0;
  virtual void select64_half(const Vec& d, const MaskReg& m, const Vec& a, const Vec& b) = 0;
  virtual void zero_unless(const Vec& d, const MaskReg& m, const Vec& a) = 0;  // m ? a : 0
  Vec sel(const MaskReg& m, const Operand_& a, const Vec& b) {
    Vec d = vec();
    select32(d, m, a, b);
    return d;
  }
  Vec sel64(const MaskReg& m, const Vec& a, const Vec& b) {
    Vec d = vec();
    select64_half(d, m, a, b);
    return d;
  }
  virtual void flip_where(const Vec& d, const MaskReg& m) = 0;  // m ? ~d : d
  // Whether the bits are a float of the classes that v_cmp_class names. False where there is no instruction for them.
  // denormals: whether the environment tells them from zeros.
  [[nodiscard]] virtual bool class32(const MaskReg& d, const Vec& a, uint32_t classes, bool denormals) = 0;
  // Whether `d = m ? op(...) : d` can be had by putting {m} on the instruction.
  [[nodiscard]] virtual RegisterBudget budget() const = 0;
  [[nodiscard]] virtual bool merges() const = 0;
  [[nodiscard]] virtual bool has_ternary_logic() const = 0;
  [[nodiscard]] virtual bool has_dot_products() const = 0;     // vpdpwssd
  [[nodiscard]] virtual bool has_half_arithmetic() const = 0;  // vfmadd231ph

  // --- 32 <-> 64 ---
  virtual void pack64(const Vec64& d, const Vec& lo, const Vec& hi) = 0;
  virtual void pack64_half(const Vec& d, unsigned part, const Vec& lo, const Vec& hi) = 0;
  virtual void extend64_half(const Vec& d, unsigned part, bool with_sign, const Vec& a) = 0;
  virtual void lo32(const Vec& d, const Vec64& a) = 0;
  virtual void hi32(const Vec& d, const Vec64& a) = 0;
  virtual void zext64(const Vec64& d, const Vec& a) = 0;
  virtual void sext64(const Vec64& d, const Vec& a) = 0;
  virtual void splat32(const Vec& d, const Gp& s) = 0;
  virtual void splat64(const Vec& d, const Gp& s) = 0;
  // Conversions that change the width: d's halves from the lanes of a, and back.
  virtual void widen(const Vec64& d, InstId id, const Vec& a) = 0;   // vcvtps2pd, vcvtdq2pd
  virtual void narrow(const Vec& d, InstId id, const Vec64& a) = 0;  // vcvtpd2ps, vcvttpd2dq

  // --- 64-bit integer arithmetic on one half ---
  virtual void mul64(const Vec& d, const Vec& a, const Vec& b) = 0;
  virtual void mul64_short(const Vec& d, const Vec& a, const Vec& b) { mul64(d, a, b); }  // b is below 2^32
  virtual void sar64v(const Vec& d, const Vec& a, const Vec& count) = 0;                  // counts below 64
  virtual void minmax64(const Vec& d, ir::Op op, const Vec& a, const Vec& b) = 0;
  virtual void abs64(const Vec& d, const Vec& a) = 0;
  // a / b for nonzero b. False if the host has no instructions for it.
  [[nodiscard]] virtual bool udiv64(const Vec& d, const Vec& a, const Vec& b) = 0;
  virtual void clz32(const Vec& d, const Vec& a) = 0;  // 32 for 0

  // IEEE 754-2008 minNum/maxNum of 32- or 64-bit lanes: a number wins over a quiet NaN, a signalling NaN is quieted,
  // -0 < +0, DAZ applies. False if there is no such instruction.
  [[nodiscard]] virtual bool ieee_minmax(const Vec& d, const Vec& a, const Vec& b, unsigned bits, bool want_max) = 0;

  // --- conversions that AVX2 lacks ---
  virtual void cvt_f32_u32(const Vec& d, const Vec& a) = 0;
  virtual Vec cvt_u32_f32(const Vec& a) = 0;  // truncating, 0 <= a < 2^32
  virtual void cvt_f64_u32(const Vec64& d, const Vec& a) = 0;
  virtual Vec flush_denormals(const Vec& a) = 0;                       // f32 denormals -> zeros of their sign
  [[nodiscard]] virtual bool has_scale() const = 0;                    // an instruction for ldexp
  virtual void ldexp32(const Vec& d, const Vec& x, const Vec& n) = 0;  // one rounding, by MXCSR
  // One half of a 64-bit chunk, n in 64-bit lanes; one rounding, by MXCSR.
  virtual void ldexp64(const Vec& d, const Vec& x, const Vec& n) = 0;
  virtual Vec f32_to_f16(const Vec& a, unsigned rounding_imm) = 0;  // zero-extended words
  virtual Vec f16_to_f32(const Vec& a) = 0;                         // low words
  // Pairs of f16 in 32-bit lanes, those of the lower half of the register first; and back, by way of f16 in the words of the
  // lower halves of two registers.
  virtual std::array<Vec, 2> halves_to_f32(const Vec& pairs) = 0;
  virtual Vec f32_to_words(const Vec& a, unsigned rounding_imm) = 0;
  virtual Vec words_to_f32(const Vec& words) = 0;
  virtual Vec join_words(const std::array<Vec, 2>& words) = 0;
  // x, and zero of x's sign where the word in `half` (that x was made of) is a denormal.
  virtual Vec flush_f16(const Vec& x, const Vec& half) = 0;
  // a * b + c in f32, rounded to odd: an inexact result is the neighbour of the exact sum whose last bit is set. Rounding that to
  // a shorter format gives the same as rounding the exact sum once. Requires a product that f32 holds exactly, and an exact sum
  // that is no f32 denormal and does not overflow. A zero has the sign that rounding to nearest gives.
  virtual Vec fma_to_odd(const Vec& a, const Vec& b, const Vec& c) = 0;
  Vec round_ps(const Vec& a, unsigned imm8) { return make(f.round_ps, a, asmjit::imm(imm8)); }
  Vec round_pd(const Vec& a, unsigned imm8) { return make(f.round_pd, a, asmjit::imm(imm8)); }

  // --- cross-lane inside a chunk ---
  virtual void permute32(const Vec& d, const Vec& a, const Vec& index) = 0;  // index modulo lanes
  // d lane l = lane from[l] of the concatenation of `sources` (1..4 registers); kAnyLane if it does not matter. d must
  // not be one of the sources.
  static constexpr uint8_t kAnyLane = 0xff;
  virtual void shuffle(const Vec& d, std::span<const Vec> sources, std::span<const uint8_t> from) = 0;

 protected:
  lir::Builder& cc_;
  DataPool& pool_;
  FaultLog& faults_;
  lir::Node* tables_front_ = nullptr;
  std::map<uint32_t, Vec> kept_tables_;  // by label
};

}  // namespace wavejit::backend
