// FLAT, GLOBAL and SCRATCH: loads, stores and atomics.
#include <atomic>
#include <bit>
#include <cstring>

#include "frontend/interp/atomics.h"
#include "frontend/interp/memory.h"

namespace wavejit::interp {
namespace {

enum class Segment { flat, global, scratch };

bool is_shared(uint64_t address) {
  return address >> 32 == kSharedApertureHi;
}
bool is_private(uint64_t address) {
  return address >> 32 == kPrivateApertureHi;
}

// Fills c.addresses: 64-bit VGPR pair + offset, or SGPR base + 32-bit VGPR offset + offset.
void compute_addresses(Context& c, const Op& op) {
  const auto offset = static_cast<uint64_t>(static_cast<int64_t>(op.inst.offset));
  const uint32_t* lo = c.row(op.addr_row);
  if (op.scalar_base != Op::kNone) {
    const uint64_t base = c.wave.sgpr64(op.scalar_base) + offset;
    for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = base + lo[l];
  } else {
    const uint32_t* hi = lo + kWaveSize;
    for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = (static_cast<uint64_t>(hi[l]) << 32 | lo[l]) + offset;
  }
}

// Per-lane scratch byte offsets of scratch_* instructions.
void compute_scratch_offsets(Context& c, const Op& op) {
  const auto offset = static_cast<uint32_t>(op.inst.offset);
  const uint32_t base = (op.scalar_base != Op::kNone ? c.wave.sgpr[op.scalar_base] : 0) + offset;
  if (op.addr_row != Op::kNone) {
    const uint32_t* v = c.row(op.addr_row);
    for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = v[l] + base;
  } else {
    for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = base;
  }
}

template <Shape shape>
Step scratch_lane(Context& c, const Op& op, uint32_t* rows, unsigned l, uint32_t offset, bool write) {
  constexpr unsigned kBytes = shape_bytes(shape);
  if (!scratch_in_range(c.wave, offset, kBytes))
    return memory_fault(c, op, static_cast<uint64_t>(kPrivateApertureHi) << 32 | offset, l, write);
  uint8_t bytes[kBytes];
  if (write) {
    lane_to_memory<shape>(rows, l, bytes);
    scratch_write(c.wave, l, offset, bytes, kBytes);
  } else {
    scratch_read(c.wave, l, offset, bytes, kBytes);
    lane_from_memory<shape>(c, rows, l, bytes);
  }
  return Step::next;
}

// The LDS bit: what is loaded goes to the LDS.
Step rows_to_lds(Context& c, const Op& op, const uint32_t* row) {
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    lds_transfer_write(c, op, l, row[l]);
  }
  return Step::next;
}

template <Shape shape, Segment segment>
Step load(Context& c, const Op& op) {
  constexpr unsigned kBytes = shape_bytes(shape);
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  uint32_t* rows = op.inst.lds ? c.tmp[0] : c.row(op.dst_reg);
  if constexpr (segment == Segment::scratch) {
    compute_scratch_offsets(c, op);
    for (uint64_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      const Step s = scratch_lane<shape>(c, op, rows, l, static_cast<uint32_t>(c.addresses[l]), false);
      if (s != Step::next) return s;
    }
    return op.inst.lds ? rows_to_lds(c, op, rows) : Step::next;
  }
  compute_addresses(c, op);
  describe_access(c, exec, kBytes, false);
  if constexpr (shape == Shape::dword) {
    if (!op.inst.lds && exec == ~0ull && is_contiguous(c.addresses, 4) &&
        is_host_address(c.addresses[0] | c.addresses[63])) {
      copy_wave(rows, reinterpret_cast<const void*>(c.addresses[0]));
      return Step::next;
    }
  }
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const uint64_t address = c.addresses[l];
    if (segment == Segment::flat && (is_shared(address) || is_private(address))) {
      const auto offset = static_cast<uint32_t>(address);
      if (is_private(address)) {
        const Step s = scratch_lane<shape>(c, op, rows, l, offset, false);
        if (s != Step::next) return s;
      } else {
        static constexpr uint8_t kZeros[16] = {};
        const bool inside = uint64_t{offset} + kBytes <= c.wave.lds_size;
        lane_from_memory<shape>(c, rows, l, inside ? reinterpret_cast<const void*>(c.wave.lds_base + offset) : kZeros);
      }
      continue;
    }
    if (!is_host_address(address)) return memory_fault(c, op, address, l, false);
    lane_from_memory<shape>(c, rows, l, reinterpret_cast<const void*>(address));
  }
  return op.inst.lds ? rows_to_lds(c, op, rows) : Step::next;
}

