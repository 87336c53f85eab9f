// Values that are computed already.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir::passes {

// Replaces `inst`, which is about to be looked at, by the last of `candidates` that is on every way to it and the
// `same`. If there is none, it becomes a candidate itself, and false is returned. Blocks keep what was unlinked until
// they are rebuilt.
template <typename Same>
bool replace_by_earlier(Function& function, const Dominators& dominators, std::vector<Inst*>& candidates, Inst* inst,
                        Rule rule, const Same& same) {
  constexpr size_t kMaxCandidates = 8;  // those that are not on the way are other branches' copies
  const auto found = std::find_if(candidates.rbegin(), candidates.rend(), [&](const Inst* other) {
    return same(*other) && dominators.dominates(other->parent, inst->parent);
  });
  if (found == candidates.rend()) {
    if (candidates.size() >= kMaxCandidates) candidates.erase(candidates.begin());
    candidates.push_back(inst);
    return false;
  }
  function.count(rule);
  function.replace_all_uses(inst, *found);
  function.unlink(inst);
  return true;
}

}  // namespace wavejit::ir::passes
