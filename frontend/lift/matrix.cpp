// Matrix instructions (MAI). Each row of the result is an operation of its own, so that rows are values like others:
// those that stay in registers and those that go to memory are decided later. EXEC is ignored.
#include "ir/matrix.h"

#include <algorithm>

#include "frontend/isa/target.h"
#include "frontend/lift/context.h"
#include "frontend/lift/fp8.h"
#include "frontend/lift/handlers.h"
#include "ir/call_shape.h"

namespace wavejit::lift {
namespace {

using ir::MatrixForm;

enum class Element : uint8_t { f32, f64, f16, bf16, i8, xf32, fp8, bf8 };

struct Product {
  isa::Opcode opcode;
  uint8_t size, k, blocks;
  Element element;
  Element element_b = element;
};

// MI100, MI200 and MI300 ISA manuals, "Matrix arithmetic".
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
    // GFX940.
    {Opcode::v_mfma_f32_16x16x8_xf32, 16, 8, 1, Element::xf32},
    {Opcode::v_mfma_f32_32x32x4_xf32, 32, 4, 1, Element::xf32},
    {Opcode::v_mfma_i32_16x16x32_i8, 16, 32, 1, Element::i8},
    {Opcode::v_mfma_i32_32x32x16_i8, 32, 16, 1, Element::i8},
    {Opcode::v_mfma_f32_16x16x32_bf8_bf8, 16, 32, 1, Element::bf8, Element::bf8},
    {Opcode::v_mfma_f32_32x32x16_bf8_bf8, 32, 16, 1, Element::bf8, Element::bf8},
    {Opcode::v_mfma_f32_16x16x32_bf8_fp8, 16, 32, 1, Element::bf8, Element::fp8},
    {Opcode::v_mfma_f32_32x32x16_bf8_fp8, 32, 16, 1, Element::bf8, Element::fp8},
    {Opcode::v_mfma_f32_16x16x32_fp8_bf8, 16, 32, 1, Element::fp8, Element::bf8},
    {Opcode::v_mfma_f32_32x32x16_fp8_bf8, 32, 16, 1, Element::fp8, Element::bf8},
    {Opcode::v_mfma_f32_16x16x32_fp8_fp8, 16, 32, 1, Element::fp8, Element::fp8},
    {Opcode::v_mfma_f32_32x32x16_fp8_fp8, 32, 16, 1, Element::fp8, Element::fp8},
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
        result.push_back(c.b.op(Op::cvt_f32_f16, {x}, env));
        result.push_back(c.b.op(Op::cvt_f32_f16, {c.lshr(x, 16)}, env));
        break;
      case Element::bf16:
        result.push_back(c.shl(x, 16));
        result.push_back(op(Op::and_, x, 0xffff0000));
        break;
      case Element::xf32: {  // ten bits of fraction, to nearest even; infinities and NaNs stay
        Inst* odd = c.and_(c.lshr(x, 13), c.v(1));
        Inst* rounded = op(Op::and_, c.add(op(Op::add, x, 0xfff), odd), 0xffffe000);
        Inst* finite = c.b.icmp(ICmp::ne, op(Op::and_, x, 0x7f800000), c.v(0x7f800000));
        result.push_back(c.b.select(finite, rounded, x));
        break;
      }
      case Element::fp8:
      case Element::bf8:
        for (unsigned byte = 0; byte < 4; ++byte)
          result.push_back(fp8_to_f32(c, x, byte, element == Element::fp8 ? Fp8::e4m3 : Fp8::e5m2));
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
  if (product.element == Element::f32 || product.element == Element::xf32) env = c.env32() & kKeep;
  if ((product.element == Element::f16 || product.element == Element::bf16) &&
      isa::family_of(c.inst->target) == isa::Family::gfx90a)
    env = 0;
  if (product.element == Element::i8) env = 0;

