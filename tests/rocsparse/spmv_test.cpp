// Sparse matrix times dense vector: y = alpha op(A) x + beta y, in every format.
#include "tests/rocsparse/expect.h"
#include "tests/rocsparse/rocsparse_api.h"
#include "tests/rocsparse/sizes.h"

namespace sparse_test {
namespace {

ROUTINE(csrmv)
ROUTINE(csrmv_analysis)
ROUTINE(coomv)
ROUTINE(ellmv)
ROUTINE(bsrmv)
ROUTINE(gebsrmv)
ROUTINE(csr2hyb)
ROUTINE(hybmv)

template <typename T>
class Spmv : public ::testing::Test {};
TYPED_TEST_SUITE(Spmv, Types, TypeNames);

// What every case here is made of.
template <typename T>
struct Problem {
  Csr<T> a;
  Op op;
  std::vector<T> x, y;
  T alpha = make<T>(1.5, -0.5), beta = make<T>(-0.75, 0.25);

  Problem(const Size& size, Op op, int base = 0)
      : a(random_matrix<T>(size.rows, size.cols, size.usual, 1, base)), op(op) {
    Random random(7);
    x = random.vector<T>(op == Op::none ? size.cols : size.rows);
    y = random.vector<T>(op == Op::none ? size.rows : size.cols);
  }
  // Calls `run(x, y, alpha, beta)` with a beta and without, and compares.
  template <typename Run>
  void check(std::string_view what, Run&& run) const {
    const Csr<T> applied = with_operation(op, a);
    for (const T& b : {beta, T{}}) {
      const Device<T> dx(x), dy(y);
      run(dx, dy, &alpha, &b);
      expect_sums(dy.host(), multiply(applied, x.data(), alpha, b, y.data()),
                  fmt::format("{}, {} x {}, operation {}, beta {}", what, a.rows, a.cols, static_cast<int>(op),
                              b == T{} ? "0" : "not 0"));
    }
  }
};

template <typename T>
void csr_cases(bool analysed) {
  for (const Size& size : sizes()) {
    for (const Op op : kOps) {
      const Problem<T> p(size, op, op == Op::transpose ? 1 : 0);
      const DeviceCsr<T> a(p.a);
      const Descr descr(p.a.base);
      const Info info;
      const rocsparse_mat_info used = analysed ? static_cast<rocsparse_mat_info>(info) : nullptr;
      if (analysed)
        OK(csrmv_analysis<T>(handle(), operation(op), a.rows, a.cols, a.nnz, descr, a.val.data(), a.row_ptr.data(),
                             a.col.data(), used));
      p.check(analysed ? "csrmv, analysed" : "csrmv",
              [&](const Device<T>& x, const Device<T>& y, const T* alpha, const T* beta) {
                OK(csrmv<T>(handle(), operation(op), a.rows, a.cols, a.nnz, alpha, descr, a.val.data(),
                            a.row_ptr.data(), a.col.data(), used, x.data(), beta, y.data()));
              });
    }
  }
}
TYPED_TEST(Spmv, Csr) {
  csr_cases<TypeParam>(false);
}
TYPED_TEST(Spmv, CsrAnalysed) {
  csr_cases<TypeParam>(true);
}

TYPED_TEST(Spmv, Coo) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const Op op : kOps) {
      const Problem<T> p(size, op, op == Op::transpose ? 1 : 0);
      const Device<int> row(row_indices(p.a)), col(p.a.col);
      const Device<T> val(p.a.val);
      const Descr descr(p.a.base);
      p.check("coomv", [&](const Device<T>& x, const Device<T>& y, const T* alpha, const T* beta) {
        OK(coomv<T>(handle(), operation(op), p.a.rows, p.a.cols, p.a.nnz(), alpha, descr, val.data(), row.data(),
                    col.data(), x.data(), beta, y.data()));
      });
    }
  }
}

TYPED_TEST(Spmv, Ell) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const Op op : kOps) {
      const Problem<T> p(size, op);
      const Ell<T> host = ell(p.a);
      const Device<int> col(host.col);
      const Device<T> val(host.val);
      const Descr descr;
      p.check("ellmv", [&](const Device<T>& x, const Device<T>& y, const T* alpha, const T* beta) {
        OK(ellmv<T>(handle(), operation(op), p.a.rows, p.a.cols, alpha, descr, val.data(), col.data(), host.width,
                    x.data(), beta, y.data()));
      });
    }
  }
}

