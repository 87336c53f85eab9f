// Recording of exceptions (internal/semantics/exceptions.h).
#include "frontend/isa/exceptions.h"

#include "frontend/interp/engine.h"
#include "internal/trap_id.h"

namespace wavejit::interp {

bool record_exceptions(Context& c, const Op& instruction) {
  const exceptions::Rule rule = isa::raises(instruction.inst.opcode);
  WaveState& wave = c.wave;
  if (rule.kind == exceptions::Kind::none || wave.exec() == 0) return true;
  Op op = instruction;
  if ((wave.mode & mode::kGprIdxEn) != 0 && !index_registers(c, op)) return true;
  const uint32_t* low[3] = {};
  const uint32_t* high[3] = {};
  for (unsigned i = 0; i < rule.sources && i < op.num_sources; ++i) {
    low[i] = fetch_rows(c, op, i);
    if (op.sources[i].dwords >= 2) high[i] = low[i] + kWaveSize;
  }
  const uint32_t flags = exceptions::raised(rule, wave.mode, written_lanes(c, op), low, high);
  wave.trapsts |= flags;
  if ((wave.mode >> exceptions::kEnableShift & flags) == 0) return true;
  wave.trap_id = trap_id::kException | (wave.mode >> exceptions::kEnableShift & flags);
  (void)c.exit(ExitReason::kTrap, instruction);
  return false;
}

}  // namespace wavejit::interp
