// The C API: errors, host, containers, modules, memory.
#include <fmt/format.h>
#include <pthread.h>

#include <cstring>
#include <fstream>

#include "internal/check.h"
#include "runtime/api/c_api_internal.h"
#include "runtime/memory/memory_registry.h"
#include "runtime/threads/thread_pool.h"

using wavejit::Error;
using wavejit::ErrorCode;
using wavejit::Expected;
using wavejit::runtime::guarded;
using wavejit::runtime::invalid;
using wavejit::runtime::read_options;
using wavejit::runtime::report;
using wavejit::runtime::write_info;
namespace codeobject = wavejit::codeobject;

#define SAME(code, status) \
  static_assert(static_cast<uint32_t>(ErrorCode::code) == status, "wavejit_status mirrors ErrorCode")
SAME(kOk, WAVEJIT_OK);
SAME(kInvalidArgument, WAVEJIT_INVALID_ARGUMENT);
SAME(kBadCodeObject, WAVEJIT_BAD_CODE_OBJECT);
SAME(kNotFound, WAVEJIT_NOT_FOUND);
SAME(kTargetMismatch, WAVEJIT_TARGET_MISMATCH);
SAME(kUnsupported, WAVEJIT_UNSUPPORTED);
SAME(kIllegalInstruction, WAVEJIT_ILLEGAL_INSTRUCTION);
SAME(kGuestFault, WAVEJIT_GUEST_FAULT);
SAME(kGuestTrap, WAVEJIT_GUEST_TRAP);
SAME(kTimeout, WAVEJIT_TIMEOUT);
SAME(kOutOfMemory, WAVEJIT_OUT_OF_MEMORY);
SAME(kIo, WAVEJIT_IO);
SAME(kInternal, WAVEJIT_INTERNAL);
#undef SAME

namespace wavejit::runtime {

namespace {
// Not an object with a destructor, which glibc allocates memory for, or ends the process. The thread's end deletes it.
thread_local wavejit_error* t_last_error = nullptr;

pthread_key_t error_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    WAVEJIT_CHECK(pthread_key_create(&made, [](void* error) { delete static_cast<wavejit_error*>(error); }) == 0,
                  "there are no keys for threads");
    return made;
  }();
  return key;
}
}  // namespace

wavejit_status report(Error error) {
  const auto status = static_cast<wavejit_status>(error.code);
  try {
    if (!t_last_error) {
      t_last_error = new wavejit_error;
      (void)pthread_setspecific(error_key(), t_last_error);
    }
    t_last_error->error = std::move(error);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the status alone has to do
  }
  return status;
}

wavejit_status report_exception() noexcept {
  // Building a message may run out of memory, too.
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::system_error& e) {
      return report({.code = ErrorCode::kOutOfMemory, .message = fmt::format("There is no thread: {}.", e.what())});
    } catch (const std::exception& e) {
      return report({.code = ErrorCode::kInternal, .message = e.what()});
    } catch (...) {
      return report({.code = ErrorCode::kInternal, .message = "Unknown exception."});
    }
  } catch (const std::bad_alloc&) {
    return report({.code = ErrorCode::kOutOfMemory, .message = "Out of memory."});
  }
}

std::vector<std::string> split(const char* list) {
  std::vector<std::string> names;
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (comma != 0) names.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return names;
}

Expected<backend::Tier> tier_for(wavejit_isa isa) {
  if (isa == WAVEJIT_ISA_AUTO) return backend::best_host_tier();
  if (isa != WAVEJIT_ISA_AVX2 && isa != WAVEJIT_ISA_AVX512)
    return make_error(ErrorCode::kInvalidArgument, fmt::format("{} is not a wavejit_isa.", static_cast<int>(isa)));
  const backend::Tier tier = isa == WAVEJIT_ISA_AVX2 ? backend::Tier::avx2 : backend::Tier::avx512;
  if (!backend::host_supports(tier))
    return make_error(ErrorCode::kUnsupported, fmt::format("This CPU cannot run {} code.", wavejit_isa_string(isa)));
  return tier;
}

}  // namespace wavejit::runtime

using wavejit::runtime::Module;

// ------------------------------------------------------------------------------------------------ errors