template <Shape shape, Segment segment>
Step store(Context& c, const Op& op) {
  constexpr unsigned kBytes = shape_bytes(shape);
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  uint32_t* rows = c.row(op.data_row);
  if constexpr (segment == Segment::scratch) {
    compute_scratch_offsets(c, op);
    for (uint64_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      const Step s = scratch_lane<shape>(c, op, rows, l, static_cast<uint32_t>(c.addresses[l]), true);
      if (s != Step::next) return s;
    }
    return Step::next;
  }
  compute_addresses(c, op);
  describe_access(c, exec, kBytes, true);
  if constexpr (shape == Shape::dword) {
    if (exec == ~0ull && is_contiguous(c.addresses, 4) && is_host_address(c.addresses[0] | c.addresses[63])) {
      copy_wave(reinterpret_cast<void*>(c.addresses[0]), rows);
      return Step::next;
    }
  }
  const auto first = static_cast<unsigned>(std::countr_zero(exec));
  const bool one_place =
      is_one_place(c.addresses, exec) && !(segment == Segment::flat && is_private(c.addresses[first]));
  const uint64_t lanes = one_place ? last_lane(exec) : exec;
  if constexpr (shape == Shape::dwordx2) {
    if (store_whole_pairs(c, lanes, rows)) return Step::next;
  }
  Step outcome = Step::next;
  for_each_store<kBytes>(lanes, [&](unsigned l, unsigned b) {
    if (outcome != Step::next) return;
    const uint64_t address = c.addresses[l];
    if (segment == Segment::flat && (is_shared(address) || is_private(address))) {
      const auto offset = static_cast<uint32_t>(address);
      if (is_private(address)) {
        // Scratch of different lanes never overlaps: everything at once.
        if (b == 0) outcome = scratch_lane<shape>(c, op, rows, l, offset, true);
      } else if (uint64_t{offset} + kBytes <= c.wave.lds_size) {
        lane_part_to_memory<shape>(rows, l, b, reinterpret_cast<void*>(c.wave.lds_base + offset + b));
      }
    } else if (!is_host_address(address)) {
      outcome = memory_fault(c, op, address, one_place ? first : l, true);
    } else if (shape == Shape::dwordx2 && address % 8 == 0) {
      if (b == 0) store_whole_pair(c, l, rows);
    } else {
      lane_part_to_memory<shape>(rows, l, b, reinterpret_cast<void*>(address + b));
    }
  });
  return outcome;
}

