#include <algorithm>
#include <set>
#include <vector>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "ir/matrix.h"

namespace wavejit::backend {

using ir::MatrixForm;

namespace {

// Gives rows in memory to matrix results that a block only splits into halves or writes to VGPRs. The initial value of the sum
// gets the same row if it has no other reader. The values then go through no registers and spill slots between the loop over tiles
// and the VGPRs. All blocks share the memory, as no such value outlives its block.
void plan_homes_in_blocks(Lowering& ctx, RowHomes& homes) {
  struct Group {
    std::vector<const Inst*> results;  // in the order of the rows
    unsigned offset, row_bytes;
  };
  std::vector<Group> groups;
  unsigned most = 0;
  for (const auto& block : ctx.function.blocks) {
    const auto is_only_taken_apart = [&](const Inst* inst) {
      return has_own_registers(ctx, homes, inst) && !inst->users.empty() &&
             std::all_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
               return user->parent == block.get() && !ctx.is_fused(user) &&
                      (user->op == Op::lo32 || user->op == Op::hi32 || user->op == Op::set_vgpr);
             });
    };
    const auto& insts = block->insts;
    unsigned bytes = 0, values = 0;
    std::vector<Group> own;
    for (size_t i = 0; i < insts.size(); ++i) {
      if (!ir::is_matrix_op(insts[i]->op) || MatrixForm::decode(insts[i]->imm).index != 0) continue;
      const unsigned count = MatrixForm::decode(insts[i]->imm).result_rows();
      Group group{.results = {}, .offset = bytes, .row_bytes = ctx.tile * 4 * ctx.parts(insts[i])};
      while (group.results.size() < count && i + group.results.size() < insts.size()) {
        const Inst* inst = insts[i + group.results.size()];
        if (inst->op != insts[i]->op || MatrixForm::decode(inst->imm).index != group.results.size() ||
            !is_only_taken_apart(inst))
          break;
        group.results.push_back(inst);
      }
      if (group.results.size() != count) continue;
      bytes += count * group.row_bytes;
      values += count * ctx.parts(insts[i]) * ctx.chunks;
      own.push_back(std::move(group));
    }
    if (values <= ctx.isa->budget().vectors) continue;
    most = std::max(most, bytes);
    groups.insert(groups.end(), own.begin(), own.end());
  }
  if (groups.empty()) return;
  const Mem memory = ctx.stack_row(most);
  for (const Group& group : groups) {
    for (unsigned row = 0; row < group.results.size(); ++row) {
      const RowHome home{.block = memory.cloneAdjusted(group.offset), .row = row, .row_bytes = group.row_bytes};
      const Inst* sum = group.results[row];
      homes.all[sum] = home;
      while (ir::is_matrix_op(sum->op)) sum = sum->operands[0];
      const bool made_here = sum->op == Op::pack64 || sum->op == Op::get_vgpr;
      if (made_here && sum->parent == group.results[row]->parent && sum->users.size() == 1 &&
          has_own_registers(ctx, homes, sum) && !ctx.is_left_out(*sum) && !homes.in_state[sum->id])
        homes.all[sum] = home;
    }
  }
}

}  // namespace

// The sums that a loop adds to are too many for registers; in memory in the order of their rows they need not be moved
// there for emit_matrix_loop. Only phis whose registers nothing but products write.
void plan_matrix_homes(Lowering& ctx, RowHomes& homes) {
  if (!ctx.on(Optimisation::matrix_homes) || !ctx.on(Optimisation::matrix_loops)) return;
  std::set<const Inst*> candidates, others;
  for (const auto& block : ctx.function.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->type.kind == ir::TypeKind::none || !ctx.classes.is_shared(inst)) continue;
      const Inst* phi = ctx.classes.representative(inst);
      if (ir::is_matrix_op(inst->op)) {
        if (phi->op == Op::phi && phi->type == inst->type && !ctx.is_invariant(phi)) candidates.insert(phi);
      } else if (inst->op != Op::phi) {
        others.insert(phi);
      }
    }
  }
  // Passes through a region have registers of their own for what they carry.
  for (const auto& block : ctx.function.blocks)
    if (ctx.regions.of(block.get()) != nullptr) return;
  plan_resident_sums(ctx, homes);
  plan_homes_in_blocks(ctx, homes);
  if (candidates.empty()) return;
  std::vector<std::vector<const Inst*>> groups;
  unsigned bytes = 0;
  for (const auto& block : ctx.function.blocks) {
    const auto& insts = block->insts;
    for (size_t i = 0; i < insts.size(); ++i) {
      if (!ir::is_matrix_op(insts[i]->op) || MatrixForm::decode(insts[i]->imm).index != 0) continue;
      const MatrixForm form = MatrixForm::decode(insts[i]->imm);
      std::set<const Inst*> rows;
      std::vector<const Inst*> phis;
      for (size_t row = 0; row < form.result_rows() && i + row < insts.size(); ++row) {
        const Inst* inst = insts[i + row];
        if (inst->op != insts[i]->op || MatrixForm::decode(inst->imm).index != row) break;
        const Inst* phi = ctx.classes.representative(inst);
        if (!candidates.contains(phi) || others.contains(phi) || homes.all.contains(phi)) break;
        if (!rows.insert(phi).second) break;
        phis.push_back(phi);
      }
      if (phis.size() != form.result_rows()) continue;
      const unsigned row_bytes = ctx.tile * 4 * ctx.parts(insts[i]);
      for (const Inst* phi : phis) homes.all[phi] = {.block = {}, .row = 0, .row_bytes = row_bytes};
      bytes += static_cast<unsigned>(phis.size()) * row_bytes;
      groups.push_back(std::move(phis));
    }
  }
  if (groups.empty()) return;
  // One piece of the stack, so that they are known distances apart.
  const Mem memory = ctx.stack_row(bytes);
  unsigned offset = 0;
  for (const auto& group : groups) {
    for (unsigned row = 0; row < group.size(); ++row) {
      RowHome& home = homes.all[group[row]];
      home.block = memory.cloneAdjusted(offset);
      home.row = row;
    }
    offset += static_cast<unsigned>(group.size()) * homes.all[group[0]].row_bytes;
  }
}

}  // namespace wavejit::backend
