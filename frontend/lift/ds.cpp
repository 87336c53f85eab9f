// DS: LDS loads, stores and atomics. Lane permutations are in cross_lane.cpp.
#include "frontend/lift/handlers.h"
#include "frontend/lift/memory.h"

namespace wavejit::lift {
namespace {

using ir::AtomicOp;

// An access of `bytes` bytes at addr + offset. Lanes for which it would reach beyond lds_size are taken out of the
// mask; the sum is not taken modulo 2^32 (docs/isa-decisions.md, "LDS").
Access lds_access(Context& c, Inst* addr, uint32_t offset, unsigned bytes) {
  Access access;
  access.mem.space = ir::Space::lds;
  access.mem.form = ir::AddressForm::lds_offset;
  access.mem.imm = offset;
  access.address = {addr};
  // In range means addr < max(size, before) - before.
  const uint32_t before = offset + bytes - 1;
  Inst* size = c.options.lds_size ? c.b.i32(*c.options.lds_size) : c.ssa.read_lds_size();
  Inst* end = c.b.op(Op::sub, {c.b.op(Op::umax, {size, c.b.i32(before)}), c.b.i32(before)});
  access.mask = c.and_(c.exec(), c.b.icmp(ICmp::ult, addr, c.b.op(Op::splat, {end})));
  return access;
}

Inst* address(Context& c) {
  return c.row(c.operand(Slot::addr));
}

template <uint8_t kBytes, uint8_t kCount, bool kSigned = false, Half kHalf = Half::none>
void read(Context& c) {
  const DataShape shape{kBytes, kCount, kSigned, kHalf};
  Access access = lds_access(c, address(c), static_cast<uint32_t>(c.inst->offset), shape.total());
  lift_load(c, std::move(access), shape, c.operand(Slot::vdst));
}

template <uint8_t kBytes, uint8_t kCount, Half kHalf = Half::none>
void write(Context& c) {
  const DataShape shape{kBytes, kCount, false, kHalf};
  Access access = lds_access(c, address(c), static_cast<uint32_t>(c.inst->offset), shape.total());
  lift_store(c, std::move(access), shape, c.operand(Slot::data0));
}

// Byte offset of element 0 or 1 of the two-address forms; units are elements, or 64 of them.
template <uint8_t kDwords, bool kStride64>
uint32_t offset_of(Context& c, unsigned element) {
  const uint32_t field = static_cast<uint32_t>(c.inst->offset) >> (8 * element) & 255;
  return field * 4 * kDwords * (kStride64 ? 64 : 1);
}

template <uint8_t kDwords, bool kStride64>
void read2(Context& c) {
  const DataShape shape{4, kDwords};
  Inst* addr = address(c);
  std::vector<Inst*> rows[2];
  for (unsigned i = 0; i < 2; ++i)
    rows[i] = load_rows(c, lds_access(c, addr, offset_of<kDwords, kStride64>(c, i), shape.total()), shape);
  for (unsigned i = 0; i < 2; ++i) write_rows(c, rows[i], shape, c.operand(Slot::vdst), i * kDwords);
}

template <uint8_t kDwords, bool kStride64>
void write2(Context& c) {
  const DataShape shape{4, kDwords};
  Inst* addr = address(c);
  for (unsigned i = 0; i < 2; ++i)
    lift_store(c, lds_access(c, addr, offset_of<kDwords, kStride64>(c, i), shape.total()), shape,
               c.operand(i ? Slot::data1 : Slot::data0));
}

constexpr bool is_float(AtomicOp op) {
  switch (op) {
    case AtomicOp::fadd_f32:
    case AtomicOp::fadd_f64:
    case AtomicOp::fmin_f32:
    case AtomicOp::fmin_f64:
    case AtomicOp::fmax_f32:
    case AtomicOp::fmax_f64:
      return true;
    default:
      return false;
  }
}

template <AtomicOp kOp, bool kWide>
void atomic(Context& c) {
  Access access = lds_access(c, address(c), static_cast<uint32_t>(c.inst->offset), kWide ? 8 : 4);
  Inst* data = data_element(c, c.operand(Slot::data0), kWide, 0);
  Inst* second = nullptr;
  if (kOp == AtomicOp::cmpswap || kOp == AtomicOp::mskor) second = data_element(c, c.operand(Slot::data1), kWide, 0);
  // ds_cmpst: data0 is what to compare with, data1 the new value.
  if (kOp == AtomicOp::cmpswap) std::swap(data, second);
  if (is_float(kOp)) access.fp_env = kWide ? c.env64() : c.env32();
  lift_atomic(c, std::move(access), kOp, kWide, data, second, c.inst->find(Slot::vdst));
}

// Two exchanges at two addresses.
template <uint8_t kDwords, bool kStride64>
void exchange2(Context& c) {
  constexpr bool kWide = kDwords == 2;
  Inst* addr = address(c);
  Inst* data[2] = {data_element(c, c.operand(Slot::data0), kWide, 0),
                   data_element(c, c.operand(Slot::data1), kWide, 0)};
  const Operand& dst = c.operand(Slot::vdst);
  for (unsigned i = 0; i < 2; ++i) {
    Operand result = dst;
    result.reg = static_cast<uint16_t>(dst.reg + i * kDwords);
    lift_atomic(c, lds_access(c, addr, offset_of<kDwords, kStride64>(c, i), 4 * kDwords), AtomicOp::swap, kWide,
                data[i], nullptr, &result);
  }
}

}  // namespace

void add_ds(HandlerTable& t) {
  t.add(Opcode::ds_nop, [](Context&) {});
  t.add(Opcode::ds_read_u8, read<1, 1>);
  t.add(Opcode::ds_read_i8, read<1, 1, true>);
  t.add(Opcode::ds_read_u16, read<2, 1>);
  t.add(Opcode::ds_read_i16, read<2, 1, true>);
  t.add(Opcode::ds_read_u8_d16, read<1, 1, false, Half::low>);
  t.add(Opcode::ds_read_u8_d16_hi, read<1, 1, false, Half::high>);
  t.add(Opcode::ds_read_i8_d16, read<1, 1, true, Half::low>);
  t.add(Opcode::ds_read_i8_d16_hi, read<1, 1, true, Half::high>);
  t.add(Opcode::ds_read_u16_d16, read<2, 1, false, Half::low>);
  t.add(Opcode::ds_read_u16_d16_hi, read<2, 1, false, Half::high>);
  t.add(Opcode::ds_read_b32, read<4, 1>);
  t.add(Opcode::ds_read_b64, read<4, 2>);
  t.add(Opcode::ds_read_b96, read<4, 3>);
  t.add(Opcode::ds_read_b128, read<4, 4>);
  t.add(Opcode::ds_read2_b32, read2<1, false>);
  t.add(Opcode::ds_read2_b64, read2<2, false>);
  t.add(Opcode::ds_read2st64_b32, read2<1, true>);
  t.add(Opcode::ds_read2st64_b64, read2<2, true>);
  t.add(Opcode::ds_write_b8, write<1, 1>);
  t.add(Opcode::ds_write_b8_d16_hi, write<1, 1, Half::high>);
  t.add(Opcode::ds_write_b16, write<2, 1>);
  t.add(Opcode::ds_write_b16_d16_hi, write<2, 1, Half::high>);
  t.add(Opcode::ds_write_b32, write<4, 1>);
  t.add(Opcode::ds_write_b64, write<4, 2>);
  t.add(Opcode::ds_write_b96, write<4, 3>);
  t.add(Opcode::ds_write_b128, write<4, 4>);
  t.add(Opcode::ds_write2_b32, write2<1, false>);
  t.add(Opcode::ds_write2_b64, write2<2, false>);
  t.add(Opcode::ds_write2st64_b32, write2<1, true>);
  t.add(Opcode::ds_write2st64_b64, write2<2, true>);
  t.add(Opcode::ds_wrxchg2_rtn_b32, exchange2<1, false>);
  t.add(Opcode::ds_wrxchg2_rtn_b64, exchange2<2, false>);
  t.add(Opcode::ds_wrxchg2st64_rtn_b32, exchange2<1, true>);
  t.add(Opcode::ds_wrxchg2st64_rtn_b64, exchange2<2, true>);
#define WAVEJIT_DS_ATOMIC(name, type32, type64, op)                     \
  t.add(Opcode::ds_##name##_##type32, atomic<AtomicOp::op, false>);     \
  t.add(Opcode::ds_##name##_rtn_##type32, atomic<AtomicOp::op, false>); \
  t.add(Opcode::ds_##name##_##type64, atomic<AtomicOp::op, true>);      \
  t.add(Opcode::ds_##name##_rtn_##type64, atomic<AtomicOp::op, true>);
  WAVEJIT_DS_ATOMIC(add, u32, u64, add)
  WAVEJIT_DS_ATOMIC(sub, u32, u64, sub)
  WAVEJIT_DS_ATOMIC(rsub, u32, u64, rsub)
  WAVEJIT_DS_ATOMIC(inc, u32, u64, inc)
  WAVEJIT_DS_ATOMIC(dec, u32, u64, dec)
  WAVEJIT_DS_ATOMIC(min, i32, i64, smin)
  WAVEJIT_DS_ATOMIC(max, i32, i64, smax)
  WAVEJIT_DS_ATOMIC(min, u32, u64, umin)
  WAVEJIT_DS_ATOMIC(max, u32, u64, umax)
  WAVEJIT_DS_ATOMIC(and, b32, b64, and_)
  WAVEJIT_DS_ATOMIC(or, b32, b64, or_)
  WAVEJIT_DS_ATOMIC(xor, b32, b64, xor_)
  WAVEJIT_DS_ATOMIC(mskor, b32, b64, mskor)
  WAVEJIT_DS_ATOMIC(cmpst, b32, b64, cmpswap)
#undef WAVEJIT_DS_ATOMIC
  t.add(Opcode::ds_min_f32, atomic<AtomicOp::fmin_f32, false>);
  t.add(Opcode::ds_min_rtn_f32, atomic<AtomicOp::fmin_f32, false>);
  t.add(Opcode::ds_min_f64, atomic<AtomicOp::fmin_f64, true>);
  t.add(Opcode::ds_min_rtn_f64, atomic<AtomicOp::fmin_f64, true>);
  t.add(Opcode::ds_max_f32, atomic<AtomicOp::fmax_f32, false>);
  t.add(Opcode::ds_max_rtn_f32, atomic<AtomicOp::fmax_f32, false>);
  t.add(Opcode::ds_max_f64, atomic<AtomicOp::fmax_f64, true>);
  t.add(Opcode::ds_max_rtn_f64, atomic<AtomicOp::fmax_f64, true>);
  t.add(Opcode::ds_add_f32, atomic<AtomicOp::fadd_f32, false>);
  t.add(Opcode::ds_add_rtn_f32, atomic<AtomicOp::fadd_f32, false>);
  t.add(Opcode::ds_add_f64, atomic<AtomicOp::fadd_f64, true>);
  t.add(Opcode::ds_add_rtn_f64, atomic<AtomicOp::fadd_f64, true>);
  t.add(Opcode::ds_wrxchg_rtn_b32, atomic<AtomicOp::swap, false>);
  t.add(Opcode::ds_wrxchg_rtn_b64, atomic<AtomicOp::swap, true>);
}

}  // namespace wavejit::lift
