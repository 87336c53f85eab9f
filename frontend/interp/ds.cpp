// Local data share: reads, writes and cross-lane permutes.
#include <bit>

#include "frontend/interp/memory.h"

namespace wavejit::interp {
namespace {

// An LDS access reaches memory only if it lies within the work-group's allocation.
void* lds_pointer(const Context& c, uint64_t offset, unsigned bytes) {
  return offset + bytes <= c.wave.lds_size ? reinterpret_cast<void*>(c.wave.lds_base + offset) : nullptr;
}

constexpr uint8_t kZeros[16] = {};

template <Shape shape>
Step read(Context& c, const Op& op) {
  if (op.inst.gds) return c.exit(ExitReason::kUnsupported, op);
  constexpr unsigned kBytes = shape_bytes(shape);
  const uint64_t exec = c.wave.exec();
  const uint64_t offset = static_cast<uint32_t>(op.inst.offset);
  uint32_t* rows = c.row(op.dst_reg);
  // The destination may overlap the address.
  for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = c.row(op.addr_row)[l] + offset;
  if constexpr (shape == Shape::dword) {
    if (exec == ~0ull && is_contiguous(c.addresses, 4)) {
      if (const void* p = lds_pointer(c, c.addresses[0], kWaveSize * 4); p != nullptr) {
        std::memcpy(rows, p, kWaveSize * 4);
        return Step::next;
      }
    }
  }
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const void* p = lds_pointer(c, c.addresses[l], kBytes);
    lane_from_memory<shape>(rows, l, p != nullptr ? p : kZeros);
  }
  return Step::next;
}

// One element per lane at address + offset.
template <Shape shape>
void write_element(const Context& c, const uint32_t* addresses, uint64_t offset, const uint32_t* rows) {
  constexpr unsigned kBytes = shape_bytes(shape);
  for_each_store<kBytes>(c.wave.exec(), [&](unsigned l, unsigned b) {
    void* p = lds_pointer(c, addresses[l] + offset, kBytes);
    if (p != nullptr) lane_part_to_memory<shape>(rows, l, b, static_cast<uint8_t*>(p) + b);
  });
}

template <Shape shape>
Step write(Context& c, const Op& op) {
  if (op.inst.gds) return c.exit(ExitReason::kUnsupported, op);
  write_element<shape>(c, c.row(op.addr_row), static_cast<uint32_t>(op.inst.offset), c.row(op.data_row));
  return Step::next;
}

// Two elements at offset0 and offset1, scaled by the element size (times 64 for the st64 forms, in `param`).
template <Shape shape>
Step read2(Context& c, const Op& op) {
  if (op.inst.gds) return c.exit(ExitReason::kUnsupported, op);
  constexpr unsigned kBytes = shape_bytes(shape);
  const unsigned scale = kBytes * op.param;
  const uint64_t offset0 = (static_cast<uint32_t>(op.inst.offset) & 0xff) * scale;
  const uint64_t offset1 = (static_cast<uint32_t>(op.inst.offset) >> 8 & 0xff) * scale;
  uint32_t* rows = c.row(op.dst_reg);
  for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = c.row(op.addr_row)[l];
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const void* p0 = lds_pointer(c, c.addresses[l] + offset0, kBytes);
    const void* p1 = lds_pointer(c, c.addresses[l] + offset1, kBytes);
    lane_from_memory<shape>(rows, l, p0 != nullptr ? p0 : kZeros);
    lane_from_memory<shape>(rows + kBytes / 4 * kWaveSize, l, p1 != nullptr ? p1 : kZeros);
  }
  return Step::next;
}

template <Shape shape>
Step write2(Context& c, const Op& op) {
  if (op.inst.gds) return c.exit(ExitReason::kUnsupported, op);
  constexpr unsigned kBytes = shape_bytes(shape);
  const unsigned scale = kBytes * op.param;
  const uint64_t offset0 = (static_cast<uint32_t>(op.inst.offset) & 0xff) * scale;
  const uint64_t offset1 = (static_cast<uint32_t>(op.inst.offset) >> 8 & 0xff) * scale;
  write_element<shape>(c, c.row(op.addr_row), offset0, c.row(op.data_row));
  write_element<shape>(c, c.row(op.addr_row), offset1, c.row(op.data1_row));
  return Step::next;
}

