#include "backend-x86/emitter.h"

namespace wavejit::backend {

bool Emitter::emit_atomic(const Inst&) {
  return false;
}

}  // namespace wavejit::backend
