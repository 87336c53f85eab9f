// hipSPARSE, which hands everything on to rocSPARSE: its generic API, and some of the older one.
#include <hipsparse/hipsparse.h>

#include "tests/rocsparse/device.h"
#include "tests/rocsparse/expect.h"
#include "tests/rocsparse/sizes.h"

namespace sparse_test {
namespace {

template <typename T>
class Hipsparse : public ::testing::Test {
 protected:
  void SetUp() override { OK(hipsparseCreate(&handle_)); }
  void TearDown() override { OK(hipsparseDestroy(handle_)); }
  hipsparseHandle_t handle_ = nullptr;
};
TYPED_TEST_SUITE(Hipsparse, Types, TypeNames);

template <typename T>
constexpr hipDataType kDatatype = Scalar<T>::kLetter == 's'   ? HIP_R_32F
                                  : Scalar<T>::kLetter == 'd' ? HIP_R_64F
                                  : Scalar<T>::kLetter == 'c' ? HIP_C_32F
                                                              : HIP_C_64F;
// hipsparseScsr2csc and so on. Its complex types are those of HIP, two numbers one behind the other.
template <typename T, typename... Args>
hipsparseStatus_t csr2csc(hipsparseHandle_t handle, int m, int n, int nnz, const T* val, const int* row_ptr,
                          const int* col, T* csc_val, Args... rest) {
  if constexpr (Scalar<T>::kLetter == 's')
    return hipsparseScsr2csc(handle, m, n, nnz, val, row_ptr, col, csc_val, rest...);
  else if constexpr (Scalar<T>::kLetter == 'd')
    return hipsparseDcsr2csc(handle, m, n, nnz, val, row_ptr, col, csc_val, rest...);
  else if constexpr (Scalar<T>::kLetter == 'c')
    return hipsparseCcsr2csc(handle, m, n, nnz, reinterpret_cast<const hipComplex*>(val), row_ptr, col,
                             reinterpret_cast<hipComplex*>(csc_val), rest...);
  else
    return hipsparseZcsr2csc(handle, m, n, nnz, reinterpret_cast<const hipDoubleComplex*>(val), row_ptr, col,
                             reinterpret_cast<hipDoubleComplex*>(csc_val), rest...);
}

template <typename T>
const T kAlpha = make<T>(1.5, -0.5);
template <typename T>
const T kBeta = make<T>(-0.75, 0.25);

hipsparseOperation_t operation(Op op) {
  return op == Op::none        ? HIPSPARSE_OPERATION_NON_TRANSPOSE
         : op == Op::transpose ? HIPSPARSE_OPERATION_TRANSPOSE
                               : HIPSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}

// A matrix on the device, described as compressed rows and as coordinates.
template <typename T>
class Matrix {
 public:
  explicit Matrix(const Csr<T>& m) : row_ptr(m.row_ptr), row(row_indices(m)), col(m.col), val(m.val) {
    OK(hipsparseCreateCsr(&csr, m.rows, m.cols, m.nnz(), row_ptr.data(), col.data(), val.data(), HIPSPARSE_INDEX_32I,
                          HIPSPARSE_INDEX_32I, HIPSPARSE_INDEX_BASE_ZERO, kDatatype<T>));
    OK(hipsparseCreateCoo(&coo, m.rows, m.cols, m.nnz(), row.data(), col.data(), val.data(), HIPSPARSE_INDEX_32I,
                          HIPSPARSE_INDEX_BASE_ZERO, kDatatype<T>));
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() {
    hipsparseDestroySpMat(csr);
    hipsparseDestroySpMat(coo);
  }
  Device<int> row_ptr, row, col;
  Device<T> val;
  hipsparseSpMatDescr_t csr = nullptr, coo = nullptr;
};

template <typename T>
class DenseVector {
 public:
  explicit DenseVector(const Device<T>& v, size_t size) {
    OK(hipsparseCreateDnVec(&raw_, static_cast<int64_t>(size), v.data(), kDatatype<T>));
  }
  DenseVector(const DenseVector&) = delete;
  DenseVector& operator=(const DenseVector&) = delete;
  ~DenseVector() { hipsparseDestroyDnVec(raw_); }
  operator hipsparseDnVecDescr_t() const { return raw_; }  // NOLINT: it stands for what it owns

