// DS: LDS loads, stores and atomics. Lane permutations are in cross_lane.cpp.
#include "frontend/lift/handlers.h"
#include "frontend/lift/memory.h"

namespace wavejit::lift {
namespace {

using ir::AtomicOp;

// How far the instruction reaches, in bytes: lds_size, and up to GFX8 M0 (docs/isa-decisions.md, "LDS").
Inst* lds_limit(Context& c) {
  Inst* size = c.options.lds_size ? c.b.i32(*c.options.lds_size) : c.ssa.read_lds_size();
  return isa::m0_limits_lds(c.family) ? c.b.op(Op::umin, {size, c.m0()}) : size;
}

// The GDS is memory that other work-groups see. M0 has the base in bits 31:16 and the size in bits 15:0.
struct GdsRange {
  Inst* base;
  Inst* limit;
};
GdsRange gds_range(Context& c) {
  Inst* size = c.b.op_typed(Op::get_field, ir::kI32, {}, 0, offsetof(WaveState, gds_size));
  Inst* memory = c.b.op_typed(Op::get_field, ir::kI64, {}, 0, offsetof(WaveState, gds_base));
  Inst* first = c.b.op(Op::umin, {c.lshr(c.m0(), 16), size});
  Inst* limit = c.b.op(Op::umin, {c.and_(c.m0(), c.b.i32(0xffff)), c.b.op(Op::sub, {size, first})});
  return {c.add(memory, c.b.op(Op::zext64, {first})), limit};
}

}  // namespace

Access lds_access(Context& c, Inst* addr, uint32_t offset, unsigned bytes, Inst* limit) {
  Access access;
  // The sum has 32 bits: addresses below 0 are brought into range by the offset. Pass `address` makes it a displacement
  // where it cannot wrap around.
  if (offset != 0) addr = c.add(addr, c.v(offset));
  if (c.inst->gds) {
    const GdsRange gds = gds_range(c);
    access.mem.space = ir::Space::global;
    access.mem.form = ir::AddressForm::base_offset;
    access.address = {gds.base, addr};
    limit = gds.limit;
  } else {
    access.mem.space = ir::Space::lds;
    access.mem.form = ir::AddressForm::lds_offset;
    access.address = {addr};
    if (limit == nullptr) limit = lds_limit(c);
  }
  // In range means addr < max(limit, before) - before.
  const uint32_t before = bytes - 1;
  Inst* end = c.b.op(Op::sub, {c.b.op(Op::umax, {limit, c.b.i32(before)}), c.b.i32(before)});
  access.mask = c.and_(c.exec(), c.b.icmp(ICmp::ult, addr, c.b.op(Op::splat, {end})));
  return access;
}

Access lds_transfer(Context& c) {
  Inst* size = c.options.lds_size ? c.b.i32(*c.options.lds_size) : c.ssa.read_lds_size();
  Inst* start = c.add(c.and_(c.m0(), c.b.i32(0xffff)), c.b.i32(static_cast<uint32_t>(c.inst->offset)));
  return lds_access(c, c.add(c.shl(c.b.op(Op::lane_id, {}), 2), c.b.op(Op::splat, {start})), 0, 4, size);
}

void store_to_lds(Context& c, Inst* row) {
  Access access = lds_transfer(c);
  access.mem.bytes = 4;
  access.mem.count = 1;
  c.b.store(access.mem, {access.mask, access.address[0], row});
}

namespace {

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
    case AtomicOp::fcmpswap_f32:
    case AtomicOp::fcmpswap_f64:
      return true;
    default:
      return false;
  }
}

