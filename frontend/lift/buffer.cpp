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
  access.mem.glc = c.inst->glc;
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
  Inst* soffset;       // i32
  Inst* stride;        // i32
  Inst* records;       // i32
  Inst* swizzled;      // i1
  Inst* index_bits;    // i32: log2 of the index stride
  Inst* element_bits;  // i32: log2 of the element size
  Inst* index;         // v32
  Inst* offset;        // v32
  Inst* structured;    // i1: the range check is on the index
};

Inst* flag(Context& c, Inst* word, unsigned bit) {
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
  buffer.soffset = c.s32(Slot::soffset);
  buffer.stride = c.and_(c.lshr(word1, 16), c.b.i32(0x3fff));
  buffer.records = c.ssa.read32(srd + 2);
  buffer.swizzled = flag(c, word1, 31);
  buffer.index_bits = c.add(c.and_(c.lshr(word3, 21), c.b.i32(3)), c.b.i32(3));
  // The element size field is gone in GFX9: always 4 bytes.
  buffer.element_bits = c.gfx9_plus() ? c.b.i32(2) : c.add(c.and_(c.lshr(word3, 19), c.b.i32(3)), c.b.i32(1));
  Inst* add_tid = flag(c, word3, 23);
  if (c.family >= isa::Family::gfx8) {  // then the data format is the stride's bits 17:14
    Inst* more = c.shl(c.and_(c.lshr(word3, 15), c.b.i32(15)), 14);
    buffer.stride = c.or_(buffer.stride, c.b.select(add_tid, more, c.b.i32(0)));
  }
  Inst* lane = c.b.select(add_tid, c.b.op(Op::lane_id, {}), c.v(0));
  buffer.index = inst.idxen ? c.add(c.row(*vaddr, 0), lane) : lane;
  buffer.offset = c.v(static_cast<uint32_t>(inst.offset));
  if (inst.offen) buffer.offset = c.add(c.row(*vaddr, inst.idxen ? 1 : 0), buffer.offset);
  Inst* has_stride = c.b.icmp(ICmp::ne, buffer.stride, c.b.i32(0));
  if (c.family == isa::Family::gfx8)
    buffer.structured = c.and_(has_stride, buffer.swizzled);
  else
    buffer.structured = inst.idxen ? has_stride : c.b.constant(ir::kI1, 0);
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

// Lanes whose access is inside the buffer: index < num_records for structured buffers, else the end of the last element
// (SGPR offset included) is not behind num_records.
Inst* in_range(Context& c, const Buffer& buffer, Inst* last_position, uint32_t element_bytes) {
  Inst* by_index = c.b.icmp(ICmp::ult, buffer.index, c.b.op(Op::splat, {buffer.records}));
  Inst* limit = c.b.op(Op::sub, {c.b.op(Op::zext64, {buffer.records}),
                                 c.add(c.b.op(Op::zext64, {buffer.soffset}), c.b.i64(element_bytes))});
  Inst* fits = c.b.op(Op::splat_mask, {c.b.icmp(ICmp::sge, limit, c.b.i64(0))});
  Inst* by_offset = c.and_(fits, c.b.icmp(ICmp::ule, last_position, c.b.op(Op::splat, {c.b.op(Op::lo32, {limit})})));
  return c.b.select(buffer.structured, by_index, by_offset);
}

Access element_access(Context& c, const Buffer& buffer, Inst* mask, uint32_t bytes) {
  Access access;
  access.mem.space = Space::global;
  access.mem.form = AddressForm::base_offset;
  access.mem.glc = c.inst->glc;
  access.mask = mask;
  access.address = {buffer.base, position(c, buffer, bytes)};
  return access;
}

// GFX6 and GFX7: 64-bit offsets from vector registers, without range check, index and swizzle.
Access address64(Context& c, uint32_t bytes) {
  Access access;
  access.mem.space = Space::global;
  access.mem.form = AddressForm::vector64;
  access.mem.imm = c.inst->offset + int64_t{bytes};
  access.mem.glc = c.inst->glc;
  access.mask = c.exec();
  Inst* base = c.b.op(Op::splat64, {base_address(c, c.operand(Slot::srsrc).reg)});
  access.address = {c.add(base, c.raw64(c.operand(Slot::vaddr)))};
  return access;
}

// The accesses of an instruction's elements, which a swizzled buffer does not keep together.
class Elements {
 public:
  Elements(Context& c, unsigned bytes, unsigned count) : c_(c) {
    if (c.inst->addr64) return;
    buffer_ = buffer_of(c);
    mask_ = c.and_(c.exec(), in_range(c, buffer_, position(c, buffer_, bytes * (count - 1)), bytes));
  }
  Access at(uint32_t bytes) const {
    return c_.inst->addr64 ? address64(c_, bytes) : element_access(c_, buffer_, mask_, bytes);
  }

 private:
  Context& c_;
  Buffer buffer_{};
  Inst* mask_ = nullptr;
};

template <uint8_t kBytes, uint8_t kCount, bool kSigned = false, Half kHalf = Half::none>
void load(Context& c) {
  const DataShape shape{kBytes, kCount, kSigned, kHalf};
  const DataShape element{kBytes, 1, kSigned, kHalf};
  if (c.srd_is_scratch && !c.inst->idxen && !c.inst->lds && !c.inst->addr64) {
    lift_load(c, scratch_access(c), shape, c.operand(Slot::vdata));
  } else {
    const Elements elements(c, kBytes, kCount);
    std::vector<Inst*> rows;
    for (unsigned i = 0; i < kCount; ++i) rows.push_back(load_rows(c, elements.at(i * kBytes), element)[0]);
    if (c.inst->lds) return store_to_lds(c, rows[0]);
    write_rows(c, rows, element, c.operand(Slot::vdata));
  }
  // What went wrong: nothing.
  if (c.inst->tfe) c.set_row(c.operand(Slot::vdata), kCount, c.v(0), c.exec());
}

template <uint8_t kBytes, uint8_t kCount, Half kHalf = Half::none>
void store(Context& c) {
  const Operand& data = c.operand(Slot::vdata);
  if (c.srd_is_scratch && !c.inst->idxen && !c.inst->addr64) {
    lift_store(c, scratch_access(c), {kBytes, kCount, false, kHalf}, data);
    return;
  }
  const Elements elements(c, kBytes, kCount);
  for (unsigned i = 0; i < kCount; ++i) lift_store(c, elements.at(i * kBytes), {kBytes, 1, false, kHalf}, data, i);
}

// A dword of each lane from LDS.
void store_lds(Context& c) {
  Inst* row = load_rows(c, lds_transfer(c), {4, 1})[0];
  Access access = Elements(c, 4, 1).at(0);
  access.mem.bytes = 4;
  access.mem.count = 1;
  std::vector<Inst*> operands{access.mask};
  operands.insert(operands.end(), access.address.begin(), access.address.end());
  operands.push_back(row);
  c.b.store(access.mem, std::move(operands));
}

template <AtomicOp kOp, bool kWide>
void atomic(Context& c) {
  const Operand& data = c.operand(Slot::vdata);
  Access access = Elements(c, kWide ? 8 : 4, 1).at(0);
  Inst* value = data_element(c, data, kWide, 0);
  Inst* compare = ir::has_two_operands(kOp) ? data_element(c, data, kWide, kWide ? 2 : 1) : nullptr;
  lift_atomic(c, std::move(access), kOp, kWide, value, compare, c.inst->glc ? &data : nullptr);
}

}  // namespace