const char* wavejit_status_string(wavejit_status status) WAVEJIT_NOEXCEPT {
  switch (status) {
    case WAVEJIT_OK:
      return "ok";
    case WAVEJIT_INVALID_ARGUMENT:
      return "invalid argument";
    case WAVEJIT_BAD_CODE_OBJECT:
      return "bad code object";
    case WAVEJIT_NOT_FOUND:
      return "not found";
    case WAVEJIT_TARGET_MISMATCH:
      return "target mismatch";
    case WAVEJIT_UNSUPPORTED:
      return "unsupported";
    case WAVEJIT_ILLEGAL_INSTRUCTION:
      return "illegal instruction";
    case WAVEJIT_GUEST_FAULT:
      return "guest fault";
    case WAVEJIT_GUEST_TRAP:
      return "guest trap";
    case WAVEJIT_TIMEOUT:
      return "timeout";
    case WAVEJIT_OUT_OF_MEMORY:
      return "out of memory";
    case WAVEJIT_IO:
      return "input/output error";
    case WAVEJIT_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

const wavejit_error* wavejit_last_error(void) WAVEJIT_NOEXCEPT {
  return wavejit::runtime::t_last_error;
}

wavejit_error* wavejit_error_clone(const wavejit_error* error) WAVEJIT_NOEXCEPT {
  if (!error) return nullptr;
  try {
    return new wavejit_error(*error);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void wavejit_error_destroy(wavejit_error* error) WAVEJIT_NOEXCEPT {
  delete error;
}

wavejit_status wavejit_error_status(const wavejit_error* error) WAVEJIT_NOEXCEPT {
  return error ? static_cast<wavejit_status>(error->error.code) : WAVEJIT_OK;
}
const char* wavejit_error_message(const wavejit_error* error) WAVEJIT_NOEXCEPT {
  return error ? error->error.message.c_str() : "";
}
const char* wavejit_error_kernel(const wavejit_error* error) WAVEJIT_NOEXCEPT {
  return error && !error->error.kernel.empty() ? error->error.kernel.c_str() : nullptr;
}

namespace {
template <typename T>
int get_optional(const std::optional<T>& value, T* out) {
  if (!value || !out) return 0;
  *out = *value;
  return 1;
}
}  // namespace

int wavejit_error_pc(const wavejit_error* error, uint64_t* pc) WAVEJIT_NOEXCEPT {
  return error ? get_optional(error->error.pc, pc) : 0;
}
int wavejit_error_lane(const wavejit_error* error, uint32_t* lane) WAVEJIT_NOEXCEPT {
  return error ? get_optional(error->error.lane, lane) : 0;
}
int wavejit_error_address(const wavejit_error* error, uint64_t* address) WAVEJIT_NOEXCEPT {
  return error ? get_optional(error->error.address, address) : 0;
}

// ------------------------------------------------------------------------------------------------ library and host

#define WAVEJIT_STRINGIFY_(x) #x
#define WAVEJIT_STRINGIFY(x) WAVEJIT_STRINGIFY_(x)

uint32_t wavejit_version(void) WAVEJIT_NOEXCEPT {
  return WAVEJIT_VERSION;
}
const char* wavejit_version_string(void) WAVEJIT_NOEXCEPT {
  return WAVEJIT_STRINGIFY(WAVEJIT_VERSION_MAJOR) "." WAVEJIT_STRINGIFY(WAVEJIT_VERSION_MINOR) "." WAVEJIT_STRINGIFY(
      WAVEJIT_VERSION_PATCH);
}

const char* wavejit_engine_string(wavejit_engine engine) WAVEJIT_NOEXCEPT {
  switch (engine) {
    case WAVEJIT_ENGINE_AUTO:
      return "auto";
    case WAVEJIT_ENGINE_INTERP:
      return "interp";
    case WAVEJIT_ENGINE_JIT:
      return "jit";
  }
  return "unknown";
}
const char* wavejit_isa_string(wavejit_isa isa) WAVEJIT_NOEXCEPT {
  switch (isa) {
    case WAVEJIT_ISA_AUTO:
      return "auto";
    case WAVEJIT_ISA_AVX2:
      return "avx2";
    case WAVEJIT_ISA_AVX512:
      return "avx512";
  }
  return "unknown";
}

wavejit_isa wavejit_isa_best(void) WAVEJIT_NOEXCEPT {
  if (wavejit::backend::host_supports(wavejit::backend::Tier::avx512)) return WAVEJIT_ISA_AVX512;
  if (wavejit::backend::host_supports(wavejit::backend::Tier::avx2)) return WAVEJIT_ISA_AVX2;
  return WAVEJIT_ISA_AUTO;
}
int wavejit_isa_supported(wavejit_isa isa) WAVEJIT_NOEXCEPT {
  switch (isa) {
    case WAVEJIT_ISA_AUTO:
      return wavejit_isa_best() != WAVEJIT_ISA_AUTO;
    case WAVEJIT_ISA_AVX2:
      return wavejit::backend::host_supports(wavejit::backend::Tier::avx2);
    case WAVEJIT_ISA_AVX512:
      return wavejit::backend::host_supports(wavejit::backend::Tier::avx512);
  }
  return 0;
}

uint32_t wavejit_default_threads(void) WAVEJIT_NOEXCEPT {
  return wavejit::runtime::available_cpus();
}

const char* wavejit_host_cpu(void) WAVEJIT_NOEXCEPT {
  static const std::string name = [] {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
      if (line.rfind("model name", 0) == 0) {
        const size_t colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
      }
    return std::string("x86-64");
  }();
  return name.c_str();
}

// ------------------------------------------------------------------------------------------------ containers

namespace {

wavejit_status make_container(Expected<std::shared_ptr<const codeobject::Container>> opened,
                              wavejit_container** container) {
  if (!opened) return report(std::move(opened.error()));
  auto handle = std::make_unique<wavejit_container>();
  handle->container = std::move(*opened);
  handle->kind = std::string(handle->container->kind());
  for (const auto& entry : handle->container->entries()) handle->targets.push_back(entry.target.to_string());
  *container = handle.release();
  return WAVEJIT_OK;
}

wavejit_status make_module(Expected<std::shared_ptr<Module>> loaded, wavejit_module** module) {
  if (!loaded) return report(std::move(loaded.error()));
  *module = new wavejit_module{std::move(*loaded)};
  return WAVEJIT_OK;
}

std::span<const uint8_t> bytes_of(const void* data, size_t size) {
  return {static_cast<const uint8_t*>(data), size};
}

}  // namespace

wavejit_status wavejit_container_open(const char* path, wavejit_container** container) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!path || !container) return invalid("wavejit_container_open: NULL argument.");
    return make_container(codeobject::Container::open(path), container);
  });
}

