#include "tests/support/engine_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>
#include <tuple>

#include "backend-x86/compiler.h"
#include "frontend/interp/interpreter.h"
#include "frontend/isa/info.h"
#include "frontend/lift/lifter.h"
#include "ir/pass.h"
#include "ir/text.h"

namespace wavejit::test {
namespace {

constexpr uint32_t kEndpgm = 0xbf810000u;

void append_word(std::vector<uint8_t>& bytes, uint32_t word) {
  for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
}

constexpr std::string_view kFullExec = "full-exec";

bool is_on(const EngineConfig& engine, std::string_view name) {
  return std::find(engine.disabled.begin(), engine.disabled.end(), name) == engine.disabled.end();
}

Error exit_error(const WaveState& wave, std::string_view engine, const interp::Interpreter& interpreter) {
  if (wave.exit_reason == ExitReason::kUnsupported || wave.exit_reason == ExitReason::kIllegal) {
    Error error = interpreter.describe_exit(wave);  // as the runtime words it for every engine
    error.pc = wave.pc;
    return error;
  }
  return Error{.code = ErrorCode::kInternal,
               .message = fmt::format("{} left with reason {}", engine, static_cast<uint32_t>(wave.exit_reason)),
               .pc = wave.pc};
}

Expected<std::unique_ptr<ir::Function>> build(const EngineConfig& engine, const Snippet& snippet,
                                              const WaveState& wave) {
  lift::LiftOptions options;
  options.target = snippet.target();
  options.name = "snippet";
  options.entry_pc = wave.pc;
  options.code = snippet.bytes();
  options.code_base = snippet.base();
  options.mode = wave.mode;
  options.exec_full = wave.exec() == ~uint64_t{0} && is_on(engine, kFullExec);
  options.count_instructions = engine.count_instructions;
  options.resident_rows = engine.optimise && is_on(engine, "resident-rows");
  auto lifted = lift::lift(options);
  if (!lifted) return tl::make_unexpected(lifted.error());
  if (engine.optimise) ir::optimise(*lifted->function, ir::PassContext{.verify = true, .disabled = engine.disabled});
  if (std::string problem = ir::verify(*lifted->function); !problem.empty())
    return make_error(ErrorCode::kInternal, "IR verifier: " + problem);
  return std::move(lifted->function);
}

}  // namespace

std::string EngineConfig::name() const {
  const char* base = kind == EngineKind::interp ? "interp" : kind == EngineKind::avx2 ? "avx2" : "avx512";
  if (kind == EngineKind::interp) return base;
  return fmt::format("{}{}{}{}", base, optimise ? "" : "-noopt", disabled.empty() ? "" : " without ",
                     fmt::join(disabled, ","));
}

const std::vector<std::string>& switch_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ir::Pass& pass : ir::pipeline())
      if (std::find(all.begin(), all.end(), pass.name) == all.end()) all.emplace_back(pass.name);
    for (const backend::OptimisationInfo& info : backend::optimisations()) all.emplace_back(info.name);
    all.emplace_back(kFullExec);
    return all;
  }();
  return names;
}

std::vector<EngineConfig> host_engines() {
  std::vector<EngineConfig> engines{{EngineKind::interp, false}};
  for (const auto& [kind, tier] :
       {std::pair{EngineKind::avx2, backend::Tier::avx2}, {EngineKind::avx512, backend::Tier::avx512}}) {
    if (!backend::host_supports(tier)) continue;
    engines.push_back({kind, false});
    engines.push_back({kind, true});
  }
  return engines;
}

Snippet::Snippet(isa::Target target, std::span<const uint8_t> code)
    : target_(target), bytes_(code.begin(), code.end()) {
  const auto setpc =
      static_cast<uint32_t>(isa::info(isa::Opcode::s_setpc_b64).number[static_cast<size_t>(isa::family_of(target))]);
  append_word(bytes_, 0xbe800000u | setpc << 8 | kReturnSgpr);
  append_word(bytes_, kEndpgm);
}

struct SnippetRunner::Impl {
  struct Unit {
    std::unique_ptr<ir::Function> function;
    std::shared_ptr<const backend::CompiledCode> code;
  };
  using Key = std::tuple<uint64_t, uint32_t, bool>;  // PC, MODE, full EXEC

  Impl(EngineConfig e, const Snippet& s)
      : engine(std::move(e)), snippet(s), region{.base = s.base(), .bytes = s.bytes()} {
    for (const backend::OptimisationInfo& info : backend::optimisations())
      if (!is_on(engine, info.name)) optimisations.remove(info.optimisation);
  }

