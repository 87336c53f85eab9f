// Scalar memory: loads, stores, buffer forms, atomics and clocks.
#include <x86intrin.h>

#include <cstring>

#include "frontend/interp/atomics.h"
#include "frontend/interp/engine.h"
#include "internal/host_address.h"
#include "internal/semantics/clock.h"

namespace wavejit::interp {
namespace {

using isa::Slot;

void mark_scalar(Context& c, bool write) {
  c.wave.fault_lane = kWaveSize;
  c.wave.fault_write = write ? 1 : 0;
  c.wave.engine_private[0] = kFaultScalar;
}

uint64_t offset_of(const Context& c, const Op& op) {
  auto offset = static_cast<uint64_t>(static_cast<int64_t>(op.inst.offset));
  if (op.inst.offset_is_sgpr) offset += c.wave.sgpr[op.inst.get(Slot::soffset).reg];
  return offset;
}

// Addresses are dword-aligned: the two low bits of base plus offset are dropped.
uint64_t address_of(const Context& c, const Op& op) {
  return (c.wave.sgpr64(op.inst.get(Slot::sbase).reg) + offset_of(c, op)) & ~uint64_t{3};
}

// S_SCRATCH_*: the SGPR counts units of 64 bytes; the two low bits of each part are dropped (Vega ISA manual, "Scalar
// memory addressing").
uint64_t scratch_address_of(const Context& c, const Op& op) {
  uint64_t address = c.wave.sgpr64(op.inst.get(Slot::sbase).reg) & ~uint64_t{3};
  address += static_cast<uint64_t>(static_cast<int64_t>(op.inst.offset)) & ~uint64_t{3};
  if (op.inst.offset_is_sgpr) address += uint64_t{c.wave.sgpr[op.inst.get(Slot::soffset).reg] & ~3u} * 64;
  return address;
}

// Loads into consecutive SGPRs. Writing both halves of VCC updates VCCZ, one half alone does not.
void write_loaded(Context& c, unsigned reg, const uint32_t* data, unsigned dwords) {
  std::memcpy(&c.wave.sgpr[reg], data, dwords * 4);
  if (reg <= sreg::kVccLo && reg + dwords >= sreg::kVccLo + 2) c.wave.vccz = c.wave.vcc() == 0;
}

// Where an access would raise a general-protection fault without an address: reported here instead.
Step fault(Context& c, const Op& op, uint64_t address) {
  c.wave.fault_address = address;
  return c.exit(ExitReason::kFault, op);
}

template <unsigned dwords, bool scratch = false>
Step load(Context& c, const Op& op) {
  const uint64_t address = scratch ? scratch_address_of(c, op) : address_of(c, op);
  uint32_t data[dwords];
  mark_scalar(c, false);
  if (!is_canonical(address)) return fault(c, op, address);
  std::memcpy(data, reinterpret_cast<const void*>(address), sizeof data);
  write_loaded(c, op.inst.get(Slot::sdata).reg, data, dwords);
  return Step::next;
}

template <unsigned dwords, bool scratch = false>
Step store(Context& c, const Op& op) {
  const uint64_t address = scratch ? scratch_address_of(c, op) : address_of(c, op);
  mark_scalar(c, true);
  if (!is_canonical(address)) return fault(c, op, address);
  std::memcpy(reinterpret_cast<void*>(address), &c.wave.sgpr[op.inst.get(Slot::sdata).reg], dwords * 4);
  return Step::next;
}

// The buffer's base, and the bytes it covers: num_records, times the stride if there is one.
struct ScalarBuffer {
  uint64_t base;
  uint64_t size;
  ScalarBuffer(const Context& c, const Op& op) {
    const uint32_t* v = &c.wave.sgpr[op.inst.get(Slot::sbase).reg];
    base = (static_cast<uint64_t>(v[1] & 0xffff) << 32 | v[0]);
    if ((base & 1ull << 47) != 0) base |= 0xffff000000000000ull;
    const uint32_t stride = v[1] >> 16 & 0x3fff;
    size = static_cast<uint64_t>(v[2]) * (stride == 0 ? 1 : stride);
  }
  // A negative offset is far beyond the end.
  [[nodiscard]] bool covers(uint64_t offset, uint64_t bytes) const { return offset <= size && size - offset >= bytes; }
};

template <unsigned dwords>
Step buffer_load(Context& c, const Op& op) {
  const ScalarBuffer buffer(c, op);
  const uint64_t offset = offset_of(c, op) & ~uint64_t{3};
  uint32_t data[dwords] = {};
  mark_scalar(c, false);
  for (unsigned i = 0; i < dwords; ++i) {
    const uint64_t at = offset + 4 * i;
    if (buffer.covers(at, 4)) std::memcpy(&data[i], reinterpret_cast<const void*>(buffer.base + at), 4);
  }
  write_loaded(c, op.inst.get(Slot::sdata).reg, data, dwords);
  return Step::next;
}

template <unsigned dwords>
Step buffer_store(Context& c, const Op& op) {
  const ScalarBuffer buffer(c, op);
  const uint64_t offset = offset_of(c, op) & ~uint64_t{3};
  const uint32_t* data = &c.wave.sgpr[op.inst.get(Slot::sdata).reg];
  mark_scalar(c, true);
  for (unsigned i = 0; i < dwords; ++i) {
    const uint64_t at = offset + 4 * i;
    if (buffer.covers(at, 4)) std::memcpy(reinterpret_cast<void*>(buffer.base + at), &data[i], 4);
  }
  return Step::next;
}

Step memtime(Context& c, const Op& op) {
  write_scalar64(c, op.inst.get(Slot::sdata).reg, __rdtsc());
  return Step::next;
}

Step memrealtime(Context& c, const Op& op) {
  write_scalar64(c, op.inst.get(Slot::sdata).reg, realtime());
  return Step::next;
}

// param: AtomicOp. The compare-and-swap operand is {data, compare}.
template <typename T>
Step apply_atomic(Context& c, const Op& op, uint64_t address, bool in_range) {
  const unsigned reg = op.inst.get(Slot::sdata).reg;
  constexpr unsigned kDwords = sizeof(T) / 4;
  T data, compare = 0, old = 0;
  std::memcpy(&data, &c.wave.sgpr[reg], sizeof data);
  if (static_cast<AtomicOp>(op.param) == AtomicOp::cmpswap)
    std::memcpy(&compare, &c.wave.sgpr[reg + kDwords], sizeof compare);
  mark_scalar(c, true);
  if (in_range && !is_canonical(address)) return fault(c, op, address);
  if (in_range) old = atomic_apply(static_cast<AtomicOp>(op.param), reinterpret_cast<T*>(address), data, compare);
  if (op.inst.glc) {
    uint32_t words[kDwords];
    std::memcpy(words, &old, sizeof old);
    write_loaded(c, reg, words, kDwords);
  }
  return Step::next;
}

template <typename T>
Step scalar_atomic(Context& c, const Op& op) {
  return apply_atomic<T>(c, op, address_of(c, op), true);
}

// Out of range memory stays as it is, and the old value is 0.
template <typename T>
Step scalar_buffer_atomic(Context& c, const Op& op) {
  const ScalarBuffer buffer(c, op);
  const uint64_t offset = offset_of(c, op) & ~uint64_t{3};
  return apply_atomic<T>(c, op, buffer.base + offset, buffer.covers(offset, sizeof(T)));
}

void register_atomics(Registry& r) {
#define WAVEJIT_SCALAR_ATOMIC(name, kind)                                                                          \
  r.handler(Opcode::s_atomic_##name, scalar_atomic<uint32_t>, static_cast<uint8_t>(AtomicOp::kind));               \
  r.handler(Opcode::s_atomic_##name##_x2, scalar_atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::kind));          \
  r.handler(Opcode::s_buffer_atomic_##name, scalar_buffer_atomic<uint32_t>, static_cast<uint8_t>(AtomicOp::kind)); \
  r.handler(Opcode::s_buffer_atomic_##name##_x2, scalar_buffer_atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::kind))
  WAVEJIT_SCALAR_ATOMIC(swap, swap);
  WAVEJIT_SCALAR_ATOMIC(cmpswap, cmpswap);
  WAVEJIT_SCALAR_ATOMIC(add, add);
  WAVEJIT_SCALAR_ATOMIC(sub, sub);
  WAVEJIT_SCALAR_ATOMIC(smin, smin);
  WAVEJIT_SCALAR_ATOMIC(umin, umin);
  WAVEJIT_SCALAR_ATOMIC(smax, smax);
  WAVEJIT_SCALAR_ATOMIC(umax, umax);
  WAVEJIT_SCALAR_ATOMIC(and, band);
  WAVEJIT_SCALAR_ATOMIC(or, bor);
  WAVEJIT_SCALAR_ATOMIC(xor, bxor);
  WAVEJIT_SCALAR_ATOMIC(inc, inc);
  WAVEJIT_SCALAR_ATOMIC(dec, dec);
#undef WAVEJIT_SCALAR_ATOMIC
}

}  // namespace

void register_smem(Registry& r) {
  r.handler(Opcode::s_load_dword, load<1>);
  r.handler(Opcode::s_load_dwordx2, load<2>);
  r.handler(Opcode::s_load_dwordx4, load<4>);
  r.handler(Opcode::s_load_dwordx8, load<8>);
  r.handler(Opcode::s_load_dwordx16, load<16>);
  r.handler(Opcode::s_store_dword, store<1>);
  r.handler(Opcode::s_store_dwordx2, store<2>);
  r.handler(Opcode::s_store_dwordx4, store<4>);
  r.handler(Opcode::s_scratch_load_dword, load<1, true>);
  r.handler(Opcode::s_scratch_load_dwordx2, load<2, true>);
  r.handler(Opcode::s_scratch_load_dwordx4, load<4, true>);
  r.handler(Opcode::s_scratch_store_dword, store<1, true>);
  r.handler(Opcode::s_scratch_store_dwordx2, store<2, true>);
  r.handler(Opcode::s_scratch_store_dwordx4, store<4, true>);
  r.handler(Opcode::s_buffer_load_dword, buffer_load<1>);
  r.handler(Opcode::s_buffer_load_dwordx2, buffer_load<2>);
  r.handler(Opcode::s_buffer_load_dwordx4, buffer_load<4>);
  r.handler(Opcode::s_buffer_load_dwordx8, buffer_load<8>);
  r.handler(Opcode::s_buffer_load_dwordx16, buffer_load<16>);
  r.handler(Opcode::s_buffer_store_dword, buffer_store<1>);
  r.handler(Opcode::s_buffer_store_dwordx2, buffer_store<2>);
  r.handler(Opcode::s_buffer_store_dwordx4, buffer_store<4>);
  r.handler(Opcode::s_memtime, memtime);
  r.handler(Opcode::s_memrealtime, memrealtime);
  register_atomics(r);
}

}  // namespace wavejit::interp