wavejit_status wavejit_container_parse(const void* data, size_t data_size,
                                       wavejit_container** container) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if ((!data && data_size) || !container) return invalid("wavejit_container_parse: NULL argument.");
    return make_container(codeobject::Container::parse(bytes_of(data, data_size)), container);
  });
}

void wavejit_container_destroy(wavejit_container* container) WAVEJIT_NOEXCEPT {
  delete container;
}
const char* wavejit_container_kind(const wavejit_container* container) WAVEJIT_NOEXCEPT {
  return container ? container->kind.c_str() : "";
}
size_t wavejit_container_entry_count(const wavejit_container* container) WAVEJIT_NOEXCEPT {
  return container ? container->container->entries().size() : 0;
}

wavejit_status wavejit_container_entry(const wavejit_container* container, size_t index,
                                       wavejit_entry_info* info) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!container) return invalid("wavejit_container_entry: NULL container.");
    const auto entries = container->container->entries();
    if (index >= entries.size())
      return report({.code = ErrorCode::kNotFound,
                     .message = fmt::format("The container has {} entries, not {}.", entries.size(), index + 1)});
    const codeobject::ContainerEntry& entry = entries[index];
    wavejit_entry_info value{};
    value.target = container->targets[index].c_str();
    value.triple = entry.triple.c_str();
    value.bundle_index = entry.bundle_index;
    value.data = entry.bytes.data();
    value.data_size = entry.bytes.size();
    return write_info(info, value);
  });
}

// ------------------------------------------------------------------------------------------------ modules

wavejit_status wavejit_module_load_file(const char* path, const wavejit_load_options* options,
                                        wavejit_module** module) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!path || !module) return invalid("wavejit_module_load_file: NULL argument.");
    const wavejit_load_options opts = read_options(options);
    auto container = codeobject::Container::open(path);
    if (!container) return report(std::move(container.error()));
    return make_module(Module::load(**container, opts.target ? opts.target : "", opts.kernel ? opts.kernel : ""),
                       module);
  });
}

wavejit_status wavejit_module_load_memory(const void* data, size_t data_size, const wavejit_load_options* options,
                                          wavejit_module** module) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if ((!data && data_size) || !module) return invalid("wavejit_module_load_memory: NULL argument.");
    const wavejit_load_options opts = read_options(options);
    auto container = codeobject::Container::parse(bytes_of(data, data_size));
    if (!container) return report(std::move(container.error()));
    return make_module(Module::load(**container, opts.target ? opts.target : "", opts.kernel ? opts.kernel : ""),
                       module);
  });
}

wavejit_status wavejit_module_load_entry(const wavejit_container* container, size_t index,
                                         wavejit_module** module) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!container || !module) return invalid("wavejit_module_load_entry: NULL argument.");
    const auto entries = container->container->entries();
    if (index >= entries.size())
      return report({.code = ErrorCode::kNotFound,
                     .message = fmt::format("The container has {} entries, not {}.", entries.size(), index + 1)});
    return make_module(Module::load(entries[index].bytes), module);
  });
}

