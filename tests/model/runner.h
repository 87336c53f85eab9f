// Compares every engine with the model.
#pragma once

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "frontend/isa/target.h"

namespace wavejit::model {

struct RunOptions {
  std::vector<isa::Target> targets;
  std::vector<std::string> engines;  // names of host_engines(); empty: interp, and each tier optimised
  unsigned lanes = 102400;           // for each opcode and class of modifiers
  bool each_mode = false;            // for each MODE of a class that many, else for all together
  uint64_t seed = 1;
  std::string only;        // regular expression on opcodes
  std::string only_class;  // the same on classes
  bool verbose = false;
  // Of the sweep: 2^log2_values inputs of each instruction with one 32- or 64-bit source, one from each of so many equal
  // strata (32: every binary32), and 2^log2_hard sets of sources of one with more. Sources of 16 bits take every value.
  unsigned log2_values = 20, log2_hard = 14;
  unsigned modes = 16;             // of exceptions: how many combinations of them each form takes in turns
  bool all_modes = false;          // 256 combinations of rounding and denormals, instead of 16
  unsigned shard = 0, shards = 1;  // takes every `shards`-th opcode, from the `shard`-th on
  unsigned piece = 0, pieces = 1;  // of the sweep: the `piece`-th part of the inputs of one source
  bool distances = false;          // print how far approximations are from the true value at most
};

struct RunSummary {
  unsigned opcodes = 0;
  unsigned forms = 0;        // opcode and class (and MODE)
  uint64_t lanes = 0;        // values computed by the model
  uint64_t comparisons = 0;  // the same times targets and engines
  unsigned failures = 0;
};

[[nodiscard]] RunSummary run_vector(const RunOptions& options);
[[nodiscard]] RunSummary run_scalar(const RunOptions& options);
[[nodiscard]] RunSummary run_matrix(const RunOptions& options);
// Floating-point instructions without modifiers, in combinations of rounding and denormals: all values of a source, and
// sources whose results are hard to round.
[[nodiscard]] RunSummary run_sweep(const RunOptions& options);

// What floating-point instructions leave in TRAPSTS, lane by lane and of whole waves.
[[nodiscard]] RunSummary run_exceptions(const RunOptions& options);

// Prints arithmetic instructions that have no model; 0 if there are none.
[[nodiscard]] int check_completeness();

}  // namespace wavejit::model
