#include "runtime/launch/launch_state.h"

#include <cstdio>
#include <new>
#include <string_view>
#include <utility>

#include "internal/check.h"
#include "internal/environment.h"
#include "runtime/kernel/symbols.h"
#include "runtime/translate/background.h"
#include "runtime/translate/kept_profile.h"
#include "runtime/translate/specialisation.h"
#include "runtime/translate/switches.h"

namespace wavejit::runtime {
namespace {

// A fallback is an error.
bool is_strict() {
  return environment_switch("WAVEJIT_STRICT", false);
}

}  // namespace

void LaunchState::fail(Error e) {
  {
    const std::lock_guard lock(mutex);
    try {
      if (e.kernel.empty()) e.kernel = request.kernel->name;
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): without its name
    }
    if (!error) error = std::move(e);
  }
  watch.stop();
}

bool LaunchState::falls_back(const Error& why) {
  const bool forgivable =
      why.code == ErrorCode::kInternal || why.code == ErrorCode::kOutOfMemory || why.code == ErrorCode::kUnsupported;
  if (request.engine != Engine::tiered || !forgivable || is_strict()) return false;
  const uint64_t pc = why.pc.value_or(0);
  {
    const std::lock_guard lock(mutex);
    if (!fallbacks.insert(pc).second) return true;
  }
  if (request.module->is_first_fallback(pc))
    std::fprintf(stderr, "wavejit: Kernel '%s' is interpreted from %#llx on, as that cannot be translated: %s\n",
                 demangled(request.kernel->name).c_str(), static_cast<unsigned long long>(pc), why.message.c_str());
  return true;
}

void LaunchState::start_in(const TranslationCache::Entry& entry) {
  const auto& size = request.shape.workgroup;
  if (state.group(0).complete) {
    start_code.reads_ids[1] = entry.reads_ids;
    if (size[0] * size[1] * size[2] % kWaveSize == 0 && entry.runs_through && !entry.reads_ids &&
        !request.count_instructions && !schedule.is_drawn() && is_on(request.disabled_passes, kRunThrough))
      start_code.through = entry;
  }
  start.store(&start_code, std::memory_order_release);
}

const StartCode* LaunchState::translated() {
  const StartCode* code = start.load(std::memory_order_acquire);
  const BackgroundTranslation* background = code || !tier_up ? nullptr : tier_up->translation();
  if (!background || !background->done.load(std::memory_order_acquire)) return code;
  if (background->error) {
    if (!falls_back(*background->error)) fail(*background->error);
    return nullptr;
  }
  const std::optional<TranslationCache::Entry> entry = translations.find_translated(starts[0]);
  WAVEJIT_CHECK(entry);
  const std::lock_guard lock(mutex);
  if (!start.load(std::memory_order_relaxed)) {
    add(background->counters);
    start_in(*entry);
  }
  return start.load(std::memory_order_relaxed);
}

TranslationCache::Config LaunchState::translation_config(ExecutionProfile* counters) const {
  return {.tier = request.tier,
          .disabled_passes = request.disabled_passes,
          .count_instructions = request.count_instructions,
          .profile = counters,
          .part = request.translated_part};
}

std::vector<TranslationCache::Query> LaunchState::starts_anew(uint32_t anew) const {
  TranslationCache::Config chosen = translation_config();
  chosen.anew = anew;
  std::vector<TranslationCache::Query> queries = starts;
  for (TranslationCache::Query& query : queries) query.config = translations.config_id(chosen);
  return queries;
}

void LaunchState::add_later(const interp::Profile& waves) try {
  LaneSamples& samples = translations.samples();
  const uint64_t root = request.kernel->descriptor.entry;
  // Code from the disk was made with what an earlier process had sampled.
  if (samples.lacks_kept(root))
    samples.add_kept(root, kept_profile_of(*request.module, *request.kernel).value_or(SampledCode()));
  if (const std::optional<uint32_t> anew = later->add(waves, samples))
    (void)translate_in_background(request.module, starts_anew(*anew));
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the kernel keeps its code
}

const CalledModule* LaunchState::called_at(uint64_t pc) const {
  if (request.module->has_code_at(pc)) return nullptr;
  const std::lock_guard lock(called_mutex);
  for (const auto& other : called)
    if (other->module->has_code_at(pc)) return other.get();
  std::shared_ptr<Module> module = Module::at(pc);
  if (!module || module == request.module || module->target() != request.module->target()) return nullptr;
  auto counting = profile ? std::make_unique<const CountingLease>(*module) : nullptr;
  TranslationCache& cache = counting ? counting->translations() : module->translations();
  const TranslationCache::Config its_config = translation_config(counting ? &counting->profile() : nullptr);
  const uint32_t number = request.engine == Engine::interpreter ? 0 : cache.config_id(its_config);
  return called
      .emplace_back(new CalledModule{
          .module = std::move(module), .counting = std::move(counting), .translations = cache, .config = number})
      .get();
}

OpcodeCounts LaunchState::executed() const {
  OpcodeCounts sum = profile->total();
  const std::lock_guard lock(called_mutex);
  for (const auto& other : called) {
    const OpcodeCounts its = other->counting->profile().total();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += its[i];
  }
  return sum;
}

Module& LaunchState::module_at(uint64_t pc) const {
  const CalledModule* other = called_at(pc);
  return other ? *other->module : *request.module;
}

const interp::Interpreter& LaunchState::interpreter_at(uint64_t pc) const {
  const CalledModule* other = called_at(pc);
  return other ? other->module->interpreter() : *interpreter;
}

void LaunchState::add(const TranslationCounters& counters) {
  stats.translate_ns += counters.translate_ns;
  stats.host_instructions += counters.host_instructions;
  stats.translations += counters.units;
  stats.cached_translations += counters.cached_units;
  stats.cache_ns += counters.cache_ns;
}

}  // namespace wavejit::runtime
