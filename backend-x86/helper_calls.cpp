#include "backend-x86/emitter.h"

namespace wavejit::backend {

bool Emitter::emit_out_of_line(const Inst&) {
  return false;
}

}  // namespace wavejit::backend
