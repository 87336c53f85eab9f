// What is wanted of shadow mode: the value of `wavejit exec --shadow` and of WAVEJIT_SHADOW.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "internal/error.h"

namespace wavejit::runtime::shadow {

struct Options {
  uint64_t every = 1;                // of the dispatches, each n-th
  std::optional<std::regex> kernel;  // found in the kernel's name as the source has it
  double limit_s = 10;               // what an engine may take for a dispatch, on one thread
  uint64_t jobs = 0;  // dispatches that are compared at the same time; 0: half as many as there are CPUs, at most 8
  bool strict_nans = false;  // payloads and signs of NaNs count
  bool abort = false;        // end the process at the first difference
};

// "every:N", "limit:SECONDS", "jobs:N", "nans", "abort" and "kernel:REGEX", comma-separated. The regular expression (ECMAScript) comes last,
// as it may have commas. "" and "1" mean all dispatches. Errors: kInvalidArgument.
[[nodiscard]] Expected<Options> parse(std::string_view text);

}  // namespace wavejit::runtime::shadow
