// Triangular systems, tridiagonal systems and incomplete factorisations. Answers are checked by putting them in: what a
// row of the system gives is the right-hand side within the rounding errors of the row's products.
#include "tests/rocsparse/expect.h"
#include "tests/rocsparse/rocsparse_api.h"
#include "tests/rocsparse/sizes.h"

namespace sparse_test {
namespace {

ROUTINE(csrsv_buffer_size)
ROUTINE(csrsv_analysis)
ROUTINE(csrsv_solve)
ROUTINE(csrsm_buffer_size)
ROUTINE(csrsm_analysis)
ROUTINE(csrsm_solve)
ROUTINE(bsrsv_buffer_size)
ROUTINE(bsrsv_analysis)
ROUTINE(bsrsv_solve)
ROUTINE(bsrsm_buffer_size)
ROUTINE(bsrsm_analysis)
ROUTINE(bsrsm_solve)
ROUTINE(gtsv_buffer_size)
ROUTINE(gtsv)
ROUTINE(gtsv_no_pivot_buffer_size)
ROUTINE(gtsv_no_pivot)

template <typename T>
class Triangular : public ::testing::Test {};
TYPED_TEST_SUITE(Triangular, Types, TypeNames);
template <typename T>
class Factorisation : public ::testing::Test {};
TYPED_TEST_SUITE(Factorisation, Types, TypeNames);

constexpr auto kReuse = rocsparse_analysis_policy_force;
constexpr auto kAuto = rocsparse_solve_policy_auto;

// `matrix` is what describes the matrix in the parameters of all of a factorisation's routines.
#define FACTORISATION(name)                                                          \
  ROUTINE(name##_buffer_size)                                                        \
  ROUTINE(name##_analysis)                                                           \
  ROUTINE(name)                                                                      \
  template <typename T, typename... Matrix>                                          \
  void factorise_##name(const Matrix&... matrix) {                                   \
    const Info info;                                                                 \
    size_t bytes = 0;                                                                \
    OK(name##_buffer_size<T>(handle(), matrix..., info, &bytes));                    \
    const Buffer buffer(bytes);                                                      \
    OK(name##_analysis<T>(handle(), matrix..., info, kReuse, kAuto, buffer.data())); \
    OK(name<T>(handle(), matrix..., info, kAuto, buffer.data()));                    \
    int pivot = 0;                                                                   \
    OK(rocsparse_##name##_zero_pivot(handle(), info, &pivot));                       \
    EXPECT_EQ(pivot, -1);                                                            \
  }
FACTORISATION(csrilu0)
FACTORISATION(csric0)
FACTORISATION(bsrilu0)
FACTORISATION(bsric0)

std::vector<int> orders() {
  return full() ? std::vector<int>{1, 7, 64, 1000, 4097} : std::vector<int>{7, 1200};
}

// How a matrix is to be understood as a triangle.
struct Part {
  bool lower, unit;
  Op op;
  [[nodiscard]] rocsparse_fill_mode fill() const {
    return lower ? rocsparse_fill_mode_lower : rocsparse_fill_mode_upper;
  }
  [[nodiscard]] rocsparse_diag_type diag() const {
    return unit ? rocsparse_diag_type_unit : rocsparse_diag_type_non_unit;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{}{}, operation {}", lower ? "lower" : "upper", unit ? ", unit" : "", static_cast<int>(op));
  }
};
std::vector<Part> parts(bool conjugate) {
  std::vector<Part> all;
  for (const bool lower : {true, false})
    for (const bool unit : {true, false})
      for (const Op op : kOps)
        if (conjugate || op != Op::conjugate_transpose) all.push_back({lower, unit, op});
  return all;
}

// The triangle itself, transposed if that is asked for. Off the diagonal numbers are scaled so that solutions with a
// unit diagonal do not grow without bounds.
template <typename T>
Csr<T> triangle(const Csr<T>& m, const Part& part) {
  Csr<T> t = filtered(m, [&](int i, int j) { return i == j || (part.lower ? j < i : j > i); });
  t.each([&](int i, int j, const T&, int k) {
    if (part.unit && i == j) t.val[k] = make<T>(1, 0);
  });
  return with_operation(part.op, t);
}

// A matrix with both triangles, of which a solver is to use one.
template <typename T>
Csr<T> both_triangles(int order) {
  Csr<T> m = dominant_matrix<T>(order, 4);
  m.each([&](int i, int j, const T& v, int k) {
    if (i != j) m.val[k] = v * make<T>(0.125, 0);
  });
  return m;
}

// alpha * b against triangle * x
template <typename T>
void expect_solution(const Csr<T>& t, const T* x, const T* b, T alpha, std::string_view what) {
  std::vector<Sum<T>> wanted = multiply(t, x, make<T>(1, 0), T{}, static_cast<const T*>(nullptr));
  std::vector<T> right(t.rows);
  for (int i = 0; i < t.rows; ++i) {
    right[i] = alpha * b[i];
    wanted[i].magnitude += std::abs(widen(alpha) * widen(b[i]));
    wanted[i].terms += 8;  // division by a complex diagonal
  }
  expect_sums(right, wanted, what);
}

template <typename T>
const T kAlpha = make<T>(1.5, -0.5);

TYPED_TEST(Triangular, Csrsv) {
  using T = TypeParam;
  for (const int order : orders()) {
    const Csr<T> host = both_triangles<T>(order);
    const DeviceCsr<T> a(host);
    Random random(5);
    const std::vector<T> b = random.vector<T>(order);
    const Device<T> db(b);
    for (const Part& part : parts(true)) {
      const Descr descr(part.fill(), part.diag());
      const Info info;
      const Device<T> x(static_cast<size_t>(order));
      size_t bytes = 0;
      OK(csrsv_buffer_size<T>(handle(), operation(part.op), order, a.nnz, descr, a.val.data(), a.row_ptr.data(),
                              a.col.data(), info, &bytes));
      const Buffer buffer(bytes);
      OK(csrsv_analysis<T>(handle(), operation(part.op), order, a.nnz, descr, a.val.data(), a.row_ptr.data(),
                           a.col.data(), info, kReuse, kAuto, buffer.data()));
      OK(csrsv_solve<T>(handle(), operation(part.op), order, a.nnz, &kAlpha<T>, descr, a.val.data(), a.row_ptr.data(),
                        a.col.data(), info, db.data(), x.data(), kAuto, buffer.data()));
      int pivot = 0;
      OK(rocsparse_csrsv_zero_pivot(handle(), descr, info, &pivot));
      EXPECT_EQ(pivot, -1);
      expect_solution(triangle(host, part), x.host().data(), b.data(), kAlpha<T>,
                      fmt::format("csrsv {}, {}", order, part.text()));
    }
  }
}

TYPED_TEST(Triangular, Csrsm) {
  using T = TypeParam;
  constexpr int kRight = 5;
  for (const int order : orders()) {
    const Csr<T> host = both_triangles<T>(order);
    const DeviceCsr<T> a(host);
    Random random(5);
    const int ld = order + 2;
    const std::vector<T> b = random.vector<T>(static_cast<size_t>(ld) * kRight);
    for (const Part& part : parts(true)) {
      const Descr descr(part.fill(), part.diag());
      const Info info;
      const Device<T> x(b);
      size_t bytes = 0;
      constexpr auto kNone = rocsparse_operation_none;
      OK(csrsm_buffer_size<T>(handle(), operation(part.op), kNone, order, kRight, a.nnz, &kAlpha<T>, descr,
                              a.val.data(), a.row_ptr.data(), a.col.data(), x.data(), ld, info, kAuto, &bytes));
      const Buffer buffer(bytes);
      OK(csrsm_analysis<T>(handle(), operation(part.op), kNone, order, kRight, a.nnz, &kAlpha<T>, descr, a.val.data(),
                           a.row_ptr.data(), a.col.data(), x.data(), ld, info, kReuse, kAuto, buffer.data()));
      OK(csrsm_solve<T>(handle(), operation(part.op), kNone, order, kRight, a.nnz, &kAlpha<T>, descr, a.val.data(),
                        a.row_ptr.data(), a.col.data(), x.data(), ld, info, kAuto, buffer.data()));
      const std::vector<T> solved = x.host();
      const Csr<T> t = triangle(host, part);
      for (int j = 0; j < kRight; ++j)
        expect_solution(t, &solved[j * ld], &b[j * ld], kAlpha<T>, fmt::format("csrsm {}, {}", order, part.text()));
    }
  }
}

// The generic API, for compressed rows and for coordinates.
TYPED_TEST(Triangular, Generic) {
  using T = TypeParam;
  constexpr int kRight = 3;
  for (const int order : orders()) {
    const Csr<T> host = both_triangles<T>(order);
    const DeviceCsr<T> a(host);
    const Device<int> rows(row_indices(host));
    Random random(5);
    const std::vector<T> b = random.vector<T>(static_cast<size_t>(order) * kRight);
    const Device<T> db(b);
    for (const bool coordinates : {false, true}) {
      for (const Part& part : parts(false)) {
        const auto make_matrix = [&](SparseMatrix& matrix) {
          if (coordinates)
            OK(rocsparse_create_coo_descr(&matrix.raw, order, order, a.nnz, rows.data(), a.col.data(), a.val.data(),
                                          rocsparse_indextype_i32, rocsparse_index_base_zero, kDatatype<T>));
          else
            describe(matrix, a);
          const rocsparse_fill_mode fill = part.fill();
          const rocsparse_diag_type diag = part.diag();
          OK(rocsparse_spmat_set_attribute(matrix, rocsparse_spmat_fill_mode, &fill, sizeof fill));
          OK(rocsparse_spmat_set_attribute(matrix, rocsparse_spmat_diag_type, &diag, sizeof diag));
        };
        const Csr<T> t = triangle(host, part);
        const std::string what = fmt::format("{} {}, {}", coordinates ? "COO" : "CSR", order, part.text());
        {
          SparseMatrix matrix;
          make_matrix(matrix);
          const Device<T> x(static_cast<size_t>(order));
          DenseVector vb, vx;
          describe(vb, db, order);
          describe(vx, x, order);
          size_t bytes = 0;
          const auto call = [&](rocsparse_spsv_stage stage, void* buffer) {
            OK(rocsparse_spsv(handle(), operation(part.op), &kAlpha<T>, matrix, vb, vx, kDatatype<T>,
                              rocsparse_spsv_alg_default, stage, &bytes, buffer));
          };
          call(rocsparse_spsv_stage_buffer_size, nullptr);
          const Buffer buffer(bytes);
          call(rocsparse_spsv_stage_preprocess, buffer.data());
          call(rocsparse_spsv_stage_compute, buffer.data());
          expect_solution(t, x.host().data(), b.data(), kAlpha<T>, "spsv " + what);
        }
        SparseMatrix matrix;
        make_matrix(matrix);
        const Device<T> x(static_cast<size_t>(order) * kRight);
        DenseMatrix mb, mx;
        describe(mb, db, order, kRight, rocsparse_order_column, order);
        describe(mx, x, order, kRight, rocsparse_order_column, order);
        size_t bytes = 0;
        const auto call = [&](rocsparse_spsm_stage stage, void* buffer) {
          OK(rocsparse_spsm(handle(), operation(part.op), rocsparse_operation_none, &kAlpha<T>, matrix, mb, mx,
                            kDatatype<T>, rocsparse_spsm_alg_default, stage, &bytes, buffer));
        };
        call(rocsparse_spsm_stage_buffer_size, nullptr);
        const Buffer buffer(bytes);
        call(rocsparse_spsm_stage_preprocess, buffer.data());
        call(rocsparse_spsm_stage_compute, buffer.data());
        const std::vector<T> solved = x.host();
        for (int j = 0; j < kRight; ++j)
          expect_solution(t, &solved[j * order], &b[j * order], kAlpha<T>, "spsm " + what);
      }
    }
  }
}

TYPED_TEST(Triangular, Bsr) {
  using T = TypeParam;
  constexpr int kRight = 4;
  for (const int wanted_order : orders()) {
    for (const int dim : {2, 5, 16, 20}) {
      const int order = (wanted_order + dim - 1) / dim * dim;
      // Blocks of a triangle have both halves; solvers use one.
      const Csr<T> host = both_triangles<T>(order);
      const Bsr<T> blocks = bsr(host, dim, true);
      const Device<int> row_ptr(blocks.row_ptr), col(blocks.col);
      const Device<T> val(blocks.val);
      Random random(5);
      const std::vector<T> b = random.vector<T>(static_cast<size_t>(order) * kRight);
      const Device<T> db(b);
      const int mb = blocks.block_rows, nnzb = blocks.blocks();
      for (const Part& part : parts(false)) {
        const Descr descr(part.fill(), part.diag());
        const Csr<T> t = triangle(host, part);
        constexpr auto kRow = rocsparse_direction_row;
        constexpr auto kNone = rocsparse_operation_none;
        {
          const Info info;
          const Device<T> x(static_cast<size_t>(order));
          size_t bytes = 0;
          OK(bsrsv_buffer_size<T>(handle(), kRow, operation(part.op), mb, nnzb, descr, val.data(), row_ptr.data(),
                                  col.data(), dim, info, &bytes));
          const Buffer buffer(bytes);
          OK(bsrsv_analysis<T>(handle(), kRow, operation(part.op), mb, nnzb, descr, val.data(), row_ptr.data(),
                               col.data(), dim, info, kReuse, kAuto, buffer.data()));
          OK(bsrsv_solve<T>(handle(), kRow, operation(part.op), mb, nnzb, &kAlpha<T>, descr, val.data(), row_ptr.data(),
                            col.data(), dim, info, db.data(), x.data(), kAuto, buffer.data()));
          expect_solution(t, x.host().data(), b.data(), kAlpha<T>,
                          fmt::format("bsrsv {} in blocks of {}, {}", order, dim, part.text()));
        }
        const Info info;
        const Device<T> x(static_cast<size_t>(order) * kRight);
        size_t bytes = 0;
        OK(bsrsm_buffer_size<T>(handle(), kRow, operation(part.op), kNone, mb, kRight, nnzb, descr, val.data(),
                                row_ptr.data(), col.data(), dim, info, &bytes));
        const Buffer buffer(bytes);
        OK(bsrsm_analysis<T>(handle(), kRow, operation(part.op), kNone, mb, kRight, nnzb, descr, val.data(),
                             row_ptr.data(), col.data(), dim, info, kReuse, kAuto, buffer.data()));
        OK(bsrsm_solve<T>(handle(), kRow, operation(part.op), kNone, mb, kRight, nnzb, &kAlpha<T>, descr, val.data(),
                          row_ptr.data(), col.data(), dim, info, db.data(), order, x.data(), order, kAuto,
                          buffer.data()));
        const std::vector<T> solved = x.host();
        for (int j = 0; j < kRight; ++j)
          expect_solution(t, &solved[j * order], &b[j * order], kAlpha<T>,
                          fmt::format("bsrsm {} in blocks of {}, {}", order, dim, part.text()));
      }
    }
  }
}

TYPED_TEST(Triangular, ZeroPivot) {
  using T = TypeParam;
  Csr<T> host = both_triangles<T>(300);
  host = filtered(host, [](int i, int j) { return i != 123 || j != 123; });
  const DeviceCsr<T> a(host);
  const Device<T> b(std::vector<T>(300, make<T>(1, 0))), x(size_t{300});
  const Descr descr(rocsparse_fill_mode_lower, rocsparse_diag_type_non_unit);
  const Info info;
  constexpr auto kNone = rocsparse_operation_none;
  size_t bytes = 0;
  OK(csrsv_buffer_size<T>(handle(), kNone, 300, a.nnz, descr, a.val.data(), a.row_ptr.data(), a.col.data(), info,
                          &bytes));
  const Buffer buffer(bytes);
  OK(csrsv_analysis<T>(handle(), kNone, 300, a.nnz, descr, a.val.data(), a.row_ptr.data(), a.col.data(), info, kReuse,
                       kAuto, buffer.data()));
  int pivot = 0;
  EXPECT_EQ(rocsparse_csrsv_zero_pivot(handle(), descr, info, &pivot), rocsparse_status_zero_pivot);
  EXPECT_EQ(pivot, 123);
}

// Compressed columns with zeros, for products of factors.
template <typename T>
struct Factors {
  Csr<T> left, right_columns;
};
template <typename T>
Factors<T> lower_upper(const Csr<T>& f) {
  Csr<T> left = filtered(f, [](int i, int j) { return j <= i; });
  left.each([&](int i, int j, const T&, int k) {
    if (i == j) left.val[k] = make<T>(1, 0);
  });
  return {left, transposed(filtered(f, [](int i, int j) { return j >= i; }))};
}

// Factors of an incomplete factorisation give the matrix where it has elements. rocSPARSE's csric0 subtracts the
// conjugate of the sum that it should subtract (csric0_device.h and the reference in its own tests, rocsparse_host.cpp,
// alike), and bsric0 does so outside the blocks of `dim` rows on the diagonal, or everywhere where a row has more than
// 128 blocks, for which it has another kernel (bsric0_device.h); that is what is expected of them here.
template <typename T>
void expect_factors(const Factors<T>& f, const Csr<T>& matrix, bool cholesky, std::string_view what, int dim = 1) {
  std::vector<Sum<T>> wanted;
  std::vector<T> got;
  matrix.each([&](int i, int j, const T& v, int) {
    if (cholesky && j > i) return;
    Sum<T> sum;
    int a = f.left.row_ptr[i], b = f.right_columns.row_ptr[j];
    while (a < f.left.row_ptr[i + 1] && b < f.right_columns.row_ptr[j + 1]) {
      const int ca = f.left.col[a], cb = f.right_columns.col[b];
      if (ca == cb) {
        const bool swapped = cholesky && ca < j && i / dim != j / dim;
        sum.add(swapped ? conjugate(f.left.val[a]) : f.left.val[a],
                swapped ? conjugate(f.right_columns.val[b]) : f.right_columns.val[b]);
      }
      a += ca <= cb ? 1 : 0;
      b += cb <= ca ? 1 : 0;
    }
    sum.magnitude += std::abs(widen(v));
    sum.terms += 8;  // divisions and roots
    wanted.push_back(sum);
    got.push_back(v);
  });
  expect_sums(got, wanted, what);
}

template <typename T>
Factors<T> cholesky(const Csr<T>& f) {
  const Csr<T> lower = filtered(f, [](int i, int j) { return j <= i; });
  Csr<T> right = lower;  // column j of L' conjugated is row j of L, conjugated
  for (T& v : right.val) v = conjugate(v);
  return {lower, right};
}

TYPED_TEST(Factorisation, Csrilu0) {
  using T = TypeParam;
  for (const int order : orders()) {
    const Csr<T> host = dominant_matrix<T>(order, 4);
    const DeviceCsr<T> a(host);
    factorise_csrilu0<T>(order, a.nnz, Descr(), a.val.data(), a.row_ptr.data(), a.col.data());
    expect_factors(lower_upper(a.host()), host, false, fmt::format("csrilu0 {}", order));
  }
}

TYPED_TEST(Factorisation, Csric0) {
  using T = TypeParam;
  for (const int order : orders()) {
    const Csr<T> host = dominant_matrix<T>(order, 4);
    const DeviceCsr<T> a(host);
    factorise_csric0<T>(order, a.nnz, Descr(), a.val.data(), a.row_ptr.data(), a.col.data());
    expect_factors(cholesky(a.host()), host, true, fmt::format("csric0 {}", order));
  }
}

// The blocks' elements as a matrix in compressed rows, zeros included.
template <typename T>
Csr<T> unblocked(const Bsr<T>& b, const std::vector<T>& val) {
  const int dim = b.dim;
  Csr<T> m{.rows = b.block_rows * dim, .cols = b.block_cols * dim};
  for (int i = 0; i < m.rows; ++i) {
    for (int k = b.row_ptr[i / dim]; k < b.row_ptr[i / dim + 1]; ++k) {
      for (int c = 0; c < dim; ++c) {
        m.col.push_back(b.col[k] * dim + c);
        m.val.push_back(val[(static_cast<size_t>(k) * dim + i % dim) * dim + c]);
      }
    }
    m.row_ptr.push_back(m.nnz());
  }
  return m;
}

TYPED_TEST(Factorisation, Bsr) {
  using T = TypeParam;
  constexpr auto kRow = rocsparse_direction_row;
  // Blocks fill up: their elements are far more than those of the matrix.
  for (const int wanted_order : full() ? std::vector<int>{7, 64, 800} : std::vector<int>{7, 160}) {
    for (const int dim : {2, 5, 16, 20}) {
      const int order = (wanted_order + dim - 1) / dim * dim;
      const Bsr<T> host = bsr(dominant_matrix<T>(order, 3), dim, true);
      const Csr<T> whole = unblocked(host, host.val);
      int most_blocks = 0;
      for (int i = 0; i < host.block_rows; ++i)
        most_blocks = std::max(most_blocks, host.row_ptr[i + 1] - host.row_ptr[i]);
      const Device<int> row_ptr(host.row_ptr), col(host.col);
      const int mb = host.block_rows, nnzb = host.blocks();
      const Descr descr;
      const Device<T> lu(host.val), ll(host.val);
      factorise_bsrilu0<T>(kRow, mb, nnzb, descr, lu.data(), row_ptr.data(), col.data(), dim);
      expect_factors(lower_upper(unblocked(host, lu.host())), whole, false,
                     fmt::format("bsrilu0 {} in blocks of {}", order, dim));
      factorise_bsric0<T>(kRow, mb, nnzb, descr, ll.data(), row_ptr.data(), col.data(), dim);
      expect_factors(cholesky(unblocked(host, ll.host())), whole, true,
                     fmt::format("bsric0 {} in blocks of {}", order, dim), most_blocks > 128 ? 1 : dim);
    }
  }
}

// Three diagonals, with exchanges of rows and without.
TYPED_TEST(Triangular, Tridiagonal) {
  using T = TypeParam;
  constexpr int kRight = 3;
  for (const int order : full() ? std::vector<int>{5, 64, 513, 1024, 3000} : std::vector<int>{5, 600}) {
    Random random(9);
    std::vector<T> low = random.vector<T>(order), diagonal(order), up = random.vector<T>(order);
    low[0] = up[order - 1] = T{};
    for (int i = 0; i < order; ++i)
      diagonal[i] = make<T>(1, 0) * make<T>(2 + std::abs(low[i]) + std::abs(up[i]), 0) * random.value<T>();
    Csr<T> m{.rows = order, .cols = order};
    for (int i = 0; i < order; ++i) {
      // Larger than the rest of its row and column: the factors' elements are not larger than the matrix's.
      diagonal[i] = make<T>(4, 0) + diagonal[i] * make<T>(0.125, 0);
      for (int j = std::max(0, i - 1); j <= std::min(order - 1, i + 1); ++j) {
        m.col.push_back(j);
        m.val.push_back(j < i ? low[i] : j > i ? up[i] : diagonal[i]);
      }
      m.row_ptr.push_back(m.nnz());
    }
    const std::vector<T> b = random.vector<T>(static_cast<size_t>(order) * kRight);
    const Device<T> dl(low), d(diagonal), du(up);
    for (const bool pivot : {false, true}) {
      const Device<T> x(b);
      size_t bytes = 0;
      OK((pivot ? gtsv_buffer_size<T>(handle(), order, kRight, dl.data(), d.data(), du.data(), x.data(), order, &bytes)
                : gtsv_no_pivot_buffer_size<T>(handle(), order, kRight, dl.data(), d.data(), du.data(), x.data(), order,
                                               &bytes)));
      const Buffer buffer(bytes);
      OK((pivot ? gtsv<T>(handle(), order, kRight, dl.data(), d.data(), du.data(), x.data(), order, buffer.data())
                : gtsv_no_pivot<T>(handle(), order, kRight, dl.data(), d.data(), du.data(), x.data(), order,
                                   buffer.data())));
      const std::vector<T> solved = x.host();
      for (int j = 0; j < kRight; ++j) {
        std::vector<Sum<T>> wanted =
            multiply(m, &solved[j * order], make<T>(1, 0), T{}, static_cast<const T*>(nullptr));
        // Parallel elimination is stable for such matrices, not row by row: the bound is the largest row's, with a
        // factor for the steps.
        long double largest = 0;
        for (const Sum<T>& sum : wanted) largest = std::max(largest, sum.magnitude);
        for (Sum<T>& sum : wanted) {
          sum.magnitude = largest + 1;
          sum.terms = 64;
        }
        expect_sums(std::vector<T>(b.begin() + j * order, b.begin() + (j + 1) * order), wanted,
                    fmt::format("gtsv{} {}", pivot ? "" : "_no_pivot", order));
      }
    }
  }
}

}  // namespace
}  // namespace sparse_test
