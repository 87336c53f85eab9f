// Symbols of executables: kernels and variables.
#include <algorithm>
#include <cstring>

#include "runtime/hsa/loader_state.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

template <typename Visit>
hsa_status_t each_symbol(hsa_executable_t handle, Visit&& visit) {
  const auto executable = state().executables.find(handle.handle);
  if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
  // A frozen executable's symbols do not change: libamdhip64 goes through all of them for each kernel that it loads.
  const std::vector<uint64_t>* symbols = &executable->symbols;
  std::vector<uint64_t> copy;
  {
    const std::lock_guard lock(executable->mutex);
    if (!executable->frozen) {
      copy = executable->symbols;
      symbols = &copy;
    }
  }
  for (const uint64_t symbol : *symbols)
    if (const hsa_status_t status = visit(hsa_executable_symbol_t{symbol}); status != HSA_STATUS_SUCCESS) return status;
  return HSA_STATUS_SUCCESS;
}

// Returns the agent of a symbol, null for program scope.
const Agent* agent_of_symbol(hsa_executable_symbol_t handle) {
  const Symbol* symbol = symbol_table.find(handle.handle);
  return symbol ? symbol->agent : nullptr;
}

}  // namespace
}  // namespace wavejit::hsa

using namespace wavejit::hsa;

WAVEJIT_HSA_API hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char* name,
                                                               const hsa_agent_t* agent_handle,
                                                               hsa_executable_symbol_t* out) {
  return entry([&] {
    const auto executable = state().executables.find(handle.handle);
    if (!executable) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!name || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const Agent* agent = agent_handle ? agent_of(*agent_handle) : nullptr;
    if (agent_handle && !agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    const std::lock_guard lock(executable->mutex);
    const uint64_t symbol = executable->find(name, agent);
    if (symbol == 0) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    *out = {symbol};
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_get_symbol(hsa_executable_t executable, const char*, const char* name,
                                                       hsa_agent_t agent, int32_t, hsa_executable_symbol_t* out) {
  return hsa_executable_get_symbol_by_name(executable, name, &agent, out);
}

WAVEJIT_HSA_API hsa_status_t hsa_executable_iterate_symbols(hsa_executable_t executable,
                                                            hsa_status_t (*callback)(hsa_executable_t,
                                                                                     hsa_executable_symbol_t, void*),
                                                            void* data) {
  return entry([&] {
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return each_symbol(executable, [&](hsa_executable_symbol_t s) { return callback(executable, s, data); });
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_iterate_agent_symbols(
    hsa_executable_t executable, hsa_agent_t agent,
    hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*), void* data) {
  return entry([&] {
    const Agent* a = agent_of(agent);
    if (!a) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return each_symbol(executable, [&](hsa_executable_symbol_t s) {
      return agent_of_symbol(s) == a ? callback(executable, agent, s, data) : HSA_STATUS_SUCCESS;
    });
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_executable_iterate_program_symbols(
    hsa_executable_t executable, hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void*),
    void* data) {
  return entry([&] {
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return each_symbol(executable, [&](hsa_executable_symbol_t s) {
      return agent_of_symbol(s) ? HSA_STATUS_SUCCESS : callback(executable, s, data);
    });
  });
}

// Answers that need the metadata of the kernel. The first query decodes it.
static __attribute__((noinline)) hsa_status_t decoded_info(const Symbol& symbol, hsa_executable_symbol_info_t attribute,
                                                           void* value) {
  return entry([&] {
    const auto kernel = symbol.object->kernel(symbol.kernel);
    if (!kernel) {
      say(kernel.error().message);
      return to_status(kernel.error());
    }
    const wavejit::codeobject::KernelDescriptor& d = (*kernel)->descriptor;
    switch (static_cast<uint32_t>(attribute)) {
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
        return give(value, d.kernarg_size);  // as ROCr: HSA wants a multiple of 16, clients the exact size
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
        return give(value, std::max(16u, (*kernel)->kernarg_align));
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
        return give(value, d.group_segment_size);
      default:
        return give(value, d.private_segment_size);
    }
  });
}

static hsa_status_t variable_info(const Symbol& symbol, hsa_executable_symbol_info_t attribute, void* value) {
  switch (static_cast<uint32_t>(attribute)) {
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
      return give(value, symbol.address);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
      return give(value, static_cast<uint32_t>(symbol.bytes));
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT:
      return give(value, uint32_t{16});
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION:
      return give(value, symbol.agent ? HSA_VARIABLE_ALLOCATION_AGENT : HSA_VARIABLE_ALLOCATION_PROGRAM);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT:
      return give(value, HSA_VARIABLE_SEGMENT_GLOBAL);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST:
      return give(value, symbol.constant);
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

static hsa_status_t kernel_info(const Symbol& symbol, hsa_executable_symbol_info_t attribute, void* value) {
  switch (static_cast<uint32_t>(attribute)) {
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
      return give(value, symbol.address);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
      // libamdhip64 asks for it of every kernel. Compilers that set it at all set it in the descriptor, too.
      return give(value, symbol.object->descriptor(symbol.kernel).uses_dynamic_stack);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION:
      return give(value, uint32_t{0});
    case HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE:
      return give(value, uint32_t{64});
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
      return decoded_info(symbol, attribute, value);
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

WAVEJIT_HSA_API hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t handle,
                                                            hsa_executable_symbol_info_t attribute, void* value) {
  if (!is_open()) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  // For each kernel that it loads, libamdhip64 queries this attribute of every symbol: 200 million queries for the largest libraries.
  if (attribute == HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST && symbol_table.is_kernel(handle.handle))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Symbol* symbol = symbol_table.find(handle.handle);
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
      return symbol->kind == HSA_SYMBOL_KIND_VARIABLE ? variable_info(*symbol, attribute, value)
                                                      : kernel_info(*symbol, attribute, value);
  }
}
