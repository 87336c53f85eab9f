// TRAPSTS on every engine against exceptions.cpp. One program takes the lanes one after the other, so that each lane's
// exceptions are seen alone; another one all at once, under any EXEC.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <span>

#include "tests/model/data.h"
#include "tests/model/form.h"
#include "tests/model/programs.h"
#include "tests/model/runner.h"

namespace wavejit::model {
namespace {

using isa::Type;
using test::EngineConfig;

constexpr unsigned kUnitsPerBatch = 128;  // that are assembled at once
constexpr unsigned kCopies = 4;           // of an instruction in a program, each with modifiers of its own

bool is_float(const Instruction& i) {
  const auto is_number = [](Type type) { return isa::is_float(type) || type == Type::v2f16 || type == Type::v2f32; };
  return is_number(i.result) ||
         std::any_of(i.sources.begin(), i.sources.end(), [&](const Source& s) { return is_number(s.type); });
}

// Classes of modifiers, and forms with nothing but `clamp` of instructions that do not clamp with it.
struct Shape {
  Class cls{};
  bool only_clamp = false;
};
std::string describe(const Shape& shape) {
  return shape.only_clamp ? "clamp bit" : std::string(to_string(shape.cls));
}
std::vector<Shape> shapes_of(const Instruction& i, isa::Target target) {
  std::vector<Shape> shapes;
  for (unsigned c = 0; c <= static_cast<unsigned>(Class::dpp); ++c) {
    const auto cls = static_cast<Class>(c);
    if (cls != Class::mode && has_class(i, cls, target)) shapes.push_back({cls});
  }
  const bool compares = i.row->format == isa::Format::vopc;
  const bool to_integer = i.row->format == isa::Format::vop1 && i.result != Type::none && !isa::is_float(i.result);
  if ((compares || to_integer) && i.row->has(isa::flag::clamp) && isa::family_of(target) >= isa::Family::gfx8)
    shapes.push_back({.only_clamp = true});
  return shapes;
}

struct Unit {
  const Instruction* instruction = nullptr;
  Shape shape;
  std::array<Modifiers, kCopies> forms{};
  std::mt19937_64 rng;
};

class Runner {
 public:
  explicit Runner(const RunOptions& options) : options_(options), engines_(chosen_engines(options)) {
    std::mt19937_64 rng(options.seed);
    for (uint32_t m = 0; m < 256; ++m) modes_.push_back(0x300 | m);
    std::shuffle(modes_.begin(), modes_.end(), rng);
  }

  RunSummary run() {
    const std::vector<Instruction> instructions = all_instructions();
    std::map<isa::Target, std::vector<Unit>> units;
    const std::regex only(options_.only), only_class(options_.only_class);
    unsigned number = 0;
    for (const Instruction& i : instructions) {
      if (!is_float(i) || !std::regex_search(std::string(i.name()), only)) continue;
      if (number++ % options_.shards != options_.shard) continue;
      std::map<unsigned, isa::Target> groups;
      for (const isa::Target target : options_.targets)
        if (has_class(i, Class::plain, target)) groups.try_emplace(group_of(target, i.name()), target);
      summary_.opcodes += groups.empty() ? 0 : 1;
      for (const auto& [group, target] : groups)
        for (const Shape& shape : shapes_of(i, target))
          if (std::regex_search(describe(shape), only_class)) units[target].push_back(make_unit(i, target, shape));
    }
    for (const auto& [target, all] : units)
      for (size_t begin = 0; begin < all.size(); begin += kUnitsPerBatch)
        run_batch(target, std::span(all).subspan(begin, std::min<size_t>(kUnitsPerBatch, all.size() - begin)));
    return summary_;
  }

 private:
  struct Prepared {
    const EngineConfig* engine;
    std::unique_ptr<test::SnippetRunner> lanes, wave;
  };

  void fail(const std::string& text) {
    if (++summary_.failures <= kMostFailures) fmt::print("{}\n", text.substr(0, kMostText));
  }

  Unit make_unit(const Instruction& i, isa::Target target, const Shape& shape) const {
    Unit unit{.instruction = &i, .shape = shape};
    unit.rng.seed(options_.seed ^ std::hash<std::string>{}(fmt::format("{} {}", i.name(), describe(shape))));
    for (unsigned k = 0; k < kCopies; ++k) {
      unit.forms[k] = random_modifiers(i, shape.cls, target, unit.rng, k);
      if (!shape.only_clamp) continue;
      unit.forms[k].encoding = Encoding::e64;
      unit.forms[k].clamp = true;
    }
    return unit;
  }

