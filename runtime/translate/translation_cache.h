// Translated code of one module, in memory; taken from the disk where it has been kept (disk_cache.h). Thread-safe.
//
// A unit is the code reachable from an entry by direct branches, lifted and compiled at once. It is specialised on
// MODE, on "EXEC is all ones at every entry", on the host tier, on the optimisations that are switched off and on
// whether executed instructions are counted. All of its entries (start, after barriers and yields, after calls) are
// found by their PC. Units live as long as the cache.
//
// The unit that starts a kernel is also specialised on facts of the launch (Specialisation). Only three kinds of waves
// enter it: new waves at the kernel's start, waves that it has released at a barrier or yield, and waves that return
// from calls. Code for functions, and all other targets of jumps, is general.
//
// A wave that the interpreter has run from the kernel's start into a loop goes on in a unit that is made for this place, with
// the facts that the code in front of it and the launch give (docs/design/runtime.md, "Two tiers").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend-x86/compiler.h"
#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"
#include "internal/error.h"
#include "runtime/translate/lane_samples.h"
#include "runtime/translate/specialisation.h"

namespace wavejit::runtime {

class DiskCache;
class ExecutionProfile;

struct TranslationCounters {
  uint64_t translate_ns = 0;
  uint64_t host_instructions = 0;
  uint32_t units = 0;
  uint32_t cached_units = 0;  // taken from the disk instead
  uint64_t cache_ns = 0;      // looking there, loading and storing; not part of translate_ns
};

class TranslationCache {
 public:
  // Choices that hold for a whole launch.
  struct Config {
    backend::Tier tier = backend::Tier::avx2;
    std::vector<std::string> disabled_passes;  // and other optimisations: of check_switches()
    bool count_instructions = false;           // lift::LiftOptions
    ExecutionProfile* profile = nullptr;       // code counts in it; never on the disk
    lift::CodeRange part = lift::kAllCode;     // what is asked for, and translated; if not all code, never on the disk
    uint32_t anew = 0;                         // LaterSamples: how often; those are not taken from the disk
    bool operator==(const Config&) const = default;
  };

  // How control reaches a place.
  enum class Arrival : uint8_t {
    start,    // of the kernel, by a new wave
    resumed,  // after the barrier or yield at which `from` released the wave
    jump,
    moved,  // by the interpreter, which has run the wave from the kernel's start to Query::moved_at
  };
  struct Query {
    uint32_t config = 0;          // config_id()
    uint32_t specialisation = 0;  // specialisation_id() of the wave's launch
    uint64_t pc = 0;
    uint32_t mode = 0;
    bool exec_full = false;    // of a specialisation for last waves: EXEC is last_wave_exec()
    bool scratch_srd = false;  // s[0:3] hold the descriptor of the wave's private segment
    Arrival arrival = Arrival::start;
    // The variant that released the wave. A wave that has left the variant for full EXEC does not come back to it after
    // a barrier: that variant assumes that EXEC has been full all the time.
    bool from_start_unit = true;
    bool from_exec_full = true;
    // Where the wave has come from the interpreter, into a unit of that place; 0: it has started in translated code.
    uint64_t moved_at = 0;
    bool operator==(const Query&) const = default;
  };
  struct Entry {
    const backend::CompiledCode* code = nullptr;
    backend::CompiledCode::EntryFn function = nullptr;  // of `code`
    uint32_t index = 0;
    bool in_start_unit = false;
    bool exec_full = false;  // the variant
    bool reads_ids = true;   // at the kernel's start, from the rows that hold the work-item ids
    // Waves that enter run to their end without changing their state, so the next wave can use the same state.
    bool runs_through = false;
    // The cache lines before the vector registers that the code may change (bit i: bytes 64 i to 64 i + 63).
    uint32_t changed_lines = 0;
  };

  TranslationCache(std::shared_ptr<const codeobject::CodeObject> object, isa::Target target);
  ~TranslationCache();

  // Ids that stand for their argument in calls to find().
  [[nodiscard]] uint32_t config_id(const Config& config);
  [[nodiscard]] uint32_t specialisation_id(const Specialisation& specialisation);
  [[nodiscard]] bool is_for_last_waves(uint32_t specialisation);  // by its number, which may stand for general code

