// Per-lane memory access shared by DS, FLAT/GLOBAL/SCRATCH and MUBUF: data shapes, the moves between memory and rows,
// the description a fault handler needs, scratch swizzling.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "frontend/interp/engine.h"

namespace wavejit::interp {

// What an access moves.
enum class Shape : uint8_t {
  ubyte,
  sbyte,
  ushort,
  sshort,
  dword,
  dwordx2,
  dwordx3,
  dwordx4,
  ubyte_d16,
  ubyte_d16_hi,
  sbyte_d16,
  sbyte_d16_hi,
  short_d16,
  short_d16_hi,  // loads into one half; stores: hi forms only
};

constexpr unsigned shape_bytes(Shape s) {
  switch (s) {
    case Shape::ubyte:
    case Shape::sbyte:
    case Shape::ubyte_d16:
    case Shape::ubyte_d16_hi:
    case Shape::sbyte_d16:
    case Shape::sbyte_d16_hi:
      return 1;
    case Shape::ushort:
    case Shape::sshort:
    case Shape::short_d16:
    case Shape::short_d16_hi:
      return 2;
    case Shape::dword:
      return 4;
    case Shape::dwordx2:
      return 8;
    case Shape::dwordx3:
      return 12;
    case Shape::dwordx4:
      return 16;
  }
  return 0;
}

// Aligned dwords, and pairs of them, in one access: it may be what the guest calls an atomic load or store.
template <typename T>
inline T load_whole(const void* p) {
  if (reinterpret_cast<uintptr_t>(p) % sizeof(T) == 0)
    return __atomic_load_n(static_cast<const T*>(p), __ATOMIC_RELAXED);
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
inline void store_whole(void* p, uint32_t value) {
  if (reinterpret_cast<uintptr_t>(p) % sizeof value == 0)
    __atomic_store_n(static_cast<uint32_t*>(p), value, __ATOMIC_RELAXED);
  else
    std::memcpy(p, &value, sizeof value);
}

// Puts the bytes at `p` into lane `l` of the rows, extended or merged as the shape says.
template <Shape shape>
inline void lane_from_memory(const Context& c, uint32_t* rows, unsigned l, const void* p) {
  constexpr unsigned kBytes = shape_bytes(shape);
  if constexpr (kBytes == 8) {
    const auto pair = load_whole<uint64_t>(p);
    rows[l] = static_cast<uint32_t>(pair);
    rows[kWaveSize + l] = static_cast<uint32_t>(pair >> 32);
  } else if constexpr (kBytes == 4) {
    rows[l] = load_whole<uint32_t>(p);
  } else if constexpr (kBytes > 4) {
    uint32_t words[kBytes / 4];
    std::memcpy(words, p, kBytes);
    for (unsigned w = 0; w < kBytes / 4; ++w) rows[w * kWaveSize + l] = words[w];
  } else {
    uint32_t v = 0;
    std::memcpy(&v, p, kBytes);
    constexpr bool kSigned =
        shape == Shape::sbyte || shape == Shape::sshort || shape == Shape::sbyte_d16 || shape == Shape::sbyte_d16_hi;
    if constexpr (kSigned) v = static_cast<uint32_t>(static_cast<int32_t>(v << (32 - 8 * kBytes)) >> (32 - 8 * kBytes));
    const uint32_t old = c.d16_loads_clear ? 0 : rows[l];
    if constexpr (shape == Shape::ubyte_d16 || shape == Shape::sbyte_d16 || shape == Shape::short_d16) {
      v = (old & 0xffff0000u) | (v & 0xffff);
    } else if constexpr (shape == Shape::ubyte_d16_hi || shape == Shape::sbyte_d16_hi || shape == Shape::short_d16_hi) {
      v = (old & 0xffff) | v << 16;
    }
    rows[l] = v;
  }
}

// The bytes lane `l` stores.
template <Shape shape>
inline void lane_to_memory(const uint32_t* rows, unsigned l, void* p) {
  constexpr unsigned kBytes = shape_bytes(shape);
  if constexpr (kBytes >= 4) {
    uint32_t words[kBytes / 4];
    for (unsigned w = 0; w < kBytes / 4; ++w) words[w] = rows[w * kWaveSize + l];
    std::memcpy(p, words, kBytes);
  } else {
    constexpr bool kHigh = shape == Shape::ubyte_d16_hi || shape == Shape::short_d16_hi;
    const uint32_t v = kHigh ? rows[l] >> 16 : rows[l];
    std::memcpy(p, &v, kBytes);
  }
}

// Lanes of one store may overlap. The order is fixed: dwords (elements of write2) one after the other, and within each
// the lanes in ascending order. Calls `one(lane, byte offset)` accordingly for every lane of `mask`.
template <unsigned bytes, typename One>
inline void for_each_store(uint64_t mask, One one) {
  constexpr unsigned kStep = bytes < 4 ? bytes : 4;
  for (unsigned b = 0; b < bytes; b += kStep)
    for (uint64_t m = mask; m != 0; m &= m - 1) one(static_cast<unsigned>(std::countr_zero(m)), b);
}

// Dword `b / 4` of what lane `l` stores (or all of it if it is smaller).
template <Shape shape>
inline void lane_part_to_memory(const uint32_t* rows, unsigned l, unsigned b, void* p) {
  if constexpr (shape_bytes(shape) >= 4) {
    store_whole(p, rows[b / 4 * kWaveSize + l]);
  } else {
    lane_to_memory<shape>(rows, l, p);
  }
}

// For the fault handler (interpreter.h): c.addresses holds the lanes' addresses.
inline void describe_access(Context& c, uint64_t lanes, unsigned bytes, bool write) {
  WaveState& w = c.wave;
  w.fault_write = write ? 1 : 0;
  w.engine_private[0] = kFaultLanes;
  w.engine_private[1] = reinterpret_cast<uint64_t>(c.addresses);
  w.engine_private[2] = bytes;
  w.engine_private[3] = lanes;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Reports a fault that the host would not (or not usefully) raise itself.
inline Step memory_fault(Context& c, const Op& op, uint64_t address, unsigned lane, bool write) {
  c.wave.fault_address = address;
  c.wave.fault_lane = lane;
  c.wave.fault_write = write ? 1 : 0;
  return c.exit(ExitReason::kFault, op);
}

// The fault of an atomic at an address that is not a multiple of its size.
inline Step alignment_fault(Context& c, const Op& op, uint64_t address, unsigned lane) {
  c.wave.fault_misaligned = 1;
  return memory_fault(c, op, address, lane, true);
}

// What DS instructions access: the work-group's LDS, up to GFX8 no further than M0 allows, or the device's GDS, of
// which M0 has base (31:16) and size (15:0).
struct DataShare {
  uint64_t base;
  uint64_t limit;
  bool shared;  // with other work-groups: atomics must be

  // Null unless all of the access is inside.
  [[nodiscard]] uint8_t* at(uint64_t offset, unsigned bytes) const {
    return offset + bytes <= limit ? reinterpret_cast<uint8_t*>(base + offset) : nullptr;
  }
};
inline DataShare data_share(const Context& c, const Op& op) {
  const WaveState& w = c.wave;
  const uint32_t m0 = w.sgpr[sreg::kM0];
  if (op.inst.gds) {
    const uint32_t first = std::min(m0 >> 16, w.gds_size);
    return {w.gds_base + first, std::min(m0 & 0xffff, w.gds_size - first), true};
  }
  return {w.lds_base, isa::m0_limits_lds(isa::family_of(c.target)) ? std::min(m0, w.lds_size) : w.lds_size, false};
}

// LDS address of lane `l` of instructions that move data between memory and LDS: M0[15:0] + offset + 4 * l.
inline uint32_t lds_transfer_address(const Context& c, const Op& op, unsigned l) {
  return (c.wave.sgpr[sreg::kM0] & 0xffff) + static_cast<uint32_t>(op.inst.offset) + 4 * l;
}
inline void lds_transfer_write(Context& c, const Op& op, unsigned l, uint32_t value) {
  const uint64_t at = lds_transfer_address(c, op, l);
  if (at + 4 <= c.wave.lds_size) std::memcpy(reinterpret_cast<void*>(c.wave.lds_base + at), &value, 4);
}

// Host user-space pointers have the upper 17 bits clear. Anything else that is not an aperture would raise a
// general-protection fault without an address.
inline bool is_host_address(uint64_t address) {
  return address >> 47 == 0;
}

// A pair of dwords of a lane, at an address that is a multiple of 8, as one access.
inline void store_whole_pair(const Context& c, unsigned l, const uint32_t* rows) {
  auto& place = *reinterpret_cast<uint64_t*>(c.addresses[l]);
  std::atomic_ref(place).store(uint64_t{rows[kWaveSize + l]} << 32 | rows[l], std::memory_order_relaxed);
}

// Pairs that are aligned, as atomic accesses are, in one access each. They are disjoint or the same, so that memory
// ends up with what it does dword by dword. False where there is anything else, and nothing stored.
inline bool store_whole_pairs(const Context& c, uint64_t lanes, const uint32_t* rows) {
  for (uint64_t m = lanes; m != 0; m &= m - 1) {
    const uint64_t address = c.addresses[std::countr_zero(m)];
    if (address % 8 != 0 || !is_host_address(address)) return false;
  }
  for (uint64_t m = lanes; m != 0; m &= m - 1) {
    store_whole_pair(c, static_cast<unsigned>(std::countr_zero(m)), rows);
  }
  return true;
}

// Byte `offset` of `lane` in the wave's swizzled scratch.
inline uint8_t* scratch_byte(const WaveState& w, unsigned lane, uint32_t offset) {
  return reinterpret_cast<uint8_t*>(w.scratch_base + static_cast<uint64_t>(offset / 4) * 256 + lane * 4 + offset % 4);
}
inline bool scratch_in_range(const WaveState& w, uint32_t offset, unsigned bytes) {
  return uint64_t{offset} + bytes <= w.scratch_bytes_per_lane;
}
inline void scratch_read(const WaveState& w, unsigned lane, uint32_t offset, void* data, unsigned bytes) {
  auto* out = static_cast<uint8_t*>(data);
  if (offset % 4 == 0 && bytes % 4 == 0) {
    for (unsigned i = 0; i < bytes; i += 4) std::memcpy(out + i, scratch_byte(w, lane, offset + i), 4);
  } else {
    for (unsigned i = 0; i < bytes; ++i) out[i] = *scratch_byte(w, lane, offset + i);
  }
}
inline void scratch_write(const WaveState& w, unsigned lane, uint32_t offset, const void* data, unsigned bytes) {
  const auto* in = static_cast<const uint8_t*>(data);
  if (offset % 4 == 0 && bytes % 4 == 0) {
    for (unsigned i = 0; i < bytes; i += 4) std::memcpy(scratch_byte(w, lane, offset + i), in + i, 4);
  } else {
    for (unsigned i = 0; i < bytes; ++i) *scratch_byte(w, lane, offset + i) = in[i];
  }
}

// Do all 64 addresses follow each other in steps of `stride` bytes?
inline bool is_contiguous(const uint64_t* addresses, uint64_t stride) {
  uint64_t difference = 0;
  for (unsigned l = 0; l < kWaveSize; ++l) difference |= addresses[l] ^ (addresses[0] + l * stride);
  return difference == 0;
}

// Copies the dwords of all lanes in ascending order, so that a fault names the first lane whose dword cannot be accessed.
// memcpy() may begin with the last bytes.
// Guests access null pointers, too.
__attribute__((no_sanitize("null"))) inline void copy_wave(void* to, const void* from) {
  using Part __attribute__((vector_size(16), aligned(1), may_alias)) = uint32_t;
  for (unsigned i = 0; i < kWaveSize * 4; i += sizeof(Part)) {
    const Part part = *reinterpret_cast<const Part*>(static_cast<const uint8_t*>(from) + i);
    *reinterpret_cast<Part*>(static_cast<uint8_t*>(to) + i) = part;
    asm volatile("" ::: "memory");  // keeps the compiler from turning the loop into memcpy()
  }
}

// Do all lanes of the mask, which is not empty, have one address? Of what they store there only the last one's is written
// then, as the hardware does: were it each lane's, others could see and answer the first, and lose their answer.
inline bool is_one_place(const uint64_t* addresses, uint64_t mask) {
  const uint64_t address = addresses[std::countr_zero(mask)];
  for (uint64_t m = mask; m != 0; m &= m - 1)
    if (addresses[std::countr_zero(m)] != address) return false;
  return true;
}
inline uint64_t last_lane(uint64_t mask) {
  return uint64_t{1} << (63 - std::countl_zero(mask));
}

template <typename T>
T lane_value(const uint32_t* rows, unsigned l) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(rows[kWaveSize + l]) << 32 | rows[l];
  } else {
    return rows[l];
  }
}
template <typename T>
void set_lane_value(uint32_t* rows, unsigned l, T v) {
  rows[l] = static_cast<uint32_t>(v);
  if constexpr (sizeof(T) == 8) rows[kWaveSize + l] = static_cast<uint32_t>(v >> 32);
}

}  // namespace wavejit::interp
