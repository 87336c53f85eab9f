// Per-chunk primitives of a host vector instruction set. Operations are lowered to these; the two
// implementations (vector_isa_avx2.cpp, vector_isa_avx512.cpp) are the only places that know registers, masks and the
// layout of 64-bit lanes.
//
// Results are fresh virtual registers unless a destination is passed. Memory operands from c32/c64 may be used as the
// last source of instructions that work on 32- or 64-bit elements (they are embedded broadcasts on AVX-512);
// full32/full64 are full vectors for everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backend-x86/lower/vector/vector_arithmetic.h"

namespace wavejit::backend {

// 32-bit lanes that are extended to 64 bits and shifted to form addresses.
struct GatherIndex {
  Vec index;
  bool is_signed = false;
  unsigned shift = 0;  // at most 3
};

class VectorIsa : public VectorArithmetic {
 public:
  using VectorArithmetic::VectorArithmetic;

  // --- memory; lanes outside the mask (null: all are in) are not touched and read 0 ---
  virtual void load(const Vec& d, const Mem& m, const MaskReg* k) = 0;
  virtual void store(const Mem& m, const Vec& v, const MaskReg* k) = 0;
  // Of the first `count` lanes, a power of two less than all.
  void load_first(const Vec& d, const Mem& m, unsigned count);
  void store_first(const Mem& m, const Vec& v, unsigned count);
  // A store of all lanes past the caches (non-temporal). `m` is a multiple of bytes().
  virtual void stream(const Mem& m, const Vec& v) = 0;
  // A masked store by the fastest method, which may write back old contents for inactive lanes.
  virtual void store_merged(const Mem& m, const Vec& v, const MaskReg& k, FaultRange range) = 0;
  virtual void load_broadcast(const Vec& d, const Mem& m, const MaskReg* k) = 0;
  virtual void load_broadcast64(const Vec& d, const Mem& m) = 0;
  // A broadcast element in memory as the last source of an instruction on elements of its size.
  [[nodiscard]] virtual Operand broadcast_operand32(const Mem& m) = 0;
  [[nodiscard]] virtual Operand broadcast_operand64(const Mem& m) = 0;
  // Elements of eight bytes, of one half of a 64-bit chunk; zero where the mask has none.
  virtual void load64(const Vec& d, const Mem& m, const MaskReg* k) = 0;
  // 1- and 2-byte elements.
  virtual void load_narrow(const Vec& d, const Mem& m, unsigned bytes, bool sign, const MaskReg* k) = 0;
  virtual void store_narrow(const Mem& m, const Vec& v, unsigned bytes, const MaskReg* k) = 0;
  // Returns true if narrow accesses can be masked.
  [[nodiscard]] virtual bool has_masked_narrow() const = 0;
  [[nodiscard]] virtual bool has_scatter() const = 0;
  // base + (extended index << shift) + disp.
  virtual void gather(const Vec& d, const Gp& base, const GatherIndex& index, int32_t disp, const MaskReg* k,
                      FaultRange range) = 0;
  virtual void gather(const Vec& d, const Vec64& address, int32_t disp, const MaskReg* k, FaultRange range) = 0;
  // Eight bytes a lane, each by one access.
  virtual void gather64(const Vec64& d, const Vec64& address, int32_t disp, const MaskReg* k, FaultRange range) = 0;
  virtual void scatter(const Vec& v, const Gp& base, const GatherIndex& index, int32_t disp, const MaskReg* k,
                       FaultRange range) = 0;
  virtual void scatter(const Vec& v, const Vec64& address, int32_t disp, const MaskReg* k, FaultRange range) = 0;
  // A row of dwords from which lanes are then read one by one.
  virtual void store_row32(const Mem& m, const Vec& v) = 0;
  // Rows of 64-bit lanes in lane order.
  virtual void store_row64(const Mem& m, const Vec64& v) = 0;
  virtual void load_row64(const Vec64& d, const Mem& m) = 0;
  // Converts a row of 64-bit lanes between the order of memory and that of Vec64, in either direction.
  virtual void swap_row64(const Vec64& d, const Vec64& a) = 0;
  // De-interleaving of `count` (2..4) consecutive registers: out[e] lane l = element l * count + e; and back. deinterleave()
  // may overwrite `in`.
  [[nodiscard]] virtual bool can_interleave(unsigned count) const = 0;
  virtual void deinterleave(std::span<const Vec> in, std::span<const Vec> out) = 0;
  // Loads four elements of each lane from consecutive memory that does not fault. False if plain loads and
  // deinterleave() are as good.
  [[nodiscard]] virtual bool load_quads(const Mem& at, std::span<const Vec> out) = 0;
  // Two 64-bit elements of each lane, likewise.
  [[nodiscard]] virtual bool load_pairs64(const Mem& at, std::span<const Vec64, 2> out) = 0;
  virtual void interleave(std::span<const Vec> in, std::span<const Vec> out) = 0;
  // 128-bit groups of a register; memory operands are accessed by one instruction.
  virtual void insert_group(const Vec& d, const Operand_& xmm_or_memory, unsigned group) = 0;  // not group 0
  virtual void store_group(const Mem& m, const Vec& v, unsigned group) = 0;
  [[nodiscard]] virtual Vec group(const Vec& v, unsigned group) = 0;  // in the lowest group of a temporary
  // Packed 1- or 2-byte elements in the lowest bits of a register -> 32-bit lanes.
  virtual void widen_narrow(const Vec& d, const Vec& packed, unsigned bytes, bool sign) = 0;

 protected:
  // Gathers and scatters sign-extend the index. Moving the index down and the base up by 2^31 elements gives
  // the effect of zero-extension.
  struct SignedIndex {
    Gp base;
    Vec index;
  };
  SignedIndex make_signed(const Gp& base, const GatherIndex& index);
};

[[nodiscard]] std::unique_ptr<VectorIsa> make_avx2(lir::Builder& cc, DataPool& pool, FaultLog& faults);
[[nodiscard]] std::unique_ptr<VectorIsa> make_avx512(lir::Builder& cc, DataPool& pool, FaultLog& faults);

}  // namespace wavejit::backend
