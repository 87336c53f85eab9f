#include "runtime/translate/translation_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "frontend/lift/lifter.h"
#include "internal/check.h"
#include "internal/semantics/exceptions.h"
#include "internal/stop_scope.h"
#include "ir/analysis/run_through.h"
#include "ir/call_shape.h"
#include "ir/pass.h"
#include "runtime/kernel/execution_profile.h"
#include "runtime/kernel/symbols.h"
#include "runtime/memory/fault.h"
#include "runtime/translate/jitdump.h"
#include "runtime/translate/kept_profile.h"
#include "runtime/translate/lane_choice.h"
#include "runtime/translate/stored_unit.h"
#include "runtime/translate/switches.h"

namespace wavejit::runtime {

struct TranslationCache::Unit {
  std::mutex mutex;       // held by whoever makes it
  bool finished = false;  // it is what it is going to be
  bool looked = false;    // on the disk, in vain
  std::shared_ptr<const backend::CompiledCode> code;
  std::vector<ir::Entry> entries;  // of a function that is gone: without blocks
  bool reads_ids = true;
  bool runs_through = false;
  uint32_t changed_lines = 0;
  std::vector<lift::CodeRange> guest_ranges;  // of a unit that was translated
  Error error;                                // when `code` is null
};

TranslationCache::TranslationCache(std::shared_ptr<const codeobject::CodeObject> object, isa::Target target)
    : object_(std::move(object)), target_(target) {}
TranslationCache::~TranslationCache() = default;

namespace {

// Fits into a std::string without an allocation.
constexpr const char* kOutOfMemory = "Out of memory.";

// Says which translation, if there is memory for that.
std::string no_memory_for(const std::string& name) {
  try {
    return fmt::format("{}: there is no memory for the translation.", name);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

// The position of `value`, which is added if need be.
template <typename T>
uint32_t number_of(std::vector<T>& list, const T& value) {
  const auto it = std::find(list.begin(), list.end(), value);
  if (it != list.end()) return static_cast<uint32_t>(it - list.begin());
  list.push_back(value);
  return static_cast<uint32_t>(list.size() - 1);
}

// Which cache lines of the scalar part of the wave's state the function may change (Entry::changed_lines). All behind
// the scalar registers counts as changed: exits write there, and out-of-line helpers.
uint32_t changed_lines(const ir::Function& function) {
  static_assert(offsetof(WaveState, sgpr) == 0 && offsetof(WaveState, pc) == sizeof(WaveState::sgpr));
  constexpr uint32_t kAll = (1u << offsetof(WaveState, vgpr) / 64) - 1;
  uint32_t lines = kAll & ~uint32_t{0} << sizeof(WaveState::sgpr) / 64;
  const auto add = [&](uint64_t sgpr) { lines |= 1u << sgpr * 4 / 64; };
  for (const auto& block : function.blocks)
    for (const ir::Inst* inst : block->insts) switch (inst->op) {
        case ir::Op::set_sgpr64:
        case ir::Op::set_mask:
          add(inst->imm + 1);
          [[fallthrough]];
        case ir::Op::set_sgpr:
          add(inst->imm);
          break;
        case ir::Op::set_field:
          add(inst->imm / 4);
          break;
        default:
          break;
      }
  return lines;
}

using Time = std::chrono::steady_clock::time_point;
uint64_t nanoseconds(Time begin, Time end) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(end - begin).count());
}
}  // namespace

uint32_t TranslationCache::config_id(const Config& config) {
  const std::unique_lock lock(mutex_);
  return number_of(configs_, config);
}

// Programs that launch a kernel with ever new shapes get general code in the end.
uint32_t TranslationCache::specialisation_id(const Specialisation& specialisation) {
  constexpr auto kMaxPerKernel = 16;
  const std::unique_lock lock(mutex_);
  if (std::find(specialisations_.begin(), specialisations_.end(), specialisation) == specialisations_.end() &&
      std::count_if(specialisations_.begin(), specialisations_.end(),
                    [&](const Specialisation& s) { return s.kernel == specialisation.kernel; }) >= kMaxPerKernel)
    return number_of(specialisations_, Specialisation{.kernel = specialisation.kernel});
  return number_of(specialisations_, specialisation);
}

bool TranslationCache::is_for_last_waves(uint32_t specialisation) {
  const std::shared_lock lock(mutex_);
  return specialisations_[specialisation].last_wave;
}

std::shared_ptr<TranslationCache::Unit> TranslationCache::unit_for(const Key& key) {
  const std::unique_lock lock(mutex_);
  std::shared_ptr<Unit>& unit = units_[key];
  if (!unit) unit = std::make_shared<Unit>();
  return unit;
}

// What a unit is made from.
struct TranslationCache::Work {
  Time start;
  Config config;
  lift::LiftOptions options;
  std::shared_ptr<DiskCache> disk;  // null: nothing is kept
  std::vector<uint8_t> identity;    // there
  bool keeps_profile = false;       // there, and takes one from there

