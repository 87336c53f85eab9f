#include "runtime/memory/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <mutex>
#include <new>
#include <vector>

#include "backend-x86/compiler.h"
#include "internal/pages.h"

namespace wavejit::runtime {
namespace {

constexpr uint64_t kLdsGuard = (uint64_t{4} << 30) + 64 * 1024;  // its first page is the slack behind the LDS
static_assert(backend::kLdsSlack <= kPage);

void* reserve(uint64_t bytes, int protection) {
  void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

tl::unexpected<Error> no_memory(const char* what, uint64_t bytes) {
  return make_error(ErrorCode::kOutOfMemory, fmt::format("Cannot map {} bytes of host memory for {}.", bytes, what));
}

constexpr size_t kMaxFree = 256;

struct FreeList {
  std::mutex mutex;
  std::vector<std::unique_ptr<Arena>> arenas;
};

FreeList& free_list() {
  static FreeList& list = *new FreeList;  // never destroyed: worker threads may outlive static destruction
  return list;
}

}  // namespace

Arena::~Arena() {
  if (waves_) munmap(waves_, wave_capacity_ * sizeof(WaveState));
  if (lds_mapping_) munmap(reinterpret_cast<void*>(lds_mapping_), kMaxLdsBytes + kLdsGuard);
  if (scratch_base_) munmap(reinterpret_cast<void*>(scratch_base_), scratch_bytes());
}

Expected<void> Arena::prepare(unsigned waves, uint32_t lds_bytes, uint32_t scratch_bytes_per_lane) {
  static_assert(sizeof(WaveState) % 64 == 0);
  if (waves > wave_capacity_) {
    if (waves_) munmap(waves_, wave_capacity_ * sizeof(WaveState));
    wave_capacity_ = 0;
    waves_ = static_cast<WaveState*>(reserve(waves * sizeof(WaveState), PROT_READ | PROT_WRITE));
    if (!waves_) return no_memory("wave states", waves * sizeof(WaveState));
    wave_capacity_ = waves;
  }

  if (!lds_mapping_) {
    void* memory = reserve(kMaxLdsBytes + kLdsGuard, PROT_NONE);
    if (!memory) return no_memory("local memory", kMaxLdsBytes + kLdsGuard);
    if (mprotect(memory, kMaxLdsBytes + kPage, PROT_READ | PROT_WRITE) != 0) {
      munmap(memory, kMaxLdsBytes + kLdsGuard);
      return no_memory("local memory", kMaxLdsBytes);
    }
    lds_mapping_ = reinterpret_cast<uint64_t>(memory);
  }
  lds_size_ = static_cast<uint32_t>(round_up(lds_bytes, kLdsGranularity));
  lds_base_ = lds_mapping_ + kMaxLdsBytes - lds_size_;

  if (scratch_bytes_per_lane != scratch_bytes_per_lane_ || waves > scratch_waves_) {
    if (scratch_base_) munmap(reinterpret_cast<void*>(scratch_base_), scratch_bytes());
    scratch_base_ = 0;
    scratch_waves_ = 0;
    scratch_bytes_per_lane_ = 0;
    scratch_stride_ = 0;
    if (scratch_bytes_per_lane) {
      const uint64_t used = round_up(uint64_t{scratch_bytes_per_lane} * kWaveSize, kPage);
      const uint64_t stride = used + kPage;
      void* memory = reserve(stride * waves, PROT_READ | PROT_WRITE);
      if (!memory) return no_memory("scratch", stride * waves);
      for (unsigned i = 0; i < waves; ++i)
        if (mprotect(static_cast<uint8_t*>(memory) + i * stride + used, kPage, PROT_NONE) != 0) {
          munmap(memory, stride * waves);
          return no_memory("scratch guard pages", kPage);
        }
      scratch_base_ = reinterpret_cast<uint64_t>(memory);
      scratch_stride_ = stride;
      scratch_waves_ = waves;
      scratch_bytes_per_lane_ = scratch_bytes_per_lane;
    }
  }
  return {};
}

std::unique_ptr<Arena> acquire_arena() {
  FreeList& list = free_list();
  const std::lock_guard lock(list.mutex);
  if (list.arenas.empty()) return std::make_unique<Arena>();
  std::unique_ptr<Arena> arena = std::move(list.arenas.back());
  list.arenas.pop_back();
  return arena;
}

std::unique_lock<std::mutex> lock_arenas() {
  return std::unique_lock(free_list().mutex);
}

void release_arena(std::unique_ptr<Arena> arena) {
  FreeList& list = free_list();
  const std::lock_guard lock(list.mutex);
  if (!arena || list.arenas.size() >= kMaxFree) return;
  try {
    list.arenas.push_back(std::move(arena));
  } catch (const std::bad_alloc&) {
    // It is given back to the system.
  }
}

}  // namespace wavejit::runtime
