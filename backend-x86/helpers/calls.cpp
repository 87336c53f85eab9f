#include "backend-x86/helpers/calls.h"

#include "backend-x86/helpers/calls_internal.h"

namespace wavejit::backend {

CallFn find_call(ir::Call call) {
  switch (call) {
#define CALL(name, ...) \
  case ir::Call::name:  \
    return name;
#include "ir/calls.def"
#undef CALL
    default:
      break;
  }
  WAVEJIT_CHECK(false, "call number {}", static_cast<unsigned>(call));
  return nullptr;
}

}  // namespace wavejit::backend
