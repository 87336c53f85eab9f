// MUBUF: untyped buffer loads, stores and atomics, with the general buffer address (Vega ISA manual, "Buffer
// addressing").
#include <bit>

#include "frontend/interp/atomics.h"
#include "frontend/interp/memory.h"

namespace wavejit::interp {
namespace {

struct Descriptor {
  uint64_t base = 0;
  uint32_t stride = 0;
  uint32_t num_records = 0;
  uint32_t index_stride = 8;
  uint32_t element_size = 4;
  bool swizzle = false;
  bool add_tid = false;
};

Descriptor read_descriptor(const Context& c, const Op& op) {
  const uint32_t* v = &c.wave.sgpr[op.scalar_base];
  Descriptor d;
  d.base = static_cast<uint64_t>(v[1] & 0xffff) << 32 | v[0];
  d.stride = v[1] >> 16 & 0x3fff;
  d.swizzle = v[1] >> 31 != 0;
  d.num_records = v[2];
  d.index_stride = 8u << (v[3] >> 21 & 3);
  d.add_tid = (v[3] >> 23 & 1) != 0;
  // GFX8 has the element size in the descriptor; GFX9 fixes it at four bytes.
  if (c.before_gfx9) d.element_size = 2u << (v[3] >> 19 & 3);
  // With ADD_TID the data format field holds stride bits 17:14.
  if (d.add_tid) d.stride |= (v[3] >> 15 & 15) << 14;
  return d;
}

// Fills c.addresses; returns the lanes whose access is in range.
uint64_t compute_addresses(Context& c, const Op& op, unsigned bytes) {
  const isa::Instruction& inst = op.inst;
  const Descriptor d = read_descriptor(c, op);
  const uint32_t soffset = read_scalar32(c, op.mask_source);
  if (inst.addr64) {  // GFX6 and GFX7: BASE + VADDR + offsets, without range check (CLRX "MUBUF")
    const uint32_t *low = c.row(op.addr_row), *high = c.row(op.addr_row + 1u);
    const uint64_t base = d.base + soffset + static_cast<uint64_t>(inst.offset);
    for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = base + (static_cast<uint64_t>(high[l]) << 32 | low[l]);
    return ~uint64_t{0};
  }
  const uint32_t* index_row = inst.idxen ? c.row(op.addr_row) : nullptr;
  const uint32_t* offset_row = inst.offen ? c.row(op.addr_row + (inst.idxen ? 1u : 0u)) : nullptr;
  const bool structured = d.stride != 0 && (inst.idxen || d.add_tid);
  uint64_t valid = 0;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const uint32_t index = (index_row != nullptr ? index_row[l] : 0) + (d.add_tid ? l : 0);
    const uint32_t offset = (offset_row != nullptr ? offset_row[l] : 0) + static_cast<uint32_t>(inst.offset);
    uint64_t at;
    if (d.swizzle) {
      const uint32_t index_msb = index / d.index_stride, index_lsb = index % d.index_stride;
      const uint32_t offset_msb = offset / d.element_size, offset_lsb = offset % d.element_size;
      at = (static_cast<uint64_t>(index_msb) * d.stride + static_cast<uint64_t>(offset_msb) * d.element_size) *
               d.index_stride +
           index_lsb * d.element_size + offset_lsb;
    } else {
      at = offset + static_cast<uint64_t>(d.stride) * index;
    }
    bool inside;
    if (d.swizzle || d.add_tid) {
      inside = at + soffset + bytes <= d.num_records || d.num_records == ~0u;
    } else if (structured) {
      inside = index < d.num_records;
    } else {
      inside = at + bytes <= d.num_records;
    }
    valid |= uint64_t{inside} << l;
    c.addresses[l] = d.base + soffset + at;
  }
  return valid;
}

// Swizzled elements of more than one dword are not contiguous: dword w of the lane is at the address of offset + 4 w.
bool scattered(const Context& c, const Op& op, unsigned bytes) {
  return bytes > 4 && !op.inst.addr64 && (c.wave.sgpr[op.scalar_base + 1] >> 31) != 0;
}
uint64_t scattered_step(const Context& c, const Op& op) {
  const Descriptor d = read_descriptor(c, op);
  return static_cast<uint64_t>(d.element_size) * d.index_stride;
}

template <Shape shape>
Step load(Context& c, const Op& op) {
  if (op.inst.lds || op.inst.tfe) return c.exit(ExitReason::kUnsupported, op);
  constexpr unsigned kBytes = shape_bytes(shape);
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  const bool split = scattered(c, op, kBytes);
  if (split && read_descriptor(c, op).element_size != 4) return c.exit(ExitReason::kUnsupported, op);
  const uint64_t valid = compute_addresses(c, op, split ? 4 : kBytes);
  const uint64_t step = split ? scattered_step(c, op) : 4;
  describe_access(c, exec & valid, kBytes, false);
  uint32_t* rows = c.row(op.data_row);
  static constexpr uint8_t kZeros[16] = {};
  if constexpr (shape == Shape::dword) {
    if ((exec & valid) == ~0ull && is_contiguous(c.addresses, 4) && is_host_address(c.addresses[0] | c.addresses[63])) {
      std::memcpy(rows, reinterpret_cast<const void*>(c.addresses[0]), kWaveSize * 4);
      return Step::next;
    }
  }
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if ((valid >> l & 1) == 0) {
      lane_from_memory<shape>(rows, l, kZeros);
      continue;
    }
    const uint64_t address = c.addresses[l];
    if (!is_host_address(address)) return memory_fault(c, op, address, l, false);
    if (!split) {
      lane_from_memory<shape>(rows, l, reinterpret_cast<const void*>(address));
      continue;
    }
    uint8_t bytes[kBytes];
    for (unsigned w = 0; w + 4 <= kBytes; w += 4)
      std::memcpy(bytes + w, reinterpret_cast<const void*>(address + w / 4 * step), 4);
    lane_from_memory<shape>(rows, l, bytes);
  }
  return Step::next;
}

