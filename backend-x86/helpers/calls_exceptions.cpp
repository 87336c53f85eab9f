// What lanes raise, into TRAPSTS.
#include "backend-x86/helpers/calls_internal.h"
#include "internal/semantics/exceptions.h"
#include "internal/trap_id.h"

namespace wavejit::backend {

uint64_t record_exceptions(CallArgs* args) {
  const uint32_t mode = args->scalars[0], wide = args->scalars[2];
  const auto rule = exceptions::Rule::unpack(args->scalars[1]);
  const uint32_t* low[3] = {};
  const uint32_t* high[3] = {};
  unsigned row = 0;
  for (unsigned i = 0; i < rule.sources && i < 3; ++i) {
    low[i] = args->in[row++];
    if ((wide >> i & 1) != 0) high[i] = args->in[row++];
  }
  uint64_t vcc = 0;
  if (rule.kind == exceptions::Kind::fused_scaled)
    for (unsigned l = 0; l < kWaveSize; ++l) vcc |= uint64_t{args->in[row][l]} << l;
  const uint32_t flags = exceptions::raised(rule, mode, args->mask, low, high, vcc);
  args->wave->trapsts |= flags;
  const uint32_t trapping = mode >> exceptions::kEnableShift & flags;
  if (trapping != 0) args->wave->trap_id = trap_id::kException | trapping;
  return trapping == 0;
}

}  // namespace wavejit::backend
