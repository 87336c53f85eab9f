#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "frontend/isa/row.h"
#include "tests/model/data.h"
#include "tests/model/matrix.h"
#include "tests/model/number.h"
#include "tests/model/programs.h"
#include "tests/model/runner.h"

namespace wavejit::model {
namespace {

using test::EngineConfig;

constexpr uint32_t kUsualMode = 0x3c0;
// Flushed, kept, and the other roundings, which change nothing.
constexpr uint32_t kModes[] = {0x3f0, 0x300, 0x0c0, 0x3c5, 0x3ff};

enum class Class : uint8_t { plain, mode, constant, broadcast, pattern, negated, index };
constexpr std::string_view kClassNames[] = {"plain", "mode", "constant", "broadcast", "pattern", "negated", "index"};

// Registers of the program.
constexpr unsigned kA = 0, kB = 4, kIndex = 8, kC = 64, kD = 128;

struct Form {
  MatrixModifiers modifiers;
  bool a_in_agprs = false, b_in_agprs = false, c_in_vgprs = false;
  bool in_place = false;  // the result replaces C
  std::string_view constant;
  uint64_t constant_bits = 0;
};

struct Unit {
  const MatrixEntry* entry = nullptr;
  isa::Opcode opcode{};
  Class cls{};
  uint32_t mode = kUsualMode;
  Form form;
};

std::string registers(char file, unsigned first, unsigned dwords) {
  return dwords == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + dwords - 1);
}

std::string assembly(const Unit& u, isa::Target target) {
  const MatrixEntry& e = *u.entry;
  const Form& f = u.form;
  const char file = f.c_in_vgprs ? 'v' : 'a';
  std::string text = fmt::format("{} {}, {}, {}, ", isa::printed_name(u.opcode, isa::family_of(target)),
                                 registers(file, f.in_place ? kC : kD, e.result_dwords()),
                                 registers(f.a_in_agprs ? 'a' : 'v', kA, e.a_dwords()),
                                 registers(f.b_in_agprs ? 'a' : 'v', kB, e.b_dwords()));
  if (e.sparse)
    text += registers('v', kIndex, 1);
  else
    text += f.constant.empty() ? registers(file, kC, e.result_dwords()) : std::string(f.constant);
  const MatrixModifiers& m = f.modifiers;
  if (u.cls == Class::negated)
    return text + fmt::format(" neg:[{},{},{}]\n", m.blgp & 1, m.blgp >> 1 & 1, m.blgp >> 2 & 1);
  if (m.cbsz != 0) text += fmt::format(" cbsz:{}", m.cbsz);
  if (m.abid != 0) text += fmt::format(" abid:{}", m.abid);
  if (m.blgp != 0) text += fmt::format(" blgp:{}", m.blgp);
  return text + "\n";
}

// The forms of an instruction, of every class that it has on the processor.
std::vector<Unit> units_of(const MatrixEntry& e, isa::Opcode opcode, isa::Target target) {
  const isa::Family family = isa::family_of(target);
  const bool gfx90a = family >= isa::Family::gfx90a, gfx940 = family == isa::Family::gfx940;
  std::vector<Unit> units;
  const auto add = [&](Class cls, const Form& form, uint32_t mode = kUsualMode) {
    units.push_back({.entry = &e, .opcode = opcode, .cls = cls, .mode = mode, .form = form});
    Form& f = units.back().form;
    const size_t n = units.size();
    f.a_in_agprs = n % 3 == 1;
    f.b_in_agprs = n % 4 == 2;
    f.c_in_vgprs = gfx90a && n % 2 == 1;
    f.in_place = e.sparse || n % 5 == 3;
  };
  for (unsigned i = 0; i < 4; ++i) add(Class::plain, {});
  for (const uint32_t mode : kModes) add(Class::mode, {}, mode);
  // GFX908 computes something else with constants (LLVM, "MFMAInlineLiteralBug"): the assembler has none.
  if (!e.sparse && gfx90a) {
    const bool is_int = e.a == Element::i8;
    const auto one = [&]() -> uint64_t { return is_int ? 0 : e.is_f64() ? kF64.one() : kF32.one(); };
    add(Class::constant, {.constant = "0"});
    if (is_int) add(Class::constant, {.constant = "-16", .constant_bits = 0xfffffff0});
    if (!is_int) add(Class::constant, {.constant = "1.0", .constant_bits = one()});
    if (!is_int) add(Class::constant, {.constant = "-1.0", .constant_bits = one() | (e.is_f64() ? kF64 : kF32).sign()});
  }
  if (e.sparse) {
    for (unsigned abid = 1; abid < 16 / e.a_elements(); ++abid) add(Class::index, {.modifiers = {.abid = abid}});
    add(Class::index, {.modifiers = {.cbsz = 1}});
  } else if (!e.is_f64()) {
    for (unsigned cbsz = 1; 1u << cbsz <= e.blocks; ++cbsz)
      for (unsigned abid = 0; abid < 1u << cbsz; abid += std::max(1u, (1u << cbsz) / 4))
        add(Class::broadcast, {.modifiers = {.cbsz = cbsz, .abid = abid}});
    if (!gfx940 || e.blocks > 1 || e.a == Element::f32)
      for (unsigned blgp = 1; blgp < 8; ++blgp)
        add(Class::pattern, {.modifiers = {.cbsz = e.blocks > 1 ? blgp % 2 : 0, .blgp = blgp}});
  } else if (gfx940) {
    for (unsigned blgp = 1; blgp < 8; ++blgp) add(Class::negated, {.modifiers = {.blgp = blgp}});
  }
  return units;
}

// Elements and sums: most waves have numbers of which sums are numbers, some have infinities and NaNs here and there,
// some numbers so small that products are denormal, and some corner values throughout.
class Data {
 public:
  explicit Data(uint64_t seed) : random_(seed) {}

