#include "tests/diff/diff_engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "backend-x86/compiler.h"
#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "tests/diff/random_memory.h"
#include "tests/diff/random_program.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

constexpr size_t kScratchBytes = size_t{kScratchBytesPerLane} * kWaveSize;
constexpr size_t kAlignment = 256;  // of images

std::span<const uint8_t> bytes_of(const Words& words) {
  return {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4};
}

// Calls use(instruction, its first word, number of words), with 0 words where there is no instruction.
template <typename Use>
void for_each_instruction(const Words& words, isa::Target target, Use use) {
  for (size_t at = 0; at < words.size();) {
    isa::Instruction inst;
    const bool ok = isa::decode(target, bytes_of(words).subspan(at * 4), at * 4, inst) == isa::DecodeStatus::ok;
    const size_t size = ok ? inst.size / 4 : 0;
    use(inst, at, size);
    at += std::max<size_t>(size, 1);
  }
}

// All memory that instructions reach, at one address for all engines.
struct Memory {
  std::vector<uint8_t> bytes =
      std::vector<uint8_t>(kMemoryBytes + kScratchBytes + kGdsBytes + kLdsBytes + kAlignment + 2 * backend::kLdsSlack);
  uint8_t* memory = bytes.data() + (kAlignment - reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment) % kAlignment;
  uint8_t* scratch = memory + kMemoryBytes;
  uint8_t* gds = scratch + kScratchBytes;
  uint8_t* lds = gds + kGdsBytes;  // with slack behind it
  static constexpr size_t kUsed = kMemoryBytes + kScratchBytes + kGdsBytes + kLdsBytes;
};

struct Arena {
  WavePtr initial = make_wave(), expected = make_wave(), actual = make_wave();
  Memory memory;
  std::vector<uint8_t> memory_initial = std::vector<uint8_t>(Memory::kUsed), memory_expected = memory_initial;
};

bool same_floats(uint32_t a, uint32_t b) {
  const auto nan = [](uint32_t v) { return (v & 0x7fffffffu) > 0x7f800000u; };
  if (nan(a) && nan(b)) return true;
  const auto half = [&](unsigned shift) {
    const uint32_t p = a >> shift & 0xffff, q = b >> shift & 0xffff;
    const auto nan16 = [](uint32_t v) { return (v & 0x7fff) > 0x7c00; };
    return p == q || (nan16(p) && nan16(q));
  };
  return half(0) && half(16);
}

uint32_t dword(const uint8_t* bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes + at, 4);
  return value;
}

void compare_bytes(const uint8_t* expected, const uint8_t* actual, bool floats, std::string& text) {
  if (std::memcmp(expected, actual, Memory::kUsed) == 0) return;
  const auto name = [](size_t at) {
    if (at < kMemoryBytes) return fmt::format("memory[{}]", static_cast<int64_t>(at) - kMemoryBytes / 2);
    at -= kMemoryBytes;
    if (at < kScratchBytes) return fmt::format("scratch[{}]", at);
    at -= kScratchBytes;
    return at < kGdsBytes ? fmt::format("gds[{}]", at) : fmt::format("lds[{}]", at - kGdsBytes);
  };
  const auto nan64 = [](const uint8_t* bytes, size_t at) {
    return (dword(bytes, at + 4) & 0x7fffffff) >= 0x7ff00000 &&
           ((dword(bytes, at + 4) & 0xfffff) != 0 || dword(bytes, at) != 0);
  };
  for (size_t i = 0; i < Memory::kUsed && text.size() < 2000; i += 4) {
    const uint32_t a = dword(expected, i), b = dword(actual, i);
    if (a == b) continue;
    // The lower half of a NaN of 64 bits, which may be at any dword: atomics of GFX90A do not round addresses.
    const bool both_nan64 = i + 8 <= Memory::kUsed && nan64(expected, i) && nan64(actual, i);
    if (floats && (same_floats(a, b) || both_nan64)) continue;
    text += fmt::format("  {}: expected {:#x}, got {:#x}\n", name(i), a, b);
  }
}

// Where a state starts otherwise than at random.
struct Simpler {
  bool full_exec = false, usual_mode = false;
};

