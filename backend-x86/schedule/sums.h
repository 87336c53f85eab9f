// Orders a segment so that as many sums (accumulators) as fit stay in host registers while all of their terms are
// added.
//
// An unrolled matrix product adds one term to every sum before the second term of the first sum. With more sums than
// registers, each addition then loads and stores a sum. In the order made here a group of sums that fits the registers
// takes all of its terms, then the next group follows. A factor is computed where the first term reads it. Groups are
// chosen so that few of them share an expensive factor; a cheap factor is recomputed in each group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wavejit::backend::schedule {

inline constexpr uint32_t kNoNode = UINT32_MAX;

// An instruction of a segment. Nodes are numbered in the order of the guest's code, which is a valid one.
struct Node {
  std::vector<uint32_t> before;  // nodes that have to be emitted earlier; all have lower numbers
  bool adds = false;             // the result is a sum: one operand and a term
  uint32_t sum = kNoNode;        // the node that makes that operand, if it is of the segment and nothing else reads it
  uint32_t factor = 0;           // terms with the same number share a factor
  unsigned registers = 0;        // host vector registers that the result takes
  bool early = false;            // stays in front of all terms: an access to memory that may fault
  bool again = false;            // cheap, and may be emitted several times: wherever it stands behind its `before`
};

// An order of the nodes' numbers that respects `before`, or nothing if the guest's order is as good: the sums fit, or
// have too few terms each. Nodes with `again` may be in it several times, the others are in it once. `registers`: those
// of the host for vectors.
[[nodiscard]] std::vector<uint32_t> order_by_sums(std::span<const Node> nodes, unsigned registers);

}  // namespace wavejit::backend::schedule
