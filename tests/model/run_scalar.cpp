#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tests/model/data.h"
#include "tests/model/programs.h"
#include "tests/model/runner.h"
#include "tests/model/scalar.h"

namespace wavejit::model {
namespace {

using test::EngineConfig;

constexpr unsigned kCopies = 12;   // of an instruction in a program, with operands of their own
constexpr unsigned kPrograms = 8;  // for each opcode, with other constants and immediates

// SGPRs of a copy.
struct Places {
  unsigned a, b, d, scc_out, scc_in;
  explicit Places(unsigned copy) : a(8 * copy), b(a + 2), d(a + 4), scc_out(a + 6), scc_in(a + 7) {}
  // Instructions that write EXEC have one source.
  [[nodiscard]] unsigned exec() const { return b; }
};

struct Copy {
  bool a_is_constant = false, b_is_constant = false;
  Constant a, b;
};

struct Unit {
  const ScalarInstruction* instruction = nullptr;
  isa::Target target{};
  std::array<Copy, kCopies> copies{};
  uint64_t seed = 0;
};

Constant random_constant(unsigned dwords, std::mt19937_64& rng) {
  static constexpr Constant kInline[] = {
      {"0", 0}, {"1", 1}, {"16", 16}, {"64", 64}, {"-1", ~uint64_t{0}}, {"-16", ~uint64_t{15}}};
  static constexpr Constant kLiterals[] = {
      {"0x80000000", 0x80000000}, {"0x7fffffff", 0x7fffffff}, {"0x12345678", 0x12345678}, {"0x100008", 0x100008}};
  if (dwords == 1 && rng() % 2 != 0) return kLiterals[rng() % std::size(kLiterals)];
  Constant c = kInline[rng() % std::size(kInline)];
  if (dwords == 1) c.bits &= 0xffffffff;
  return c;
}

std::string sgprs(unsigned first, unsigned dwords) {
  return dwords == 2 ? fmt::format("s[{}:{}]", first, first + 1) : fmt::format("s{}", first);
}

std::string unit_program(const Unit& unit) {
  const ScalarInstruction& i = *unit.instruction;
  std::string text;
  for (unsigned k = 0; k < kCopies; ++k) {
    const Places p(k);
    const Copy& c = unit.copies[k];
    if (i.writes_exec) text += fmt::format("s_mov_b64 exec, {}\n", sgprs(p.exec(), 2));
    text += fmt::format("s_cmp_lg_u32 s{}, 0\n", p.scc_in);
    const std::string b = i.has_immediate   ? fmt::format("{:#x}", c.b.bits)
                          : c.b_is_constant ? std::string(c.b.text)
                                            : sgprs(p.b, i.source_dwords[1]);
    text += scalar_assembly(i, unit.target, sgprs(p.d, i.result_dwords),
                            c.a_is_constant ? std::string(c.a.text) : sgprs(p.a, i.source_dwords[0]), b);
    text += fmt::format("\ns_cselect_b32 s{}, 1, 0\n", p.scc_out);
    if (i.writes_exec) text += fmt::format("s_mov_b64 {}, exec\n", sgprs(p.exec(), 2));
  }
  return text;
}

std::vector<Unit> make_units(const RunOptions& options) {
  std::vector<Unit> units;
  const std::regex only(options.only);
  for (const ScalarInstruction& i : all_scalar_instructions()) {
    if (!std::regex_search(std::string(i.entry->name), only)) continue;
    for (const isa::Target target : options.targets) {
      if (!isa::available(i.opcode, target)) continue;
      for (unsigned n = 0; n < kPrograms; ++n) {
        Unit unit{.instruction = &i, .target = target};
        unit.seed = options.seed * 1000003 + static_cast<uint64_t>(i.opcode) * 64 + n;
        std::mt19937_64 rng(unit.seed);
        for (unsigned k = 0; k < kCopies; ++k) {
          Copy& c = unit.copies[k];
          if (i.has_immediate) {
            c.b.bits = static_cast<uint16_t>(random_value(isa::Type::i16, rng));
            continue;
          }
          c.a_is_constant = k % 4 == 1;
          c.b_is_constant = k % 4 == 2 && i.source_dwords[1] != 0;
          if (c.a_is_constant) c.a = random_constant(i.source_dwords[0], rng);
          if (c.b_is_constant) c.b = random_constant(i.source_dwords[1], rng);
        }
        units.push_back(unit);
      }
    }
  }
  return units;
}

uint64_t random_source(unsigned dwords, std::mt19937_64& rng) {
  return static_cast<uint64_t>(random_value(dwords == 2 ? isa::Type::b64 : isa::Type::b32, rng));
}

class Runner {
 public:
  explicit Runner(const RunOptions& options) : options_(options), engines_(chosen_engines(options)) {}

