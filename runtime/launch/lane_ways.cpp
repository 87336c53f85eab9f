#include "runtime/launch/lane_ways.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "internal/lane_streams.h"
#include "runtime/translate/lane_choice.h"

namespace wavejit::runtime {

namespace {

// Kernels may run on a thread after its objects are gone (at the end of a process): these two are still there then.
thread_local LaneWays* thread_table = nullptr;
thread_local bool thread_ends = false;

// Outside of the thread's own storage: a library that is loaded late has little of it.
struct TableOwner {
  TableOwner() {
    thread_table = new LaneWays;
    // The host has pages for what is used of it.
    void* const buffers =
        mmap(nullptr, kStreamBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (buffers != MAP_FAILED) thread_table->buffers = static_cast<std::byte*>(buffers);
  }
  ~TableOwner() {
    if (thread_table->buffers != nullptr) munmap(thread_table->buffers, kStreamBufferBytes);
    delete std::exchange(thread_table, nullptr);
    thread_ends = true;
  }
  TableOwner(const TableOwner&) = delete;
  TableOwner& operator=(const TableOwner&) = delete;
};

}  // namespace

uint64_t lane_ways_of_thread() {
  if (lane_choice() == LaneChoice::never || thread_ends) return 0;
  thread_local const TableOwner owner;
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
