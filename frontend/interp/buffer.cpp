// MUBUF: untyped buffer loads, stores and atomics.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "frontend/interp/atomics.h"
#include "frontend/interp/buffer_address.h"

namespace wavejit::interp {
namespace {

constexpr unsigned part_bytes(unsigned bytes) {
  return bytes < 4 ? bytes : 4;
}

// Fills c.addresses with where each lane's data begins, and `valid` with the lanes in range of each of its parts: dwords
// have their range checks each for itself. Returns the lanes that access anything.
uint64_t compute_addresses(Context& c, const BufferLanes& lanes, std::span<uint64_t> valid, unsigned bytes) {
  uint64_t any = 0;
  for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = lanes.address(l, 0);
  for (unsigned i = 0; i < valid.size(); ++i) {
    valid[i] = 0;
    for (unsigned l = 0; l < kWaveSize; ++l) valid[i] |= uint64_t{lanes.in_range(l, i * bytes, bytes)} << l;
    any |= valid[i];
  }
  return any & c.wave.exec();
}

uint64_t address_of(const Context& c, const BufferLanes& lanes, unsigned lane, unsigned byte) {
  return lanes.scattered() ? lanes.address(lane, byte) : c.addresses[lane] + byte;
}

// True if the dwords of all lanes are whole, each behind the one of the lane before.
bool is_one_run(const Context& c, const BufferLanes& lanes) {
  for (unsigned l = 0; l < kWaveSize; ++l)
    if (lanes.is_split(l, 0, 4)) return false;
  return is_contiguous(c.addresses, 4) && is_host_address(c.addresses[0] | c.addresses[63]);
}

// Calls access(address, at, bytes) for the runs of bytes of a lane's part that are together; false at a fault, whose address is `fault`.
template <typename Access>
bool for_each_run(const Context& c, const BufferLanes& lanes, unsigned lane, unsigned byte, unsigned bytes,
                  uint64_t& fault, Access access) {
  const unsigned step = lanes.is_split(lane, byte, bytes) ? 1 : bytes;
  for (unsigned at = 0; at < bytes; at += step) {
    const uint64_t address = address_of(c, lanes, lane, byte + at);
    if (!is_host_address(address)) {
      fault = address;
      return false;
    }
    access(reinterpret_cast<void*>(address), at, step);
  }
  return true;
}

template <Shape shape>
Step load(Context& c, const Op& op) {
  constexpr unsigned kBytes = shape_bytes(shape), kPart = part_bytes(kBytes), kParts = kBytes / kPart;
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  const BufferLanes lanes(c, op);
  uint64_t valid[kParts];
  const uint64_t any = compute_addresses(c, lanes, valid, kPart);
  describe_access(c, any, kBytes, false);
  uint32_t* rows = op.inst.lds ? c.tmp[0] : c.row(op.data_row);
  if constexpr (shape == Shape::dword) {
    if (!op.inst.lds && !op.inst.tfe && any == ~0ull && is_one_run(c, lanes)) {
      copy_wave(rows, reinterpret_cast<const void*>(c.addresses[0]));
      return Step::next;
    }
  }
  // A destination that is also the address is written last.
  uint8_t loaded[kWaveSize][kBytes] = {};
  for (uint64_t m = any; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if constexpr (shape == Shape::dwordx2) {
      const uint64_t address = c.addresses[l];
      if (!lanes.scattered() && (valid[0] & valid[1]) >> l & 1 && is_host_address(address)) {
        const auto pair = load_whole<uint64_t>(reinterpret_cast<const void*>(address));
        std::memcpy(loaded[l], &pair, kBytes);
        continue;
      }
    }
    for (unsigned i = 0; i < kParts; ++i) {
      if ((valid[i] >> l & 1) == 0) continue;
      uint64_t fault = 0;
      const auto copy = [&](const void* from, unsigned at, unsigned bytes) {
        std::memcpy(loaded[l] + i * kPart + at, from, bytes);
      };
      if (!for_each_run(c, lanes, l, i * kPart, kPart, fault, copy)) return memory_fault(c, op, fault, l, false);
    }
  }
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    lane_from_memory<shape>(c, rows, l, loaded[l]);
    if (op.inst.lds) lds_transfer_write(c, op, l, rows[l]);
  }
  return op.inst.tfe ? write_status(c, op, op.data_row + (kBytes + 3) / 4) : Step::next;
}

template <Shape shape>
Step store(Context& c, const Op& op) {
  constexpr unsigned kBytes = shape_bytes(shape), kPart = part_bytes(kBytes), kParts = kBytes / kPart;
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  const BufferLanes lanes(c, op);
  uint64_t valid[kParts];
  const uint64_t any = compute_addresses(c, lanes, valid, kPart);
  describe_access(c, any, kBytes, true);
  const uint32_t* rows = c.row(op.data_row);
  if constexpr (shape == Shape::dword) {
    if (any == ~0ull && is_one_run(c, lanes)) {
      copy_wave(reinterpret_cast<void*>(c.addresses[0]), rows);
      return Step::next;
    }
  }
  if (any == 0) return Step::next;
  const bool whole =
      !lanes.scattered() && std::all_of(valid, valid + kParts, [&](uint64_t v) { return (v & exec) == any; });
  const auto first = static_cast<unsigned>(std::countr_zero(any));
  const bool one_place = whole && is_one_place(c.addresses, any);
  const uint64_t stored = one_place ? last_lane(any) : any;
  if constexpr (shape == Shape::dwordx2) {
    if (whole && store_whole_pairs(c, stored, rows)) return Step::next;
  }
  Step outcome = Step::next;
  for_each_store<kBytes>(stored, [&](unsigned l, unsigned b) {
    if (outcome != Step::next || (valid[b / kPart] >> l & 1) == 0) return;
    uint64_t fault = 0;
    const auto copy = [&](void* to, unsigned at, unsigned bytes) {
      if (bytes == kPart) return lane_part_to_memory<shape>(rows, l, b, to);
      alignas(4) uint8_t part[kPart];
      lane_part_to_memory<shape>(rows, l, b, part);
      std::memcpy(to, part + at, bytes);
    };
    if (!for_each_run(c, lanes, l, b, kPart, fault, copy))
      outcome = memory_fault(c, op, fault, one_place ? first : l, true);
  });
  return outcome;
}

// A dword of each lane from LDS to memory, without vector registers.
Step store_lds(Context& c, const Op& op) {
  const BufferLanes lanes(c, op);
  uint64_t valid[1];
  const uint64_t any = compute_addresses(c, lanes, valid, 4);
  describe_access(c, any, 4, true);
  for (uint64_t m = any; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (!is_host_address(c.addresses[l])) return memory_fault(c, op, c.addresses[l], l, true);
    const uint64_t at = lds_transfer_address(c, op, l);
    uint32_t value = 0;
    if (at + 4 <= c.wave.lds_size) std::memcpy(&value, reinterpret_cast<const void*>(c.wave.lds_base + at), 4);
    std::memcpy(reinterpret_cast<void*>(c.addresses[l]), &value, 4);
  }
  return Step::next;
}

// param: AtomicOp. vdata holds {data} or {data, compare}; with GLC the old value replaces the data.
template <typename T>
Step buffer_atomic(Context& c, const Op& op) {
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  const auto kind = static_cast<AtomicOp>(op.param);
  if (kind >= AtomicOp::fadd) c.use(Env::rn);
  const BufferLanes lanes(c, op);
  uint64_t valid[1];  // atomics are in range as a whole, or not at all
  const uint64_t any = compute_addresses(c, lanes, valid, sizeof(T));
  describe_access(c, any, sizeof(T), true);
  uint32_t* rows = c.row(op.data_row);
  constexpr unsigned kDwords = sizeof(T) / 4;
  const bool two = kind == AtomicOp::cmpswap || kind == AtomicOp::fcmpswap;
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    T old{};
    if ((any >> l & 1) != 0) {
      const uint64_t address = c.addresses[l];
      if (!is_host_address(address)) return memory_fault(c, op, address, l, true);
      const T extra = two ? lane_value<T>(rows + kDwords * kWaveSize, l) : T{};
      old = atomic_apply(kind, reinterpret_cast<T*>(address), lane_value<T>(rows, l), extra);
    }
    if (op.inst.glc) set_lane_value<T>(rows, l, old);
  }
  return Step::next;
}