template <Shape shape>
Step store(Context& c, const Op& op) {
  if (op.inst.lds || op.inst.tfe) return c.exit(ExitReason::kUnsupported, op);
  constexpr unsigned kBytes = shape_bytes(shape);
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  const bool split = scattered(c, op, kBytes);
  if (split && read_descriptor(c, op).element_size != 4) return c.exit(ExitReason::kUnsupported, op);
  const uint64_t valid = compute_addresses(c, op, split ? 4 : kBytes);
  const uint64_t step = split ? scattered_step(c, op) : 4;
  describe_access(c, exec & valid, kBytes, true);
  const uint32_t* rows = c.row(op.data_row);
  if constexpr (shape == Shape::dword) {
    if ((exec & valid) == ~0ull && is_contiguous(c.addresses, 4) && is_host_address(c.addresses[0] | c.addresses[63])) {
      std::memcpy(reinterpret_cast<void*>(c.addresses[0]), rows, kWaveSize * 4);
      return Step::next;
    }
  }
  Step outcome = Step::next;
  for_each_store<kBytes>(exec & valid, [&](unsigned l, unsigned b) {
    if (outcome != Step::next) return;
    const uint64_t address = c.addresses[l];
    if (!is_host_address(address)) {
      outcome = memory_fault(c, op, address, l, true);
    } else {
      lane_part_to_memory<shape>(rows, l, b, reinterpret_cast<void*>(address + b / 4 * step));
    }
  });
  return outcome;
}

// param: AtomicOp. vdata holds {data} or {data, compare}; with GLC the old value replaces the data.
template <typename T>
Step atomic(Context& c, const Op& op) {
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  const auto kind = static_cast<AtomicOp>(op.param);
  if (kind >= AtomicOp::fadd) c.use(Env::rn);
  const uint64_t valid = compute_addresses(c, op, sizeof(T));
  describe_access(c, exec & valid, sizeof(T), true);
  uint32_t* rows = c.row(op.data_row);
  constexpr unsigned kDwords = sizeof(T) / 4;
  const bool two = kind == AtomicOp::cmpswap || kind == AtomicOp::fcmpswap;
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    T old{};
    if ((valid >> l & 1) != 0) {
      const uint64_t address = c.addresses[l];
      if (!is_host_address(address)) return memory_fault(c, op, address, l, true);
      const T extra = two ? lane_value<T>(rows + kDwords * kWaveSize, l) : T{};
      old = atomic_apply(kind, reinterpret_cast<T*>(address), lane_value<T>(rows, l), extra);
    }
    if (op.inst.glc) set_lane_value<T>(rows, l, old);
  }
  return Step::next;
}

