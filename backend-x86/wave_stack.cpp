#include "backend-x86/wave_stack.h"

#include <sys/mman.h>

#include "internal/check.h"

namespace wavejit::backend {
namespace {

// Frames of translated code take some tens of kilobytes at most, the helpers it calls less.
constexpr size_t kStackBytes = 512 * 1024;
constexpr size_t kGuardBytes = 4096;

// What is left on the stack of a parked wave, from WaveState::parked_stack on.
struct alignas(64) Parked {
  uint64_t vectors[32][8];
  uint64_t masks[8];
  uint32_t mxcsr;
  uint32_t unused;
  const uint64_t* general;  // 15 registers
};
constexpr int kGeneral = 15;
static_assert(sizeof(Parked) == 2176 && offsetof(Parked, masks) == 2048 && offsetof(Parked, mxcsr) == 2112 &&
              offsetof(Parked, general) == 2120);
static_assert(static_cast<uint32_t>(ExitReason::kYield) == 2);

// The offsets of WaveState's fields, for assembly.
constexpr int kRunner = offsetof(WaveState, runner_stack), kParked = offsetof(WaveState, parked_stack);

#define PUSH_CALLEE_SAVED "push %%rbp\n push %%rbx\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"
#define POP_CALLEE_SAVED "pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%rbx\n pop %%rbp\n"

// Arguments: the wave's state, the index of the entry, the code, the top of the stack.
__attribute__((naked)) uint32_t enter_stub(WaveState*, uint32_t, CompiledCode::EntryFn, void*) {
  __asm__(PUSH_CALLEE_SAVED
          "mov %%rsp, %c0(%%rdi)\n"
          "mov %%rcx, %%rsp\n"
          "push %%rdi\n"
          "sub $8, %%rsp\n"
          "call *%%rdx\n"
          "add $8, %%rsp\n"
          "pop %%rdi\n"
          "vzeroupper\n"
          "mov %c0(%%rdi), %%rsp\n"
          "movq $0, %c0(%%rdi)\n" POP_CALLEE_SAVED "ret" ::"i"(kRunner));
}

#define EACH_16(m) m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14) m(15)
#define EACH_UPPER_16(m) m(16) m(17) m(18) m(19) m(20) m(21) m(22) m(23) m(24) m(25) m(26) m(27) m(28) m(29) m(30) m(31)
#define EACH_MASK(m) m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7)
#define SAVE_YMM(n) "vmovdqu %%ymm" #n ", 64*" #n "(%%rsp)\n"
#define LOAD_YMM(n) "vmovdqu 64*" #n "(%%rsp), %%ymm" #n "\n"
#define SAVE_ZMM(n) "vmovdqa64 %%zmm" #n ", 64*" #n "(%%rsp)\n"
#define LOAD_ZMM(n) "vmovdqa64 64*" #n "(%%rsp), %%zmm" #n "\n"
#define SAVE_MASK(n) "kmovq %%k" #n ", 2048+8*" #n "(%%rsp)\n"
#define LOAD_MASK(n) "kmovq 2048+8*" #n "(%%rsp), %%k" #n "\n"

// On entry the stack holds the return address and the wave's.
#define PARK(save)                                                                                                     \
  "push %%rax\n push %%rcx\n push %%rdx\n push %%rbx\n push %%rbp\n push %%rsi\n push %%rdi\n push %%r8\n push %%r9\n" \
  "push %%r10\n push %%r11\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"                                      \
  "mov 128(%%rsp), %%rdi\n"                                                                                            \
  "cmpq $0, %c0(%%rdi)\n"                                                                                              \
  "je 1f\n"                                                                                                            \
  "mov %%rsp, %%rbp\n"                                                                                                 \
  "sub $2176, %%rsp\n"                                                                                                 \
  "and $-64, %%rsp\n" save                                                                                             \
  "stmxcsr 2112(%%rsp)\n"                                                                                              \
  "mov %%rbp, 2120(%%rsp)\n"                                                                                           \
  "mov %%rsp, %c1(%%rdi)\n"                                                                                            \
  "mov %c0(%%rdi), %%rsp\n"                                                                                            \
  "mov $2, %%eax\n"                                                                                                    \
  "vzeroupper\n" POP_CALLEE_SAVED                                                                                      \
  "ret\n"                                                                                                              \
  "1:\n"                                                                                                               \
  "pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%r11\n pop %%r10\n pop %%r9\n pop %%r8\n"                      \
  "pop %%rdi\n pop %%rsi\n pop %%rbp\n pop %%rbx\n pop %%rdx\n pop %%rcx\n pop %%rax\n"                                \
  "ret $8"

#define GO_ON(load)                                                                               \
  PUSH_CALLEE_SAVED                                                                               \
  "mov %%rsp, %c0(%%rdi)\n"                                                                       \
  "mov %c1(%%rdi), %%rsp\n"                                                                       \
  "movq $0, %c1(%%rdi)\n" load                                                                    \
  "ldmxcsr 2112(%%rsp)\n"                                                                         \
  "mov 2120(%%rsp), %%rsp\n"                                                                      \
  "pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%r11\n pop %%r10\n pop %%r9\n pop %%r8\n" \
  "pop %%rdi\n pop %%rsi\n pop %%rbp\n pop %%rbx\n pop %%rdx\n pop %%rcx\n pop %%rax\n"           \
  "ret $8"

__attribute__((naked)) void poll_avx512() {
  __asm__(PARK(EACH_16(SAVE_ZMM) EACH_UPPER_16(SAVE_ZMM) EACH_MASK(SAVE_MASK))::"i"(kRunner), "i"(kParked));
}
__attribute__((naked)) void poll_avx2() {
  __asm__(PARK(EACH_16(SAVE_YMM))::"i"(kRunner), "i"(kParked));
}
__attribute__((naked)) uint32_t go_on_avx512(WaveState*) {
  __asm__(GO_ON(EACH_16(LOAD_ZMM) EACH_UPPER_16(LOAD_ZMM) EACH_MASK(LOAD_MASK))::"i"(kRunner), "i"(kParked));
}
__attribute__((naked)) uint32_t go_on_avx2(WaveState*) {
  __asm__(GO_ON(EACH_16(LOAD_YMM))::"i"(kRunner), "i"(kParked));
}

bool has_avx512() {
  static const bool has = host_supports(Tier::avx512);
  return has;
}

}  // namespace

WaveStack::~WaveStack() {
  if (mapping_) munmap(mapping_, kGuardBytes + kStackBytes);
}

bool WaveStack::prepare() {
  if (mapping_) return true;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (memory == MAP_FAILED) return false;
  if (mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
    munmap(memory, kGuardBytes + kStackBytes);
    return false;
  }
  mapping_ = memory;
  return true;
}

ExitReason WaveStack::enter(WaveState& wave, uint32_t entry_index, CompiledCode::EntryFn code) {
  WAVEJIT_CHECK(mapping_, "a stack that is not prepared");
  wave.parked_stack = 0;
  void* top = static_cast<std::byte*>(mapping_) + kGuardBytes + kStackBytes;
  return static_cast<ExitReason>(enter_stub(&wave, entry_index, code, top));
}

ExitReason WaveStack::go_on(WaveState& wave) {
  return static_cast<ExitReason>(has_avx512() ? go_on_avx512(&wave) : go_on_avx2(&wave));
}

std::span<const std::byte> parked_registers(const WaveState& wave) {
  const auto& parked = *reinterpret_cast<const Parked*>(wave.parked_stack);
  const auto* begin = reinterpret_cast<const std::byte*>(&parked);
  return {begin, reinterpret_cast<const std::byte*>(parked.general + kGeneral)};
}

uintptr_t poll_stub() {
  return reinterpret_cast<uintptr_t>(has_avx512() ? &poll_avx512 : &poll_avx2);
}

}  // namespace wavejit::backend
