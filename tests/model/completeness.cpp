// Which arithmetic instructions the model lacks.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/isa/fidelity.h"
#include "frontend/isa/info.h"
#include "tests/model/matrix.h"
#include "tests/model/opcodes.h"
#include "tests/model/runner.h"
#include "tests/model/scalar.h"

namespace wavejit::model {
namespace {

// Vector and scalar instructions that compute nothing: which registers they move, and what they do to the wave, is the
// subject of tests/isa, tests/interp and tests/lockstep. Prefixes.
constexpr std::string_view kNotArithmetic[] = {
    // control flow, program counter
    "s_cbranch_", "s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64", "s_rfe_",
    // hardware registers, MODE, indexing
    "s_getreg_b32", "s_setreg_", "s_set_gpr_idx_", "s_setvskip", "s_movrel", "v_movrel", "v_clrexcp", "v_nop",
    // other lanes' registers
    "v_readlane_b32", "v_writelane_b32", "v_readfirstlane_b32",
    // two results; the other register file
    "v_swap_b32", "v_accvgpr_"};

bool is_arithmetic(isa::Opcode opcode) {
  const isa::OpcodeInfo& facts = isa::info(opcode);
  if (facts.is_graphics || facts.is_memory || isa::is_privileged(opcode)) return false;
  switch (facts.format) {
    case isa::Format::sop1:
    case isa::Format::sop2:
    case isa::Format::sopc:
    case isa::Format::sopk:
    case isa::Format::vop1:
    case isa::Format::vop2:
    case isa::Format::vopc:
    case isa::Format::vop3:
    case isa::Format::vop3b:
    case isa::Format::vop3p:
    case isa::Format::mai:
      break;
    default:
      return false;
  }
  return std::none_of(std::begin(kNotArithmetic), std::end(kNotArithmetic),
                      [&](std::string_view prefix) { return facts.name.starts_with(prefix); });
}

bool has_model(std::string_view name) {
  const auto scalar = scalar_opcodes();
  return find(name) != nullptr || find_matrix(name) != nullptr ||
         std::any_of(scalar.begin(), scalar.end(), [&](const ScalarEntry& e) { return e.name == name; });
}

}  // namespace

int check_completeness() {
  unsigned arithmetic = 0, missing = 0, others = 0;
  for (unsigned number = 0; number < isa::kNumOpcodes; ++number) {
    const auto opcode = static_cast<isa::Opcode>(number);
    const std::string_view name = isa::opcode_name(opcode);
    const bool modelled = has_model(name);
    if (!is_arithmetic(opcode)) {
      others += modelled ? 1 : 0;
      if (modelled) fmt::print("{} has a model, but counts as no arithmetic instruction\n", name);
      continue;
    }
    ++arithmetic;
    if (modelled) continue;
    ++missing;
    fmt::print("{} has no model\n", name);
  }
  fmt::print("{} arithmetic instructions, {} without a model\n", arithmetic, missing);
  return missing + others != 0 ? 1 : 0;
}

}  // namespace wavejit::model
