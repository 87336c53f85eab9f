// The first product of rocBLAS in a process: C = A B with f32 matrices of N x N, checked.
//   first_gemm [N]
// scripts/first-gemm.sh builds and measures it.
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "first_gemm: %s failed\n", what);
  std::exit(1);
}
#define HIP(call) check((call) == hipSuccess, #call)
#define BLAS(call) check((call) == rocblas_status_success, #call)

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 64;
  check(n > 0, "reading N");
  const auto size = static_cast<size_t>(n);
  std::vector<float> a(size * size), b(size * size), c(size * size);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 7) - 3;
    b[i] = static_cast<float>(i % 5) - 2;
  }
  float *da, *db, *dc;
  const size_t bytes = a.size() * sizeof(float);
  HIP(hipMalloc(reinterpret_cast<void**>(&da), bytes));
  HIP(hipMalloc(reinterpret_cast<void**>(&db), bytes));
  HIP(hipMalloc(reinterpret_cast<void**>(&dc), bytes));
  HIP(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
  HIP(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
  rocblas_handle handle;
  BLAS(rocblas_create_handle(&handle));
  const float one = 1, zero = 0;
  BLAS(
      rocblas_sgemm(handle, rocblas_operation_none, rocblas_operation_none, n, n, n, &one, da, n, db, n, &zero, dc, n));
  HIP(hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost));
  // Column-major. All sums are small integers.
  for (const size_t row : {size_t{0}, size / 2, size - 1})
    for (const size_t column : {size_t{0}, size / 3, size - 1}) {
      float sum = 0;
      for (size_t k = 0; k < size; ++k) sum += a[k * size + row] * b[column * size + k];
      check(sum == c[column * size + row], "the product");
    }
  std::printf("first_gemm: %d x %d is right\n", n, n);
  BLAS(rocblas_destroy_handle(handle));
  return 0;
}
