// Translated code of one module, in memory. Thread-safe.
//
// A unit is what one lift covers: the code reachable from an entry by direct branches. It is specialised on MODE, on
// "EXEC is all ones at every entry", on the host tier and on the passes that are switched off. All of its entries
// (start, after barriers and yields, after calls) are found by their PC. Units live as long as the cache.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend-x86/compiler.h"
#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"
#include "internal/error.h"

namespace wavejit::runtime {

struct TranslationCounters {
  uint64_t translate_ns = 0;
  uint64_t host_instructions = 0;
  uint32_t units = 0;
};

class TranslationCache {
 public:
  // Choices that hold for a whole launch.
  struct Config {
    backend::Tier tier = backend::Tier::avx2;
    std::vector<std::string> disabled_passes;
  };
  struct Entry {
    const backend::CompiledCode* code = nullptr;
    uint32_t index = 0;
  };

  TranslationCache(std::shared_ptr<const codeobject::CodeObject> object, isa::Target target);
  ~TranslationCache();

  // A small number standing for `config` in calls to find().
  [[nodiscard]] uint32_t config_id(const Config& config);

  // The place to enter for `pc`; translates if need be (once; others asking for the same wait). `counters` grow by what
  // this call did. Errors: those of lift() and compile(); they are remembered. A PC outside of the code object's code
  // is kIllegalInstruction.
  [[nodiscard]] Expected<Entry> find(uint32_t config, uint64_t pc, uint32_t mode, bool exec_full, bool is_kernel_entry,
                                     TranslationCounters& counters);

 private:
  struct Unit;
  using Key = std::tuple<uint32_t, uint64_t, uint32_t, bool>;  // config, pc, mode, exec_full
  struct Place {
    std::shared_ptr<Unit> unit;
    uint32_t index = 0;
  };
  std::shared_ptr<Unit> unit_for(const Key& key);
  void translate(Unit& unit, const Key& key, bool is_kernel_entry, TranslationCounters& counters);

  const std::shared_ptr<const codeobject::CodeObject> object_;
  const isa::Target target_;
  std::shared_mutex mutex_;
  std::vector<Config> configs_;
  std::map<Key, Place> places_;                     // every entry of every finished unit
  std::map<Key, std::shared_ptr<Unit>> units_;      // by the PC they were translated from, finished or not
  std::unordered_map<uint64_t, uint64_t> root_of_;  // entry PC -> PC that the unit containing it was translated from
};

// Name and offset of a code address: "kernel+0x34".
[[nodiscard]] std::string symbolise(const codeobject::CodeObject& object, uint64_t pc);
// The executable region holding `pc`, empty when none does.
[[nodiscard]] std::span<const uint8_t> code_region(const codeobject::CodeObject& object, uint64_t pc);

}  // namespace wavejit::runtime
