// Accesses to neighbouring dwords of each lane become one: the halves of ds_read2_b32, or the members of a struct.
// Lanes that are a constant distance apart then take a few whole vectors instead of one gather a dword.
//
// Only where nothing can tell: a fault is reported at the right instruction (LDS accesses do not fault, others must
// come from one instruction), nothing that lies between the accesses touches memory the other way, and stores of
// different lanes do not overlap.
#include <algorithm>
#include <optional>

#include "ir/analysis/lane_shape.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

constexpr unsigned kMaxCount = 4;  // registers of the widest access
constexpr size_t kMaxOpen = 32;    // accesses to which another may be joined

class Merger {
 public:
  explicit Merger(Function& function) : function_(function) {}

  bool run() {
    bool changed = false;
    for (const auto& block : function_.blocks) {
      changed |= merge_loads(*block);
      changed |= merge_stores(*block);
    }
    return changed;
  }

 private:
  static bool eligible(const Inst& inst) {
    return inst.mem.bytes == 4 && inst.mem.count < kMaxCount && inst.mem.space != Space::scratch && !inst.mem.glc &&
           (inst.mem.form == AddressForm::lds_offset || inst.mem.form == AddressForm::base_offset ||
            inst.mem.form == AddressForm::vector64);
  }
  static unsigned address_count(const Inst& inst) { return inst.mem.form == AddressForm::base_offset ? 3 : 2; }

  // `low` and `high` access neighbouring dwords of the same lanes.
  static bool adjacent(const Inst& low, const Inst& high) {
    if (low.mem.space != high.mem.space || low.mem.form != high.mem.form) return false;
    if (low.mem.count + high.mem.count > kMaxCount || low.mem.imm + 4 * low.mem.count != high.mem.imm) return false;
    if (low.mem.space != Space::lds && low.guest_pc != high.guest_pc) return false;
    return std::equal(low.operands.begin(), low.operands.begin() + address_count(low), high.operands.begin());
  }

  // Pairs are found until there are none left.
  bool merge_loads(Block& block) {
    bool changed = false, again = true;
    while (again) {
      again = false;
      std::vector<Inst*> open;
      for (size_t i = 0; i < block.insts.size() && !again; ++i) {
        Inst* inst = block.insts[i];
        if (is_pure(inst->op)) continue;
        if (inst->op != Op::load) {
          const bool reads = op_info(inst->op).effect == Effect::reads;
          if (!reads) open.clear();
          continue;
        }
        if (!eligible(*inst)) continue;
        for (Inst* other : open) {
          if (!adjacent(*other, *inst) && !adjacent(*inst, *other)) continue;
          const bool first_low = adjacent(*other, *inst);
          join_loads(block, other, first_low ? other : inst, first_low ? inst : other);
          function_.count(Rule::loads_merged);
          again = changed = true;
          break;
        }
        if (open.size() < kMaxOpen) open.push_back(inst);
      }
    }
    return changed;
  }

  // At the place of `first`, one of the two.
  void join_loads(Block& block, const Inst* first, Inst* low, Inst* high) {
    const unsigned count = low->mem.count + high->mem.count;
    Type type = kV32;
    type.count = static_cast<uint8_t>(count);
    Inst* both = function_.create(Op::load, type, {low->operands});
    both->mem = low->mem;
    both->mem.count = static_cast<uint8_t>(count);
    both->guest_pc = first->guest_pc;
    both->attr = first->attr;
    both->parent = &block;
    std::vector<Inst*> made{both};
    for (unsigned k = 0; k < count; ++k) {
      Inst* element = function_.create(Op::extract, kV32, {both});
      element->imm = k;
      element->guest_pc = first->guest_pc;
      element->parent = &block;
      made.push_back(element);
    }
    unsigned at = 1;
    for (Inst* part : {low, high}) {
      if (part->mem.count == 1) {
        function_.replace_all_uses(part, made[at]);
      } else {
        const std::vector<Inst*> users = part->users;
        for (Inst* user : users) {
          WAVEJIT_CHECK(user->op == Op::extract, "a tuple is only read element by element");
          function_.replace_all_uses(user, made[at + user->imm]);
        }
      }
      at += part->mem.count;
    }
    const auto place = std::find(block.insts.begin(), block.insts.end(), first);
    block.insts.insert(place, made.begin(), made.end());
    remove(block, {low, high});
  }

  // Whether no two lanes' stores of so many dwords overlap.
  bool lanes_apart(const Inst& store, unsigned count) {
    if (!shapes_) shapes_.emplace(function_);
    const LaneShape shape = shapes_->of(store.operands[address_count(store) - 1]);
    return shape.group == kWaveSize && (shape.stride >= 4 * int64_t{count} || shape.stride <= -4 * int64_t{count});
  }

  bool merge_stores(Block& block) {
    bool changed = false, again = true;
    while (again) {
      again = false;
      Inst* last = nullptr;
      for (size_t i = 0; i < block.insts.size() && !again; ++i) {
        Inst* inst = block.insts[i];
        if (is_pure(inst->op)) continue;
        Inst* before = last;
        last = inst->op == Op::store && eligible(*inst) ? inst : nullptr;
        if (last == nullptr || before == nullptr) continue;
        const bool first_low = adjacent(*before, *inst);
        if (!first_low && !adjacent(*inst, *before)) continue;
        if (!lanes_apart(*inst, inst->mem.count + before->mem.count)) continue;
        join_stores(block, before, inst, first_low ? before : inst, first_low ? inst : before);
        function_.count(Rule::stores_merged);
        again = changed = true;
      }
    }
    return changed;
  }

  // At the place of `second`.
  void join_stores(Block& block, const Inst* first, const Inst* second, Inst* low, Inst* high) {
    std::vector<Inst*> operands = low->operands;
    operands.insert(operands.end(), high->operands.begin() + address_count(*high), high->operands.end());
    Inst* both = function_.create(Op::store, kNone, operands);
    both->mem = low->mem;
    both->mem.count = static_cast<uint8_t>(low->mem.count + high->mem.count);
    both->guest_pc = first->guest_pc;
    both->attr = first->attr;
    both->parent = &block;
    block.insts.insert(std::find(block.insts.begin(), block.insts.end(), second), both);
    remove(block, {low, high});
  }

  void remove(Block& block, std::initializer_list<Inst*> gone) {
    for (Inst* inst : gone) {
      if (inst->type.is_tuple()) {
        for (Inst* extract : std::vector<Inst*>(inst->users)) {
          std::erase(block_of(extract).insts, extract);
          function_.unlink(extract);
        }
      }
      std::erase(block.insts, inst);
      function_.unlink(inst);
    }
  }
  static Block& block_of(const Inst* inst) { return *inst->parent; }

  Function& function_;
  std::optional<LaneShapes> shapes_;  // made for the first pair of stores; of the addresses, which no merge changes
};

}  // namespace

PassResult merge_accesses(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  return {.changed = Merger(function).run() || dropped};
}

}  // namespace wavejit::ir::passes