  [[nodiscard]] ProfiledCode profiled_code() const {
    return {.target = options.target, .root = options.entry_pc, .code = options.code, .base = options.code_base};
  }
};

// Nothing for what is no code; the unit has the error then.
std::optional<TranslationCache::Work> TranslationCache::work_for(Unit& unit, const Key& key) {
  Work work{.start = std::chrono::steady_clock::now()};
  const auto [config_index, specialisation_index, pc, mode, exec_full, scratch_srd, moved_at] = key;
  Specialisation specialisation;
  {
    const std::shared_lock lock(mutex_);
    work.config = configs_[config_index];
    if (specialisation_index != kGeneral) specialisation = specialisations_[specialisation_index];
  }
  const std::span<const uint8_t> region = code_region(*object_, pc);
  if (region.empty() || pc % 4 != 0) {
    unit.error = {.code = ErrorCode::kIllegalInstruction,
                  .message = fmt::format("Control flow reached {:#x}, which is not code.", pc),
                  .pc = pc};
    return std::nullopt;
  }
  lift::LiftOptions& options = work.options;
  options.target = target_;
  options.ecc_off = object_->target().ecc_off();
  options.entry_pc = pc;
  options.code = region;
  options.code_base = reinterpret_cast<uint64_t>(region.data());
  options.mode = mode;
  options.exec_full = exec_full;
  options.scratch_srd_at_entries = scratch_srd;
  options.count_instructions = work.config.count_instructions;
  options.part = work.config.part;
  if (moved_at != 0) options.moved_pc = moved_at;
  if (ExecutionProfile* profile = work.config.profile)
    options.block_counter = [profile](std::span<const isa::Instruction> block) {
      std::vector<isa::Opcode> opcodes;
      for (const isa::Instruction& inst : block) opcodes.push_back(inst.opcode);
      return profile->add_block(std::move(opcodes));
    };
  if (specialisation.kernel) specialise(options, specialisation, target_);
  if (specialisation.last_wave) {
    options.exec_full = false;
    if (exec_full) options.exec_at_entries = last_wave_exec(*specialisation.workgroup);
  }
  if (!is_on(work.config.disabled_passes, kScratchDescriptors)) {
    options.scratch_srd_sgpr = -1;
    options.scratch_srd_behind_calls = false;
  }
  options.resident_rows = is_on(work.config.disabled_passes, kResidentRows);
  if (is_on(work.config.disabled_passes, kProfiles)) options.profile = samples_.all();
  // Code objects that are in a place of chance would fill the disk with what nobody finds again.
  if (work.config.profile || object_->lasting_addresses().second == 0) return work;
  work.disk = DiskCache::of_process();
  if (!work.disk) return work;
  work.identity = identity_of(options, work.config.tier, work.config.disabled_passes, !handles_signals());
  if (work.identity.empty()) work.disk = nullptr;
  work.keeps_profile = work.disk && is_on(work.config.disabled_passes, kProfiles);
  return work;
}

void TranslationCache::name_for_profilers(const Unit& unit, const Work& work) const try {
  if (!writes_jitdump()) return;
  add_to_jitdump(unit.code->code(), fmt::format("{} [{}]", demangled(symbolise(*object_, work.options.entry_pc)),
                                                backend::to_string(work.config.tier)));
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the profile lacks a name
}

// Whether the unit has been translated before and kept.
bool TranslationCache::restore(Unit& unit, const Work& work, TranslationCounters& counters) const {
  if (!work.disk || unit.looked || work.config.anew != 0) return false;
  try {
    return restore_from_disk(unit, work, counters);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool TranslationCache::restore_from_disk(Unit& unit, const Work& work, TranslationCounters& counters) const {
  const std::optional<DiskCache::Loaded> loaded = work.disk->load(work.identity);
  std::optional<StoredUnit> stored = loaded ? unpack(loaded->contents) : std::nullopt;
  // Another code object may have had the same identity.
  if (stored && guest_code(stored->guest.ranges, work.options.code, work.options.code_base) != stored->guest)
    stored = std::nullopt;
  Expected<std::shared_ptr<const backend::CompiledCode>> code;
  if (stored) code = backend::place(std::move(stored->image));
  unit.looked = !code || !*code;
  if (!unit.looked) {
    unit.entries = std::move(stored->entries);
    unit.reads_ids = stored->reads_ids;
    unit.runs_through = stored->runs_through;
    unit.changed_lines = stored->changed_lines;
    unit.code = std::move(*code);
    name_for_profilers(unit, work);
    ++counters.cached_units;
    counters.host_instructions += unit.code->host_instructions();
  }
  counters.cache_ns += nanoseconds(work.start, std::chrono::steady_clock::now());
  return !unit.looked;
}

void TranslationCache::keep(const Unit& unit, const Work& work) try {
  const backend::CompiledCode& code = *unit.code;
  if (!code.is_movable()) return;
  std::optional<GuestCode> guest = guest_code(unit.guest_ranges, work.options.code, work.options.code_base);
  WAVEJIT_CHECK(guest.has_value());
  const StoredUnit stored{.entries = unit.entries,
                          .reads_ids = unit.reads_ids,
                          .runs_through = unit.runs_through,
                          .changed_lines = unit.changed_lines,
                          .guest = *std::move(guest),
                          .image = {.code = code.code(),
                                    .slots = code.slots(),
                                    .fault_ranges = std::vector<backend::FaultRange>(code.fault_ranges().begin(),
                                                                                     code.fault_ranges().end()),
                                    .host_instructions = code.host_instructions()}};
  work.disk->store(work.identity, pack(stored));
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the next process translates it anew
}

// Of an earlier process, if this one has not had it yet.
void TranslationCache::take_kept_profile(Work& work) try {
  const uint64_t root = work.options.entry_pc;
  if (!work.keeps_profile || !samples_.lacks_kept(root)) return;
  samples_.add_kept(root, load_profile(*work.disk, work.profiled_code()).value_or(SampledCode()));
  work.options.profile = samples_.all();
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the code alone decides
}

void TranslationCache::keep_profile(const Unit& unit, const Work& work) const try {
  runtime::keep_profile(*work.disk, work.profiled_code(), unit.guest_ranges, samples_.worth_keeping());
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the next process samples anew
}

void TranslationCache::translate(Unit& unit, const Key& key, TranslationCounters& counters) {
  std::optional<Work> work = work_for(unit, key);
  if (!work || restore(unit, *work, counters)) return;
  take_kept_profile(*work);
  const Time start = std::chrono::steady_clock::now();
  const auto failed = [&](ErrorCode code, std::string message) {
    unit.code = nullptr;
    unit.entries.clear();
    unit.error = {.code = code, .message = std::move(message), .pc = work->options.entry_pc};
  };
  try {
    const ChecksThrow checks_throw;
    work->options.name = fmt::format("{:#x}", work->options.entry_pc);  // until its symbol is known
    work->options.name = symbolise(*object_, work->options.entry_pc);
    compile_unit(unit, work->options, work->config, work->disk != nullptr);
  } catch (const InternalError& e) {
    failed(ErrorCode::kInternal, fmt::format("{}: {}.", work->options.name, e.what()));
  } catch (const std::bad_alloc&) {
    failed(ErrorCode::kOutOfMemory, no_memory_for(work->options.name));
  } catch (const TranslationStopped&) {
    failed(ErrorCode::kTimeout, fmt::format("The translation of {} was stopped.", work->options.name));
  }
  const Time end = std::chrono::steady_clock::now();
  if (!unit.code) return;
  name_for_profilers(unit, *work);
  counters.host_instructions += unit.code->host_instructions();
  ++counters.units;
  counters.translate_ns += nanoseconds(start, end);
  if (!work->disk) return;
  keep(unit, *work);
  if (work->keeps_profile) keep_profile(unit, *work);
  counters.cache_ns += nanoseconds(end, std::chrono::steady_clock::now());
}

// Lifts, optimises and compiles.
void TranslationCache::compile_unit(Unit& unit, const lift::LiftOptions& options, const Config& config,
                                    bool movable) const {
  Expected<lift::LiftResult> lifted = lift::lift(options);
  if (!lifted) {
    unit.error = std::move(lifted.error());
    return;
  }
  ir::Function& function = *lifted->function;
  unit.reads_ids = !lifted->ids_from_shape;
  ir::PassContext context;
#ifndef NDEBUG
  context.verify = true;
#endif
  context.disabled = config.disabled_passes;
  context.one_wave = options.shape && options.shape->has_one_wave();
  context.poll_all_loops = !handles_signals();
  context.all_lane_loops = lane_choice() == LaneChoice::always;
  context.finished = [](std::string_view, ir::PassOutcome) { StopScope::check(); };
  ir::optimise(function, context);
  unit.runs_through = ir::runs_through(function);
  unit.changed_lines = changed_lines(function);
  backend::CompileOptions compile_options{.tier = config.tier,
                                          .optimisations = backend_optimisations(config.disabled_passes),
                                          .finished = [](std::string_view) { StopScope::check(); }};
  if (const auto [begin, end] = object_->lasting_addresses(); movable)
    compile_options.movable_within = backend::AddressRange{begin, end};
  Expected<std::shared_ptr<const backend::CompiledCode>> code = backend::compile(function, compile_options);
  if (!code) {
    unit.error = std::move(code.error());
    return;
  }
  for (const ir::Entry& entry : function.entries)
    unit.entries.push_back({.guest_pc = entry.guest_pc, .resumed_only = entry.resumed_only});
  unit.guest_ranges = std::move(lifted->code);
  unit.code = std::move(*code);
}

// Under the lock. Waves of one kernel come from the interpreter to few places.
bool TranslationCache::may_move_to(const Query& query) const {
  constexpr auto kMaxPlaces = 8, kMaxRefused = 2;  // mostly it is the kernel that is in the way, whatever the place
  if (!specialisations_[query.specialisation].workgroup) return false;
  if (!is_on(configs_[query.config].disabled_passes, kMovedEntry)) return false;
  if (moved_entries_.contains({query.specialisation, query.pc})) return true;
  const auto places_in = [&](const std::set<std::pair<uint32_t, uint64_t>>& all) {
    return std::distance(all.lower_bound({query.specialisation, 0}),
                         all.upper_bound({query.specialisation, UINT64_MAX}));
  };
  return places_in(moved_entries_) < kMaxPlaces && places_in(refused_) < kMaxRefused;
}

// The unit of the key, translated if it can be.
std::shared_ptr<TranslationCache::Unit> TranslationCache::translated(const Key& key, TranslationCounters& counters) {
  std::shared_ptr<Unit> unit = unit_for(key);
  {
    const std::lock_guard lock(unit->mutex);
    if (!unit->finished) translate(*unit, key, counters);
    // The next one may have more memory, or more time.
    unit->finished =
        unit->code || (unit->error.code != ErrorCode::kOutOfMemory && unit->error.code != ErrorCode::kTimeout);
  }
  if (unit->code) add_places(unit, key);
  return unit;
}

void TranslationCache::add_places(const std::shared_ptr<Unit>& unit, const Key& key) {
  const auto [config, specialisation, root, mode, exec_full, scratch_srd, moved_at] = key;
  const std::unique_lock lock(mutex_);
  if (moved_at != 0) moved_entries_.emplace(specialisation, moved_at);
  for (uint32_t i = 0; i < unit->entries.size(); ++i) {
    const ir::Entry& entry = unit->entries[i];
    places_.try_emplace(Key{config, specialisation, entry.guest_pc, mode, exec_full, scratch_srd, moved_at},
                        Place{unit, i});
    if (specialisation == kGeneral)
      root_of_.try_emplace(entry.guest_pc, root);
    else if (!entry.resumed_only && entry.guest_pc != root && moved_at == 0)
      jump_entries_.emplace(specialisation, entry.guest_pc);
  }
}

Expected<TranslationCache::Entry> TranslationCache::find(const Query& query, TranslationCounters& counters) try {
  bool in_start_unit = query.from_start_unit;
  if (query.arrival != Arrival::start) {
    const std::shared_lock lock(mutex_);
    const codeobject::KernelDescriptor& kernel = specialisations_[query.specialisation].kernel->descriptor;
    if (query.arrival == Arrival::jump) {
      in_start_unit = jump_entries_.contains({query.specialisation, query.pc});
      if (!query.scratch_srd && has_scratch_srd_behind_calls(kernel))
        in_start_unit &= !is_on(configs_[query.config].disabled_passes, kScratchDescriptors);
    }
    // What the unit knows about registers holds for the MODE that its kernel starts with. Whether exceptions are recorded is
    // the same for all of a launch.
    const uint32_t mode = query.mode & ~exceptions::kRecords;
    in_start_unit &= mode == kernel.mode && configs_[query.config].part.contains(kernel.entry);
    if (query.arrival == Arrival::moved) in_start_unit &= may_move_to(query);
  }
  if (in_start_unit && query.arrival == Arrival::moved) return find_moved(query, counters);
  return in_start_unit ? find_in_start_unit(query, counters) : find_general(query, counters);
} catch (const std::bad_alloc&) {
  return make_error(ErrorCode::kOutOfMemory, kOutOfMemory);
}

TranslationCache::Key TranslationCache::start_key(const Query& query) {
  return {query.config, query.specialisation, query.pc, query.mode, query.exec_full, false, 0};
}

std::optional<TranslationCache::Entry> TranslationCache::find_translated(const Query& query) {
  WAVEJIT_CHECK(query.arrival == Arrival::start);
  const std::shared_lock lock(mutex_);
  return place_in_start_unit(query, query.exec_full);
}

std::optional<TranslationCache::Entry> TranslationCache::find_kept(const Query& query, TranslationCounters& counters) {
  if (const auto entry = find_translated(query)) return entry;
  const Key key = start_key(query);
  const std::shared_ptr<Unit> unit = unit_for(key);
  {
    const std::unique_lock lock(unit->mutex, std::try_to_lock);
    if (!lock || unit->finished || unit->looked) return std::nullopt;  // somebody else is at it, or there is none
    const std::optional<Work> work = work_for(*unit, key);
    unit->finished = !work || restore(*unit, *work, counters);
    unit->looked = true;
    if (!unit->code) return std::nullopt;
  }
  add_places(unit, key);
  return find_translated(query);
}

std::optional<Error> TranslationCache::find_error(const Query& query) {
  const std::shared_ptr<Unit> unit = unit_for(start_key(query));
  const std::unique_lock lock(unit->mutex, std::try_to_lock);
  if (!lock || !unit->finished || unit->code) return std::nullopt;
  return unit->error;
}

// Under the lock.
std::optional<TranslationCache::Entry> TranslationCache::place_in_start_unit(const Query& query, bool exec_full) const {
  const auto place = [&](bool full) {
    return places_.find(Key{query.config, query.specialisation, query.pc, query.mode, full, false, query.moved_at});
  };
  auto it = place(exec_full);
  // Code for any EXEC is right for a full one too. Behind a call a second translation costs more than it gains.
  if (it == places_.end() && exec_full && query.arrival == Arrival::jump) it = place(false);
  if (it == places_.end()) return std::nullopt;
  const Unit& unit = *it->second.unit;
  return Entry{.code = unit.code.get(),
               .function = unit.code->entry(),
               .index = it->second.index,
               .in_start_unit = true,
               .exec_full = std::get<4>(it->first),
               .reads_ids = unit.reads_ids,
               .runs_through = unit.runs_through,
               .changed_lines = unit.changed_lines};
}

Expected<TranslationCache::Entry> TranslationCache::find_in_start_unit(const Query& query,
                                                                       TranslationCounters& counters) {
  const bool exec_full = query.exec_full && (query.arrival != Arrival::resumed || query.from_exec_full);
  uint64_t root = query.pc;
  for (const bool retry : {false, true}) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto entry = place_in_start_unit(query, exec_full)) return *entry;
      root = specialisations_[query.specialisation].kernel->descriptor.entry;
    }
    if (retry) break;
    const auto unit = translated(
        Key{query.config, query.specialisation, root, query.mode, exec_full, false, query.moved_at}, counters);
    if (!unit->code && (query.moved_at == 0 || unit->error.code == ErrorCode::kInternal))
      return tl::unexpected<Error>(unit->error);
  }
  // In another part of too large a function, or in one that may be entered anywhere.
  return find_general(query, counters);
}

