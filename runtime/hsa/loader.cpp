#include "runtime/hsa/loader.h"

#include <fmt/format.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

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

  // Whether `address` is in the code.
  [[nodiscard]] bool holds(uint64_t address) const {
    const auto code = module->object().code();
    return std::any_of(code.begin(), code.end(), [&](std::span<const uint8_t> part) {
      return address - reinterpret_cast<uint64_t>(part.data()) < part.size();
    });
  }
};

struct Executable {
  bool frozen = false;
  hsa_profile_t profile = HSA_PROFILE_FULL;
  std::vector<std::unique_ptr<Symbol>> symbols;
  std::vector<std::unique_ptr<LoadedObject>> objects;

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
  ~Reader() {
    if (mapping) munmap(mapping, image.size());
  }
};

// Objects that handles are addresses of.
template <typename T>
class Live {
 public:
  T* add(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    T* raw = object.get();
    objects_[reinterpret_cast<uint64_t>(raw)] = std::move(object);
    return raw;
  }
  T* find(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second.get();
  }
  std::vector<uint64_t> handles() {
    const std::lock_guard lock(mutex_);
    std::vector<uint64_t> all;
    for (const auto& [handle, object] : objects_) all.push_back(handle);
    return all;
  }
  std::unique_ptr<T> take(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    if (it == objects_.end()) return nullptr;
    std::unique_ptr<T> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<T>> objects_;
};

struct State {
  Live<Executable> executables;
  Live<Reader> readers;
  std::mutex mutex;  // of what is below
  std::unordered_map<uint64_t, Symbol*> symbols;
  std::unordered_map<uint64_t, std::shared_ptr<const KernelCode>> kernels;
};
State& state() {
  static auto* const instance = new State;
  return *instance;
}

void add_symbol(Executable& executable, std::unique_ptr<Symbol> symbol) {
  const std::lock_guard lock(state().mutex);
  state().symbols[reinterpret_cast<uint64_t>(symbol.get())] = symbol.get();
  if (symbol->code) state().kernels[reinterpret_cast<uint64_t>(symbol->code.get())] = symbol->code;
  executable.symbols.push_back(std::move(symbol));
}

void forget(const Executable& executable) {
  const std::lock_guard lock(state().mutex);
  for (const auto& s : executable.symbols) {
    state().symbols.erase(reinterpret_cast<uint64_t>(s.get()));
    if (s->code) state().kernels.erase(reinterpret_cast<uint64_t>(s->code.get()));
  }
}

const Symbol* symbol_of(hsa_executable_symbol_t handle) {
  const std::lock_guard lock(state().mutex);
  const auto it = state().symbols.find(handle.handle);
  return it == state().symbols.end() ? nullptr : it->second;
}

hsa_executable_symbol_t handle_of(const Symbol& symbol) {
  return {reinterpret_cast<uint64_t>(&symbol)};
}

hsa_status_t load(Executable& executable, Agent& agent, std::span<const uint8_t> image,
                  hsa_loaded_code_object_t* loaded) {
  // What the program has defined for code objects to refer to.
  const auto defined = [&](std::string_view name) -> std::optional<uint64_t> {
    for (const auto& s : executable.symbols)
      if (s->defined_by_program && s->name == name && (!s->agent || s->agent == &agent)) return s->address;
    return std::nullopt;
  };
  Expected<std::shared_ptr<runtime::Module>> module = runtime::Module::load(image, defined);
  if (!module) {
    say(module.error().message);
    return to_status(module.error());
  }
  const codeobject::CodeObject& object = (*module)->object();
  if (!codeobject::compatible(object.target(), agent.target_id)) {
    say(fmt::format("A code object for {} cannot run on the agent, which is {}.", object.target().to_string(),
                    agent.target_id.to_string()));
    return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  }
  for (const codeobject::Kernel& kernel : object.kernels()) {
    auto symbol = std::make_unique<Symbol>();
    symbol->kind = HSA_SYMBOL_KIND_KERNEL;
    symbol->name = kernel.symbol;
    symbol->agent = &agent;
    symbol->code = std::make_shared<const KernelCode>(KernelCode{*module, &kernel, &agent});
    add_symbol(executable, std::move(symbol));
  }
  for (const codeobject::Variable& variable : object.variables()) {
    auto symbol = std::make_unique<Symbol>();
    symbol->name = variable.name;
    symbol->agent = &agent;
    symbol->address = variable.address;
    symbol->bytes = variable.size;
    add_symbol(executable, std::move(symbol));
  }
  executable.objects.push_back(
      std::make_unique<LoadedObject>(LoadedObject{.agent = &agent, .module = std::move(*module), .image = image}));
  if (loaded) loaded->handle = reinterpret_cast<uint64_t>(executable.objects.back().get());
  return HSA_STATUS_SUCCESS;
}

}  // namespace

