#include "backend-x86/helpers/lane_way_stubs.h"

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

void wavejit_begin_timed(wavejit::LaneTiming* timing) {
  wavejit::begin_timed(*timing, __rdtsc());
}
void wavejit_end_timed(wavejit::LaneTiming* timing) {
  wavejit::end_timed(*timing, __rdtsc());
}
