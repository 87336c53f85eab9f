// Hides AVX-512 from code that asks CPUID, so that a library which compiles for the CPU compiles for one without it.
#pragma once

#include <string>

namespace wavejit::perf {

// While an object of this class lives, CPUID on its thread, and on threads that this one starts, says that there is no
// AVX-512. CPUID faults then (arch_prctl(2), ARCH_SET_CPUID), and a handler of SIGSEGV answers in its place; other faults
// go to the handler of before. One object at a time.
class HiddenAvx512 {
 public:
  HiddenAvx512();
  ~HiddenAvx512();
  HiddenAvx512(const HiddenAvx512&) = delete;
  HiddenAvx512& operator=(const HiddenAvx512&) = delete;

  // Why CPUID still tells the truth: the CPU, the virtual machine or the kernel cannot make it fault. Empty if it does.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::string error_;
};

}  // namespace wavejit::perf
