#include "frontend/lift/resident_rows.h"

#include <algorithm>

#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"

namespace wavejit::lift {
namespace {

// Fewer may stay in registers.
constexpr size_t kLeastRows = 8;
// The kernel's start has work-item ids in these, of which the code need not read the rows.
constexpr unsigned kIdRows = 3;

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
  if (rows.count() < kLeastRows) rows.reset();
  return rows;
}

}  // namespace wavejit::lift