  std::vector<Inst*> a = elements(c, c.operand(Slot::src0), product.element, env);
  const std::vector<Inst*> b = elements(c, c.operand(Slot::src1), product.element_b, env);
  // BLGP of GFX940's f64 negates A, B, C.
  const auto negated = [&](Inst* value, bool negate) {
    return negate ? c.b.op(Op::xor_, {value, c.like(value, uint64_t{1} << 63)}) : value;
  };
  const uint8_t negations = is_f64 ? c.inst->blgp : uint8_t{0};
  if (is_f64) a[0] = negated(a[0], (negations & 1) != (negations >> 1 & 1));
  const auto per_lane = static_cast<uint8_t>(product.element == Element::i8 ? 2 * a.size() : a.size());
  MatrixForm form{.size = product.size,
                  .blocks = product.blocks,
                  .rows = static_cast<uint8_t>(a.size()),
                  .groups = static_cast<uint8_t>(product.k / per_lane),
                  .index = 0,
                  .broadcast_log2 = c.inst->cbsz,
                  .broadcast_block = c.inst->cbsz != 0 ? c.inst->abid : uint8_t{0},
                  .swizzle = is_f64 ? uint8_t{0} : c.inst->blgp};

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
    sum = negated(sum, (negations & 4) != 0);
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

// Products of which A has two of every four elements of a row (MI300 ISA manual, "Sparse matrix"). Four rows of the
// result a call.
struct SparseProduct {
  isa::Opcode opcode;
  uint8_t size;
  ir::SparseElement element, element_b;
};
constexpr SparseProduct kSparseProducts[] = {
    {Opcode::v_smfmac_f32_16x16x64_bf8_bf8, 16, ir::SparseElement::bf8, ir::SparseElement::bf8},
    {Opcode::v_smfmac_f32_32x32x32_bf8_bf8, 32, ir::SparseElement::bf8, ir::SparseElement::bf8},
    {Opcode::v_smfmac_f32_16x16x64_bf8_fp8, 16, ir::SparseElement::bf8, ir::SparseElement::fp8},
    {Opcode::v_smfmac_f32_32x32x32_bf8_fp8, 32, ir::SparseElement::bf8, ir::SparseElement::fp8},
    {Opcode::v_smfmac_f32_16x16x64_fp8_bf8, 16, ir::SparseElement::fp8, ir::SparseElement::bf8},
    {Opcode::v_smfmac_f32_32x32x32_fp8_bf8, 32, ir::SparseElement::fp8, ir::SparseElement::bf8},
    {Opcode::v_smfmac_f32_16x16x64_fp8_fp8, 16, ir::SparseElement::fp8, ir::SparseElement::fp8},
    {Opcode::v_smfmac_f32_32x32x32_fp8_fp8, 32, ir::SparseElement::fp8, ir::SparseElement::fp8},
    {Opcode::v_smfmac_f32_16x16x32_f16, 16, ir::SparseElement::f16, ir::SparseElement::f16},
    {Opcode::v_smfmac_f32_32x32x16_f16, 32, ir::SparseElement::f16, ir::SparseElement::f16},
    {Opcode::v_smfmac_f32_16x16x32_bf16, 16, ir::SparseElement::bf16, ir::SparseElement::bf16},
    {Opcode::v_smfmac_f32_32x32x16_bf16, 32, ir::SparseElement::bf16, ir::SparseElement::bf16},
    {Opcode::v_smfmac_i32_16x16x64_i8, 16, ir::SparseElement::i8, ir::SparseElement::i8},
    {Opcode::v_smfmac_i32_32x32x32_i8, 32, ir::SparseElement::i8, ir::SparseElement::i8},
};
const SparseProduct* sparse_product_of(isa::Opcode opcode) {
  const auto* found = std::find_if(std::begin(kSparseProducts), std::end(kSparseProducts),
                                   [&](const SparseProduct& product) { return product.opcode == opcode; });
  return found == std::end(kSparseProducts) ? nullptr : found;
}
bool has_bytes(const SparseProduct& product) {
  return product.element != ir::SparseElement::f16 && product.element != ir::SparseElement::bf16;
}

void v_smfmac(Context& c) {
  const SparseProduct& product = *sparse_product_of(c.inst->opcode);
  const Operand& result = c.operand(Slot::vdst);
  const unsigned rows = product.size * product.size / kWaveSize;
  std::vector<Inst*> operands{c.b.mask(~uint64_t{0})};
  for (const Slot slot : {Slot::src0, Slot::src1, Slot::src2}) {
    const Operand& source = c.operand(slot);
    for (unsigned r = 0; r < source.dwords; ++r) operands.push_back(c.row(source, r));
  }
  std::vector<Inst*> sums;
  for (unsigned first = 0; first < rows; first += ir::SparseShape::kRows) {
    const ir::SparseShape shape{
        .size = product.size,
        .element = product.element,
        .element_b = product.element_b,
        .index_shift = static_cast<uint8_t>(c.inst->cbsz == 0 ? c.inst->abid * (has_bytes(product) ? 16 : 8) : 0),
        .first_row = static_cast<uint8_t>(first)};
    std::vector<Inst*> all = operands;
    for (unsigned r = 0; r < ir::SparseShape::kRows; ++r) all.push_back(c.row(result, first + r));
    const ir::Type type{ir::TypeKind::v32, ir::SparseShape::kRows};
    Inst* four =
        c.b.op_typed(Op::call, type, std::move(all), static_cast<uint32_t>(ir::Call::sparse_product), shape.pack());
    for (unsigned r = 0; r < ir::SparseShape::kRows; ++r) sums.push_back(c.b.extract(four, r));
  }
  for (unsigned r = 0; r < rows; ++r) c.ssa.write_row(first_row(result) + r, sums[r]);
}

}  // namespace

bool is_matrix_product(isa::Opcode opcode) {
  return product_of(opcode) != nullptr;
}

// No broadcast where there is one block, and no modifiers at all of f64, of which BLGP is negation on GFX940; there
// products of one block have no BLGP, but those of f32 (AMD matrix instruction calculator; LLVM).
bool can_lift_matrix(const isa::Instruction& inst) {
  if (const SparseProduct* sparse = sparse_product_of(inst.opcode))
    return inst.cbsz != 0 || inst.abid < (has_bytes(*sparse) ? 2 : 4);
  const Product* product = product_of(inst.opcode);
  if (product == nullptr) return true;
  const bool gfx940 = isa::family_of(inst.target) == isa::Family::gfx940;
  if (product->element == Element::f64) return inst.cbsz == 0 && inst.abid == 0 && (inst.blgp == 0 || gfx940);
  if (gfx940 && product->blocks == 1 && product->element != Element::f32 && inst.blgp != 0) return false;
  return inst.cbsz == 0 || ((1u << inst.cbsz) <= product->blocks && inst.abid < (1u << inst.cbsz));
}

void add_matrix(HandlerTable& t) {
  for (const Product& product : kProducts) t.add(product.opcode, v_mfma);
  for (const SparseProduct& product : kSparseProducts) t.add(product.opcode, v_smfmac);
}

}  // namespace wavejit::lift
