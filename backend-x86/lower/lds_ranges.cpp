#include "backend-x86/lower/lds_ranges.h"

#include <algorithm>

namespace wavejit::backend {

using ir::Space;

namespace {

// What the offset is below in all lanes of the mask.
uint64_t guard_of(const Inst* mask, const Inst* offset) {
  if (mask->op == Op::and_) return std::min(guard_of(mask->operands[0], offset), guard_of(mask->operands[1], offset));
  const bool below =
      mask->op == Op::icmp && static_cast<ir::ICmp>(mask->attr) == ir::ICmp::ult && mask->operands[0] == offset;
  return below && mask->operands[1]->is_const() ? mask->operands[1]->imm : uint64_t{1} << 32;
}

// The largest number of these bits that is less than the limit.
int64_t largest_below(uint64_t possible, uint64_t limit) {
  uint64_t number = 0;
  for (unsigned bit = 32; bit-- > 0;) {
    const uint64_t with = number | uint64_t{1} << bit;
    if ((possible >> bit & 1) != 0 && with < limit) number = with;
  }
  return static_cast<int64_t>(number);
}

}  // namespace

bool accesses_lds(const Inst& inst) {
  if (inst.op != Op::load && inst.op != Op::load_edges && inst.op != Op::store && inst.op != Op::store_edges)
    return false;
  return inst.mem.space == Space::lds || inst.mem.space == Space::flat;
}

LdsAccess lds_access(const Lowering& ctx, const Inst& inst) {
  LdsAccess access{.stores = inst.op == Op::store || inst.op == Op::store_edges};
  if (inst.mem.form == ir::AddressForm::lds_offset && inst.mem.imm >= 0) {
    const auto maximum = [&](const Inst* value) {
      return static_cast<int64_t>(std::min<uint64_t>(ctx.shapes.bits().of(value).maximum, UINT32_MAX));
    };
    const Inst* offset = inst.operands[1];
    int64_t least = 0, most = std::min(maximum(offset), largest_below(ctx.shapes.bits().of(offset).possible,
                                                                      guard_of(inst.operands[0], offset)));
    if (offset->op == Op::add && offset->operands[1]->is_const()) {
      const auto constant = static_cast<int64_t>(static_cast<uint32_t>(offset->operands[1]->imm));
      const int64_t sum = constant + maximum(offset->operands[0]);
      if (sum <= UINT32_MAX) {
        least = constant;
        most = std::min(most, sum);
      }
    }
    access.begin = least + inst.mem.imm;
    access.end = most + inst.mem.imm + int64_t{inst.mem.bytes} * inst.mem.count;
  }
  return access;
}

}  // namespace wavejit::backend
