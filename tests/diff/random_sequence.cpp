#include "tests/diff/random_sequence.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "internal/semantics/exceptions.h"
#include "tests/diff/random_control.h"
#include "tests/diff/random_memory.h"

namespace wavejit::test {
namespace {

using isa::Opcode;

// FLOAT_MODE values a dispatch can start with, plus other rounding modes: f32 flush / keep, f16-f64 keep, IEEE on and
// off.
constexpr uint32_t kModes[] = {0x3f0, 0x3c0, 0x1f0, 0x1c0, 0x0f0, 0x300, 0x3f5, 0x3ca, 0x3ff};

// How often sequences start with VGPR indexing on, which takes long to translate, or skip vector instructions.
constexpr unsigned kIndexedOneIn = 200, kSkippedOneIn = 100;
// How often waves record exceptions; half of them have some trap.
constexpr unsigned kRecordsOneIn = 8;
// How often a step turns all lanes on, changes MODE, opens a region, branches.
constexpr unsigned kFullExecOneIn = 16, kModeOneIn = 24, kRegionOneIn = 60, kControlOneIn = 60;

constexpr uint32_t kZero = 128, kMinusOne = 193, kM0 = 124, kExec = 126;

unsigned below(Rng& rng, unsigned n) {
  return static_cast<unsigned>(rng() % n);
}
uint32_t number(Opcode opcode, isa::Target target) {
  return static_cast<uint32_t>(isa::info(opcode).number[static_cast<unsigned>(isa::family_of(target))]);
}

Words sop1(Opcode opcode, isa::Target target, uint32_t dst, uint32_t src) {
  return {0xbe800000u | dst << 16 | number(opcode, target) << 8 | src};
}
Words sopc(Opcode opcode, isa::Target target, uint32_t a, uint32_t b) {
  return {0xbf000000u | number(opcode, target) << 16 | b << 8 | a};
}

bool decoded(const Words& words, isa::Target target, isa::Instruction& inst) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
  return isa::decode(target, bytes, 0, inst) == isa::DecodeStatus::ok;
}

bool has(Opcode opcode, std::string_view part) {
  return isa::info(opcode).name.find(part) != std::string_view::npos;
}

bool is_float(Opcode opcode) {
  return has(opcode, "_f16") || has(opcode, "_f32") || has(opcode, "_f64") || has(opcode, "bf16");
}

// Words of the candidate that `taint` accepts, or none.
Words accepted(const Candidate& candidate, isa::Target target, NanTaint& taint, Rng& rng) {
  Words words = random_words(candidate, target, rng);
  isa::Instruction inst;
  if (words.empty() || !decoded(words, target, inst) || !taint.accept(inst)) return {};
  return words;
}

// Vector instructions whose registers are found relative to a small index. Which those are the notes of NaNs do not
// know, so there must be none.
Step indexed_region(const std::vector<Candidate>& pool, isa::Target target, NanTaint& taint, Rng& rng) {
  if (!taint.registers_are_exact()) return {};
  Step step{.is_region = true};
  step.instructions.push_back(
      sopc(Opcode::s_set_gpr_idx_on, target, kZero + below(rng, 16), static_cast<uint32_t>(rng() % 16)));
  for (unsigned n = 1 + below(rng, 4), tries = 0; n != 0 && tries < 100; ++tries) {
    const Candidate& candidate = pool[rng() % pool.size()];
    const isa::OpcodeInfo& info = isa::info(candidate.opcode);
    if (!info.name.starts_with("v_") || info.format == isa::Format::mai || is_float(candidate.opcode) ||
        needs_region(candidate.opcode))
      continue;
    Words words = accepted(candidate, target, taint, rng);
    if (words.empty()) continue;
    step.instructions.push_back(std::move(words));
    --n;
  }
  step.instructions.push_back({0xbf800000u | number(Opcode::s_set_gpr_idx_off, target) << 16});
  return step;
}

// VSKIP by a constant, or by bits that are known at run time only.
Step skipped_region(const std::vector<Candidate>& pool, isa::Target target, NanTaint& taint, Rng& rng) {
  Step step{.is_region = true};
  const bool known = rng() % 2 != 0;
  step.instructions.push_back(known ? sopc(Opcode::s_setvskip, target, kMinusOne, kZero + below(rng, 32))
                                    : sopc(Opcode::s_setvskip, target, below(rng, 20), kZero + below(rng, 32)));
  for (unsigned n = 1 + below(rng, 4), tries = 0; n != 0 && tries < 100; ++tries) {
    const Candidate& candidate = pool[rng() % pool.size()];
    if (needs_region(candidate.opcode)) continue;
    Words words = accepted(candidate, target, taint, rng);
    if (words.empty()) continue;
    step.instructions.push_back(std::move(words));
    --n;
  }
  step.instructions.push_back(sopc(Opcode::s_setvskip, target, kZero, kZero));
  return step;
}

Words simplified(const Words& words, uint32_t and0, uint32_t and1, uint32_t or1) {
  Words result = words;
  result[0] &= and0;
  if (result.size() > 1) result[1] = (result[1] & and1) | or1;
  return result;
}

// The instruction without some modifiers, where it stays the same opcode.
std::vector<Words> simpler(const Words& words, isa::Target target) {
  isa::Instruction inst;
  if (!decoded(words, target, inst)) return {};
  std::vector<Words> variants;
  if (inst.is_sdwa) variants.push_back(simplified(words, ~0u, 0x008080ffu, 0x06060600u));
  if (inst.is_dpp) variants.push_back(simplified(words, ~0u, 0x000000ffu, 0xff08e400u));
  if (inst.format == isa::Format::vop3 || inst.format == isa::Format::vop3b)
    variants.push_back(simplified(words, inst.format == isa::Format::vop3 ? ~0xff00u : ~0x8000u, 0x07ffffffu, 0));
  if (inst.format == isa::Format::vop3p) variants.push_back(simplified(words, ~0xbf00u, 0x07ffffffu, 0x18000000u));
  std::erase_if(variants, [&](const Words& variant) {
    isa::Instruction other;
    return variant == words || !decoded(variant, target, other) || other.opcode != inst.opcode ||
           other.size != inst.size;
  });
  return variants;
}

}  // namespace

