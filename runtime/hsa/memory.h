// Memory of agents. Guest addresses are host addresses, and every agent can access all of the process's memory, so
// allocations are the host's; what is kept here is what the API can be asked about them.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/hsa/agent.h"

namespace wavejit::hsa {

struct Signal;

struct Allocation {
  uint64_t address = 0;
  size_t bytes = 0;         // as asked for
  size_t mapped_bytes = 0;  // whole pages
  hsa_amd_pointer_type_t type = HSA_EXT_POINTER_TYPE_HSA;
  const Pool* pool = nullptr;  // null for locked host memory
  void* user_data = nullptr;
  unsigned locks = 0;            // of locked host memory
  uint64_t alias = 0;            // its address for agents, where it is another one (alias.h)
  int shared_file = -1;          // of memory that other processes may attach
  std::vector<Agent*> agents{};  // that may access it, as hsa_amd_pointer_info tells

  struct Callback {
    hsa_amd_deallocation_callback_t function;
    void* user_data;
  };
  std::vector<Callback> on_free{};
};

[[nodiscard]] hsa_status_t allocate(const Pool& pool, size_t bytes, void** out);
[[nodiscard]] hsa_status_t release(void* pointer);
// The allocation or mapping (virtual_memory.h) that holds `address`.
[[nodiscard]] std::optional<Allocation> find_allocation(uint64_t address);

// True if a part of [begin, end) is an allocation of a pool.
[[nodiscard]] bool holds_pool_memory(uint64_t begin, uint64_t end);

// Makes an allocation one that other processes can map, from the file that is returned (of this process; -1: there is
// no such allocation, or no memory). Its contents stay.
[[nodiscard]] int share(void* pointer, size_t bytes);
// Memory of another process: the file `file` of process `pid`.
[[nodiscard]] hsa_status_t attach(int pid, int file, size_t bytes, void** out);
[[nodiscard]] hsa_status_t detach(void* pointer);

// memcpy of ranges that may overlap; a fault of the host's own is left to it.
void copy_bytes(void* to, const void* from, size_t bytes);

// If a copy that has not begun completes the signal, waits for what it waits for, and does it unless another one has to
// be done first.
void do_copy_for(const Signal& completion);

// Ends the threads that copy. Copies that have not begun are dropped.
void stop_copies();

}  // namespace wavejit::hsa
