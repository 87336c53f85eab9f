#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "tests/model/data.h"
#include "tests/model/form.h"
#include "tests/model/programs.h"
#include "tests/model/runner.h"

namespace wavejit::model {
namespace {

using test::EngineConfig;

constexpr unsigned kCopies = 8;           // of an instruction in a program, each with modifiers of its own
constexpr unsigned kUnitsPerBatch = 256;  // programs that are assembled at once
constexpr uint32_t kUsualMode = 0x3c0;

// MODEs with each kind of rounding and flushing, with and without IEEE and DX10_CLAMP.
constexpr uint32_t kModes[] = {0x3f0, 0x3f5, 0x3fa, 0x3ff, 0x300, 0x1f0, 0x0f0, 0x310, 0x3e0, 0x245};
constexpr uint32_t kModifierModes[] = {0x3c0, 0x0f0, 0x305, 0x1ca};
constexpr uint32_t kOmodModes[] = {0x100, 0x000, 0x105, 0x3c0};

struct Unit {
  const Instruction* instruction = nullptr;
  Class cls{};
  uint32_t mode = 0;
  std::vector<isa::Target> targets;
  std::array<Modifiers, kCopies> forms{};
  unsigned lanes = 0;
  uint64_t seed = 0;
};

uint64_t hash(std::string_view text, uint64_t seed) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return seed ^ seed >> 29;
}

std::vector<Unit> make_units(const RunOptions& options, const std::vector<Instruction>& instructions) {
  std::vector<Unit> units;
  const std::regex only(options.only), only_class(options.only_class);
  for (const Instruction& i : instructions) {
    if (!std::regex_search(std::string(i.name()), only)) continue;
    for (unsigned c = 0; c <= static_cast<unsigned>(Class::dpp); ++c) {
      const auto cls = static_cast<Class>(c);
      if (!std::regex_search(std::string(to_string(cls)), only_class)) continue;
      // Targets that take the same forms.
      std::map<std::pair<unsigned, bool>, std::vector<isa::Target>> groups;
      for (const isa::Target target : options.targets) {
        if (!has_class(i, cls, target)) continue;
        const bool only_long = i.row->number[static_cast<size_t>(isa::family_of(target))] >= isa::kVop3Only;
        groups[{group_of(target, i.name()), only_long}].push_back(target);
      }
      std::vector<uint32_t> modes{kUsualMode};
      if (cls == Class::mode) {
        modes.assign(std::begin(kModes), std::end(kModes));
      } else if (cls == Class::omod) {
        modes.assign(std::begin(kOmodModes), std::end(kOmodModes));
      } else if (cls >= Class::abs_neg && i.row->has(isa::flag::reads_mode)) {
        modes.assign(std::begin(kModifierModes), std::end(kModifierModes));
      }
      for (const auto& [key, targets] : groups) {
        for (const uint32_t mode : modes) {
          Unit unit{.instruction = &i, .cls = cls, .mode = mode, .targets = targets};
          unit.lanes = options.lanes / (options.each_mode ? 1 : static_cast<unsigned>(modes.size()));
          unit.seed = hash(fmt::format("{} {} {:#x} {}", i.name(), to_string(cls), mode, key.first), options.seed);
          std::mt19937_64 rng(unit.seed);
          for (unsigned k = 0; k < kCopies; ++k) unit.forms[k] = random_modifiers(i, cls, targets[0], rng, k);
          units.push_back(std::move(unit));
        }
      }
    }
  }
  return units;
}

std::string unit_program(const Unit& unit, isa::Target target) {
  std::string text;
  for (unsigned k = 0; k < kCopies; ++k) text += program(*unit.instruction, unit.forms[k], target, Registers(k));
  return text;
}

class Runner {
 public:
  explicit Runner(const RunOptions& options)
      : options_(options), pool_(options.seed), engines_(chosen_engines(options)) {}

