// How faithful results are: which instructions the ISA documents specify by an error bound only.
#pragma once

#include <cstdint>
#include <string_view>

#include "frontend/isa/opcode.h"

namespace wavejit::isa {

struct Approximation {
  double max_ulp = 0, max_absolute = 0;  // of wavejit's results against the true value; 0: no such bound
  std::string_view hardware;             // what the documents say of the hardware's
};

// nullptr for instructions whose bits are defined. From tables/approximations.def.
[[nodiscard]] const Approximation* approximation_of(Opcode opcode);

// What of the processor executes an instruction, as reports count it.
enum class Unit : uint8_t { scalar, control, scalar_memory, vector, matrix, lds, vector_memory, image, graphics };
inline constexpr unsigned kNumUnits = 9;
[[nodiscard]] Unit unit_of(Opcode opcode);
[[nodiscard]] std::string_view to_string(Unit unit);        // "scalar memory"
[[nodiscard]] std::string_view format_name(Opcode opcode);  // of the row: "vop2"

}  // namespace wavejit::isa