template <AtomicOp kOp, bool kWide>
void ds_atomic(Context& c) {
  Access access = lds_access(c, address(c), static_cast<uint32_t>(c.inst->offset), kWide ? 8 : 4);
  Inst* data = data_element(c, c.operand(Slot::data0), kWide, 0);
  Inst* second = nullptr;
  if (ir::has_two_operands(kOp)) second = data_element(c, c.operand(Slot::data1), kWide, 0);
  // ds_cmpst: data0 is what to compare with, data1 the new value.
  const bool compares = kOp == AtomicOp::cmpswap || kOp == AtomicOp::fcmpswap_f32 || kOp == AtomicOp::fcmpswap_f64;
  if (compares) std::swap(data, second);
  if (is_float(kOp)) access.fp_env = kWide ? c.env64() : c.env32();
  // Packed sums are rounded to nearest and keep denormals, on LDS, too.
  if (kOp == AtomicOp::pk_fadd_f16 || kOp == AtomicOp::pk_fadd_bf16)
    access.fp_env = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
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

// Lane l's dword is at M0[15:0] + offset + 4 * l.
Inst* thread_address(Context& c) {
  Inst* lanes = c.shl(c.b.op(Op::lane_id, {}), 2);
  return c.inst->gds ? lanes : c.add(lanes, c.b.op(Op::splat, {c.and_(c.m0(), c.b.i32(0xffff))}));
}
void read_addtid(Context& c) {
  lift_load(c, lds_access(c, thread_address(c), static_cast<uint32_t>(c.inst->offset), 4), {4, 1},
            c.operand(Slot::vdst));
}
void write_addtid(Context& c) {
  lift_store(c, lds_access(c, thread_address(c), static_cast<uint32_t>(c.inst->offset), 4), {4, 1},
             c.operand(Slot::data0));
}

// One addition of the number of active lanes, through lane 0, whose old value all of them get.
template <AtomicOp kOp>
void append_consume(Context& c) {
  Inst* at = c.b.i32(static_cast<uint32_t>(c.inst->offset));
  if (!c.inst->gds) at = c.add(at, c.and_(c.m0(), c.b.i32(0xffff)));
  Inst* address = c.b.op(Op::splat, {c.and_(at, c.b.i32(~3u))});
  Inst* size = c.options.lds_size ? c.b.i32(*c.options.lds_size) : c.ssa.read_lds_size();
  Access access = lds_access(c, address, 0, 4, size);
  Inst* exec = c.exec();
  Inst* lane0 = c.and_(c.b.mask(1), c.b.op(Op::splat_mask, {c.b.op(Op::mask_any, {access.mask})}));
  access.mask = lane0;
  access.mem.bytes = 4;
  access.mem.count = 1;
  access.mem.atomic_op = kOp;
  access.mem.glc = true;
  Inst* count = c.b.op(Op::lo32, {c.b.op(Op::popcount, {c.b.op(Op::mask_to_i64, {exec})})});
  std::vector<Inst*> operands{lane0};
  operands.insert(operands.end(), access.address.begin(), access.address.end());
  operands.push_back(c.b.op(Op::splat, {count}));
  Inst* old = c.b.atomic(ir::kV32, access.mem, std::move(operands));
  c.set_row(c.operand(Slot::vdst), 0, c.b.op(Op::splat, {c.b.op(Op::readlane, {old, c.b.i32(0)})}), exec);
}

// Two dwords at an address that is a multiple of 8: each is written, less its highest bit, if that is set.
void conditional_exchange(Context& c) {
  Inst* addr = address(c);
  Inst* aligned = c.and_(c.add(addr, c.v(static_cast<uint32_t>(c.inst->offset))), c.v(~7u));
  const Operand& data = c.operand(Slot::data0);
  Inst* value[2] = {c.row(data, 0), c.row(data, 1)};
  const Operand& dst = c.operand(Slot::vdst);
  for (unsigned i = 0; i < 2; ++i) {
    Access access = lds_access(c, aligned, 0, 8);
    access.mem.imm = 4 * i;
    Inst* writes = c.b.icmp(ICmp::slt, value[i], c.v(0));
    Operand result = dst;
    result.reg = static_cast<uint16_t>(dst.reg + i);
    lift_atomic(c, std::move(access), AtomicOp::mskor, false, c.b.select(writes, c.v(~0u), c.v(0)),
                c.b.select(writes, c.and_(value[i], c.v(0x7fffffff)), c.v(0)), &result);
  }
}

// DS[A] = DS[A] op DS[B] (GCN3 and Vega ISA manuals, DS_ADD_SRC2_U32): B is a distance in dwords behind A, which is the
// upper 15 bits of the address register or the offset's, as bit 15 of the offset says.
template <AtomicOp kOp, bool kWide>
void source2(Context& c) {
  const auto offset = static_cast<uint32_t>(c.inst->offset);
  const uint32_t aligned = kWide ? ~7u : ~3u;
  const unsigned bytes = kWide ? 8 : 4;
  Inst* addr = address(c);
  const bool from_address = (offset & 0x8000) != 0;
  Inst* to = c.and_(addr, c.v(from_address ? 0x1ffff & aligned : aligned));
  Inst* distance = from_address ? c.shl(c.b.op(Op::ashr, {addr, c.v(17)}), 2)
                                : c.v(static_cast<uint32_t>(static_cast<int32_t>(offset << 17) >> 17) * 4);
  Inst* from = c.and_(c.add(to, distance), c.v(aligned));
  const std::vector<Inst*> loaded = load_rows(c, lds_access(c, from, 0, bytes), {4, kWide ? 2 : 1});
  Inst* operand = kWide ? c.b.op(Op::pack64, {loaded[0], loaded[1]}) : loaded[0];
  Access access = lds_access(c, to, 0, bytes);
  if (is_float(kOp)) access.fp_env = kWide ? c.env64() : c.env32();
  lift_atomic(c, std::move(access), kOp, kWide, operand, nullptr, nullptr);
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
#define WAVEJIT_DS_ATOMIC(name, type32, type64, op)                        \
  t.add(Opcode::ds_##name##_##type32, ds_atomic<AtomicOp::op, false>);     \
  t.add(Opcode::ds_##name##_rtn_##type32, ds_atomic<AtomicOp::op, false>); \
  t.add(Opcode::ds_##name##_##type64, ds_atomic<AtomicOp::op, true>);      \
  t.add(Opcode::ds_##name##_rtn_##type64, ds_atomic<AtomicOp::op, true>);
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
#define WAVEJIT_DS_SOURCE2(name, type, op)                                  \
  t.add(Opcode::ds_##name##_src2_##type##32, source2<AtomicOp::op, false>); \
  t.add(Opcode::ds_##name##_src2_##type##64, source2<AtomicOp::op, true>);
  WAVEJIT_DS_SOURCE2(add, u, add)
  WAVEJIT_DS_SOURCE2(sub, u, sub)
  WAVEJIT_DS_SOURCE2(rsub, u, rsub)
  WAVEJIT_DS_SOURCE2(inc, u, inc)
  WAVEJIT_DS_SOURCE2(dec, u, dec)
  WAVEJIT_DS_SOURCE2(min, i, smin)
  WAVEJIT_DS_SOURCE2(max, i, smax)
  WAVEJIT_DS_SOURCE2(min, u, umin)
  WAVEJIT_DS_SOURCE2(max, u, umax)
  WAVEJIT_DS_SOURCE2(and, b, and_)
  WAVEJIT_DS_SOURCE2(or, b, or_)
  WAVEJIT_DS_SOURCE2(xor, b, xor_)
  WAVEJIT_DS_SOURCE2(write, b, swap)
#undef WAVEJIT_DS_SOURCE2
  t.add(Opcode::ds_min_src2_f32, source2<AtomicOp::fmin_f32, false>);
  t.add(Opcode::ds_max_src2_f32, source2<AtomicOp::fmax_f32, false>);
  t.add(Opcode::ds_add_src2_f32, source2<AtomicOp::fadd_f32, false>);
  t.add(Opcode::ds_min_src2_f64, source2<AtomicOp::fmin_f64, true>);
  t.add(Opcode::ds_max_src2_f64, source2<AtomicOp::fmax_f64, true>);
  t.add(Opcode::ds_cmpst_f32, ds_atomic<AtomicOp::fcmpswap_f32, false>);
  t.add(Opcode::ds_cmpst_rtn_f32, ds_atomic<AtomicOp::fcmpswap_f32, false>);
  t.add(Opcode::ds_cmpst_f64, ds_atomic<AtomicOp::fcmpswap_f64, true>);
  t.add(Opcode::ds_cmpst_rtn_f64, ds_atomic<AtomicOp::fcmpswap_f64, true>);
  t.add(Opcode::ds_wrap_rtn_b32, ds_atomic<AtomicOp::wrap, false>);
  t.add(Opcode::ds_condxchg32_rtn_b64, conditional_exchange);
  t.add(Opcode::ds_read_addtid_b32, read_addtid);
  t.add(Opcode::ds_write_addtid_b32, write_addtid);
  t.add(Opcode::ds_append, append_consume<AtomicOp::add>);
  t.add(Opcode::ds_consume, append_consume<AtomicOp::sub>);
  t.add(Opcode::ds_min_f32, ds_atomic<AtomicOp::fmin_f32, false>);
  t.add(Opcode::ds_min_rtn_f32, ds_atomic<AtomicOp::fmin_f32, false>);
  t.add(Opcode::ds_min_f64, ds_atomic<AtomicOp::fmin_f64, true>);
  t.add(Opcode::ds_min_rtn_f64, ds_atomic<AtomicOp::fmin_f64, true>);
  t.add(Opcode::ds_max_f32, ds_atomic<AtomicOp::fmax_f32, false>);
  t.add(Opcode::ds_max_rtn_f32, ds_atomic<AtomicOp::fmax_f32, false>);
  t.add(Opcode::ds_max_f64, ds_atomic<AtomicOp::fmax_f64, true>);
  t.add(Opcode::ds_max_rtn_f64, ds_atomic<AtomicOp::fmax_f64, true>);
  t.add(Opcode::ds_add_f32, ds_atomic<AtomicOp::fadd_f32, false>);
  t.add(Opcode::ds_add_rtn_f32, ds_atomic<AtomicOp::fadd_f32, false>);
  t.add(Opcode::ds_add_f64, ds_atomic<AtomicOp::fadd_f64, true>);
  t.add(Opcode::ds_add_rtn_f64, ds_atomic<AtomicOp::fadd_f64, true>);
  t.add(Opcode::ds_pk_add_f16, ds_atomic<AtomicOp::pk_fadd_f16, false>);
  t.add(Opcode::ds_pk_add_rtn_f16, ds_atomic<AtomicOp::pk_fadd_f16, false>);
  t.add(Opcode::ds_pk_add_bf16, ds_atomic<AtomicOp::pk_fadd_bf16, false>);
  t.add(Opcode::ds_pk_add_rtn_bf16, ds_atomic<AtomicOp::pk_fadd_bf16, false>);
  t.add(Opcode::ds_wrxchg_rtn_b32, ds_atomic<AtomicOp::swap, false>);
  t.add(Opcode::ds_wrxchg_rtn_b64, ds_atomic<AtomicOp::swap, true>);
  // They end blocks (cfg.cpp).
  for (const Opcode opcode : {Opcode::ds_gws_init, Opcode::ds_gws_sema_v, Opcode::ds_gws_sema_br, Opcode::ds_gws_sema_p,
                              Opcode::ds_gws_sema_release_all, Opcode::ds_gws_barrier, Opcode::ds_ordered_count})
    t.add(opcode, [](Context&) {});
}

}  // namespace wavejit::lift
