#include "ir/matrix.h"

#include <fmt/format.h>

namespace wavejit::ir {
namespace {

struct Element {
  unsigned row, column, block;
};

// Which element of the result a lane of result row `index` is. Registers hold groups of four rows of a block; f64
// spreads these four over the lanes.
Element element_of(const MatrixForm& form, bool is_f64, unsigned lane) {
  const unsigned r = form.index;
  switch (form.size) {
    case 4:
      if (is_f64) return {lane / 16, lane % 4, lane / 4 % 4};
      return {r, lane % 4, lane / 4};
    case 16:
      if (is_f64) return {4 * r + lane / 16, lane % 16, 0};
      return {4 * (lane / 16) + r % 4, lane % 16, r / 4};
    default:
      return {8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4, lane % 32, r / 16};
  }
}

}  // namespace

unsigned lane_of_a(const Inst& inst, unsigned lane, unsigned group) {
  const MatrixForm form = MatrixForm::decode(inst.imm);
  const Element e = element_of(form, inst.op == Op::mfma_f64, lane);
  unsigned block = e.block;
  if (form.broadcast_log2 != 0) block = (block & ~((1u << form.broadcast_log2) - 1)) | form.broadcast_block;
  return e.row + form.size * (block + form.blocks * group);
}

unsigned lane_of_b(const Inst& inst, unsigned lane, unsigned group) {
  const MatrixForm form = MatrixForm::decode(inst.imm);
  const Element e = element_of(form, inst.op == Op::mfma_f64, lane);
  const unsigned source = e.column + form.size * (e.block + form.blocks * group);
  switch (form.swizzle) {
    case 0:
      return source;
    case 1:
      return source % 32;
    case 2:
      return 32 + source % 32;
    case 3:
      return (source + 16) % 64;
    default:
      return 16 * (form.swizzle - 4u) + source % 16;
  }
}

std::string check_matrix(const Inst& inst) {
  const MatrixForm form = MatrixForm::decode(inst.imm);
  const bool f64 = inst.op == Op::mfma_f64;
  if (form.size != 4 && form.size != 16 && form.size != 32) return fmt::format("matrices of size {}", form.size);
  if (form.blocks == 0 || form.size * form.blocks * form.groups != kWaveSize || (f64 && form.size == 32))
    return "the form's elements are not one for each lane";
  if (form.index >= form.result_rows()) return fmt::format("result row {} does not exist", form.index);
  if ((1u << (form.broadcast_log2 & 7)) > form.blocks || form.broadcast_block >= 1u << (form.broadcast_log2 & 7))
    return "a broadcast of blocks that do not exist";
  if (form.swizzle > 7) return "unknown swizzle";
  if (inst.operands.size() != 1 + 2 * size_t{form.rows}) return "operands do not fit the form";
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    if (inst.operands[i]->type != (f64 ? kV64 : kV32)) return "a row of A or B has the wrong type";
  }
  return "";
}

}  // namespace wavejit::ir