  void run_batch(isa::Target target, std::span<const Unit> units) {
    std::vector<std::string> programs;
    for (const Unit& unit : units) {
      std::vector<std::string> copies;
      std::string wave;
      for (unsigned k = 0; k < kCopies; ++k) {
        copies.push_back(program(*unit.instruction, unit.forms[k], target, Registers(k)));
        wave += fmt::format("s_mov_b64 exec, s[{}:{}]\n", kExecCopy, kExecCopy + 1) +
                recording::recorded(copies.back()) +
                fmt::format("s_mov_b32 s{}, s{}\n", Registers(k).exec_out(), recording::kFlags);
      }
      programs.push_back(recording::lane_by_lane(copies));
      programs.push_back(wave);
    }
    const auto code = assemble_programs(target, programs);
    if (!code) return fail(fmt::format("{}: {}", isa::to_string(target), code.error().message));
    for (size_t u = 0; u < units.size(); ++u) {
      const unsigned before = summary_.failures;
      run_unit(units[u], target, (*code)[2 * u], (*code)[2 * u + 1]);
      if (options_.verbose)
        fmt::print("{} {} {}: {}\n", units[u].instruction->name(), describe(units[u].shape), isa::to_string(target),
                   summary_.failures == before ? "ok" : "FAILED");
      std::fflush(stdout);
    }
  }

  void run_unit(const Unit& unit, isa::Target target, const std::vector<uint8_t>& lanes_bytes,
                const std::vector<uint8_t>& wave_bytes) {
    const Instruction& i = *unit.instruction;
    const Shape& shape = unit.shape;
    std::mt19937_64 rng = unit.rng;
    forms_ = unit.forms;
    const test::Snippet lanes_code(target, lanes_bytes), wave_code(target, wave_bytes);
    std::vector<Prepared> prepared;
    for (const EngineConfig& engine : engines_)
      prepared.push_back({&engine, std::make_unique<test::SnippetRunner>(engine, lanes_code),
                          std::make_unique<test::SnippetRunner>(engine, wave_code)});

    const unsigned sources = static_cast<unsigned>(
        std::count_if(i.sources.begin(), i.sources.end(), [](const Source& s) { return !s.is_literal; }));
    const bool every_value = shape.cls == Class::plain && sources == 1 && isa::is_16bit(i.sources[0].type);
    // Every value of binary16 in all of that format's 16 combinations is enough.
    const unsigned most = every_value ? 16 : 256;
    const unsigned modes = options_.all_modes ? most : std::clamp(options_.modes, 1u, most);
    const uint64_t waves = std::max(options_.lanes / (kCopies * kLanes), 1u), all = 65536 / (kCopies * kLanes);
    for (unsigned m = 0; m < modes; ++m) {
      const uint32_t turn = next_mode_++;
      const uint32_t mode =
          every_value ? 0x300 | (turn & 3) << 2 | (turn & 12) << 4 | (turn >> 2 & 0x33) : modes_[turn % modes_.size()];
      ++summary_.forms;
      for (uint64_t w = 0; w < (every_value ? all : waves); ++w)
        if (!run_wave(i, target, shape, mode, every_value ? static_cast<int64_t>(w) : -1, rng, prepared)) return;
    }
  }

  // Sources of one block: `values` from zero: all of 16 bits in turn.
  void fill(const Instruction& i, int64_t values, std::mt19937_64& rng) {
    std::vector<Type> types;
    for (const Source& s : i.sources)
      if (!s.is_literal) types.push_back(s.type);
    for (unsigned k = 0; k < kCopies; ++k) {
      const bool hard = rng() % 2 != 0;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        Bits drawn[4] = {};
        if (values >= 0) {
          drawn[0] = static_cast<uint64_t>(values) * kCopies * kLanes + k * kLanes + lane;
        } else if (hard && types.size() > 1) {
          hard_values(types, rng, drawn);
        } else {
          for (unsigned s = 0; s < types.size(); ++s) drawn[s] = random_value(types[s], rng);
        }
        unsigned source = 0, at = 0;
        for (const Source& s : i.sources) {
          if (s.is_literal) continue;
          for (unsigned d = 0; d < dwords_of(s.type); ++d) {
            auto& row = s.is_old ? old_[k][d] : wave_->vgpr[Registers(k).source(source) + d];
            row[lane] = static_cast<uint32_t>(drawn[at] >> 32 * d);
          }
          ++at;
          if (!s.is_old) ++source;
        }
      }
    }
  }

