// What the loader's files share: executables, their symbols, and readers of code objects.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/hsa/agent.h"
#include "runtime/hsa/loader.h"
#include "runtime/module.h"

namespace wavejit::hsa {

struct Symbol {
  hsa_symbol_kind_t kind = HSA_SYMBOL_KIND_VARIABLE;
  std::string name;
  Agent* agent = nullptr;
  std::shared_ptr<const KernelCode> code;
  uint64_t address = 0;  // of a variable
  uint64_t bytes = 0;
  bool defined_by_program = false;  // a variable that no code object holds
};

struct LoadedObject {
  Agent* agent = nullptr;
  std::shared_ptr<runtime::Module> module;
  std::span<const uint8_t> image;  // the caller's
};

struct Executable {
  std::mutex mutex;  // of what is below: debuggers and profilers look at executables while they are loaded
  bool frozen = false;
  hsa_profile_t profile = HSA_PROFILE_FULL;
  std::vector<std::unique_ptr<Symbol>> symbols;
  std::vector<std::unique_ptr<LoadedObject>> objects;

  // Mutex held.
  Symbol* find(std::string_view name, const Agent* agent) {
    for (const auto& s : symbols)
      if (s->name == name && (!agent || s->agent == agent)) return s.get();
    return nullptr;
  }
};

struct Reader {
  std::span<const uint8_t> image;
  void* mapping = nullptr;    // of a file
  std::vector<uint8_t> copy;  // of part of a file
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();
};

// Objects that handles are addresses of. Who has found one keeps it.
template <typename T>
class Live {
 public:
  uint64_t add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    const auto handle = reinterpret_cast<uint64_t>(object.get());
    objects_[handle] = std::move(object);
    return handle;
  }
  std::shared_ptr<T> find(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second;
  }
  std::vector<uint64_t> handles() {
    const std::lock_guard lock(mutex_);
    std::vector<uint64_t> all;
    for (const auto& [handle, object] : objects_) all.push_back(handle);
    return all;
  }
  std::shared_ptr<T> take(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    if (it == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_;
};

struct LoaderState {
  Live<Executable> executables;
  Live<Reader> readers;
  std::mutex mutex;  // of what is below
  std::unordered_map<uint64_t, Symbol*> symbols;
  std::unordered_map<uint64_t, std::shared_ptr<const KernelCode>> kernels;
};
LoaderState& state();

}  // namespace wavejit::hsa
