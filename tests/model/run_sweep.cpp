#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <regex>

#include "tests/model/data.h"
#include "tests/model/form.h"
#include "tests/model/programs.h"
#include "tests/model/runner.h"

namespace wavejit::model {
namespace {

using isa::Type;
using test::EngineConfig;

constexpr unsigned kCopies = 8;  // of the instruction in a program
constexpr unsigned kBlock = kCopies * kLanes;
constexpr uint32_t kIeeeAndClamp = 0x300;

constexpr std::string_view kApproximations[] = {
#define WAVEJIT_APPROXIMATION(opcode, max_ulp, max_absolute, documents) #opcode,
#include "frontend/isa/tables/approximations.def"
#undef WAVEJIT_APPROXIMATION
};

unsigned bits_of(Type type) {
  return isa::is_16bit(type) ? 16 : 32 * dwords_of(type);
}
const Format* number_format(Type type) {
  return type == Type::f16 ? &kF16 : type == Type::f32 ? &kF32 : type == Type::f64 ? &kF64 : nullptr;
}
bool is_number(Type type) {
  return isa::is_float(type) || type == Type::v2f16 || type == Type::v2f32;
}
bool is_float_instruction(const Instruction& i) {
  return is_number(i.result) ||
         std::any_of(i.sources.begin(), i.sources.end(), [](const Source& s) { return is_number(s.type); });
}

// What an approximation approximates.
std::optional<Function> function_of(std::string_view opcode) {
  if (std::find(std::begin(kApproximations), std::end(kApproximations), opcode) == std::end(kApproximations))
    return std::nullopt;
  static constexpr std::pair<std::string_view, Function> kNames[] = {
      {"v_rcp", Function::rcp},  {"v_sqrt", Function::sqrt}, {"v_rsq", Function::rsq}, {"v_exp", Function::exp2},
      {"v_log", Function::log2}, {"v_sin", Function::sin},   {"v_cos", Function::cos}};
  for (const auto& [name, function] : kNames)
    if (opcode.starts_with(name)) return function;
  return std::nullopt;
}

// MODE[7:0]: every combination of rounding and denormals of either kind, the other kind's in another order; or all.
std::vector<uint32_t> swept_modes(bool all) {
  std::vector<uint32_t> modes;
  if (all) {
    for (uint32_t m = 0; m < 256; ++m) modes.push_back(kIeeeAndClamp | m);
    return modes;
  }
  for (uint32_t round = 0; round < 4; ++round)
    for (uint32_t denormals = 0; denormals < 4; ++denormals)
      modes.push_back(kIeeeAndClamp | round | ((round + denormals) & 3) << 2 | denormals << 4 |
                      ((denormals + 2 * round) & 3) << 6);
  return modes;
}

class Sweep {
 public:
  explicit Sweep(const RunOptions& options) : options_(options), engines_(chosen_engines(options)) {}

  RunSummary run() {
    const std::regex only(options_.only);
    unsigned number = 0;
    for (const Instruction& i : all_instructions()) {
      if (!is_float_instruction(i) || !std::regex_search(std::string(i.name()), only)) continue;
      if (number++ % options_.shards != options_.shard) continue;
      std::map<unsigned, isa::Target> groups;
      for (const isa::Target target : options_.targets)
        if (has_class(i, Class::plain, target)) groups.try_emplace(group_of(target, i.name()), target);
      if (groups.empty()) continue;
      ++summary_.opcodes;
      // Processors that agree bit for bit are one group, such as GFX6 to GFX8. Each group is swept once.
      for (const auto& [group, target] : groups) {
        if (group == 3 && groups.contains(2)) continue;
        const unsigned before = summary_.failures;
        sweep(i, target);
        if (options_.verbose)
          fmt::print("{} {}: {}\n", i.name(), isa::to_string(target), summary_.failures == before ? "ok" : "FAILED");
        std::fflush(stdout);
      }
    }
    return summary_;
  }

 private:
  struct Prepared {
    const EngineConfig* engine;
    std::unique_ptr<test::SnippetRunner> code;
  };

  void fail(const std::string& text) {
    if (++summary_.failures <= kMostFailures) fmt::print("{}\n", text.substr(0, kMostText));
  }