 private:
  hipsparseDnVecDescr_t raw_ = nullptr;
};

// HIPSPARSE_ORDER_COL, which hipSPARSE of ROCm 5.3 calls HIPSPARSE_ORDER_COLUMN.
constexpr auto kColumnOrder = static_cast<hipsparseOrder_t>(1);

// By column.
template <typename T>
class DenseMatrix {
 public:
  DenseMatrix(const Device<T>& v, int rows, int cols) {
    OK(hipsparseCreateDnMat(&raw_, rows, cols, rows, v.data(), kDatatype<T>, kColumnOrder));
  }
  DenseMatrix(const DenseMatrix&) = delete;
  DenseMatrix& operator=(const DenseMatrix&) = delete;
  ~DenseMatrix() { hipsparseDestroyDnMat(raw_); }
  operator hipsparseDnMatDescr_t() const { return raw_; }  // NOLINT: it stands for what it owns

 private:
  hipsparseDnMatDescr_t raw_ = nullptr;
};

TYPED_TEST(Hipsparse, SpMV) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const Op op : kOps) {
      const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual), applied = with_operation(op, host);
      const Matrix<T> a(host);
      Random random(7);
      const std::vector<T> x = random.vector<T>(applied.cols), y = random.vector<T>(applied.rows);
      const std::vector<Sum<T>> wanted = multiply(applied, x.data(), kAlpha<T>, kBeta<T>, y.data());
      const Device<T> dx(x);
      for (const bool coordinates : {false, true}) {
        const Device<T> dy(y);
        const DenseVector<T> vx(dx, x.size()), vy(dy, y.size());
        const hipsparseSpMatDescr_t matrix = coordinates ? a.coo : a.csr;
        size_t bytes = 0;
        OK(hipsparseSpMV_bufferSize(this->handle_, operation(op), &kAlpha<T>, matrix, vx, &kBeta<T>, vy, kDatatype<T>,
                                    HIPSPARSE_SPMV_ALG_DEFAULT, &bytes));
        const Buffer buffer(std::max<size_t>(bytes, 4));
        OK(hipsparseSpMV(this->handle_, operation(op), &kAlpha<T>, matrix, vx, &kBeta<T>, vy, kDatatype<T>,
                         HIPSPARSE_SPMV_ALG_DEFAULT, buffer.data()));
        expect_sums(dy.host(), wanted,
                    fmt::format("SpMV {} {} x {}, operation {}", coordinates ? "COO" : "CSR", size.rows, size.cols,
                                static_cast<int>(op)));
      }
    }
  }
}

TYPED_TEST(Hipsparse, SpMM) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    for (const int width : {1, 9, 33}) {
      const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
      const Matrix<T> a(host);
      Random random(7);
      const std::vector<T> b = random.vector<T>(static_cast<size_t>(host.cols) * width),
                           c = random.vector<T>(static_cast<size_t>(host.rows) * width);
      std::vector<Sum<T>> wanted;
      for (int j = 0; j < width; ++j) {
        const std::vector<Sum<T>> column = multiply(host, &b[static_cast<size_t>(j) * host.cols], kAlpha<T>, kBeta<T>,
                                                    &c[static_cast<size_t>(j) * host.rows]);
        wanted.insert(wanted.end(), column.begin(), column.end());
      }
      const Device<T> db(b);
      for (const bool coordinates : {false, true}) {
        const Device<T> dc(c);
        const DenseMatrix<T> mb(db, host.cols, width), mc(dc, host.rows, width);
        const hipsparseSpMatDescr_t matrix = coordinates ? a.coo : a.csr;
        constexpr auto kNone = HIPSPARSE_OPERATION_NON_TRANSPOSE;
        size_t bytes = 0;
        OK(hipsparseSpMM_bufferSize(this->handle_, kNone, kNone, &kAlpha<T>, matrix, mb, &kBeta<T>, mc, kDatatype<T>,
                                    HIPSPARSE_SPMM_ALG_DEFAULT, &bytes));
        const Buffer buffer(std::max<size_t>(bytes, 4));
        OK(hipsparseSpMM_preprocess(this->handle_, kNone, kNone, &kAlpha<T>, matrix, mb, &kBeta<T>, mc, kDatatype<T>,
                                    HIPSPARSE_SPMM_ALG_DEFAULT, buffer.data()));
        OK(hipsparseSpMM(this->handle_, kNone, kNone, &kAlpha<T>, matrix, mb, &kBeta<T>, mc, kDatatype<T>,
                         HIPSPARSE_SPMM_ALG_DEFAULT, buffer.data()));
        expect_sums(dc.host(), wanted,
                    fmt::format("SpMM {} {} x {} x {}", coordinates ? "COO" : "CSR", size.rows, size.cols, width));
      }
    }
  }
}

