// A loaded code object with everything needed to run it. Shared by all that refer to it; thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/codeobject/containers.h"
#include "frontend/interp/interpreter.h"
#include "frontend/isa/target.h"
#include "internal/error.h"
#include "runtime/kernel/kernel_times.h"
#include "runtime/translate/counting_code.h"
#include "runtime/translate/later_samples.h"
#include "runtime/translate/translation_cache.h"

namespace wavejit::runtime {

class Module {
 public:
  // Loads `image`, one ELF. kTargetMismatch when wavejit does not run its processor (what it holds can still be listed
  // through codeobject::CodeObject).
  [[nodiscard]] static Expected<std::shared_ptr<Module>> load(std::span<const uint8_t> image,
                                                              const codeobject::SymbolResolver& resolver = {});
  // Chooses among a container's entries. An empty target: the first entry whose processor wavejit runs. A kernel name
  // restricts the choice to entries that define it.
  [[nodiscard]] static Expected<std::shared_ptr<Module>> load(const codeobject::Container& container,
                                                              std::string_view target, std::string_view kernel);

  Module(std::shared_ptr<const codeobject::CodeObject> object, isa::Target target);
  ~Module();
  // Called before the code of any module goes: by who may still look at it (shadow mode). For the whole process.
  static void call_before_unloading(void (*function)());
  // The module with code at an address, of those that load() has made; null if there is none. For functions that
  // kernels of other modules call by their addresses.
  [[nodiscard]] static std::shared_ptr<Module> at(uint64_t pc);
  // Calls `visit` for all that load() has made; none of them goes meanwhile.
  static void visit_loaded(const std::function<void(Module&)>& visit);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] const codeobject::CodeObject& object() const { return *object_; }
  [[nodiscard]] bool has_code_at(uint64_t pc) const;
  [[nodiscard]] isa::Target target() const { return target_; }
  [[nodiscard]] const std::string& target_id() const { return target_id_; }
  // The name of a kernel of the object, as a C string that lives as long as the module; null if there is none.
  [[nodiscard]] const char* kernel_name(size_t index);
  [[nodiscard]] const interp::Interpreter& interpreter();
  // Returns true if the kernel may read exceptions, so that its waves record them (docs/design/frontend.md,
  // "Exceptions").
  [[nodiscard]] bool records_exceptions(const codeobject::Kernel& kernel);
  // The same object for each launch of the kernel.
  [[nodiscard]] KernelTimes& times(const codeobject::Kernel& kernel);
  [[nodiscard]] LaterSamples& later_samples(const codeobject::Kernel& kernel);
  [[nodiscard]] TranslationCache& translations() { return translations_; }
  // Returns true on the first call for this place in the code, which cannot be translated.
  [[nodiscard]] bool is_first_fallback(uint64_t pc) {
    const std::lock_guard lock(fallbacks_mutex_);
    return fallbacks_.insert(pc).second;
  }
  [[nodiscard]] IdleCountingCode& idle_counting_code() { return idle_counting_code_; }
  [[nodiscard]] std::unique_ptr<CountingCode> new_counting_code() const {
    return std::make_unique<CountingCode>(object_, target_);
  }

 private:
  const std::shared_ptr<const codeobject::CodeObject> object_;
  const isa::Target target_;
  const std::string target_id_;
  std::once_flag kernel_names_once_;
  std::vector<std::string> kernel_names_;
  std::once_flag interpreter_once_;
  std::optional<interp::Interpreter> interpreter_;
  std::mutex observing_mutex_;                    // of what is below
  std::optional<bool> has_observers_;             // of the object as a whole, if a kernel wanted to know
  std::unordered_map<uint64_t, bool> observing_;  // by entry
  std::mutex times_mutex_;
  std::unordered_map<uint64_t, KernelTimes> times_;           // by entry
  std::unordered_map<uint64_t, LaterSamples> later_samples_;  // by entry; under the same mutex
  std::mutex fallbacks_mutex_;
  std::set<uint64_t> fallbacks_;
  TranslationCache translations_;
  IdleCountingCode idle_counting_code_;
};

// Held around a fork(), so that the child finds all modules' translations, and the list of modules, unlocked. No module
// goes meanwhile.
class ModulesForkLock {
 public:
  ModulesForkLock();
  ModulesForkLock(const ModulesForkLock&) = delete;
  ModulesForkLock& operator=(const ModulesForkLock&) = delete;
  // One of them has to be called.
  void unlock_in_parent();
  void unlock_in_child();
};

}  // namespace wavejit::runtime
