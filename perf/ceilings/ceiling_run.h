// A case's buffers for a hand-written kernel: memory of the kind that the engines' launches work on.
#pragma once

#include <algorithm>
#include <vector>

#include "ceilings/ceilings.h"
#include "wavejit/wavejit.hpp"

namespace wavejit::perf {

[[nodiscard]] inline bool ceiling_supported(CeilingTier tier) {
  return wavejit_isa_supported(tier == CeilingTier::avx512 ? WAVEJIT_ISA_AVX512 : WAVEJIT_ISA_AVX2) != 0;
}

class CeilingRun {
 public:
  // `kernel_case` outlives the object.
  CeilingRun(const kernels::KernelCase& kernel_case, CeilingFunction function)
      : kernel_case_(kernel_case), function_(function) {
    for (const kernels::Buffer& buffer : kernel_case.buffers) {
      memory_.emplace_back(buffer.bytes.size());
      pointers_.push_back(memory_.back().data());
    }
  }
  // Gives every buffer its initial content again.
  void reset() {
    for (size_t i = 0; i < memory_.size(); ++i)
      std::copy(kernel_case_.buffers[i].bytes.begin(), kernel_case_.buffers[i].bytes.end(), pointers_[i]);
  }
  void run() { function_({kernel_case_, pointers_}); }
  [[nodiscard]] std::vector<kernels::Buffer> read() const {
    std::vector<kernels::Buffer> buffers = kernel_case_.buffers;
    for (size_t i = 0; i < buffers.size(); ++i)
      buffers[i].bytes.assign(pointers_[i], pointers_[i] + buffers[i].bytes.size());
    return buffers;
  }

 private:
  const kernels::KernelCase& kernel_case_;
  CeilingFunction function_;
  std::vector<wavejit::Buffer<uint8_t>> memory_;
  std::vector<uint8_t*> pointers_;
};

}  // namespace wavejit::perf
