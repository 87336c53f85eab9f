// Control flow for sequences: branches, calls and forks over a few instructions.
#pragma once

#include <vector>

#include "tests/diff/random_sequence.h"

namespace wavejit::test {

// Whether random_control_step() makes steps of this opcode.
[[nodiscard]] bool has_control_step(isa::Opcode opcode);

// The opcode with what it needs around it, and what it branches over. Uses s[76:87].
[[nodiscard]] Step random_control_step(isa::Opcode opcode, const std::vector<Candidate>& pool, isa::Target target,
                                       NanTaint& taint, Rng& rng);

}  // namespace wavejit::test