  MatrixInput wave(const MatrixEntry& e) {
    kind_ = static_cast<unsigned>(random_() % 4);
    MatrixInput input;
    input.a = rows(e.a, e.a_dwords());
    input.b = rows(e.b, e.b_dwords());
    const Element sum = e.is_f64() ? Element::f64 : e.a == Element::i8 ? Element::i8 : Element::f32;
    input.c = rows(sum, e.result_dwords());
    for (uint32_t& lane : input.index) lane = static_cast<uint32_t>(random_());
    return input;
  }
  uint64_t next() { return random_(); }

 private:
  std::vector<Row> rows(Element element, unsigned dwords) {
    std::vector<Row> all(dwords);
    const unsigned bits = bits_of(element);
    for (unsigned lane = 0; lane < 64; ++lane) {
      for (unsigned d = 0; d < dwords; d += bits == 64 ? 2 : 1) {
        uint64_t value = 0;
        for (unsigned at = 0; at < std::max(bits, 32u); at += bits) value |= number(element) << at;
        all[d][lane] = static_cast<uint32_t>(value);
        if (bits == 64) all[d + 1][lane] = static_cast<uint32_t>(value >> 32);
      }
    }
    return all;
  }

  uint64_t number(Element element) {
    enum : unsigned { kTame, kSome, kSmall, kCorners };
    const bool corner = kind_ == kCorners || (kind_ == kSome && random_() % 64 == 0);
    switch (element) {
      case Element::i8:
      case Element::fp8:
      case Element::bf8:
        // The NaN of one element in 256 would be in every sum.
        for (;;)
          if (const uint64_t byte = random_() & 0xff; element == Element::i8 || corner || byte != 0x80) return byte;
      case Element::f64:
        return corner ? static_cast<uint64_t>(random_value(isa::Type::f64, random_)) : tame(kF64);
      case Element::f16:
        return corner ? static_cast<uint64_t>(random_value(isa::Type::f16, random_)) & 0xffff : tame(kF16);
      case Element::bf16:
        return (corner ? static_cast<uint64_t>(random_value(isa::Type::f32, random_)) : tame(kF32)) >> 16;
      default:
        return corner ? static_cast<uint64_t>(random_value(isa::Type::f32, random_)) : tame(kF32);
    }
  }

  // Near one; or near the least normal number and near one, so that products are on either side of it.
  uint64_t tame(const Format& f) {
    constexpr unsigned kSmall = 2;
    const int spread = f.bits == 16 ? 4 : 12;
    int exponent = f.bias() + static_cast<int>(random_() % (2 * spread)) - spread;
    if (kind_ == kSmall && random_() % 2 != 0) exponent -= f.bias() - 2;
    exponent = std::max(exponent, 0);
    return static_cast<uint64_t>(exponent) << f.fraction | (random_() & (f.min_normal() - 1)) |
           (random_() % 2 != 0 ? f.sign() : 0);
  }

  std::mt19937_64 random_;
  unsigned kind_ = 0;
};

class Runner {
 public:
  explicit Runner(const RunOptions& options) : options_(options), engines_(chosen_engines(options)) {}

  RunSummary run() {
    const std::regex only(options_.only), only_class(options_.only_class);
    std::vector<const MatrixEntry*> seen;
    for (const isa::Target target : options_.targets) {
      std::vector<Unit> units;
      for (unsigned number = 0; number < isa::kNumOpcodes; ++number) {
        const auto opcode = static_cast<isa::Opcode>(number);
        const MatrixEntry* entry = find_matrix(isa::opcode_name(opcode));
        if (entry == nullptr || !isa::available(opcode, target) || !std::regex_search(std::string(entry->name), only))
          continue;
        for (Unit& u : units_of(*entry, opcode, target))
          if (std::regex_search(std::string(kClassNames[static_cast<size_t>(u.cls)]), only_class))
            units.push_back(std::move(u));
        if (std::find(seen.begin(), seen.end(), entry) == seen.end()) seen.push_back(entry);
      }
      run_target(target, units);
    }
    summary_.opcodes = static_cast<unsigned>(seen.size());
    return summary_;
  }

 private:
  void fail(const std::string& text) {
    if (++summary_.failures <= kMostFailures) fmt::print("{}\n", text.substr(0, kMostText));
  }

