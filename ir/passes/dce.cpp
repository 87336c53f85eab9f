// Dead code: unreachable blocks and instructions without users or side effects.
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {

PassResult dce(Function& function, const PassContext&) {
  const bool blocks = drop_unreachable(function);
  const bool code = function.sweep() != 0;
  if (code) function.count(Rule::dead_code);
  return {.changed = code || blocks, .settled = true};
}

}  // namespace wavejit::ir::passes
