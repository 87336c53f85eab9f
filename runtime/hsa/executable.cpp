// Executables: code objects are loaded into them, for an agent each.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/hsa/debug_map.h"
#include "runtime/hsa/loader_state.h"
#include "runtime/hsa/saved_code.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {

LoaderState& state() {
  static auto* const instance = new LoaderState;
  return *instance;
}

Expected<std::shared_ptr<const KernelCode>> kernel_of(uint64_t kernel_object) {
  LoaderState& all = state();
  const std::lock_guard lock(all.mutex);
  if (const auto it = all.kernels.find(kernel_object); it != all.kernels.end()) return it->second;
  const auto it = all.loaded.lower_bound(kernel_object);
  if (it == all.loaded.end() || kernel_object < it->second.lowest) return nullptr;
  const auto& [lowest, module, agent] = it->second;
  const std::optional<size_t> index = module->object().kernel_at(kernel_object);
  if (!index) return nullptr;
  const Expected<const codeobject::Kernel*> kernel = module->object().kernel(*index);
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  return all.kernels[kernel_object] = std::make_shared<const KernelCode>(KernelCode{module, *kernel, agent});
}

Executable::~Executable() {
  for (const auto& object : objects) retract(*object);
  for (const uint64_t handle : symbols) symbol_table.remove(handle);
  const std::lock_guard lock(state().mutex);
  for (const auto& object : objects) {
    const auto is_of_object = [&](const auto& item) { return item.second.module == object->module; };
    std::erase_if(state().loaded, is_of_object);
    std::erase_if(state().kernels, [&](const auto& item) { return item.second->module == object->module; });
  }
}