// Address = M0[15:0] + offset + lane * 4.
Step read_addtid(Context& c, const Op& op) {
  uint32_t* rows = c.row(op.dst_reg);
  const uint64_t base = (c.wave.sgpr[sreg::kM0] & 0xffff) + static_cast<uint32_t>(op.inst.offset);
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const void* p = lds_pointer(c, base + 4 * l, 4);
    lane_from_memory<Shape::dword>(rows, l, p != nullptr ? p : kZeros);
  }
  return Step::next;
}
Step write_addtid(Context& c, const Op& op) {
  const uint32_t* rows = c.row(op.data_row);
  const uint64_t base = (c.wave.sgpr[sreg::kM0] & 0xffff) + static_cast<uint32_t>(op.inst.offset);
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (void* p = lds_pointer(c, base + 4 * l, 4); p != nullptr) lane_to_memory<Shape::dword>(rows, l, p);
  }
  return Step::next;
}

// Adds (append) or subtracts (consume) the number of active lanes at M0[15:0] + offset; all active lanes get the old
// value.
template <bool append>
Step append_consume(Context& c, const Op& op) {
  if (op.inst.gds) return c.exit(ExitReason::kUnsupported, op);
  const uint64_t exec = c.wave.exec();
  const uint64_t address = (c.wave.sgpr[sreg::kM0] & 0xffff) + static_cast<uint32_t>(op.inst.offset);
  uint32_t old = 0;
  if (void* p = lds_pointer(c, address, 4); p != nullptr) {
    std::memcpy(&old, p, 4);
    const auto count = static_cast<uint32_t>(std::popcount(exec));
    const uint32_t updated = append ? old + count : old - count;
    std::memcpy(p, &updated, 4);
  }
  c.lanes.splat(c.out, old, 1);
  c.lanes.merge(c.row(op.dst_reg), c.out, exec, 1);
  return Step::next;
}

// ---- Permutes: no LDS memory is involved ----

template <typename SourceLane>
Step gather_lanes(Context& c, const Op& op, const uint32_t* data, SourceLane source_lane) {
  const uint64_t exec = c.wave.exec();
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const unsigned s = source_lane(l);
    c.out[l] = (exec >> s & 1) != 0 ? data[s] : 0;
  }
  c.lanes.merge(c.row(op.dst_reg), c.out, exec, 1);
  return Step::next;
}

Step bpermute(Context& c, const Op& op) {
  const uint32_t* addresses = c.row(op.addr_row);
  const auto offset = static_cast<uint32_t>(op.inst.offset);
  return gather_lanes(c, op, c.row(op.data_row), [&](unsigned l) { return (addresses[l] + offset) >> 2 & 63; });
}

Step permute(Context& c, const Op& op) {
  const uint64_t exec = c.wave.exec();
  const uint32_t* addresses = c.row(op.addr_row);
  const uint32_t* data = c.row(op.data_row);
  const auto offset = static_cast<uint32_t>(op.inst.offset);
  c.lanes.splat(c.out, 0, 1);
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    c.out[(addresses[l] + offset) >> 2 & 63] = data[l];
  }
  c.lanes.merge(c.row(op.dst_reg), c.out, exec, 1);
  return Step::next;
}

