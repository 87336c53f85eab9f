#include "frontend/isa/exceptions.h"

#include <array>

namespace wavejit::isa {
namespace {

using exceptions::Kind;
using exceptions::Number;
using exceptions::Rule;

constexpr std::array<Rule, kNumOpcodes> make_rules() {
  std::array<Rule, kNumOpcodes> rules{};
#define WAVEJIT_RAISES(name, kind, number, sources, pair) \
  rules[static_cast<unsigned>(Opcode::name)] = {Kind::kind, Number::number, sources, pair};
#include "frontend/isa/tables/exceptions.def"
#undef WAVEJIT_RAISES
  return rules;
}
constexpr std::array<Rule, kNumOpcodes> kRules = make_rules();

}  // namespace

Rule raises(const Instruction& inst) {
  Rule rule = kRules[static_cast<unsigned>(inst.opcode)];
  if (family_of(inst.target) < Family::gfx9) return rule;
  // Vega to MI300 manuals: CLAMP has compares signal any NaN ("VOPC using VOP3A encoding"), and "INEXACT exceptions are
  // enabled for this conversion iff CLAMP == 1".
  switch (inst.opcode) {
    case Opcode::v_cvt_i32_f32:
    case Opcode::v_cvt_u32_f32:
    case Opcode::v_cvt_i32_f64:
    case Opcode::v_cvt_u32_f64:
    case Opcode::v_cvt_i16_f16:
    case Opcode::v_cvt_u16_f16:
      rule.hides_inexact = !inst.clamp;
      break;
    default:
      if (inst.clamp && rule.kind == Kind::select && inst.find(Slot::sdst) != nullptr)
        rule.kind = Kind::compare_signalling;
  }
  return rule;
}

bool observes_exceptions(const Instruction& inst) {
  constexpr unsigned kMode = 1, kTrapsts = 3;  // hardware registers
  const uint32_t field = inst.words[0] & 0xffff;
  const unsigned id = field & 63, offset = field >> 6 & 31, size = (field >> 11 & 31) + 1;
  const uint64_t bits = ((uint64_t{1} << size) - 1) << offset;
  constexpr uint64_t kEnables = uint64_t{exceptions::kAll} << exceptions::kEnableShift;
  switch (inst.opcode) {
    case Opcode::s_getreg_b32:
      return id == kTrapsts;
    case Opcode::s_setreg_b32:
      return id == kMode && (bits & kEnables) != 0;
    case Opcode::s_setreg_imm32_b32:
      return id == kMode && (bits & kEnables & uint64_t{inst.words[1]} << offset) != 0;
    default:
      return false;
  }
}

}  // namespace wavejit::isa
