#include "backend-x86/encode/fault_decode.h"

#include <algorithm>
#include <bit>

#include "backend-x86/encode/memory_operand.h"
#include "backend-x86/helpers/chunk_access.h"
#include "internal/host_address.h"

namespace wavejit::backend {
namespace {

constexpr uint64_t kPageBytes = 4096;

// The lanes that mask elements belong to, relative to the first lane of the range.
uint32_t lanes_of_elements(uint32_t elements, const FaultRange& range) {
  if (range.lane_elements == 1) return elements;
  uint32_t lanes = 0;
  for (unsigned i = 0; i < 16; ++i) {
    if ((elements >> i & 1) != 0) lanes |= 1u << ((i + range.skipped_elements) / range.lane_elements);
  }
  return lanes;
}

// The lane of an element of a gather or scatter, relative to the first lane of the range.
unsigned lane_of_element(unsigned element, const FaultRange& range) {
  static constexpr uint8_t kPaired[4] = {0, 1, 4, 5};
  return range.paired_order ? kPaired[element & 3] : element;
}

// A gather or scatter stops at the first element that faults; those before it are done.
DecodedFault decode_indexed(const FaultRange& range, const MachineState& machine, const MemoryOperand& operand,
                            bool want_address) {
  const unsigned count = operand.elements();
  uint32_t pending = machine.pending(operand).value_or(~0u) & ((1u << count) - 1);
  if (pending == 0) pending = (1u << count) - 1;
  auto element = static_cast<unsigned>(std::countr_zero(pending));
  std::optional<uint64_t> address;
  for (unsigned i = element; want_address && i < count && !address; ++i) {
    if ((pending >> i & 1) == 0) continue;
    address = machine.address(operand, i);
    if (!address || is_canonical(*address))
      address.reset();
    else
      element = i;
  }
  return {range.first_lane + lane_of_element(element, range), address};
}

// Consecutive lanes' elements in one access.
DecodedFault decode_contiguous(const FaultRange& range, const MachineState& machine, const MemoryOperand& operand,
                               std::optional<uint64_t> address) {
  uint32_t pending = ~0u;
  if (const auto elements = machine.pending(operand); elements && *elements != 0)
    pending = lanes_of_elements(*elements, range);
  auto lane = static_cast<unsigned>(std::countr_zero(pending));
  const auto start = machine.address(operand, 0);
  const unsigned bytes = std::max<unsigned>(range.element_bytes, 1);
  const unsigned skipped = bytes / range.lane_elements * range.skipped_elements;
  std::optional<uint64_t> non_canonical;
  if (start && address) {
    if (*address >= *start) {
      // The whole page faults. Of a masked store that runs into it, Intel's processors report the end of the last element, AMD's
      // the first byte of the page.
      const uint64_t first = std::max(*start, *address & ~(kPageBytes - 1));
      lane = static_cast<unsigned>((first - *start + skipped) / bytes);
      const uint32_t later = lane < 32 ? pending & (~0u << lane) : 0;
      if (pending != ~0u && later != 0) lane = static_cast<unsigned>(std::countr_zero(later));
    }
  } else if (start) {
    for (unsigned i = lane; i < range.lanes && !non_canonical; ++i) {
      const uint64_t first = *start - skipped + uint64_t{bytes} * i;
      if ((pending >> i & 1) == 0 || is_canonical(first)) continue;
      non_canonical = first;
      lane = i;
    }
  }
  return {std::min<uint32_t>(range.first_lane + lane, kWaveSize - 1), non_canonical};
}

// The first active lane that accesses the page that faults. One before it would have faulted instead.
DecodedFault decode_chunk_access(const FaultRange& range, const RunningChunkAccess& access,
                                 std::optional<uint64_t> address) {
  std::optional<unsigned> first;
  for (unsigned lane = 0; lane < ChunkAccess::kLanes; ++lane) {
    if (!access.is_active(lane)) continue;
    if (!first) first = lane;
    const uint64_t at = access.address(lane, range.element_bytes);
    if (!address && !is_canonical(at)) return {range.first_lane + lane, at};
    if (!address) continue;
    const uint64_t page = *address & ~(kPageBytes - 1);
    if (at + range.element_bytes > page && at < page + kPageBytes) return {range.first_lane + lane, {}};
  }
  return {range.first_lane + first.value_or(0), {}};
}

}  // namespace

uint64_t place_in_code(const ucontext_t& context) {
  // The call is in front of where it returns to.
  if (const auto running = find_chunk_access(context)) return running->return_address - 1;
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}

DecodedFault decode_fault(const FaultRange& range, const ucontext_t& context, std::optional<uint64_t> address,
                          const WaveState& wave) {
  if (const auto running = find_chunk_access(context)) return decode_chunk_access(range, *running, address);
  const MachineState machine(context);
  const auto operand = decode_memory_operand(reinterpret_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP]));
  const bool scalar = range.first_lane >= kWaveSize;
  if (operand && !range.lane_in_state && !scalar) {
    if (operand->vector_index) return decode_indexed(range, machine, *operand, !address);
    if (range.contiguous) return decode_contiguous(range, machine, *operand, address);
  }
  // One address, for one lane or for those that the mask says.
  DecodedFault fault{.lane = range.lane_in_state ? wave.fault_lane : range.first_lane, .non_canonical = {}};
  if (scalar && !range.lane_in_state) fault.lane = kWaveSize;
  if (!operand) return fault;
  if (!range.lane_in_state && !scalar)
    if (const auto pending = machine.pending(*operand); pending && *pending != 0)
      fault.lane += static_cast<unsigned>(std::countr_zero(lanes_of_elements(*pending, range)));
  if (const auto start = machine.address(*operand, 0); !address && start && !is_canonical(*start))
    fault.non_canonical = start;
  return fault;
}

}  // namespace wavejit::backend
