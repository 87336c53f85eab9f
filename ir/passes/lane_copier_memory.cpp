// Accesses of one lane to memory.
#include <algorithm>

#include "ir/passes/lane_copier.h"
#include "ir/passes/scratch_row.h"

namespace wavejit::ir::passes {
namespace {

constexpr unsigned kMaxBaseDepth = 4;  // operations that make a base

}  // namespace

Inst* LaneCopier::address_of(const Inst& access, int64_t& imm, int64_t& stride) {
  const MemAttr& mem = access.mem;
  imm = mem.imm;
  stride = mem.bytes;
  switch (mem.form) {
    case AddressForm::base_offset:
      return add64(scalar(access.operands[1]), make(Op::zext64, kI64, {scalar(access.operands[2])}));
    case AddressForm::base_only:
    case AddressForm::vector64:
      return scalar(access.operands[1]);
    case AddressForm::lds_offset:
      return add64(lds_base_, make(Op::zext64, kI64, {scalar(access.operands[1])}));
    case AddressForm::scratch_off:
    case AddressForm::scratch_base:
      break;
  }
  // Byte b of the lane is at base + (b / 4) * 256 + lane * 4 + b % 4.
  stride = mem.bytes == 4 ? 256 : mem.bytes;
  Inst* own = own_scratch(access.operands[1]);
  if (mem.form == AddressForm::scratch_base) {
    const auto byte = std::min<uint64_t>(static_cast<uint32_t>(imm), kLastScratchByte);
    imm = static_cast<int64_t>(byte / 4 * 256 + byte % 4);
    return own;
  }
  Inst* byte = scalar(access.operands[2]);
  if (imm != 0) byte = make(Op::add, kI32, {byte, constant(kI32, static_cast<uint32_t>(imm))});
  imm = 0;
  // Dwords are aligned here, so that one shift makes the row of the number.
  const bool dword = mem.bytes == 4;
  byte = make(Op::zext64, kI64, {byte});
  byte = make(Op::umin, kI64, {byte, constant(kI64, dword ? kLastScratchByte & ~3u : kLastScratchByte)});
  const auto shifted = [&](Op op, Inst* value, uint64_t by) { return make(op, kI64, {value, constant(kI64, by)}); };
  Inst* row = shifted(Op::shl, dword ? byte : shifted(Op::lshr, byte, 2), dword ? kScratchRowShift : 8);
  if (!dword) row = make(Op::or_, kI64, {row, make(Op::and_, kI64, {byte, constant(kI64, 3)})});
  return add64(own, row);
}

Inst* LaneCopier::own_scratch(Inst* base) {
  const auto sum = [&](Inst* from) { return add64(from, make(Op::shl, kI64, {lane64_, constant(kI64, 2)})); };
  if (!stays(base, kMaxBaseDepth)) return sum(scalar(base));
  Inst*& own = own_scratch_[base];
  if (own == nullptr) {
    const Elsewhere place = at_head();
    own = sum(at_head(base));
  }
  return own;
}

bool LaneCopier::stays(const Inst* value, unsigned depth) const {
  if (!inside(value)) return true;
  return depth != 0 && is_pure(value->op) && value->op != Op::phi && value->type.is_scalar() &&
         std::ranges::all_of(value->operands, [&](const Inst* operand) { return stays(operand, depth - 1); });
}

Inst* LaneCopier::at_head(Inst* value) {
  if (!inside(value)) return scalar(value);
  std::vector<Inst*> operands(value->operands.size());
  std::ranges::transform(value->operands, operands.begin(), [&](Inst* operand) { return at_head(operand); });
  return make(value->op, value->type, std::move(operands), value->imm, value->attr);
}

void LaneCopier::copy_load(Inst& inst) {
  int64_t imm = 0, stride = 0;
  Inst* lanes = scalar(inst.operands[0]);
  Inst* address = address_of(inst, imm, stride);
  const unsigned count = inst.mem.count;
  if (kept_.any() && (inst.mem.space == Space::global || inst.mem.space == Space::flat)) {
    scalars_[&inst] = kept_.load(inst, lanes, address, imm);
    return;
  }
  if (count == 1 || (stride == 4 && inst.mem.bytes == 4)) {
    scalars_[&inst] = access(inst, Op::load_lane, lane_type(inst.type), {lanes, address}, imm, count);
    return;
  }
  scalars_[&inst] = make(Op::tuple, lane_type(inst.type), load_elements(inst, lanes, address, imm, stride));
}

void LaneCopier::copy_store(Inst& inst) {
  int64_t imm = 0, stride = 0;
  Inst* lanes = scalar(inst.operands[0]);
  Inst* address = address_of(inst, imm, stride);
  const size_t first = inst.operands.size() - inst.mem.count;
  if (inst.mem.space == Space::global || inst.mem.space == Space::flat) {
    const uint64_t bytes = uint64_t{inst.mem.bytes} * inst.mem.count;
    address = kept_.place_of_store(
        lanes, imm == 0 ? address : add64(address, constant(kI64, static_cast<uint64_t>(imm))), bytes);
    imm = 0;
  }
  for (unsigned i = 0; i < inst.mem.count; ++i)
    access(inst, Op::store_lane, kNone, {lanes, address, scalar(inst.operands[first + i])}, imm + stride * i, 1);
}

void LaneCopier::check_scalar_load(const Inst& load) {
  Inst* address = scalar(load.operands[0]);
  if (load.operands.size() > 1) {
    Inst* offset = scalar(load.operands[1]);
    address = add64(address, offset->type == kI32 ? make(Op::zext64, kI64, {offset}) : offset);
  }
  if (load.imm != 0) address = add64(address, constant(kI64, load.imm));
  kept_.check_scalar_load(address, uint64_t{4} * std::max<unsigned>(load.type.count, 1));
}

}  // namespace wavejit::ir::passes
