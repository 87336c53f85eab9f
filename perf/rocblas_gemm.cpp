// Products of square matrices by rocBLAS on one thread, checked, next to the FMA peak of the core and to OpenBLAS.
//   rocblas_gemm N ROUNDS CASE...      a case is a type (s, d, c, h) and whether A and B are transposed: sNN, dNT, cTN
// scripts/rocblas-gemm.sh builds it in a root of another Debian release and runs it on wavejit.
//
// The three take turns, and the medians of their CPU times count: the core's clock changes, and it has neighbours.
#include <cblas.h>
#include <hip/hip_runtime.h>
#include <immintrin.h>
#include <rocblas/rocblas.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "rocblas_gemm: %s failed\n", what);
  std::exit(1);
}
#define HIP(call) check((call) == hipSuccess, #call)
#define BLAS(call) check((call) == rocblas_status_success, #call)

// CPU seconds of the process.
template <typename Work>
double seconds_of(const Work& work) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Independent f32 multiply-adds in registers; returns how many operations.
constexpr int kSums = 12, kRounds = 2'000'000;
__attribute__((target("avx2,fma"))) double work_avx2() {
  __m256 sums[kSums], one = _mm256_set1_ps(1.0F);
  for (__m256& sum : sums) sum = one;
  for (int i = 0; i < kRounds; ++i)
#pragma unroll
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(one, one, sum);
  for (__m256& sum : sums) asm volatile("" : "+x"(sum));
  return 2.0 * kSums * kRounds * 8;
}
__attribute__((target("avx512f"))) double work_avx512() {
  __m512 sums[kSums], one = _mm512_set1_ps(1.0F);
  for (__m512& sum : sums) sum = one;
  for (int i = 0; i < kRounds; ++i)
#pragma unroll
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(one, one, sum);
  for (__m512& sum : sums) asm volatile("" : "+v"(sum));
  return 2.0 * kSums * kRounds * 16;
}
double peak(bool avx512) {
  double operations = 0;
  const double seconds = seconds_of([&] { operations = avx512 ? work_avx512() : work_avx2(); });
  return operations / seconds;
}

// Small whole numbers: all products and sums are exact in every type but f16, where they are small enough.
int element(size_t i) {
  return static_cast<int>(i % 3) - 1;
}

template <typename T>
struct Matrices {
  explicit Matrices(int size) : n(size), a(bytes() / sizeof(T)), b(a.size()), c(a.size()) {
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = T(static_cast<float>(element(i)));
      b[i] = T(static_cast<float>(element(i / 5)));
    }
    HIP(hipMalloc(reinterpret_cast<void**>(&da), bytes()));
    HIP(hipMalloc(reinterpret_cast<void**>(&db), bytes()));
    HIP(hipMalloc(reinterpret_cast<void**>(&dc), bytes()));
    HIP(hipMemcpy(da, a.data(), bytes(), hipMemcpyHostToDevice));
    HIP(hipMemcpy(db, b.data(), bytes(), hipMemcpyHostToDevice));
  }
  ~Matrices() {
    for (T* p : {da, db, dc}) (void)hipFree(p);
  }
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;
  [[nodiscard]] size_t bytes() const { return sizeof(T) * static_cast<size_t>(n) * static_cast<size_t>(n); }
  // Some elements of the product against sums of whole numbers.
  void check_product(bool transpose_a, bool transpose_b) {
    HIP(hipMemcpy(c.data(), dc, bytes(), hipMemcpyDeviceToHost));
    const auto size = static_cast<size_t>(n);
    for (const size_t row : {size_t{0}, size / 2 + 1, size - 1}) {
      for (const size_t column : {size_t{0}, size / 3, size - 1}) {
        long sum = 0;
        for (size_t k = 0; k < size; ++k)
          sum += element(transpose_a ? row * size + k : k * size + row) *
                 element((transpose_b ? k * size + column : column * size + k) / 5);
        check(c[column * size + row] == T(static_cast<float>(sum)), "the product");
      }
    }
  }
  const int n;
  std::vector<T> a, b, c;
  T *da = nullptr, *db = nullptr, *dc = nullptr;
};

using ComplexFloat = std::complex<float>;