  RunSummary run() {
    const std::vector<Unit> units = make_units(options_);
    std::map<isa::Target, std::vector<std::string>> programs;
    for (const Unit& unit : units) programs[unit.target].push_back(unit_program(unit));
    std::map<isa::Target, std::vector<std::vector<uint8_t>>> code;
    std::map<isa::Target, size_t> next;
    for (const auto& [target, texts] : programs) {
      auto assembled = assemble_programs(target, texts);
      if (!assembled) {
        fail(assembled.error().message);
        return summary_;
      }
      code[target] = std::move(*assembled);
    }
    const ScalarInstruction* last = nullptr;
    for (const Unit& unit : units) {
      summary_.opcodes += std::exchange(last, unit.instruction) != unit.instruction ? 1 : 0;
      run_unit(unit, test::Snippet(unit.target, code[unit.target][next[unit.target]++]));
    }
    summary_.forms = static_cast<unsigned>(units.size() / kPrograms);
    return summary_;
  }

 private:
  void fail(const std::string& text) {
    if (++summary_.failures <= kMostFailures) fmt::print("{}\n", text.substr(0, kMostText));
  }

  void run_unit(const Unit& unit, const test::Snippet& snippet) {
    const ScalarInstruction& i = *unit.instruction;
    std::vector<std::unique_ptr<test::SnippetRunner>> prepared;
    for (const EngineConfig& engine : engines_) {
      prepared.push_back(std::make_unique<test::SnippetRunner>(engine, snippet));
    }
    std::mt19937_64 rng(unit.seed + 1);
    const unsigned waves = (options_.lanes + kCopies * kPrograms - 1) / (kCopies * kPrograms);
    std::array<uint32_t, 8 * kCopies> sgprs{};
    std::array<ScalarStep, kCopies> before, after;
    for (unsigned w = 0; w < waves; ++w) {
      for (unsigned k = 0; k < kCopies; ++k) {
        const Places p(k);
        const Copy& c = unit.copies[k];
        ScalarStep& x = before[k] = {};
        const auto put = [&](unsigned at, uint64_t value) {
          sgprs[at] = static_cast<uint32_t>(value);
          sgprs[at + 1] = static_cast<uint32_t>(value >> 32);
        };
        x.a = random_source(i.source_dwords[0], rng);
        put(p.a, x.a);
        x.b = i.writes_exec ? rng() : random_source(i.source_dwords[1], rng);
        // Equal sources and neighbours are rare otherwise.
        if (i.source_dwords[0] == i.source_dwords[1] && rng() % 8 == 0) x.b = x.a;
        put(p.b, x.b);
        if (i.writes_exec) x.exec = x.b;
        if (c.a_is_constant) x.a = c.a.bits;
        if (c.b_is_constant) x.b = c.b.bits;
        if (i.has_immediate) x.b = extended_immediate(i, static_cast<uint16_t>(c.b.bits));
        x.d = random_source(std::max(i.result_dwords, 1u), rng);
        put(p.d, x.d);
        x.scc = rng() % 2 != 0;
        sgprs[p.scc_in] = x.scc ? static_cast<uint32_t>(rng()) | 1 : 0;
        sgprs[p.scc_out] = 0;
        after[k] = x;
        i.entry->model(after[k]);
      }
      summary_.lanes += kCopies;
      for (size_t e = 0; e < engines_.size(); ++e) {
        std::copy(sgprs.begin(), sgprs.end(), wave_->sgpr);
        wave_->set_exec(1);
        if (const auto result = prepared[e]->run(*wave_); !result)
          return fail(fmt::format("{} [{}]: {}", i.entry->name, engines_[e].name(), result.error().message));
        summary_.comparisons += kCopies;
        for (unsigned k = 0; k < kCopies; ++k)
          if (!compare(unit, k, before[k], after[k], engines_[e])) return;
      }
    }
  }

  bool compare(const Unit& unit, unsigned k, const ScalarStep& before, const ScalarStep& after,
               const EngineConfig& engine) {
    const ScalarInstruction& i = *unit.instruction;
    const Places p(k);
    const uint64_t mask = i.result_dwords == 2 ? ~uint64_t{0} : i.result_dwords == 1 ? 0xffffffff : 0;
    const uint64_t got = wave_->sgpr64(p.d) & mask, want = after.d & mask;
    const bool scc = wave_->sgpr[p.scc_out] != 0;
    const uint64_t exec = wave_->sgpr64(p.exec());
    if (got == want && scc == after.scc && (!i.writes_exec || exec == after.exec)) return true;
    fail(
        fmt::format("{} [{} {}]: sources {:#x} {:#x} old {:#x} SCC {} EXEC {:#x}: want {:#x} SCC {} EXEC {:#x}, got "
                    "{:#x} SCC {} EXEC {:#x}",
                    i.entry->name, isa::to_string(unit.target), engine.name(), before.a, before.b, before.d & mask,
                    before.scc, before.exec, want, after.scc, after.exec, got, scc, i.writes_exec ? exec : 0));
    return false;
  }

  const RunOptions& options_;
  std::vector<EngineConfig> engines_;
  RunSummary summary_;
  test::WavePtr wave_ = test::make_wave();
};

}  // namespace

RunSummary run_scalar(const RunOptions& options) {
  return Runner(options).run();
}

}  // namespace wavejit::model