void add_buffer(HandlerTable& t) {
  t.add(Opcode::buffer_load_ubyte, load<1, 1>);
  t.add(Opcode::buffer_load_sbyte, load<1, 1, true>);
  t.add(Opcode::buffer_load_ushort, load<2, 1>);
  t.add(Opcode::buffer_load_sshort, load<2, 1, true>);
  t.add(Opcode::buffer_load_dword, load<4, 1>);
  t.add(Opcode::buffer_load_dwordx2, load<4, 2>);
  t.add(Opcode::buffer_load_dwordx3, load<4, 3>);
  t.add(Opcode::buffer_load_dwordx4, load<4, 4>);
  t.add(Opcode::buffer_load_ubyte_d16, load<1, 1, false, Half::low>);
  t.add(Opcode::buffer_load_ubyte_d16_hi, load<1, 1, false, Half::high>);
  t.add(Opcode::buffer_load_sbyte_d16, load<1, 1, true, Half::low>);
  t.add(Opcode::buffer_load_sbyte_d16_hi, load<1, 1, true, Half::high>);
  t.add(Opcode::buffer_load_short_d16, load<2, 1, false, Half::low>);
  t.add(Opcode::buffer_load_short_d16_hi, load<2, 1, false, Half::high>);
  t.add(Opcode::buffer_store_byte, store<1, 1>);
  t.add(Opcode::buffer_store_byte_d16_hi, store<1, 1, Half::high>);
  t.add(Opcode::buffer_store_short, store<2, 1>);
  t.add(Opcode::buffer_store_short_d16_hi, store<2, 1, Half::high>);
  t.add(Opcode::buffer_store_dword, store<4, 1>);
  t.add(Opcode::buffer_store_dwordx2, store<4, 2>);
  t.add(Opcode::buffer_store_dwordx3, store<4, 3>);
  t.add(Opcode::buffer_store_dwordx4, store<4, 4>);
  t.add(Opcode::buffer_store_lds_dword, store_lds);
#define WAVEJIT_ATOMIC(name, op)                                    \
  t.add(Opcode::buffer_atomic_##name, atomic<AtomicOp::op, false>); \
  t.add(Opcode::buffer_atomic_##name##_x2, atomic<AtomicOp::op, true>);
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
  t.add(Opcode::buffer_atomic_fcmpswap, atomic<AtomicOp::fcmpswap_f32, false>);
  t.add(Opcode::buffer_atomic_fcmpswap_x2, atomic<AtomicOp::fcmpswap_f64, true>);
  t.add(Opcode::buffer_atomic_fmin, atomic<AtomicOp::fmin_f32, false>);
  t.add(Opcode::buffer_atomic_fmin_x2, atomic<AtomicOp::fmin_f64, true>);
  t.add(Opcode::buffer_atomic_fmax, atomic<AtomicOp::fmax_f32, false>);
  t.add(Opcode::buffer_atomic_fmax_x2, atomic<AtomicOp::fmax_f64, true>);
  t.add(Opcode::buffer_atomic_add_f32, atomic<AtomicOp::fadd_f32, false>);
  t.add(Opcode::buffer_atomic_pk_add_f16, atomic<AtomicOp::pk_fadd_f16, false>);
  t.add(Opcode::buffer_atomic_add_f64, atomic<AtomicOp::fadd_f64, true>);
  t.add(Opcode::buffer_atomic_min_f64, atomic<AtomicOp::fmin_f64, true>);
  t.add(Opcode::buffer_atomic_max_f64, atomic<AtomicOp::fmax_f64, true>);
}

}  // namespace wavejit::lift
