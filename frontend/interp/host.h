// Choice between the copies of a unit that Highway compiles for AVX2 and for AVX-512.
#pragma once

namespace wavejit::interp {

// Returns true if CPU and operating system support the instructions of Highway's target AVX3.
[[nodiscard]] inline bool host_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}

}  // namespace wavejit::interp

// Address of `function`, a name in wavejit::interp::HWY_NAMESPACE, as compiled for this host. Highway's own dispatcher
// would need its shared library, whose version differs between releases of Debian.
#define WAVEJIT_INTERP_DISPATCH(function) \
  (::wavejit::interp::host_has_avx512() ? &N_AVX3::function : &HWY_STATIC_DISPATCH(function))