// param: AtomicOp. vdata holds {data} or, for compare-and-swap, {data, compare}. With GLC the old value is returned.
template <typename T, Segment segment>
Step flat_atomic(Context& c, const Op& op) {
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  const auto kind = static_cast<AtomicOp>(op.param);
  if (kind >= AtomicOp::fadd) c.use(Env::rn);
  const uint32_t* data_rows = c.row(op.data_row);
  constexpr unsigned kDwords = sizeof(T) / 4;
  const bool two = kind == AtomicOp::cmpswap || kind == AtomicOp::fcmpswap;
  compute_addresses(c, op);
  describe_access(c, exec, sizeof(T), true);
  // Old values are collected first: the destination may overlap the data.
  T old[kWaveSize];
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const uint64_t address = c.addresses[l];
    const T data = lane_value<T>(data_rows, l);
    const T extra = two ? lane_value<T>(data_rows + kDwords * kWaveSize, l) : T{};
    old[l] = 0;
    // Scratch is swizzled by dwords.
    const uint64_t alignment = segment == Segment::flat && is_private(address) ? 4 : sizeof(T);
    if (address % alignment != 0) return alignment_fault(c, op, address, l);
    if (segment == Segment::flat && is_shared(address)) {
      const auto offset = static_cast<uint32_t>(address);
      if (uint64_t{offset} + sizeof(T) <= c.wave.lds_size)
        old[l] = plain_apply(kind, reinterpret_cast<void*>(c.wave.lds_base + offset), data, extra);
    } else if (segment == Segment::flat && is_private(address)) {
      const auto offset = static_cast<uint32_t>(address);
      if (!scratch_in_range(c.wave, offset, sizeof(T))) return memory_fault(c, op, address, l, true);
      T memory;
      scratch_read(c.wave, l, offset, &memory, sizeof memory);
      old[l] = memory;
      memory = atomic_result(kind, memory, data, extra);
      scratch_write(c.wave, l, offset, &memory, sizeof memory);
    } else {
      if (!is_host_address(address)) return memory_fault(c, op, address, l, true);
      old[l] = atomic_apply(kind, reinterpret_cast<T*>(address), data, extra);
    }
  }
  if (op.has_vdst && op.inst.glc) {
    uint32_t* rows = c.row(op.dst_reg);
    for (uint64_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      set_lane_value<T>(rows, l, old[l]);
    }
  }
  return Step::next;
}

