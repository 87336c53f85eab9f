// Operands and modifiers as text, collected from the instructions of all generations.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace wavejit::isa::test {

// "v_add_f32_e32 v0, s1, v2 clamp" is mnemonic "v_add_f32" (the assembler takes suffixes off) and tail "v0, s1, v2
// clamp".
[[nodiscard]] std::string without_suffix(std::string_view mnemonic);
// What the tail looks like when registers and most numbers are always the same: tails of one shape differ in them only.
[[nodiscard]] std::string shape_of(std::string_view tail);
// The shape without what most instructions take or leave: modifiers but those on which the operands depend, absolute
// values and signs, one kind of constant or another.
[[nodiscard]] std::string core_of(std::string_view shape);
// "v_", "image_", ...: mnemonics of one unit have operands and modifiers in common.
[[nodiscard]] std::string unit_of(std::string_view mnemonic);

// Shapes of what wavejit prints, by unit and core.
using OperandTexts = std::map<std::string, std::map<std::string, std::set<std::string>>>;
// From `each` random encodings of every opcode value, on one processor of each generation.
[[nodiscard]] OperandTexts collect_operand_texts(uint64_t seed, unsigned each);

}  // namespace wavejit::isa::test
