// Calls of the HSA library in any order, by several threads, with handles that are live, destroyed, of another kind or made
// up. What the host's side reads and writes itself (copies, results) is memory that stays: a program that frees memory
// under a copy crashes with any runtime.
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "calls.h"
#include "hsa_program.h"
#include "input.h"
#include "runtime/hsa/newer_api.h"

namespace wavejit::hostile {
namespace {

enum Kind : size_t {
  kSignal,
  kGroup,
  kQueue,
  kExecutable,
  kReader,
  kLoaded,
  kMemory,
  kLocked,
  kImage,
  kSampler,
  kReserved,
  kMapped,
  kVirtual,
  kAttached,
  kKinds
};

// Handles that calls have given, of all threads; destroyed ones stay.
class Handles {
 public:
  void add(Kind kind, uint64_t handle) {
    const std::lock_guard lock(mutex_);
    if (all_[kind].size() < 64) all_[kind].push_back(handle);
  }
  uint64_t any(Kind kind, size_t which) {
    const std::lock_guard lock(mutex_);
    return all_[kind].empty() ? 0 : all_[kind][which % all_[kind].size()];
  }
  std::vector<uint64_t> take(Kind kind) {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_[kind], {});
  }

 private:
  std::mutex mutex_;
  std::vector<uint64_t> all_[kKinds];
};

struct Shared {
  Handles handles;
  const HsaProgram& program;
  bool one_thread = true;
};

class Caller {
 public:
  Caller(Shared& shared, Input input) : shared_(shared), program_(shared.program), input_(input) {}

  void run() {
    while (!input_.is_empty()) call();
  }

 private:
  // ---------------------------------------------------------------------------------------------- arguments

  uint64_t handle(Kind kind) {
    switch (input_.below(10)) {
      case 0:
        return input_.number();
      case 1:  // of another kind
        return shared_.handles.any(static_cast<Kind>(input_.below(kKinds)), input_.byte());
      case 2:
        return shared_.handles.any(kind, input_.byte()) + input_.byte();
      case 3:
        return reinterpret_cast<uint64_t>(program_.block) + 64 * input_.byte();
      default:
        return shared_.handles.any(kind, input_.byte());
    }
  }
  hsa_signal_t signal() { return {handle(kSignal)}; }
  hsa_agent_t agent() {
    const size_t which = input_.below(10);
    if (which == 0) return {handle(kSignal)};
    return which < 3 ? program_.agents[which % program_.agents.size()] : program_.gpu;
  }
  hsa_amd_memory_pool_t pool() {
    if (input_.below(10) == 0) return {handle(kSignal)};
    return program_.pools[input_.below(program_.pools.size())];
  }
  // A range of the block.
  uint8_t* bytes() { return program_.block + 64 * input_.byte(); }
  void* result() { return input_.below(16) == 0 ? nullptr : result_; }
  template <typename T>
  T* out(T& value) {
    return input_.below(16) == 0 ? nullptr : &value;
  }
  // Sizes of memory that is asked for: none that would take all of the machine's.
  size_t size() {
    const uint64_t n = input_.number();
    return input_.below(4) != 0 ? n % (1 << 20) : n;
  }
  void* pointer(Kind kind) { return reinterpret_cast<void*>(handle(kind)); }
  hsa_queue_t* queue() { return reinterpret_cast<hsa_queue_t*>(handle(kQueue)); }
  template <typename T>
  T option(size_t usual) {
    return static_cast<T>(input_.below(8) == 0 ? input_.number() : input_.below(usual));
  }

  // ---------------------------------------------------------------------------------------------- calls

