// Text form of the IR. Parsing the output of print() gives an equal function.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "internal/error.h"
#include "ir/function.h"

namespace wavejit::ir {
[[nodiscard]] std::string print(const Function& function);
[[nodiscard]] std::string print(const Inst& inst);
[[nodiscard]] Expected<std::unique_ptr<Function>> parse(std::string_view text);
// Empty if the function is well formed, else the first violation with the text of its instruction.
[[nodiscard]] std::string verify(const Function& function);
}  // namespace wavejit::ir