// The engines' code of one sequence or program, and how they differ on it.
class Trial {
 public:
  Trial(Arena& arena, const DiffOptions& options, const Words& code, uint32_t mode, bool floats, uint64_t seed)
      : arena_(arena),
        options_(options),
        snippet_(options.target, bytes_of(code)),
        mode_(mode),
        floats_(floats),
        count_(seed % 2 != 0) {
    Rng rng(~seed);
    std::vector<EngineConfig> engines = host_engines();
    if (options.alternate)
      std::erase_if(engines, [chosen = std::array{rng() % 3 != 0, rng() % 3 != 0}](const EngineConfig& engine) {
        return engine.kind != EngineKind::interp && engine.optimise != chosen[engine.kind == EngineKind::avx2];
      });
    for (EngineConfig& engine : engines) {
      engine.count_instructions = count_;
      // With both kinds of code it is the unoptimised one that gets the rest of the optimisations.
      const bool change = options.random_switches && engine.kind != EngineKind::interp &&
                          (options.alternate ? engine.optimise && rng() % 2 == 0 : !engine.optimise);
      if (change) {
        engine.optimise = true;
        const uint64_t one_in = rng() % 2 == 0 ? 8 : 2;  // few off, or half of them
        for (const std::string& name : switch_names())
          if (rng() % one_in == 0) engine.disabled.push_back(name);
      }
      runners_.push_back(std::make_unique<SnippetRunner>(engine, snippet_));
    }
  }

  // Empty if the engines agree from the state of `state_seed`; otherwise `engine` differs.
  std::string difference(uint64_t state_seed, Simpler simpler, std::string* engine, uint64_t* executed) {
    make_state(state_seed, simpler);
    *engine = "interp";
    if (std::string error = run(*runners_[0], *arena_.expected); !error.empty()) return error + "\n";
    std::memcpy(arena_.memory_expected.data(), arena_.memory.memory, Memory::kUsed);
    const ExitReason expected_exit = left_;
    if (executed != nullptr)  // without those at the end of the snippet
      *executed += arena_.expected->instructions - (left_ == ExitReason::kJump ? 2 : 0);
    for (size_t i = 1; i < runners_.size(); ++i) {
      *engine = runners_[i]->engine().name();
      if (std::string error = run(*runners_[i], *arena_.actual); !error.empty()) return error + "\n";
      std::string text = compare_left(expected_exit);
      compare_bytes(arena_.memory_expected.data(), arena_.memory.memory, floats_, text);
      if (!text.empty()) return text;
    }
    return {};
  }

 private:
  // How the waves left and, where they went on to the end, their states. Nobody sees registers after a trap.
  std::string compare_left(ExitReason expected_exit) const {
    const WaveState &expected = *arena_.expected, &actual = *arena_.actual;
    if (left_ != expected_exit || expected.pc != actual.pc ||
        (left_ == ExitReason::kTrap && expected.trap_id != actual.trap_id))
      return fmt::format("  leaves: expected {} at {} ({:#x}), got {} at {} ({:#x})\n",
                         static_cast<uint32_t>(expected_exit), expected.pc - snippet_.base(), expected.trap_id,
                         static_cast<uint32_t>(left_), actual.pc - snippet_.base(), actual.trap_id);
    if (left_ == ExitReason::kTrap)
      return expected.trapsts == actual.trapsts
                 ? ""
                 : fmt::format("  trapsts: expected {:#x}, got {:#x}\n", expected.trapsts, actual.trapsts);
    std::string text = compare(expected, actual);
    if (count_ && expected.instructions != actual.instructions)
      text += fmt::format("  instructions: expected {}, got {}\n", expected.instructions, actual.instructions);
    return text;
  }

  void make_state(uint64_t seed, Simpler simpler) {
    WaveState& wave = *arena_.initial;
    Rng rng(seed);
    std::memset(static_cast<void*>(&wave), 0, sizeof wave);
    randomise(wave, rng, mode_);
    if (simpler.full_exec) wave.set_exec(~uint64_t{0});
    if (simpler.usual_mode) wave.mode = (wave.mode & ~0x3ffu) | 0x3c0;
    const Memory& memory = arena_.memory;
    set_addresses(
        wave,
        {.memory = reinterpret_cast<uint64_t>(memory.memory), .scratch = reinterpret_cast<uint64_t>(memory.scratch)},
        options_.target, rng);
    for (size_t i = 0; i < Memory::kUsed; i += 8) {
      const uint64_t value = rng();
      std::memcpy(&arena_.memory_initial[i], &value, 8);
    }
    wave.lds_base = reinterpret_cast<uint64_t>(memory.lds);
    wave.lds_size = kLdsBytes;
    wave.gds_base = reinterpret_cast<uint64_t>(memory.gds);
    wave.gds_size = kGdsBytes;
  }

