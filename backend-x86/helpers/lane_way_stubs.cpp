#include "backend-x86/helpers/lane_way_stubs.h"

#include <time.h>
#include <x86intrin.h>

#include "backend-x86/encode/saved_registers.h"
#include "internal/lane_way.h"

extern "C" {
[[gnu::visibility("hidden"), gnu::used]] void wavejit_begin_timed(wavejit::LaneTiming* timing);
[[gnu::visibility("hidden"), gnu::used]] void wavejit_end_timed(wavejit::LaneTiming* timing);
}

namespace wavejit::backend {
namespace {

__attribute__((naked)) void begin_avx512() {
  __asm__(KEEPING_STUB("wavejit_begin_timed", SAVE_AVX512, LOAD_AVX512)::);
}
__attribute__((naked)) void begin_avx2() {
  __asm__(KEEPING_STUB("wavejit_begin_timed", SAVE_AVX2, LOAD_AVX2)::);
}
__attribute__((naked)) void end_avx512() {
  __asm__(KEEPING_STUB("wavejit_end_timed", SAVE_AVX512, LOAD_AVX512)::);
}
__attribute__((naked)) void end_avx2() {
  __asm__(KEEPING_STUB("wavejit_end_timed", SAVE_AVX2, LOAD_AVX2)::);
}

}  // namespace

uintptr_t lane_way_stub(Tier tier, bool begins) {
  if (tier == Tier::avx512) return reinterpret_cast<uintptr_t>(begins ? &begin_avx512 : &end_avx512);
  return reinterpret_cast<uintptr_t>(begins ? &begin_avx2 : &end_avx2);
}

}  // namespace wavejit::backend

namespace {

uint64_t nanoseconds(clockid_t clock) {
  timespec time{};
  (void)clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

wavejit::ThreadTime thread_time() {
  return {.wall = nanoseconds(CLOCK_MONOTONIC), .thread = nanoseconds(CLOCK_THREAD_CPUTIME_ID)};
}

}  // namespace

void wavejit_begin_timed(wavejit::LaneTiming* timing) {
  timing->began = may_be_interrupted(*timing->way) ? thread_time() : wavejit::ThreadTime{};
  wavejit::begin_timed(*timing, __rdtsc());
}
void wavejit_end_timed(wavejit::LaneTiming* timing) {
  uint64_t now = __rdtsc();
  if (timing->began.wall != 0)
    now = timing->start + without_interruptions(now - timing->start, timing->began, thread_time());
  wavejit::end_timed(*timing, now);
}
