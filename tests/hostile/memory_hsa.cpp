// A program of the HSA library while memory runs out: calls answer HSA_STATUS_ERROR_OUT_OF_RESOURCES, or the queue has that
// error, and the next attempt is right.
//   memory_hsa one|all|limits
#include <atomic>
#include <cstring>

#include "failing_memory.h"
#include "hsa_program.h"

namespace {

using wavejit::hostile::hsa_program;
using wavejit::hostile::HsaProgram;

// Everything that has been made, in the order in which it has to go.
struct Objects {
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{};
  hsa_executable_t executable{};
  hsa_code_object_reader_t reader{};
  void* memory = nullptr;
  ~Objects() {
    if (queue) (void)hsa_queue_destroy(queue);
    if (done.handle != 0) (void)hsa_signal_destroy(done);
    if (executable.handle != 0) (void)hsa_executable_destroy(executable);
    if (reader.handle != 0) (void)hsa_code_object_reader_destroy(reader);
    if (memory) (void)hsa_amd_memory_pool_free(memory);
  }
};

std::atomic<int> g_queue_error{HSA_STATUS_SUCCESS};

hsa_status_t dispatch(Objects& o) {
  const HsaProgram& program = hsa_program();
  hsa_status_t status = HSA_STATUS_SUCCESS;
#define TRY(call) \
  if ((status = (call)) != HSA_STATUS_SUCCESS) return status
  TRY(hsa_code_object_reader_create_from_memory(program.code.data(), program.code.size(), &o.reader));
  TRY(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &o.executable));
  TRY(hsa_executable_load_agent_code_object(o.executable, program.gpu, o.reader, nullptr, nullptr));
  TRY(hsa_executable_freeze(o.executable, nullptr));
  hsa_executable_symbol_t symbol{};
  TRY(hsa_executable_get_symbol_by_name(o.executable, "add.kd", &program.gpu, &symbol));
  uint64_t object = 0;
  TRY(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
  for (const hsa_amd_memory_pool_t pool : program.pools)
    if (!o.memory) {
      bool allowed = false;
      TRY(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed));
      if (allowed) TRY(hsa_amd_memory_pool_allocate(pool, 8192, 0, &o.memory));
    }
  TRY(hsa_signal_create(1, 0, nullptr, &o.done));
  g_queue_error = HSA_STATUS_SUCCESS;
  TRY(hsa_queue_create(
      program.gpu, 64, HSA_QUEUE_TYPE_MULTI, [](hsa_status_t error, hsa_queue_t*, void*) { g_queue_error = error; },
      nullptr, 0, 0, &o.queue));
  auto* words = static_cast<uint32_t*>(o.memory);
  std::memset(words, 0, 8192);
  auto* arguments = reinterpret_cast<uint64_t*>(words + 1024);
  arguments[0] = reinterpret_cast<uint64_t>(words);
  arguments[1] = 7;
  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = 1;
  packet.workgroup_size_x = 64;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = 1024;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = object;
  packet.kernarg_address = arguments;
  packet.completion_signal = o.done;
  auto* slot = static_cast<uint8_t*>(o.queue->base_address);
  std::memcpy(slot + 2, reinterpret_cast<const uint8_t*>(&packet) + 2, 62);
  std::atomic_ref(*reinterpret_cast<uint16_t*>(slot)).store(HSA_PACKET_TYPE_KERNEL_DISPATCH, std::memory_order_release);
  (void)hsa_queue_add_write_index_scacq_screl(o.queue, 1);
  hsa_signal_store_screlease(o.queue->doorbell_signal, 0);
  while (hsa_signal_wait_scacquire(o.done, HSA_SIGNAL_CONDITION_EQ, 0, 1'000'000, HSA_WAIT_STATE_BLOCKED) != 0)
    if (g_queue_error != HSA_STATUS_SUCCESS) return static_cast<hsa_status_t>(g_queue_error.load());
  for (int i = 0; i < 1024; ++i)
    if (words[i] != 7) {
      std::fprintf(stderr, "a wrong result\n");
      std::exit(1);
    }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t attempt() {
  hsa_status_t status = hsa_init();
  if (status != HSA_STATUS_SUCCESS) return status;
  {
    Objects objects;
    status = dispatch(objects);
  }
  const hsa_status_t closed = hsa_shut_down();
  return status != HSA_STATUS_SUCCESS ? status : closed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (hsa_init() != HSA_STATUS_SUCCESS) return 1;
  (void)hsa_program();
  if (hsa_shut_down() != HSA_STATUS_SUCCESS) return 1;
  const auto run = [](bool may_fail) {
    const hsa_status_t status = attempt();
    if (status == HSA_STATUS_SUCCESS) return true;
    if (may_fail && status == HSA_STATUS_ERROR_OUT_OF_RESOURCES) return false;
    wavejit::hostile::fail_allocation(0);
    std::fprintf(stderr, "%sstatus %#x\n", may_fail ? "" : "afterwards: ", static_cast<unsigned>(status));
    std::exit(1);
  };
  return wavejit::hostile::with_failing_memory(argv, [&] { return run(true); }, [&] { run(false); });
}
