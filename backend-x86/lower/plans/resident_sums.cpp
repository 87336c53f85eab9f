// Sums of matrix products that live in the wave state.
//
// The lifter keeps such sums in their VGPRs from block to block (frontend/lift/resident_rows.h), and exits write others there. Here
// the rows of the wave state become the memory that the products add to in place, so that neither reads and writes of the VGPRs nor
// the halves of 64-bit sums have code of their own. A loop over tiles puts 64-bit sums together for as long as it adds to them.
#include <algorithm>
#include <unordered_map>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "ir/matrix.h"

namespace wavejit::backend {

using ir::MatrixForm;

namespace {

// What a block does with a row of the wave state.
struct RowAccess {
  const Inst *read = nullptr, *write = nullptr;
  bool several = false;  // reads or writes
};
using RowAccesses = std::unordered_map<uint64_t, RowAccess>;

// The row that a result goes to, by one write or by those of its halves; the first of two that follow each other. None if anybody
// else has use of the result.
std::optional<uint64_t> row_written(const Inst& result) {
  const auto write_of = [&](const Inst* value) -> const Inst* {
    if (value->users.size() != 1 || value->parent != result.parent) return nullptr;
    const Inst* user = value->users[0];
    return user->op == Op::set_vgpr && user->parent == result.parent ? user : nullptr;
  };
  if (result.type.kind == ir::TypeKind::v32) {
    const Inst* write = write_of(&result);
    return write != nullptr ? std::optional(write->imm) : std::nullopt;
  }
  if (result.users.size() != 2) return std::nullopt;
  const Inst *low = result.users[0], *high = result.users[1];
  if (low->op == Op::hi32) std::swap(low, high);
  if (low->op != Op::lo32 || high->op != Op::hi32) return std::nullopt;
  const Inst *low_write = write_of(low), *high_write = write_of(high);
  if (low_write == nullptr || high_write == nullptr || high_write->imm != low_write->imm + 1) return std::nullopt;
  return low_write->imm;
}

// The results of each product of the block that has all of them side by side.
std::vector<std::span<const Inst* const>> results_of_products(const ir::Block& block) {
  std::vector<std::span<const Inst* const>> products;
  const std::span<const Inst* const> insts(block.insts.data(), block.insts.size());
  for (size_t i = 0; i < insts.size(); ++i) {
    if (!ir::is_matrix_op(insts[i]->op) || MatrixForm::decode(insts[i]->imm).index != 0) continue;
    const size_t count = MatrixForm::decode(insts[i]->imm).result_rows();
    bool whole = i + count <= insts.size();
    for (size_t row = 1; whole && row < count; ++row)
      whole = insts[i + row]->op == insts[i]->op && MatrixForm::decode(insts[i + row]->imm).index == row;
    if (whole) products.push_back(insts.subspan(i, count));
  }
  return products;
}

// The first of the rows that the results can stay in, one behind the other.
std::optional<uint64_t> resident_row(const Lowering& ctx, const RowHomes& homes, std::span<const Inst* const> results,
                                     const RowAccesses& rows) {
  const unsigned registers = ctx.parts(results[0]);
  std::optional<uint64_t> first;
  for (unsigned i = 0; i < results.size(); ++i) {
    const Inst* result = results[i];
    if (!has_own_registers(ctx, homes, result)) return std::nullopt;
    std::optional<uint64_t> own = row_written(*result);
    if (!own && result->users.size() == 1 && result->users[0]->operands[0] == result) {
      // A sum that goes on.
      const auto found = homes.resident_sums.find(result->users[0]);
      if (found != homes.resident_sums.end() && result->users[0]->parent == result->parent) own = found->second;
    }
    if (!own || *own < i * registers || (first && *own != *first + i * registers)) return std::nullopt;
    if (!first) first = *own - i * registers;
    for (unsigned part = 0; part < registers; ++part) {
      const auto row = rows.find(*own + part);
      if (row == rows.end() || row->second.write == nullptr || row->second.several) return std::nullopt;
      // What the row held is read before the products change it.
      const Inst* read = row->second.read;
      const Liveness& liveness = ctx.classes.liveness();
      if (read != nullptr && liveness.position(*read) > liveness.position(*results[0])) return std::nullopt;
    }
  }
  return first;
}

// Gives the results, and what they are added to if it comes from there, to the rows. Their reads and writes have no code.
void keep_in_state(Lowering& ctx, RowHomes& homes, std::span<const Inst* const> results, uint64_t first_row) {
  const unsigned registers = ctx.parts(results[0]);
  const auto is_read = [&](const Inst* value, uint64_t row) {
    return value->op == Op::get_vgpr && value->imm == row && value->parent == results[0]->parent &&
           value->users.size() == 1 && has_own_registers(ctx, homes, value);
  };
  for (unsigned i = 0; i < results.size(); ++i) {
    const Inst* result = results[i];
    const uint64_t own = first_row + i * registers;
    const RowHome home{.block = ctx.row(static_cast<unsigned>(first_row), 0),
                       .row = i,
                       .row_bytes = ctx.tile * 4 * registers,
                       .halves = registers == 2};
    homes.all[result] = home;
    homes.resident_sums[result] = own;
    for (const Inst* user : result->users) {
      if (ir::is_matrix_op(user->op)) continue;
      homes.in_state[user->id] = true;
      if (registers == 2) homes.in_state[user->users[0]->id] = true;
    }
    const Inst* sum = result->operands[0];
    if (registers == 1 && is_read(sum, own)) {
      homes.all[sum] = home;
      homes.in_state[sum->id] = true;
    } else if (registers == 2 && sum->op == Op::pack64 && sum->parent == result->parent && sum->users.size() == 1 &&
               has_own_registers(ctx, homes, sum) && is_read(sum->operands[0], own) &&
               is_read(sum->operands[1], own + 1)) {
      homes.all[sum] = home;
      for (const Inst* inst :
           {sum, static_cast<const Inst*>(sum->operands[0]), static_cast<const Inst*>(sum->operands[1])})
        homes.in_state[inst->id] = true;
    }
  }
}

}  // namespace

void plan_resident_sums(Lowering& ctx, RowHomes& homes) {
  for (const auto& block : ctx.function.blocks) {
    const std::vector<std::span<const Inst* const>> products = results_of_products(*block);
    if (products.empty()) continue;
    RowAccesses rows;
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::get_vgpr && inst->op != Op::set_vgpr) continue;
      RowAccess& row = rows[inst->imm];
      const Inst*& access = inst->op == Op::get_vgpr ? row.read : row.write;
      row.several = row.several || access != nullptr;
      access = inst;
    }
    // The last first, so that a product finds where the one is that adds to its results.
    for (size_t i = products.size(); i-- > 0;)
      if (const auto first = resident_row(ctx, homes, products[i], rows))
        keep_in_state(ctx, homes, products[i], *first);
  }
}

}  // namespace wavejit::backend
