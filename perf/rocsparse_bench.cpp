// How fast Debian's rocSPARSE multiplies a sparse matrix by a vector under `wavejit exec`, next to a loop on one thread
// of the host in the same process; or, with --first, how long a program takes until its first product is there.
#include <fmt/format.h>
#include <hip/hip_runtime_api.h>
#include <rocsparse/rocsparse.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point started = Clock::now();

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

#define OK(call)                                                             \
  do {                                                                       \
    if (const int status = static_cast<int>(call); status != 0)              \
      throw std::runtime_error(fmt::format("{} returns {}", #call, status)); \
  } while (false)

struct Options {
  int rows = 200000, usual = 16, repeat = 21;
  bool first = false;
};

template <typename T>
struct Matrix {
  int rows;
  std::vector<int> row_ptr{0}, col;
  std::vector<T> val;
};

// Square; rows of `usual` elements on the average, within a band as wide as the discretisation of a plane makes it.
template <typename T>
Matrix<T> banded(int rows, int usual) {
  std::mt19937 random(1);
  Matrix<T> m{.rows = rows};
  const int band = std::max(2 * usual, static_cast<int>(2 * std::sqrt(rows)));
  for (int i = 0; i < rows; ++i) {
    const int count = 1 + static_cast<int>(random() % (2 * usual - 1));
    const int first = std::clamp(i - band / 2, 0, std::max(0, rows - band)), wide = std::min(band, rows);
    std::vector<int> line;
    for (int k = 0; k < count; ++k) line.push_back(first + static_cast<int>(random() % wide));
    std::sort(line.begin(), line.end());
    line.erase(std::unique(line.begin(), line.end()), line.end());
    for (const int j : line) {
      m.col.push_back(j);
      m.val.push_back(static_cast<T>(static_cast<int>(random() % 16) - 8));
    }
    m.row_ptr.push_back(static_cast<int>(m.col.size()));
  }
  return m;
}

template <typename T>
[[gnu::noinline]] void multiply(const Matrix<T>& m, const T* x, T* y) {
  const int* col = m.col.data();
  const T* val = m.val.data();
  for (int i = 0; i < m.rows; ++i) {
    T sum = 0;
    for (int k = m.row_ptr[i]; k < m.row_ptr[i + 1]; ++k) sum += val[k] * x[col[k]];
    y[i] = sum;
  }
}

template <typename T>
T* on_device(const std::vector<T>& host) {
  void* data = nullptr;
  OK(hipMalloc(&data, host.size() * sizeof(T)));
  OK(hipMemcpy(data, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
  return static_cast<T*>(data);
}

// Products that are measured in turn, so that what else the machine does hits all of them.
struct Candidate {
  std::string_view name;
  std::function<void()> run;
  std::vector<double> times;
  bool right = true;

  [[nodiscard]] double median() const {
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  [[nodiscard]] double fastest() const { return *std::min_element(times.begin(), times.end()); }
};

template <typename T>
void measure(const Options& options, rocsparse_handle handle, std::string_view type) {
  constexpr bool kSingle = sizeof(T) == 4;
  const Matrix<T> m = banded<T>(options.rows, options.usual);
  const int n = m.rows, nnz = static_cast<int>(m.col.size());
  std::vector<T> x(n), y(n), got(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<T>(i % 7 - 3);
  const int *row_ptr = on_device(m.row_ptr), *col = on_device(m.col);
  const T* val = on_device(m.val);
  T *dx = on_device(x), *dy = on_device(y);
  std::vector<int> row(nnz);
  for (int i = 0; i < n; ++i) std::fill(row.begin() + m.row_ptr[i], row.begin() + m.row_ptr[i + 1], i);
  const int* row_ind = on_device(row);
  rocsparse_mat_descr descr = nullptr;
  rocsparse_mat_info info = nullptr;
  OK(rocsparse_create_mat_descr(&descr));
  OK(rocsparse_create_mat_info(&info));
  const T one = 1, zero = 0;
  constexpr auto kNone = rocsparse_operation_none;
  const auto csr = [&](rocsparse_mat_info used) {
    if constexpr (kSingle)
      OK(rocsparse_scsrmv(handle, kNone, n, n, nnz, &one, descr, val, row_ptr, col, used, dx, &zero, dy));
    else
      OK(rocsparse_dcsrmv(handle, kNone, n, n, nnz, &one, descr, val, row_ptr, col, used, dx, &zero, dy));
    OK(hipDeviceSynchronize());
  };
  if (options.first) {
    csr(nullptr);
    OK(hipMemcpy(got.data(), dy, n * sizeof(T), hipMemcpyDeviceToHost));
    multiply(m, x.data(), y.data());
    fmt::print("{:.3f} s until the first product, which is {}\n", seconds_since(started), y == got ? "right" : "wrong");
    return;
  }
  const auto coo = [&] {
    if constexpr (kSingle)
      OK(rocsparse_scoomv(handle, kNone, n, n, nnz, &one, descr, val, row_ind, col, dx, &zero, dy));
    else
      OK(rocsparse_dcoomv(handle, kNone, n, n, nnz, &one, descr, val, row_ind, col, dx, &zero, dy));
    OK(hipDeviceSynchronize());
  };
  if constexpr (kSingle)
    OK(rocsparse_scsrmv_analysis(handle, kNone, n, n, nnz, descr, val, row_ptr, col, info));
  else
    OK(rocsparse_dcsrmv_analysis(handle, kNone, n, n, nnz, descr, val, row_ptr, col, info));
  std::vector<Candidate> candidates{{"loop, one thread", [&] { multiply(m, x.data(), y.data()); }},
                                    {"csrmv", [&] { csr(nullptr); }},
                                    {"csrmv, analysed", [&] { csr(info); }},
                                    {"coomv", coo}};
  for (Candidate& c : candidates) {
    OK(hipMemset(dy, 0xff, n * sizeof(T)));
    c.run();  // translates
    OK(hipMemcpy(got.data(), dy, n * sizeof(T), hipMemcpyDeviceToHost));
    c.right = &c == candidates.data() || got == y;  // sums of small integers are exact
  }
  for (int i = 0; i < options.repeat; ++i) {
    for (Candidate& c : candidates) {
      const Clock::time_point begin = Clock::now();
      c.run();
      c.times.push_back(seconds_since(begin));
    }
  }
  fmt::print("{}, {} rows, {} elements: median and fastest of {}\n", type, n, nnz, options.repeat);
  for (const Candidate& c : candidates) {
    const auto speed = [&](double time) { return 2.0 * nnz / time * 1e-9; };
    fmt::print("  {:18} {:6.2f} {:6.2f} GFLOP/s  {:5.2f} {:5.2f} of the loop{}\n", c.name, speed(c.median()),
               speed(c.fastest()), candidates[0].median() / c.median(), candidates[0].fastest() / c.fastest(),
               c.right ? "" : "  WRONG");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Speed of rocSPARSE's product of a sparse matrix and a vector: wavejit exec -- rocsparse_bench");
  app.add_option("--rows", options.rows, "Rows and columns of the matrix")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
  app.add_option("--elements", options.usual, "Elements of a row, on the average")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "Products whose median is taken")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_flag("--first", options.first,
               "One product of 1000 rows: the time from the start of the process to its result");
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.first) options.rows = 1000;
    rocsparse_handle handle = nullptr;
    OK(rocsparse_create_handle(&handle));
    measure<float>(options, handle, "f32");
    if (!options.first) measure<double>(options, handle, "f64");
    OK(rocsparse_destroy_handle(handle));
  } catch (const std::exception& error) {
    fmt::print(stderr, "rocsparse_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