  void check(hsa_status_t status, const char* name) {
    if (trace()) std::fprintf(stderr, "  %#x\n", static_cast<unsigned>(status));
    check_status(status, name);
  }
  static bool trace() {
    static const bool on = std::getenv("WAVEJIT_TRACE_CALLS") != nullptr;
    return on;
  }

#define CALL(function, ...)                             \
  do {                                                  \
    if (trace()) std::fprintf(stderr, "%s", #function); \
    check(function(__VA_ARGS__), #function);            \
  } while (false)
#define CALL_FOR(kind, handle, function, ...)                                         \
  do {                                                                                \
    if (trace()) std::fprintf(stderr, "%s", #function);                               \
    const hsa_status_t status_ = function(__VA_ARGS__);                               \
    check(status_, #function);                                                        \
    if (status_ == HSA_STATUS_SUCCESS) shared_.handles.add(kind, (uint64_t)(handle)); \
  } while (false)

  void call() {
    switch (input_.below(6)) {
      case 0:
        return signals();
      case 1:
        return queues();
      case 2:
        return memory();
      case 3:
        return code();
      case 4:
        return virtual_memory();
      default:
        return others();
    }
  }

  void signals() {
    hsa_signal_t s{};
    hsa_signal_group_t group{};
    hsa_signal_t list[4] = {signal(), signal(), signal(), signal()};
    hsa_signal_condition_t conditions[4];
    for (auto& c : conditions) c = option<hsa_signal_condition_t>(4);
    hsa_signal_value_t values[4] = {0, 1, -1, static_cast<hsa_signal_value_t>(input_.number())}, value = 0;
    const auto v = static_cast<hsa_signal_value_t>(input_.number());
    const uint64_t timeout = input_.byte() * 100;
    const auto one = list[0];
    switch (input_.below(26)) {
      case 0:
      case 1:
      case 2:
        if (hsa_signal_t* o = out(s); true) {
          CALL_FOR(kSignal, s.handle, hsa_signal_create, v, 0, nullptr, o);
        }
        break;
      case 3:
        if (hsa_signal_t* o = out(s); true) {
          CALL_FOR(kSignal, s.handle, hsa_amd_signal_create, v, static_cast<uint32_t>(input_.below(2)), nullptr,
                   option<uint64_t>(3), o);
        }
        break;
      case 4:
      case 5:
        CALL(hsa_signal_destroy, one);
        break;
      case 6:
        value = hsa_signal_load_scacquire(one) ^ hsa_signal_load_relaxed(one);
        break;
      case 7:
        hsa_signal_store_screlease(one, v);
        break;
      case 8:
        hsa_signal_add_relaxed(one, v);
        hsa_signal_subtract_scacquire(one, v);
        hsa_signal_and_screlease(one, v);
        hsa_signal_or_scacq_screl(one, v);
        hsa_signal_xor_relaxed(one, v);
        break;
      case 9:
        value = hsa_signal_exchange_scacq_screl(one, v) ^ hsa_signal_cas_scacquire(one, value, v);
        break;
      case 10:
        hsa_signal_silent_store_relaxed(one, v);
        break;
      case 11:
      case 12:
        value = hsa_signal_wait_scacquire(one, conditions[0], v, timeout, option<hsa_wait_state_t>(2));
        break;
      case 13:
        (void)hsa_amd_signal_wait_any(static_cast<uint32_t>(input_.below(5)), input_.below(8) ? list : nullptr,
                                      conditions, values, timeout, HSA_WAIT_STATE_BLOCKED, out(value));
        break;
      case 14:
        (void)hsa_amd_signal_wait_all(static_cast<uint32_t>(input_.below(5)), input_.below(8) ? list : nullptr,
                                      conditions, values, timeout, HSA_WAIT_STATE_BLOCKED,
                                      input_.flag() ? values : nullptr);
        break;
      case 15:
        CALL(hsa_amd_signal_async_handler, one, conditions[0], v, input_.below(16) ? handler() : nullptr, result_);
        break;
      case 16:
        CALL(hsa_amd_async_function, input_.below(8) ? +[](void*) {} : nullptr, result_);
        break;
      case 17: {
        volatile hsa_signal_value_t* p = nullptr;
        CALL(hsa_amd_signal_value_pointer, one, out(p));
        break;
      }
      case 18:
      case 19:
        CALL_FOR(kGroup, group.handle, hsa_signal_group_create, static_cast<uint32_t>(input_.below(5)), list,
                 static_cast<uint32_t>(input_.below(2)), nullptr, &group);
        break;
      case 20:
        CALL(hsa_signal_group_destroy, {handle(kGroup)});
        break;
      case 21:  // the wait has no limit: its condition is one that holds
        for (auto& c : conditions) c = HSA_SIGNAL_CONDITION_GTE;
        for (auto& x : values) x = INT64_MIN;
        CALL(hsa_signal_group_wait_any_scacquire, {handle(kGroup)}, conditions, values, HSA_WAIT_STATE_BLOCKED, &s,
             out(value));
        break;
      case 22: {
        hsa_amd_ipc_signal_t ipc{};
        CALL(hsa_amd_ipc_signal_create, one, out(ipc));
        if (input_.below(4) == 0) reinterpret_cast<uint8_t*>(&ipc)[input_.below(sizeof ipc)] ^= 1;
        CALL_FOR(kSignal, s.handle, hsa_amd_ipc_signal_attach, &ipc, &s);
        break;
      }
      case 23: {
        hsa_amd_profiling_dispatch_time_t time{};
        CALL(hsa_amd_profiling_get_dispatch_time, agent(), one, out(time));
        break;
      }
      case 24: {
        hsa_amd_profiling_async_copy_time_t time{};
        CALL(hsa_amd_profiling_get_async_copy_time, one, out(time));
        break;
      }
      default:
        for (int i = 0; i < 4; ++i)
          if (hsa_signal_create(1, 0, nullptr, &s) == HSA_STATUS_SUCCESS) shared_.handles.add(kSignal, s.handle);
    }
    (void)value;
  }
  hsa_amd_signal_handler handler() {
    switch (input_.below(3)) {
      case 0:
        return [](hsa_signal_value_t, void*) { return false; };
      case 1:  // until the runtime ends
        return [](hsa_signal_value_t, void*) { return true; };
      default:
        return [](hsa_signal_value_t, void*) {
          hsa_signal_t s{};
          if (hsa_signal_create(0, 0, nullptr, &s) == HSA_STATUS_SUCCESS)
            check_status(hsa_signal_destroy(s), "handler");
          return false;
        };
    }
  }

  void queues() {
    hsa_queue_t* q = nullptr;
    const auto on_error = [](hsa_status_t status, hsa_queue_t* source, void* data) {
      check_status(status, "queue");
      if (data) check_status(hsa_queue_destroy(source), "hsa_queue_destroy in a callback");
    };
    uint32_t mask[64] = {};
    switch (input_.below(13)) {
      case 0:
      case 1: {
        const auto packets = input_.below(4) ? uint32_t{64} : static_cast<uint32_t>(input_.number());
        hsa_queue_t** o = out(q);
        CALL_FOR(kQueue, q, hsa_queue_create, agent(), packets, option<hsa_queue_type32_t>(3),
                 input_.flag() ? +on_error : nullptr, input_.flag() ? result_ : nullptr, 0, 0, o);
        break;
      }
      case 2:
        CALL_FOR(kQueue, q, hsa_queue_create, program_.gpu, 16, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, 0, 0, &q);
        break;
      case 3:
      case 4:
        CALL(hsa_queue_destroy, queue());
        break;
      case 5:
        CALL(hsa_queue_inactivate, queue());
        break;
      case 6:
        CALL(hsa_amd_queue_set_priority, queue(), option<hsa_amd_queue_priority_t>(3));
        break;
      case 7:
        CALL(hsa_amd_queue_cu_set_mask, queue(), static_cast<uint32_t>(input_.byte()), mask);
        break;
      case 8:
        CALL(hsa_amd_queue_cu_get_mask, queue(), static_cast<uint32_t>(input_.byte()), out(mask[0]));
        break;
      case 9:
        CALL(hsa_amd_profiling_set_profiler_enabled, queue(), input_.byte());
        break;
      case 10:
        CALL(hsa_amd_queue_get_info, queue(), option<hsa_queue_info_attribute_t>(3), result());
        break;
      case 11:  // only of one that this thread has made now: indices have no way to answer that there is no queue
        if (hsa_queue_create(program_.gpu, 16, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &q) ==
            HSA_STATUS_SUCCESS) {
          const uint64_t index = hsa_queue_add_write_index_relaxed(q, 1);
          auto* packet = reinterpret_cast<uint16_t*>(q->base_address);
          std::atomic_ref(*packet).store(static_cast<uint16_t>(input_.byte() << 8 | input_.below(6)),
                                         std::memory_order_release);
          hsa_signal_store_relaxed(q->doorbell_signal, static_cast<hsa_signal_value_t>(index));
          check_status(hsa_signal_destroy(q->doorbell_signal), "hsa_signal_destroy");
          shared_.handles.add(kQueue, reinterpret_cast<uint64_t>(q));
        }
        break;
      default:
        CALL(hsa_soft_queue_create, {pool().handle}, 64, HSA_QUEUE_TYPE_MULTI, 0, signal(), &q);
    }
  }

  void memory() {
    void* p = nullptr;
    hsa_signal_t list[2] = {signal(), signal()};
    const hsa_agent_t agents[2] = {agent(), agent()};
    uint32_t mask = 0;
    const auto dependencies = static_cast<uint32_t>(input_.below(3));
    switch (input_.below(27)) {
      case 0:
      case 1: {
        void** o = out(p);
        CALL_FOR(kMemory, p, hsa_amd_memory_pool_allocate, pool(), size(), option<uint32_t>(4), o);
        break;
      }
      case 2: {
        void** o = out(p);
        CALL_FOR(kMemory, p, hsa_memory_allocate, {pool().handle}, size(), o);
        break;
      }
      case 3:
        CALL(hsa_amd_memory_pool_free, pointer(kMemory));
        break;
      case 4:
        CALL(hsa_memory_free, pointer(kMemory));
        break;
      case 5:
        CALL(hsa_amd_memory_pool_get_info, pool(), option<hsa_amd_memory_pool_info_t>(20), result());
        break;
      case 6:
        CALL(hsa_amd_agent_memory_pool_get_info, agent(), pool(), option<hsa_amd_agent_memory_pool_info_t>(4),
             result());
        break;
      case 7:
        CALL(hsa_region_get_info, {pool().handle}, option<hsa_region_info_t>(10), result());
        break;
      case 8:
        CALL(hsa_memory_copy, bytes(), bytes(), input_.byte());
        break;
      case 9:
      case 10:
        CALL(hsa_amd_memory_async_copy, bytes(), agents[0], bytes(), agents[1], input_.byte(), dependencies,
             input_.below(8) ? list : nullptr, signal());
        break;
      case 11:
        CALL(hsa_amd_memory_async_copy_on_engine, bytes(), agents[0], bytes(), agents[1], input_.byte(), dependencies,
             list, signal(), option<hsa_amd_sdma_engine_id_t>(5), input_.flag());
        break;
      case 12: {
        const hsa_pitched_ptr_t to{bytes(), input_.byte(), input_.byte()}, from{bytes(), input_.byte(), input_.byte()};
        const hsa_dim3_t offset{input_.byte(), 1, 1}, range{input_.byte(), static_cast<uint32_t>(input_.below(4)), 2};
        CALL(hsa_amd_memory_async_copy_rect, &to, &offset, input_.below(8) ? &from : nullptr, &offset, &range, agent(),
             option<hsa_amd_copy_direction_t>(5), dependencies, list, signal());
        break;
      }
      case 13:
        CALL(hsa_amd_memory_fill, bytes() + input_.below(8), 7, input_.byte());
        break;
      case 14:
        CALL(hsa_amd_memory_copy_engine_status, agents[0], agents[1], out(mask));
        break;
      case 15:
        CALL(hsa_amd_memory_get_preferred_copy_engine, agents[0], agents[1], out(mask));
        break;
      case 16:
        CALL(hsa_amd_agents_allow_access, dependencies, agents, nullptr, pointer(kMemory));
        break;
      case 17: {
        hsa_amd_pointer_info_t info{};
        info.size = option<uint32_t>(1) ? sizeof info : static_cast<uint32_t>(input_.below(sizeof info + 1));
        uint32_t count = 0;
        hsa_agent_t* accessible = nullptr;
        CALL(hsa_amd_pointer_info, pointer(kMemory), out(info), malloc, &count, &accessible);
        std::free(accessible);
        break;
      }
      case 18:
        CALL(hsa_amd_pointer_info_set_userdata, pointer(kMemory), result_);
        break;
      case 19:
        CALL(hsa_amd_register_deallocation_callback, pointer(kMemory), [](void*, void*) {}, nullptr);
        break;
      case 20:
        CALL(hsa_amd_deregister_deallocation_callback, pointer(kMemory), [](void*, void*) {});
        break;
      case 21:
        // Moving pages of the block while copies run is what programs do; of anything else it would be theirs.
        CALL_FOR(kLocked, program_.block + 4096, hsa_amd_memory_lock_to_pool, program_.block + 4096,
                 input_.below(8) ? 8192 : input_.number(), nullptr, 0, pool(), 0, &p);
        break;
      case 22:
        CALL(hsa_amd_memory_lock, bytes(), input_.below(4) ? 64 : size(), nullptr, 0, out(p));
        break;
      case 23:
        CALL(hsa_amd_memory_unlock, input_.flag() ? program_.block + 4096 : pointer(kLocked));
        break;
      case 24: {
        hsa_amd_ipc_memory_t ipc{};
        CALL(hsa_amd_ipc_memory_create, pointer(kMemory), size(), out(ipc));
        if (input_.below(4) == 0) reinterpret_cast<uint8_t*>(&ipc)[input_.below(sizeof ipc)] ^= 1;
        CALL_FOR(kAttached, p, hsa_amd_ipc_memory_attach, &ipc, size(), 1, agents, &p);
        break;
      }
      case 25:
        CALL(hsa_amd_ipc_memory_detach, pointer(kAttached));
        break;
      default: {
        int file = -1;
        uint64_t offset = 0;
        const uint64_t memory = handle(kMemory);
        if (hsa_amd_portable_export_dmabuf(reinterpret_cast<void*>(memory + input_.below(2) * 8), size(), &file,
                                           &offset) == HSA_STATUS_SUCCESS)
          CALL(hsa_amd_portable_close_dmabuf, file);
      }
    }
  }

  void code() {
    hsa_executable_t executable{};
    hsa_code_object_reader_t reader{};
    hsa_loaded_code_object_t loaded{};
    hsa_executable_symbol_t symbol{};
    const hsa_executable_t e{handle(kExecutable)};
    switch (input_.below(17)) {
      case 0:
        CALL_FOR(kReader, reader.handle, hsa_code_object_reader_create_from_memory, program_.code.data(),
                 input_.below(4) ? program_.code.size() : input_.below(256), &reader);
        break;
      case 1: {
        // Kept for as long as the process: readers and executables refer to it.
        static const std::vector<uint8_t>& other = *new std::vector<uint8_t>(random_bytes(1, 4096));
        CALL_FOR(kReader, reader.handle, hsa_code_object_reader_create_from_memory, other.data(), other.size(),
                 &reader);
        break;
      }
      case 2:
        CALL(hsa_code_object_reader_create_from_file, -1 - input_.byte(), &reader);
        break;
      case 3:
        CALL(hsa_code_object_reader_destroy, {handle(kReader)});
        break;
      case 4: {
        hsa_executable_t* o = out(executable);
        CALL_FOR(kExecutable, executable.handle, hsa_executable_create_alt, option<hsa_profile_t>(2),
                 option<hsa_default_float_rounding_mode_t>(3), nullptr, o);
        break;
      }
      case 5:
      case 6:
        CALL_FOR(kLoaded, loaded.handle, hsa_executable_load_agent_code_object, e, agent(), {handle(kReader)}, nullptr,
                 &loaded);
        break;
      case 7:
        CALL(hsa_executable_freeze, e, nullptr);
        break;
      case 8:
        CALL(hsa_executable_destroy, e);
        break;
      case 9:
        CALL(hsa_executable_get_info, e, option<hsa_executable_info_t>(4), result());
        break;
      case 10: {
        uint32_t valid = 0;
        CALL(hsa_executable_validate, e, out(valid));
        break;
      }
      case 11: {
        const hsa_agent_t a = agent();
        CALL(hsa_executable_get_symbol_by_name, e, input_.below(8) ? "add.kd" : nullptr, input_.flag() ? &a : nullptr,
             out(symbol));
        if (shared_.one_thread)
          CALL(hsa_executable_symbol_get_info, symbol, option<hsa_executable_symbol_info_t>(30), result());
        break;
      }
      case 12: {
        const hsa_executable_symbol_t any{input_.number()};
        if (shared_.one_thread)
          CALL(hsa_executable_symbol_get_info, any, option<hsa_executable_symbol_info_t>(30), result());
        break;
      }
      case 13:
        CALL(hsa_executable_agent_global_variable_define, e, agent(), input_.below(8) ? "one" : nullptr, bytes());
        break;
      case 14:
        CALL(hsa_executable_global_variable_define, e, input_.flag() ? "two" : "one", bytes());
        break;
      case 15:
        CALL(
            hsa_executable_iterate_symbols, e,
            [](hsa_executable_t, hsa_executable_symbol_t, void*) { return HSA_STATUS_SUCCESS; }, nullptr);
        break;
      default: {
        hsa_ven_amd_loader_1_03_pfn_t table{};
        if (hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof table, &table) !=
            HSA_STATUS_SUCCESS)
          break;
        size_t count = input_.byte();
        hsa_ven_amd_loader_segment_descriptor_t descriptors[256];
        CALL(table.hsa_ven_amd_loader_loaded_code_object_get_info, {handle(kLoaded)},
             option<hsa_ven_amd_loader_loaded_code_object_info_t>(14), result());
        CALL(table.hsa_ven_amd_loader_query_segment_descriptors, input_.flag() ? descriptors : nullptr, &count);
        CALL(table.hsa_ven_amd_loader_query_executable, bytes(), out(executable));
        CALL(
            table.hsa_ven_amd_loader_executable_iterate_loaded_code_objects, e,
            [](hsa_executable_t, hsa_loaded_code_object_t, void*) { return HSA_STATUS_SUCCESS; }, nullptr);
      }
    }
  }

  void virtual_memory() {
    void* address = nullptr;
    hsa_amd_vmem_alloc_handle_t memory{handle(kVirtual)};
    const hsa_amd_memory_access_desc_t rights[2] = {{option<hsa_access_permission_t>(4), agent()},
                                                    {option<hsa_access_permission_t>(4), agent()}};
    hsa_access_permission_t permission{};
    switch (input_.below(13)) {
      case 0:
      case 1:
        // Fixed addresses only where nothing is.
        CALL_FOR(kReserved, address, hsa_amd_vmem_address_reserve_align, &address,
                 4096 * (size() % 64) + input_.below(2), 0, input_.below(8) ? 0 : input_.number(), option<uint64_t>(2));
        break;
      case 2:
        CALL(hsa_amd_vmem_address_free, pointer(kReserved), 4096 * (size() % 64));
        break;
      case 3:
      case 4:
        CALL_FOR(kVirtual, memory.handle, hsa_amd_vmem_handle_create, pool(),
                 4096 * (size() % 64) + (input_.below(16) == 0), option<hsa_amd_memory_type_t>(2), 0, &memory);
        break;
      case 5:
        CALL(hsa_amd_vmem_handle_release, memory);
        break;
      case 6:
      case 7: {
        void* const at = pointer(kReserved);
        CALL_FOR(kMapped, at, hsa_amd_vmem_map, at, 4096 * (size() % 64), input_.below(4) ? 0 : input_.number(), memory,
                 0);
        break;
      }
      case 8:
        CALL(hsa_amd_vmem_unmap, pointer(kMapped), 4096 * (size() % 64));
        break;
      case 9:
        CALL(hsa_amd_vmem_set_access, pointer(kMapped), size(), rights, input_.below(3));
        break;
      case 10:
        CALL(hsa_amd_vmem_get_access, pointer(kMapped), out(permission), agent());
        break;
      case 11: {
        int file = -1;
        if (hsa_amd_vmem_export_shareable_handle(&file, memory, 0) == HSA_STATUS_SUCCESS) {
          CALL_FOR(kVirtual, memory.handle, hsa_amd_vmem_import_shareable_handle, file, &memory);
          CALL(hsa_amd_portable_close_dmabuf, file);
        }
        break;
      }
      default:
        CALL_FOR(kVirtual, memory.handle, hsa_amd_vmem_retain_alloc_handle, &memory, pointer(kMapped));
    }
  }

  void others() {
    const hsa_ext_image_format_t format{option<hsa_ext_image_channel_type32_t>(16),
                                        option<hsa_ext_image_channel_order32_t>(20)};
    // Larger ones than the block are never read or written: regions may lie anywhere in them.
    const hsa_ext_image_descriptor_t descriptor{option<hsa_ext_image_geometry_t>(8),
                                                input_.below(16) ? input_.below(16) : input_.number(),
                                                input_.below(16) ? input_.below(16) : input_.number(),
                                                input_.below(16) ? input_.below(4) : input_.number(),
                                                input_.below(16) ? input_.below(4) : input_.number(),
                                                format};
    const bool small =
        descriptor.width < 16 && descriptor.height < 16 && descriptor.depth < 4 && descriptor.array_size < 4;
    const hsa_ext_image_region_t region{
        {static_cast<uint32_t>(input_.below(4)), option<uint32_t>(4), option<uint32_t>(4)},
        {option<uint32_t>(16), option<uint32_t>(16), option<uint32_t>(4)}};
    const hsa_dim3_t offset{option<uint32_t>(4), option<uint32_t>(4), option<uint32_t>(4)};
    const hsa_ext_image_t image{handle(kImage)};
    uint32_t mask = 0;
    switch (input_.below(24)) {
      case 0:
        CALL(hsa_init);
        break;
      case 1:
        if (input_.below(4) == 0) CALL(hsa_shut_down);
        break;
      case 2:
        CALL(hsa_agent_get_info, agent(),
             static_cast<hsa_agent_info_t>(input_.flag() ? input_.byte() : 0xA000 + input_.byte()), result());
        break;
      case 3:
        CALL(hsa_agent_get_info, agent(), static_cast<hsa_agent_info_t>(0x3000 + input_.below(32)), result());
        break;
      case 4:
        CALL(hsa_system_get_info, static_cast<hsa_system_info_t>(input_.flag() ? input_.byte() : 0x200 + input_.byte()),
             result());
        break;
      case 5:
        CALL(hsa_isa_get_info_alt, {agent().handle}, option<hsa_isa_info_t>(24), result());
        break;
      case 6: {
        hsa_isa_t isa{};
        CALL(hsa_isa_from_name,
             input_.below(8) ? "amdgcn-amd-amdhsa--gfx906"
             : input_.flag() ? "gfx"
                             : nullptr,
             out(isa));
        break;
      }
      case 7: {
        bool compatible = false;
        CALL(hsa_isa_compatible, {agent().handle}, {agent().handle}, out(compatible));
        break;
      }
      case 8:
        CALL(hsa_agent_iterate_isas, agent(), [](hsa_isa_t, void*) { return HSA_STATUS_SUCCESS; }, nullptr);
        CALL(hsa_agent_iterate_caches, agent(), [](hsa_cache_t, void*) { return HSA_STATUS_INFO_BREAK; }, nullptr);
        break;
      case 9:
        CALL(hsa_cache_get_info, {handle(kSignal)}, option<hsa_cache_info_t>(4), result());
        break;
      case 10: {
        bool yes = false;
        uint16_t minor = 0;
        CALL(hsa_system_major_extension_supported, option<uint16_t>(4), option<uint16_t>(2), &minor, out(yes));
        CALL(hsa_agent_extension_supported, option<uint16_t>(4), agent(), 1, 0, out(yes));
        break;
      }
      case 11:
        CALL(hsa_system_get_major_extension_table, option<uint16_t>(4), option<uint16_t>(2), input_.byte(), result());
        break;
      case 12:
      case 13: {
        // What a small image holds fits in the block, and its pitches are chosen.
        hsa_ext_image_t made{};
        if (small)
          CALL_FOR(kImage, made.handle, hsa_ext_image_create, agent(), &descriptor,
                   input_.below(8) ? program_.block : program_.block + 8, option<hsa_access_permission_t>(4), &made);
        else
          CALL(hsa_ext_image_data_get_info, agent(), &descriptor, HSA_ACCESS_PERMISSION_RW,
               static_cast<hsa_ext_image_data_info_t*>(result()));
        break;
      }
      case 14:
        CALL(hsa_ext_image_destroy, agent(), image);
        break;
      case 15:
        CALL(hsa_ext_image_import, agent(), program_.block, 0, 0, image, &region);
        break;
      case 16:
        CALL(hsa_ext_image_export, agent(), image, program_.block + HsaProgram::kBlock / 2, 0, 0,
             input_.below(8) ? &region : nullptr);
        break;
      case 17:
        CALL(hsa_ext_image_copy, agent(), image, &offset, {handle(kImage)}, &region.offset, &region.range);
        break;
      case 18:
        CALL(hsa_ext_image_clear, agent(), image, result_, &region);
        break;
      case 19: {
        const hsa_ext_sampler_descriptor_t d{option<hsa_ext_sampler_coordinate_mode_t>(2),
                                             option<hsa_ext_sampler_filter_mode_t>(2),
                                             option<hsa_ext_sampler_addressing_mode_t>(5)};
        hsa_ext_sampler_t sampler{};
        CALL_FOR(kSampler, sampler.handle, hsa_ext_sampler_create, agent(), input_.below(8) ? &d : nullptr, &sampler);
        break;
      }
      case 20:
        CALL(hsa_ext_sampler_destroy, agent(), {handle(kSampler)});
        break;
      case 21:
        CALL(hsa_ext_image_get_capability, agent(), option<hsa_ext_image_geometry_t>(8), &format, out(mask));
        break;
      case 22: {
        hsa_amd_svm_attribute_pair_t list[2] = {{input_.byte(), 0}, {input_.byte(), 0}};
        CALL(hsa_amd_svm_attributes_get, bytes(), input_.byte(), input_.below(8) ? list : nullptr, input_.below(3));
        CALL(hsa_amd_svm_prefetch_async, bytes(), input_.byte(), agent(), 0, nullptr, signal());
        break;
      }
      default: {
        const char* text = nullptr;
        CALL(hsa_status_string, static_cast<hsa_status_t>(input_.number()), out(text));
        CALL(hsa_extension_get_name, option<uint16_t>(4), out(text));
      }
    }
  }

  Shared& shared_;
  const HsaProgram& program_;
  Input input_;
  alignas(64) uint8_t result_[4096] = {};
};

// Nothing of the sequence stays.
void clean_up(Handles& handles) {
  while (hsa_shut_down() == HSA_STATUS_SUCCESS) {
  }
  check_status(hsa_init(), "hsa_init");
  for (const uint64_t q : handles.take(kQueue))
    check_status(hsa_queue_destroy(reinterpret_cast<hsa_queue_t*>(q)), "end");
  for (const uint64_t g : handles.take(kGroup)) check_status(hsa_signal_group_destroy({g}), "end");
  for (const uint64_t s : handles.take(kSignal)) check_status(hsa_signal_destroy({s}), "end");
  for (const uint64_t e : handles.take(kExecutable)) check_status(hsa_executable_destroy({e}), "end");
  for (const uint64_t r : handles.take(kReader)) check_status(hsa_code_object_reader_destroy({r}), "end");
  for (const uint64_t i : handles.take(kImage)) check_status(hsa_ext_image_destroy(hsa_program().gpu, {i}), "end");
  for (const uint64_t s : handles.take(kSampler)) check_status(hsa_ext_sampler_destroy(hsa_program().gpu, {s}), "end");
  for (const uint64_t m : handles.take(kMemory)) check_status(hsa_memory_free(reinterpret_cast<void*>(m)), "end");
  for (const uint64_t m : handles.take(kAttached))
    check_status(hsa_amd_ipc_memory_detach(reinterpret_cast<void*>(m)), "end");
  for (const uint64_t m : handles.take(kLocked)) check_status(hsa_amd_memory_unlock(reinterpret_cast<void*>(m)), "end");
  for (const uint64_t m : handles.take(kMapped))
    for (size_t pages = 1; pages < 64; ++pages)
      if (hsa_amd_vmem_unmap(reinterpret_cast<void*>(m), 4096 * pages) != HSA_STATUS_ERROR_INVALID_ARGUMENT) break;
  for (const uint64_t r : handles.take(kReserved))
    for (size_t bytes = 4096; bytes < 64 * 4096; bytes += 4096)
      if (hsa_amd_vmem_address_free(reinterpret_cast<void*>(r), bytes) != HSA_STATUS_ERROR_INVALID_ARGUMENT ||
          hsa_amd_vmem_address_free(reinterpret_cast<void*>(r), bytes + 1) != HSA_STATUS_ERROR_INVALID_ARGUMENT)
        break;
  for (const uint64_t v : handles.take(kVirtual)) check_status(hsa_amd_vmem_handle_release({v}), "end");
  check_status(hsa_shut_down(), "hsa_shut_down");
}

}  // namespace

void call_hsa(std::span<const uint8_t> bytes) {
  Input input(bytes);
  setenv("WAVEJIT_ON_FAULT", "error", 1);  // what a kernel does there is part of the game
  check_status(hsa_init(), "hsa_init");
  Shared shared{.handles = {}, .program = hsa_program()};
  const size_t threads = 1 + input.below(3);
  shared.one_thread = threads == 1;
  const size_t each = input.size() / threads;
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i)
    others.emplace_back([&shared, part = input.part(each)] { Caller(shared, part).run(); });
  Caller(shared, input).run();
  for (std::thread& thread : others) thread.join();
  clean_up(shared.handles);
}

}  // namespace wavejit::hostile
