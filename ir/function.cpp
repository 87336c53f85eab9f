#include "ir/function.h"

#include <algorithm>

#include "internal/stop_scope.h"
#include "ir/rules.h"

namespace wavejit::ir {
namespace {

// Marks an instruction that `unlink` took out; `sweep` and rebuilding passes drop it from its block.
constexpr Block* kNoBlock = nullptr;

void remove_user(Inst* value, const Inst* user) {
  // The order of users carries no meaning, and the use that goes is most often a recent one.
  const auto it = std::find(value->users.rbegin(), value->users.rend(), user);
  WAVEJIT_CHECK(it != value->users.rend(), "%{} is not a user of %{}", user->id, value->id);
  *it = value->users.back();
  value->users.pop_back();
}

bool removable(const Inst& inst) {
  const Effect effect = op_info(inst.op).effect;
  const bool access = inst.op == Op::load || inst.op == Op::store || inst.op == Op::load_edges ||
                      inst.op == Op::store_edges || inst.op == Op::load_lane || inst.op == Op::store_lane;
  if (access && inst.operands[0]->is_const(0)) return true;
  // May fault, which the guest's owner wants to know.
  const bool memory =
      inst.op == Op::load || inst.op == Op::load_edges || inst.op == Op::load_scalar || inst.op == Op::load_lane;
  return effect == Effect::pure || (effect == Effect::reads && !memory);
}

}  // namespace

Function::Function(std::string name) : name(std::move(name)), rule_counts(kNumRules) {}

Block* Function::add_block(uint64_t guest_pc) {
  auto block = std::make_unique<Block>();
  block->id = next_block_id_++;
  block->guest_pc = guest_pc;
  blocks.push_back(std::move(block));
  return blocks.back().get();
}

Inst* Function::create(Op op, Type type, std::vector<Inst*> operands) {
  StopScope::check();
  Inst& inst = storage_.emplace_back();
  inst.op = op;
  inst.type = type;
  inst.id = next_id_++;
  inst.operands = std::move(operands);
  for (Inst* operand : inst.operands) operand->users.push_back(&inst);
  return &inst;
}

void Function::append(Block* block, Inst* inst) {
  WAVEJIT_CHECK(inst->parent == nullptr, "%{} is in a block already", inst->id);
  inst->parent = block;
  block->insts.push_back(inst);
}

void Function::insert_before(Inst* position, Inst* inst) {
  WAVEJIT_CHECK(inst->parent == nullptr, "%{} is in a block already", inst->id);
  Block* block = position->parent;
  const auto it = std::find(block->insts.begin(), block->insts.end(), position);
  WAVEJIT_CHECK(it != block->insts.end(), "%{} is not in its block", position->id);
  block->insts.insert(it, inst);
  inst->parent = block;
}

void Function::unlink(Inst* inst) {
  WAVEJIT_CHECK(inst->users.empty(), "%{} still has users", inst->id);
  for (Inst* operand : inst->operands) remove_user(operand, inst);
  inst->operands.clear();
  inst->parent = kNoBlock;
}

void Function::erase(Inst* inst) {
  if (Block* block = inst->parent) {
    const auto it = std::find(block->insts.rbegin(), block->insts.rend(), inst);
    WAVEJIT_CHECK(it != block->insts.rend(), "%{} is not in its block", inst->id);
    block->insts.erase(std::next(it).base());
  }
  unlink(inst);
}

void Function::replace_all_uses(Inst* from, Inst* to) {
  if (from == to) return;
  WAVEJIT_CHECK(from->type == to->type, "%{} and %{} differ in type", from->id, to->id);
  for (Inst* user : from->users) {
    // A user listed twice has both operands replaced at its first turn; the second finds nothing left.
    for (Inst*& operand : user->operands) {
      if (operand != from) continue;
      operand = to;
      to->users.push_back(user);
    }
  }
  from->users.clear();
}

void Function::set_operand(Inst* inst, unsigned index, Inst* value) {
  Inst*& operand = inst->operands.at(index);
  if (operand == value) return;
  remove_user(operand, inst);
  operand = value;
  value->users.push_back(inst);
}

void Function::connect(Block* from, Block* to) {
  from->successors.push_back(to);
  to->predecessors.push_back(from);
}

void Function::remove_edge(Block* from, unsigned successor_index) {
  Block* to = from->successors.at(successor_index);
  // The k-th edge between two blocks is the k-th occurrence in both lists.
  const auto skip = std::count(from->successors.begin(), from->successors.begin() + successor_index, to);
  from->successors.erase(from->successors.begin() + successor_index);
  size_t position = 0;
  for (auto seen = skip;; ++position) {
    WAVEJIT_CHECK(position < to->predecessors.size(), "edge b{} -> b{} is missing", from->id, to->id);
    if (to->predecessors[position] == from && seen-- == 0) break;
  }
  to->predecessors.erase(to->predecessors.begin() + static_cast<ptrdiff_t>(position));
  for (Inst* phi : to->insts) {
    if (phi->op != Op::phi) break;
    remove_user(phi->operands[position], phi);
    phi->operands.erase(phi->operands.begin() + static_cast<ptrdiff_t>(position));
  }
}

bool Function::remove_unreachable() {
  std::vector<bool> reached(next_block_id_, false);
  std::vector<Block*> work;
  const auto reach = [&](Block* block) {
    if (reached[block->id]) return;
    reached[block->id] = true;
    work.push_back(block);
  };
  for (const Entry& entry : entries) reach(entry.block);
  while (!work.empty()) {
    Block* block = work.back();
    work.pop_back();
    for (Block* successor : block->successors) reach(successor);
  }
  bool found = false;
  for (const auto& block : blocks) {
    if (reached[block->id]) continue;
    found = true;
    while (!block->successors.empty()) remove_edge(block.get(), 0);
  }
  if (!found) return false;
  // Unreachable code may use itself in circles, so all uses go before any instruction does.
  for (const auto& block : blocks) {
    if (reached[block->id]) continue;
    for (Inst* inst : block->insts) {
      for (Inst* operand : inst->operands) remove_user(operand, inst);
      inst->operands.clear();
    }
  }
  std::erase_if(blocks, [&](const std::unique_ptr<Block>& block) {
    if (reached[block->id]) return false;
    for (Inst* inst : block->insts) unlink(inst);
    return true;
  });
  return true;
}

size_t Function::num_insts() const {
  size_t count = 0;
  for (const auto& block : blocks) count += block->insts.size();
  return count;
}

void Function::renumber() {
  uint32_t block_id = 0;
  uint32_t inst_id = 0;
  // Values first, so that dumps have no holes where stores and branches are.
  for (const auto& block : blocks) {
    block->id = block_id++;
    for (Inst* inst : block->insts) {
      if (inst->type != kNone) inst->id = inst_id++;
    }
  }
  for (const auto& block : blocks) {
    for (Inst* inst : block->insts) {
      if (inst->type == kNone) inst->id = inst_id++;
    }
  }
  next_id_ = inst_id;
  next_block_id_ = block_id;
}

void Function::reserve_ids(uint32_t inst_id, uint32_t block_id) {
  next_id_ = std::max(next_id_, inst_id);
  next_block_id_ = std::max(next_block_id_, block_id);
}

size_t Function::sweep() {
  std::vector<bool> live(next_id_, false);
  std::vector<Inst*> work;
  for (const auto& block : blocks) {
    for (Inst* inst : block->insts) {
      if (inst->parent == kNoBlock || removable(*inst)) continue;
      live[inst->id] = true;
      work.push_back(inst);
    }
  }
  while (!work.empty()) {
    Inst* inst = work.back();
    work.pop_back();
    for (Inst* operand : inst->operands) {
      if (live[operand->id]) continue;
      live[operand->id] = true;
      work.push_back(operand);
    }
  }
  size_t removed = 0;
  std::vector<Inst*> used;  // by what is dead
  for (const auto& block : blocks) {
    const size_t before = block->insts.size();
    std::erase_if(block->insts, [&](Inst* inst) {
      if (live[inst->id]) return false;
      used.insert(used.end(), inst->operands.begin(), inst->operands.end());
      inst->users.clear();
      inst->operands.clear();
      inst->parent = kNoBlock;
      return true;
    });
    removed += before - block->insts.size();
  }
  // Dead users disappear as a whole, without one search per use.
  std::vector<bool> done(next_id_, false);
  for (Inst* inst : used) {
    if (!live[inst->id] || done[inst->id]) continue;
    done[inst->id] = true;
    std::erase_if(inst->users, [&](const Inst* user) { return !live[user->id]; });
  }
  return removed;
}

}  // namespace wavejit::ir
