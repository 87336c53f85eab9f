#include "backend-x86/emitter.h"

namespace wavejit::backend {

bool Emitter::emit_cross_lane(const Inst&) {
  return false;
}

}  // namespace wavejit::backend