  [[nodiscard]] Expected<const Unit*> unit_at(const WaveState& wave) {
    const Key key{wave.pc, wave.mode, wave.exec() == ~uint64_t{0}};
    if (const auto it = units.find(key); it != units.end()) return &it->second;
    auto function = build(engine, snippet, wave);
    if (!function) return tl::make_unexpected(function.error());
    auto code = backend::compile(**function,
                                 {.tier = engine.kind == EngineKind::avx2 ? backend::Tier::avx2 : backend::Tier::avx512,
                                  .optimisations = optimisations});
    if (!code) return tl::make_unexpected(code.error());
    return &(units[key] = {.function = std::move(*function), .code = std::move(*code)});
  }

  [[nodiscard]] const interp::Interpreter& interpreter() {
    if (!interpreter_) interpreter_.emplace(snippet.target(), std::span(&region, 1));
    return *interpreter_;
  }

  [[nodiscard]] Expected<ExitReason> run_translated(WaveState& wave) {
    for (unsigned left = 0; left < 1000; ++left) {
      const auto unit = unit_at(wave);
      if (!unit) return tl::make_unexpected(unit.error());
      const auto& entries = (*unit)->function->entries;
      uint32_t entry = 0;
      while (entry < entries.size() && entries[entry].guest_pc != wave.pc) ++entry;
      const ExitReason reason = backend::enter(*(*unit)->code, wave, entry);
      if (reason == ExitReason::kJump && wave.pc == snippet.end_pc()) {
        if (engine.count_instructions) ++wave.instructions;  // s_endpgm
        return reason;
      }
      if (reason != ExitReason::kJump && reason != ExitReason::kYield) return wave.exit_reason = reason;
    }
    return make_error(ErrorCode::kTimeout, "snippet does not end");
  }

  [[nodiscard]] ExitReason interpret(WaveState& wave) {
    ExitReason reason = ExitReason::kYield;
    for (unsigned resumes = 0; reason == ExitReason::kYield && resumes < 1000; ++resumes)
      reason = interpreter().run(wave);
    return reason == ExitReason::kEnd && wave.pc == snippet.end_pc() ? ExitReason::kJump : reason;
  }

  EngineConfig engine;
  const Snippet& snippet;
  interp::CodeRegion region;
  std::optional<interp::Interpreter> interpreter_;
  backend::OptimisationSet optimisations;
  std::map<Key, Unit> units;
};

SnippetRunner::SnippetRunner(EngineConfig engine, const Snippet& snippet)
    : impl_(std::make_unique<Impl>(std::move(engine), snippet)) {}
SnippetRunner::~SnippetRunner() = default;

const EngineConfig& SnippetRunner::engine() const {
  return impl_->engine;
}

Expected<ExitReason> SnippetRunner::run_to_exit(WaveState& wave) {
  wave.pc = impl_->snippet.base();
  wave.set_sgpr64(kReturnSgpr, impl_->snippet.end_pc());
  if (impl_->engine.kind == EngineKind::interp) return impl_->interpret(wave);
  return impl_->run_translated(wave);
}

Expected<void> SnippetRunner::run(WaveState& wave) {
  const Expected<ExitReason> reason = run_to_exit(wave);
  if (!reason) return tl::make_unexpected(reason.error());
  if (*reason != ExitReason::kJump)
    return tl::make_unexpected(exit_error(wave, impl_->engine.name(), impl_->interpreter()));
  return {};
}

Expected<void> run(const EngineConfig& engine, const Snippet& snippet, WaveState& wave) {
  return SnippetRunner(engine, snippet).run(wave);
}

std::string dump_ir(const EngineConfig& engine, const Snippet& snippet, const WaveState& wave) {
  WavePtr start = make_wave();
  *start = wave;
  start->pc = snippet.base();
  auto function = build(engine, snippet, *start);
  return function ? ir::print(**function) : function.error().message;
}

void WaveDeleter::operator()(WaveState* wave) const {
  wave->~WaveState();
  std::free(wave);
}

WavePtr make_wave() {
  void* memory = std::aligned_alloc(alignof(WaveState), sizeof(WaveState));
  if (memory == nullptr) throw std::bad_alloc();
  WavePtr wave(new (memory) WaveState{});
  wave->set_exec(~uint64_t{0});
  return wave;
}

}  // namespace wavejit::test
