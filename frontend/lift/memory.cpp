#include "frontend/lift/memory.h"

namespace wavejit::lift {
namespace {

std::vector<Inst*> operands_of(const Access& access) {
  std::vector<Inst*> operands{access.mask};
  operands.insert(operands.end(), access.address.begin(), access.address.end());
  return operands;
}

void set_elements(Access& access, DataShape shape) {
  access.mem.bytes = shape.bytes;
  access.mem.count = shape.count;
  access.mem.sign_extend = shape.sign_extend;
}

}  // namespace

Inst* in_half(Context& c, Inst* value, Half half, const Operand& dst, unsigned index) {
  if (half == Half::none) return value;
  if (half == Half::high) value = c.shl(value, 16);
  Inst* low = c.v(0xffff);
  if (c.d16_loads_clear()) return half == Half::high ? value : c.b.op(Op::and_, {value, low});
  Inst* old = c.row(dst, index);
  return half == Half::high ? c.b.op(Op::bfi, {low, old, value}) : c.b.op(Op::bfi, {low, value, old});
}

std::vector<Inst*> load_rows(Context& c, Access access, DataShape shape) {
  set_elements(access, shape);
  const ir::Type type{ir::TypeKind::v32, shape.count};
  Inst* loaded = c.b.load(type, access.mem, operands_of(access));
  std::vector<Inst*> rows;
  if (shape.count == 1) {
    rows.push_back(loaded);
  } else {
    for (unsigned i = 0; i < shape.count; ++i) rows.push_back(c.b.extract(loaded, i));
  }
  return rows;
}

void write_rows(Context& c, const std::vector<Inst*>& rows, DataShape shape, const Operand& dst, unsigned first) {
  Inst* mask = c.exec();
  for (unsigned i = 0; i < rows.size(); ++i) {
    c.set_row(dst, first + i, in_half(c, rows[i], shape.half, dst, first + i), mask);
  }
}

void lift_load(Context& c, Access access, DataShape shape, const Operand& dst, unsigned first) {
  write_rows(c, load_rows(c, std::move(access), shape), shape, dst, first);
}

void lift_store(Context& c, Access access, DataShape shape, const Operand& data, unsigned first) {
  set_elements(access, shape);
  std::vector<Inst*> operands = operands_of(access);
  for (unsigned i = 0; i < shape.count; ++i) {
    Inst* value = c.row(data, first + i);
    operands.push_back(shape.half == Half::high ? c.lshr(value, 16) : value);
  }
  c.b.store(access.mem, std::move(operands));
}

Inst* data_element(Context& c, const Operand& operand, bool wide, unsigned index) {
  if (!wide) return c.row(operand, index);
  Inst* low = c.row(operand, index);
  return c.b.op(Op::pack64, {low, c.row(operand, index + 1)});
}

void lift_atomic(Context& c, Access access, ir::AtomicOp op, bool wide, Inst* data, Inst* second,
                 const Operand* result) {
  access.mem.bytes = wide ? 8 : 4;
  access.mem.count = 1;
  access.mem.atomic_op = op;
  access.mem.glc = true;
  std::vector<Inst*> operands = operands_of(access);
  operands.push_back(data);
  if (second) operands.push_back(second);
  const ir::Type type = !result ? ir::kNone : wide ? ir::kV64 : ir::kV32;
  Inst* old = c.b.atomic(type, access.mem, std::move(operands));
  old->attr = access.fp_env;
  if (!result) return;
  Inst* mask = c.exec();
  if (!wide) {
    c.set_row(*result, 0, old, mask);
    return;
  }
  Inst* low = c.b.op(Op::lo32, {old});
  Inst* high = c.b.op(Op::hi32, {old});
  c.set_row(*result, 0, low, mask);
  c.set_row(*result, 1, high, mask);
}

}  // namespace wavejit::lift
