// Scalar memory.
#include <array>
#include <span>

#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

struct ScalarAddress {
  Inst* base;  // i64, a multiple of 4
  int64_t imm;
};

// base + SGPR offset + immediate, the low two bits of the sum cleared.
ScalarAddress scalar_address(Context& c, Inst* base) {
  const Operand* soffset = c.inst->find(Slot::soffset);
  if (soffset && soffset->is_reg()) base = c.add(base, c.b.op(Op::zext64, {c.s32(*soffset)}));
  int64_t imm = c.inst->offset;
  if (imm % 4 != 0) {
    base = c.add(base, c.b.i64(static_cast<uint64_t>(imm)));
    imm = 0;
  }
  return {c.and_(base, c.b.i64(~uint64_t{3})), imm};
}

// S_SCRATCH_*: the SGPR counts units of 64 bytes, and the low two bits of each part are cleared.
ScalarAddress scratch_address(Context& c, Inst* base) {
  base = c.and_(base, c.b.i64(~uint64_t{3}));
  const Operand* soffset = c.inst->find(Slot::soffset);
  if (soffset && soffset->is_reg())
    base = c.add(base, c.shl(c.b.op(Op::zext64, {c.and_(c.s32(*soffset), c.b.i32(~3u))}), 6));
  return {base, c.inst->offset & ~int64_t{3}};
}

// Results into consecutive registers. Writing both halves of VCC makes VCCZ current.
void write_loaded(Context& c, unsigned reg, std::span<Inst* const> values) {
  for (unsigned i = 0; i < values.size(); ++i) c.ssa.write32(reg + i, values[i]);
  if (reg <= sreg::kVccLo && reg + values.size() > sreg::kVccLo + 1)
    c.ssa.write_mask(sreg::kVccLo, c.ssa.read_mask(sreg::kVccLo));
}

// What the dispatch shape says about the dwords that a load finds at the dispatch packet or in the kernarg segment.
class KnownDwords {
 public:
  KnownDwords(Context& c, Inst* base) {
    const Operand* soffset = c.inst->find(Slot::soffset);
    if (!c.options.shape || (soffset && soffset->is_reg()) || c.inst->offset % 4 != 0) return;
    const DispatchShape& shape = *c.options.shape;
    if (c.ssa.is_initial_pair(base, shape.dispatch_packet_sgpr))
      at_ = &DispatchShape::packet_dword;
    else if (c.ssa.is_initial_pair(base, shape.kernarg_sgpr))
      at_ = &DispatchShape::kernarg_dword;
    shape_ = &shape;
  }
  [[nodiscard]] bool all(Context& c, unsigned count) const {
    for (unsigned i = 0; i < count; ++i)
      if (!at_ || dword(c, i).mask != UINT32_MAX) return false;
    return true;
  }
  Inst* apply(Context& c, Inst* loaded, unsigned index) const {
    if (!at_) return loaded;
    const auto [mask, value] = dword(c, index);
    if (mask == 0) return loaded;
    if (mask == UINT32_MAX) return c.b.i32(value);
    return c.or_(c.and_(loaded, c.b.i32(~mask)), c.b.i32(value));
  }

 private:
  [[nodiscard]] DispatchShape::KnownDword dword(Context& c, unsigned index) const {
    return (shape_->*at_)(c.inst->offset + 4 * int64_t{index});
  }

  const DispatchShape* shape_ = nullptr;
  DispatchShape::KnownDword (DispatchShape::*at_)(int64_t) const = nullptr;
};

template <unsigned kCount, bool kScratch = false>
void s_load(Context& c) {
  const Operand& dst = c.operand(Slot::sdata);
  Inst* pointer = c.s64(Slot::sbase);
  const KnownDwords known(c, pointer);
  const auto [base, imm] = kScratch ? scratch_address(c, pointer) : scalar_address(c, pointer);
  const ir::Type type{ir::TypeKind::i32, kCount};
  Inst* loaded = known.all(c, kCount) ? c.b.op_typed(Op::undef, type, {})
                                      : c.b.op_typed(Op::load_scalar, type, {base}, 0, static_cast<uint64_t>(imm));
  // 64-bit destinations are pairs: what reads them mostly wants an address.
  Inst* values[kCount];
  for (unsigned i = 0; i < kCount; ++i) values[i] = known.apply(c, kCount == 1 ? loaded : c.b.extract(loaded, i), i);
  write_loaded(c, dst.reg, values);
}

constexpr ir::MemAttr kLaneDword{.space = ir::Space::global, .form = ir::AddressForm::base_only};