  // Finds the entry; translates if necessary. Concurrent calls for the same unit wait for one translation. Adds the
  // work of this call to `counters`. Errors: those of lift() and compile(); they are remembered. A PC outside of the
  // code object's code is kIllegalInstruction.
  [[nodiscard]] Expected<Entry> find(const Query& query, TranslationCounters& counters);
  // The same for a function that a kernel of another module has called: its translation is general, and the query's
  // specialisation, which is a number of the other's, plays no part. `exec_full`: EXEC is all ones.
  [[nodiscard]] Expected<Entry> find_function(const Query& query, TranslationCounters& counters);
  // Like find() for the start of a kernel, but only if that needs no translation.
  [[nodiscard]] std::optional<Entry> find_translated(const Query& query);
  // The same, including translations on the disk.
  [[nodiscard]] std::optional<Entry> find_kept(const Query& query, TranslationCounters& counters);
  // What translations that begin from now on may choose by.
  [[nodiscard]] LaneSamples& samples() { return samples_; }
  // The error of a failed translation of a kernel's start, if it is already known.
  [[nodiscard]] std::optional<Error> find_error(const Query& query);

  // Around a fork(), so that the child finds the cache unlocked. Units that are being translated stay so there.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_in_parent() { mutex_.unlock(); }
  // To unlock would not do: a lock for writing is its thread's, by a number that is another one in the child.
  void unlock_in_child() { std::construct_at(&mutex_); }

 private:
  struct Unit;
  struct Work;
  // config, specialisation (kGeneral: any code), pc, mode, exec_full, scratch_srd (general code only), moved_at
  using Key = std::tuple<uint32_t, uint32_t, uint64_t, uint32_t, bool, bool, uint64_t>;
  static constexpr uint32_t kGeneral = UINT32_MAX;
  struct Place {
    std::shared_ptr<Unit> unit;
    uint32_t index = 0;
  };
  [[nodiscard]] static Key start_key(const Query& query);  // of a kernel's start
  std::shared_ptr<Unit> unit_for(const Key& key);
  std::shared_ptr<Unit> translated(const Key& key, TranslationCounters& counters);
  void translate(Unit& unit, const Key& key, TranslationCounters& counters);
  void compile_unit(Unit& unit, const lift::LiftOptions& options, const Config& config, bool movable) const;
  void add_places(const std::shared_ptr<Unit>& unit, const Key& key);
  [[nodiscard]] std::optional<Work> work_for(Unit& unit, const Key& key);
  [[nodiscard]] bool restore(Unit& unit, const Work& work, TranslationCounters& counters) const;
  [[nodiscard]] bool restore_from_disk(Unit& unit, const Work& work, TranslationCounters& counters) const;
  void name_for_profilers(const Unit& unit, const Work& work) const;
  static void keep(const Unit& unit, const Work& work);
  void take_kept_profile(Work& work);
  void keep_profile(const Unit& unit, const Work& work) const;
  [[nodiscard]] Expected<Entry> find_in_start_unit(const Query& query, TranslationCounters& counters);
  [[nodiscard]] Expected<Entry> find_moved(const Query& query, TranslationCounters& counters);
  [[nodiscard]] bool may_move_to(const Query& query) const;
  [[nodiscard]] std::optional<Entry> place_in_start_unit(const Query& query, bool exec_full) const;
  [[nodiscard]] static Entry general_entry(const Unit& unit, uint32_t index);
  [[nodiscard]] Expected<Entry> find_general(Query query, TranslationCounters& counters);
  [[nodiscard]] Expected<Entry> find_general_for(const Key& key, TranslationCounters& counters);

  const std::shared_ptr<const codeobject::CodeObject> object_;
  const isa::Target target_;
  LaneSamples samples_;
  std::shared_mutex mutex_;
  std::vector<Config> configs_;
  std::vector<Specialisation> specialisations_;
  std::map<Key, Place> places_;                     // every entry of every finished unit
  std::map<Key, std::shared_ptr<Unit>> units_;      // by the PC they were translated from, finished or not
  std::unordered_map<uint64_t, uint64_t> root_of_;  // general code: entry PC -> PC the unit was translated from
  // Where jumps may enter the units that start kernels: (specialisation, PC).
  std::set<std::pair<uint32_t, uint64_t>> jump_entries_;
  // Where waves have come from the interpreter, and where code for that cannot be made, in the same form.
  std::set<std::pair<uint32_t, uint64_t>> moved_entries_, refused_;
};

}  // namespace wavejit::runtime
