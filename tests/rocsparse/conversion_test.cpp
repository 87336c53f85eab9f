// Conversions between formats, and sorting. Nothing is computed, so everything is compared bit by bit.
#include <algorithm>
#include <numeric>

#include "tests/rocsparse/expect.h"
#include "tests/rocsparse/rocsparse_api.h"
#include "tests/rocsparse/sizes.h"

namespace sparse_test {
namespace {

ROUTINE(csr2csc)
ROUTINE(csr2ell)
ROUTINE(ell2csr)
ROUTINE(csr2bsr)
ROUTINE(bsr2csr)
ROUTINE(csr2gebsr_buffer_size)
ROUTINE(csr2gebsr)
ROUTINE(gebsr2csr)
ROUTINE(csr2hyb)
ROUTINE(hyb2csr)
ROUTINE(csr2dense)
ROUTINE(csc2dense)
ROUTINE(coo2dense)
ROUTINE(dense2csr)
ROUTINE(dense2csc)
ROUTINE(dense2coo)
ROUTINE(nnz)
ROUTINE(nnz_compress)
ROUTINE(csr2csr_compress)

template <typename T>
class Conversion : public ::testing::Test {};
TYPED_TEST_SUITE(Conversion, Types, TypeNames);
// Indices only.
class Indices : public ::testing::Test {};

std::string name(std::string_view routine, const Size& size, int base) {
  return fmt::format("{} {} x {}, base {}", routine, size.rows, size.cols, base);
}

TEST_F(Indices, Csr2cooAndBack) {
  for (const Size& size : sizes()) {
    for (const int base : {0, 1}) {
      const Csr<float> host = random_matrix<float>(size.rows, size.cols, size.usual, 1, base);
      const DeviceCsr<float> a(host);
      const Device<int> row(static_cast<size_t>(a.nnz)), row_ptr(static_cast<size_t>(a.rows) + 1);
      OK(rocsparse_csr2coo(handle(), a.row_ptr.data(), a.nnz, a.rows, row.data(), index_base(base)));
      expect_equal(row.host(), row_indices(host), name("csr2coo", size, base));
      OK(rocsparse_coo2csr(handle(), row.data(), a.nnz, a.rows, row_ptr.data(), index_base(base)));
      expect_equal(row_ptr.host(), host.row_ptr, name("coo2csr", size, base));
    }
  }
}

// The elements of a matrix in any order, and what they are when sorted.
struct Shuffled {
  std::vector<int> row, col;  // as given
  std::vector<int> order;     // positions of the sorted ones
  explicit Shuffled(const Csr<float>& m, bool within_rows, bool by_column = false) {
    const std::vector<int> rows = row_indices(m);
    std::vector<int> given(m.nnz());
    std::iota(given.begin(), given.end(), 0);
    Random random(3);
    for (int k = 0; k < m.nnz(); ++k) {
      const int first = within_rows ? m.row_ptr[rows[k] - m.base] - m.base : 0;
      const int count = (within_rows ? m.row_ptr[rows[k] - m.base + 1] - m.base : m.nnz()) - first;
      std::swap(given[k], given[first + random.below(count)]);
    }
    for (const int k : given) {
      row.push_back(rows[k]);
      col.push_back(m.col[k]);
    }
    order.resize(given.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int x, int y) {
      return by_column ? std::pair(col[x], row[x]) < std::pair(col[y], row[y])
                       : std::pair(row[x], col[x]) < std::pair(row[y], col[y]);
    });
  }
  [[nodiscard]] std::vector<int> sorted(const std::vector<int>& given) const {
    std::vector<int> out;
    for (const int k : order) out.push_back(given[k]);
    return out;
  }
};

TEST_F(Indices, Coosort) {
  for (const Size& size : sizes()) {
    const Csr<float> host = random_matrix<float>(size.rows, size.cols, size.usual);
    for (const bool by_column : {false, true}) {
      const Shuffled given(host, false, by_column);
      const Device<int> row(given.row), col(given.col), permutation(given.row.size());
      const int count = host.nnz();
      OK(rocsparse_create_identity_permutation(handle(), count, permutation.data()));
      size_t bytes = 0;
      OK(rocsparse_coosort_buffer_size(handle(), host.rows, host.cols, count, row.data(), col.data(), &bytes));
      const Buffer buffer(bytes);
      OK((by_column ? rocsparse_coosort_by_column : rocsparse_coosort_by_row)(
          handle(), host.rows, host.cols, count, row.data(), col.data(), permutation.data(), buffer.data()));
      const std::string what = name(by_column ? "coosort by column" : "coosort by row", size, 0);
      expect_equal(row.host(), given.sorted(given.row), what + ", rows");
      expect_equal(col.host(), given.sorted(given.col), what + ", columns");
      expect_equal(permutation.host(), given.order, what + ", permutation");
    }
  }
}

TEST_F(Indices, CsrsortAndCscsort) {
  for (const Size& size : sizes()) {
    const Csr<float> host = random_matrix<float>(size.rows, size.cols, size.usual);
    const Shuffled given(host, true);
    const Descr descr;
    for (const bool columns : {false, true}) {
      const Device<int> row_ptr(host.row_ptr), col(given.col), permutation(given.col.size());
      const int count = host.nnz();
      OK(rocsparse_create_identity_permutation(handle(), count, permutation.data()));
      // Compressed columns are the same arrays of the transposed matrix.
      const int m = columns ? host.cols : host.rows, n = columns ? host.rows : host.cols;
      size_t bytes = 0;
      OK((columns ? rocsparse_cscsort_buffer_size : rocsparse_csrsort_buffer_size)(handle(), m, n, count,
                                                                                   row_ptr.data(), col.data(), &bytes));
      const Buffer buffer(std::max<size_t>(bytes, 4));
      OK((columns ? rocsparse_cscsort : rocsparse_csrsort)(handle(), m, n, count, descr, row_ptr.data(), col.data(),
                                                           permutation.data(), buffer.data()));
      const std::string what = name(columns ? "cscsort" : "csrsort", size, 0);
      expect_equal(col.host(), host.col, what);
      expect_equal(permutation.host(), given.order, what + ", permutation");
    }
  }
}

TYPED_TEST(Conversion, Csr2csc) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const int base : {0, 1}) {
      const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual, 1, base);
      const DeviceCsr<T> a(host), t(host.cols, host.rows, host.nnz(), base);
      size_t bytes = 0;
      OK(rocsparse_csr2csc_buffer_size(handle(), a.rows, a.cols, a.nnz, a.row_ptr.data(), a.col.data(),
                                       rocsparse_action_numeric, &bytes));
      const Buffer buffer(std::max<size_t>(bytes, 4));
      OK(csr2csc<T>(handle(), a.rows, a.cols, a.nnz, a.val.data(), a.row_ptr.data(), a.col.data(), t.val.data(),
                    t.col.data(), t.row_ptr.data(), rocsparse_action_numeric, index_base(base), buffer.data()));
      expect_same(t.host(), transposed(host), name("csr2csc", size, base));
    }
  }
}

