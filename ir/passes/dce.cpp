// Dead code: unreachable blocks and instructions without users or side effects.
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {

PassResult dce(Function& function, const PassContext&) {
  const bool blocks = function.remove_unreachable();
  return {.changed = function.sweep() || blocks};
}

}  // namespace wavejit::ir::passes
