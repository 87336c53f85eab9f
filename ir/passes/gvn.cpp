// Common subexpressions: a pure instruction gives way to an equal one that dominates it.
#include <algorithm>

#include "internal/key_table.h"
#include "ir/analysis/dominators.h"
#include "ir/passes/passes.h"
#include "ir/passes/reuse.h"

namespace wavejit::ir::passes {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccd;
}

uint64_t hash_of(const Inst& inst) {
  uint64_t hash = static_cast<uint64_t>(inst.op);
  hash = mix(hash, static_cast<uint64_t>(inst.type.kind) << 8 | inst.type.count);
  hash = mix(hash, inst.attr);
  hash = mix(hash, inst.imm);
  if (inst.op == Op::phi) hash = mix(hash, inst.parent->id);
  for (const Inst* operand : inst.operands) hash = mix(hash, operand->id);
  return hash;
}

bool equal(const Inst& a, const Inst& b) {
  return a.op == b.op && a.type == b.type && a.attr == b.attr && a.imm == b.imm && a.imm2 == b.imm2 &&
         a.operands == b.operands && (a.op != Op::phi || a.parent == b.parent);
}

}  // namespace

PassResult gvn(Function& function, const PassContext&) {
  bool changed = drop_unreachable(function);
  const Dominators dominators(function);
  EarlierValues values;
  KeyTable<EarlierValues::List> table(function.num_insts());  // by hash
  for (Block* block : dominators.order()) {
    bool removed = false;
    for (Inst* inst : block->insts) {
      if (!is_pure(inst->op)) continue;
      if (op_info(inst->op).commutes && !inst->operands[1]->is_const() &&
          inst->operands[0]->id > inst->operands[1]->id) {
        std::swap(inst->operands[0], inst->operands[1]);
        function.count(Rule::operands_by_age);
        changed = true;
      }
      removed |= replace_by_earlier(function, dominators, values, table.at(hash_of(*inst)), inst, Rule::same_value,
                                    [&](const Inst& other) { return equal(other, *inst); });
    }
    if (removed) std::erase_if(block->insts, [](const Inst* inst) { return inst->parent == nullptr; });
    changed |= removed;
  }
  return {.changed = changed};
}

}  // namespace wavejit::ir::passes
