// Random structured programs for comparing engines: divergent and uniform branches, loops that end by a counter, by
// EXEC or by VCC, waterfalls, and in them random instructions, LDS and global memory through a few fixed addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/diff/random_instruction.h"

namespace wavejit::test {

struct ProgramNode {
  enum class Kind : uint8_t {
    words,       // an instruction or a few that belong together
    if_exec,     // s_and_saveexec ... restore, with or without the branch around it
    if_else,     // the compiler's form, over EXEC
    if_scalar,   // a branch on SCC, VCCZ or EXECZ around the body
    loop_count,  // while (--counter)
    loop_exec,   // lanes leave one after the other; at most `trips` iterations
    loop_vccz,   // the wave leaves when no lane wants to go on; at most `trips` iterations
    waterfall,   // one iteration for each value of a VGPR; at most `trips` iterations
  };
  Kind kind = Kind::words;
  std::vector<uint32_t> words;  // words: the instructions; otherwise those that compute the condition
  bool skip = true;             // if_exec, if_else: branch around empty sides
  bool restore_by_or = false;   // if_exec, loop_exec
  uint32_t condition = 106;     // if_exec: SGPR pair (106 = VCC); if_scalar: s_cbranch opcode; waterfall: VGPR
  uint32_t trips = 1;
  std::vector<ProgramNode> body, other;
};

struct Program {
  std::vector<ProgramNode> nodes;
  uint32_t mode = 0;    // at the start
  bool floats = false;  // computes with f32 and moves whole dwords only: NaN payloads may differ
};

// Programs draw from a random part of the instruction set each, so that some have no cross-lane operation, no memory
// access, no numeric use of masks, and optimisations that these forbid are tried too.
// Registers: instructions use those of random_instruction.h, memory accesses those of random_memory.h; s60 to s89 are
// of control flow.
[[nodiscard]] Program random_program(isa::Target target, const std::vector<Candidate>& pool, Rng& rng);

[[nodiscard]] std::vector<uint32_t> encode(const Program& program, isa::Target target);

// All programs that are `program` without one node, or with a node replaced by its body.
[[nodiscard]] std::vector<Program> shrunk(const Program& program);

}  // namespace wavejit::test
