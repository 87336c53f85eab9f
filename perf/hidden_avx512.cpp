#include "hidden_avx512.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace wavejit::perf {
namespace {

struct sigaction g_before;

// Sets what CPUID does on this thread: 1 answers, 0 faults. The C library has no function for it.
bool set_cpuid(unsigned long answers) {
  return syscall(SYS_arch_prctl, ARCH_SET_CPUID, answers) == 0;
}

// Leaf 7's bits of AVX-512 (Intel SDM, volume 2A, CPUID).
void remove_avx512(uint32_t leaf, uint32_t subleaf, uint32_t& eax, uint32_t& ebx, uint32_t& ecx, uint32_t& edx) {
  if (leaf != 7) return;
  if (subleaf == 0) {
    // F, DQ, IFMA, PF, ER, CD, BW, VL.
    ebx &= ~(1U << 16 | 1U << 17 | 1U << 21 | 1U << 26 | 1U << 27 | 1U << 28 | 1U << 30 | 1U << 31);
    ecx &= ~(1U << 1 | 1U << 6 | 1U << 11 | 1U << 12 | 1U << 14);  // VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
    edx &= ~(1U << 2 | 1U << 3 | 1U << 8 | 1U << 23);              // 4VNNIW, 4FMAPS, VP2INTERSECT, FP16
  } else if (subleaf == 1) {
    eax &= ~(1U << 5);  // BF16
  }
}

void answer(int /*signal*/, siginfo_t* info, void* opaque) {
  auto* context = static_cast<ucontext_t*>(opaque);
  greg_t* registers = context->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  // A faulting CPUID raises a general protection fault. The kernel reports no address for it.
  if (info->si_code != SI_KERNEL || code[0] != 0x0f || code[1] != 0xa2) {
    sigaction(SIGSEGV, &g_before, nullptr);  // the instruction faults again, there
    return;
  }
  const auto leaf = static_cast<uint32_t>(registers[REG_RAX]);
  const auto subleaf = static_cast<uint32_t>(registers[REG_RCX]);
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  set_cpuid(1);
  __cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
  set_cpuid(0);
  remove_avx512(leaf, subleaf, eax, ebx, ecx, edx);
  registers[REG_RAX] = eax;
  registers[REG_RBX] = ebx;
  registers[REG_RCX] = ecx;
  registers[REG_RDX] = edx;
  registers[REG_RIP] += 2;
}

}  // namespace

HiddenAvx512::HiddenAvx512() {
  struct sigaction action{};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  if (sigaction(SIGSEGV, &action, &g_before) != 0 || !set_cpuid(0)) {
    error_ = std::string("CPUID cannot be made to fault: ") + std::strerror(errno);
    sigaction(SIGSEGV, &g_before, nullptr);
  }
}

HiddenAvx512::~HiddenAvx512() {
  if (!error_.empty()) return;
  set_cpuid(1);
  sigaction(SIGSEGV, &g_before, nullptr);
}

}  // namespace wavejit::perf
