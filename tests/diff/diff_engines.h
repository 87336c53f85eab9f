// Runs random instruction sequences on every engine and compares the whole register state and LDS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/diff/random_instruction.h"

namespace wavejit::test {

struct DiffOptions {
  isa::Target target = isa::Target::gfx906;
  unsigned length = 1;           // instructions per sequence
  unsigned states = 2;           // initial states tried per sequence
  std::string only;              // when set: opcodes whose name contains this
  bool random_switches = false;  // code without a random set of optimisations, rather than unoptimised code
};

// One sequence drawn from `seed`. The result is empty when all engines agree, else a report with the shrunk sequence
// (disassembly and words), initial-state seed, differences, and the IR.
[[nodiscard]] std::string diff_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed);

// The same for one structured program (random_program.h), with memory compared too.
[[nodiscard]] std::string program_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed);

}  // namespace wavejit::test
