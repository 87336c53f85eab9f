#include "tests/diff/random_control.h"

#include <span>
#include <string_view>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "tests/diff/random_memory.h"

namespace wavejit::test {
namespace {

using isa::Opcode;

constexpr uint32_t kZero = 128, kStackDepth = 76, kAddress = 80, kReturn = 82, kTime = 84;

uint32_t number(Opcode opcode, isa::Target target) {
  return static_cast<uint32_t>(isa::info(opcode).number[static_cast<unsigned>(isa::family_of(target))]);
}
Words sop1(Opcode opcode, isa::Target target, uint32_t dst, uint32_t src) {
  return {0xbe800000u | dst << 16 | number(opcode, target) << 8 | src};
}
Words sop2(Opcode opcode, isa::Target target, uint32_t dst, uint32_t a, uint32_t b) {
  return {0x80000000u | number(opcode, target) << 23 | dst << 16 | b << 8 | a};
}
Words sopk(Opcode opcode, isa::Target target, uint32_t reg, uint32_t imm) {
  return {0xb0000000u | number(opcode, target) << 23 | reg << 16 | imm};
}

// Behind a fork there are return addresses in SGPRs; both sides must come to the join with the stack as it was.
bool suits_fork(const isa::Instruction& inst) {
  const isa::OpcodeInfo& info = isa::info(inst.opcode);
  if (!info.name.starts_with("v_") || info.implicit.writes_exec) return false;
  for (unsigned i = 0; i < inst.num_operands; ++i)
    if (inst.operands[i].is_dst && inst.operands[i].kind == isa::OperandKind::sgpr) return false;
  return true;
}

// A few instructions, together short enough for an inline constant to reach behind them.
std::vector<Words> body(const std::vector<Candidate>& pool, isa::Target target, bool forked, NanTaint& taint,
                        Rng& rng) {
  std::vector<Words> result;
  for (unsigned n = 1 + static_cast<unsigned>(rng() % 3), tries = 0; n != 0 && tries < 200; ++tries) {
    const Candidate& candidate = pool[rng() % pool.size()];
    const isa::Format format = isa::info(candidate.opcode).format;
    // Clocks and yields have no place in what may or may not be executed; SOPP would only be a no-operation.
    if (needs_region(candidate.opcode) || format == isa::Format::sopp) continue;
    Words words = random_words(candidate, target, rng);
    isa::Instruction inst;
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
    if (words.empty() || isa::decode(target, bytes, 0, inst) != isa::DecodeStatus::ok) continue;
    if ((forked && !suits_fork(inst)) || !taint.accept(inst)) continue;
    result.push_back(std::move(words));
    --n;
  }
  return result;
}

}  // namespace

bool has_control_step(Opcode opcode) {
  switch (opcode) {
    case Opcode::s_setpc_b64:
    case Opcode::s_swappc_b64:
    case Opcode::s_call_b64:
    case Opcode::s_getpc_b64:
    case Opcode::s_cbranch_g_fork:
    case Opcode::s_cbranch_i_fork:
    case Opcode::s_cbranch_join:
    case Opcode::s_memtime:
    case Opcode::s_memrealtime:
      return true;
    default: {
      const isa::OpcodeInfo& info = isa::info(opcode);
      return info.format == isa::Format::sopp &&
             (info.control_flow == isa::ControlFlow::branch || info.control_flow == isa::ControlFlow::cond_branch);
    }
  }
}

Step random_control_step(Opcode opcode, const std::vector<Candidate>& pool, isa::Target target, NanTaint& taint,
                         Rng& rng) {
  const bool fork =
      opcode == Opcode::s_cbranch_g_fork || opcode == Opcode::s_cbranch_i_fork || opcode == Opcode::s_cbranch_join;
  std::vector<Words> inside = body(pool, target, fork, taint, rng);
  uint32_t dwords = 0;
  for (const Words& words : inside) dwords += static_cast<uint32_t>(words.size());
  Step step;
  const auto add = [&](Words words) { step.instructions.push_back(std::move(words)); };
  // s[80:81] = the address behind `inside`, from an instruction that is followed by `between` more dwords.
  const auto address = [&](uint32_t between) {
    add(sop1(Opcode::s_getpc_b64, target, kAddress, 0));
    add(sop2(Opcode::s_add_u32, target, kAddress, kAddress, kZero + 8 + 4 * (between + dwords)));
    add(sop2(Opcode::s_addc_u32, target, kAddress + 1, kAddress + 1, kZero));
  };
  const uint32_t mask = 2 * static_cast<uint32_t>(rng() % 10);
  switch (opcode) {
    case Opcode::s_getpc_b64:
      add(sop1(opcode, target, kAddress, 0));
      break;
    case Opcode::s_memtime:
    case Opcode::s_memrealtime:  // all that is known is that they have not run for centuries
      if (isa::family_of(target) < isa::Family::gfx8)
        add({0xc0000000u | number(opcode, target) << 22 | kTime << 15});
      else
        add({0xc0000000u | number(opcode, target) << 18 | kTime << 6, 0});
      add(sop2(Opcode::s_lshr_b64, target, kTime, kTime, kZero + 63));
      break;
    case Opcode::s_setpc_b64:
      address(1);
      add(sop1(opcode, target, 0, kAddress));
      break;
    case Opcode::s_swappc_b64:
      address(1);
      add(sop1(opcode, target, kReturn, kAddress));
      break;
    case Opcode::s_call_b64:
      add(sopk(opcode, target, kReturn, dwords));
      break;
    case Opcode::s_cbranch_g_fork:
      add(sop1(Opcode::s_mov_b32, target, kStackDepth, kZero));
      address(1);
      add(sop2(opcode, target, 0, mask, kAddress));
      break;
    case Opcode::s_cbranch_i_fork:
    case Opcode::s_cbranch_join:
      add(sop1(Opcode::s_mov_b32, target, kStackDepth, kZero));
      add(sopk(Opcode::s_cbranch_i_fork, target, mask, dwords));
      break;
    default:
      add({0xbf800000u | number(opcode, target) << 16 | dwords});
      break;
  }
  step.instructions.insert(step.instructions.end(), inside.begin(), inside.end());
  if (fork) add(sop1(Opcode::s_cbranch_join, target, 0, kStackDepth));
  return step;
}

}  // namespace wavejit::test
