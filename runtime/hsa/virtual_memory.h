// Virtual memory of the AMD extension (hsa_amd_vmem_*): reserved address ranges, memory that has no address, and
// mappings of the one into the other.
//
// Memory is a file (memfd). A mapping is a shared mapping of it, so memory may have several addresses, in several
// processes. The rights of a mapping are kept for each agent; its pages have the union of them, because all agents are
// the host's threads. Reserved addresses without a mapping fault.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/hsa/memory.h"

namespace wavejit::hsa {

// Returns what hsa_amd_pointer_info tells about an address in a mapping or a reserved range; nothing for all others.
// Thread-safe.
[[nodiscard]] std::optional<Allocation> find_mapping(uint64_t address);

// Lets agents read and write the mapping that holds `address` and those that follow it without a gap, as
// hsa_amd_agents_allow_access does. Returns HSA_STATUS_ERROR_INVALID_ALLOCATION if there is no mapping. Thread-safe.
[[nodiscard]] hsa_status_t allow_mapping_access(uint64_t address, std::span<Agent* const> agents);

}  // namespace wavejit::hsa
