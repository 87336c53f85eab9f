// Which addresses an instruction's lanes access, for profiles.
#pragma once

#include <cstdint>

#include "frontend/interp/engine.h"
#include "frontend/interp/profile.h"

namespace wavejit::interp {

// What a DS instruction with an address for each lane takes of the LDS, as its registers are before it; 0 of others.
[[nodiscard]] LdsCycles ds_cycles(Context& c, const Op& op);

// An access to the LDS by the lanes of the mask; none if it takes no cycles.
void add_lds_access(InstructionProfile& at, uint64_t lanes, const LdsCycles& cycles);

// What a vector memory or image instruction has accessed, EXEC having been `exec`; nothing of others. Flat accesses to the
// LDS are such. Scratch is at the addresses where its swizzled dwords are.
void add_vector_access(InstructionProfile& at, const Context& c, const Op& op, uint64_t exec);

}  // namespace wavejit::interp