TYPED_TEST(Conversion, Csr2ellAndBack) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const int base : {0, 1}) {
      const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual, 1, base);
      const DeviceCsr<T> a(host);
      const Descr descr(base);
      const Ell<T> wanted = ell(host);
      int width = 0;
      OK(rocsparse_csr2ell_width(handle(), a.rows, descr, a.row_ptr.data(), descr, &width));
      ASSERT_EQ(width, wanted.width);
      const Device<int> col(wanted.col.size());
      const Device<T> val(wanted.val.size());
      OK(csr2ell<T>(handle(), a.rows, descr, a.val.data(), a.row_ptr.data(), a.col.data(), descr, width, val.data(),
                    col.data()));
      // Padding is "some column that no row has": below the base.
      std::vector<int> got = col.host();
      std::vector<T> got_val = val.host();
      for (size_t k = 0; k < got.size(); ++k) {
        if (wanted.col[k] != -1) continue;
        EXPECT_LT(got[k], base) << k;
        got[k] = -1;
        got_val[k] = T{};
      }
      expect_equal(got, wanted.col, name("csr2ell, columns", size, base));
      expect_equal(got_val, wanted.val, name("csr2ell, values", size, base));
      int nnz = 0;
      const Device<int> row_ptr(host.row_ptr.size());
      OK(rocsparse_ell2csr_nnz(handle(), a.rows, a.cols, descr, width, col.data(), descr, row_ptr.data(), &nnz));
      ASSERT_EQ(nnz, a.nnz);
      const Device<int> col2(host.col.size());
      const Device<T> val2(host.val.size());
      OK(ell2csr<T>(handle(), a.rows, a.cols, descr, width, val.data(), col.data(), descr, val2.data(), row_ptr.data(),
                    col2.data()));
      expect_equal(row_ptr.host(), host.row_ptr, name("ell2csr, rows", size, base));
      expect_equal(col2.host(), host.col, name("ell2csr, columns", size, base));
      expect_equal(val2.host(), host.val, name("ell2csr, values", size, base));
    }
  }
}

