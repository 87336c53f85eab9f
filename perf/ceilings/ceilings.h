// What an expert gets out of one core by hand: kernels written with vector intrinsics, for AVX-512 and for AVX2. They
// work on the data of the kernel cases, in memory like that of the engines, and pass the cases' checks. The translated
// kernels are measured against them.
//
// Each kernel is one source file, compiled once per tier (perf/CMakeLists.txt) against the vector types of simd.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernel_case.h"

namespace wavejit::perf {

// A case and the contents of its buffers.
struct CeilingData {
  const kernels::KernelCase& kernel_case;
  std::span<uint8_t* const> memory;

  template <typename T>
  [[nodiscard]] T* buffer(size_t index) const {
    return reinterpret_cast<T*>(memory[index]);
  }
  template <typename T>
  [[nodiscard]] size_t count(size_t index) const {
    return kernel_case.buffers[index].bytes.size() / sizeof(T);
  }
  // The value of an argument of the first launch.
  template <typename T>
  [[nodiscard]] T scalar(size_t argument) const {
    T value;
    std::memcpy(&value, kernel_case.launches[0].args[argument].scalar.data(), sizeof value);
    return value;
  }
};

// Does the work of all launches of the case.
using CeilingFunction = void (*)(const CeilingData& data);

enum class CeilingTier : uint8_t { avx2, avx512 };

// Null for cases without one.
[[nodiscard]] CeilingFunction ceiling_function(std::string_view case_name, CeilingTier tier);

// Does fused multiply-adds and nothing else; returns the number of floating-point operations.
[[nodiscard]] double fma_peak(CeilingTier tier, uint64_t rounds);

#define WAVEJIT_CEILINGS(KERNEL) \
  KERNEL(black_scholes)          \
  KERNEL(convolution3x3)         \
  KERNEL(mandelbrot)             \
  KERNEL(nbody)                  \
  KERNEL(reduction)              \
  KERNEL(sgemm_blocked)          \
  KERNEL(sha256)                 \
  KERNEL(spmv_csr)               \
  KERNEL(triad)

#define WAVEJIT_DECLARE_CEILING(name) void name(const CeilingData& data);
namespace ceilings_avx2 {
WAVEJIT_CEILINGS(WAVEJIT_DECLARE_CEILING)
[[nodiscard]] double fma_peak(uint64_t rounds);
}  // namespace ceilings_avx2
namespace ceilings_avx512 {
WAVEJIT_CEILINGS(WAVEJIT_DECLARE_CEILING)
[[nodiscard]] double fma_peak(uint64_t rounds);
}  // namespace ceilings_avx512
#undef WAVEJIT_DECLARE_CEILING

}  // namespace wavejit::perf
