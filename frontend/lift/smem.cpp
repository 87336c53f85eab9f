// Scalar memory.
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

template <unsigned kCount>
void s_load(Context& c) {
  const Operand& dst = c.operand(Slot::sdata);
  Inst* pointer = c.s64(Slot::sbase);
  const KnownDwords known(c, pointer);
  const auto [base, imm] = scalar_address(c, pointer);
  const ir::Type type{ir::TypeKind::i32, kCount};
  Inst* loaded = known.all(c, kCount) ? c.b.op_typed(Op::undef, type, {})
                                      : c.b.op_typed(Op::load_scalar, type, {base}, 0, static_cast<uint64_t>(imm));
  // 64-bit destinations are pairs: what reads them mostly wants an address.
  for (unsigned i = 0; i < kCount; ++i) {
    Inst* value = kCount == 1 ? loaded : c.b.extract(loaded, i);
    c.ssa.write32(dst.reg + i, known.apply(c, value, i));
  }
  if (dst.reg <= sreg::kVccLo && dst.reg + kCount > sreg::kVccLo + 1)
    c.ssa.write_mask(sreg::kVccLo, c.ssa.read_mask(sreg::kVccLo));
}

constexpr ir::MemAttr kLaneDword{.space = ir::Space::global, .form = ir::AddressForm::base_only};

// Dword by dword through lane 0 of a masked vector access: dwords beyond num_records read 0.
template <unsigned kCount>
void s_buffer_load(Context& c) {
  const Operand& dst = c.operand(Slot::sdata);
  const unsigned srd = c.operand(Slot::sbase).reg;
  Inst* base = c.and_(c.ssa.read64(srd), c.b.i64(0xffffffffffff));
  Inst* stride = c.and_(c.lshr(c.ssa.read32(srd + 1), 16), c.b.i32(0x3fff));
  Inst* records = c.b.op(Op::zext64, {c.ssa.read32(srd + 2)});
  Inst* scaled = c.b.op(Op::mul, {records, c.b.op(Op::zext64, {stride})});
  Inst* limit = c.b.select(c.b.icmp(ICmp::eq, stride, c.b.i32(0)), records, scaled);
  Inst* offset = c.b.i64(static_cast<uint64_t>(static_cast<int64_t>(c.inst->offset)));
  const Operand* soffset = c.inst->find(Slot::soffset);
  if (soffset && soffset->is_reg()) offset = c.add(offset, c.b.op(Op::zext64, {c.s32(*soffset)}));
  offset = c.and_(offset, c.b.i64(~uint64_t{3}));
  Inst* values[kCount];
  for (unsigned i = 0; i < kCount; ++i) {
    Inst* at = c.add(offset, c.b.i64(4 * i));
    Inst* inside = c.b.icmp(ICmp::ule, c.add(at, c.b.i64(4)), limit);
    Inst* lane0 = c.and_(c.b.mask(1), c.b.op(Op::splat_mask, {inside}));
    Inst* loaded = c.b.load(ir::kV32, kLaneDword, {lane0, c.add(base, at)});
    values[i] = c.b.op(Op::readlane, {loaded, c.b.i32(0)});
  }
  for (unsigned i = 0; i < kCount; ++i) c.ssa.write32(dst.reg + i, values[i]);
}

template <unsigned kCount>
void s_store(Context& c) {
  const unsigned data = c.operand(Slot::sdata).reg;
  const auto [base, imm] = scalar_address(c, c.s64(Slot::sbase));
  for (unsigned i = 0; i < kCount; ++i) {
    ir::MemAttr mem = kLaneDword;
    mem.imm = imm + 4 * i;
    c.b.store(mem, {c.b.mask(1), base, c.b.op(Op::splat, {c.ssa.read32(data + i)})});
  }
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
  t.add(Opcode::s_memtime, clock<0>);
  t.add(Opcode::s_memrealtime, clock<1>);
}

}  // namespace wavejit::lift
