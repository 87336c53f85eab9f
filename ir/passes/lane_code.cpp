#include "ir/passes/lane_code.h"

#include <algorithm>

#include "ir/clone.h"

namespace wavejit::ir::passes {

void LaneCode::set_place(Block* block, Inst* before) {
  block_ = block;
  before_ = before;
  pc_ = before != nullptr && before->guest_pc != 0 ? before->guest_pc : block->guest_pc;
}

void LaneCode::set_place_for(Block* block, const Inst& inst) {
  set_place(block);
  pc_ = inst.guest_pc;
}

void LaneCode::go_on_in(Block* block) {
  const uint64_t pc = pc_;
  set_place(block);
  pc_ = pc;
}

Inst* LaneCode::make(Op op, Type type, std::vector<Inst*> operands, uint64_t imm, uint32_t attr) {
  Inst* inst = function_.create(op, type, std::move(operands));
  inst->imm = imm;
  inst->attr = attr;
  inst->guest_pc = pc_;
  if (before_ != nullptr) {
    function_.insert_before(before_, inst);
  } else {
    function_.append(block_, inst);
  }
  return inst;
}

Inst* LaneCode::icmp(ICmp predicate, Inst* a, Inst* b) {
  return make(Op::icmp, kI1, {a, b}, 0, static_cast<uint32_t>(predicate));
}

Inst* LaneCode::clone_here(const Inst& inst, std::vector<Inst*> operands) {
  Inst* copy = clone(function_, inst, std::move(operands));
  function_.append(block_, copy);
  return copy;
}

void LaneCode::add_operand(Inst* phi, Inst* value) {
  phi->operands.push_back(value);
  value->users.push_back(phi);
}

Inst* LaneCode::access(const Inst& original, Op op, Type type, std::vector<Inst*> operands, int64_t imm,
                       unsigned count) {
  Inst* inst = make(op, type, std::move(operands));
  inst->mem.space = original.mem.space;
  // What is kept back is in no aperture.
  if (op == Op::store_lane && original.mem.space == Space::flat) inst->mem.space = Space::global;
  inst->mem.form = AddressForm::base_only;
  inst->mem.bytes = original.mem.bytes;
  inst->mem.count = static_cast<uint8_t>(count);
  inst->mem.sign_extend = original.mem.sign_extend;
  inst->mem.glc = original.mem.glc;
  inst->mem.imm = imm;
  return inst;
}

std::vector<Inst*> LaneCode::load_elements(const Inst& original, Inst* lanes, Inst* address, int64_t imm,
                                           int64_t stride) {
  std::vector<Inst*> elements;
  for (unsigned i = 0; i < original.mem.count; ++i) {
    Inst* element = access(original, Op::load_lane, kI32, {lanes, address}, imm + stride * i, 1);
    // Bytes that several instructions load.
    if (original.mem.bytes == 1) element->guest_pc += 4 * (original.imm >> 8 * i & 0xff);
    elements.push_back(element);
  }
  return elements;
}

Block* LaneCode::add_block_here(bool rare) {
  auto& all = function_.blocks;
  Block* added = function_.add_block(block_->guest_pc);
  added->rare = rare;
  if (rare) return added;
  const auto here = std::find_if(all.begin(), all.end(), [&](const auto& b) { return b.get() == block_; });
  std::rotate(here + 1, all.end() - 1, all.end());
  return added;
}

void LaneCode::branch(Inst* condition, Block* then, Block* otherwise) {
  make(Op::cond_br, kNone, {condition});
  Function::connect(block_, then);
  Function::connect(block_, otherwise);
}

}  // namespace wavejit::ir::passes