template <typename T>
void measure(rocblas_handle handle, const std::string& name, int n, int rounds, bool avx512) {
  const bool ta = name[1] == 'T', tb = name[2] == 'T';
  const auto operation = [](bool t) { return t ? rocblas_operation_transpose : rocblas_operation_none; };
  const auto host = [](bool t) { return t ? CblasTrans : CblasNoTrans; };
  Matrices<T> m(n);
  const auto on_device = [&] {
    const T one(1.0F), zero(0.0F);
    if constexpr (std::is_same_v<T, float>)
      BLAS(rocblas_sgemm(handle, operation(ta), operation(tb), n, n, n, &one, m.da, n, m.db, n, &zero, m.dc, n));
    if constexpr (std::is_same_v<T, double>)
      BLAS(rocblas_dgemm(handle, operation(ta), operation(tb), n, n, n, &one, m.da, n, m.db, n, &zero, m.dc, n));
    if constexpr (std::is_same_v<T, ComplexFloat>) {
      const auto of = [](const auto* p) { return reinterpret_cast<const rocblas_float_complex*>(p); };
      BLAS(rocblas_cgemm(handle, operation(ta), operation(tb), n, n, n, of(&one), of(m.da), n, of(m.db), n, of(&zero),
                         reinterpret_cast<rocblas_float_complex*>(m.dc), n));
    }
    if constexpr (std::is_same_v<T, _Float16>) {
      const auto of = [](const auto* p) { return reinterpret_cast<const rocblas_half*>(p); };
      BLAS(rocblas_hgemm(handle, operation(ta), operation(tb), n, n, n, of(&one), of(m.da), n, of(m.db), n, of(&zero),
                         reinterpret_cast<rocblas_half*>(m.dc), n));
    }
    HIP(hipDeviceSynchronize());
  };
  const auto on_host = [&] {
    const T one(1.0F), zero(0.0F);
    if constexpr (std::is_same_v<T, float>)
      cblas_sgemm(CblasColMajor, host(ta), host(tb), n, n, n, one, m.a.data(), n, m.b.data(), n, zero, m.c.data(), n);
    if constexpr (std::is_same_v<T, double>)
      cblas_dgemm(CblasColMajor, host(ta), host(tb), n, n, n, one, m.a.data(), n, m.b.data(), n, zero, m.c.data(), n);
    if constexpr (std::is_same_v<T, ComplexFloat>)
      cblas_cgemm(CblasColMajor, host(ta), host(tb), n, n, n, &one, m.a.data(), n, m.b.data(), n, &zero, m.c.data(), n);
  };
  constexpr bool kOnHost = !std::is_same_v<T, _Float16>;
  on_device();
  m.check_product(ta, tb);
  std::vector<double> peaks, ours, theirs;
  for (int round = 0; round < rounds; ++round) {
    peaks.push_back(peak(avx512));
    ours.push_back(seconds_of(on_device));
    if (kOnHost) theirs.push_back(seconds_of(on_host));
  }
  const double operations = 2.0 * n * n * n * (std::is_same_v<T, ComplexFloat> ? 4 : 1);
  const double top = median(peaks) * 1e-9 / (std::is_same_v<T, double> ? 2 : 1);
  const double rate = operations / median(ours) * 1e-9;
  std::printf("%s %5d  %8.2f GFLOP/s  %5.1f %% of the peak of %.0f", name.c_str(), n, rate, 100 * rate / top, top);
  if (kOnHost) {
    const double other = operations / median(theirs) * 1e-9;
    std::printf("  OpenBLAS %8.2f GFLOP/s, wavejit / OpenBLAS %.2f", other, rate / other);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  check(argc >= 4, "reading the arguments: N ROUNDS CASE...");
  const int n = std::atoi(argv[1]), rounds = std::atoi(argv[2]);
  check(n > 0 && rounds > 0, "reading N and ROUNDS");
  const char* engine = std::getenv("WAVEJIT_ENGINE");
  const bool avx512 = __builtin_cpu_supports("avx512f") && (engine == nullptr || std::strcmp(engine, "avx2") != 0);
  openblas_set_num_threads(1);
  rocblas_handle handle;
  BLAS(rocblas_create_handle(&handle));
  for (int i = 3; i < argc; ++i) {
    const std::string name = argv[i];
    check(name.size() == 3, "reading a case");
    switch (name[0]) {
      case 's':
        measure<float>(handle, name, n, rounds, avx512);
        break;
      case 'd':
        measure<double>(handle, name, n, rounds, avx512);
        break;
      case 'c':
        measure<ComplexFloat>(handle, name, n, rounds, avx512);
        break;
      case 'h':
        measure<_Float16>(handle, name, n, rounds, avx512);
        break;
      default:
        check(false, "reading a case's type");
    }
  }
  BLAS(rocblas_destroy_handle(handle));
  return 0;
}
