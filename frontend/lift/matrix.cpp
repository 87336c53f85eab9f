// Matrix instructions (MAI). Each row of the result is an operation of its own, so that rows are values like others:
// those that stay in registers and those that go to memory are decided later. EXEC is ignored.
#include "ir/matrix.h"

#include "frontend/isa/target.h"
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

using ir::MatrixForm;

enum class Element : uint8_t { f32, f64, f16, bf16, i8 };

struct Product {
  isa::Opcode opcode;
  uint8_t size, k, blocks;
  Element element;
};

// MI100 and MI200 ISA manuals, "Matrix arithmetic".
constexpr Product kProducts[] = {
    {Opcode::v_mfma_f32_32x32x1f32, 32, 1, 2, Element::f32},
    {Opcode::v_mfma_f32_16x16x1f32, 16, 1, 4, Element::f32},
    {Opcode::v_mfma_f32_4x4x1f32, 4, 1, 16, Element::f32},
    {Opcode::v_mfma_f32_32x32x2f32, 32, 2, 1, Element::f32},
    {Opcode::v_mfma_f32_16x16x4f32, 16, 4, 1, Element::f32},
    {Opcode::v_mfma_f32_32x32x4f16, 32, 4, 2, Element::f16},
    {Opcode::v_mfma_f32_16x16x4f16, 16, 4, 4, Element::f16},
    {Opcode::v_mfma_f32_4x4x4f16, 4, 4, 16, Element::f16},
    {Opcode::v_mfma_f32_32x32x8f16, 32, 8, 1, Element::f16},
    {Opcode::v_mfma_f32_16x16x16f16, 16, 16, 1, Element::f16},
    {Opcode::v_mfma_i32_32x32x4i8, 32, 4, 2, Element::i8},
    {Opcode::v_mfma_i32_16x16x4i8, 16, 4, 4, Element::i8},
    {Opcode::v_mfma_i32_4x4x4i8, 4, 4, 16, Element::i8},
    {Opcode::v_mfma_i32_32x32x8i8, 32, 8, 1, Element::i8},
    {Opcode::v_mfma_i32_16x16x16i8, 16, 16, 1, Element::i8},
    {Opcode::v_mfma_f32_32x32x2bf16, 32, 2, 2, Element::bf16},
    {Opcode::v_mfma_f32_16x16x2bf16, 16, 2, 4, Element::bf16},
    {Opcode::v_mfma_f32_4x4x2bf16, 4, 2, 16, Element::bf16},
    {Opcode::v_mfma_f32_32x32x4bf16, 32, 4, 1, Element::bf16},
    {Opcode::v_mfma_f32_16x16x8bf16, 16, 8, 1, Element::bf16},
    {Opcode::v_mfma_f32_32x32x4bf16_1k, 32, 4, 2, Element::bf16},
    {Opcode::v_mfma_f32_16x16x4bf16_1k, 16, 4, 4, Element::bf16},
    {Opcode::v_mfma_f32_4x4x4bf16_1k, 4, 4, 16, Element::bf16},
    {Opcode::v_mfma_f32_32x32x8bf16_1k, 32, 8, 1, Element::bf16},
    {Opcode::v_mfma_f32_16x16x16bf16_1k, 16, 16, 1, Element::bf16},
    {Opcode::v_mfma_f64_16x16x4f64, 16, 4, 1, Element::f64},
    {Opcode::v_mfma_f64_4x4x4f64, 4, 4, 4, Element::f64},
};

const Product* product_of(isa::Opcode opcode) {
  for (const Product& product : kProducts)
    if (product.opcode == opcode) return &product;
  return nullptr;
}