void wavejit_module_destroy(wavejit_module* module) WAVEJIT_NOEXCEPT {
  delete module;
}
const char* wavejit_module_target(const wavejit_module* module) WAVEJIT_NOEXCEPT {
  return module ? module->module->target_id().c_str() : "";
}
uint32_t wavejit_module_object_version(const wavejit_module* module) WAVEJIT_NOEXCEPT {
  return module ? module->module->object().version() : 0;
}
size_t wavejit_module_kernel_count(const wavejit_module* module) WAVEJIT_NOEXCEPT {
  return module ? module->module->object().kernel_names().size() : 0;
}
const char* wavejit_module_kernel_name(const wavejit_module* module, size_t index) WAVEJIT_NOEXCEPT {
  return module ? module->module->kernel_name(index) : nullptr;
}

namespace {

wavejit_variable_info describe(const codeobject::Variable& variable) {
  wavejit_variable_info info{};
  info.name = variable.name.data();
  info.address = variable.address;
  info.bytes = variable.size;
  info.writable = variable.writable;
  return info;
}

// The host address of [offset, offset + bytes) in a variable.
Expected<uint8_t*> variable_bytes(const wavejit_module* module, const char* name, uint64_t offset, size_t bytes,
                                  bool write) {
  const auto found = module->module->object().find_variable(name);
  if (!found) return tl::unexpected<Error>(found.error());
  const codeobject::Variable& variable = **found;
  if (offset > variable.size || bytes > variable.size - offset)
    return wavejit::make_error(ErrorCode::kInvalidArgument,
                               fmt::format("Bytes {} to {} are outside of variable '{}', which has {} bytes.", offset,
                                           offset + bytes, variable.name, variable.size));
  if (write && !variable.writable)
    return wavejit::make_error(ErrorCode::kInvalidArgument, fmt::format("Variable '{}' is read-only.", variable.name));
  return reinterpret_cast<uint8_t*>(variable.address) + offset;
}

}  // namespace

size_t wavejit_module_variable_count(const wavejit_module* module) WAVEJIT_NOEXCEPT {
  return module ? module->module->object().variables().size() : 0;
}

wavejit_status wavejit_module_variable(const wavejit_module* module, size_t index,
                                       wavejit_variable_info* info) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!module) return invalid("wavejit_module_variable: NULL module.");
    const auto variables = module->module->object().variables();
    if (index >= variables.size())
      return report({.code = ErrorCode::kNotFound,
                     .message = fmt::format("The module has {} variables, not {}.", variables.size(), index + 1)});
    return write_info(info, describe(variables[index]));
  });
}

wavejit_status wavejit_module_find_variable(const wavejit_module* module, const char* name,
                                            wavejit_variable_info* info) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!module || !name) return invalid("wavejit_module_find_variable: NULL argument.");
    const auto found = module->module->object().find_variable(name);
    if (!found) return report(found.error());
    return write_info(info, describe(**found));
  });
}

wavejit_status wavejit_variable_read(const wavejit_module* module, const char* name, uint64_t offset, void* data,
                                     size_t bytes) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!module || !name || (!data && bytes)) return invalid("wavejit_variable_read: NULL argument.");
    const auto from = variable_bytes(module, name, offset, bytes, false);
    if (!from) return report(from.error());
    if (bytes) std::memcpy(data, *from, bytes);
    return WAVEJIT_OK;
  });
}

wavejit_status wavejit_variable_write(const wavejit_module* module, const char* name, uint64_t offset, const void* data,
                                      size_t bytes) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!module || !name || (!data && bytes)) return invalid("wavejit_variable_write: NULL argument.");
    const auto to = variable_bytes(module, name, offset, bytes, true);
    if (!to) return report(to.error());
    if (bytes) std::memcpy(*to, data, bytes);
    return WAVEJIT_OK;
  });
}

// ------------------------------------------------------------------------------------------------ memory

wavejit_status wavejit_buffer_alloc(size_t bytes, void** pointer) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!pointer) return invalid("wavejit_buffer_alloc: NULL argument.");
    const auto buffer = wavejit::runtime::allocate_buffer(bytes);
    if (!buffer) return report(buffer.error());
    *pointer = *buffer;
    return WAVEJIT_OK;
  });
}

void wavejit_buffer_free(void* pointer) WAVEJIT_NOEXCEPT {
  wavejit::runtime::free_buffer(pointer);
}

wavejit_status wavejit_memory_register(const void* pointer, size_t bytes, const char* name) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!pointer) return invalid("wavejit_memory_register: NULL pointer.");
    if (reinterpret_cast<uint64_t>(pointer) + bytes < bytes)
      return invalid("wavejit_memory_register: the range ends beyond the address space.");
    wavejit::runtime::register_memory(reinterpret_cast<uint64_t>(pointer), bytes, name ? name : "");
    return WAVEJIT_OK;
  });
}

void wavejit_memory_unregister(const void* pointer) WAVEJIT_NOEXCEPT {
  wavejit::runtime::unregister_memory(reinterpret_cast<uint64_t>(pointer));
}