  void sweep(const Instruction& i, isa::Target target) {
    std::mt19937_64 rng(options_.seed);
    for (unsigned k = 0; k < kCopies; ++k) forms_[k] = random_modifiers(i, Class::plain, target, rng, k);
    std::string text;
    for (unsigned k = 0; k < kCopies; ++k) text += program(i, forms_[k], target, Registers(k));
    const auto code = assemble_programs(target, {text});
    if (!code) return fail(fmt::format("{}: {}", isa::to_string(target), code.error().message));
    const test::Snippet snippet(target, code->front());
    std::vector<Prepared> prepared;
    for (const EngineConfig& engine : engines_)
      prepared.push_back({&engine, std::make_unique<test::SnippetRunner>(engine, snippet)});
    worst_ulp_ = worst_absolute_ = {};
    const std::vector<uint32_t> modes = swept_modes(options_.all_modes);
    const unsigned sources = static_cast<unsigned>(
        std::count_if(i.sources.begin(), i.sources.end(), [](const Source& s) { return !s.is_literal; }));
    const bool one = sources == 1, narrow = one && bits_of(i.sources[0].type) == 16;
    const bool reads_mode = i.row->has(isa::flag::reads_mode);
    const unsigned log2_count = narrow ? 16 : one ? options_.log2_values : options_.log2_hard;
    const uint64_t blocks = std::max<uint64_t>((uint64_t{1} << log2_count) / kBlock, 1);
    // Sources of 16 bits, and sets of sources, are taken in each MODE; single sources in one MODE each, in turns, if the
    // instruction looks at it at all.
    const bool each_mode = narrow || !one || options_.each_mode;
    for (size_t m = 0; m < modes.size(); ++m) {
      if (!reads_mode && !narrow && m >= 2) break;
      const size_t turns = each_mode ? 1 : reads_mode ? modes.size() : 2;
      ++summary_.forms;
      const uint64_t first = one ? blocks * options_.piece / options_.pieces : 0;
      const uint64_t end = one ? blocks * (options_.piece + 1) / options_.pieces : blocks;
      for (uint64_t block = first + (each_mode ? 0 : (m + turns - first % turns) % turns); block < end; block += turns)
        if (!run_block(i, target, modes[m], one ? block : rng(), one ? log2_count : 0, prepared)) return;
    }
    if (options_.distances && function_of(i.name())) {
      fmt::print("{} {}: {:.4f} ulp at {:#x}, {:.3g} absolute at {:#x}\n", i.name(), isa::to_string(target),
                 worst_ulp_.value, worst_ulp_.source, worst_absolute_.value, worst_absolute_.source);
    }
  }

  // The value of a single source: one from stratum `index` of 2^log2_count.
  static Bits single(Type type, uint64_t index, unsigned log2_count, std::mt19937_64& rng) {
    const unsigned bits = bits_of(type);
    if (bits == 16) return index | (rng() & 0xffff) << 16;
    if (log2_count >= bits) return index;
    const unsigned rest = bits - log2_count;
    const uint64_t mask = (uint64_t{1} << rest) - 1;
    const uint64_t low = rng();
    // One in eight at an end of its stratum.
    const uint64_t within = low % 8 != 0 ? rng() & mask : (low >> 8) % 2 != 0 ? mask : 0;
    return index << rest | within;
  }

  bool run_block(const Instruction& i, isa::Target target, uint32_t mode, uint64_t block, unsigned log2_count,
                 const std::vector<Prepared>& prepared) {
    std::mt19937_64 rng(options_.seed * 0x9e3779b97f4a7c15ull + block);
    const unsigned dwords = i.result == Type::none ? 0 : dwords_of(i.result);
    std::vector<Type> types;
    for (const Source& s : i.sources)
      if (!s.is_literal) types.push_back(s.type);
    wave_->mode = mode;
    for (unsigned k = 0; k < kCopies; ++k) {
      const Registers r(k);
      WaveInput& input = inputs_[k];
      input = {};
      input.mode = mode;
      input.carry = rng();
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        Bits values[4] = {};
        if (log2_count != 0) {
          values[0] = single(types[0], block * kBlock + k * kLanes + lane, log2_count, rng);
        } else {
          hard_values(types, rng, values);
        }
        unsigned source = 0, at = 0;
        for (const Source& s : i.sources) {
          if (s.is_literal) continue;
          const Bits value = values[at++];
          for (unsigned d = 0; d < dwords_of(s.type); ++d) {
            auto& row = s.is_old ? old_[k][d] : wave_->vgpr[r.source(source) + d];
            row[lane] = static_cast<uint32_t>(value >> 32 * d);
          }
          if (!s.is_old) ++source;
        }
      }
      unsigned source = 0;
      bool has_old = false;
      for (const Source& s : i.sources) {
        if (s.is_literal) continue;
        if (s.is_old) {
          has_old = true;
          continue;
        }
        for (unsigned d = 0; d < dwords_of(s.type); ++d) input.source[source][d] = wave_->vgpr[r.source(source) + d];
        ++source;
      }
      for (unsigned d = 0; d < dwords; ++d) {
        if (!has_old) std::fill_n(old_[k][d], kLanes, kOld);
        input.old[d] = old_[k][d];
      }
      wave_->set_sgpr64(r.mask_in(), input.carry);
      evaluate(i, forms_[k], isa::family_of(target), input, results_[k]);
    }
    wave_->set_sgpr64(kExecCopy, ~uint64_t{0});
    summary_.lanes += kBlock;
    for (const Prepared& p : prepared) {
      for (unsigned k = 0; k < kCopies; ++k)
        for (unsigned d = 0; d < dwords; ++d)
          std::memcpy(wave_->vgpr[Registers(k).result() + d], old_[k][d], sizeof old_[k][d]);
      wave_->set_exec(~uint64_t{0});
      wave_->set_vcc(0);
      if (const auto result = p.code->run(*wave_); !result) {
        fail(fmt::format("{} [{} {}]: {}", i.name(), isa::to_string(target), p.engine->name(), result.error().message));
        return false;
      }
      summary_.comparisons += kBlock;
      for (unsigned k = 0; k < kCopies; ++k)
        if (!compare(i, target, mode, k, dwords, *p.engine)) return false;
      if (options_.distances && &p == prepared.data()) measure(i, mode);
    }
    return true;
  }

