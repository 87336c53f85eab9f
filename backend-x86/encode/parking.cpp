#include "backend-x86/encode/parking.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "backend-x86/encode/saved_registers.h"
#include "internal/check.h"

// The frame of the code: from `sp`, where the stub has pushed the general registers, to where the code was entered.
extern "C" [[gnu::visibility("hidden"), gnu::used]] void wavejit_park(wavejit::WaveState* wave,
                                                                      const std::byte* vectors, const std::byte* sp);

namespace wavejit::backend {
namespace {

constexpr int kGeneral = 15;
static_assert(static_cast<uint32_t>(ExitReason::kYield) == 2);

// What the stubs leave on the stack: vector registers, masks, MXCSR and four bytes of zeros.
constexpr size_t kAvx512Bytes = 32 * 64 + 8 * 8 + 8, kAvx2Bytes = 16 * 32 + 8;

// The offsets of WaveState's fields, for assembly.
constexpr int kRunnerStack = offsetof(WaveState, runner_stack), kParked = offsetof(WaveState, parked_waves);

#define POP_GENERAL                                                                               \
  "pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%r11\n pop %%r10\n pop %%r9\n pop %%r8\n" \
  "pop %%rdi\n pop %%rsi\n pop %%rbp\n pop %%rbx\n pop %%rdx\n pop %%rcx\n pop %%rax\n"

// On entry the stack holds the return address and the wave's.
#define POLL(save, mxcsr)                                                                                              \
  "push %%rax\n push %%rcx\n push %%rdx\n push %%rbx\n push %%rbp\n push %%rsi\n push %%rdi\n push %%r8\n push %%r9\n" \
  "push %%r10\n push %%r11\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"                                      \
  "mov 128(%%rsp), %%rdi\n"                                                                                            \
  "cmpq $0, %c0(%%rdi)\n"                                                                                              \
  "je 1f\n"                                                                                                            \
  "mov %%rsp, %%rbp\n"                                                                                                 \
  "sub $2176, %%rsp\n"                                                                                                 \
  "and $-64, %%rsp\n" save "stmxcsr " mxcsr                                                                            \
  "(%%rsp)\n"                                                                                                          \
  "movl $0, 4+" mxcsr                                                                                                  \
  "(%%rsp)\n"                                                                                                          \
  "mov %%rsp, %%rsi\n"                                                                                                 \
  "mov %%rbp, %%rdx\n"                                                                                                 \
  "vzeroupper\n"                                                                                                       \
  "call wavejit_park\n"                                                                                                \
  "mov %%rbp, %%rsp\n" POP_GENERAL                                                                                     \
  "stc\n"                                                                                                              \
  "ret $8\n"                                                                                                           \
  "1:\n" POP_GENERAL                                                                                                   \
  "clc\n"                                                                                                              \
  "ret $8"

// Arguments: the wave's state, its vector registers, its frame, the bytes of that. The frame's last word, the address where
// the code returns to, becomes 1f.
#define GO_ON(load, mxcsr)                                                        \
  "push %%rbp\n push %%rbx\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n" \
  "mov %%rsp, %%rax\n"                                                            \
  "sub $64, %%rsp\n"                                                              \
  "and $-64, %%rsp\n"                                                             \
  "mov %%rax, (%%rsp)\n"                                                          \
  "mov %%rsp, %c0(%%rdi)\n"                                                       \
  "mov %%rsp, %%rax\n"                                                            \
  "sub %%rcx, %%rsp\n"                                                            \
  "mov %%rsi, %%r8\n"                                                             \
  "mov %%rdx, %%rsi\n"                                                            \
  "mov %%rsp, %%rdi\n"                                                            \
  "shr $3, %%rcx\n"                                                               \
  "rep movsq\n"                                                                   \
  "lea 1f(%%rip), %%rdx\n"                                                        \
  "mov %%rdx, -8(%%rax)\n" load "ldmxcsr " mxcsr "(%%r8)\n" POP_GENERAL           \
  "clc\n"                                                                         \
  "ret $8\n"                                                                      \
  "1:\n"                                                                          \
  "vzeroupper\n"                                                                  \
  "mov (%%rsp), %%rsp\n"                                                          \
  "pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%rbx\n pop %%rbp\n"       \
  "ret"

__attribute__((naked)) void poll_avx512() {
  __asm__(POLL(SAVE_AVX512, "2112")::"i"(kParked));
}
__attribute__((naked)) void poll_avx2() {
  __asm__(POLL(SAVE_AVX2, "512")::"i"(kParked));
}
__attribute__((naked)) uint32_t go_on_avx512(WaveState*, const std::byte*, const std::byte*, size_t) {
  __asm__(GO_ON(LOAD_AVX512, "2112")::"i"(kRunnerStack));
}
__attribute__((naked)) uint32_t go_on_avx2(WaveState*, const std::byte*, const std::byte*, size_t) {
  __asm__(GO_ON(LOAD_AVX2, "512")::"i"(kRunnerStack));
}

bool has_avx512() {
  static const bool has = host_supports(Tier::avx512);
  return has;
}

size_t vector_bytes() {
  return has_avx512() ? kAvx512Bytes : kAvx2Bytes;
}

}  // namespace

std::span<const std::byte> ParkedWave::registers() const {
  return {memory_.get(), vector_bytes() + kGeneral * sizeof(uint64_t)};
}

bool ParkedWave::reserve(size_t bytes) {
  if (bytes <= capacity_) return true;
  memory_.reset(new (std::nothrow) std::byte[bytes]);
  capacity_ = memory_ ? bytes : 0;
  return memory_ != nullptr;
}

void ParkedWave::park(std::span<const std::byte> vectors, std::span<const std::byte> frame) {
  state_ = reserve(vectors.size() + frame.size()) ? State::parked : State::no_memory;
  if (state_ != State::parked) return;
  std::copy(frame.begin(), frame.end(), std::copy(vectors.begin(), vectors.end(), memory_.get()));
  frame_bytes_ = frame.size();
}

ExitReason ParkedWave::go_on(WaveState& wave) {
  WAVEJIT_CHECK(state_ == State::parked, "a wave that is not parked");
  state_ = State::none;
  const std::byte* frame = memory_.get() + vector_bytes();
  return static_cast<ExitReason>((has_avx512() ? go_on_avx512 : go_on_avx2)(&wave, memory_.get(), frame, frame_bytes_));
}

uintptr_t poll_stub() {
  return reinterpret_cast<uintptr_t>(has_avx512() ? &poll_avx512 : &poll_avx2);
}

}  // namespace wavejit::backend

void wavejit_park(wavejit::WaveState* wave, const std::byte* vectors, const std::byte* sp) {
  using namespace wavejit::backend;
  auto* waves = reinterpret_cast<ParkedWave*>(wave->parked_waves);
  waves[wave->wave_in_group].park({vectors, vector_bytes()},
                                  {sp, reinterpret_cast<const std::byte*>(wave->runner_stack)});
}
