// What the tiers have in common: constants.
#include "backend-x86/lower/vector/vector_isa.h"

#include <bit>

#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

Mem VectorArithmetic::cf(float value) {
  return c32(std::bit_cast<uint32_t>(value));
}
Mem VectorArithmetic::cd(double value) {
  return c64(std::bit_cast<uint64_t>(value));
}

Mem VectorArithmetic::full32(uint32_t bits) {
  return lane_table(bits, 0);
}

Mem VectorArithmetic::full_bytes(const uint8_t (&sixteen)[16]) {
  uint8_t data[64];
  for (unsigned i = 0; i < 64; ++i) data[i] = sixteen[i % 16];
  return pool_.get(data, bytes());
}

namespace {
struct FirstLanes {
  InstId move;
  Vec lanes;
  Mem place;
};
FirstLanes first_lanes(const Vec& v, const Mem& m, unsigned count) {
  Mem place = m;
  place.setSize(4 * count);
  const InstId move = count == 1 ? I::kIdVmovd : count == 2 ? I::kIdVmovq : I::kIdVmovups;
  return {move, count == 8 ? Vec(v.ymm()) : Vec(v.xmm()), place};
}
}  // namespace

void VectorIsa::load_first(const Vec& d, const Mem& m, unsigned count) {
  const FirstLanes first = first_lanes(d, m, count);
  cc_.emit(first.move, first.lanes, first.place);
}

void VectorIsa::store_first(const Mem& m, const Vec& v, unsigned count) {
  const FirstLanes first = first_lanes(v, m, count);
  cc_.emit(first.move, first.place, first.lanes);
}

Mem VectorArithmetic::lane_table(uint32_t first, uint32_t stride) {
  uint32_t data[16];
  for (unsigned i = 0; i < lanes; ++i) data[i] = first + i * stride;
  return pool_.get(data, bytes());
}

Mem VectorArithmetic::lane_table64(unsigned part, uint64_t stride) {
  uint64_t data[8];
  for (unsigned i = 0; i < lanes / 2; ++i) data[i] = lane_of64(part, i) * stride;
  return pool_.get(data, bytes());
}

void VectorArithmetic::set_const32(const Vec& d, uint32_t bits) {
  if (bits == 0) {
    cc_.emit(f.xor_, d, d, d);
  } else {
    cc_.emit(I::kIdVpbroadcastd, d, pool_.get(&bits, 4));
  }
}

void VectorArithmetic::set_const64(const Vec& d, uint64_t bits) {
  if (bits == 0) {
    cc_.emit(f.xor_, d, d, d);
  } else {
    cc_.emit(I::kIdVpbroadcastq, d, pool_.get(&bits, 8));
  }
}

VectorIsa::SignedIndex VectorIsa::make_signed(const Gp& base, const GatherIndex& index) {
  if (index.is_signed) return {base, index.index};
  Gp moved = cc_.new_gp64();
  cc_.mov(moved, uint64_t{0x80000000} << index.shift);
  cc_.add(moved, base);
  return {moved, xor_(index.index, full32(0x80000000u))};
}

Vec VectorArithmetic::const32(uint32_t bits) {
  Vec d = vec();
  set_const32(d, bits);
  return d;
}

Vec VectorArithmetic::const64(uint64_t bits) {
  Vec d = vec();
  set_const64(d, bits);
  return d;
}

}  // namespace wavejit::backend