namespace {

// Mutex of the executable held. The symbol's name lives as long as the executable.
void add_symbol(Executable& executable, const Symbol& symbol) {
  if (executable.symbols.size() == executable.symbols.capacity())
    executable.symbols.reserve(std::max<size_t>(16, 2 * executable.symbols.size()));
  const uint64_t handle = symbol_table.add(symbol);
  const auto index = static_cast<uint32_t>(executable.symbols.size());
  executable.symbols.push_back(handle);
  auto scope = std::ranges::find(executable.scopes, symbol.agent, &Scope::agent);
  if (scope == executable.scopes.end()) scope = executable.scopes.insert(scope, {.agent = symbol.agent});
  scope->names.add(symbol.name, index);
}

// Mutex of the executable held.
hsa_status_t load(Executable& executable, Agent& agent, const Reader& reader, hsa_loaded_code_object_t* loaded) {
  const std::span<const uint8_t> image = reader.image;
  // What the program has defined for code objects to refer to.
  const auto defined = [&](std::string_view name) -> std::optional<uint64_t> {
    for (const Agent* scope : {static_cast<const Agent*>(&agent), static_cast<const Agent*>(nullptr)})
      if (const Symbol* s = symbol_table.find(executable.find(name, scope)); s && s->defined_by_program)
        return s->address;
    return std::nullopt;
  };
  Expected<std::shared_ptr<runtime::Module>> module = runtime::Module::load(image, defined);
  if (!module) {
    say(module.error().message);
    return to_status(module.error());
  }
  const codeobject::CodeObject& object = (*module)->object();
  save_code(image, (*module)->target_id());
  if (!codeobject::compatible(object.target(), agent.target_id)) {
    say(fmt::format("A code object for {} cannot run on the agent, which is {}.", object.target().to_string(),
                    agent.target_id.to_string()));
    return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  }
  // First, so that symbols never outlive what they refer to, should there be no memory for all of them.
  executable.objects.push_back(std::make_unique<LoadedObject>(
      LoadedObject{.agent = &agent, .module = *module, .image = image, .uri = reader.uri}));
  const std::span<const codeobject::KernelName> kernels = object.kernel_names();
  for (uint32_t i = 0; i < kernels.size(); ++i)
    add_symbol(executable, {.kind = HSA_SYMBOL_KIND_KERNEL,
                            .kernel = i,
                            .agent = &agent,
                            .name = kernels[i].symbol,
                            .address = kernels[i].object,
                            .object = &object});
  for (const codeobject::Variable& variable : object.variables())
    add_symbol(executable, {.constant = variable.constant,
                            .agent = &agent,
                            .name = variable.name,
                            .address = variable.address,
                            .bytes = variable.size});
  if (!kernels.empty()) {
    const auto [lowest, highest] = std::ranges::minmax(kernels, {}, &codeobject::KernelName::object);
    const std::lock_guard lock(state().mutex);
    state().loaded[highest.object] = {.lowest = lowest.object, .module = *module, .agent = &agent};
  }
  if (loaded) loaded->handle = reinterpret_cast<uint64_t>(executable.objects.back().get());
  return HSA_STATUS_SUCCESS;
}

// `source` is a handle in `sources`, or `unknown` is the result.
hsa_status_t load(hsa_executable_t handle, hsa_agent_t agent_handle, Live<Reader>& sources, uint64_t source,
                  hsa_status_t unknown, hsa_loaded_code_object_t* loaded) {
  const auto executable = state().executables.find(handle.handle);
  if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  const std::lock_guard lock(executable->mutex);
  if (executable->frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
  Agent* agent = agent_of(agent_handle);
  if (!agent || !agent->is_gpu()) return HSA_STATUS_ERROR_INVALID_AGENT;
  const std::shared_ptr<Reader> reader = sources.find(source);
  return reader ? load(*executable, *agent, *reader, loaded) : unknown;
}

// Variables that code objects only declare: the addresses are there when such an object is loaded.
hsa_status_t define(hsa_executable_t handle, Agent* agent, const char* name, void* address, bool constant = false) {
  const auto executable = state().executables.find(handle.handle);
  if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  if (!name) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const std::lock_guard lock(executable->mutex);
  if (executable->frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
  if (executable->find(name, agent) != 0) return HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED;
  add_symbol(*executable, {.defined_by_program = true,
                           .constant = constant,
                           .agent = agent,
                           .name = executable->own_names.emplace_back(name),
                           .address = reinterpret_cast<uint64_t>(address)});
  return HSA_STATUS_SUCCESS;
}

}  // namespace
}  // namespace wavejit::hsa

using namespace wavejit::hsa;

static hsa_status_t create(hsa_profile_t profile, bool frozen, hsa_executable_t* out) {
  return entry([&] {
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto executable = std::make_shared<Executable>();
    executable->profile = profile;
    executable->frozen = frozen;
    out->handle = state().executables.add(std::move(executable));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_create_alt(hsa_profile_t profile, hsa_default_float_rounding_mode_t,
                                                       const char*, hsa_executable_t* out) {
  return create(profile, false, out);
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_create(hsa_profile_t profile, hsa_executable_state_t initial, const char*,
                                                   hsa_executable_t* out) {
  return create(profile, initial == HSA_EXECUTABLE_STATE_FROZEN, out);
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_destroy(hsa_executable_t handle) {
  return entry([&] {
    return state().executables.take(handle.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                                   hsa_code_object_reader_t reader, const char*,
                                                                   hsa_loaded_code_object_t* loaded) {
  return entry([&] {
    return load(executable, agent, state().readers, reader.handle, HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, loaded);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_load_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                             hsa_code_object_t object, const char*) {
  return entry([&] {
    return load(executable, agent, state().code_objects, object.handle, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, nullptr);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_load_program_code_object(hsa_executable_t, hsa_code_object_reader_t,
                                                                     const char*, hsa_loaded_code_object_t*) {
  return entry(
      [] { return not_implemented("hsa_executable_load_program_code_object", HSA_STATUS_ERROR_INVALID_CODE_OBJECT); });
}

WAVEJIT_HSA_API hsa_status_t hsa_executable_freeze(hsa_executable_t handle, const char*) {
  return entry([&] {
    const auto executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    const std::lock_guard lock(executable->mutex);
    if (executable->frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    executable->frozen = true;
    for (const auto& object : executable->objects) publish(*object);
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_get_info(hsa_executable_t handle, hsa_executable_info_t attribute,
                                                     void* value) {
  return entry([&] {
    const auto executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::lock_guard lock(executable->mutex);
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
  return entry([&] {
    Agent* a = agent_of(agent);
    return a ? define(executable, a, name, address, true) : HSA_STATUS_ERROR_INVALID_AGENT;
  });
}