// First for the EXEC that the wave has had since its start, then for any.
Expected<TranslationCache::Entry> TranslationCache::find_moved(const Query& query, TranslationCounters& counters) {
  uint64_t root;
  {
    const std::shared_lock lock(mutex_);
    root = specialisations_[query.specialisation].kernel->descriptor.entry;
  }
  for (bool exec_full = query.exec_full && query.from_exec_full;; exec_full = false) {
    const Key key{query.config, query.specialisation, root, query.mode, exec_full, false, query.moved_at};
    const auto unit = translated(key, counters);
    // Others say that no wave can come there from the interpreter.
    if (!unit->code && unit->error.code == ErrorCode::kInternal) return tl::unexpected<Error>(unit->error);
    if (unit->code) break;
    if (exec_full) continue;
    const std::unique_lock lock(mutex_);
    refused_.emplace(query.specialisation, query.moved_at);
    break;
  }
  {
    const std::shared_lock lock(mutex_);
    for (const bool exec_full : {true, false})
      if (exec_full <= (query.exec_full && query.from_exec_full))
        if (const auto entry = place_in_start_unit(query, exec_full)) return *entry;
  }
  return find_general(query, counters);
}

TranslationCache::Entry TranslationCache::general_entry(const Unit& unit, uint32_t index) {
  return {.code = unit.code.get(), .function = unit.code->entry(), .index = index, .changed_lines = unit.changed_lines};
}

