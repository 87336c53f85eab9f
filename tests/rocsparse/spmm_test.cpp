// Sparse matrix times dense matrix, and products that are sparse in another place: C = alpha op(A) op(B) + beta C.
#include "tests/rocsparse/expect.h"
#include "tests/rocsparse/rocsparse_api.h"
#include "tests/rocsparse/sizes.h"

namespace sparse_test {
namespace {

ROUTINE(csrmm)
ROUTINE(bsrmm)
ROUTINE(gebsrmm)
ROUTINE(gemmi)
ROUTINE(gemvi)
ROUTINE(gemvi_buffer_size)

template <typename T>
class Spmm : public ::testing::Test {};
TYPED_TEST_SUITE(Spmm, Types, TypeNames);

// A dense matrix, column by column or row by row, with a leading dimension larger than it has to be.
template <typename T>
struct Dense {
  int rows, cols, ld;
  bool by_row;
  std::vector<T> val;

  Dense(int rows, int cols, uint32_t seed, bool by_row = false)
      : rows(rows), cols(cols), ld((by_row ? cols : rows) + 3), by_row(by_row) {
    Random random(seed);
    val = random.vector<T>(static_cast<size_t>(ld) * (by_row ? rows : cols));
  }
  [[nodiscard]] size_t at(int i, int j) const {
    return by_row ? static_cast<size_t>(i) * ld + j : static_cast<size_t>(j) * ld + i;
  }
};

template <typename T>
T element(Op op, const Dense<T>& m, int i, int j) {
  if (op == Op::none) return m.val[m.at(i, j)];
  const T v = m.val[m.at(j, i)];
  return op == Op::conjugate_transpose ? conjugate(v) : v;
}

// Compares C's elements, and that what is between its columns is as it was.
template <typename T>
void expect_product(const std::vector<T>& got, const Dense<T>& c, const Csr<T>& a, Op op_b, const Dense<T>& b, T alpha,
                    T beta, std::string_view what) {
  std::vector<Sum<T>> wanted(c.val.size());
  for (size_t k = 0; k < wanted.size(); ++k) wanted[k].value = widen(c.val[k]);
  std::vector<T> x(a.cols), y(a.rows);
  for (int j = 0; j < c.cols; ++j) {
    for (int i = 0; i < a.cols; ++i) x[i] = element(op_b, b, i, j);
    for (int i = 0; i < a.rows; ++i) y[i] = c.val[c.at(i, j)];
    const std::vector<Sum<T>> column = multiply(a, x.data(), alpha, beta, y.data());
    for (int i = 0; i < a.rows; ++i) wanted[c.at(i, j)] = column[i];
  }
  expect_sums(got, wanted, what);
}

template <typename T>
const T kAlpha = make<T>(1.5, -0.5);
template <typename T>
const T kBeta = make<T>(-0.75, 0.25);

std::vector<int> widths() {
  return full() ? std::vector<int>{1, 3, 8, 17, 32, 65} : std::vector<int>{1, 9, 33};
}

TYPED_TEST(Spmm, Csr) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    for (const int width : widths()) {
      for (const Op op_a : kOps) {
        for (const Op op_b : kOps) {
          const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
          const DeviceCsr<T> a(host);
          const Csr<T> applied = with_operation(op_a, host);
          const Dense<T> b(op_b == Op::none ? applied.cols : width, op_b == Op::none ? width : applied.cols, 3);
          const Dense<T> c(applied.rows, width, 4);
          const Device<T> db(b.val), dc(c.val);
          const Descr descr;
          OK(csrmm<T>(handle(), operation(op_a), operation(op_b), a.rows, width, a.cols, a.nnz, &kAlpha<T>, descr,
                      a.val.data(), a.row_ptr.data(), a.col.data(), db.data(), b.ld, &kBeta<T>, dc.data(), c.ld));
          expect_product(dc.host(), c, applied, op_b, b, kAlpha<T>, kBeta<T>,
                         fmt::format("csrmm {} x {} x {}, operations {} {}", size.rows, size.cols, width,
                                     static_cast<int>(op_a), static_cast<int>(op_b)));
        }
      }
    }
  }
}

