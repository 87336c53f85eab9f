// Runs random instruction sequences and programs on every engine and compares the whole register state and memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/diff/random_instruction.h"
#include "tests/diff/random_sequence.h"

namespace wavejit::test {

struct DiffOptions {
  isa::Target target = isa::Target::gfx906;
  unsigned length = 1;           // instructions per sequence
  unsigned states = 2;           // initial states tried per sequence
  std::string only;              // when set: opcodes whose name contains this
  bool random_switches = false;  // code without a random set of optimisations, rather than unoptimised code
  // Of each tier either optimised or unoptimised code, in turn: compiling takes most of the time.
  bool alternate = false;
  bool print = false;  // everything before it is run
};

// What was tried: instructions generated, each counted once, and instructions that the interpreter executed, which
// counts every state and every iteration of a loop.
struct DiffCounts {
  uint64_t generated = 0, executed = 0;
};

// One sequence drawn from `seed`. The result is empty when all engines agree, else a report with the shrunk sequence
// (disassembly and words), initial-state seed and differences.
[[nodiscard]] std::string diff_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed,
                                    DiffCounts* counts = nullptr);

// The same for one structured program (random_program.h).
[[nodiscard]] std::string program_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed,
                                       DiffCounts* counts = nullptr);

// The same for a given sequence.
[[nodiscard]] std::string diff_sequence(const DiffOptions& options, Sequence sequence, uint64_t seed,
                                        DiffCounts* counts = nullptr);

}  // namespace wavejit::test