// Device memory is host memory.
hsa_status_t query_host_address(const void* device, const void** host) {
  if (!device || !host) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *host = device;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t query_segment_descriptors(hsa_ven_amd_loader_segment_descriptor_t* descriptors, size_t* count) {
  return entry([&] {
    if (!count) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    std::vector<hsa_ven_amd_loader_segment_descriptor_t> all;
    for (const uint64_t handle : state().executables.handles()) {
      const Executable* executable = state().executables.find(handle);
      if (!executable) continue;
      for (const auto& object : executable->objects) {
        for (const std::span<const uint8_t> code : object->module->object().code()) {
          hsa_ven_amd_loader_segment_descriptor_t d{};
          d.agent = object->agent->handle();
          d.executable = {handle};
          d.code_object_storage_type = HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY;
          d.code_object_storage_base = object->image.data();
          d.code_object_storage_size = object->image.size();
          d.segment_base = code.data();
          d.segment_size = code.size();
          all.push_back(d);
        }
      }
    }
    if (!descriptors) {
      *count = all.size();
      return HSA_STATUS_SUCCESS;
    }
    if (*count != all.size()) return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    std::copy(all.begin(), all.end(), descriptors);
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t query_executable(const void* device, hsa_executable_t* out) {
  return entry([&] {
    if (!device || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const uint64_t handle : state().executables.handles()) {
      const Executable* executable = state().executables.find(handle);
      if (!executable) continue;
      for (const auto& object : executable->objects) {
        if (!object->holds(reinterpret_cast<uint64_t>(device))) continue;
        *out = {handle};
        return HSA_STATUS_SUCCESS;
      }
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}

hsa_status_t iterate_loaded_code_objects(hsa_executable_t handle,
                                         hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t, void*),
                                         void* data) {
  return entry([&] {
    const Executable* executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const auto& object : executable->objects) {
      const hsa_status_t status = callback(handle, {reinterpret_cast<uint64_t>(object.get())}, data);
      if (status != HSA_STATUS_SUCCESS) return status;
    }
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t loaded_code_object_info(hsa_loaded_code_object_t handle,
                                     hsa_ven_amd_loader_loaded_code_object_info_t attribute, void* value) {
  return entry([&] {
    if (handle.handle == 0 || !value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto& object = *reinterpret_cast<const LoadedObject*>(handle.handle);
    const auto code = object.module->object().code();
    switch (attribute) {
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND:
        return give(value, uint32_t{HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT});
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
        return give(value, object.agent->handle());
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE:
        return give(value, uint32_t{HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY});
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
        return give(value, reinterpret_cast<uint64_t>(object.image.data()));
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
        return give(value, uint64_t{object.image.size()});
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA:
        return give(value, static_cast<int64_t>(object.module->object().load_bias()));
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE:
        return give(value, code.empty() ? uint64_t{0} : reinterpret_cast<uint64_t>(code[0].data()));
      case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE:
        return give(value, code.empty() ? uint64_t{0} : uint64_t{code[0].size()});
      default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  });
}

hsa_status_t reader_from_file_part(hsa_file_t file, size_t offset, size_t bytes, hsa_code_object_reader_t* out) {
  return entry([&] {
    if (!out || bytes == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto reader = std::make_unique<Reader>();
    reader->copy.resize(bytes);
    if (pread(file, reader->copy.data(), bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes))
      return HSA_STATUS_ERROR_INVALID_FILE;
    reader->image = reader->copy;
    out->handle = reinterpret_cast<uint64_t>(state().readers.add(std::move(reader)));
    return HSA_STATUS_SUCCESS;
  });
}

hsa_status_t iterate_executables(hsa_status_t (*callback)(hsa_executable_t, void*), void* data) {
  return entry([&] {
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (const uint64_t handle : state().executables.handles())
      if (const hsa_status_t status = callback({handle}, data); status != HSA_STATUS_SUCCESS) return status;
    return HSA_STATUS_SUCCESS;
  });
}

std::shared_ptr<const KernelCode> kernel_of(uint64_t kernel_object) {
  const std::lock_guard lock(state().mutex);
  const auto it = state().kernels.find(kernel_object);
  return it == state().kernels.end() ? nullptr : it->second;
}

}  // namespace wavejit::hsa

using namespace wavejit::hsa;

// ------------------------------------------------------------------------------------------------ readers

WAVEJIT_HSA_API hsa_status_t hsa_code_object_reader_create_from_memory(const void* image, size_t bytes,
                                                                       hsa_code_object_reader_t* out) {
  return entry([&] {
    if (!image || bytes == 0 || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto reader = std::make_unique<Reader>();
    reader->image = {static_cast<const uint8_t*>(image), bytes};
    out->handle = reinterpret_cast<uint64_t>(state().readers.add(std::move(reader)));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_code_object_reader_create_from_file(hsa_file_t file, hsa_code_object_reader_t* out) {
  return entry([&] {
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    struct stat info {};
    if (fstat(file, &info) != 0 || info.st_size <= 0) return HSA_STATUS_ERROR_INVALID_FILE;
    const auto bytes = static_cast<size_t>(info.st_size);
    void* mapping = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) return HSA_STATUS_ERROR_INVALID_FILE;
    auto reader = std::make_unique<Reader>();
    reader->mapping = mapping;
    reader->image = {static_cast<const uint8_t*>(mapping), bytes};
    out->handle = reinterpret_cast<uint64_t>(state().readers.add(std::move(reader)));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader) {
  return entry([&] {
    return state().readers.take(reader.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER;
  });
}

// ------------------------------------------------------------------------------------------------ executables

WAVEJIT_HSA_API hsa_status_t hsa_executable_create_alt(hsa_profile_t profile, hsa_default_float_rounding_mode_t,
                                                       const char*, hsa_executable_t* out) {
  return entry([&] {
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto executable = std::make_unique<Executable>();
    executable->profile = profile;
    out->handle = reinterpret_cast<uint64_t>(state().executables.add(std::move(executable)));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_create(hsa_profile_t profile, hsa_executable_state_t initial,
                                                   const char* options, hsa_executable_t* out) {
  const hsa_status_t status = hsa_executable_create_alt(profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, options, out);
  if (status == HSA_STATUS_SUCCESS && initial == HSA_EXECUTABLE_STATE_FROZEN)
    state().executables.find(out->handle)->frozen = true;
  return status;
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_destroy(hsa_executable_t handle) {
  return entry([&] {
    const std::unique_ptr<Executable> executable = state().executables.take(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    forget(*executable);
    return HSA_STATUS_SUCCESS;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t handle, hsa_agent_t agent_handle,
                                                                   hsa_code_object_reader_t reader_handle, const char*,
                                                                   hsa_loaded_code_object_t* loaded) {
  return entry([&] {
    Executable* executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (executable->frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    Agent* agent = agent_of(agent_handle);
    if (!agent || !agent->is_gpu()) return HSA_STATUS_ERROR_INVALID_AGENT;
    const Reader* reader = state().readers.find(reader_handle.handle);
    if (!reader) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER;
    return load(*executable, *agent, reader->image, loaded);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_load_program_code_object(hsa_executable_t, hsa_code_object_reader_t,
                                                                     const char*, hsa_loaded_code_object_t*) {
  return entry(
      [] { return not_implemented("hsa_executable_load_program_code_object", HSA_STATUS_ERROR_INVALID_CODE_OBJECT); });
}

WAVEJIT_HSA_API hsa_status_t hsa_executable_freeze(hsa_executable_t handle, const char*) {
  return entry([&] {
    Executable* executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (executable->frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    executable->frozen = true;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_get_info(hsa_executable_t handle, hsa_executable_info_t attribute,
                                                     void* value) {
  return entry([&] {
    const Executable* executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch (attribute) {
      case HSA_EXECUTABLE_INFO_PROFILE:
        return give(value, executable->profile);
      case HSA_EXECUTABLE_INFO_STATE:
        return give(value, executable->frozen ? HSA_EXECUTABLE_STATE_FROZEN : HSA_EXECUTABLE_STATE_UNFROZEN);
      case HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
        return give(value, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
      default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_validate(hsa_executable_t handle, uint32_t* result) {
  return entry([&] {
    if (!state().executables.find(handle.handle)) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!result) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = 0;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_validate_alt(hsa_executable_t handle, const char*, uint32_t* result) {
  return hsa_executable_validate(handle, result);
}

// Variables that code objects only declare: the addresses are there when such an object is loaded.
static hsa_status_t define(hsa_executable_t handle, Agent* agent, const char* name, void* address) {
  Executable* executable = state().executables.find(handle.handle);
  if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  if (!name) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (executable->frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
  if (executable->find(name, agent)) return HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED;
  auto symbol = std::make_unique<Symbol>();
  symbol->name = name;
  symbol->agent = agent;
  symbol->address = reinterpret_cast<uint64_t>(address);
  symbol->defined_by_program = true;
  add_symbol(*executable, std::move(symbol));
  return HSA_STATUS_SUCCESS;
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                                         const char* name, void* address) {
  return entry([&] {
    Agent* a = agent_of(agent);
    return a ? define(executable, a, name, address) : HSA_STATUS_ERROR_INVALID_AGENT;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_global_variable_define(hsa_executable_t executable, const char* name,
                                                                   void* address) {
  return entry([&] { return define(executable, nullptr, name, address); });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_readonly_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                                     const char* name, void* address) {
  return hsa_executable_agent_global_variable_define(executable, agent, name, address);
}

// ------------------------------------------------------------------------------------------------ symbols

WAVEJIT_HSA_API hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char* name,
                                                               const hsa_agent_t* agent_handle,
                                                               hsa_executable_symbol_t* out) {
  return entry([&] {
    Executable* executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!name || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const Agent* agent = agent_handle ? agent_of(*agent_handle) : nullptr;
    if (agent_handle && !agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    const Symbol* symbol = executable->find(name, agent);
    if (!symbol) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    *out = handle_of(*symbol);
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_get_symbol(hsa_executable_t executable, const char*, const char* name,
                                                       hsa_agent_t agent, int32_t, hsa_executable_symbol_t* out) {
  return hsa_executable_get_symbol_by_name(executable, name, &agent, out);
}

namespace {
template <typename Visit>
hsa_status_t each_symbol(hsa_executable_t handle, Visit&& visit) {
  Executable* executable = state().executables.find(handle.handle);
  if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  for (const auto& symbol : executable->symbols)
    if (const hsa_status_t status = visit(*symbol); status != HSA_STATUS_SUCCESS) return status;
  return HSA_STATUS_SUCCESS;
}
}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_executable_iterate_symbols(hsa_executable_t executable,
                                                            hsa_status_t (*callback)(hsa_executable_t,
                                                                                     hsa_executable_symbol_t, void*),
                                                            void* data) {
  return entry([&] {
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return each_symbol(executable, [&](const Symbol& s) { return callback(executable, handle_of(s), data); });
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_iterate_agent_symbols(
    hsa_executable_t executable, hsa_agent_t agent,
    hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*), void* data) {
  return entry([&] {
    const Agent* a = agent_of(agent);
    if (!a) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return each_symbol(executable, [&](const Symbol& s) {
      return s.agent == a ? callback(executable, agent, handle_of(s), data) : HSA_STATUS_SUCCESS;
    });
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_iterate_program_symbols(
    hsa_executable_t executable, hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void*),
    void* data) {
  return entry([&] {
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return each_symbol(executable, [&](const Symbol& s) {
      return s.agent ? HSA_STATUS_SUCCESS : callback(executable, handle_of(s), data);
    });
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t handle,
                                                            hsa_executable_symbol_info_t attribute, void* value) {
  return entry([&] {
    const Symbol* symbol = symbol_of(handle);
    if (!symbol) return HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL;
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch (static_cast<uint32_t>(attribute)) {
      case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
        return give(value, symbol->kind);
      case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
        return give(value, static_cast<uint32_t>(symbol->name.size()));
      case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
        std::memcpy(value, symbol->name.data(), symbol->name.size());
        return HSA_STATUS_SUCCESS;
      case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH:
        return give(value, uint32_t{0});
      case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME:
        return HSA_STATUS_SUCCESS;
      case HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE:
        return give(value, HSA_SYMBOL_LINKAGE_PROGRAM);
      case HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION:
        return give(value, true);
      case HSA_EXECUTABLE_SYMBOL_INFO_AGENT:
        return give(value, hsa_agent_t{symbol->agent ? symbol->agent->handle().handle : 0});
      default:
        break;
    }
    if (symbol->kind == HSA_SYMBOL_KIND_VARIABLE) {
      switch (static_cast<uint32_t>(attribute)) {
        case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
          return give(value, symbol->address);
        case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
          return give(value, static_cast<uint32_t>(symbol->bytes));
        case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT:
          return give(value, uint32_t{16});
        case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION:
          return give(value, symbol->agent ? HSA_VARIABLE_ALLOCATION_AGENT : HSA_VARIABLE_ALLOCATION_PROGRAM);
        case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT:
          return give(value, HSA_VARIABLE_SEGMENT_GLOBAL);
        case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST:
          return give(value, false);
        default:
          return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      }
    }
    const wavejit::codeobject::KernelDescriptor& d = symbol->code->kernel->descriptor;
    switch (static_cast<uint32_t>(attribute)) {
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
        return give(value, reinterpret_cast<uint64_t>(symbol->code.get()));
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
        return give(value, (d.kernarg_size + 15) / 16 * 16);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
        return give(value, std::max(16u, symbol->code->kernel->kernarg_align));
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
        return give(value, d.group_segment_size);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
        return give(value, d.private_segment_size);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
        return give(value, d.uses_dynamic_stack);
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION:
        return give(value, uint32_t{0});
      default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  });
}