// The elements that each lane holds of A or B, in order, as values that the operation multiplies: f32, f64, or pairs of
// i16 for i8.
std::vector<Inst*> elements(Context& c, const Operand& operand, Element element, uint32_t env) {
  std::vector<Inst*> result;
  if (element == Element::f64) return {c.raw64(operand)};
  for (unsigned r = 0; r < operand.dwords; ++r) {
    Inst* x = c.row(operand, r);
    const auto op = [&](Op o, Inst* a, uint32_t n) { return c.b.op(o, {a, c.v(n)}); };
    switch (element) {
      case Element::f16:
        result.push_back(c.b.op(Op::cvt_f32_f16, {c.zext16(x)}, env));
        result.push_back(c.b.op(Op::cvt_f32_f16, {c.lshr(x, 16)}, env));
        break;
      case Element::bf16:
        result.push_back(c.shl(x, 16));
        result.push_back(op(Op::and_, x, 0xffff0000));
        break;
      case Element::i8:
        // Bytes 0 and 2, 1 and 3: the order of a sum of integers does not matter.
        result.push_back(c.b.op(Op::pk_ashr, {c.b.op(Op::pk_shl, {x, c.v(0x00080008)}), c.v(0x00080008)}));
        result.push_back(c.b.op(Op::pk_ashr, {x, c.v(0x00080008)}));
        break;
      default:
        result.push_back(x);
        break;
    }
  }
  return result;
}

void v_mfma(Context& c) {
  const Product& product = *product_of(c.inst->opcode);
  const bool is_f64 = product.element == Element::f64;
  constexpr uint32_t kKeep = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  uint32_t env = kKeep;
  if (product.element == Element::f32) env = c.env32() & kKeep;
  if ((product.element == Element::f16 || product.element == Element::bf16) &&
      isa::family_of(c.inst->target) == isa::Family::gfx90a)
    env = 0;
  if (product.element == Element::i8) env = 0;

  const std::vector<Inst*> a = elements(c, c.operand(Slot::src0), product.element, env);
  const std::vector<Inst*> b = elements(c, c.operand(Slot::src1), product.element, env);
  const auto per_lane = static_cast<uint8_t>(product.element == Element::i8 ? 2 * a.size() : a.size());
  MatrixForm form{.size = product.size,
                  .blocks = product.blocks,
                  .rows = static_cast<uint8_t>(a.size()),
                  .groups = static_cast<uint8_t>(product.k / per_lane),
                  .index = 0,
                  .broadcast_log2 = c.inst->cbsz,
                  .broadcast_block = c.inst->cbsz != 0 ? c.inst->abid : uint8_t{0},
                  .swizzle = c.inst->blgp};

  const Op op = is_f64 ? Op::mfma_f64 : product.element == Element::i8 ? Op::mfma_i16 : Op::mfma_f32;
  const Operand& source = c.operand(Slot::src2);
  const Operand& result = c.operand(Slot::vdst);
  std::vector<Inst*> rows;
  for (unsigned r = 0; r < form.result_rows(); ++r) {
    Inst* sum;
    if (source.kind == OperandKind::constant) {
      sum = is_f64 ? c.b.v64(source.value) : c.v(static_cast<uint32_t>(source.value));
    } else if (is_f64) {
      sum = c.b.op(Op::pack64, {c.row(source, 2 * r), c.row(source, 2 * r + 1)});
    } else {
      sum = c.row(source, r);
    }
    std::vector<Inst*> operands{sum};
    operands.insert(operands.end(), a.begin(), a.end());
    operands.insert(operands.end(), b.begin(), b.end());
    form.index = static_cast<uint8_t>(r);
    rows.push_back(c.b.op_typed(op, is_f64 ? ir::kV64 : ir::kV32, std::move(operands), env, form.encode()));
  }
  for (unsigned r = 0; r < rows.size(); ++r) {
    if (is_f64) {
      c.ssa.write_row(first_row(result) + 2 * r, c.b.op(Op::lo32, {rows[r]}));
      c.ssa.write_row(first_row(result) + 2 * r + 1, c.b.op(Op::hi32, {rows[r]}));
    } else {
      c.ssa.write_row(first_row(result) + r, rows[r]);
    }
  }
}

}  // namespace

// No broadcast where there is one block, and no modifiers at all of f64 (AMD matrix instruction calculator).
bool can_lift_matrix(const isa::Instruction& inst) {
  const Product* product = product_of(inst.opcode);
  if (product == nullptr) return true;
  if (product->element == Element::f64) return inst.cbsz == 0 && inst.abid == 0 && inst.blgp == 0;
  return inst.cbsz == 0 || ((1u << inst.cbsz) <= product->blocks && inst.abid < (1u << inst.cbsz));
}

void add_matrix(HandlerTable& t) {
  for (const Product& product : kProducts) t.add(product.opcode, v_mfma);
}

}  // namespace wavejit::lift
