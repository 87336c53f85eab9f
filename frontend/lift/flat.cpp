// FLAT, GLOBAL and SCRATCH.
#include "frontend/lift/handlers.h"
#include "frontend/lift/memory.h"

namespace wavejit::lift {
namespace {

using ir::AddressForm;
using ir::AtomicOp;
using ir::Space;

enum class Segment { flat, global, scratch };

template <Segment kSegment>
Access access_of(Context& c) {
  const Operand& vaddr = c.operand(Slot::vaddr);
  const Operand* saddr = c.inst->find(Slot::saddr);
  const bool has_saddr = saddr && saddr->is_reg();
  Access access;
  access.mask = c.exec();
  access.mem.imm = c.inst->offset;
  access.mem.glc = c.inst->glc || c.inst->scc;
  if (kSegment == Segment::scratch) {
    // Byte offset in the lane's scratch; FLAT_SCRATCH is taken to equal scratch_base (docs/isa-decisions.md).
    access.mem.space = Space::scratch;
    Inst* base = c.ssa.read_scratch_base();
    Inst* offset = has_saddr ? c.b.op(Op::splat, {c.s32(*saddr)}) : nullptr;
    if (vaddr.is_reg()) offset = offset ? c.add(c.row(vaddr), offset) : c.row(vaddr);
    access.mem.form = offset ? AddressForm::scratch_off : AddressForm::scratch_base;
    access.address = offset ? std::vector<Inst*>{base, offset} : std::vector<Inst*>{base};
    return access;
  }
  access.mem.space = kSegment == Segment::flat ? Space::flat : Space::global;
  if (has_saddr) {
    access.mem.form = AddressForm::base_offset;
    Inst* base = c.s64(*saddr);
    access.address = {base, c.row(vaddr)};
  } else {
    access.mem.form = AddressForm::vector64;
    access.address = {c.raw64(vaddr)};
  }
  return access;
}

template <Segment kSegment, uint8_t kBytes, uint8_t kCount, bool kSigned = false, Half kHalf = Half::none>
void flat_load(Context& c) {
  const DataShape shape{kBytes, kCount, kSigned, kHalf};
  if (c.inst->lds) return store_to_lds(c, load_rows(c, access_of<kSegment>(c), shape)[0]);
  lift_load(c, access_of<kSegment>(c), shape, c.operand(Slot::vdst));
}

template <Segment kSegment, uint8_t kBytes, uint8_t kCount, Half kHalf = Half::none>
void flat_store(Context& c) {
  lift_store(c, access_of<kSegment>(c), {kBytes, kCount, false, kHalf}, c.operand(Slot::vdata));
}

template <Segment kSegment, AtomicOp kOp, bool kWide>
void flat_atomic(Context& c) {
  Access access = access_of<kSegment>(c);
  const Operand& data = c.operand(Slot::vdata);
  Inst* value = data_element(c, data, kWide, 0);
  Inst* compare = ir::has_two_operands(kOp) ? data_element(c, data, kWide, kWide ? 2 : 1) : nullptr;
  access.mem.aligned = true;
  lift_atomic(c, std::move(access), kOp, kWide, value, compare, c.inst->glc ? c.inst->find(Slot::vdst) : nullptr);
}

}  // namespace

void add_flat(HandlerTable& t) {
#define WAVEJIT_MOVES(segment)                                                                      \
  t.add(Opcode::segment##_load_ubyte, flat_load<Segment::segment, 1, 1>);                           \
  t.add(Opcode::segment##_load_sbyte, flat_load<Segment::segment, 1, 1, true>);                     \
  t.add(Opcode::segment##_load_ushort, flat_load<Segment::segment, 2, 1>);                          \
  t.add(Opcode::segment##_load_sshort, flat_load<Segment::segment, 2, 1, true>);                    \
  t.add(Opcode::segment##_load_dword, flat_load<Segment::segment, 4, 1>);                           \
  t.add(Opcode::segment##_load_dwordx2, flat_load<Segment::segment, 4, 2>);                         \
  t.add(Opcode::segment##_load_dwordx3, flat_load<Segment::segment, 4, 3>);                         \
  t.add(Opcode::segment##_load_dwordx4, flat_load<Segment::segment, 4, 4>);                         \
  t.add(Opcode::segment##_load_ubyte_d16, flat_load<Segment::segment, 1, 1, false, Half::low>);     \
  t.add(Opcode::segment##_load_ubyte_d16_hi, flat_load<Segment::segment, 1, 1, false, Half::high>); \
  t.add(Opcode::segment##_load_sbyte_d16, flat_load<Segment::segment, 1, 1, true, Half::low>);      \
  t.add(Opcode::segment##_load_sbyte_d16_hi, flat_load<Segment::segment, 1, 1, true, Half::high>);  \
  t.add(Opcode::segment##_load_short_d16, flat_load<Segment::segment, 2, 1, false, Half::low>);     \
  t.add(Opcode::segment##_load_short_d16_hi, flat_load<Segment::segment, 2, 1, false, Half::high>); \
  t.add(Opcode::segment##_store_byte, flat_store<Segment::segment, 1, 1>);                          \
  t.add(Opcode::segment##_store_byte_d16_hi, flat_store<Segment::segment, 1, 1, Half::high>);       \
  t.add(Opcode::segment##_store_short, flat_store<Segment::segment, 2, 1>);                         \
  t.add(Opcode::segment##_store_short_d16_hi, flat_store<Segment::segment, 2, 1, Half::high>);      \
  t.add(Opcode::segment##_store_dword, flat_store<Segment::segment, 4, 1>);                         \
  t.add(Opcode::segment##_store_dwordx2, flat_store<Segment::segment, 4, 2>);                       \
  t.add(Opcode::segment##_store_dwordx3, flat_store<Segment::segment, 4, 3>);                       \
  t.add(Opcode::segment##_store_dwordx4, flat_store<Segment::segment, 4, 4>);
  WAVEJIT_MOVES(flat)
  WAVEJIT_MOVES(global)
  WAVEJIT_MOVES(scratch)
#undef WAVEJIT_MOVES
#define WAVEJIT_ATOMIC(segment, name, op)                                                     \
  t.add(Opcode::segment##_atomic_##name, flat_atomic<Segment::segment, AtomicOp::op, false>); \
  t.add(Opcode::segment##_atomic_##name##_x2, flat_atomic<Segment::segment, AtomicOp::op, true>);
#define WAVEJIT_ATOMICS(segment)                                                                    \
  WAVEJIT_ATOMIC(segment, swap, swap)                                                               \
  WAVEJIT_ATOMIC(segment, cmpswap, cmpswap)                                                         \
  WAVEJIT_ATOMIC(segment, add, add)                                                                 \
  WAVEJIT_ATOMIC(segment, sub, sub)                                                                 \
  WAVEJIT_ATOMIC(segment, smin, smin)                                                               \
  WAVEJIT_ATOMIC(segment, umin, umin)                                                               \
  WAVEJIT_ATOMIC(segment, smax, smax)                                                               \
  WAVEJIT_ATOMIC(segment, umax, umax)                                                               \
  WAVEJIT_ATOMIC(segment, and, and_)                                                                \
  WAVEJIT_ATOMIC(segment, or, or_)                                                                  \
  WAVEJIT_ATOMIC(segment, xor, xor_)                                                                \
  WAVEJIT_ATOMIC(segment, inc, inc)                                                                 \
  WAVEJIT_ATOMIC(segment, dec, dec)                                                                 \
  t.add(Opcode::segment##_atomic_add_f64, flat_atomic<Segment::segment, AtomicOp::fadd_f64, true>); \
  t.add(Opcode::segment##_atomic_min_f64, flat_atomic<Segment::segment, AtomicOp::fmin_f64, true>); \
  t.add(Opcode::segment##_atomic_max_f64, flat_atomic<Segment::segment, AtomicOp::fmax_f64, true>);
  WAVEJIT_ATOMICS(flat)
  WAVEJIT_ATOMICS(global)
#undef WAVEJIT_ATOMICS
#undef WAVEJIT_ATOMIC
  t.add(Opcode::flat_atomic_fcmpswap, flat_atomic<Segment::flat, AtomicOp::fcmpswap_f32, false>);
  t.add(Opcode::flat_atomic_fcmpswap_x2, flat_atomic<Segment::flat, AtomicOp::fcmpswap_f64, true>);
  t.add(Opcode::flat_atomic_fmin, flat_atomic<Segment::flat, AtomicOp::fmin_f32, false>);
  t.add(Opcode::flat_atomic_fmin_x2, flat_atomic<Segment::flat, AtomicOp::fmin_f64, true>);
  t.add(Opcode::flat_atomic_fmax, flat_atomic<Segment::flat, AtomicOp::fmax_f32, false>);
  t.add(Opcode::flat_atomic_fmax_x2, flat_atomic<Segment::flat, AtomicOp::fmax_f64, true>);
  t.add(Opcode::global_atomic_add_f32, flat_atomic<Segment::global, AtomicOp::fadd_f32, false>);
  t.add(Opcode::global_atomic_pk_add_f16, flat_atomic<Segment::global, AtomicOp::pk_fadd_f16, false>);
  t.add(Opcode::global_atomic_pk_add_bf16, flat_atomic<Segment::global, AtomicOp::pk_fadd_bf16, false>);
  t.add(Opcode::flat_atomic_add_f32, flat_atomic<Segment::flat, AtomicOp::fadd_f32, false>);
  t.add(Opcode::flat_atomic_pk_add_f16, flat_atomic<Segment::flat, AtomicOp::pk_fadd_f16, false>);
  t.add(Opcode::flat_atomic_pk_add_bf16, flat_atomic<Segment::flat, AtomicOp::pk_fadd_bf16, false>);
#define WAVEJIT_LDS_LOADS(segment)                                                   \
  t.add(Opcode::segment##_load_lds_ubyte, flat_load<Segment::segment, 1, 1>);        \
  t.add(Opcode::segment##_load_lds_sbyte, flat_load<Segment::segment, 1, 1, true>);  \
  t.add(Opcode::segment##_load_lds_ushort, flat_load<Segment::segment, 2, 1>);       \
  t.add(Opcode::segment##_load_lds_sshort, flat_load<Segment::segment, 2, 1, true>); \
  t.add(Opcode::segment##_load_lds_dword, flat_load<Segment::segment, 4, 1>);
  WAVEJIT_LDS_LOADS(global)
  WAVEJIT_LDS_LOADS(scratch)
#undef WAVEJIT_LDS_LOADS
}

}  // namespace wavejit::lift