#define WAVEJIT_SEGMENTS(name, handler_, shape)                              \
  r.handler(Opcode::flat_##name, handler_<Shape::shape, Segment::flat>);     \
  r.handler(Opcode::global_##name, handler_<Shape::shape, Segment::global>); \
  r.handler(Opcode::scratch_##name, handler_<Shape::shape, Segment::scratch>)
#define WAVEJIT_LDS_LOAD(name)                                                   \
  r.handler(Opcode::global_load_lds_##name, load<Shape::name, Segment::global>); \
  r.handler(Opcode::scratch_load_lds_##name, load<Shape::name, Segment::scratch>)
#define WAVEJIT_FLAT_ATOMIC(name, T, kind)                                                                    \
  r.handler(Opcode::flat_atomic_##name, flat_atomic<T, Segment::flat>, static_cast<uint8_t>(AtomicOp::kind)); \
  r.handler(Opcode::global_atomic_##name, flat_atomic<T, Segment::global>, static_cast<uint8_t>(AtomicOp::kind))
#define WAVEJIT_ATOMIC_BOTH(name, kind)      \
  WAVEJIT_FLAT_ATOMIC(name, uint32_t, kind); \
  WAVEJIT_FLAT_ATOMIC(name##_x2, uint64_t, kind)

}  // namespace

void register_flat(Registry& r) {
  WAVEJIT_SEGMENTS(load_ubyte, load, ubyte);
  WAVEJIT_SEGMENTS(load_sbyte, load, sbyte);
  WAVEJIT_SEGMENTS(load_ushort, load, ushort);
  WAVEJIT_SEGMENTS(load_sshort, load, sshort);
  WAVEJIT_SEGMENTS(load_dword, load, dword);
  WAVEJIT_SEGMENTS(load_dwordx2, load, dwordx2);
  WAVEJIT_SEGMENTS(load_dwordx3, load, dwordx3);
  WAVEJIT_SEGMENTS(load_dwordx4, load, dwordx4);
  WAVEJIT_SEGMENTS(load_ubyte_d16, load, ubyte_d16);
  WAVEJIT_SEGMENTS(load_ubyte_d16_hi, load, ubyte_d16_hi);
  WAVEJIT_SEGMENTS(load_sbyte_d16, load, sbyte_d16);
  WAVEJIT_SEGMENTS(load_sbyte_d16_hi, load, sbyte_d16_hi);
  WAVEJIT_SEGMENTS(load_short_d16, load, short_d16);
  WAVEJIT_SEGMENTS(load_short_d16_hi, load, short_d16_hi);
  WAVEJIT_SEGMENTS(store_byte, store, ubyte);
  WAVEJIT_SEGMENTS(store_byte_d16_hi, store, ubyte_d16_hi);
  WAVEJIT_SEGMENTS(store_short, store, ushort);
  WAVEJIT_SEGMENTS(store_short_d16_hi, store, short_d16_hi);
  WAVEJIT_SEGMENTS(store_dword, store, dword);
  WAVEJIT_SEGMENTS(store_dwordx2, store, dwordx2);
  WAVEJIT_SEGMENTS(store_dwordx3, store, dwordx3);
  WAVEJIT_SEGMENTS(store_dwordx4, store, dwordx4);
  WAVEJIT_ATOMIC_BOTH(swap, swap);
  WAVEJIT_ATOMIC_BOTH(cmpswap, cmpswap);
  WAVEJIT_ATOMIC_BOTH(add, add);
  WAVEJIT_ATOMIC_BOTH(sub, sub);
  WAVEJIT_ATOMIC_BOTH(smin, smin);
  WAVEJIT_ATOMIC_BOTH(umin, umin);
  WAVEJIT_ATOMIC_BOTH(smax, smax);
  WAVEJIT_ATOMIC_BOTH(umax, umax);
  WAVEJIT_ATOMIC_BOTH(and, band);
  WAVEJIT_ATOMIC_BOTH(or, bor);
  WAVEJIT_ATOMIC_BOTH(xor, bxor);
  WAVEJIT_ATOMIC_BOTH(inc, inc);
  WAVEJIT_ATOMIC_BOTH(dec, dec);
  WAVEJIT_FLAT_ATOMIC(add_f64, uint64_t, fadd);
  WAVEJIT_FLAT_ATOMIC(min_f64, uint64_t, fmin);
  WAVEJIT_FLAT_ATOMIC(max_f64, uint64_t, fmax);
  // GFX7.
  const auto atomic7 = [&r](Opcode narrow, Opcode wide, AtomicOp kind) {
    r.handler(narrow, flat_atomic<uint32_t, Segment::flat>, static_cast<uint8_t>(kind));
    r.handler(wide, flat_atomic<uint64_t, Segment::flat>, static_cast<uint8_t>(kind));
  };
  atomic7(Opcode::flat_atomic_fcmpswap, Opcode::flat_atomic_fcmpswap_x2, AtomicOp::fcmpswap);
  atomic7(Opcode::flat_atomic_fmin, Opcode::flat_atomic_fmin_x2, AtomicOp::fmin);
  atomic7(Opcode::flat_atomic_fmax, Opcode::flat_atomic_fmax_x2, AtomicOp::fmax);
  const auto atomic940 = [&r](Opcode flat, Opcode global, AtomicOp kind) {
    r.handler(flat, flat_atomic<uint32_t, Segment::flat>, static_cast<uint8_t>(kind));
    r.handler(global, flat_atomic<uint32_t, Segment::global>, static_cast<uint8_t>(kind));
  };
  atomic940(Opcode::flat_atomic_add_f32, Opcode::global_atomic_add_f32, AtomicOp::fadd);
  atomic940(Opcode::flat_atomic_pk_add_f16, Opcode::global_atomic_pk_add_f16, AtomicOp::pk_add_f16);
  atomic940(Opcode::flat_atomic_pk_add_bf16, Opcode::global_atomic_pk_add_bf16, AtomicOp::pk_add_bf16);
  WAVEJIT_LDS_LOAD(ubyte);
  WAVEJIT_LDS_LOAD(sbyte);
  WAVEJIT_LDS_LOAD(ushort);
  WAVEJIT_LDS_LOAD(sshort);
  WAVEJIT_LDS_LOAD(dword);
}

}  // namespace wavejit::interp
