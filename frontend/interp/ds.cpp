// Local data share: reads, writes and cross-lane permutes.
#include <bit>
#include <cstring>

#include "frontend/interp/atomics.h"
#include "frontend/interp/memory.h"
#include "internal/trap_id.h"

namespace wavejit::interp {
namespace {

constexpr uint8_t kZeros[16] = {};

template <Shape shape>
Step read(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  constexpr unsigned kBytes = shape_bytes(shape);
  const uint64_t exec = c.wave.exec();
  const auto offset = static_cast<uint32_t>(op.inst.offset);
  uint32_t* rows = c.row(op.dst_reg);
  // The destination may overlap the address.
  for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = c.row(op.addr_row)[l] + offset;
  if constexpr (shape == Shape::dword) {
    if (exec == ~0ull && is_contiguous(c.addresses, 4)) {
      if (const void* p = share.at(c.addresses[0], kWaveSize * 4); p != nullptr) {
        std::memcpy(rows, p, kWaveSize * 4);
        return Step::next;
      }
    }
  }
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const void* p = share.at(c.addresses[l], kBytes);
    lane_from_memory<shape>(c, rows, l, p != nullptr ? p : kZeros);
  }
  return Step::next;
}

// One element per lane at address + offset, a sum of 32 bits.
template <Shape shape>
void write_element(const Context& c, const DataShare& share, const uint32_t* addresses, uint32_t offset,
                   const uint32_t* rows) {
  constexpr unsigned kBytes = shape_bytes(shape);
  for_each_store<kBytes>(c.wave.exec(), [&](unsigned l, unsigned b) {
    uint8_t* p = share.at(addresses[l] + offset, kBytes);
    if (p != nullptr) lane_part_to_memory<shape>(rows, l, b, p + b);
  });
}

template <Shape shape>
Step write(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  write_element<shape>(c, share, c.row(op.addr_row), static_cast<uint32_t>(op.inst.offset), c.row(op.data_row));
  return Step::next;
}

// Two elements at offset0 and offset1, scaled by the element size (times 64 for the st64 forms, in `param`).
template <Shape shape>
Step read2(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  constexpr unsigned kBytes = shape_bytes(shape);
  const unsigned scale = kBytes * op.param;
  const uint32_t offset0 = (static_cast<uint32_t>(op.inst.offset) & 0xff) * scale;
  const uint32_t offset1 = (static_cast<uint32_t>(op.inst.offset) >> 8 & 0xff) * scale;
  uint32_t* rows = c.row(op.dst_reg);
  for (unsigned l = 0; l < kWaveSize; ++l) c.addresses[l] = c.row(op.addr_row)[l];
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const void* p0 = share.at(static_cast<uint32_t>(c.addresses[l] + offset0), kBytes);
    const void* p1 = share.at(static_cast<uint32_t>(c.addresses[l] + offset1), kBytes);
    lane_from_memory<shape>(c, rows, l, p0 != nullptr ? p0 : kZeros);
    lane_from_memory<shape>(c, rows + kBytes / 4 * kWaveSize, l, p1 != nullptr ? p1 : kZeros);
  }
  return Step::next;
}

template <Shape shape>
Step write2(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  constexpr unsigned kBytes = shape_bytes(shape);
  const unsigned scale = kBytes * op.param;
  const uint32_t offset0 = (static_cast<uint32_t>(op.inst.offset) & 0xff) * scale;
  const uint32_t offset1 = (static_cast<uint32_t>(op.inst.offset) >> 8 & 0xff) * scale;
  write_element<shape>(c, share, c.row(op.addr_row), offset0, c.row(op.data_row));
  write_element<shape>(c, share, c.row(op.addr_row), offset1, c.row(op.data1_row));
  return Step::next;
}

// Address = M0[15:0] + offset + lane * 4.
Step read_addtid(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  uint32_t* rows = c.row(op.dst_reg);
  const uint64_t base = (op.inst.gds ? 0 : c.wave.sgpr[sreg::kM0] & 0xffff) + static_cast<uint32_t>(op.inst.offset);
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const void* p = share.at(base + 4 * l, 4);
    lane_from_memory<Shape::dword>(c, rows, l, p != nullptr ? p : kZeros);
  }
  return Step::next;
}
Step write_addtid(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  const uint32_t* rows = c.row(op.data_row);
  const uint64_t base = (op.inst.gds ? 0 : c.wave.sgpr[sreg::kM0] & 0xffff) + static_cast<uint32_t>(op.inst.offset);
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (void* p = share.at(base + 4 * l, 4); p != nullptr) lane_to_memory<Shape::dword>(rows, l, p);
  }
  return Step::next;
}

// Adds (append) or subtracts (consume) the number of active lanes at the counter; all active lanes get the old value.
// The counter is at the offset in the LDS, the first LDS address being M0[15:0] as for the other instructions without
// address register, or at the offset in the GDS, M0[31:16] being its base.
template <bool append>
Step append_consume(Context& c, const Op& op) {
  DataShare share = data_share(c, op);
  if (!op.inst.gds) share.limit = c.wave.lds_size;  // M0 is the address and no limit
  const uint64_t exec = c.wave.exec();
  const uint64_t base = op.inst.gds ? 0 : c.wave.sgpr[sreg::kM0] & 0xffff;
  const uint64_t address = (base + static_cast<uint32_t>(op.inst.offset)) & ~uint64_t{3};
  uint32_t old = 0;
  if (uint8_t* p = share.at(address, 4); p != nullptr && exec != 0) {
    const auto count = static_cast<uint32_t>(std::popcount(exec));
    const AtomicOp kind = append ? AtomicOp::add : AtomicOp::sub;
    old = share.shared ? atomic_apply<uint32_t>(kind, reinterpret_cast<uint32_t*>(p), count, 0)
                       : plain_apply<uint32_t>(kind, p, count, 0);
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
  if (!c.before_gfx9 && offset >= 0xe000) {
    const unsigned mask = offset & 31, shift = static_cast<unsigned>(std::popcount(mask));
    return gather_lanes(c, op, data, [=](unsigned l) {
      unsigned j = 0;
      for (unsigned bit = 0; bit < 5; ++bit)
        if ((l >> bit & 1) != 0) j |= 16u >> bit;
      return (j >> shift) | (l & mask) | (l & 32);
    });
  }
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
  // The runtime executes them: it knows who else waits.
  for (const Opcode opcode : {Opcode::ds_gws_init, Opcode::ds_gws_sema_v, Opcode::ds_gws_sema_br, Opcode::ds_gws_sema_p,
                              Opcode::ds_gws_sema_release_all, Opcode::ds_gws_barrier, Opcode::ds_ordered_count})
    r.handler(opcode, [](Context& c, const Op& o) {
      c.wave.trap_id = trap_id::kGlobalSync;
      return c.exit(ExitReason::kTrap, o);
    });
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
