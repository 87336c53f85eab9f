// Which addresses an instruction's lanes access, for profiles.
#pragma once

#include <cstdint>

#include "frontend/interp/engine.h"
#include "frontend/interp/profile.h"

namespace wavejit::interp {

struct LdsAccess {
  LdsCycles cycles;  // 0: there is none
  InstructionProfile::Groups groups;
};

// What a DS instruction with an address for each lane accesses of the LDS, as its registers are before it; nothing of
// others.
[[nodiscard]] LdsAccess ds_access(Context& c, const Op& op);

// An access by the lanes of the mask.
void add_lds_access(InstructionProfile& at, uint64_t lanes, const LdsAccess& access);

// What a vector memory or image instruction has accessed, EXEC having been `exec`; nothing of others. Flat accesses to the
// LDS are such. Scratch is at the addresses where its swizzled dwords are.
void add_vector_access(InstructionProfile& at, const Context& c, const Op& op, uint64_t exec);

}  // namespace wavejit::interp
