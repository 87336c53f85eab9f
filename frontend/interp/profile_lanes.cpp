#include "frontend/interp/profile_lanes.h"

#include <algorithm>
#include <array>
#include <bit>

#include "frontend/interp/interpreter.h"
#include "frontend/interp/memory.h"
#include "frontend/isa/fidelity.h"
#include "frontend/isa/info.h"
#include "frontend/isa/row.h"

namespace wavejit::interp {
namespace {

template <typename F>
uint64_t lanes_where(uint64_t lanes, F&& condition) {
  uint64_t result = 0;
  for (uint64_t m = lanes; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    result |= static_cast<uint64_t>(condition(l)) << l;
  }
  return result;
}

// Of lanes with so many dwords from their addresses on.
LdsAccess lds_access(const uint32_t* addresses, uint64_t lanes, unsigned dwords) {
  std::array<uint64_t, kWaveSize> wide{};
  std::copy(addresses, addresses + kWaveSize, wide.begin());
  return {.cycles = lds_cycles(addresses, lanes, dwords), .groups = groups_of(wide, lanes, 4 * dwords)};
}

}  // namespace

LdsAccess ds_access(Context& c, const Op& op) {
  const isa::Opcode opcode = op.inst.opcode;
  if (isa::unit_of(opcode) != isa::Unit::lds || op.addr_row == Op::kNone || op.inst.gds ||
      isa::info(opcode).is_cross_lane)
    return {};
  const bool two = isa::row_of(opcode).has(isa::flag::offset2);
  unsigned dwords = 1;
  if (const isa::Operand* data = op.inst.find(isa::Slot::data0))
    dwords = data->dwords;
  else if (const isa::Operand* result = op.inst.find(isa::Slot::vdst))
    dwords = result->dwords / (two ? 2u : 1u);
  LdsAccess access = lds_access(c.row(op.addr_row), c.wave.exec(), dwords);
  if (two) {  // the second offset moves all lanes by the same number of banks
    access.cycles.taken *= 2;
    access.cycles.least *= 2;
  }
  return access;
}

void add_lds_access(InstructionProfile& at, uint64_t lanes, const LdsAccess& access) {
  if (access.cycles.taken == 0) return;
  ++at.lds.count;
  at.lds.halves += (static_cast<uint32_t>(lanes) != 0) + (lanes >> 32 != 0);
  at.lds.cycles += access.cycles.taken;
  at.lds.least += access.cycles.least;
  at.groups.add(access.groups);
}

void add_vector_access(InstructionProfile& at, const Context& c, const Op& op, uint64_t exec) {
  const isa::Unit unit = isa::unit_of(op.inst.opcode);
  if (unit != isa::Unit::vector_memory && unit != isa::Unit::image) return;
  const WaveState& wave = c.wave;
  const isa::Row& row = isa::row_of(op.inst.opcode);
  const bool scratch = row.has(isa::flag::scratch_segment), flat = row.has(isa::flag::flat_segment);
  if (!scratch && wave.engine_private[0] != kFaultLanes) return;
  const uint64_t lanes = scratch ? exec : wave.engine_private[3];
  const auto bytes = scratch ? 4 : static_cast<uint32_t>(wave.engine_private[2]);
  if (bytes == kUnknownBytes) return;
  const auto high = [&](unsigned l) { return static_cast<uint32_t>(c.addresses[l] >> 32); };
  const uint64_t swizzled = scratch ? lanes
                            : flat  ? lanes_where(lanes, [&](unsigned l) { return high(l) == kPrivateApertureHi; })
                                    : 0;
  const uint64_t shared = flat ? lanes_where(lanes, [&](unsigned l) { return high(l) == kSharedApertureHi; }) : 0;
  if ((swizzled | shared) == 0) return add_access(at, c.addresses, lanes, bytes);
  std::array<uint64_t, kWaveSize> addresses{};
  std::array<uint32_t, kWaveSize> offsets{};
  for (unsigned l = 0; l < kWaveSize; ++l) {
    offsets[l] = static_cast<uint32_t>(c.addresses[l]);
    addresses[l] =
        (swizzled >> l & 1) != 0 ? reinterpret_cast<uint64_t>(scratch_byte(wave, l, offsets[l])) : c.addresses[l];
  }
  add_access(at, addresses.data(), lanes & ~shared, swizzled != 0 ? std::min(bytes, 4u) : bytes);
  add_lds_access(at, shared, lds_access(offsets.data(), shared, std::max(bytes / 4, 1u)));
}

}  // namespace wavejit::interp
