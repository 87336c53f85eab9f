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

// Prints arithmetic instructions that have no model; 0 if there are none.
[[nodiscard]] int check_completeness();

}  // namespace wavejit::model
