// The list of passes and the driver that runs them.
#include <algorithm>

#include "ir/pass.h"
#include "ir/passes/passes.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

constexpr Pass kPipeline[] = {
    {"peephole", "constant folding, copy propagation, algebraic simplification", passes::peephole},
    {"cfg", "constant branches, chains of blocks, trivial phis", passes::cfg},
    {"gvn", "common subexpressions", passes::gvn},
    {"mask-algebra", "masks that contain or exclude each other; EXEC restored", passes::mask_algebra},
    {"flatten", "short blocks that no lane may need without a branch around them", passes::flatten},
    {"demanded-lanes", "merges and mask operations whose other lanes nobody reads", passes::demanded_lanes},
    {"peephole", "constant folding, copy propagation, algebraic simplification", passes::peephole},
    {"uniform-phis", "vector phis that are the same in all lanes to scalar phis", passes::uniform_phis},
    {"recombine", "pairs of 32-bit operations to 64-bit operations", passes::recombine},
    {"phi-pairs", "phis of halves to 64-bit phis, phis of mask numbers to mask phis", passes::phi_pairs},
    {"peephole", "constant folding, copy propagation, algebraic simplification", passes::peephole},
    {"gvn", "common subexpressions", passes::gvn},
    {"long-divisions", "compilers' sequences for 64-bit quotients", passes::long_divisions},
    {"recombine", "pairs of 32-bit operations to 64-bit operations", passes::recombine},
    {"phi-pairs", "phis of halves to 64-bit phis, phis of mask numbers to mask phis", passes::phi_pairs},
    {"resumed-values", "registers computed again behind barriers instead of read", passes::resumed_values},
    {"resumed-bounds", "bits of LDS addresses that come back from barriers", passes::resumed_bounds},
    {"peephole", "constant folding, copy propagation, algebraic simplification", passes::peephole},
    {"branch-facts", "conditions and masks that a branch decides", passes::branch_facts},
    {"mask-algebra", "masks that contain or exclude each other; EXEC restored", passes::mask_algebra},
    {"demanded-lanes", "merges and mask operations whose other lanes nobody reads", passes::demanded_lanes},
    {"peephole", "constant folding, copy propagation, algebraic simplification", passes::peephole},
    {"flatten", "short blocks that no lane may need without a branch around them", passes::flatten},
    {"peephole", "constant folding, copy propagation, algebraic simplification", passes::peephole},
    {"mask-terms", "masks that are the same conjunction, whatever operations spell it", passes::mask_terms},
    {"address", "uniform base plus 32-bit lane offset plus constant", passes::address},
    {"uniform-stores", "stores of several lanes to one address", passes::uniform_stores},
    {"loop-bounds", "comparisons that bounds decide, those of loop counters above all", passes::loop_bounds},
    {"peephole", "constant folding, copy propagation, algebraic simplification", passes::peephole},
    {"cfg", "constant branches, chains of blocks, trivial phis", passes::cfg},
    {"gvn", "common subexpressions", passes::gvn},
    {"polls", "polls in loops that may wait for what others do", passes::polls},
    {"full-loops", "copies of loops for as long as all lanes are in them", passes::full_loops},
    {"peephole", "constant folding, copy propagation, algebraic simplification", passes::peephole},
    {"unclamped-copies", "copies of blocks for waves with all lanes on and no index at its bounds",
     passes::unclamped_copies},
    {"merge-accesses", "accesses to neighbouring dwords of a lane", passes::merge_accesses},
    {"merge-bytes", "loads of neighbouring bytes of a lane", passes::merge_bytes},
    {"state-writes", "registers written where paths that change them join paths that do not", passes::state_writes},
    {"licm", "loop-invariant code in front of loops", passes::licm},
    {"matrix-order", "matrix products one behind the other", passes::matrix_order},
    {"dce", "unreachable blocks and instructions nobody uses", passes::dce},
};

bool listed(const std::vector<std::string>& list, std::string_view when, std::string_view pass) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& item) {
    return item.starts_with(when) && (item.substr(when.size()) == pass || item.substr(when.size()) == "all");
  });
}

}  // namespace

std::span<const Pass> pipeline() {
  return kPipeline;
}

void optimise(Function& function, const PassContext& context) {
  const auto dump = [&](std::string_view when, const Pass& pass) {
    if (context.dump_sink && listed(context.dump, when, pass.name)) {
      context.dump_sink(std::string(when) + std::string(pass.name), function);
    }
  };
  for (const Pass& pass : pipeline()) {
    if (listed(context.disabled, "", pass.name)) continue;
    dump("before:", pass);
    pass.run(function, context);
    if (context.finished) context.finished(pass.name);
    dump("after:", pass);
    if (context.verify) {
      const std::string problem = verify(function);
      WAVEJIT_CHECK(problem.empty(), "after pass {}: {}", pass.name, problem);
    }
  }
}

}  // namespace wavejit::ir
