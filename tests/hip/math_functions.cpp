// Mathematical functions in double and single precision against the host's in long double, within OpenCL's bounds
// (ulp).
#include <cmath>
#include <limits>
#include <vector>

#include "check.h"

constexpr int kN = 1 << 10;

// name, bound of double, bound of float, the arguments' range
// clang-format off
#define UNARY(row)                                                                                             \
  row(sin, 4, 4, -1e4, 1e4) row(cos, 4, 4, -1e4, 1e4) row(tan, 5, 5, -100, 100) row(asin, 4, 4, -1, 1)         \
  row(acos, 4, 4, -1, 1) row(atan, 5, 5, -50, 50) row(sinh, 4, 4, -80, 80) row(cosh, 4, 4, -80, 80)            \
  row(tanh, 5, 5, -10, 10) row(asinh, 4, 4, -1e3, 1e3) row(acosh, 4, 4, 1, 1e3) row(atanh, 5, 5, -1, 1)        \
  row(exp, 3, 3, -80, 80) row(exp2, 3, 3, -120, 120) row(expm1, 3, 3, -5, 5) row(log, 3, 3, 0, 1e6)            \
  row(log2, 3, 3, 0, 1e6) row(log10, 3, 3, 0, 1e6) row(log1p, 2, 2, -1, 100) row(sqrt, 0.5, 3, 0, 1e6)         \
  row(cbrt, 2, 2, -1e6, 1e6) row(erf, 16, 16, -5, 5) row(erfc, 16, 16, -5, 5) row(tgamma, 16, 16, 0.01, 30)    \
  row(floor, 0, 0, -1e6, 1e6) row(ceil, 0, 0, -1e6, 1e6) row(trunc, 0, 0, -1e6, 1e6) row(rint, 0, 0, -1e6, 1e6)
#define BINARY(row)                                                                                            \
  row(pow, 16, 16, 0, 20) row(atan2, 6, 6, -20, 20) row(hypot, 4, 4, -1e3, 1e3) row(fmod, 0, 0, -100, 100)     \
  row(remainder, 0, 0, -100, 100) row(fdim, 0, 0, -10, 10) row(copysign, 0, 0, -5, 5) row(fmax, 0, 0, -5, 5)
// clang-format on

enum Function {
#define ROW(name, ...) k_##name,
  UNARY(ROW) BINARY(ROW) kFunctions
#undef ROW
};

template <typename T>
__global__ void compute(const T* x, const T* y, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  // Each function has arguments of its own.
#define ROW(name, ...) out[k_##name * n + i] = name(x[k_##name * n + i]);
  UNARY(ROW)
#undef ROW
#define ROW(name, ...) out[k_##name * n + i] = name(x[k_##name * n + i], y[k_##name * n + i]);
  BINARY(ROW)
#undef ROW
}

// |got - expected| in units of the last place of T at `expected`.
template <typename T>
double ulps(T got, long double expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : INFINITY;
  const T nearest = static_cast<T>(expected);
  if (got == nearest) return 0;
  if (std::isnan(got) || std::isinf(got) || std::isinf(nearest)) return INFINITY;
  const int exponent = std::max(nearest == 0 ? -99999 : std::ilogb(nearest), std::numeric_limits<T>::min_exponent - 1);
  return static_cast<double>(std::fabs(got - expected) /
                             std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1)));
}

struct Worst {
  double ulps, x, y;
};

template <typename T>
bool check() {
  std::vector<T> x(kFunctions * kN), y(kFunctions * kN), out(kFunctions * kN);
  unsigned long long seed = 42;
  const auto random = [&](double low, double high) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<T>(low + (high - low) * (static_cast<double>(seed >> 11) / (1ull << 53)));
  };
#define ROW(name, double_bound, float_bound, low, high) \
  for (int i = 0; i < kN; ++i) {                        \
    x[k_##name * kN + i] = random(low, high);           \
    y[k_##name * kN + i] = random(low, high);           \
  }
  UNARY(ROW)
  BINARY(ROW)
#undef ROW
  T *dx, *dy, *dout;
  const size_t bytes = x.size() * sizeof(T);
  HIP(hipMalloc(&dx, bytes));
  HIP(hipMalloc(&dy, bytes));
  HIP(hipMalloc(&dout, bytes));
  HIP(hipMemcpy(dx, x.data(), bytes, hipMemcpyHostToDevice));
  HIP(hipMemcpy(dy, y.data(), bytes, hipMemcpyHostToDevice));
  compute<T><<<kN / 128, 128>>>(dx, dy, dout, kN);
  HIP(hipMemcpy(out.data(), dout, bytes, hipMemcpyDeviceToHost));
  bool good = true;
  const auto judge = [&](const char* name, const Worst& worst, double bound) {
    if (worst.ulps <= bound) return;
    std::printf("%s of %zu bytes: %.2f ulp at %.17g, %.17g\n", name, sizeof(T), worst.ulps, worst.x, worst.y);
    good = false;
  };
#define JUDGE(name, double_bound, float_bound, expected)                                       \
  {                                                                                            \
    Worst worst = {};                                                                          \
    for (int i = k_##name * kN; i < (k_##name + 1) * kN; ++i) {                                \
      const long double a = x[i], b = y[i];                                                    \
      const double error = ulps<T>(out[i], expected);                                          \
      if (error > worst.ulps) worst = {error, static_cast<double>(a), static_cast<double>(b)}; \
    }                                                                                          \
    judge(#name, worst, (sizeof(T) == 8 ? double_bound : float_bound) + 0.01);                 \
  }
#define ROW(name, double_bound, float_bound, ...) JUDGE(name, double_bound, float_bound, std::name(a))
  UNARY(ROW)
#undef ROW
#define ROW(name, double_bound, float_bound, ...) JUDGE(name, double_bound, float_bound, std::name(a, b))
  BINARY(ROW)
#undef ROW
  return good;
}

int main() {
  const bool doubles = check<double>(), floats = check<float>();
  CHECK(doubles && floats);
}
