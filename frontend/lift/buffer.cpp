// MUBUF without format conversion. Accesses through the private segment buffer descriptor are scratch accesses; all
// others compute the address from the words of the resource descriptor (GCN3 and Vega ISA manuals, "Buffer
// Addressing").
#include "frontend/lift/handlers.h"
#include "frontend/lift/memory.h"

namespace wavejit::lift {
namespace {

using ir::AddressForm;
using ir::AtomicOp;
using ir::Space;

Inst* base_address(Context& c, unsigned srd) {
  Inst* base = c.and_(c.ssa.read64(srd), c.b.i64(0xffffffffffff));
  const Operand& soffset = c.operand(Slot::soffset);
  return c.add(base, c.b.op(Op::zext64, {c.s32(soffset)}));
}

// Swizzle on, add-tid on, stride 64 lanes, elements of 4 bytes, one record per lane: what Space::scratch means.
Access scratch_access(Context& c) {
  Access access;
  access.mem.space = Space::scratch;
  access.mem.imm = c.inst->offset;
  access.mem.glc = c.inst->glc || c.inst->scc;
  access.mask = c.exec();
  Inst* base = base_address(c, c.operand(Slot::srsrc).reg);
  if (c.inst->offen) {
    access.mem.form = AddressForm::scratch_off;
    access.address = {base, c.row(c.operand(Slot::vaddr))};
  } else {
    access.mem.form = AddressForm::scratch_base;
    access.address = {base};
  }
  return access;
}

// The descriptor's fields and the offset and index of one instruction.
struct Buffer {
  Inst* base;          // i64, SGPR offset included
  Inst* stride;        // i32
  Inst* records;       // i32
  Inst* bytes;         // i64: num_records less the SGPR offset, which may be more
  Inst* add_tid;       // i1
  Inst* indexed;       // i1: some index is used, of a register or the lane's number
  Inst* swizzled;      // i1
  Inst* index_bits;    // i32: log2 of the index stride
  Inst* element_bits;  // i32: log2 of the element size
  Inst* own_index;     // v32: of the register; null without IDXEN
  Inst* index;         // v32
  Inst* own_offset;    // v32: of the register
  Inst* offset;        // v32: and the immediate, modulo 2^32
};

Inst* flag_of(Context& c, Inst* word, unsigned bit) {
  return c.b.icmp(ICmp::ne, c.and_(word, c.b.i32(1u << bit)), c.b.i32(0));
}

Buffer buffer_of(Context& c) {
  const Instruction& inst = *c.inst;
  const unsigned srd = c.operand(Slot::srsrc).reg;
  const Operand* vaddr = c.inst->find(Slot::vaddr);
  Buffer buffer{};
  Inst* word1 = c.ssa.read32(srd + 1);
  Inst* word3 = c.ssa.read32(srd + 3);
  buffer.base = base_address(c, srd);
  buffer.stride = c.and_(c.lshr(word1, 16), c.b.i32(0x3fff));
  buffer.records = c.ssa.read32(srd + 2);
  buffer.bytes = c.b.op(Op::sub, {c.b.op(Op::zext64, {buffer.records}), c.b.op(Op::zext64, {c.s32(Slot::soffset)})});
  buffer.add_tid = flag_of(c, word3, 23);
  buffer.indexed = inst.idxen ? c.b.constant(ir::kI1, 1) : buffer.add_tid;
  buffer.swizzled = flag_of(c, word1, 31);
  if (c.gfx9_plus()) buffer.swizzled = c.and_(buffer.swizzled, buffer.indexed);
  buffer.index_bits = c.add(c.and_(c.lshr(word3, 21), c.b.i32(3)), c.b.i32(3));
  // The element size field is gone in GFX9: always 4 bytes.
  buffer.element_bits = c.gfx9_plus() ? c.b.i32(2) : c.add(c.and_(c.lshr(word3, 19), c.b.i32(3)), c.b.i32(1));
  if (c.family >= isa::Family::gfx8) {  // then the data format is the stride's bits 17:14
    Inst* more = c.shl(c.and_(c.lshr(word3, 15), c.b.i32(15)), 14);
    buffer.stride = c.or_(buffer.stride, c.b.select(buffer.add_tid, more, c.b.i32(0)));
  }
  Inst* lane = c.b.select(buffer.add_tid, c.b.op(Op::lane_id, {}), c.v(0));
  buffer.own_index = inst.idxen ? c.row(*vaddr, 0) : nullptr;
  buffer.index = inst.idxen ? c.add(buffer.own_index, lane) : lane;
  buffer.own_offset = inst.offen ? c.row(*vaddr, inst.idxen ? 1 : 0) : c.v(0);
  buffer.offset = c.add(buffer.own_offset, c.v(static_cast<uint32_t>(inst.offset)));
  return buffer;
}

// Byte position behind `base` of the element `bytes` behind the instruction's offset.
Inst* position(Context& c, const Buffer& buffer, uint32_t bytes) {
  Inst* offset = c.add(buffer.offset, c.v(bytes));
  Inst* stride = c.b.op(Op::splat, {buffer.stride});
  Inst* linear = c.add(c.b.op(Op::mul, {buffer.index, stride}), offset);
  Inst* index_bits = c.b.op(Op::splat, {buffer.index_bits});
  Inst* element_bits = c.b.op(Op::splat, {buffer.element_bits});
  const auto low_bits = [&](Inst* value, Inst* bits) {
    return c.and_(value, c.b.op(Op::sub, {c.b.op(Op::shl, {c.v(1), bits}), c.v(1)}));
  };
  const auto shift = [&](Op op, Inst* value, Inst* bits) { return c.b.op(op, {value, bits}); };
  Inst* index_high = shift(Op::lshr, buffer.index, index_bits);
  Inst* offset_high = shift(Op::shl, shift(Op::lshr, offset, element_bits), element_bits);
  Inst* blocks = c.add(c.b.op(Op::mul, {index_high, stride}), offset_high);
  Inst* swizzled = c.add(
      low_bits(offset, element_bits),
      c.add(shift(Op::shl, low_bits(buffer.index, index_bits), element_bits), shift(Op::shl, blocks, index_bits)));
  return c.b.select(buffer.swizzled, swizzled, linear);
}

// Lanes in which `bytes` bytes at the position end inside num_records bytes.
Inst* fits(Context& c, const Buffer& buffer, Inst* position, uint32_t bytes) {
  Inst* last = c.b.op(Op::sub, {buffer.bytes, c.b.i64(bytes)});
  Inst* any = c.b.op(Op::splat_mask, {c.b.icmp(ICmp::sge, last, c.b.i64(0))});
  return c.and_(any, c.b.icmp(ICmp::ule, position, c.b.op(Op::splat, {c.b.op(Op::lo32, {last})})));
}

// GFX9: `bytes` bytes at `at` behind the instruction's offset, of which the one that wraps is the sum of register and
// immediate.
Inst* in_range_gfx9(Context& c, const Buffer& buffer, uint32_t at, uint32_t bytes) {
  Inst* by_offset = fits(c, buffer, buffer.offset, at + bytes);
  if (!buffer.own_index) return c.b.select(buffer.add_tid, c.b.mask(~uint64_t{0}), by_offset);
  Inst* by_index = c.b.icmp(ICmp::ult, buffer.own_index, c.b.op(Op::splat, {buffer.records}));
  return c.b.select(c.b.icmp(ICmp::ne, buffer.stride, c.b.i32(0)), by_index, by_offset);
}

// GFX6 to GFX8: offsets do not wrap.
Inst* in_range_gfx6(Context& c, const Buffer& buffer, Inst* position, uint32_t at, uint32_t bytes) {
  const bool gfx8 = c.family == isa::Family::gfx8;
  const uint32_t constant = static_cast<uint32_t>(c.inst->offset) + at;
  Inst* offset = c.add(buffer.own_offset, c.v(constant));
  Inst* has_carry = c.b.icmp(ICmp::ugt, buffer.own_offset, c.v(~constant));
  Inst* stride = c.b.op(Op::splat, {buffer.stride});
  Inst* has_stride = c.b.icmp(ICmp::ne, buffer.stride, c.b.i32(0));
  Inst* in_record = c.b.icmp(ICmp::ult, offset, stride);
  if (!gfx8) in_record = c.b.select(buffer.indexed, in_record, c.b.mask(~uint64_t{0}));
  Inst* by_index = c.and_(c.b.icmp(ICmp::ult, buffer.index, c.b.op(Op::splat, {buffer.records})), in_record);
  // Of linear positions the product and the sum may leave 32 bits.
  Inst* product_fits = c.b.icmp(ICmp::eq, c.b.op(Op::mulhi_u, {buffer.index, stride}), c.v(0));
  Inst* linear_fits = c.and_(product_fits, c.b.icmp(ICmp::uge, position, offset));
  Inst* by_position =
      c.and_(c.b.select(buffer.swizzled, c.b.mask(~uint64_t{0}), linear_fits), fits(c, buffer, position, bytes));
  Inst* structured = gfx8 ? c.and_(has_stride, buffer.swizzled) : has_stride;
  return c.b.op(Op::andn, {c.b.select(structured, by_index, by_position), has_carry});
}

// Without mask and address.
Access linear_access(Context& c) {
  Access access;
  access.mem.space = Space::global;
  access.mem.form = AddressForm::base_offset;
  access.mem.glc = c.inst->glc || c.inst->scc;
  return access;
}

Access element_access(Context& c, const Buffer& buffer, uint32_t at, uint32_t bytes) {
  Access access = linear_access(c);
  Inst* place = position(c, buffer, at);
  access.mask = c.and_(
      c.exec(), c.gfx9_plus() ? in_range_gfx9(c, buffer, at, bytes) : in_range_gfx6(c, buffer, place, at, bytes));
  access.address = {buffer.base, place};
  return access;
}

// Lanes in which the `bytes` bytes at `at` lie in two elements of a swizzled buffer, and so apart from each other.
Inst* split_lanes(Context& c, const Buffer& buffer, uint32_t at, uint32_t bytes) {
  Inst* size = c.b.op(Op::splat, {c.b.op(Op::shl, {c.b.i32(1), buffer.element_bits})});
  Inst* in_element = c.and_(c.add(buffer.offset, c.v(at)), c.b.op(Op::sub, {size, c.v(1)}));
  Inst* crosses = c.b.icmp(ICmp::ugt, c.add(in_element, c.v(bytes)), size);
  return c.and_(c.b.op(Op::splat_mask, {buffer.swizzled}), crosses);
}

// Takes the lanes that split_lanes() finds out of the access. Null if there are none.
Inst* take_split_lanes(Context& c, const Buffer& buffer, Access& access, uint32_t at, uint32_t bytes) {
  if (bytes == 1) return nullptr;
  Inst* split = c.and_(access.mask, split_lanes(c, buffer, at, bytes));
  if (split->is_const() && split->imm == 0) return nullptr;
  access.mask = c.b.op(Op::andn, {access.mask, split});
  return split;
}

Access byte_access(Context& c, const Buffer& buffer, Inst* lanes, uint32_t at) {
  Access access = linear_access(c);
  access.mask = lanes;
  access.address = {buffer.base, position(c, buffer, at)};
  return access;
}

// Loads the element `at` bytes behind the instruction's offset, which is where `access` is.
Inst* load_element(Context& c, const Buffer& buffer, Access access, uint32_t at, DataShape element) {
  Inst* split = take_split_lanes(c, buffer, access, at, element.bytes);
  Inst* row = load_rows(c, std::move(access), element)[0];
  if (!split) return row;
  for (uint8_t i = 0; i < element.bytes; ++i) {
    const bool is_signed = element.sign_extend && i + 1 == element.bytes;
    Inst* byte = load_rows(c, byte_access(c, buffer, split, at + i), {1, 1, is_signed})[0];
    row = c.or_(row, c.shl(byte, 8 * i));
  }
  return row;
}

void store_element(Context& c, const Buffer& buffer, Access access, uint32_t at, DataShape element, const Operand& data,
                   unsigned index) {
  Inst* split = take_split_lanes(c, buffer, access, at, element.bytes);
  lift_store(c, std::move(access), element, data, index);
  if (!split) return;
  const unsigned shift = element.half == Half::high ? 16 : 0;
  for (uint8_t i = 0; i < element.bytes; ++i) {
    Access byte = byte_access(c, buffer, split, at + i);
    byte.mem.bytes = byte.mem.count = 1;
    c.b.store(byte.mem, {byte.mask, byte.address[0], byte.address[1], c.lshr(c.row(data, index), shift + 8 * i)});
  }
}

// GFX6 and GFX7: 64-bit offsets from vector registers, without range check, index and swizzle.
Access address64(Context& c) {
  Access access;
  access.mem.space = Space::global;
  access.mem.form = AddressForm::vector64;
  access.mem.imm = c.inst->offset;
  access.mem.glc = c.inst->glc || c.inst->scc;
  access.mask = c.exec();
  Inst* base = c.b.op(Op::splat64, {base_address(c, c.operand(Slot::srsrc).reg)});
  access.address = {c.add(base, c.raw64(c.operand(Slot::vaddr)))};
  return access;
}

// The access to `bytes` bytes at `at` behind the instruction's offset, which are in range as a whole or not at all.
// Not for 64-bit addresses unless `at` is 0.
Access access_at(Context& c, uint32_t at, uint32_t bytes) {
  return c.inst->addr64 ? address64(c) : element_access(c, buffer_of(c), at, bytes);
}

// An access to several dwords without an index register on GFX9. Almost always all of them are in range, or none.
struct WideAccess {
  Access whole;         // lanes in which all dwords are in range
  Inst* edges;          // mask: lanes in which the first one is, and the last is not
  Inst* limit;          // i32: where the buffer ends, from `base` on
  Buffer buffer;        // lanes of private buffers, which have no range check, go dword by dword
  Inst* private_lanes;  // mask
};

bool has_wide_access(const Context& c, unsigned count) {
  return c.gfx9_plus() && count > 1 && !c.inst->idxen;
}

WideAccess wide_access(Context& c, unsigned count) {
  WideAccess wide{};
  const Buffer& buffer = wide.buffer = buffer_of(c);
  wide.private_lanes = c.and_(c.exec(), c.b.op(Op::splat_mask, {buffer.add_tid}));
  Inst* checked = c.and_(c.exec(), c.b.op(Op::splat_mask, {c.b.op(Op::not_, {buffer.add_tid})}));
  wide.whole = linear_access(c);
  wide.whole.mask = c.and_(checked, fits(c, buffer, buffer.offset, 4 * count));
  wide.whole.address = {buffer.base, buffer.offset};
  Inst* begins = c.and_(checked, fits(c, buffer, buffer.offset, 4));
  wide.edges = c.b.op(Op::andn, {begins, wide.whole.mask});
  wide.limit = c.b.op(Op::lo32, {buffer.bytes});
  return wide;
}

Access private_access(Context& c, const WideAccess& wide, unsigned dword) {
  Access access = linear_access(c);
  access.mask = wide.private_lanes;
  access.address = {wide.buffer.base, position(c, wide.buffer, 4 * dword)};
  return access;
}

std::vector<Inst*> load_wide(Context& c, unsigned count) {
  const WideAccess wide = wide_access(c, count);
  std::vector<Inst*> rows = load_rows(c, wide.whole, {4, static_cast<uint8_t>(count)});
  const ir::Type type{ir::TypeKind::v32, static_cast<uint8_t>(count - 1)};
  Inst* edges = c.b.op_typed(Op::load_edges, type, {wide.edges, wide.buffer.base, wide.buffer.offset, wide.limit});
  for (unsigned i = 0; i < count; ++i) {
    if (i + 1 < count) rows[i] = c.or_(rows[i], count == 2 ? edges : c.b.extract(edges, i));
    rows[i] = c.or_(rows[i], load_element(c, wide.buffer, private_access(c, wide, i), 4 * i, {4, 1}));
  }
  return rows;
}

void store_wide(Context& c, unsigned count, const Operand& data) {
  const WideAccess wide = wide_access(c, count);
  lift_store(c, wide.whole, {4, static_cast<uint8_t>(count)}, data);
  std::vector<Inst*> operands{wide.edges, wide.buffer.base, wide.buffer.offset, wide.limit};
  for (unsigned i = 0; i + 1 < count; ++i) operands.push_back(c.row(data, i));
  c.b.op_typed(Op::store_edges, ir::kNone, std::move(operands));
  for (unsigned i = 0; i < count; ++i)
    store_element(c, wide.buffer, private_access(c, wide, i), 4 * i, {4, 1}, data, i);
}

template <uint8_t kBytes, uint8_t kCount, bool kSigned = false, Half kHalf = Half::none>
void buffer_load(Context& c) {
  const DataShape shape{kBytes, kCount, kSigned, kHalf};
  const DataShape element{kBytes, 1, kSigned, kHalf};
  if (c.srd_is_scratch && !c.inst->idxen && !c.inst->lds && !c.inst->addr64) {
    lift_load(c, scratch_access(c), shape, c.operand(Slot::vdata));
  } else if (has_wide_access(c, kCount)) {
    write_rows(c, load_wide(c, kCount), element, c.operand(Slot::vdata));
  } else if (c.inst->addr64 && !c.inst->lds) {
    lift_load(c, address64(c), shape, c.operand(Slot::vdata));
  } else {
    std::vector<Inst*> rows;
    if (c.inst->addr64) {
      rows = load_rows(c, address64(c), element);
    } else {
      const Buffer buffer = buffer_of(c);
      for (unsigned at = 0; at < kCount * kBytes; at += kBytes)
        rows.push_back(load_element(c, buffer, element_access(c, buffer, at, kBytes), at, element));
    }
    if (c.inst->lds) return store_to_lds(c, rows[0]);
    write_rows(c, rows, element, c.operand(Slot::vdata));
  }
  // What went wrong: nothing.
  if (c.inst->tfe) c.set_row(c.operand(Slot::vdata), kCount, c.v(0), c.exec());
}

template <uint8_t kBytes, uint8_t kCount, Half kHalf = Half::none>
void buffer_store(Context& c) {
  const Operand& data = c.operand(Slot::vdata);
  if (c.srd_is_scratch && !c.inst->idxen && !c.inst->addr64) {
    lift_store(c, scratch_access(c), {kBytes, kCount, false, kHalf}, data);
    return;
  }
  if (has_wide_access(c, kCount)) return store_wide(c, kCount, data);
  if (c.inst->addr64) return lift_store(c, address64(c), {kBytes, kCount, false, kHalf}, data);
  const Buffer buffer = buffer_of(c);
  for (unsigned i = 0; i < kCount; ++i) {
    const uint32_t at = i * kBytes;
    store_element(c, buffer, element_access(c, buffer, at, kBytes), at, {kBytes, 1, false, kHalf}, data, i);
  }
}

// A dword of each lane from LDS.
void store_lds(Context& c) {
  Inst* row = load_rows(c, lds_transfer(c), {4, 1})[0];
  Access access = access_at(c, 0, 4);
  access.mem.bytes = 4;
  access.mem.count = 1;
  std::vector<Inst*> operands{access.mask};
  operands.insert(operands.end(), access.address.begin(), access.address.end());
  operands.push_back(row);
  c.b.store(access.mem, std::move(operands));
}

template <AtomicOp kOp, bool kWide>
void buffer_atomic(Context& c) {
  const Operand& data = c.operand(Slot::vdata);
  Access access = access_at(c, 0, kWide ? 8 : 4);
  Inst* value = data_element(c, data, kWide, 0);
  Inst* compare = ir::has_two_operands(kOp) ? data_element(c, data, kWide, kWide ? 2 : 1) : nullptr;
  lift_atomic(c, std::move(access), kOp, kWide, value, compare, c.inst->glc ? &data : nullptr);
}

}  // namespace

void add_buffer(HandlerTable& t) {
  t.add(Opcode::buffer_load_ubyte, buffer_load<1, 1>);
  t.add(Opcode::buffer_load_sbyte, buffer_load<1, 1, true>);
  t.add(Opcode::buffer_load_ushort, buffer_load<2, 1>);
  t.add(Opcode::buffer_load_sshort, buffer_load<2, 1, true>);
  t.add(Opcode::buffer_load_dword, buffer_load<4, 1>);
  t.add(Opcode::buffer_load_dwordx2, buffer_load<4, 2>);
  t.add(Opcode::buffer_load_dwordx3, buffer_load<4, 3>);
  t.add(Opcode::buffer_load_dwordx4, buffer_load<4, 4>);
  t.add(Opcode::buffer_load_ubyte_d16, buffer_load<1, 1, false, Half::low>);
  t.add(Opcode::buffer_load_ubyte_d16_hi, buffer_load<1, 1, false, Half::high>);
  t.add(Opcode::buffer_load_sbyte_d16, buffer_load<1, 1, true, Half::low>);
  t.add(Opcode::buffer_load_sbyte_d16_hi, buffer_load<1, 1, true, Half::high>);
  t.add(Opcode::buffer_load_short_d16, buffer_load<2, 1, false, Half::low>);
  t.add(Opcode::buffer_load_short_d16_hi, buffer_load<2, 1, false, Half::high>);
  t.add(Opcode::buffer_store_byte, buffer_store<1, 1>);
  t.add(Opcode::buffer_store_byte_d16_hi, buffer_store<1, 1, Half::high>);
  t.add(Opcode::buffer_store_short, buffer_store<2, 1>);
  t.add(Opcode::buffer_store_short_d16_hi, buffer_store<2, 1, Half::high>);
  t.add(Opcode::buffer_store_dword, buffer_store<4, 1>);
  t.add(Opcode::buffer_store_dwordx2, buffer_store<4, 2>);
  t.add(Opcode::buffer_store_dwordx3, buffer_store<4, 3>);
  t.add(Opcode::buffer_store_dwordx4, buffer_store<4, 4>);
  t.add(Opcode::buffer_store_lds_dword, store_lds);
#define WAVEJIT_ATOMIC(name, op)                                           \
  t.add(Opcode::buffer_atomic_##name, buffer_atomic<AtomicOp::op, false>); \
  t.add(Opcode::buffer_atomic_##name##_x2, buffer_atomic<AtomicOp::op, true>);
  WAVEJIT_ATOMIC(swap, swap)
  WAVEJIT_ATOMIC(cmpswap, cmpswap)
  WAVEJIT_ATOMIC(add, add)
  WAVEJIT_ATOMIC(sub, sub)
  WAVEJIT_ATOMIC(smin, smin)
  WAVEJIT_ATOMIC(umin, umin)
  WAVEJIT_ATOMIC(smax, smax)
  WAVEJIT_ATOMIC(umax, umax)
  WAVEJIT_ATOMIC(and, and_)
  WAVEJIT_ATOMIC(or, or_)
  WAVEJIT_ATOMIC(xor, xor_)
  WAVEJIT_ATOMIC(inc, inc)
  WAVEJIT_ATOMIC(dec, dec)
#undef WAVEJIT_ATOMIC
  t.add(Opcode::buffer_atomic_fcmpswap, buffer_atomic<AtomicOp::fcmpswap_f32, false>);
  t.add(Opcode::buffer_atomic_fcmpswap_x2, buffer_atomic<AtomicOp::fcmpswap_f64, true>);
  t.add(Opcode::buffer_atomic_fmin, buffer_atomic<AtomicOp::fmin_f32, false>);
  t.add(Opcode::buffer_atomic_fmin_x2, buffer_atomic<AtomicOp::fmin_f64, true>);
  t.add(Opcode::buffer_atomic_fmax, buffer_atomic<AtomicOp::fmax_f32, false>);
  t.add(Opcode::buffer_atomic_fmax_x2, buffer_atomic<AtomicOp::fmax_f64, true>);
  t.add(Opcode::buffer_atomic_add_f32, buffer_atomic<AtomicOp::fadd_f32, false>);
  t.add(Opcode::buffer_atomic_pk_add_f16, buffer_atomic<AtomicOp::pk_fadd_f16, false>);
  t.add(Opcode::buffer_atomic_add_f64, buffer_atomic<AtomicOp::fadd_f64, true>);
  t.add(Opcode::buffer_atomic_min_f64, buffer_atomic<AtomicOp::fmin_f64, true>);
  t.add(Opcode::buffer_atomic_max_f64, buffer_atomic<AtomicOp::fmax_f64, true>);
}

}  // namespace wavejit::lift