// A buffer accessed in parts through lane 0 of masked vector accesses: what is beyond num_records (times the stride if
// there is one) is not accessed.
class ScalarBuffer {
 public:
  explicit ScalarBuffer(Context& c) {
    const unsigned srd = c.operand(Slot::sbase).reg;
    base_ = c.and_(c.ssa.read64(srd), c.b.i64(0xffffffffffff));
    Inst* stride = c.and_(c.lshr(c.ssa.read32(srd + 1), 16), c.b.i32(0x3fff));
    Inst* records = c.b.op(Op::zext64, {c.ssa.read32(srd + 2)});
    Inst* scaled = c.b.op(Op::mul, {records, c.b.op(Op::zext64, {stride})});
    limit_ = c.b.select(c.b.icmp(ICmp::eq, stride, c.b.i32(0)), records, scaled);
    Inst* offset = c.b.i64(static_cast<uint64_t>(static_cast<int64_t>(c.inst->offset)));
    const Operand* soffset = c.inst->find(Slot::soffset);
    if (soffset && soffset->is_reg()) offset = c.add(offset, c.b.op(Op::zext64, {c.s32(*soffset)}));
    offset_ = c.and_(offset, c.b.i64(~uint64_t{3}));
  }

  struct Part {
    Inst* mask;  // lane 0 if the part is inside
    Inst* address;
  };
  // `bytes` at byte `distance` from the offset. A negative offset is beyond the end: it is large without its sign.
  [[nodiscard]] Part part(Context& c, uint64_t distance, uint64_t bytes) const {
    Inst* at = c.add(offset_, c.b.i64(distance));
    Inst* inside =
        c.and_(c.b.icmp(ICmp::ule, at, limit_), c.b.icmp(ICmp::uge, c.b.op(Op::sub, {limit_, at}), c.b.i64(bytes)));
    return {c.and_(c.b.mask(1), c.b.op(Op::splat_mask, {inside})), c.add(base_, at)};
  }

 private:
  Inst* base_;
  Inst* limit_;
  Inst* offset_;
};

Inst* lane0_of(Context& c, Inst* value) {
  return c.b.op(Op::readlane, {value, c.b.i32(0)});
}

template <unsigned kCount>
void s_buffer_load(Context& c) {
  const ScalarBuffer buffer(c);
  Inst* values[kCount];
  for (unsigned i = 0; i < kCount; ++i) {
    const auto [mask, address] = buffer.part(c, 4 * i, 4);
    values[i] = lane0_of(c, c.b.load(ir::kV32, kLaneDword, {mask, address}));
  }
  write_loaded(c, c.operand(Slot::sdata).reg, values);
}

template <unsigned kCount>
void s_buffer_store(Context& c) {
  const unsigned data = c.operand(Slot::sdata).reg;
  const ScalarBuffer buffer(c);
  for (unsigned i = 0; i < kCount; ++i) {
    const auto [mask, address] = buffer.part(c, 4 * i, 4);
    c.b.store(kLaneDword, {mask, address, c.b.op(Op::splat, {c.ssa.read32(data + i)})});
  }
}

template <unsigned kCount, bool kScratch = false>
void s_store(Context& c) {
  const unsigned data = c.operand(Slot::sdata).reg;
  Inst* pointer = c.s64(Slot::sbase);
  const auto [base, imm] = kScratch ? scratch_address(c, pointer) : scalar_address(c, pointer);
  for (unsigned i = 0; i < kCount; ++i) {
    ir::MemAttr mem = kLaneDword;
    mem.imm = imm + 4 * i;
    c.b.store(mem, {c.b.mask(1), base, c.b.op(Op::splat, {c.ssa.read32(data + i)})});
  }
}

// An atomic of lane 0. Its register (pair) holds the operand, behind it that of cmpswap is what memory is compared
// with.
template <ir::AtomicOp kOp, bool kWide, bool kBuffer>
void s_atomic(Context& c) {
  const Operand& sdata = c.operand(Slot::sdata);
  constexpr unsigned kDwords = kWide ? 2 : 1;
  const auto operand = [&](unsigned reg) {
    return kWide ? c.b.op(Op::splat64, {c.ssa.read64(reg)}) : c.b.op(Op::splat, {c.ssa.read32(reg)});
  };
  ir::MemAttr mem = kLaneDword;
  mem.bytes = 4 * kDwords;
  mem.atomic_op = kOp;
  mem.glc = true;
  std::vector<Inst*> operands;
  if (kBuffer) {
    const auto [mask, address] = ScalarBuffer(c).part(c, 0, mem.bytes);
    operands = {mask, address};
  } else {
    const auto [base, imm] = scalar_address(c, c.s64(Slot::sbase));
    mem.imm = imm;
    operands = {c.b.mask(1), base};
  }
  operands.push_back(operand(sdata.reg));
  if (kOp == ir::AtomicOp::cmpswap) operands.push_back(operand(sdata.reg + kDwords));
  const bool returns = c.inst->glc;
  Inst* old = c.b.atomic(!returns ? ir::kNone : kWide ? ir::kV64 : ir::kV32, mem, std::move(operands));
  if (!returns) return;
  if (!kWide) return write_loaded(c, sdata.reg, std::array{lane0_of(c, old)});
  Inst* low = lane0_of(c, c.b.op(Op::lo32, {old}));
  write_loaded(c, sdata.reg, std::array{low, lane0_of(c, c.b.op(Op::hi32, {old}))});
}