// Blocks as a matrix of elements, zeros included.
template <typename T>
Csr<T> elements(const Bsr<T>& b, bool by_row) {
  const int dim = b.dim;
  Csr<T> m{.rows = b.block_rows * dim, .cols = b.block_cols * dim};
  for (int i = 0; i < m.rows; ++i) {
    for (int k = b.row_ptr[i / dim]; k < b.row_ptr[i / dim + 1]; ++k) {
      for (int c = 0; c < dim; ++c) {
        m.col.push_back(b.col[k] * dim + c);
        const int r = i % dim;
        m.val.push_back(b.val[static_cast<size_t>(k) * dim * dim + (by_row ? r * dim + c : c * dim + r)]);
      }
    }
    m.row_ptr.push_back(m.nnz());
  }
  return m;
}

TYPED_TEST(Conversion, Csr2bsrAndBack) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const int dim : {1, 2, 3, 4, 8, 15, 16, 32, 40}) {
      if (!fits_blocks(size, dim)) continue;
      for (const bool by_row : {false, true}) {
        const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
        const DeviceCsr<T> a(host);
        const Bsr<T> wanted = bsr(host, dim, by_row);
        const rocsparse_direction direction = by_row ? rocsparse_direction_row : rocsparse_direction_column;
        const Descr descr;
        const Device<int> row_ptr(wanted.row_ptr.size()), col(wanted.col.size());
        const Device<T> val(wanted.val.size());
        const std::string what = name(fmt::format("in blocks of {}", dim), size, 0);
        int blocks = 0;
        OK(rocsparse_csr2bsr_nnz(handle(), direction, a.rows, a.cols, descr, a.row_ptr.data(), a.col.data(), dim, descr,
                                 row_ptr.data(), &blocks));
        ASSERT_EQ(blocks, wanted.blocks()) << what;
        OK(csr2bsr<T>(handle(), direction, a.rows, a.cols, descr, a.val.data(), a.row_ptr.data(), a.col.data(), dim,
                      descr, val.data(), row_ptr.data(), col.data()));
        expect_equal(row_ptr.host(), wanted.row_ptr, "csr2bsr rows " + what);
        expect_equal(col.host(), wanted.col, "csr2bsr columns " + what);
        expect_equal(val.host(), wanted.val, "csr2bsr values " + what);
        const Csr<T> all = elements(wanted, by_row);
        const DeviceCsr<T> back(all.rows, all.cols, all.nnz());
        OK(bsr2csr<T>(handle(), direction, wanted.block_rows, wanted.block_cols, descr, val.data(), row_ptr.data(),
                      col.data(), dim, descr, back.val.data(), back.row_ptr.data(), back.col.data()));
        expect_same(back.host(), all, "bsr2csr " + what);
        // Blocks that might have two different sides.
        const Device<int> row_ptr2(wanted.row_ptr.size()), col2(wanted.col.size());
        const Device<T> val2(wanted.val.size());
        size_t bytes = 0;
        OK(csr2gebsr_buffer_size<T>(handle(), direction, a.rows, a.cols, descr, a.val.data(), a.row_ptr.data(),
                                    a.col.data(), dim, dim, &bytes));
        const Buffer buffer(std::max<size_t>(bytes, 4));
        OK(rocsparse_csr2gebsr_nnz(handle(), direction, a.rows, a.cols, descr, a.row_ptr.data(), a.col.data(), descr,
                                   row_ptr2.data(), dim, dim, &blocks, buffer.data()));
        ASSERT_EQ(blocks, wanted.blocks()) << what;
        OK(csr2gebsr<T>(handle(), direction, a.rows, a.cols, descr, a.val.data(), a.row_ptr.data(), a.col.data(), descr,
                        val2.data(), row_ptr2.data(), col2.data(), dim, dim, buffer.data()));
        expect_equal(row_ptr2.host(), wanted.row_ptr, "csr2gebsr rows " + what);
        expect_equal(col2.host(), wanted.col, "csr2gebsr columns " + what);
        expect_equal(val2.host(), wanted.val, "csr2gebsr values " + what);
        const DeviceCsr<T> back2(all.rows, all.cols, all.nnz());
        OK(gebsr2csr<T>(handle(), direction, wanted.block_rows, wanted.block_cols, descr, val2.data(), row_ptr2.data(),
                        col2.data(), dim, dim, descr, back2.val.data(), back2.row_ptr.data(), back2.col.data()));
        expect_same(back2.host(), all, "gebsr2csr " + what);
      }
    }
  }
}

