// Rows that stay in the wave state (frontend/lift/resident_rows.h): each block reads such a row once, at most, and writes it once.
//
// Lifting reads and writes them in every block; blocks have been joined since. The passes before this one take registers to be
// read at entries and written at exits, so that these accesses are operations of their own until here. The backend knows them
// as get_vgpr and set_vgpr.
#include <unordered_map>

#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

// Returns whether the block accesses such rows.
bool run(Function& function, Block& block) {
  struct Row {
    Inst* value = nullptr;  // what the row holds
    Inst* held = nullptr;   // what the block read first; none: it writes first
    Inst* write = nullptr;  // the last
  };
  std::unordered_map<uint64_t, Row> rows;
  const auto drop = [&](Inst* inst, Rule rule) {
    function.count(rule);
    function.unlink(inst);
  };
  for (Inst* inst : block.insts) {
    if (inst->op == Op::read_row) {
      Row& row = rows[inst->imm];
      if (row.value == nullptr) {
        row.value = row.held = inst;
        inst->op = Op::get_vgpr;
        continue;
      }
      function.replace_all_uses(inst, row.value);
      drop(inst, Rule::row_forwarded);
    } else if (inst->op == Op::write_row) {
      Row& row = rows[inst->imm];
      if (row.write != nullptr) drop(row.write, Rule::row_write_dropped);
      row.value = inst->operands[0];
      row.write = inst;
      inst->op = Op::set_vgpr;
    }
  }
  for (const auto& [number, row] : rows)
    if (row.write != nullptr && row.value == row.held) drop(row.write, Rule::row_write_dropped);
  std::erase_if(block.insts, [](const Inst* inst) { return inst->parent == nullptr; });
  return !rows.empty();
}

}  // namespace

PassResult resident_rows(Function& function, const PassContext&) {
  PassResult result;
  for (const auto& block : function.blocks) result.changed |= run(function, *block);
  return result;
}

}  // namespace wavejit::ir::passes
