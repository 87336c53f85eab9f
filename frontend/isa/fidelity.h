// How faithful results are: which instructions the ISA documents specify by an error bound only, or not to the last
// bit.
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

// What the documents leave open of an instruction's bits and wavejit has decided (docs/isa-decisions.md); empty for all
// others. Every engine follows the decision; hardware may differ in the last bits.
[[nodiscard]] std::string_view decision_of(Opcode opcode);

// What of the processor executes an instruction, as reports count it.
// `privileged`: for trap handlers, which programs cannot have; executing one is an error.
enum class Unit : uint8_t {
  scalar,
  control,
  privileged,
  scalar_memory,
  vector,
  matrix,
  lds,
  vector_memory,
  image,
  graphics
};
inline constexpr unsigned kNumUnits = 10;
[[nodiscard]] bool is_privileged(Opcode opcode);
[[nodiscard]] Unit unit_of(Opcode opcode);
[[nodiscard]] std::string_view to_string(Unit unit);  // "scalar memory"
// What MODE.vskip leaves out (Vega ISA manual, "S_SETVSKIP": vector ALU, memory, LDS, GDS and export instructions).
[[nodiscard]] inline bool is_vector(Opcode opcode) {
  return unit_of(opcode) > Unit::scalar_memory;
}
[[nodiscard]] std::string_view format_name(Opcode opcode);  // of the row: "vop2"

}  // namespace wavejit::isa
