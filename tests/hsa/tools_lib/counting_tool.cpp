// A tool that takes the place of every function of every table, counts its calls and forwards them.
#include "counting_tool.h"

#include <cstdlib>
#include <cstring>

#include "runtime/hsa/api_table.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace wavejit::hsa;

enum Id : int {
#define WAVEJIT_HSA_CORE(name) id_##name,
#define WAVEJIT_HSA_AMD(name) id_##name,
#define WAVEJIT_HSA_AMD_TABLE_ONLY(name) id_##name,
#define WAVEJIT_HSA_FINALIZER(name) id_##name,
#define WAVEJIT_HSA_IMAGE(name) id_##name,
#define WAVEJIT_HSA_PC_SAMPLING(name) id_##name,
#include "runtime/hsa/api_functions.def"
  id_count
};

constexpr const char* kNames[] = {
#define WAVEJIT_HSA_CORE(name) #name,
#define WAVEJIT_HSA_AMD(name) #name,
#define WAVEJIT_HSA_AMD_TABLE_ONLY(name) #name,
#define WAVEJIT_HSA_FINALIZER(name) #name,
#define WAVEJIT_HSA_IMAGE(name) #name,
#define WAVEJIT_HSA_PC_SAMPLING(name) #name,
#include "runtime/hsa/api_functions.def"
};
static_assert(sizeof kNames / sizeof *kNames == id_count);

uint64_t counts[id_count];
bool forwards = true;
ToolState state;

template <int id, typename Function>
struct Counter;
template <int id, typename Result, typename... Arguments>
struct Counter<id, Result (*)(Arguments...)> {
  static inline Result (*original)(Arguments...) = nullptr;
  static Result call(Arguments... arguments) {
    __atomic_fetch_add(&counts[id], 1, __ATOMIC_RELAXED);
    if (forwards) return original(arguments...);
    return Result();
  }
  static void install(Result (*&entry)(Arguments...)) {
    original = entry;
    entry = call;
  }
};

}  // namespace

EXPORT bool OnLoad(ApiTable* table, uint64_t runtime_version, uint64_t failed_count, const char* const* failed_names) {
  ++state.loads;
  state.runtime_version = runtime_version;
  state.failed_count = failed_count;
  if (failed_count != 0) std::strncpy(state.failed_name, failed_names[0], sizeof state.failed_name - 1);
  state.core_bytes = table->core_->version.minor_id;
  state.amd_bytes = table->amd_ext_->version.minor_id;
  if (std::getenv("COUNTING_TOOL_REFUSES")) return false;
  // The runtime is open.
  uint16_t major = 0;
  if (table->core_->hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MAJOR, &major) != HSA_STATUS_SUCCESS) return false;
#define INSTALL(table, name) Counter<id_##name, decltype(table->name##_fn)>::install(table->name##_fn);
#define WAVEJIT_HSA_CORE(name) INSTALL(table->core_, name)
#define WAVEJIT_HSA_AMD(name) INSTALL(table->amd_ext_, name)
#define WAVEJIT_HSA_AMD_TABLE_ONLY(name) INSTALL(table->amd_ext_, name)
#define WAVEJIT_HSA_FINALIZER(name) INSTALL(table->finalizer_ext_, name)
#define WAVEJIT_HSA_IMAGE(name) INSTALL(table->image_ext_, name)
#define WAVEJIT_HSA_PC_SAMPLING(name) INSTALL(table->pc_sampling_ext_, name)
#include "runtime/hsa/api_functions.def"
  return true;
}

EXPORT void OnUnload() {
  ++state.unloads;
}

EXPORT uint64_t calls_of(const char* name) {
  for (int i = 0; i < id_count; ++i)
    if (std::strcmp(kNames[i], name) == 0) return __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
  return UINT64_MAX;
}
EXPORT void reset_calls() {
  for (uint64_t& count : counts) count = 0;
}
EXPORT void set_forwarding(bool forward) {
  forwards = forward;
}
EXPORT const ToolState* state_of() {
  return &state;
}
