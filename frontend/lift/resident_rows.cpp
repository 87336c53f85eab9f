#include "frontend/lift/resident_rows.h"

#include <algorithm>

#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

// Fewer rows fit the host's registers.
constexpr size_t kLeastRows = 8;
// At the kernel's start these rows hold the work-item ids. Specialised code computes the ids and does not read the rows.
constexpr unsigned kIdRows = 3;

bool is_row(const isa::Operand& operand) {
  return operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr;
}

bool multiplies(const GuestBlock& block) {
  return std::any_of(block.insts.begin(), block.insts.end(),
                     [](const isa::Instruction& inst) { return is_matrix_product(inst.opcode); });
}

// By block: whether it may be executed several times between two barriers, and has no product. Blocks are in reverse post-order, so
// that a loop lies between the ends of an edge back.
std::vector<bool> in_other_loops(const Cfg& cfg) {
  std::vector<bool> result(cfg.blocks.size());
  for (uint32_t i = 0; i < cfg.blocks.size(); ++i)
    for (const uint32_t next : cfg.successors(i))
      if (next <= i) std::fill(result.begin() + next, result.begin() + i + 1, true);
  for (uint32_t i = 0; i < cfg.blocks.size(); ++i) result[i] = result[i] && !multiplies(cfg.blocks[i]);
  return result;
}

}  // namespace

std::bitset<kNumRows> resident_rows(const Cfg& cfg) {
  std::bitset<kNumRows> rows;
  const auto waits = [](const GuestBlock& block) { return block.ending == Ending::barrier; };
  if (std::none_of(cfg.blocks.begin(), cfg.blocks.end(), waits)) return rows;
  for (const GuestBlock& block : cfg.blocks) {
    for (const isa::Instruction& inst : block.insts) {
      if (!is_matrix_product(inst.opcode)) continue;
      const isa::Operand *sum = inst.find(isa::Slot::src2), *result = inst.find(isa::Slot::vdst);
      if (sum->kind == isa::OperandKind::constant || first_row(*sum) != first_row(*result)) continue;
      for (unsigned i = 0; i < result->dwords; ++i) rows.set((first_row(*result) + i) % kNumRows);
    }
  }
  for (unsigned row = 0; row < kIdRows; ++row) rows.reset(row);
  if (rows.none()) return rows;
  // Rows that another loop has for something else would cost it a load and a store for each.
  const std::vector<bool> others = in_other_loops(cfg);
  for (uint32_t i = 0; i < cfg.blocks.size(); ++i) {
    if (!others[i]) continue;
    for (const isa::Instruction& inst : cfg.blocks[i].insts)
      for (unsigned k = 0; k < inst.num_operands; ++k)
        if (const isa::Operand& operand = inst.operands[k]; operand.is_dst && is_row(operand))
          for (unsigned r = 0; r < operand.dwords; ++r) rows.reset((first_row(operand) + r) % kNumRows);
  }
  if (rows.count() < kLeastRows) rows.reset();
  return rows;
}

}  // namespace wavejit::lift