TYPED_TEST(Hipsparse, SpGEMM) {
  using T = TypeParam;
  constexpr auto kNone = HIPSPARSE_OPERATION_NON_TRANSPOSE;
  for (const Size& size : small_sizes()) {
    const Csr<T> ha = random_matrix<T>(size.rows, size.cols, size.usual, 1),
                 hb = random_matrix<T>(size.cols, size.rows, size.usual, 2);
    std::vector<std::map<int, Sum<T>>> lines(ha.rows);
    ha.each([&](int i, int k, const T& v, int) {
      for (int l = hb.row_ptr[k]; l < hb.row_ptr[k + 1]; ++l) lines[i][hb.col[l]].add(v, hb.val[l]);
    });
    std::vector<int> row_ptr{0}, col;
    std::vector<Sum<T>> sums;
    for (auto& line : lines) {
      for (auto& [j, sum] : line) {
        sum.scale(kAlpha<T>);
        col.push_back(j);
        sums.push_back(sum);
      }
      row_ptr.push_back(static_cast<int>(col.size()));
    }
    const Matrix<T> a(ha), b(hb);
    const Device<int> got_row_ptr(row_ptr.size());
    hipsparseSpMatDescr_t c = nullptr;
    hipsparseSpGEMMDescr_t product = nullptr;
    OK(hipsparseCreateCsr(&c, ha.rows, hb.cols, 0, got_row_ptr.data(), nullptr, nullptr, HIPSPARSE_INDEX_32I,
                          HIPSPARSE_INDEX_32I, HIPSPARSE_INDEX_BASE_ZERO, kDatatype<T>));
    OK(hipsparseSpGEMM_createDescr(&product));
    const T none{};
    const auto estimate = [&](size_t* bytes, void* buffer) {
      OK(hipsparseSpGEMM_workEstimation(this->handle_, kNone, kNone, &kAlpha<T>, a.csr, b.csr, &none, c, kDatatype<T>,
                                        HIPSPARSE_SPGEMM_DEFAULT, product, bytes, buffer));
    };
    const auto compute = [&](size_t* bytes, void* buffer) {
      OK(hipsparseSpGEMM_compute(this->handle_, kNone, kNone, &kAlpha<T>, a.csr, b.csr, &none, c, kDatatype<T>,
                                 HIPSPARSE_SPGEMM_DEFAULT, product, bytes, buffer));
    };
    size_t bytes = 0;
    estimate(&bytes, nullptr);
    const Buffer first(std::max<size_t>(bytes, 4));
    estimate(&bytes, first.data());
    compute(&bytes, nullptr);
    const Buffer second(std::max<size_t>(bytes, 4));
    compute(&bytes, second.data());
    int64_t rows = 0, cols = 0, nnz = 0;
    OK(hipsparseSpMatGetSize(c, &rows, &cols, &nnz));
    ASSERT_EQ(nnz, static_cast<int64_t>(col.size()));
    const Device<int> got_col(col.size());
    const Device<T> got_val(col.size());
    OK(hipsparseCsrSetPointers(c, got_row_ptr.data(), got_col.data(), got_val.data()));
    OK(hipsparseSpGEMM_copy(this->handle_, kNone, kNone, &kAlpha<T>, a.csr, b.csr, &none, c, kDatatype<T>,
                            HIPSPARSE_SPGEMM_DEFAULT, product));
    const std::string what = fmt::format("SpGEMM {} x {} x {}", ha.rows, ha.cols, hb.cols);
    expect_equal(got_row_ptr.host(), row_ptr, what + ", rows");
    expect_equal(got_col.host(), col, what + ", columns");
    expect_sums(got_val.host(), sums, what);
    OK(hipsparseSpGEMM_destroyDescr(product));
    OK(hipsparseDestroySpMat(c));
  }
}