  [[nodiscard]] Bits result_of(unsigned k, unsigned lane, unsigned dwords) const {
    Bits got = 0;
    for (unsigned d = 0; d < dwords; ++d) got |= Bits{wave_->vgpr[Registers(k).result() + d][lane]} << 32 * d;
    return got;
  }

  bool compare(const Instruction& i, isa::Target target, uint32_t mode, unsigned k, unsigned dwords,
               const EngineConfig& engine) {
    const Registers r(k);
    const auto report = [&](unsigned lane, const std::string& what) {
      std::string sources;
      unsigned source = 0;
      for (const Source& s : i.sources) {
        if (s.is_literal) continue;
        sources += s.is_old ? " old " : " ";
        for (unsigned d = dwords_of(s.type); d-- > 0;)
          sources += fmt::format("{:08x}", s.is_old ? old_[k][d][lane] : wave_->vgpr[r.source(source) + d][lane]);
        if (!s.is_old) ++source;
      }
      fail(fmt::format("{} mode {:#x} [{} {}]: {}\n  sources{} carry {}: {}", i.name(), mode, isa::to_string(target),
                       engine.name(), assembly(i, forms_[k], target, r), sources, inputs_[k].carry >> lane & 1, what));
      return false;
    };
    for (unsigned lane = 0; dwords != 0 && lane < kLanes; ++lane) {
      const Bits got = result_of(k, lane, dwords);
      const LaneResult& want = results_[k].lanes[lane];
      if (want.bits == got || agrees(want, got)) continue;
      return report(
          lane, fmt::format("want {:#x}{}, got {:#x}", static_cast<uint64_t>(want.bits),
                            want.is_interval ? fmt::format(" to {:#x}", want.high) : "", static_cast<uint64_t>(got)));
    }
    if (i.has_mask_result && wave_->sgpr64(r.mask_out()) != results_[k].mask) {
      const uint64_t difference = wave_->sgpr64(r.mask_out()) ^ results_[k].mask;
      return report(static_cast<unsigned>(std::countr_zero(difference)), "mask");
    }
    if (i.writes_exec && wave_->sgpr64(r.exec_out()) != results_[k].mask) return report(0, "EXEC");
    return true;
  }

  void measure(const Instruction& i, uint32_t mode) {
    const auto function = function_of(i.name());
    const Format* f = number_format(i.result);
    if (!function || f == nullptr) return;
    const bool is_f32 = f->bits == 32;
    const Env env = is_f32 ? flushing(env_of(*f, mode)) : env_of(*f, mode);
    for (unsigned k = 0; k < kCopies; ++k) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        uint64_t x = 0;
        for (unsigned d = 0; d < dwords_of(i.result); ++d)
          x |= uint64_t{wave_->vgpr[Registers(k).source(0) + d][lane]} << 32 * d;
        x &= f->mask();
        const auto got = static_cast<uint64_t>(result_of(k, lane, dwords_of(i.result))) & f->mask();
        const Distance d = distance(env, *function, x, got);
        if (d.ulp > worst_ulp_.value) worst_ulp_ = {d.ulp, x};
        if (d.absolute > worst_absolute_.value) worst_absolute_ = {d.absolute, x};
      }
    }
  }

  struct Worst {
    double value = 0;
    uint64_t source = 0;
  };

  const RunOptions& options_;
  std::vector<EngineConfig> engines_;
  RunSummary summary_;
  Worst worst_ulp_, worst_absolute_;
  test::WavePtr wave_ = test::make_wave();
  std::array<Modifiers, kCopies> forms_{};
  uint32_t old_[kCopies][4][kLanes] = {};
  std::array<WaveInput, kCopies> inputs_{};
  std::array<WaveResult, kCopies> results_{};
};

}  // namespace

RunSummary run_sweep(const RunOptions& options) {
  return Sweep(options).run();
}

}  // namespace wavejit::model