uint32_t random_mode(Rng& rng) {
  return kModes[rng() % std::size(kModes)];
}

uint32_t random_recording(Rng& rng, bool traps) {
  if (rng() % kRecordsOneIn != 0) return 0;
  const auto enabled = static_cast<uint32_t>(traps && rng() % 2 != 0 ? rng() & rng() & exceptions::kAll : 0);
  return exceptions::kRecords | enabled << exceptions::kEnableShift;
}

Step random_step(const Candidate& candidate, const std::vector<Candidate>& pool, isa::Target target, NanTaint& taint,
                 Rng& rng) {
  if (candidate.opcode == Opcode::s_set_gpr_idx_on) return indexed_region(pool, target, taint, rng);
  if (candidate.opcode == Opcode::s_setvskip) return skipped_region(pool, target, taint, rng);
  if (has(candidate.opcode, "v_movrel") && !taint.registers_are_exact()) return {};
  Words words = accepted(candidate, target, taint, rng);
  if (words.empty()) return {};
  Step step;
  if (needs_region(candidate.opcode))  // relative destinations: below the registers of addresses
    step.instructions.push_back(sop1(Opcode::s_mov_b32, target, kM0, kZero + below(rng, 16)));
  step.instructions.push_back(std::move(words));
  return step;
}