TYPED_TEST(Spmv, Hyb) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    const Problem<T> p(size, Op::none);
    const DeviceCsr<T> a(p.a);
    const Descr descr;
    const Hybrid hybrid;
    OK(csr2hyb<T>(handle(), a.rows, a.cols, descr, a.val.data(), a.row_ptr.data(), a.col.data(), hybrid, 0,
                  rocsparse_hyb_partition_auto));
    p.check("hybmv", [&](const Device<T>& x, const Device<T>& y, const T* alpha, const T* beta) {
      OK(hybmv<T>(handle(), rocsparse_operation_none, alpha, descr, hybrid, x.data(), beta, y.data()));
    });
  }
}

TYPED_TEST(Spmv, Bsr) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const int dim : {1, 2, 3, 5, 8, 16, 20, 33}) {
      if (!fits_blocks(size, dim)) continue;
      // Whole blocks, and a kernel of its own for each dimension.
      const Size whole{(size.rows + dim - 1) / dim * dim, (size.cols + dim - 1) / dim * dim, size.usual};
      const Problem<T> p(whole, Op::none);
      for (const bool by_row : {true, false}) {
        const Bsr<T> host = bsr(p.a, dim, by_row);
        const Device<int> row_ptr(host.row_ptr), col(host.col);
        const Device<T> val(host.val);
        const Descr descr;
        const rocsparse_direction direction = by_row ? rocsparse_direction_row : rocsparse_direction_column;
        p.check(fmt::format("bsrmv {}", dim), [&](const Device<T>& x, const Device<T>& y, const T* alpha,
                                                  const T* beta) {
          OK(bsrmv<T>(handle(), direction, rocsparse_operation_none, host.block_rows, host.block_cols, host.blocks(),
                      alpha, descr, val.data(), row_ptr.data(), col.data(), dim, x.data(), beta, y.data()));
        });
        // The same as a matrix of blocks whose sides happen to be equal.
        p.check(fmt::format("gebsrmv {}", dim), [&](const Device<T>& x, const Device<T>& y, const T* alpha,
                                                    const T* beta) {
          OK(gebsrmv<T>(handle(), direction, rocsparse_operation_none, host.block_rows, host.block_cols, host.blocks(),
                        alpha, descr, val.data(), row_ptr.data(), col.data(), dim, dim, x.data(), beta, y.data()));
        });
      }
    }
  }
}

// The generic API, which has one function for all formats and algorithms.
template <typename T>
void spmv(const Problem<T>& p, rocsparse_spmat_descr matrix, rocsparse_spmv_alg algorithm, std::string_view what) {
  p.check(what, [&](const Device<T>& x, const Device<T>& y, const T* alpha, const T* beta) {
    DenseVector dx, dy;
    describe(dx, x, p.x.size());
    describe(dy, y, p.y.size());
    size_t bytes = 0;
    const auto call = [&](size_t* size, void* buffer) {
      OK(rocsparse_spmv(handle(), operation(p.op), alpha, matrix, dx, beta, dy, kDatatype<T>, algorithm, size, buffer));
    };
    call(&bytes, nullptr);
    const Buffer buffer(std::max<size_t>(bytes, 4));
    call(&bytes, buffer.data());
  });
}

TYPED_TEST(Spmv, GenericCsr) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const Op op : kOps) {
      const Problem<T> p(size, op);
      const DeviceCsr<T> a(p.a);
      for (const auto algorithm : {rocsparse_spmv_alg_csr_adaptive, rocsparse_spmv_alg_csr_stream}) {
        SparseMatrix matrix;
        describe(matrix, a);
        spmv(p, matrix, algorithm, fmt::format("spmv CSR, algorithm {}", static_cast<int>(algorithm)));
      }
      // The same with indices of 64 bits.
      const Device<int64_t> row_ptr(std::vector<int64_t>(p.a.row_ptr.begin(), p.a.row_ptr.end())),
          col(std::vector<int64_t>(p.a.col.begin(), p.a.col.end()));
      SparseMatrix wide;
      OK(rocsparse_create_csr_descr(&wide.raw, a.rows, a.cols, a.nnz, row_ptr.data(), col.data(), a.val.data(),
                                    rocsparse_indextype_i64, rocsparse_indextype_i64, rocsparse_index_base_zero,
                                    kDatatype<T>));
      spmv(p, wide, rocsparse_spmv_alg_default, "spmv CSR, 64-bit indices");
    }
  }
}

