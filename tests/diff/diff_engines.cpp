#include "tests/diff/diff_engines.h"

#include <fmt/format.h>

#include <cstring>

#include "backend-x86/compiler.h"
#include "frontend/isa/decoder.h"
#include "tests/diff/nan_taint.h"
#include "tests/diff/random_program.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

constexpr uint32_t kLdsBytes = 4096, kGdsBytes = 65536;

// FLOAT_MODE values a dispatch can start with, plus other rounding modes: f32 flush / keep, f16-f64 keep, IEEE on and
// off.
constexpr uint32_t kModes[] = {0x3f0, 0x3c0, 0x1f0, 0x1c0, 0x0f0, 0x300, 0x3f5, 0x3ca, 0x3ff};

// How often VGPR indexing is on, which takes long to translate, and vector instructions are skipped.
constexpr unsigned kIndexedOneIn = 40, kSkippedOneIn = 100;

using Sequence = std::vector<std::vector<uint32_t>>;

std::vector<uint8_t> flatten(const Sequence& sequence) {
  std::vector<uint8_t> bytes;
  for (const auto& words : sequence)
    bytes.insert(bytes.end(), reinterpret_cast<const uint8_t*>(words.data()),
                 reinterpret_cast<const uint8_t*>(words.data() + words.size()));
  return bytes;
}

std::vector<uint8_t> flatten(const std::vector<uint32_t>& words) {
  return flatten(Sequence{words});
}

struct Arena {
  WavePtr initial = make_wave(), expected = make_wave(), actual = make_wave();
  std::vector<uint8_t> lds_initial = std::vector<uint8_t>(kLdsBytes + backend::kLdsSlack), lds_expected, lds_actual;
  std::vector<uint8_t> gds_initial = std::vector<uint8_t>(kGdsBytes), gds = gds_initial, gds_expected;
  // Programs address it, so all engines work on the same bytes.
  std::vector<uint8_t> memory = std::vector<uint8_t>(kProgramMemoryBytes), memory_initial = memory, memory_expected;
};

void compare_bytes(std::string_view name, const std::vector<uint8_t>& expected, const std::vector<uint8_t>& actual,
                   bool floats, std::string& text) {
  const auto nan = [](uint32_t v) { return (v & 0x7fffffffu) > 0x7f800000u; };
  for (size_t i = 0; i + 4 <= expected.size() && text.size() < 2000; i += 4) {
    uint32_t a, b;
    std::memcpy(&a, &expected[i], 4);
    std::memcpy(&b, &actual[i], 4);
    if (a != b && !(floats && nan(a) && nan(b)))
      text += fmt::format("  {}[{}]: expected {:#x}, got {:#x}\n", name, i, a, b);
  }
}

// Empty if the engines agree on `code` from the state of `state_seed`, which has the registers of set_addresses().
std::string difference(Arena& arena, const DiffOptions& options, const std::vector<uint8_t>& code, uint64_t state_seed,
                       bool is_program, bool floats, std::string* engine_name) {
  const isa::Target target = options.target;
  Rng rng(state_seed);
  std::memset(static_cast<void*>(arena.initial.get()), 0, sizeof(WaveState));
  uint32_t mode = kModes[rng() % std::size(kModes)];
  // Programs need the registers that they name for their addresses.
  if (!is_program && rng() % kIndexedOneIn == 0) mode |= mode::kGprIdxEn;
  if (!is_program && rng() % kSkippedOneIn == 0) mode |= mode::kVskip;
  randomise(*arena.initial, rng, mode);
  for (uint8_t& byte : arena.lds_initial) byte = static_cast<uint8_t>(rng());
  for (size_t i = 0; i < arena.gds_initial.size(); ++i) arena.gds_initial[i] = arena.lds_initial[i % kLdsBytes];
  set_addresses(*arena.initial, reinterpret_cast<uint64_t>(arena.memory.data()), rng);
  for (uint8_t& byte : arena.memory_initial) byte = static_cast<uint8_t>(rng());
  const Snippet snippet(target, code);
  std::vector<EngineConfig> engines = host_engines();
  const bool count = state_seed % 2 != 0;
  Rng switches(~state_seed);
  for (EngineConfig& engine : engines) {
    engine.count_instructions = count;
    if (!options.random_switches || engine.kind == EngineKind::interp || engine.optimise) continue;
    engine.optimise = true;
    const uint64_t one_in = switches() % 2 == 0 ? 8 : 2;  // few off, or half of them
    for (const std::string& name : switch_names())
      if (switches() % one_in == 0) engine.disabled.push_back(name);
  }

  const auto run_on = [&](const EngineConfig& engine, WaveState& wave, std::vector<uint8_t>& lds) -> std::string {
    std::memcpy(static_cast<void*>(&wave), arena.initial.get(), sizeof(WaveState));
    lds = arena.lds_initial;
    std::copy(arena.memory_initial.begin(), arena.memory_initial.end(), arena.memory.begin());
    wave.lds_base = reinterpret_cast<uint64_t>(lds.data());
    wave.lds_size = kLdsBytes;
    wave.gds_base = reinterpret_cast<uint64_t>(arena.gds.data());
    wave.gds_size = kGdsBytes;
    arena.gds = arena.gds_initial;
    auto result = run(engine, snippet, wave);
    return result ? "" : result.error().message;
  };
  *engine_name = "interp";
  if (std::string error = run_on(engines[0], *arena.expected, arena.lds_expected); !error.empty()) return error + "\n";
  arena.memory_expected = arena.memory;
  arena.gds_expected = arena.gds;
  for (const EngineConfig& engine : engines) {
    if (engine.kind == EngineKind::interp) continue;
    *engine_name = engine.name();
    if (std::string error = run_on(engine, *arena.actual, arena.lds_actual); !error.empty()) return error + "\n";
    std::string text = compare(*arena.expected, *arena.actual);
    if (count && arena.expected->instructions != arena.actual->instructions)
      text += fmt::format("  instructions: expected {}, got {}\n", arena.expected->instructions,
                          arena.actual->instructions);
    compare_bytes("lds", arena.lds_expected, arena.lds_actual, floats, text);
    compare_bytes("gds", arena.gds_expected, arena.gds, floats, text);
    compare_bytes("memory", arena.memory_expected, arena.memory, floats, text);
    if (!text.empty()) return text;
  }
  return {};
}