Sequence random_sequence(const std::vector<Candidate>& pool, isa::Target target, unsigned length, Rng& rng) {
  Sequence sequence;
  sequence.mode = random_mode(rng);
  const bool indexed = rng() % kIndexedOneIn == 0;
  if (indexed) sequence.mode |= mode::kGprIdxEn;
  if (rng() % kSkippedOneIn == 0) sequence.mode |= mode::kVskip;
  sequence.mode |= random_recording(rng, true);
  NanTaint taint;
  const bool float_atomics = length == 1 || rng() % 4 == 0;
  const isa::Family family = isa::family_of(target);
  const auto add = [&](Words words) { sequence.steps.push_back({.instructions = {std::move(words)}}); };
  for (unsigned left = length, tries = 0; left != 0 && tries < 200 * length; ++tries) {
    if (length > 1) {
      if (rng() % kFullExecOneIn == 0) add(sop1(Opcode::s_mov_b64, target, kExec, kMinusOne)), --left;
      // Up to GFX8 M0 limits the LDS.
      if (left != 0 && family <= isa::Family::gfx8 && rng() % kFullExecOneIn == 0)
        add(sop1(Opcode::s_mov_b32, target, kM0, kMinusOne)), --left;
      if (left == 0) break;
    }
    const bool region = length > 1 && !indexed && rng() % kRegionOneIn == 0;
    const bool mode_change = length > 1 && !region && rng() % kModeOneIn == 0;
    if (length > 1 && !indexed && rng() % kControlOneIn == 0) {
      static const std::vector<Opcode>& control = *new std::vector<Opcode>([] {
        std::vector<Opcode> list;
        for (unsigned i = 0; i < isa::kNumOpcodes; ++i)
          if (has_control_step(static_cast<Opcode>(i))) list.push_back(static_cast<Opcode>(i));
        return list;
      }());
      const Opcode opcode = control[rng() % control.size()];
      if (!isa::available(opcode, target)) continue;
      Step step = random_control_step(opcode, pool, target, taint, rng);
      left -= std::min<unsigned>(left, static_cast<unsigned>(step.instructions.size()));
      sequence.steps.push_back(std::move(step));
      continue;
    }
    Candidate candidate = pool[rng() % pool.size()];
    if (region)
      candidate = {rng() % 2 == 0 && family >= isa::Family::gfx8 ? Opcode::s_set_gpr_idx_on : Opcode::s_setvskip,
                   Form::base};
    if (mode_change) candidate = {rng() % 4 == 0 ? Opcode::s_setreg_b32 : Opcode::s_setreg_imm32_b32, Form::base};
    // An index of any size might write the registers of addresses.
    if (indexed &&
        (needs_addresses(candidate.opcode) || needs_region(candidate.opcode) || has(candidate.opcode, "gpr_idx")))
      continue;
    if (!float_atomics && isa::info(candidate.opcode).is_atomic &&
        (is_float(candidate.opcode) || has(candidate.opcode, "atomic_f")))
      continue;
    Step step = random_step(candidate, pool, target, taint, rng);
    if (step.instructions.empty()) continue;
    left -= std::min<unsigned>(left, static_cast<unsigned>(step.instructions.size()));
    sequence.steps.push_back(std::move(step));
  }
  sequence.floats = !taint.memory_is_exact();
  return sequence;
}

Words flatten(const Step& step) {
  Words all;
  for (const Words& words : step.instructions) all.insert(all.end(), words.begin(), words.end());
  return all;
}

Words flatten(const Sequence& sequence) {
  Words all;
  for (const Step& step : sequence.steps) {
    const Words words = flatten(step);
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

unsigned count(const Sequence& sequence) {
  size_t instructions = 0;
  for (const Step& step : sequence.steps) instructions += step.instructions.size();
  return static_cast<unsigned>(instructions);
}

std::vector<Sequence> shrunk(const Sequence& sequence, isa::Target target) {
  std::vector<Sequence> result;
  const auto& steps = sequence.steps;
  if (steps.size() > 3) {  // halves first
    const auto half = static_cast<std::ptrdiff_t>(steps.size() / 2);
    result.push_back(sequence);
    result.back().steps.assign(steps.begin() + half, steps.end());
    result.push_back(sequence);
    result.back().steps.assign(steps.begin(), steps.begin() + half);
  }
  for (size_t i = 0; i < steps.size() && steps.size() > 1; ++i) {
    result.push_back(sequence);
    result.back().steps.erase(result.back().steps.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& instructions = steps[i].instructions;
    for (size_t k = 0; k < instructions.size(); ++k) {
      if (steps[i].is_region && k != 0 && k + 1 != instructions.size()) {
        result.push_back(sequence);
        auto& changed = result.back().steps[i].instructions;
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(k));
      }
      for (Words& variant : simpler(instructions[k], target)) {
        result.push_back(sequence);
        result.back().steps[i].instructions[k] = std::move(variant);
      }
    }
  }
  return result;
}

}  // namespace wavejit::test