TYPED_TEST(Conversion, Csr2hybAndBack) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    for (const auto partition : {rocsparse_hyb_partition_auto, rocsparse_hyb_partition_user}) {
      const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
      const int width = std::min(3, 2 * (host.nnz() - 1) / host.rows + 1);  // it takes no larger ones
      const DeviceCsr<T> a(host), back(host.rows, host.cols, host.nnz());
      const Descr descr;
      const Hybrid hybrid;
      OK(csr2hyb<T>(handle(), a.rows, a.cols, descr, a.val.data(), a.row_ptr.data(), a.col.data(), hybrid,
                    partition == rocsparse_hyb_partition_user ? width : 0, partition));
      size_t bytes = 0;
      OK(rocsparse_hyb2csr_buffer_size(handle(), descr, hybrid, back.row_ptr.data(), &bytes));
      const Buffer buffer(std::max<size_t>(bytes, 4));
      OK(hyb2csr<T>(handle(), descr, hybrid, back.val.data(), back.row_ptr.data(), back.col.data(), buffer.data()));
      expect_same(back.host(), host, name("hyb2csr", size, 0));
    }
  }
}

TYPED_TEST(Conversion, Dense) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    for (const int base : {0, 1}) {
      const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual, 1, base), columns = transposed(host);
      const DeviceCsr<T> a(host), c(columns);
      const Device<int> rows(row_indices(host));
      const std::vector<T> wanted = dense(host);
      const Descr descr(base);
      const int m = host.rows, n = host.cols;
      {
        const Device<T> d(wanted.size());
        OK(csr2dense<T>(handle(), m, n, descr, a.val.data(), a.row_ptr.data(), a.col.data(), d.data(), m));
        expect_equal(d.host(), wanted, name("csr2dense", size, base));
      }
      {
        const Device<T> d(wanted.size());
        OK(csc2dense<T>(handle(), m, n, descr, c.val.data(), c.row_ptr.data(), c.col.data(), d.data(), m));
        expect_equal(d.host(), wanted, name("csc2dense", size, base));
      }
      {
        const Device<T> d(wanted.size());
        OK(coo2dense<T>(handle(), m, n, a.nnz, descr, a.val.data(), rows.data(), a.col.data(), d.data(), m));
        expect_equal(d.host(), wanted, name("coo2dense", size, base));
      }
      const Device<T> d(wanted);
      const Device<int> per_row(static_cast<size_t>(m)), per_column(static_cast<size_t>(n));
      int total = 0;
      OK(nnz<T>(handle(), rocsparse_direction_row, m, n, descr, d.data(), m, per_row.data(), &total));
      ASSERT_EQ(total, a.nnz);
      OK(nnz<T>(handle(), rocsparse_direction_column, m, n, descr, d.data(), m, per_column.data(), &total));
      ASSERT_EQ(total, a.nnz);
      const auto counts = [](const Csr<T>& matrix) {
        std::vector<int> all(matrix.row_ptr.begin() + 1, matrix.row_ptr.end());
        for (size_t i = 0; i < all.size(); ++i) all[i] -= matrix.row_ptr[i];
        return all;
      };
      expect_equal(per_row.host(), counts(host), name("nnz of rows", size, base));
      expect_equal(per_column.host(), counts(columns), name("nnz of columns", size, base));
      {
        const DeviceCsr<T> out(m, n, a.nnz, base);
        OK(dense2csr<T>(handle(), m, n, descr, d.data(), m, per_row.data(), out.val.data(), out.row_ptr.data(),
                        out.col.data()));
        expect_same(out.host(), host, name("dense2csr", size, base));
      }
      {
        const DeviceCsr<T> out(n, m, a.nnz, base);
        OK(dense2csc<T>(handle(), m, n, descr, d.data(), m, per_column.data(), out.val.data(), out.row_ptr.data(),
                        out.col.data()));
        expect_same(out.host(), columns, name("dense2csc", size, base));
      }
      const Device<int> row(host.col.size()), col(host.col.size());
      const Device<T> val(host.val.size());
      OK(dense2coo<T>(handle(), m, n, descr, d.data(), m, per_row.data(), val.data(), row.data(), col.data()));
      expect_equal(row.host(), row_indices(host), name("dense2coo, rows", size, base));
      expect_equal(col.host(), host.col, name("dense2coo, columns", size, base));
      expect_equal(val.host(), host.val, name("dense2coo, values", size, base));
    }
  }
}

