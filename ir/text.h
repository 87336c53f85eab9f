// Text form of the IR. print() output parses back to an equal function.
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
// Empty when the function is well formed, else the first violation with the instruction's text.
[[nodiscard]] std::string verify(const Function& function);
}  // namespace wavejit::ir
