#include "ir/passes/edges.h"

#include <algorithm>

namespace wavejit::ir::passes {

Block* block_on_edge(Function& function, Block* to, unsigned index, EdgePlace place) {
  Block* const from = to->predecessors[index];
  if (from->successors.size() == 1) return from;
  Block* const added = function.add_block(to->guest_pc);
  // Of several edges between the two blocks, the first successor is the first predecessor.
  auto earlier = std::count(to->predecessors.begin(), to->predecessors.begin() + index, from);
  const auto successor =
      std::ranges::find_if(from->successors, [&](const Block* block) { return block == to && earlier-- == 0; });
  *successor = added;
  added->predecessors.push_back(from);
  added->successors.push_back(to);
  to->predecessors[index] = added;
  Inst* const branch = function.create(Op::br, kNone);
  branch->guest_pc = to->guest_pc;
  function.append(added, branch);
  const Block* const neighbour = place == EdgePlace::in_front_of_block ? to : from;
  auto position = std::ranges::find_if(function.blocks, [&](const auto& owned) { return owned.get() == neighbour; });
  if (place == EdgePlace::behind_predecessor) ++position;
  std::rotate(position, function.blocks.end() - 1, function.blocks.end());
  return added;
}

}  // namespace wavejit::ir::passes