TYPED_TEST(Spmm, Bsr) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    for (const int dim : {2, 4, 7, 16, 20, 33}) {
      if (!fits_blocks(size, dim)) continue;
      for (const int width : widths()) {
        for (const Op op_b : {Op::none, Op::transpose}) {
          const int rows = (size.rows + dim - 1) / dim * dim, cols = (size.cols + dim - 1) / dim * dim;
          const Csr<T> a = random_matrix<T>(rows, cols, size.usual);
          const bool by_row = dim % 2 == 0;
          const Bsr<T> host = bsr(a, dim, by_row);
          const Device<int> row_ptr(host.row_ptr), col(host.col);
          const Device<T> val(host.val);
          const Dense<T> b(op_b == Op::none ? cols : width, op_b == Op::none ? width : cols, 3);
          const Dense<T> c(rows, width, 4);
          const Device<T> db(b.val), dc(c.val), dc2(c.val);
          const Descr descr;
          const rocsparse_direction direction = by_row ? rocsparse_direction_row : rocsparse_direction_column;
          OK(bsrmm<T>(handle(), direction, rocsparse_operation_none, operation(op_b), host.block_rows, width,
                      host.block_cols, host.blocks(), &kAlpha<T>, descr, val.data(), row_ptr.data(), col.data(), dim,
                      db.data(), b.ld, &kBeta<T>, dc.data(), c.ld));
          const std::string what =
              fmt::format("{} x {} x {} in blocks of {}, operation {}", rows, cols, width, dim, static_cast<int>(op_b));
          expect_product(dc.host(), c, a, op_b, b, kAlpha<T>, kBeta<T>, "bsrmm " + what);
          OK(gebsrmm<T>(handle(), direction, rocsparse_operation_none, operation(op_b), host.block_rows, width,
                        host.block_cols, host.blocks(), &kAlpha<T>, descr, val.data(), row_ptr.data(), col.data(), dim,
                        dim, db.data(), b.ld, &kBeta<T>, dc2.data(), c.ld));
          expect_product(dc2.host(), c, a, op_b, b, kAlpha<T>, kBeta<T>, "gebsrmm " + what);
        }
      }
    }
  }
}

// The generic API: formats, algorithms and orders of storage.
template <typename T>
void generic(rocsparse_spmat_descr matrix, const Csr<T>& host, Op op_a, Op op_b, int width, bool by_row,
             rocsparse_spmm_alg algorithm, std::string_view format) {
  const Csr<T> applied = with_operation(op_a, host);
  const Dense<T> b(op_b == Op::none ? applied.cols : width, op_b == Op::none ? width : applied.cols, 3, by_row);
  const Dense<T> c(applied.rows, width, 4, by_row);
  const Device<T> db(b.val), dc(c.val);
  const rocsparse_order order = by_row ? rocsparse_order_row : rocsparse_order_column;
  DenseMatrix mb, mc;
  describe(mb, db, b.rows, b.cols, order, b.ld);
  describe(mc, dc, c.rows, c.cols, order, c.ld);
  size_t bytes = 0;
  const auto call = [&](rocsparse_spmm_stage stage, void* buffer) {
    OK(rocsparse_spmm(handle(), operation(op_a), operation(op_b), &kAlpha<T>, matrix, mb, &kBeta<T>, mc, kDatatype<T>,
                      algorithm, stage, &bytes, buffer));
  };
  call(rocsparse_spmm_stage_buffer_size, nullptr);
  const Buffer buffer(std::max<size_t>(bytes, 4));
  call(rocsparse_spmm_stage_preprocess, buffer.data());
  call(rocsparse_spmm_stage_compute, buffer.data());
  expect_product(dc.host(), c, applied, op_b, b, kAlpha<T>, kBeta<T>,
                 fmt::format("spmm {} {} x {} x {}, algorithm {}, operations {} {}, {}", format, host.rows, host.cols,
                             width, static_cast<int>(algorithm), static_cast<int>(op_a), static_cast<int>(op_b),
                             by_row ? "by row" : "by column"));
}

TYPED_TEST(Spmm, GenericCsr) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
    const DeviceCsr<T> a(host);
    SparseMatrix matrix;
    describe(matrix, a);
    for (const int width : widths()) {
      for (const bool by_row : {false, true}) {
        for (const Op op_b : {Op::none, Op::transpose}) {
          for (const auto algorithm :
               {rocsparse_spmm_alg_csr, rocsparse_spmm_alg_csr_row_split, rocsparse_spmm_alg_csr_merge})
            generic(matrix, host, Op::none, op_b, width, by_row, algorithm, "CSR");
        }
        generic(matrix, host, Op::transpose, Op::none, width, by_row, rocsparse_spmm_alg_csr, "CSR");
      }
    }
  }
}

TYPED_TEST(Spmm, GenericCoo) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
    const Device<int> row(row_indices(host)), col(host.col);
    const Device<T> val(host.val);
    SparseMatrix matrix;
    OK(rocsparse_create_coo_descr(&matrix.raw, host.rows, host.cols, host.nnz(), row.data(), col.data(), val.data(),
                                  rocsparse_indextype_i32, rocsparse_index_base_zero, kDatatype<T>));
    for (const int width : widths())
      for (const bool by_row : {false, true})
        for (const auto algorithm :
             {rocsparse_spmm_alg_coo_segmented, rocsparse_spmm_alg_coo_atomic, rocsparse_spmm_alg_coo_segmented_atomic})
          generic(matrix, host, Op::none, Op::none, width, by_row, algorithm, "COO");
  }
}