  void run_target(isa::Target target, const std::vector<Unit>& units) {
    std::vector<std::string> programs;
    for (const Unit& u : units) programs.push_back(assembly(u, target));
    if (programs.empty()) return;
    const auto code = assemble_programs(target, programs);
    if (!code) return fail(fmt::format("{}: {}", isa::to_string(target), code.error().message));
    for (size_t i = 0; i < units.size(); ++i) {
      const auto same_class = static_cast<unsigned>(std::count_if(units.begin(), units.end(), [&](const Unit& u) {
        return u.entry == units[i].entry && u.cls == units[i].cls;
      }));
      run_unit(units[i], test::Snippet(target, (*code)[i]), options_.each_mode ? 1 : same_class, programs[i]);
      ++summary_.forms;
    }
  }

  void run_unit(const Unit& u, const test::Snippet& snippet, unsigned same_class, const std::string& text) {
    const MatrixEntry& e = *u.entry;
    const unsigned results = 64 * e.result_dwords() / (e.is_f64() ? 2 : 1);
    const unsigned waves = std::max(1u, (options_.lanes / same_class + results - 1) / results);
    std::vector<std::unique_ptr<test::SnippetRunner>> runners;
    for (const EngineConfig& engine : engines_)
      runners.push_back(std::make_unique<test::SnippetRunner>(engine, snippet));
    uint64_t seed = options_.seed;
    for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    Data data(seed ^ u.mode);
    for (unsigned w = 0; w < waves; ++w) {
      MatrixInput input = data.wave(e);
      if (!u.form.constant.empty()) {
        for (size_t d = 0; d < input.c.size(); ++d)
          input.c[d].fill(static_cast<uint32_t>(u.form.constant_bits >> (e.is_f64() && d % 2 != 0 ? 32 : 0)));
      }
      const std::vector<Row> want = multiply(e, u.form.modifiers, isa::family_of(snippet.target()), u.mode, input);
      summary_.lanes += results;
      const uint64_t exec = data.next();  // does not matter
      for (const auto& runner : runners) {
        load(u, input, exec);
        if (const auto result = runner->run(*wave_); !result)
          return fail(fmt::format("{} [{} {}]: {}", text, isa::to_string(snippet.target()), runner->engine().name(),
                                  result.error().message));
        summary_.comparisons += results;
        const std::string difference = compare(u, want);
        if (difference.empty()) continue;
        return fail(fmt::format("{}  {} mode {:#x} [{} {}]: {}", text, kClassNames[static_cast<size_t>(u.cls)], u.mode,
                                isa::to_string(snippet.target()), runner->engine().name(), difference));
      }
    }
    if (options_.verbose)
      fmt::print("{} {} {:#x}: ok, {}", e.name, kClassNames[static_cast<size_t>(u.cls)], u.mode, text);
  }

  void load(const Unit& u, const MatrixInput& input, uint64_t exec) {
    WaveState& w = *wave_;
    const auto put = [&](bool agprs, unsigned first, const std::vector<Row>& rows) {
      for (const Row& row : rows) std::memcpy((agprs ? w.agpr : w.vgpr)[first++], row.data(), sizeof row);
    };
    put(u.form.a_in_agprs, kA, input.a);
    put(u.form.b_in_agprs, kB, input.b);
    std::memcpy(w.vgpr[kIndex], input.index.data(), sizeof input.index);
    put(!u.form.c_in_vgprs, kC, input.c);
    for (unsigned d = 0; d < u.entry->result_dwords(); ++d)
      std::fill_n((u.form.c_in_vgprs ? w.vgpr : w.agpr)[kD + d], 64, 0x5a5a1234u);
    w.mode = u.mode;
    w.set_exec(exec);
  }

  std::string compare(const Unit& u, const std::vector<Row>& want) const {
    const auto* const rows = (u.form.c_in_vgprs ? wave_->vgpr : wave_->agpr) + (u.form.in_place ? kC : kD);
    const bool is_int = u.entry->a == Element::i8, wide = u.entry->is_f64();
    for (unsigned d = 0; d < want.size(); d += wide ? 2 : 1) {
      for (unsigned lane = 0; lane < 64; ++lane) {
        uint64_t expected = want[d][lane], got = rows[d][lane];
        if (wide) expected |= uint64_t{want[d + 1][lane]} << 32, got |= uint64_t{rows[d + 1][lane]} << 32;
        const Format& f = wide ? kF64 : kF32;
        if (expected == got || (!is_int && f.is_nan(expected) && f.is_nan(got))) continue;
        return fmt::format("register {} lane {}: want {:#x}, got {:#x}", d, lane, expected, got);
      }
    }
    return {};
  }

  const RunOptions& options_;
  std::vector<EngineConfig> engines_;
  RunSummary summary_;
  test::WavePtr wave_ = test::make_wave();
};

}  // namespace

RunSummary run_matrix(const RunOptions& options) {
  return Runner(options).run();
}

}  // namespace wavejit::model