// Checked by putting the solution in.
TYPED_TEST(Hipsparse, SpSVAndSpSM) {
  using T = TypeParam;
  constexpr int kRight = 3;
  constexpr auto kNone = HIPSPARSE_OPERATION_NON_TRANSPOSE;
  for (const int order : {7, 1200}) {
    const Csr<T> host = dominant_matrix<T>(order, 4);
    Random random(5);
    const std::vector<T> b = random.vector<T>(static_cast<size_t>(order) * kRight);
    const Device<T> db(b);
    for (const bool lower : {true, false}) {
      const hipsparseFillMode_t fill = lower ? HIPSPARSE_FILL_MODE_LOWER : HIPSPARSE_FILL_MODE_UPPER;
      const hipsparseDiagType_t diag = HIPSPARSE_DIAG_TYPE_NON_UNIT;
      // A description remembers that it was analysed, not for what: one for each solver.
      const Matrix<T> for_vector(host), for_matrix(host);
      for (const hipsparseSpMatDescr_t matrix : {for_vector.csr, for_matrix.csr}) {
        OK(hipsparseSpMatSetAttribute(matrix, HIPSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
        OK(hipsparseSpMatSetAttribute(matrix, HIPSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag));
      }
      const Csr<T> t = filtered(host, [&](int i, int j) { return lower ? j <= i : j >= i; });
      const auto check = [&](const std::vector<T>& x, int columns, const char* what) {
        for (int c = 0; c < columns; ++c) {
          std::vector<Sum<T>> wanted =
              multiply(t, &x[static_cast<size_t>(c) * order], make<T>(1, 0), T{}, static_cast<const T*>(nullptr));
          std::vector<T> right(order);
          for (int i = 0; i < order; ++i) {
            right[i] = kAlpha<T> * b[static_cast<size_t>(c) * order + i];
            wanted[i].magnitude += std::abs(right[i]);
            wanted[i].terms += 8;  // division by a complex diagonal
          }
          expect_sums(right, wanted, fmt::format("{} {}, {}", what, order, lower ? "lower" : "upper"));
        }
      };
      {
        const Device<T> x(static_cast<size_t>(order));
        const DenseVector<T> vb(db, order), vx(x, order);
        hipsparseSpSVDescr_t solver = nullptr;
        OK(hipsparseSpSV_createDescr(&solver));
        size_t bytes = 0;
        OK(hipsparseSpSV_bufferSize(this->handle_, kNone, &kAlpha<T>, for_vector.csr, vb, vx, kDatatype<T>,
                                    HIPSPARSE_SPSV_ALG_DEFAULT, solver, &bytes));
        const Buffer buffer(std::max<size_t>(bytes, 4));
        OK(hipsparseSpSV_analysis(this->handle_, kNone, &kAlpha<T>, for_vector.csr, vb, vx, kDatatype<T>,
                                  HIPSPARSE_SPSV_ALG_DEFAULT, solver, buffer.data()));
        OK(hipsparseSpSV_solve(this->handle_, kNone, &kAlpha<T>, for_vector.csr, vb, vx, kDatatype<T>,
                               HIPSPARSE_SPSV_ALG_DEFAULT, solver, buffer.data()));
        check(x.host(), 1, "SpSV");
        OK(hipsparseSpSV_destroyDescr(solver));
      }
      const Device<T> x(b.size());
      const DenseMatrix<T> mb(db, order, kRight), mx(x, order, kRight);
      hipsparseSpSMDescr_t solver = nullptr;
      OK(hipsparseSpSM_createDescr(&solver));
      size_t bytes = 0;
      OK(hipsparseSpSM_bufferSize(this->handle_, kNone, kNone, &kAlpha<T>, for_matrix.csr, mb, mx, kDatatype<T>,
                                  HIPSPARSE_SPSM_ALG_DEFAULT, solver, &bytes));
      const Buffer buffer(std::max<size_t>(bytes, 4));
      OK(hipsparseSpSM_analysis(this->handle_, kNone, kNone, &kAlpha<T>, for_matrix.csr, mb, mx, kDatatype<T>,
                                HIPSPARSE_SPSM_ALG_DEFAULT, solver, buffer.data()));
      OK(hipsparseSpSM_solve(this->handle_, kNone, kNone, &kAlpha<T>, for_matrix.csr, mb, mx, kDatatype<T>,
                             HIPSPARSE_SPSM_ALG_DEFAULT, solver, buffer.data()));
      check(x.host(), kRight, "SpSM");
      OK(hipsparseSpSM_destroyDescr(solver));
    }
  }
}

TYPED_TEST(Hipsparse, Csr2csc) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual), wanted = transposed(host);
    const Matrix<T> a(host);
    const Device<int> row_ptr(wanted.row_ptr.size()), col(wanted.col.size());
    const Device<T> val(wanted.val.size());
    OK(csr2csc<T>(this->handle_, host.rows, host.cols, host.nnz(), a.val.data(), a.row_ptr.data(), a.col.data(),
                  val.data(), col.data(), row_ptr.data(), HIPSPARSE_ACTION_NUMERIC, HIPSPARSE_INDEX_BASE_ZERO));
    expect_same(
        Csr<T>{
            .rows = wanted.rows, .cols = wanted.cols, .row_ptr = row_ptr.host(), .col = col.host(), .val = val.host()},
        wanted, fmt::format("csr2csc {} x {}", size.rows, size.cols));
  }
}

}  // namespace
}  // namespace sparse_test
