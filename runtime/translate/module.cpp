#include "runtime/translate/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <map>
#include <new>
#include <vector>

#include "internal/semantics/exceptions.h"
#include "runtime/kernel/symbols.h"
#include "runtime/translate/observers.h"

namespace wavejit::runtime {
namespace {

std::atomic<void (*)()> g_before_unloading{nullptr};

// What load() has made, by the first address of each range of code. Never destroyed, as modules may go at the very end.
struct LoadedModules {
  struct Range {
    uint64_t end = 0;
    Module* module = nullptr;  // alive while the mutex is held, as its destructor takes it first
    std::weak_ptr<Module> owner;
  };
  std::mutex mutex;
  std::map<uint64_t, Range> ranges;

  template <typename Visit>
  void visit(Visit&& visit) {
    Module* last = nullptr;
    for (const auto& [begin, range] : ranges) {
      // Ranges of a module follow one another.
      if (range.module != last) visit(*range.module);
      last = range.module;
    }
  }
};
LoadedModules& loaded_modules() {
  // Not by an allocation, which destructors could not do without.
  alignas(LoadedModules) static std::byte storage[sizeof(LoadedModules)];
  static auto* const modules = new (storage) LoadedModules;
  return *modules;
}

using codeobject::CodeObject;
using codeobject::Container;
using codeobject::ContainerEntry;
using codeobject::TargetId;

// How to execute code for `processor`, nullopt when wavejit cannot: engines execute GFX6 to GFX9. Generic code uses
// only what all the processors it covers share (AMDGPUUsage "Generic Processor Versioning"), so it runs as one of them.
std::optional<isa::Target> runnable_target(const std::string& processor) {
  const std::optional<isa::Target> target = processor == "gfx9-generic"     ? isa::Target::gfx900
                                            : processor == "gfx9-4-generic" ? isa::Target::gfx942
                                                                            : isa::parse_target(processor);
  return target;
}

std::string list_targets(const Container& container) {
  std::vector<std::string> names;
  for (const ContainerEntry& entry : container.entries()) {
    std::string name = entry.target.to_string();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names.empty() ? "no code objects" : fmt::format("{}", fmt::join(names, ", "));
}

Expected<std::vector<const ContainerEntry*>> candidates(const Container& container, std::string_view target) {
  std::vector<const ContainerEntry*> found;
  if (target.empty()) {
    for (const ContainerEntry& entry : container.entries())
      if (runnable_target(entry.target.processor)) found.push_back(&entry);
    if (found.empty())
      return make_error(
          ErrorCode::kTargetMismatch,
          fmt::format("The file has no code object for a GFX6 to GFX9 processor; it has {}.", list_targets(container)));
    return found;
  }
  const Expected<TargetId> wanted = codeobject::parse_target_id(target);
  if (!wanted) return tl::unexpected<Error>(wanted.error());
  Expected<std::vector<const ContainerEntry*>> selected = container.select(*wanted);
  if (selected) return selected;
  // A processor named without feature settings stands for any setting.
  if (target.find(':') == std::string_view::npos)
    for (const ContainerEntry& entry : container.entries())
      if (entry.target.processor == wanted->processor) found.push_back(&entry);
  if (found.empty()) return selected;
  return found;
}

}  // namespace

Expected<std::shared_ptr<Module>> Module::load(std::span<const uint8_t> image,
                                               const codeobject::SymbolResolver& resolver) {
  Expected<std::shared_ptr<const CodeObject>> object = CodeObject::load(image, resolver);
  if (!object) return tl::unexpected<Error>(std::move(object.error()));
  const std::optional<isa::Target> target = runnable_target((*object)->target().processor);
  if (!target)
    return make_error(ErrorCode::kTargetMismatch,
                      fmt::format("The code object is for {}; wavejit runs GFX6 to GFX9 processors (gfx600 to gfx942).",
                                  (*object)->target().to_string()));
  auto module = std::make_shared<Module>(std::move(*object), *target);
  LoadedModules& all = loaded_modules();
  const std::lock_guard lock(all.mutex);
  for (const std::span<const uint8_t> code : module->object().code()) {
    const auto begin = reinterpret_cast<uint64_t>(code.data());
    all.ranges[begin] = {.end = begin + code.size(), .module = module.get(), .owner = module};
  }
  return module;
}

Expected<std::shared_ptr<Module>> Module::load(const Container& container, std::string_view target,
                                               std::string_view kernel) {
  const Expected<std::vector<const ContainerEntry*>> entries = candidates(container, target);
  if (!entries) return tl::unexpected<Error>(entries.error());
  std::optional<Error> missing;
  for (const ContainerEntry* entry : *entries) {
    Expected<std::shared_ptr<Module>> module = load(entry->bytes);
    if (!module || kernel.empty()) return module;
    auto found = (*module)->object().find_kernel(kernel);
    if (found) return module;
    if (!missing) missing = std::move(found.error());
  }
  if (missing) return tl::unexpected<Error>(std::move(*missing));
  return make_error(ErrorCode::kTargetMismatch, fmt::format("No code object for {}.", target));
}

Module::Module(std::shared_ptr<const CodeObject> object, isa::Target target)
    : object_(std::move(object)),
      target_(target),
      target_id_(object_->target().to_string()),
      translations_(object_, target) {}

Module::~Module() {
  {
    LoadedModules& all = loaded_modules();
    const std::lock_guard lock(all.mutex);
    for (const std::span<const uint8_t> code : object_->code()) {
      const auto it = all.ranges.find(reinterpret_cast<uint64_t>(code.data()));
      if (it != all.ranges.end() && it->second.module == this) all.ranges.erase(it);
    }
  }
  if (void (*function)() = g_before_unloading.load(std::memory_order_acquire)) function();
}

void Module::call_before_unloading(void (*function)()) {
  g_before_unloading.store(function, std::memory_order_release);
}

std::shared_ptr<Module> Module::at(uint64_t pc) {
  LoadedModules& all = loaded_modules();
  const std::lock_guard lock(all.mutex);
  const auto next = all.ranges.upper_bound(pc);
  if (next == all.ranges.begin()) return nullptr;
  const LoadedModules::Range& range = std::prev(next)->second;
  return pc < range.end ? range.owner.lock() : nullptr;
}

bool Module::has_code_at(uint64_t pc) const {
  return !code_region(*object_, pc).empty();
}

void Module::visit_loaded(const std::function<void(Module&)>& visit) {
  LoadedModules& all = loaded_modules();
  const std::lock_guard lock(all.mutex);
  all.visit(visit);
}

ModulesForkLock::ModulesForkLock() {
  loaded_modules().mutex.lock();
  loaded_modules().visit([](Module& module) { module.translations().lock_for_fork(); });
}

void ModulesForkLock::unlock_in_parent() {
  loaded_modules().visit([](Module& module) { module.translations().unlock_in_parent(); });
  loaded_modules().mutex.unlock();
}

void ModulesForkLock::unlock_in_child() {
  loaded_modules().visit([](Module& module) { module.translations().unlock_in_child(); });
  loaded_modules().mutex.unlock();
}

bool Module::records_exceptions(const codeobject::Kernel& kernel) {
  if ((kernel.descriptor.mode >> exceptions::kEnableShift & exceptions::kAll) != 0) return true;
  const std::lock_guard lock(observing_mutex_);
  const auto [it, is_new] = observing_.try_emplace(kernel.descriptor.entry);
  if (!is_new || is_blind(*object_, target_, kernel)) return it->second;
  if (!has_observers_) has_observers_ = has_observers(*object_, target_);
  it->second = *has_observers_ && reaches_observer(*object_, target_, kernel.descriptor.entry);
  return it->second;
}

const char* Module::kernel_name(size_t index) {
  std::call_once(kernel_names_once_, [this] {
    for (const codeobject::KernelName& kernel : object_->kernel_names()) kernel_names_.emplace_back(kernel.name);
  });
  return index < kernel_names_.size() ? kernel_names_[index].c_str() : nullptr;
}

const interp::Interpreter& Module::interpreter() {
  std::call_once(interpreter_once_, [this] {
    std::vector<interp::CodeRegion> regions;
    for (const std::span<const uint8_t> region : object_->code())
      regions.push_back({.base = reinterpret_cast<uint64_t>(region.data()), .bytes = region});
    interpreter_.emplace(target_, regions, object_->target().ecc_off());
  });
  return *interpreter_;
}

KernelTimes& Module::times(const codeobject::Kernel& kernel) {
  const std::lock_guard lock(times_mutex_);
  return times_[kernel.descriptor.entry];
}

LaterSamples& Module::later_samples(const codeobject::Kernel& kernel) {
  const std::lock_guard lock(times_mutex_);
  return later_samples_[kernel.descriptor.entry];
}

}  // namespace wavejit::runtime
