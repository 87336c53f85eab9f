// Products and sums of sparse matrices.
#include "tests/rocsparse/expect.h"
#include "tests/rocsparse/rocsparse_api.h"
#include "tests/rocsparse/sizes.h"

namespace sparse_test {
namespace {

ROUTINE(csrgemm_buffer_size)
ROUTINE(csrgemm)
ROUTINE(csrgemm_numeric)
ROUTINE(csrgeam)

template <typename T>
class Spgemm : public ::testing::Test {};
TYPED_TEST_SUITE(Spgemm, Types, TypeNames);

template <typename T>
const T kAlpha = make<T>(1.5, -0.5);
template <typename T>
const T kBeta = make<T>(-0.75, 0.25);

// A sparse matrix of sums: elements in the order of rows and columns.
template <typename T>
struct Sums {
  Csr<T> pattern;
  std::vector<Sum<T>> sums;
};
template <typename T>
Sums<T> collect(int rows, int cols, const std::vector<std::map<int, Sum<T>>>& lines) {
  Sums<T> out{.pattern = {.rows = rows, .cols = cols}, .sums = {}};
  for (const auto& line : lines) {
    for (const auto& [j, sum] : line) {
      out.pattern.col.push_back(j);
      out.sums.push_back(sum);
    }
    out.pattern.row_ptr.push_back(out.pattern.nnz());
  }
  return out;
}

// alpha a b + beta d
template <typename T>
Sums<T> multiply_sparse(const Csr<T>& a, const Csr<T>& b, T alpha, const Csr<T>* d, T beta) {
  std::vector<std::map<int, Sum<T>>> lines(a.rows);
  a.each([&](int i, int k, const T& v, int) {
    for (int l = b.row_ptr[k]; l < b.row_ptr[k + 1]; ++l) lines[i][b.col[l]].add(v, b.val[l]);
  });
  for (auto& line : lines)
    for (auto& [j, sum] : line) sum.scale(alpha);
  if (d) d->each([&](int i, int j, const T& v, int) { lines[i][j].add(beta, v); });
  return collect(a.rows, b.cols, lines);
}

template <typename T>
int longest_row(const Csr<T>& m) {
  int longest = 0;
  for (int i = 0; i < m.rows; ++i) longest = std::max(longest, m.row_ptr[i + 1] - m.row_ptr[i]);
  return longest;
}

template <typename T>
void expect_sparse(const Csr<T>& got, const Sums<T>& wanted, std::string_view what) {
  expect_equal(got.row_ptr, wanted.pattern.row_ptr, fmt::format("{}, rows", what));
  expect_equal(got.col, wanted.pattern.col, fmt::format("{}, columns", what));
  expect_sums(got.val, wanted.sums, what);
}

// Rows from a few elements to more than any one kernel of the library takes (32, 64, ... 4096 products of a row).
template <typename T>
std::vector<std::pair<Csr<T>, Csr<T>>> operands() {
  std::vector<std::pair<Csr<T>, Csr<T>>> all;
  for (const Size& size : small_sizes())
    all.emplace_back(random_matrix<T>(size.rows, size.cols, size.usual, 1),
                     random_matrix<T>(size.cols, size.rows, size.usual, 2));
  if (full()) all.emplace_back(random_matrix<T>(300, 2000, 150, 1), random_matrix<T>(2000, 5000, 40, 2));
  return all;
}

// What csrgemm takes of a matrix.
template <typename T>
struct Taken {
  rocsparse_mat_descr descr = nullptr;
  int nnz = 0;
  const T* val = nullptr;
  const int *row_ptr = nullptr, *col = nullptr;
};

TYPED_TEST(Spgemm, Csrgemm) {
  using T = TypeParam;
  constexpr auto kNone = rocsparse_operation_none;
  for (const auto& [ha, hb] : operands<T>()) {
    const DeviceCsr<T> a(ha), b(hb);
    const Csr<T> hd = random_matrix<T>(ha.rows, hb.cols, 6, 3);
    const DeviceCsr<T> d(hd);
    const Descr da, db, dd, dc;
    for (const bool added : {false, true}) {
      const Info info;
      Taken<T> t;
      if (added) t = {dd, d.nnz, d.val.data(), d.row_ptr.data(), d.col.data()};
      const T* beta = added ? &kBeta<T> : nullptr;
      size_t bytes = 0;
      OK(csrgemm_buffer_size<T>(handle(), kNone, kNone, a.rows, b.cols, a.cols, &kAlpha<T>, da, a.nnz, a.row_ptr.data(),
                                a.col.data(), db, b.nnz, b.row_ptr.data(), b.col.data(), beta, t.descr, t.nnz,
                                t.row_ptr, t.col, info, &bytes));
      const Buffer buffer(std::max<size_t>(bytes, 4));
      const Device<int> row_ptr(static_cast<size_t>(a.rows) + 1);
      int nnz = 0;
      OK(rocsparse_csrgemm_nnz(handle(), kNone, kNone, a.rows, b.cols, a.cols, da, a.nnz, a.row_ptr.data(),
                               a.col.data(), db, b.nnz, b.row_ptr.data(), b.col.data(), t.descr, t.nnz, t.row_ptr,
                               t.col, dc, row_ptr.data(), &nnz, info, buffer.data()));
      const std::string what =
          fmt::format("csrgemm {} x {} x {}{}", a.rows, a.cols, b.cols, added ? " with a sum" : "");
      const Sums<T> wanted = multiply_sparse<T>(ha, hb, kAlpha<T>, added ? &hd : nullptr, kBeta<T>);
      ASSERT_EQ(nnz, wanted.pattern.nnz()) << what;
      const Device<int> col(static_cast<size_t>(nnz));
      const Device<T> val(static_cast<size_t>(nnz));
      OK(csrgemm<T>(handle(), kNone, kNone, a.rows, b.cols, a.cols, &kAlpha<T>, da, a.nnz, a.val.data(),
                    a.row_ptr.data(), a.col.data(), db, b.nnz, b.val.data(), b.row_ptr.data(), b.col.data(), beta,
                    t.descr, t.nnz, t.val, t.row_ptr, t.col, dc, val.data(), row_ptr.data(), col.data(), info,
                    buffer.data()));
      expect_sparse(
          Csr<T>{.rows = a.rows, .cols = b.cols, .row_ptr = row_ptr.host(), .col = col.host(), .val = val.host()},
          wanted, what);
      // rocSPARSE 5.3 forgets rows of 2049 to 4096 elements here if they are complex numbers of 64 bits: _symbolic
      // counts them among those of group 6, which _numeric leaves out for this type (`exceeding_smem`).
      const bool forgotten = Scalar<T>::kLetter == 'z' && longest_row(wanted.pattern) > 2048;
      if (!added && !forgotten) {
        // The pattern first, then the numbers.
        const Device<int> col2(static_cast<size_t>(nnz));
        const Device<T> val2(static_cast<size_t>(nnz));
        OK(rocsparse_csrgemm_symbolic(handle(), kNone, kNone, a.rows, b.cols, a.cols, da, a.nnz, a.row_ptr.data(),
                                      a.col.data(), db, b.nnz, b.row_ptr.data(), b.col.data(), t.descr, t.nnz,
                                      t.row_ptr, t.col, dc, nnz, row_ptr.data(), col2.data(), info, buffer.data()));
        expect_equal(col2.host(), wanted.pattern.col, what + ", symbolic");
        OK(csrgemm_numeric<T>(handle(), kNone, kNone, a.rows, b.cols, a.cols, &kAlpha<T>, da, a.nnz, a.val.data(),
                              a.row_ptr.data(), a.col.data(), db, b.nnz, b.val.data(), b.row_ptr.data(), b.col.data(),
                              beta, t.descr, t.nnz, t.val, t.row_ptr, t.col, dc, nnz, val2.data(), row_ptr.data(),
                              col2.data(), info, buffer.data()));
        expect_sums(val2.host(), wanted.sums, what + ", numeric");
      }
    }
  }
}

TYPED_TEST(Spgemm, Generic) {
  using T = TypeParam;
  constexpr auto kNone = rocsparse_operation_none;
  for (const auto& [ha, hb] : operands<T>()) {
    const DeviceCsr<T> a(ha), b(hb);
    const DeviceCsr<T> d(random_matrix<T>(ha.rows, hb.cols, 6, 3));
    const Csr<T> hd = d.host();
    const Device<int> row_ptr(static_cast<size_t>(a.rows) + 1);
    SparseMatrix ma, mb, md, mc;
    describe(ma, a);
    describe(mb, b);
    describe(md, d);
    OK(rocsparse_create_csr_descr(&mc.raw, a.rows, b.cols, 0, row_ptr.data(), nullptr, nullptr, rocsparse_indextype_i32,
                                  rocsparse_indextype_i32, rocsparse_index_base_zero, kDatatype<T>));
    size_t bytes = 0;
    const auto call = [&](rocsparse_spgemm_stage stage, void* buffer) {
      OK(rocsparse_spgemm(handle(), kNone, kNone, &kAlpha<T>, ma, mb, &kBeta<T>, md, mc, kDatatype<T>,
                          rocsparse_spgemm_alg_default, stage, &bytes, buffer));
    };
    call(rocsparse_spgemm_stage_buffer_size, nullptr);
    const Buffer buffer(std::max<size_t>(bytes, 4));
    call(rocsparse_spgemm_stage_nnz, buffer.data());
    int64_t rows = 0, cols = 0, nnz = 0;
    OK(rocsparse_spmat_get_size(mc, &rows, &cols, &nnz));
    const std::string what = fmt::format("spgemm {} x {} x {}", a.rows, a.cols, b.cols);
    const Sums<T> wanted = multiply_sparse<T>(ha, hb, kAlpha<T>, &hd, kBeta<T>);
    ASSERT_EQ(nnz, wanted.pattern.nnz()) << what;
    const Device<int> col(static_cast<size_t>(nnz));
    const Device<T> val(static_cast<size_t>(nnz));
    OK(rocsparse_csr_set_pointers(mc, row_ptr.data(), col.data(), val.data()));
    call(rocsparse_spgemm_stage_compute, buffer.data());
    expect_sparse(
        Csr<T>{.rows = a.rows, .cols = b.cols, .row_ptr = row_ptr.host(), .col = col.host(), .val = val.host()}, wanted,
        what);
  }
}

TYPED_TEST(Spgemm, Csrgeam) {
  using T = TypeParam;
  for (const Size& size : sizes()) {
    const Csr<T> ha = random_matrix<T>(size.rows, size.cols, size.usual, 1),
                 hb = random_matrix<T>(size.rows, size.cols, size.usual + 2, 2);
    const DeviceCsr<T> a(ha), b(hb);
    const Descr da, db, dc;
    const Device<int> row_ptr(static_cast<size_t>(a.rows) + 1);
    int nnz = 0;
    OK(rocsparse_csrgeam_nnz(handle(), a.rows, a.cols, da, a.nnz, a.row_ptr.data(), a.col.data(), db, b.nnz,
                             b.row_ptr.data(), b.col.data(), dc, row_ptr.data(), &nnz));
    std::vector<std::map<int, Sum<T>>> lines(a.rows);
    ha.each([&](int i, int j, const T& v, int) { lines[i][j].add(kAlpha<T>, v); });
    hb.each([&](int i, int j, const T& v, int) { lines[i][j].add(kBeta<T>, v); });
    const Sums<T> wanted = collect(a.rows, a.cols, lines);
    const std::string what = fmt::format("csrgeam {} x {}", a.rows, a.cols);
    ASSERT_EQ(nnz, wanted.pattern.nnz()) << what;
    const Device<int> col(static_cast<size_t>(nnz));
    const Device<T> val(static_cast<size_t>(nnz));
    OK(csrgeam<T>(handle(), a.rows, a.cols, &kAlpha<T>, da, a.nnz, a.val.data(), a.row_ptr.data(), a.col.data(),
                  &kBeta<T>, db, b.nnz, b.val.data(), b.row_ptr.data(), b.col.data(), dc, val.data(), row_ptr.data(),
                  col.data()));
    expect_sparse(
        Csr<T>{.rows = a.rows, .cols = a.cols, .row_ptr = row_ptr.host(), .col = col.host(), .val = val.host()}, wanted,
        what);
  }
}

}  // namespace
}  // namespace sparse_test