#define WAVEJIT_BUFFER_ATOMIC(name, kind)                                                          \
  r.handler(Opcode::buffer_atomic_##name, atomic<uint32_t>, static_cast<uint8_t>(AtomicOp::kind)); \
  r.handler(Opcode::buffer_atomic_##name##_x2, atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::kind))

}  // namespace

void register_buffer(Registry& r) {
  r.handler(Opcode::buffer_load_ubyte, load<Shape::ubyte>);
  r.handler(Opcode::buffer_load_sbyte, load<Shape::sbyte>);
  r.handler(Opcode::buffer_load_ushort, load<Shape::ushort>);
  r.handler(Opcode::buffer_load_sshort, load<Shape::sshort>);
  r.handler(Opcode::buffer_load_dword, load<Shape::dword>);
  r.handler(Opcode::buffer_load_dwordx2, load<Shape::dwordx2>);
  r.handler(Opcode::buffer_load_dwordx3, load<Shape::dwordx3>);
  r.handler(Opcode::buffer_load_dwordx4, load<Shape::dwordx4>);
  r.handler(Opcode::buffer_load_ubyte_d16, load<Shape::ubyte_d16>);
  r.handler(Opcode::buffer_load_ubyte_d16_hi, load<Shape::ubyte_d16_hi>);
  r.handler(Opcode::buffer_load_sbyte_d16, load<Shape::sbyte_d16>);
  r.handler(Opcode::buffer_load_sbyte_d16_hi, load<Shape::sbyte_d16_hi>);
  r.handler(Opcode::buffer_load_short_d16, load<Shape::short_d16>);
  r.handler(Opcode::buffer_load_short_d16_hi, load<Shape::short_d16_hi>);
  r.handler(Opcode::buffer_store_byte, store<Shape::ubyte>);
  r.handler(Opcode::buffer_store_byte_d16_hi, store<Shape::ubyte_d16_hi>);
  r.handler(Opcode::buffer_store_short, store<Shape::ushort>);
  r.handler(Opcode::buffer_store_short_d16_hi, store<Shape::short_d16_hi>);
  r.handler(Opcode::buffer_store_dword, store<Shape::dword>);
  r.handler(Opcode::buffer_store_dwordx2, store<Shape::dwordx2>);
  r.handler(Opcode::buffer_store_dwordx3, store<Shape::dwordx3>);
  r.handler(Opcode::buffer_store_dwordx4, store<Shape::dwordx4>);
  WAVEJIT_BUFFER_ATOMIC(swap, swap);
  WAVEJIT_BUFFER_ATOMIC(cmpswap, cmpswap);
  WAVEJIT_BUFFER_ATOMIC(add, add);
  WAVEJIT_BUFFER_ATOMIC(sub, sub);
  WAVEJIT_BUFFER_ATOMIC(smin, smin);
  WAVEJIT_BUFFER_ATOMIC(umin, umin);
  WAVEJIT_BUFFER_ATOMIC(smax, smax);
  WAVEJIT_BUFFER_ATOMIC(umax, umax);
  WAVEJIT_BUFFER_ATOMIC(and, band);
  WAVEJIT_BUFFER_ATOMIC(or, bor);
  WAVEJIT_BUFFER_ATOMIC(xor, bxor);
  WAVEJIT_BUFFER_ATOMIC(inc, inc);
  WAVEJIT_BUFFER_ATOMIC(dec, dec);
  // GFX6 and GFX7.
  WAVEJIT_BUFFER_ATOMIC(fcmpswap, fcmpswap);
  WAVEJIT_BUFFER_ATOMIC(fmin, fmin);
  WAVEJIT_BUFFER_ATOMIC(fmax, fmax);
  r.handler(Opcode::buffer_atomic_add_f32, atomic<uint32_t>, static_cast<uint8_t>(AtomicOp::fadd));
  r.handler(Opcode::buffer_atomic_pk_add_f16, atomic<uint32_t>, static_cast<uint8_t>(AtomicOp::pk_add_f16));
  r.handler(Opcode::buffer_atomic_add_f64, atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::fadd));
  r.handler(Opcode::buffer_atomic_min_f64, atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::fmin));
  r.handler(Opcode::buffer_atomic_max_f64, atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::fmax));
}

}  // namespace wavejit::interp
