// Types of instructions, derived from the type letters of ops.def and helpers.def.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/call_shape.h"
#include "ir/function.h"

namespace wavejit::ir {

struct HelperInfo {
  std::string_view name;
  char result;
  std::string_view operands;
  std::string_view meaning;
};
[[nodiscard]] const HelperInfo& helper_info(Helper helper);
[[nodiscard]] std::string_view name_of(Call call);

// Result type that follows from the operands; nothing when the operands do not fit the row or the row leaves the type
// open (undef, phi, load, ...). `why` receives the reason.
[[nodiscard]] std::optional<Type> infer_type(Op op, std::span<Inst* const> operands, std::string* why = nullptr);

// Empty when result type, operand types, attributes and immediates fit the row, else what is wrong.
[[nodiscard]] std::string check_signature(const Inst& inst);

// Number of operands the address form has after the mask.
[[nodiscard]] unsigned address_operands(AddressForm form);

// Bits of an immediate that mean something for a constant of this type.
[[nodiscard]] uint64_t truncate_to(Type type, uint64_t bits);

}  // namespace wavejit::ir