// Dense times sparse: C = alpha A B + beta C, B in compressed rows of its transpose.
TYPED_TEST(Spmm, Gemmi) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    const int m = 13, n = size.rows, k = size.cols;
    const Csr<T> host = random_matrix<T>(n, k, size.usual);  // B transposed
    const DeviceCsr<T> b(host);
    const Dense<T> a(m, k, 3), c(m, n, 4);
    const Device<T> da(a.val), dc(c.val);
    const Descr descr;
    OK(gemmi<T>(handle(), rocsparse_operation_none, rocsparse_operation_transpose, m, n, k, b.nnz, &kAlpha<T>,
                da.data(), a.ld, descr, b.val.data(), b.row_ptr.data(), b.col.data(), &kBeta<T>, dc.data(), c.ld));
    // The same as C' = alpha B' A' + beta C'.
    Dense<T> c_rows(n, m, 4, true);
    c_rows.ld = c.ld;
    c_rows.val = c.val;
    expect_product(dc.host(), c_rows, host, Op::transpose, a, kAlpha<T>, kBeta<T>, fmt::format("gemmi {} x {}", n, k));
  }
}

// Dense matrix times sparse vector.
TYPED_TEST(Spmm, Gemvi) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    const Dense<T> a(size.rows, size.cols, 3);
    Random random(5);
    const std::vector<int> at = some_columns(random, size.cols, (size.cols + 1) / 2);
    const std::vector<T> x = random.vector<T>(at.size()), y = random.vector<T>(size.rows);
    const Device<T> da(a.val), dx(x), dy(y);
    const Device<int> indices(at);
    const int count = static_cast<int>(at.size());
    size_t bytes = 0;
    OK(gemvi_buffer_size<T>(handle(), rocsparse_operation_none, a.rows, a.cols, count, &bytes));
    const Buffer buffer(bytes);
    OK(gemvi<T>(handle(), rocsparse_operation_none, a.rows, a.cols, &kAlpha<T>, da.data(), a.ld, count, dx.data(),
                indices.data(), &kBeta<T>, dy.data(), rocsparse_index_base_zero, buffer.data()));
    std::vector<Sum<T>> wanted(a.rows);
    for (int i = 0; i < a.rows; ++i) {
      for (int k = 0; k < count; ++k) wanted[i].add(a.val[a.at(i, at[k])], x[k]);
      wanted[i].scale(kAlpha<T>);
      wanted[i].add(kBeta<T>, y[i]);
    }
    expect_sums(dy.host(), wanted, fmt::format("gemvi {} x {}", a.rows, a.cols));
  }
}

// C = alpha (A B where C has elements) + beta C
TYPED_TEST(Spmm, Sddmm) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    for (const int inner : {1, 8, 37}) {
      const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
      const DeviceCsr<T> c(host);
      SparseMatrix mc;
      describe(mc, c);
      const Dense<T> a(size.rows, inner, 3), b(inner, size.cols, 4);
      const Device<T> da(a.val), db(b.val);
      DenseMatrix ma, mb;
      describe(ma, da, a.rows, a.cols, rocsparse_order_column, a.ld);
      describe(mb, db, b.rows, b.cols, rocsparse_order_column, b.ld);
      constexpr auto kNone = rocsparse_operation_none;
      size_t bytes = 0;
      OK(rocsparse_sddmm_buffer_size(handle(), kNone, kNone, &kAlpha<T>, ma, mb, &kBeta<T>, mc, kDatatype<T>,
                                     rocsparse_sddmm_alg_default, &bytes));
      const Buffer buffer(std::max<size_t>(bytes, 4));
      OK(rocsparse_sddmm_preprocess(handle(), kNone, kNone, &kAlpha<T>, ma, mb, &kBeta<T>, mc, kDatatype<T>,
                                    rocsparse_sddmm_alg_default, buffer.data()));
      OK(rocsparse_sddmm(handle(), kNone, kNone, &kAlpha<T>, ma, mb, &kBeta<T>, mc, kDatatype<T>,
                         rocsparse_sddmm_alg_default, buffer.data()));
      std::vector<Sum<T>> wanted(host.nnz());
      host.each([&](int i, int j, const T& v, int k) {
        for (int l = 0; l < inner; ++l) wanted[k].add(a.val[a.at(i, l)], b.val[b.at(l, j)]);
        wanted[k].scale(kAlpha<T>);
        wanted[k].add(kBeta<T>, v);
      });
      expect_sums(c.val.host(), wanted, fmt::format("sddmm {} x {} x {}", size.rows, size.cols, inner));
    }
  }
}

}  // namespace
}  // namespace sparse_test
