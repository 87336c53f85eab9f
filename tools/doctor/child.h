// Other processes: programs whose output is read, and functions that may crash or take for ever.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace wavejit::tools::doctor {

struct ChildEnd {
  std::string output;  // of its standard output, or what the function returned
  int status = 0;      // as of waitpid
  bool too_long = false;
  [[nodiscard]] bool well() const { return !too_long && status == 0; }
  [[nodiscard]] std::string how() const;  // "it was ended by signal 11 (Segmentation fault)"
};

// `environment` is added to this process's: "NAME=value".
[[nodiscard]] ChildEnd run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                                   std::chrono::milliseconds limit);
// Forks, and calls `function` in the child. The caller must be the only thread of the process.
[[nodiscard]] ChildEnd run_forked(const std::function<std::string()>& function, std::chrono::milliseconds limit);

}  // namespace wavejit::tools::doctor
