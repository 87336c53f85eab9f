// Files that the environment names for what is found out about the process's kernels.
#pragma once

#include <string>

namespace wavejit::hsa {

// The variable's value, with the number of the process for %p; empty if it is not set.
[[nodiscard]] std::string output_file_name(const char* variable);

// Replaces the file's contents; says what is in the way if it cannot. `what`: "the report".
void write_output_file(const std::string& name, const std::string& text, const char* what);

}  // namespace wavejit::hsa
