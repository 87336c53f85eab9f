// Recording of exceptions (internal/semantics/exceptions.h).
#include "frontend/isa/exceptions.h"

#include "frontend/interp/engine.h"
#include "internal/trap_id.h"

namespace wavejit::interp {
namespace {

// A source of v_mad_mix or v_fma_mix that is f16, as f32: signalling NaNs, which the conversion has made quiet, signal.
void keep_signalling(Context& c, const Op& op, unsigned index) {
  const Source& s = op.sources[index];
  const uint32_t* row = s.kind == Source::Kind::vgpr       ? c.row(s.reg)
                        : s.kind == Source::Kind::constant ? s.splat
                                                           : nullptr;
  const uint32_t scalar = row == nullptr ? read_scalar32(c, s) : 0;
  const unsigned shift = (op.inst.op_sel >> index & 1) != 0 ? 16 : 0;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const uint32_t magnitude = (row != nullptr ? row[l] : scalar) >> shift & 0x7fff;
    if (magnitude > 0x7c00 && magnitude < 0x7e00) c.tmp[index][l] = 0x7f800001;
  }
}

}  // namespace

bool record_exceptions(Context& c, const Op& instruction) {
  const exceptions::Rule rule = isa::raises(instruction.inst);
  WaveState& wave = c.wave;
  if (rule.kind == exceptions::Kind::none || wave.exec() == 0) return true;
  Op op = instruction;
  if ((wave.mode & mode::kGprIdxEn) != 0 && !index_registers(c, op)) return true;
  const uint32_t* low[3] = {};
  const uint32_t* high[3] = {};
  for (unsigned i = 0; i < rule.sources && i < op.num_sources; ++i) {
    low[i] = fetch_rows(c, op, i);
    if ((op.param & kMix) != 0 && op.sources[i].operand->type == isa::Type::f16) keep_signalling(c, op, i);
    if (op.sources[i].dwords >= 2) high[i] = low[i] + kWaveSize;
  }
  const uint32_t flags = exceptions::raised(rule, wave.mode, written_lanes(c, op), low, high, wave.vcc());
  wave.trapsts |= flags;
  if ((wave.mode >> exceptions::kEnableShift & flags) == 0) return true;
  wave.trap_id = trap_id::kException | (wave.mode >> exceptions::kEnableShift & flags);
  (void)c.exit(ExitReason::kTrap, instruction);
  return false;
}

}  // namespace wavejit::interp