  RunSummary run() {
    const std::vector<Instruction> instructions = all_instructions();
    const std::vector<Unit> units = make_units(options_, instructions);
    for (size_t begin = 0; begin < units.size(); begin += kUnitsPerBatch)
      run_batch({units.begin() + static_cast<std::ptrdiff_t>(begin),
                 units.begin() + static_cast<std::ptrdiff_t>(std::min(units.size(), begin + kUnitsPerBatch))});
    const Instruction* last = nullptr;
    for (const Unit& unit : units)
      summary_.opcodes += std::exchange(last, unit.instruction) != unit.instruction ? 1 : 0;
    summary_.forms = static_cast<unsigned>(units.size());
    return summary_;
  }

 private:
  void fail(const std::string& text) {
    if (++summary_.failures <= kMostFailures) fmt::print("{}\n", text.substr(0, kMostText));
  }

  void run_batch(std::span<const Unit> units) {
    std::map<isa::Target, std::vector<std::vector<uint8_t>>> code;
    std::map<isa::Target, size_t> next;
    for (const isa::Target target : options_.targets) {
      std::vector<std::string> programs;
      for (const Unit& unit : units)
        if (std::find(unit.targets.begin(), unit.targets.end(), target) != unit.targets.end())
          programs.push_back(unit_program(unit, target));
      if (programs.empty()) continue;
      auto assembled = assemble_programs(target, programs);
      if (!assembled) {
        fail(fmt::format("{}: {}", isa::to_string(target), assembled.error().message));
        return;
      }
      code[target] = std::move(*assembled);
    }
    for (const Unit& unit : units) {
      std::vector<test::Snippet> snippets;
      snippets.reserve(unit.targets.size());
      for (const isa::Target target : unit.targets) snippets.emplace_back(target, code[target][next[target]++]);
      const unsigned before = summary_.failures;
      run_unit(unit, snippets);
      if (options_.verbose)
        fmt::print("{} {} {:#x}: {}\n", unit.instruction->name(), to_string(unit.cls), unit.mode,
                   summary_.failures == before ? "ok" : "FAILED");
    }
  }

  struct Prepared {
    const test::Snippet* snippet;
    const EngineConfig* engine;
    std::unique_ptr<test::SnippetRunner> code;
  };

  void run_unit(const Unit& unit, const std::vector<test::Snippet>& snippets) {
    std::mt19937_64 rng(unit.seed + 1);
    const bool partial_exec = unit.cls == Class::dpp;
    std::vector<Prepared> prepared;
    for (const test::Snippet& snippet : snippets) {
      for (const EngineConfig& engine : engines_) {
        prepared.push_back({&snippet, &engine, std::make_unique<test::SnippetRunner>(engine, snippet)});
      }
    }
    // One engine after the other has the same rows; source registers are loaded once, as nothing writes them.
    const unsigned waves = (unit.lanes + kCopies * kLanes - 1) / (kCopies * kLanes);
    unsigned row = static_cast<unsigned>(rng());
    for (unsigned w = 0; w < waves; ++w) {
      const uint64_t exec = partial_exec && rng() % 2 != 0 ? rng() | rng() : ~uint64_t{0};
      const unsigned dwords = unit.instruction->result == isa::Type::none ? 0 : dwords_of(unit.instruction->result);
      wave_->mode = unit.mode;
      for (unsigned k = 0; k < kCopies; ++k, ++row) {
        const Registers r(k);
        WaveInput input;
        input.exec = exec;
        input.mode = unit.mode;
        input.carry = rng();
        unsigned source = 0;
        for (const Source& s : unit.instruction->sources) {
          if (s.is_old || s.is_literal) continue;
          input.source[source] = pool_.rows(s.type, source == 0 ? row : static_cast<unsigned>(rng()));
          for (unsigned d = 0; d < dwords_of(s.type); ++d)
            std::memcpy(wave_->vgpr[r.source(source) + d], input.source[source][d], kLanes * 4);
          if (source == 0) {
            const unsigned lane = w % kLanes;
            input.uniform = input.source[0][0][lane] | uint64_t{input.source[0][1][lane]} << 32;
          }
          ++source;
        }
        wave_->set_sgpr64(r.mask_in(), input.carry);
        wave_->set_sgpr64(r.uniform(), input.uniform);
        evaluate(*unit.instruction, unit.forms[k], isa::family_of(unit.targets[0]), input, results_[k]);
        inputs_[k] = input;
      }
      wave_->set_sgpr64(kExecCopy, exec);
      summary_.lanes += kCopies * kLanes;
      for (const Prepared& p : prepared) {
        for (unsigned k = 0; k < kCopies; ++k)
          for (unsigned d = 0; d < dwords; ++d) std::fill_n(wave_->vgpr[Registers(k).result() + d], kLanes, kOld);
        wave_->set_exec(exec);
        wave_->set_vcc(0);
        if (const auto result = p.code->run(*wave_); !result)
          return fail(describe(unit, p.snippet->target(), *p.engine) + ": " + result.error().message);
        summary_.comparisons += kCopies * kLanes;
        for (unsigned k = 0; k < kCopies; ++k)
          if (!compare(unit, k, dwords, exec, p)) return;
      }
    }
  }