Expected<TranslationCache::Entry> TranslationCache::find_general(Query query, TranslationCounters& counters) {
  // General code knows nothing of last waves.
  if (query.exec_full) {
    const std::shared_lock lock(mutex_);
    query.exec_full = !specialisations_[query.specialisation].last_wave;
  }
  return find_general_for({query.config, kGeneral, query.pc, query.mode, query.exec_full, query.scratch_srd, 0},
                          counters);
}

Expected<TranslationCache::Entry> TranslationCache::find_function(const Query& query,
                                                                  TranslationCounters& counters) try {
  return find_general_for({query.config, kGeneral, query.pc, query.mode, query.exec_full, query.scratch_srd, 0},
                          counters);
} catch (const std::bad_alloc&) {
  return make_error(ErrorCode::kOutOfMemory, kOutOfMemory);
}

Expected<TranslationCache::Entry> TranslationCache::find_general_for(const Key& key, TranslationCounters& counters) {
  const auto [config, specialisation, pc, mode, exec_full, scratch_srd, moved_at] = key;
  uint64_t root = pc;
  {
    const std::shared_lock lock(mutex_);
    if (const auto it = places_.find(key); it != places_.end())
      return general_entry(*it->second.unit, it->second.index);
    if (exec_full)  // as behind calls
      if (const auto it = places_.find(Key{config, kGeneral, pc, mode, false, scratch_srd, 0}); it != places_.end())
        return general_entry(*it->second.unit, it->second.index);
    // The PC may be inside a unit that exists in another variant only; then translate that whole unit in this variant.
    if (const auto it = root_of_.find(pc); it != root_of_.end() && configs_[config].part.contains(it->second))
      root = it->second;
  }
  for (;;) {
    const auto unit = translated(Key{config, kGeneral, root, mode, exec_full, scratch_srd, 0}, counters);
    if (!unit->code && root == pc) return tl::unexpected<Error>(unit->error);
    const std::shared_lock lock(mutex_);
    if (const auto it = places_.find(key); it != places_.end())
      return general_entry(*it->second.unit, it->second.index);
    if (root == pc) break;
    root = pc;
  }
  return make_error(ErrorCode::kInternal, fmt::format("The translation from {:#x} has no entry there.", pc));
}

}  // namespace wavejit::runtime
