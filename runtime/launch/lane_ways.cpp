#include "runtime/launch/lane_ways.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>

#include "internal/lane_streams.h"
#include "runtime/translate/lane_choice.h"

namespace wavejit::runtime {

namespace {

// Kernels may run on a thread after its objects are gone (at the end of a process): these two are still there then.
thread_local LaneWays* thread_table = nullptr;
thread_local bool thread_ends = false;

void release(void* table) {
  auto* const ways = static_cast<LaneWays*>(table);
  if (ways->buffers != nullptr) munmap(ways->buffers, kStreamBufferBytes);
  delete ways;
  thread_table = nullptr;
  thread_ends = true;
}

// A key: destructors of thread_local objects end the process where there is no memory to note them. The library is never unloaded.
std::optional<pthread_key_t> table_key() {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made = 0;
    return pthread_key_create(&made, release) == 0 ? std::optional(made) : std::nullopt;
  }();
  return key;
}

// Not thread_local: a library that is loaded late gets little static thread-local storage. Null if there is no memory.
LaneWays* make_table() {
  const std::optional<pthread_key_t> key = table_key();
  auto* const table = new (std::nothrow) LaneWays;
  if (!key || table == nullptr || pthread_setspecific(*key, table) != 0) {
    delete table;
    return nullptr;
  }
  // The host has pages for what is used of it.
  void* const buffers =
      mmap(nullptr, kStreamBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (buffers != MAP_FAILED) table->buffers = static_cast<std::byte*>(buffers);
  return table;
}

}  // namespace

uint64_t lane_ways_of_thread() {
  if (lane_choice() == LaneChoice::never || thread_ends) return 0;
  if (thread_table == nullptr) thread_table = make_table();
  if (thread_table == nullptr) return 0;
  LaneWays& table = *thread_table;
  if (lane_choice() == LaneChoice::always) {
    for (LaneWay& way : table.records) way.fixed = way.lanes = 1;
  } else if (table.records[0].fixed != 0) {  // by a schedule that was drawn
    std::ranges::fill(table.records, LaneWay{});
  }
  return reinterpret_cast<uint64_t>(&table);
}

void draw_lane_ways(uint64_t table, Draw& draw) {
  if (table == 0 || lane_choice() == LaneChoice::always) return;
  for (LaneWay& way : reinterpret_cast<LaneWays*>(table)->records) {
    way.fixed = 1;
    way.lanes = draw.below(2);
  }
}

}  // namespace wavejit::runtime
