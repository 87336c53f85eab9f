// What the loader's files share: executables, their symbols, and readers of code objects.
#pragma once

#include <hsa/hsa.h>
#include <link.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/codeobject/name_index.h"
#include "runtime/hsa/agent.h"
#include "runtime/hsa/live.h"
#include "runtime/hsa/loader.h"
#include "runtime/hsa/symbol_table.h"
#include "runtime/translate/module.h"

namespace wavejit::hsa {

struct LoadedObject {
  Agent* agent = nullptr;
  std::shared_ptr<runtime::Module> module;
  std::span<const uint8_t> image;  // the caller's
  std::string uri;                 // where it is from (hsa_ven_amd_loader.h)
  link_map debug_entry{};          // debug_map.h
};

// The first symbol of each name, by its index in the executable's symbols.
struct Scope {
  const Agent* agent = nullptr;  // null: program scope
  codeobject::NameIndex names;
};

struct Executable {
  std::mutex mutex;  // of what is below: debuggers and profilers look at executables while they are loaded
  bool frozen = false;
  hsa_profile_t profile = HSA_PROFILE_FULL;
  std::vector<uint64_t> symbols;      // handles in symbol_table; does not change once the executable is frozen
  std::vector<Scope> scopes;          // program scope and agents that have symbols
  std::deque<std::string> own_names;  // of symbols that the program has defined
  std::vector<std::unique_ptr<LoadedObject>> objects;

  ~Executable();

  // The handle of a symbol, or 0. Mutex held.
  [[nodiscard]] uint64_t find(std::string_view name, const Agent* agent) const {
    for (const Scope& scope : scopes)
      if (scope.agent == agent)
        if (const uint32_t* index = scope.names.find(name)) return symbols[*index];
    return 0;
  }
};

struct Reader {
  std::span<const uint8_t> image;
  void* mapping = nullptr;    // of a file
  std::vector<uint8_t> copy;  // of part of a file, or of an image that the caller may free
  std::string uri;
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();
};

// A module that has kernels.
struct LoadedModule {
  uint64_t lowest = 0;  // kernel object
  std::shared_ptr<runtime::Module> module;
  const Agent* agent = nullptr;
};

struct LoaderState {
  Live<Executable> executables;
  Live<Reader> readers;
  Live<Reader> code_objects;                                                // of HSA 1.0: copies of images
  std::mutex mutex;                                                         // of what is below
  std::map<uint64_t, LoadedModule> loaded;                                  // by the highest kernel object
  std::unordered_map<uint64_t, std::shared_ptr<const KernelCode>> kernels;  // launched before, by kernel object
};
LoaderState& state();

}  // namespace wavejit::hsa
