#include "runtime/launch/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "internal/semantics/exceptions.h"
#include "runtime/launch/errors.h"
#include "runtime/launch/launch_state.h"
#include "runtime/launch/worker.h"
#include "runtime/memory/arena.h"
#include "runtime/translate/specialisation.h"
#include "runtime/translate/switches.h"

namespace wavejit::runtime {
namespace {

Error timeout_error(const LaunchRequest& request, const LaunchState& shared) {
  return {.code = ErrorCode::kTimeout,
          .message = fmt::format("Kernel '{}' did not end within {:g} s; {} of {} work-groups had ended.",
                                 kernel_name(shared), static_cast<double>(request.timeout_ns) / 1e9,
                                 shared.done_groups.load(), shared.total_groups),
          .kernel = request.kernel->name};
}

// Has the code translated that waves start in: what most of them need at once, before the clock starts, or all of it in
// the background, once it is worth it. A drawn order does not depend on when that is done, so it waits.
Expected<void> prepare_start(LaunchState& shared) {
  TranslationCache& cache = shared.translations;
  TranslationCounters counters;
  const auto cannot = [&](Error error) -> Expected<void> {
    if (shared.falls_back(error)) return {};
    if (error.kernel.empty()) error.kernel = shared.request.kernel->name;
    return tl::unexpected<Error>(std::move(error));
  };
  const auto is_translated = [&](const TranslationCache::Query& query) {
    return cache.find_kept(query, counters).has_value();
  };
  if (shared.request.engine == Engine::tiered && !shared.profile && !shared.schedule.is_drawn() &&
      !std::all_of(shared.starts.begin(), shared.starts.end(), is_translated)) {
    shared.add(counters);
    // A launch may be over before the background has said so once more.
    for (const TranslationCache::Query& query : shared.starts)
      if (std::optional<Error> error = cache.find_error(query)) return cannot(*std::move(error));
    shared.tier_up.emplace(shared.request.module, *shared.request.kernel, shared.starts, shared.request.threads);
    return {};
  }
  if (!shared.request.translated_part.contains(shared.starts[0].pc)) return {};
  Expected<TranslationCache::Entry> entry = cache.find(shared.starts[0], counters);
  shared.add(counters);
  if (!entry) return cannot(std::move(entry.error()));
  shared.start_in(*entry);
  return {};
}

// Of the translations of a kernel whose waves have come to do other things, waves start in the latest that is done.
void choose_translation(LaunchState& shared) {
  for (uint32_t anew = shared.later->anew(); anew != 0; --anew) {
    std::vector<TranslationCache::Query> starts = shared.starts_anew(anew);
    const auto is_done = [&](const TranslationCache::Query& query) {
      return shared.translations.find_translated(query).has_value();
    };
    if (!std::all_of(starts.begin(), starts.end(), is_done)) continue;
    shared.config = starts[0].config;
    shared.starts = std::move(starts);
    return;
  }
}

}  // namespace

Expected<void> launch(const LaunchRequest& request, LaunchStats& stats) {
  const codeobject::Kernel& kernel = *request.kernel;
  if (Expected<void> ok = check_shape(kernel, request.shape, request.shape_limits); !ok) return ok;
  const auto invalid = [&](std::string message) {
    return tl::unexpected<Error>(
        Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message), .kernel = kernel.name});
  };
  if (request.lds_bytes > kMaxLdsBytes)
    return invalid(fmt::format("Kernel '{}' would need {} bytes of LDS per work-group; the hardware has {}.",
                               kernel.name, request.lds_bytes, kMaxLdsBytes));
  if (kernel.descriptor.private_segment_size > kMaxScratchBytesPerLane)
    return invalid(fmt::format("Kernel '{}' asks for {} bytes of scratch per work-item; the limit is {}.", kernel.name,
                               kernel.descriptor.private_segment_size, kMaxScratchBytesPerLane));

  Module& module = *request.module;
  std::optional<CountingLease> counting;
  if (request.executed) counting.emplace(module);
  const bool records_exceptions = module.records_exceptions(kernel);
  const DispatchState state(module.target(), kernel, request.shape, request.lds_bytes, request.kernarg,
                            kernel.descriptor.entry, records_exceptions, request.packet, request.queue);
  const uint64_t total_groups = request.shape.total_groups();
  // Outlives the watch, which reads it for progress reports. On a cache line of its own, as workers write it.
  alignas(64) std::atomic<uint64_t> done_groups{0};
  std::function<void()> progress;
  if (request.progress) progress = [&] { request.progress(done_groups.load(std::memory_order_relaxed), total_groups); };
  Watch watch(request.timeout_ns, std::move(progress), request.cancellation);
  LaunchState shared{
      .request = request,
      .state = state,
      .watch = watch,
      .translations = counting ? counting->translations() : module.translations(),
      .interpreter = &module.interpreter(),
      .profile = counting ? &counting->profile() : nullptr,
      .done_groups = done_groups,
      .total_groups = total_groups,
      .schedule = Schedule(request.schedule, total_groups, request.shape.max_waves(), request.device->waves()),
      .sync = {.device_waves = request.device->waves()}};
  const auto threads = static_cast<uint32_t>(std::clamp<uint64_t>(request.threads, 1, shared.total_groups));
  if (!shared.schedule.is_drawn())
    shared.chunk = std::clamp<uint64_t>(shared.total_groups / (uint64_t{threads} * 64), 1, 32);

  if (request.engine != Engine::interpreter) {
    TranslationCache& cache = shared.translations;
    shared.config = cache.config_id(shared.translation_config());
    if (request.engine == Engine::tiered && !counting && !request.profile && is_on(request.disabled_passes, kProfiles))
      shared.kernel_samples = &module.times(kernel);
    shared.full_exec = is_on(request.disabled_passes, kFullExec);
    shared.scratch_descriptors = is_on(request.disabled_passes, kScratchDescriptors);
    Specialisation specialisation = specialisation_of(kernel, request.shape, request.lds_bytes, request.kernarg);
    if (!is_on(request.disabled_passes, kLdsSize)) specialisation.lds_size.reset();
    const auto for_any_shape = [&] {
      specialisation.workgroup.reset();
      specialisation.known_args = 0;
      specialisation.local_pointers.clear();
    };
    if (!is_on(request.disabled_passes, kDispatchShape)) for_any_shape();
    shared.specialisation[1] = cache.specialisation_id(specialisation);
    const auto& size = request.shape.workgroup;
    const uint32_t items = size[0] * size[1] * size[2];
    if (items % kWaveSize != 0 && specialisation.workgroup && shared.full_exec &&
        is_on(request.disabled_passes, kLastWaves)) {
      specialisation.last_wave = true;
      const uint32_t id = cache.specialisation_id(specialisation);
      if (cache.is_for_last_waves(id)) shared.last_waves = id;
      specialisation.last_wave = false;
    }
    for_any_shape();
    if (request.shape.has_partial_groups()) shared.specialisation[0] = cache.specialisation_id(specialisation);
    // All but the tail of a grid starts in the code for full waves.
    const auto start_query = [&](uint32_t id, bool exec_full) {
      shared.starts.push_back({.config = shared.config,
                               .specialisation = id,
                               .pc = kernel.descriptor.entry,
                               .mode = kernel.descriptor.mode | (records_exceptions ? exceptions::kRecords : 0),
                               .exec_full = shared.full_exec && exec_full});
    };
    const bool complete = state.group(0).complete;
    if (complete && (items >= kWaveSize || !shared.last_waves))
      start_query(shared.specialisation[1], items >= kWaveSize);
    if (complete && shared.last_waves) start_query(*shared.last_waves, true);
    if (request.shape.has_partial_groups()) start_query(shared.specialisation[0], false);
    if (shared.kernel_samples && !shared.schedule.is_drawn()) {
      shared.later = &module.later_samples(kernel);
      shared.groups_before = shared.later->groups();
      choose_translation(shared);
    }
    if (Expected<void> ok = prepare_start(shared); !ok || request.only_translates) {
      stats = shared.stats;
      return ok;
    }
    if (shared.tier_up) shared.later = nullptr;
  }

  const Clock::time_point start = Clock::now();
  const std::function<void(uint32_t)> work = [&shared](uint32_t) { run_worker(shared); };
  Team team(threads, work);
  bool alone = false;
  if (threads > 1) {
    shared.team = &team;
    shared.group_time = &module.times(kernel).group;
    const auto worth = worth_sharing();
    const float ns = shared.group_time->ns() * static_cast<float>(total_groups);
    alone = ns != 0 && ns < static_cast<float>(worth.count());
    if (alone) shared.alone_until = start + worth;
  }
  team.run(alone);
  shared.stats.wall_ns = ns_since(start);
  if (shared.tier_up) shared.tier_up->end();
  if (shared.later) shared.later->count(total_groups);
  // Without the counters of translated code these are those of what was interpreted alone.
  const bool in_part = shared.tier_up || shared.later || request.engine == Engine::jit;
  if (in_part && !request.count_instructions) shared.stats.guest_instructions = 0;
  const auto& grid = request.shape.grid;
  shared.stats.work_items = uint64_t{grid[0]} * grid[1] * grid[2];
  shared.stats.fallbacks = static_cast<uint32_t>(shared.fallbacks.size());
  stats = shared.stats;
  if (request.executed) *request.executed = shared.executed();
  if (shared.error) return tl::unexpected<Error>(std::move(*shared.error));
  if (request.cancellation && request.cancellation->cancelled() && done_groups < total_groups)
    return tl::unexpected<Error>(Error{.code = ErrorCode::kTimeout,
                                       .message = fmt::format("Kernel '{}' was stopped.", kernel_name(shared)),
                                       .kernel = kernel.name});
  if (watch.timed_out() && done_groups < total_groups) return tl::unexpected<Error>(timeout_error(request, shared));
  return {};
}

}  // namespace wavejit::runtime
