// The passes; what each does is said in passes.def and in its file.
#pragma once

#include "ir/pass.h"
#include "ir/rules.h"

namespace wavejit::ir::passes {

// Removes blocks that no entry reaches. Returns whether there were some.
inline bool drop_unreachable(Function& function) {
  const bool some = function.remove_unreachable();
  if (some) function.count(Rule::unreachable_blocks);
  return some;
}

#define PASS(function, name, meaning) PassResult function(Function& ir, const PassContext& context);
#include "ir/passes/passes.def"
#undef PASS

}  // namespace wavejit::ir::passes