  std::string describe(const Unit& unit, isa::Target target, const EngineConfig& engine) const {
    return fmt::format("{} {} mode {:#x} [{} {}]", unit.instruction->name(), to_string(unit.cls), unit.mode,
                       isa::to_string(target), engine.name());
  }

  bool compare(const Unit& unit, unsigned k, unsigned dwords, uint64_t exec, const Prepared& p) {
    const Registers r(k);
    const Instruction& i = *unit.instruction;
    const auto report = [&](unsigned lane, const std::string& what) {
      std::string sources;
      for (unsigned s = 0; s < i.vector_sources(); ++s) {
        sources += " ";
        for (unsigned d = 4; d-- > 0;)
          if (wave_->vgpr[r.source(s) + d][lane] != 0 || d == 0)
            sources += fmt::format("{:08x}", wave_->vgpr[r.source(s) + d][lane]);
      }
      fail(fmt::format("{}: {}\n  lane {} sources{} uniform {:x} carry {}: {}",
                       describe(unit, p.snippet->target(), *p.engine),
                       assembly(i, unit.forms[k], p.snippet->target(), r), lane, sources, inputs_[k].uniform,
                       inputs_[k].carry >> lane & 1, what));
      return false;
    };
    for (unsigned lane = 0; dwords != 0 && lane < kLanes; ++lane) {
      Bits got = 0;
      for (unsigned d = 0; d < dwords; ++d) got |= Bits{wave_->vgpr[r.result() + d][lane]} << 32 * d;
      const LaneResult& want = results_[k].lanes[lane];
      if (want.bits == got) continue;
      if (!agrees(want, got))
        return report(lane, fmt::format("want {:#x}{:016x}{}, got {:#x}{:016x}", static_cast<uint64_t>(want.bits >> 64),
                                        static_cast<uint64_t>(want.bits),
                                        want.is_interval ? fmt::format(" to {:#x}", want.high) : "",
                                        static_cast<uint64_t>(got >> 64), static_cast<uint64_t>(got)));
    }
    if (i.has_mask_result) {
      const uint64_t got = wave_->sgpr64(r.mask_out()), want = results_[k].mask;
      if (got != want) {
        const auto lane = static_cast<unsigned>(std::countr_zero(got ^ want));
        return report(lane, fmt::format("mask: want {:#x}, got {:#x}, EXEC {:#x}", want, got, exec));
      }
    }
    if (i.writes_exec && wave_->sgpr64(r.exec_out()) != results_[k].mask)
      return report(0, fmt::format("EXEC: want {:#x}, got {:#x}", results_[k].mask, wave_->sgpr64(r.exec_out())));
    return true;
  }

  const RunOptions& options_;
  Pool pool_;
  std::vector<EngineConfig> engines_;
  RunSummary summary_;
  test::WavePtr wave_ = test::make_wave();
  std::array<WaveInput, kCopies> inputs_{};
  std::array<WaveResult, kCopies> results_{};
};

}  // namespace

RunSummary run_vector(const RunOptions& options) {
  return Runner(options).run();
}

}  // namespace wavejit::model
