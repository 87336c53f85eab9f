#include "tests/diff/diff_engines.h"

#include <fmt/format.h>

#include <cstring>

#include "frontend/isa/decoder.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

constexpr uint32_t kLdsBytes = 4096;

// FLOAT_MODE values a dispatch can start with, plus other rounding modes: f32 flush / keep, f16-f64 keep, IEEE on and
// off.
constexpr uint32_t kModes[] = {0x3f0, 0x3c0, 0x1f0, 0x1c0, 0x0f0, 0x300, 0x3f5, 0x3ca, 0x3ff};

using Sequence = std::vector<std::vector<uint32_t>>;

std::vector<uint8_t> flatten(const Sequence& sequence) {
  std::vector<uint8_t> bytes;
  for (const auto& words : sequence)
    bytes.insert(bytes.end(), reinterpret_cast<const uint8_t*>(words.data()),
                 reinterpret_cast<const uint8_t*>(words.data() + words.size()));
  return bytes;
}

struct Arena {
  WavePtr initial = make_wave(), expected = make_wave(), actual = make_wave();
  std::vector<uint8_t> lds_initial = std::vector<uint8_t>(kLdsBytes), lds_expected, lds_actual;
};

// Empty if the engines agree on `sequence` from the state of `state_seed`.
std::string difference(Arena& arena, isa::Target target, const Sequence& sequence, uint64_t state_seed,
                       std::string* engine_name) {
  Rng rng(state_seed);
  std::memset(static_cast<void*>(arena.initial.get()), 0, sizeof(WaveState));
  randomise(*arena.initial, rng, kModes[rng() % std::size(kModes)]);
  for (uint8_t& byte : arena.lds_initial) byte = static_cast<uint8_t>(rng());
  const Snippet snippet(target, flatten(sequence));
  const std::vector<EngineConfig> engines = host_engines();

  const auto run_on = [&](const EngineConfig& engine, WaveState& wave, std::vector<uint8_t>& lds) -> std::string {
    std::memcpy(static_cast<void*>(&wave), arena.initial.get(), sizeof(WaveState));
    lds = arena.lds_initial;
    wave.lds_base = reinterpret_cast<uint64_t>(lds.data());
    wave.lds_size = kLdsBytes;
    auto result = run(engine, snippet, wave);
    return result ? "" : result.error().message;
  };
  *engine_name = "interp";
  if (std::string error = run_on(engines[0], *arena.expected, arena.lds_expected); !error.empty()) return error + "\n";
  for (const EngineConfig& engine : engines) {
    if (engine.kind == EngineKind::interp) continue;
    *engine_name = engine.name();
    if (std::string error = run_on(engine, *arena.actual, arena.lds_actual); !error.empty()) return error + "\n";
    std::string text = compare(*arena.expected, *arena.actual);
    for (unsigned i = 0; i < kLdsBytes && text.size() < 2000; ++i)
      if (arena.lds_expected[i] != arena.lds_actual[i])
        text += fmt::format("  lds[{}]: expected {:#x}, got {:#x}\n", i, arena.lds_expected[i], arena.lds_actual[i]);
    if (!text.empty()) return text;
  }
  return {};
}

std::string print(const Sequence& sequence, isa::Target target) {
  std::string text;
  for (const auto& words : sequence) {
    isa::Instruction inst;
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
    const bool ok = isa::decode(target, bytes, 0, inst) == isa::DecodeStatus::ok;
    text += fmt::format("  {:<60} // {:#010x}", ok ? isa::disassemble(inst) : "illegal", words[0]);
    if (words.size() > 1) text += fmt::format(" {:#010x}", words[1]);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string diff_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed) {
  static thread_local Arena arena;
  Rng rng(seed);
  Sequence sequence;
  while (sequence.size() < options.length) {
    auto words = random_words(pool[rng() % pool.size()], options.target, rng);
    if (!words.empty()) sequence.push_back(std::move(words));
  }
  for (unsigned state = 0; state < options.states; ++state) {
    const uint64_t state_seed = seed * 1000 + state;
    std::string engine;
    std::string text = difference(arena, options.target, sequence, state_seed, &engine);
    if (text.empty()) continue;
    // Shrink: drop instructions one by one as long as some difference remains.
    for (size_t i = 0; i < sequence.size() && sequence.size() > 1;) {
      Sequence shorter = sequence;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      std::string shorter_engine;
      if (std::string shorter_text = difference(arena, options.target, shorter, state_seed, &shorter_engine);
          !shorter_text.empty()) {
        sequence = std::move(shorter);
        text = std::move(shorter_text);
        engine = shorter_engine;
      } else {
        ++i;
      }
    }
    return fmt::format("{} seed {} state {}: {} differs from interp (exec {:#x}, mode {:#x}, vcc {:#x})\n{}{}",
                       isa::to_string(options.target), seed, state_seed, engine, arena.initial->exec(),
                       arena.initial->mode, arena.initial->vcc(), print(sequence, options.target), text);
  }
  return {};
}

}  // namespace wavejit::test