Step swizzle(Context& c, const Op& op) {
  const auto offset = static_cast<uint32_t>(op.inst.offset);
  const uint32_t* data = c.row(op.addr_row);
  // GFX9 adds rotate (0xc000) and FFT (0xe000) modes.
  if (!c.before_gfx9 && offset >= 0xe000) return c.exit(ExitReason::kUnsupported, op);
  if (!c.before_gfx9 && offset >= 0xc000) {
    const unsigned amount = offset >> 5 & 31, mask = offset & 31;
    const bool right = (offset >> 10 & 1) != 0;
    return gather_lanes(c, op, data, [=](unsigned l) {
      const unsigned rotated = (right ? l - amount : l + amount) & 31;
      return (l & 32) | (l & mask & 31) | (rotated & ~mask & 31);
    });
  }
  if ((offset & 0x8000) != 0)
    return gather_lanes(c, op, data, [=](unsigned l) { return (l & ~3u) | (offset >> (2 * (l & 3)) & 3); });
  const unsigned and_mask = offset & 31, or_mask = offset >> 5 & 31, xor_mask = offset >> 10 & 31;
  return gather_lanes(c, op, data,
                      [=](unsigned l) { return (l & 32) | ((((l & 31) & and_mask) | or_mask) ^ xor_mask); });
}

}  // namespace

void register_ds(Registry& r) {
  r.handler(Opcode::ds_read_b32, read<Shape::dword>);
  r.handler(Opcode::ds_read_b64, read<Shape::dwordx2>);
  r.handler(Opcode::ds_read_b96, read<Shape::dwordx3>);
  r.handler(Opcode::ds_read_b128, read<Shape::dwordx4>);
  r.handler(Opcode::ds_read_u8, read<Shape::ubyte>);
  r.handler(Opcode::ds_read_i8, read<Shape::sbyte>);
  r.handler(Opcode::ds_read_u16, read<Shape::ushort>);
  r.handler(Opcode::ds_read_i16, read<Shape::sshort>);
  r.handler(Opcode::ds_read_u8_d16, read<Shape::ubyte_d16>);
  r.handler(Opcode::ds_read_u8_d16_hi, read<Shape::ubyte_d16_hi>);
  r.handler(Opcode::ds_read_i8_d16, read<Shape::sbyte_d16>);
  r.handler(Opcode::ds_read_i8_d16_hi, read<Shape::sbyte_d16_hi>);
  r.handler(Opcode::ds_read_u16_d16, read<Shape::short_d16>);
  r.handler(Opcode::ds_read_u16_d16_hi, read<Shape::short_d16_hi>);
  r.handler(Opcode::ds_write_b32, write<Shape::dword>);
  r.handler(Opcode::ds_write_b64, write<Shape::dwordx2>);
  r.handler(Opcode::ds_write_b96, write<Shape::dwordx3>);
  r.handler(Opcode::ds_write_b128, write<Shape::dwordx4>);
  r.handler(Opcode::ds_write_b8, write<Shape::ubyte>);
  r.handler(Opcode::ds_write_b16, write<Shape::ushort>);
  r.handler(Opcode::ds_write_b8_d16_hi, write<Shape::ubyte_d16_hi>);
  r.handler(Opcode::ds_write_b16_d16_hi, write<Shape::short_d16_hi>);
  r.handler(Opcode::ds_read2_b32, read2<Shape::dword>, 1);
  r.handler(Opcode::ds_read2st64_b32, read2<Shape::dword>, 64);
  r.handler(Opcode::ds_read2_b64, read2<Shape::dwordx2>, 1);
  r.handler(Opcode::ds_read2st64_b64, read2<Shape::dwordx2>, 64);
  r.handler(Opcode::ds_write2_b32, write2<Shape::dword>, 1);
  r.handler(Opcode::ds_write2st64_b32, write2<Shape::dword>, 64);
  r.handler(Opcode::ds_write2_b64, write2<Shape::dwordx2>, 1);
  r.handler(Opcode::ds_write2st64_b64, write2<Shape::dwordx2>, 64);
  r.handler(Opcode::ds_read_addtid_b32, read_addtid);
  r.handler(Opcode::ds_write_addtid_b32, write_addtid);
  r.handler(Opcode::ds_append, append_consume<true>);
  r.handler(Opcode::ds_consume, append_consume<false>);
  r.handler(Opcode::ds_permute_b32, permute);
  r.handler(Opcode::ds_bpermute_b32, bpermute);
  r.handler(Opcode::ds_swizzle_b32, swizzle);
}

}  // namespace wavejit::interp
