// MUBUF and MTBUF with format conversion: calls (ir/calls.def).
#include "frontend/lift/handlers.h"
#include "frontend/lift/memory.h"
#include "ir/call_shape.h"

namespace wavejit::lift {
namespace {

enum class Registers : uint8_t { dwords, halves, high_half };

ir::CallShape shape_of(Context& c, uint8_t components, Registers registers) {
  const Instruction& inst = *c.inst;
  ir::CallShape shape;
  shape.offset = static_cast<uint16_t>(inst.offset);
  shape.count = components;
  if (inst.format == isa::Format::mtbuf) {
    shape.data_format = inst.dfmt;
    shape.number_format = inst.nfmt & 7;
  }
  shape.offen = inst.offen;
  shape.idxen = inst.idxen;
  shape.addr64 = inst.addr64;
  shape.d16 = registers != Registers::dwords;
  shape.packed = registers == Registers::halves && c.gfx9_plus();
  shape.rules = c.gfx9_plus()                   ? ir::BufferRules::gfx9
                : c.family == isa::Family::gfx8 ? ir::BufferRules::gfx8
                                                : ir::BufferRules::gfx6;
  return shape;
}

unsigned rows_of(const ir::CallShape& shape) {
  return shape.packed ? (shape.count + 1u) / 2 : shape.count;
}

// Mask, descriptor, SGPR offset, address registers.
std::vector<Inst*> address_operands(Context& c) {
  std::vector<Inst*> operands{c.exec()};
  const unsigned srd = c.operand(Slot::srsrc).reg;
  for (unsigned i = 0; i < 4; ++i) operands.push_back(c.ssa.read32(srd + i));
  operands.push_back(c.s32(Slot::soffset));
  const Operand& vaddr = c.operand(Slot::vaddr);
  for (unsigned i = 0; vaddr.is_reg() && i < vaddr.dwords; ++i) operands.push_back(c.row(vaddr, i));
  return operands;
}

template <uint8_t kComponents, Registers kRegisters>
void format_load(Context& c) {
  const ir::CallShape shape = shape_of(c, kComponents, kRegisters);
  const unsigned count = rows_of(shape);
  const ir::Type type{ir::TypeKind::v32, static_cast<uint8_t>(count)};
  Inst* loaded = c.b.op_typed(Op::call, type, address_operands(c), static_cast<uint32_t>(ir::Call::buffer_load_format),
                              shape.pack());
  Inst* mask = c.exec();
  for (unsigned i = 0; i < count; ++i) {
    Inst* value = count == 1 ? loaded : c.b.extract(loaded, i);
    if (c.inst->lds) return store_to_lds(c, value);
    const Operand& dst = c.operand(Slot::vdata);
    if (kRegisters == Registers::high_half) value = in_half(c, value, Half::high, dst, 0);
    c.set_row(dst, i, value, mask);
  }
  if (c.inst->tfe) c.set_row(c.operand(Slot::vdata), count, c.v(0), mask);
}

template <uint8_t kComponents, Registers kRegisters>
void format_store(Context& c) {
  const ir::CallShape shape = shape_of(c, kComponents, kRegisters);
  const Operand& data = c.operand(Slot::vdata);
  std::vector<Inst*> operands = address_operands(c);
  for (unsigned i = 0; i < rows_of(shape); ++i) {
    Inst* value = c.row(data, i);
    operands.push_back(kRegisters == Registers::high_half ? c.lshr(value, 16) : value);
  }
  c.b.op_typed(Op::call, ir::kNone, std::move(operands), static_cast<uint32_t>(ir::Call::buffer_store_format),
               shape.pack());
}

}  // namespace

void add_buffer_format(HandlerTable& t) {
#define WAVEJIT_FORMAT(prefix, components, n)                                              \
  t.add(Opcode::prefix##_load_format_##components, format_load<n, Registers::dwords>);     \
  t.add(Opcode::prefix##_store_format_##components, format_store<n, Registers::dwords>);   \
  t.add(Opcode::prefix##_load_format_d16_##components, format_load<n, Registers::halves>); \
  t.add(Opcode::prefix##_store_format_d16_##components, format_store<n, Registers::halves>);
  WAVEJIT_FORMAT(buffer, x, 1)
  WAVEJIT_FORMAT(buffer, xy, 2)
  WAVEJIT_FORMAT(buffer, xyz, 3)
  WAVEJIT_FORMAT(buffer, xyzw, 4)
  WAVEJIT_FORMAT(tbuffer, x, 1)
  WAVEJIT_FORMAT(tbuffer, xy, 2)
  WAVEJIT_FORMAT(tbuffer, xyz, 3)
  WAVEJIT_FORMAT(tbuffer, xyzw, 4)
#undef WAVEJIT_FORMAT
  t.add(Opcode::buffer_load_format_d16_hi_x, format_load<1, Registers::high_half>);
  t.add(Opcode::buffer_store_format_d16_hi_x, format_store<1, Registers::high_half>);
}

}  // namespace wavejit::lift