// The generic API.
TYPED_TEST(Conversion, SparseToDenseAndBack) {
  using T = TypeParam;
  for (const Size& size : small_sizes()) {
    const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
    const DeviceCsr<T> a(host);
    const std::vector<T> wanted = dense(host);
    const Device<T> d(wanted.size());
    SparseMatrix sparse;
    DenseMatrix matrix;
    describe(sparse, a);
    describe(matrix, d, host.rows, host.cols, rocsparse_order_column, host.rows);
    size_t bytes = 0;
    OK(rocsparse_sparse_to_dense(handle(), sparse, matrix, rocsparse_sparse_to_dense_alg_default, &bytes, nullptr));
    const Buffer first(std::max<size_t>(bytes, 4));
    OK(rocsparse_sparse_to_dense(handle(), sparse, matrix, rocsparse_sparse_to_dense_alg_default, nullptr,
                                 first.data()));
    expect_equal(d.host(), wanted, name("sparse_to_dense", size, 0));

    const Device<int> row_ptr(host.row_ptr.size());
    SparseMatrix back;
    OK(rocsparse_create_csr_descr(&back.raw, host.rows, host.cols, 0, row_ptr.data(), nullptr, nullptr,
                                  rocsparse_indextype_i32, rocsparse_indextype_i32, rocsparse_index_base_zero,
                                  kDatatype<T>));
    OK(rocsparse_dense_to_sparse(handle(), matrix, back, rocsparse_dense_to_sparse_alg_default, &bytes, nullptr));
    const Buffer second(std::max<size_t>(bytes, 4));
    OK(rocsparse_dense_to_sparse(handle(), matrix, back, rocsparse_dense_to_sparse_alg_default, nullptr,
                                 second.data()));
    int64_t rows = 0, cols = 0, count = 0;
    OK(rocsparse_spmat_get_size(back, &rows, &cols, &count));
    ASSERT_EQ(count, host.nnz());
    const Device<int> col(host.col.size());
    const Device<T> val(host.val.size());
    OK(rocsparse_csr_set_pointers(back, row_ptr.data(), col.data(), val.data()));
    OK(rocsparse_dense_to_sparse(handle(), matrix, back, rocsparse_dense_to_sparse_alg_default, &bytes, second.data()));
    expect_equal(row_ptr.host(), host.row_ptr, name("dense_to_sparse, rows", size, 0));
    expect_equal(col.host(), host.col, name("dense_to_sparse, columns", size, 0));
    expect_equal(val.host(), host.val, name("dense_to_sparse, values", size, 0));
  }
}

// Without the elements that are no larger than a number.
TYPED_TEST(Conversion, Compress) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    const Csr<T> host = random_matrix<T>(size.rows, size.cols, size.usual);
    const T limit = make<T>(0.5, 0);
    Csr<T> wanted{.rows = host.rows, .cols = host.cols};
    std::vector<int> counts(host.rows);
    host.each([&](int i, int j, const T& v, int) {
      if (std::abs(v) <= std::abs(limit)) return;
      ++counts[i];
      wanted.col.push_back(j);
      wanted.val.push_back(v);
    });
    for (const int c : counts) wanted.row_ptr.push_back(wanted.row_ptr.back() + c);
    const DeviceCsr<T> a(host), out(host.rows, host.cols, wanted.nnz());
    const Descr descr;
    const Device<int> per_row(counts.size());
    int count = 0;
    const auto number = [&] {  // by value, as rocSPARSE's own type
      if constexpr (Scalar<T>::kLetter == 'c')
        return rocsparse_float_complex{0.5f, 0};
      else if constexpr (Scalar<T>::kLetter == 'z')
        return rocsparse_double_complex{0.5, 0};
      else
        return limit;
    }();
    OK(nnz_compress<T>(handle(), a.rows, descr, a.val.data(), a.row_ptr.data(), per_row.data(), &count, number));
    ASSERT_EQ(count, wanted.nnz());
    expect_equal(per_row.host(), counts, name("nnz_compress", size, 0));
    OK(csr2csr_compress<T>(handle(), a.rows, a.cols, descr, a.val.data(), a.row_ptr.data(), a.col.data(), a.nnz,
                           per_row.data(), out.val.data(), out.row_ptr.data(), out.col.data(), number));
    expect_same(out.host(), wanted, name("csr2csr_compress", size, 0));
  }
}

}  // namespace
}  // namespace sparse_test
