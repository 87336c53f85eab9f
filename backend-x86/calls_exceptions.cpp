// What lanes raise, into TRAPSTS.
#include "backend-x86/calls_internal.h"
#include "internal/semantics/exceptions.h"
#include "internal/trap_id.h"

namespace wavejit::backend {

uint64_t record_exceptions(CallArgs* args) {
  const uint32_t mode = args->scalars[0], wide = args->scalars[2];
  const auto rule = exceptions::Rule::unpack(args->scalars[1]);
  const uint32_t* low[3] = {};
  const uint32_t* high[3] = {};
  for (unsigned i = 0, row = 0; i < rule.sources && i < 3; ++i) {
    low[i] = args->in[row++];
    if ((wide >> i & 1) != 0) high[i] = args->in[row++];
  }
  const uint32_t flags = exceptions::raised(rule, mode, args->mask, low, high);
  args->wave->trapsts |= flags;
  const uint32_t trapping = mode >> exceptions::kEnableShift & flags;
  if (trapping != 0) args->wave->trap_id = trap_id::kException | trapping;
  return trapping == 0;
}

}  // namespace wavejit::backend