  bool run_wave(const Instruction& i, isa::Target target, const Shape& shape, uint32_t mode, int64_t values,
                std::mt19937_64& rng, const std::vector<Prepared>& prepared) {
    const unsigned dwords = i.result == Type::none ? 0 : dwords_of(i.result);
    for (auto& copy : old_)
      for (auto& row : copy) std::fill_n(row, kLanes, kOld);
    fill(i, values, rng);
    const uint64_t exec = rng() % 4 == 0 ? ~uint64_t{0} : rng() & rng() & rng();
    for (unsigned k = 0; k < kCopies; ++k) {
      const Registers r(k);
      WaveInput& input = inputs_[k];
      input = {};
      input.mode = mode;
      input.carry = rng();
      input.raises = exceptions_of(i.name());
      for (unsigned s = 0; s < i.vector_sources(); ++s)
        for (unsigned d = 0; d < 4; ++d) input.source[s][d] = wave_->vgpr[r.source(s) + d];
      for (unsigned d = 0; d < dwords; ++d) input.old[d] = old_[k][d];
      input.uniform = wave_->vgpr[r.source(0)][0] | uint64_t{wave_->vgpr[r.source(0) + 1][0]} << 32;
      wave_->set_sgpr64(r.mask_in(), input.carry);
      wave_->set_sgpr64(r.uniform(), input.uniform);
      input.exec = ~uint64_t{0};
      evaluate(i, forms_[k], isa::family_of(target), input, results_[k]);
      if (forms_[k].encoding == Encoding::dpp) {
        // Alone, a lane gets nothing from others.
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          input.exec = uint64_t{1} << lane;
          static thread_local WaveResult alone;
          evaluate(i, forms_[k], isa::family_of(target), input, alone);
          results_[k].lanes[lane].raised = alone.lanes[lane].raised;
        }
      }
      together_[k] = 0;
      input.exec = exec;
      static thread_local WaveResult some;
      evaluate(i, forms_[k], isa::family_of(target), input, some);
      for (const LaneResult& lane : some.lanes) together_[k] |= lane.raised;
    }
    wave_->set_sgpr64(kExecCopy, exec);
    summary_.lanes += kCopies * kLanes;
    for (const Prepared& p : prepared) {
      for (const bool alone : {false, true}) {
        for (unsigned k = 0; k < kCopies; ++k)
          for (unsigned d = 0; d < dwords; ++d)
            std::memcpy(wave_->vgpr[Registers(k).result() + d], old_[k][d], sizeof old_[k][d]);
        wave_->mode = mode | recording::kMode;
        wave_->trapsts = 0;
        wave_->set_exec(~uint64_t{0});
        wave_->set_vcc(0);
        if (const auto result = (alone ? p.lanes : p.wave)->run(*wave_); !result) {
          fail(fmt::format("{} [{} {}]: {}", i.name(), isa::to_string(target), p.engine->name(),
                           result.error().message));
          return false;
        }
        for (unsigned k = 0; k < kCopies; ++k)
          if (!(alone ? compare_lanes(i, target, shape, mode, k, *p.engine)
                      : compare_wave(i, target, shape, mode, k, exec, *p.engine)))
            return false;
      }
      summary_.comparisons += kCopies * kLanes;
    }
    return true;
  }

  static std::string list(unsigned flags) {
    std::string text;
    for (unsigned bit = 1; bit <= kIntegerDivideByZero; bit <<= 1)
      if ((flags & bit) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", exception_name(bit));
    return text.empty() ? "none" : text;
  }
  std::string describe_form(const Instruction& i, isa::Target target, const Shape& shape, uint32_t mode, unsigned k,
                            const EngineConfig& engine) const {
    return fmt::format("{} {} mode {:#x} [{} {}]: {}", i.name(), describe(shape), mode, isa::to_string(target),
                       engine.name(), assembly(i, forms_[k], target, Registers(k)));
  }

  bool compare_lanes(const Instruction& i, isa::Target target, const Shape& shape, uint32_t mode, unsigned k,
                     const EngineConfig& engine) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint32_t got = wave_->vgpr[16 * k + recording::kExceptions][lane], want = results_[k].lanes[lane].raised;
      if (got == want) continue;
      std::string sources;
      unsigned source = 0;
      for (const Source& s : i.sources) {
        if (s.is_literal) continue;
        sources += s.is_old ? " old " : " ";
        for (unsigned d = dwords_of(s.type); d-- > 0;)
          sources +=
              fmt::format("{:08x}", s.is_old ? old_[k][d][lane] : wave_->vgpr[Registers(k).source(source) + d][lane]);
        if (!s.is_old) ++source;
      }
      fail(fmt::format("{}\n  lane {} sources{} uniform {:x} carry {}: want {}; got {}",
                       describe_form(i, target, shape, mode, k, engine), lane, sources, inputs_[k].uniform,
                       inputs_[k].carry >> lane & 1, list(want), list(got)));
      return false;
    }
    return true;
  }
  bool compare_wave(const Instruction& i, isa::Target target, const Shape& shape, uint32_t mode, unsigned k,
                    uint64_t exec, const EngineConfig& engine) {
    const uint32_t got = wave_->sgpr[Registers(k).exec_out()];
    if (got == together_[k]) return true;
    fail(fmt::format("{}\n  whole wave, EXEC {:#x}: want {}; got {}", describe_form(i, target, shape, mode, k, engine),
                     exec, list(together_[k]), list(got)));
    return false;
  }

  const RunOptions& options_;
  std::vector<EngineConfig> engines_;
  RunSummary summary_;
  std::vector<uint32_t> modes_;
  uint32_t next_mode_ = 0;
  test::WavePtr wave_ = test::make_wave();
  std::array<Modifiers, kCopies> forms_{};
  uint32_t old_[kCopies][4][kLanes] = {};
  std::array<WaveInput, kCopies> inputs_{};
  std::array<WaveResult, kCopies> results_{};
  std::array<uint32_t, kCopies> together_{};
};

}  // namespace

RunSummary run_exceptions(const RunOptions& options) {
  return Runner(options).run();
}

}  // namespace wavejit::model