std::string print(const std::vector<uint32_t>& words, isa::Target target) {
  std::string text;
  for (size_t at = 0; at < words.size();) {
    isa::Instruction inst;
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data() + at), (words.size() - at) * 4);
    const bool ok = isa::decode(target, bytes, at * 4, inst) == isa::DecodeStatus::ok;
    const size_t size = ok ? inst.size / 4 : 1;
    text += fmt::format("  {:4}: {:<60} //", at * 4, ok ? isa::disassemble(inst) : "illegal");
    for (size_t i = 0; i < size; ++i) text += fmt::format(" {:#010x}", words[at + i]);
    text += '\n';
    at += size;
  }
  return text;
}

std::vector<uint32_t> joined(const Sequence& sequence) {
  std::vector<uint32_t> all;
  for (const auto& words : sequence) all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace

std::string diff_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed) {
  static thread_local Arena arena;
  Rng rng(seed);
  Sequence sequence;
  NanTaint taint;
  while (sequence.size() < options.length) {
    const Candidate& candidate = pool[rng() % pool.size()];
    if (options.length > 1 && (stores_several_dwords(candidate.opcode) || needs_addresses(candidate.opcode))) continue;
    auto words = random_words(candidate, options.target, rng);
    if (words.empty()) continue;
    isa::Instruction inst;
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
    if (isa::decode(options.target, bytes, 0, inst) != isa::DecodeStatus::ok || !taint.accept(inst)) continue;
    sequence.push_back(std::move(words));
  }
  for (unsigned state = 0; state < options.states; ++state) {
    const uint64_t state_seed = seed * 1000 + state;
    std::string engine;
    const auto try_sequence = [&](const Sequence& s, std::string* name) {
      return difference(arena, options, flatten(s), state_seed, false, false, name);
    };
    std::string text = try_sequence(sequence, &engine);
    if (text.empty()) continue;
    // Shrink: drop instructions one by one as long as some difference remains.
    for (size_t i = 0; i < sequence.size() && sequence.size() > 1;) {
      Sequence shorter = sequence;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      std::string shorter_engine;
      if (std::string shorter_text = try_sequence(shorter, &shorter_engine); !shorter_text.empty()) {
        sequence = std::move(shorter);
        text = std::move(shorter_text);
        engine = shorter_engine;
      } else {
        ++i;
      }
    }
    return fmt::format("{} seed {} state {}: {} differs from interp (exec {:#x}, mode {:#x}, vcc {:#x})\n{}{}",
                       isa::to_string(options.target), seed, state_seed, engine, arena.initial->exec(),
                       arena.initial->mode, arena.initial->vcc(), print(joined(sequence), options.target), text);
  }
  return {};
}

std::string program_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed) {
  static thread_local Arena arena;
  Rng rng(seed);
  Program program = random_program(options.target, pool, rng);
  for (unsigned state = 0; state < options.states; ++state) {
    const uint64_t state_seed = seed * 1000 + state;
    const auto attempt = [&](const Program& p, std::string* name) {
      return difference(arena, options, flatten(encode(p, options.target)), state_seed, true, p.floats, name);
    };
    std::string engine;
    std::string text = attempt(program, &engine);
    if (text.empty()) continue;
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (Program& candidate : shrunk(program)) {
        std::string name;
        std::string difference_of_it = attempt(candidate, &name);
        if (difference_of_it.empty()) continue;
        program = std::move(candidate);
        text = std::move(difference_of_it);
        engine = std::move(name);
        smaller = true;
        break;
      }
    }
    std::string again;
    (void)attempt(program, &again);  // arena.initial is that of the program printed
    return fmt::format("{} program seed {} state {}: {} differs from interp (exec {:#x}, mode {:#x}, vcc {:#x})\n{}{}",
                       isa::to_string(options.target), seed, state_seed, engine, arena.initial->exec(),
                       arena.initial->mode, arena.initial->vcc(),
                       print(encode(program, options.target), options.target), text);
  }
  return {};
}

}  // namespace wavejit::test
