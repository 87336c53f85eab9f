#include "backend-x86/lower/plans/address_terms.h"

#include <algorithm>

#include "backend-x86/lower/plans/lane_addresses.h"

namespace wavejit::backend {
namespace {

void add_to(AddressTerms& sum, const ir::Inst* value, unsigned shift, unsigned depth) {
  const auto add = [&](unsigned i, unsigned by = 0) { add_to(sum, value->operands[i], shift + by, depth - 1); };
  if (value->is_const()) {
    const bool wide = value->type == ir::kI64 || value->type == ir::kV64;
    const uint64_t number = wide ? value->imm : static_cast<uint64_t>(int64_t{static_cast<int32_t>(value->imm)});
    sum.bytes = static_cast<int64_t>(static_cast<uint64_t>(sum.bytes) + (number << shift));
  } else if (depth != 0 && value->op == ir::Op::add) {
    add(0);
    add(1);
  } else if (depth != 0 && (value->op == ir::Op::splat || value->op == ir::Op::splat64 || value->op == ir::Op::zext64 ||
                            value->op == ir::Op::sext64)) {
    add(0);
  } else if (depth != 0 && value->op == ir::Op::shl && value->operands[1]->is_const() && shift < 8 &&
             value->operands[1]->imm < 8) {
    add(0, static_cast<unsigned>(value->operands[1]->imm));
  } else {
    sum.values.emplace_back(value, shift);
  }
}

}  // namespace

AddressTerms address_terms(const ir::Inst& access) {
  constexpr unsigned kDepth = 12;
  AddressTerms sum{.values = {}, .bytes = access.mem.imm};
  add_to(sum, lane_operand(access), 0, kDepth);
  if (access.mem.form == ir::AddressForm::base_offset) add_to(sum, access.operands[1], 0, kDepth);
  std::sort(sum.values.begin(), sum.values.end());
  return sum;
}

}  // namespace wavejit::backend
