// What the coverage table claims (`wavejit coverage`): each instruction that a processor has and all engines are said
// to execute is executed by them in random forms, with the same results; each other one is an error that names it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "tests/diff/diff_engines.h"
#include "tests/diff/random_control.h"
#include "tests/support/engine_runner.h"
#include "wavejit/wavejit.h"

namespace wavejit::test {
namespace {

using isa::Opcode;

constexpr unsigned kInstances = 3;  // of each form

// What no snippet on a wave alone can show, and where it is tested.
struct Elsewhere {
  std::string_view name;  // a prefix
  std::string_view test;
};
constexpr Elsewhere kElsewhere[] = {
    {"ds_gws_", "several waves: tests/runtime/global_sync_test.cpp"},
    {"ds_ordered_count", "several waves: tests/runtime/global_sync_test.cpp"},
};

// Instructions that end the wave or hand it over: only how they leave can be compared.
bool leaves(Opcode opcode) {
  switch (isa::info(opcode).control_flow) {
    case isa::ControlFlow::end:
    case isa::ControlFlow::barrier:
    case isa::ControlFlow::trap:
      return true;
    default:
      return false;
  }
}

bool is_claimed(Opcode opcode) {
  wavejit_instruction_info info{};
  info.size = sizeof info;
  EXPECT_EQ(wavejit_instruction_get_info(static_cast<size_t>(opcode), &info), WAVEJIT_OK);
  const auto on = [](wavejit_fidelity fidelity) { return fidelity != WAVEJIT_FIDELITY_UNSUPPORTED; };
  EXPECT_TRUE(on(info.interpreter) == on(info.avx2) && on(info.avx2) == on(info.avx512)) << info.name;
  return on(info.interpreter);
}

// One of each set of processors with the same instructions.
std::vector<isa::Target> different_targets() {
  std::vector<isa::Target> result;
  std::set<std::vector<bool>> seen;
  for (size_t i = 0; const char* name = wavejit_target_name(i); ++i) {
    std::vector<bool> available;
    for (unsigned opcode = 0; opcode < isa::kNumOpcodes; ++opcode)
      available.push_back(wavejit_instruction_available(opcode, name) != 0);
    if (seen.insert(std::move(available)).second) result.push_back(isa::parse_target(name).value());
  }
  return result;
}

// An encoding of any instruction, of those that nothing executes, too.
Words any_words(Opcode opcode, isa::Target target) {
  Rng rng(static_cast<unsigned>(opcode));
  if (Words words = random_words({opcode, Form::base}, target, rng); !words.empty()) return words;
  const isa::OpcodeInfo& info = isa::info(opcode);
  const auto op = static_cast<uint32_t>(info.number[static_cast<unsigned>(isa::family_of(target))]);
  const bool early = isa::family_of(target) < isa::Family::gfx8;
  switch (info.format) {
    case isa::Format::exp:
      return {early ? 0xf800000fu : 0xc400000fu, 0x03020100};
    case isa::Format::vintrp:
      return {(early ? 0xc8000000u : 0xd4000000u) | op << 16 | 2 << 18};
    default:
      return {};
  }
}

class ClaimsTest : public testing::TestWithParam<isa::Target> {
 protected:
  // One instruction, which leaves the wave in the same way on all engines, with `reason` if it is given.
  void expect_exit(Opcode opcode, const Words& words, ExitReason* reason) {
    const std::string_view name = isa::info(opcode).name;
    ASSERT_FALSE(words.empty()) << "no encoding of " << name;
    isa::Instruction inst;
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
    ASSERT_EQ(isa::decode(GetParam(), bytes, 0, inst), isa::DecodeStatus::ok) << name;
    ASSERT_EQ(inst.opcode, opcode) << name;
    const Snippet snippet(GetParam(), bytes);
    WavePtr first;
    ExitReason first_reason{};
    for (const EngineConfig& engine : host_engines()) {
      WavePtr wave = make_wave();
      SnippetRunner runner(engine, snippet);
      const Expected<ExitReason> left = runner.run_to_exit(*wave);
      ASSERT_TRUE(left.has_value()) << name << ", " << engine.name() << ": " << left.error().message;
      if (!first) {
        first = std::move(wave);
        first_reason = *left;
        continue;
      }
      EXPECT_EQ(first_reason, *left) << name << ", " << engine.name();
      EXPECT_EQ(first->pc - snippet.base(), wave->pc - snippet.base()) << name << ", " << engine.name();
      EXPECT_EQ(first->trap_id, wave->trap_id) << name << ", " << engine.name();
    }
    *reason = first_reason;
  }
};

TEST_P(ClaimsTest, ClaimedInstructionsExecute) {
  const isa::Target target = GetParam();
  const auto pool = candidates(target);
  std::map<Opcode, std::vector<Candidate>> forms;
  for (const Candidate& candidate : pool) forms[candidate.opcode].push_back(candidate);
  unsigned failures = 0, executed = 0;
  for (unsigned i = 0; i < isa::kNumOpcodes && failures < 20; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const std::string_view name = isa::info(opcode).name;
    if (!isa::available(opcode, target) || !is_claimed(opcode)) continue;
    if (std::any_of(std::begin(kElsewhere), std::end(kElsewhere),
                    [&](const Elsewhere& e) { return name.starts_with(e.name); })) {
      EXPECT_FALSE(forms.contains(opcode)) << name << " is tested here";
      continue;
    }
    ++executed;
    if (leaves(opcode)) {
      const auto op = static_cast<uint32_t>(isa::info(opcode).number[static_cast<unsigned>(isa::family_of(target))]);
      ExitReason reason{};
      expect_exit(opcode, {0xbf800000u | op << 16 | (opcode == Opcode::s_sendmsghalt || opcode == Opcode::s_trap)},
                  &reason);
      const isa::ControlFlow flow = isa::info(opcode).control_flow;
      EXPECT_EQ(reason, flow == isa::ControlFlow::barrier ? ExitReason::kBarrier
                        : flow == isa::ControlFlow::trap  ? ExitReason::kTrap
                                                          : ExitReason::kEnd)
          << name;
      continue;
    }
    if (has_control_step(opcode)) forms[opcode].push_back({opcode, Form::base});
    EXPECT_FALSE(forms[opcode].empty()) << "no random instance of " << name;
    for (const Candidate& candidate : forms[opcode]) {
      for (unsigned instance = 0; instance < kInstances; ++instance) {
        const uint64_t seed = i * 100 + instance;
        Rng rng(seed);
        NanTaint taint;
        Sequence sequence;
        sequence.mode = random_mode(rng);
        Step step = has_control_step(opcode) ? random_control_step(opcode, pool, target, taint, rng)
                                             : random_step(candidate, pool, target, taint, rng);
        if (step.instructions.empty()) continue;
        sequence.steps.push_back(std::move(step));
        sequence.floats = !taint.memory_is_exact();
        // All engines once, then half of them in turn.
        const DiffOptions options{.target = target, .states = 2, .alternate = instance != 0};
        const std::string report = diff_sequence(options, std::move(sequence), seed);
        if (report.empty()) continue;
        ADD_FAILURE() << name << ": " << report;
        ++failures;
        break;
      }
    }
  }
  EXPECT_GT(executed, 700u);
}

TEST_P(ClaimsTest, OthersAreErrorsThatNameThem) {
  for (unsigned i = 0; i < isa::kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (!isa::available(opcode, GetParam()) || is_claimed(opcode)) continue;
    const Words words = any_words(opcode, GetParam());
    ExitReason reason{};
    expect_exit(opcode, words, &reason);
    EXPECT_EQ(reason, ExitReason::kUnsupported) << isa::info(opcode).name;
    // What it is, as the runtime reports it.
    const Snippet snippet(GetParam(), {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4});
    for (const EngineConfig& engine : host_engines()) {
      WavePtr wave = make_wave();
      SnippetRunner runner(engine, snippet);
      const Expected<void> result = runner.run(*wave);
      ASSERT_FALSE(result.has_value());
      EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
      isa::Instruction inst;
      ASSERT_EQ(isa::decode(GetParam(), snippet.bytes(), 0, inst), isa::DecodeStatus::ok);
      EXPECT_NE(result.error().message.find(isa::describe(inst)), std::string::npos) << result.error().message;
      EXPECT_EQ(result.error().pc, snippet.base());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ClaimsTest, testing::ValuesIn(different_targets()),
                         [](const auto& param) { return std::string(isa::to_string(param.param)); });

}  // namespace
}  // namespace wavejit::test