TYPED_TEST(Spmv, GenericCsc) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const Op op : kOps) {
      const Problem<T> p(size, op);
      const DeviceCsr<T> columns(transposed(p.a));
      SparseMatrix matrix;
      OK(rocsparse_create_csc_descr(&matrix.raw, p.a.rows, p.a.cols, p.a.nnz(), columns.row_ptr.data(),
                                    columns.col.data(), columns.val.data(), rocsparse_indextype_i32,
                                    rocsparse_indextype_i32, rocsparse_index_base_zero, kDatatype<T>));
      spmv(p, matrix, rocsparse_spmv_alg_default, "spmv CSC");
    }
  }
}

TYPED_TEST(Spmv, GenericCoo) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const Op op : kOps) {
      const Problem<T> p(size, op, op == Op::transpose ? 1 : 0);
      const std::vector<int> rows = row_indices(p.a);
      const Device<int> row(rows), col(p.a.col);
      const Device<T> val(p.a.val);
      for (const auto algorithm : {rocsparse_spmv_alg_coo, rocsparse_spmv_alg_coo_atomic}) {
        SparseMatrix matrix;
        OK(rocsparse_create_coo_descr(&matrix.raw, p.a.rows, p.a.cols, p.a.nnz(), row.data(), col.data(), val.data(),
                                      rocsparse_indextype_i32, index_base(p.a.base), kDatatype<T>));
        spmv(p, matrix, algorithm, fmt::format("spmv COO, algorithm {}", static_cast<int>(algorithm)));
      }
      std::vector<int> pairs;
      for (size_t k = 0; k < rows.size(); ++k) pairs.insert(pairs.end(), {rows[k], p.a.col[k]});
      const Device<int> indices(pairs);
      SparseMatrix matrix;
      OK(rocsparse_create_coo_aos_descr(&matrix.raw, p.a.rows, p.a.cols, p.a.nnz(), indices.data(), val.data(),
                                        rocsparse_indextype_i32, index_base(p.a.base), kDatatype<T>));
      spmv(p, matrix, rocsparse_spmv_alg_default, "spmv COO of pairs");
    }
  }
}

TYPED_TEST(Spmv, GenericEll) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    const Problem<T> p(size, Op::none);
    const Ell<T> host = ell(p.a);
    const Device<int> col(host.col);
    const Device<T> val(host.val);
    SparseMatrix matrix;
    OK(rocsparse_create_ell_descr(&matrix.raw, p.a.rows, p.a.cols, col.data(), val.data(), host.width,
                                  rocsparse_indextype_i32, rocsparse_index_base_zero, kDatatype<T>));
    spmv(p, matrix, rocsparse_spmv_alg_ell, "spmv ELL");
  }
}

TYPED_TEST(Spmv, GenericBsr) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    constexpr int kDim = 4;
    const Size whole{(size.rows + kDim - 1) / kDim * kDim, (size.cols + kDim - 1) / kDim * kDim, size.usual};
    const Problem<T> p(whole, Op::none);
    const Bsr<T> host = bsr(p.a, kDim, true);
    const Device<int> row_ptr(host.row_ptr), col(host.col);
    const Device<T> val(host.val);
    SparseMatrix matrix;
    OK(rocsparse_create_bsr_descr(&matrix.raw, host.block_rows, host.block_cols, host.blocks(), rocsparse_direction_row,
                                  kDim, row_ptr.data(), col.data(), val.data(), rocsparse_indextype_i32,
                                  rocsparse_indextype_i32, rocsparse_index_base_zero, kDatatype<T>));
    spmv(p, matrix, rocsparse_spmv_alg_bsr, "spmv BSR");
  }
}

}  // namespace
}  // namespace sparse_test