void add_atomics(HandlerTable& t) {
  using enum ir::AtomicOp;
#define WAVEJIT_SCALAR_ATOMIC(name, kind)                             \
  t.add(Opcode::s_atomic_##name, s_atomic<kind, false, false>);       \
  t.add(Opcode::s_atomic_##name##_x2, s_atomic<kind, true, false>);   \
  t.add(Opcode::s_buffer_atomic_##name, s_atomic<kind, false, true>); \
  t.add(Opcode::s_buffer_atomic_##name##_x2, s_atomic<kind, true, true>)
  WAVEJIT_SCALAR_ATOMIC(swap, swap);
  WAVEJIT_SCALAR_ATOMIC(cmpswap, cmpswap);
  WAVEJIT_SCALAR_ATOMIC(add, add);
  WAVEJIT_SCALAR_ATOMIC(sub, sub);
  WAVEJIT_SCALAR_ATOMIC(smin, smin);
  WAVEJIT_SCALAR_ATOMIC(umin, umin);
  WAVEJIT_SCALAR_ATOMIC(smax, smax);
  WAVEJIT_SCALAR_ATOMIC(umax, umax);
  WAVEJIT_SCALAR_ATOMIC(and, and_);
  WAVEJIT_SCALAR_ATOMIC(or, or_);
  WAVEJIT_SCALAR_ATOMIC(xor, xor_);
  WAVEJIT_SCALAR_ATOMIC(inc, inc);
  WAVEJIT_SCALAR_ATOMIC(dec, dec);
#undef WAVEJIT_SCALAR_ATOMIC
}

template <uint32_t kAttr>
void clock(Context& c) {
  c.ssa.write64(c.operand(Slot::sdata).reg, c.b.op(Op::clock, {}, kAttr));
}

}  // namespace

void add_smem(HandlerTable& t) {
  t.add(Opcode::s_load_dword, s_load<1>);
  t.add(Opcode::s_load_dwordx2, s_load<2>);
  t.add(Opcode::s_load_dwordx4, s_load<4>);
  t.add(Opcode::s_load_dwordx8, s_load<8>);
  t.add(Opcode::s_load_dwordx16, s_load<16>);
  t.add(Opcode::s_buffer_load_dword, s_buffer_load<1>);
  t.add(Opcode::s_buffer_load_dwordx2, s_buffer_load<2>);
  t.add(Opcode::s_buffer_load_dwordx4, s_buffer_load<4>);
  t.add(Opcode::s_buffer_load_dwordx8, s_buffer_load<8>);
  t.add(Opcode::s_buffer_load_dwordx16, s_buffer_load<16>);
  t.add(Opcode::s_store_dword, s_store<1>);
  t.add(Opcode::s_store_dwordx2, s_store<2>);
  t.add(Opcode::s_store_dwordx4, s_store<4>);
  t.add(Opcode::s_scratch_load_dword, s_load<1, true>);
  t.add(Opcode::s_scratch_load_dwordx2, s_load<2, true>);
  t.add(Opcode::s_scratch_load_dwordx4, s_load<4, true>);
  t.add(Opcode::s_scratch_store_dword, s_store<1, true>);
  t.add(Opcode::s_scratch_store_dwordx2, s_store<2, true>);
  t.add(Opcode::s_scratch_store_dwordx4, s_store<4, true>);
  t.add(Opcode::s_buffer_store_dword, s_buffer_store<1>);
  t.add(Opcode::s_buffer_store_dwordx2, s_buffer_store<2>);
  t.add(Opcode::s_buffer_store_dwordx4, s_buffer_store<4>);
  add_atomics(t);
  t.add(Opcode::s_memtime, clock<0>);
  t.add(Opcode::s_memrealtime, clock<1>);
}

}  // namespace wavejit::lift
