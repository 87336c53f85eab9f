// The two halves of `wavejit coverage`.
#pragma once

#include <string>

#include "tools/command.h"

namespace wavejit::tools {

enum class TableFormat : uint8_t { text, json, csv, markdown };

// Of the processor `target`, or of all when it is empty. The exit code: not 0 only if `strict` and an instruction is
// unsupported.
[[nodiscard]] int print_coverage_table(const std::string& target, TableFormat format, bool strict);

}  // namespace wavejit::tools