#define WAVEJIT_BUFFER_ATOMIC(name, kind)                                                                 \
  r.handler(Opcode::buffer_atomic_##name, buffer_atomic<uint32_t>, static_cast<uint8_t>(AtomicOp::kind)); \
  r.handler(Opcode::buffer_atomic_##name##_x2, buffer_atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::kind))

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
  r.handler(Opcode::buffer_store_lds_dword, store_lds);
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
  WAVEJIT_BUFFER_ATOMIC(fcmpswap, fcmpswap);
  WAVEJIT_BUFFER_ATOMIC(fmin, fmin);
  WAVEJIT_BUFFER_ATOMIC(fmax, fmax);
  r.handler(Opcode::buffer_atomic_add_f32, buffer_atomic<uint32_t>, static_cast<uint8_t>(AtomicOp::fadd));
  r.handler(Opcode::buffer_atomic_pk_add_f16, buffer_atomic<uint32_t>, static_cast<uint8_t>(AtomicOp::pk_add_f16));
  r.handler(Opcode::buffer_atomic_add_f64, buffer_atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::fadd));
  r.handler(Opcode::buffer_atomic_min_f64, buffer_atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::fmin));
  r.handler(Opcode::buffer_atomic_max_f64, buffer_atomic<uint64_t>, static_cast<uint8_t>(AtomicOp::fmax));
}

}  // namespace wavejit::interp