  std::string run(SnippetRunner& runner, WaveState& wave) {
    std::memcpy(static_cast<void*>(&wave), arena_.initial.get(), sizeof(WaveState));
    std::memcpy(arena_.memory.memory, arena_.memory_initial.data(), Memory::kUsed);
    const auto result = runner.run_to_exit(wave);
    if (!result) return result.error().message;
    left_ = *result;
    // To its end, or to an exception that traps.
    if (left_ == ExitReason::kJump || left_ == ExitReason::kTrap) return "";
    return fmt::format("left with reason {} at {}", static_cast<uint32_t>(left_), wave.pc - snippet_.base());
  }

  Arena& arena_;
  const DiffOptions& options_;
  Snippet snippet_;
  uint32_t mode_;
  bool floats_;
  bool count_;
  ExitReason left_{};  // of the last run
  std::vector<std::unique_ptr<SnippetRunner>> runners_;
};

std::string print(const Words& words, isa::Target target) {
  std::string text;
  for_each_instruction(words, target, [&](const isa::Instruction& inst, size_t at, size_t size) {
    text += fmt::format("  {:4}: {:<60} //", at * 4, size != 0 ? isa::disassemble(inst) : "illegal");
    for (size_t i = 0; i < std::max<size_t>(size, 1); ++i) text += fmt::format(" {:#010x}", words[at + i]);
    text += '\n';
  });
  return text;
}

uint64_t count_instructions(const Words& words, isa::Target target) {
  uint64_t count = 0;
  for_each_instruction(words, target, [&](const isa::Instruction&, size_t, size_t) { ++count; });
  return count;
}

// Tries a sequence or program from all states, and shrinks it where engines differ.
template <typename Item, typename WordsOf, typename Shrink>
std::string diff(const DiffOptions& options, Item item, uint64_t seed, std::string_view what, WordsOf words_of,
                 Shrink shrink, DiffCounts* counts) {
  static thread_local Arena arena;
  Trial trial(arena, options, words_of(item), item.mode, item.floats, seed);
  if (options.print)
    fmt::print("{} {} seed {}\n{}", isa::to_string(options.target), what, seed, print(words_of(item), options.target));
  if (counts != nullptr) counts->generated += count_instructions(words_of(item), options.target);
  for (unsigned state = 0; state < options.states; ++state) {
    const uint64_t state_seed = seed * 1000 + state;
    std::string engine;
    std::string text = trial.difference(state_seed, {}, &engine, counts != nullptr ? &counts->executed : nullptr);
    if (text.empty()) continue;
    Simpler simpler;
    const auto smaller = [&](const Item& candidate, Simpler start) {
      std::string name;
      std::string found = Trial(arena, options, words_of(candidate), candidate.mode, candidate.floats, seed)
                              .difference(state_seed, start, &name, nullptr);
      if (found.empty()) return false;
      text = std::move(found);
      engine = std::move(name);
      return true;
    };
    for (bool again = true; again;) {
      again = false;
      for (Item& candidate : shrink(item)) {
        if (!smaller(candidate, simpler)) continue;
        item = std::move(candidate);
        again = true;
        break;
      }
    }
    if (smaller(item, {.full_exec = true})) simpler.full_exec = true;
    if (smaller(item, {.full_exec = simpler.full_exec, .usual_mode = true})) simpler.usual_mode = true;
    (void)smaller(item, simpler);  // arena.initial is that of the report
    return fmt::format(
        "{} {} seed {} state {}: {} differs from interp (exec {:#x}, mode {:#x}, vcc {:#x}, m0 {:#x})\n{}{}",
        isa::to_string(options.target), what, seed, state_seed, engine, arena.initial->exec(), arena.initial->mode,
        arena.initial->vcc(), arena.initial->sgpr[sreg::kM0], print(words_of(item), options.target), text);
  }
  return {};
}

}  // namespace

std::string diff_sequence(const DiffOptions& options, Sequence sequence, uint64_t seed, DiffCounts* counts) {
  return diff(
      options, std::move(sequence), seed, "sequence", [](const Sequence& s) { return flatten(s); },
      [&](const Sequence& s) { return shrunk(s, options.target); }, counts);
}

std::string diff_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed,
                      DiffCounts* counts) {
  Rng rng(seed);
  return diff_sequence(options, random_sequence(pool, options.target, options.length, rng), seed, counts);
}

std::string program_once(const DiffOptions& options, const std::vector<Candidate>& pool, uint64_t seed,
                         DiffCounts* counts) {
  Rng rng(seed);
  return diff(
      options, random_program(options.target, pool, rng), seed, "program",
      [&](const Program& p) { return encode(p, options.target); }, [](const Program& p) { return shrunk(p); }, counts);
}

}  // namespace wavejit::test
