// What vector ALU instructions do, from AMD's ISA manuals and docs/isa-decisions.md: one row per opcode. The types of
// operands, and which modifiers exist, are those of frontend/isa/tables; what a row here adds is the meaning.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "frontend/isa/target.h"
#include "tests/model/number.h"

namespace wavejit::model {

__extension__ using Bits = unsigned __int128;

// What a function sees of a lane beyond its sources, and what it leaves beyond its result.
struct Lane {
  isa::Family family{};
  Env f16, f32, f64;
  unsigned number = 0;
  bool clamp = false;     // for integer results; floating-point results are clamped by whoever calls
  unsigned op_sel = 0;    // for instructions that choose with it what they replace
  bool carry_in = false;  // the lane's bit of a mask that is read: VCC, carry in
  bool carry_out = false;
  // Where the documents only bound the result: the greatest value. The function returns the least.
  bool is_interval = false;
  bool exact_only = false;  // then only results that are numbers of the format: a wider interval is empty
  uint64_t high = 0;

  [[nodiscard]] bool before_gfx9() const { return family < isa::Family::gfx9; }
};

// Sources in the order of the assembly, after modifiers, with only the bits of their types; for read-modify-write
// instructions the old destination is the last.
using Model = Bits (*)(Lane&, const Bits* sources);

struct Entry {
  std::string_view name;  // of isa::Opcode
  Model model;
};

[[nodiscard]] const Entry* find(std::string_view opcode);
[[nodiscard]] std::span<const Entry> float_opcodes();
[[nodiscard]] std::span<const Entry> integer_opcodes();
[[nodiscard]] std::span<const Entry> packed_opcodes();
[[nodiscard]] std::span<const Entry> compare_opcodes();
[[nodiscard]] std::span<const Entry> gfx940_opcodes();

// On GFX9 with a 16-bit result that leaves the other half of the register alone (docs/isa-decisions.md, "16-bit
// results").
[[nodiscard]] bool keeps_high(std::string_view opcode);

}  // namespace wavejit::model
