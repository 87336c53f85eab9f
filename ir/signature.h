// Derives and checks types of instructions by the type letters of ops.def and helpers.def.
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

// The result type that follows from the operands. Empty if the operands do not fit the row, or if the row leaves the
// type open (undef, phi, load, ...); `why` receives the reason.
[[nodiscard]] std::optional<Type> infer_type(Op op, std::span<Inst* const> operands, std::string* why = nullptr);

// Empty if result type, operand types, attributes and immediates fit the row, else the problem.
[[nodiscard]] std::string check_signature(const Inst& inst);

// Number of address operands after the mask.
[[nodiscard]] unsigned address_operands(AddressForm form);

// The bits of an immediate that a constant of this type uses.
[[nodiscard]] uint64_t truncate_to(Type type, uint64_t bits);

}  // namespace wavejit::ir
