// What scalar ALU instructions do, from AMD's ISA manuals (GCN3, Vega: "SOP2 Instructions" and following).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "frontend/isa/row.h"

namespace wavejit::model {

struct ScalarStep {
  uint64_t a = 0, b = 0;  // sources; for SOPK b is the immediate, extended as the instruction has it
  uint64_t d = 0;         // the destination: before, and after
  uint64_t exec = 0;
  bool scc = false;
};

struct ScalarEntry {
  std::string_view name;
  void (*model)(ScalarStep&);
};
[[nodiscard]] std::span<const ScalarEntry> scalar_opcodes();

// A scalar instruction as the tables have it.
struct ScalarInstruction {
  const ScalarEntry* entry = nullptr;
  isa::Opcode opcode{};
  const isa::Row* row = nullptr;
  unsigned result_dwords = 0;          // 0: SCC alone
  unsigned source_dwords[2] = {0, 0};  // 0: no such source
  bool has_immediate = false, reads_old = false, writes_exec = false;
};
[[nodiscard]] std::span<const ScalarInstruction> all_scalar_instructions();
// The immediate of SOPK as the instruction extends it.
[[nodiscard]] uint64_t extended_immediate(const ScalarInstruction& instruction, uint16_t immediate);

[[nodiscard]] std::string scalar_assembly(const ScalarInstruction& instruction, isa::Target target,
                                          std::string_view result, std::string_view a, std::string_view b);

}  // namespace wavejit::model
