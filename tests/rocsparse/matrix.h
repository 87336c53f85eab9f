// Sparse matrices on the host: how tests make them, and every format and operation spelt out as plain loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/rocsparse/scalar.h"

namespace sparse_test {

// Compressed rows, columns ascending. Indices count from `base`.
template <typename T>
struct Csr {
  int rows = 0, cols = 0, base = 0;
  std::vector<int> row_ptr{0};
  std::vector<int> col;
  std::vector<T> val;

  [[nodiscard]] int nnz() const { return static_cast<int>(col.size()); }
  // Visits (row, column, value, position), all counted from 0.
  template <typename Visit>
  void each(Visit&& visit) const {
    for (int i = 0; i < rows; ++i)
      for (int k = row_ptr[i] - base; k < row_ptr[i + 1] - base; ++k) visit(i, col[k] - base, val[k], k);
  }
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int below(int bound) { return static_cast<int>(engine_() % static_cast<uint32_t>(bound)); }
  // In [-1, 1), away from 0: a number that is lost is seen.
  double number() {
    const double magnitude = 0.25 + 0.75 * (engine_() >> 8) / 16777216.0;
    return (engine_() & 1) != 0 ? magnitude : -magnitude;
  }
  template <typename T>
  T value() {
    const double re = number();
    return make<T>(re, number());
  }
  template <typename T>
  std::vector<T> vector(size_t count) {
    std::vector<T> all(count);
    for (T& v : all) v = value<T>();
    return all;
  }

 private:
  std::mt19937 engine_;
};

// How many elements rows have: mostly around `usual`; every eleventh row is empty, row 5 is full up to 3000.
inline int row_length(Random& random, int row, int cols, int usual) {
  if (row == 5) return std::min(cols, 3000);
  if (row % 11 == 3) return 0;
  return std::min(cols, random.below(2 * usual + 1));
}

inline std::vector<int> some_columns(Random& random, int cols, int count) {
  std::vector<int> chosen;
  if (count * 3 > cols) {  // choosing by lot would take long
    for (int j = 0; j < cols; ++j) chosen.push_back(j);
    for (int j = 0; j < count; ++j) std::swap(chosen[j], chosen[j + random.below(cols - j)]);
    chosen.resize(count);
  } else {
    while (static_cast<int>(chosen.size()) < count) {
      for (int j = static_cast<int>(chosen.size()); j < count; ++j) chosen.push_back(random.below(cols));
      std::sort(chosen.begin(), chosen.end());
      chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

template <typename T>
Csr<T> random_matrix(int rows, int cols, int usual, uint32_t seed = 1, int base = 0) {
  Random random(seed);
  Csr<T> m{.rows = rows, .cols = cols, .base = base, .row_ptr = {base}};
  for (int i = 0; i < rows; ++i) {
    for (const int j : some_columns(random, cols, row_length(random, i, cols, usual))) {
      m.col.push_back(j + base);
      m.val.push_back(random.value<T>());
    }
    m.row_ptr.push_back(m.nnz() + base);
  }
  return m;
}

// Square, its pattern symmetric, Hermitian, with a real diagonal larger than the rest of its row: factorisations of it
// exist and are stable. Some rows have nothing but the diagonal; row 0 is a long one.
template <typename T>
Csr<T> dominant_matrix(int rows, int usual, uint32_t seed = 2) {
  Random random(seed);
  std::vector<std::map<int, T>> lines(rows);
  for (int i = 1; i < rows; ++i) {
    if (i % 11 == 3) continue;
    const int count = std::min(i, random.below(usual + 1));
    for (const int j : some_columns(random, i, count)) {
      if (j % 11 == 3) continue;
      const T value = random.value<T>();
      lines[i][j] = value;
      lines[j][i] = conjugate(value);
    }
    if (i % 4 == 1 && i < 2000) {
      const T value = random.value<T>();
      lines[i][0] = value;
      lines[0][i] = conjugate(value);
    }
  }
  Csr<T> m{.rows = rows, .cols = rows};
  for (int i = 0; i < rows; ++i) {
    double sum = 1;
    for (const auto& [j, value] : lines[i]) sum += std::abs(value);
    lines[i][i] = make<T>(sum, 0);
    for (const auto& [j, value] : lines[i]) {
      m.col.push_back(j);
      m.val.push_back(value);
    }
    m.row_ptr.push_back(m.nnz());
  }
  return m;
}

// Only the elements for which `wanted(row, column)`.
template <typename T, typename Wanted>
Csr<T> filtered(const Csr<T>& m, Wanted&& wanted) {
  Csr<T> out{.rows = m.rows, .cols = m.cols, .base = m.base, .row_ptr = {m.base}};
  int row = 0;
  const auto finish_rows = [&](int until) {
    for (; row < until; ++row) out.row_ptr.push_back(out.nnz() + out.base);
  };
  m.each([&](int i, int j, const T& v, int) {
    finish_rows(i);
    if (!wanted(i, j)) return;
    out.col.push_back(j + out.base);
    out.val.push_back(v);
  });
  finish_rows(m.rows);
  return out;
}

template <typename T>
std::vector<int> row_indices(const Csr<T>& m) {
  std::vector<int> rows(m.nnz());
  m.each([&](int i, int, const T&, int k) { rows[k] = i + m.base; });
  return rows;
}

// A transposed matrix in compressed rows is the matrix in compressed columns.
template <typename T>
Csr<T> transposed(const Csr<T>& m, bool conjugated = false) {
  Csr<T> t{.rows = m.cols, .cols = m.rows, .base = m.base};
  t.row_ptr.assign(m.cols + 1, 0);
  t.col.resize(m.nnz());
  t.val.resize(m.nnz());
  for (const int j : m.col) ++t.row_ptr[j - m.base + 1];
  for (int j = 0; j < m.cols; ++j) t.row_ptr[j + 1] += t.row_ptr[j];
  std::vector<int> next = t.row_ptr;
  m.each([&](int i, int j, const T& v, int) {
    t.col[next[j]] = i + m.base;
    t.val[next[j]++] = conjugated ? conjugate(v) : v;
  });
  for (int& p : t.row_ptr) p += m.base;
  return t;
}

// Column by column.
template <typename T>
std::vector<T> dense(const Csr<T>& m) {
  std::vector<T> all(static_cast<size_t>(m.rows) * m.cols);
  m.each([&](int i, int j, const T& v, int) { all[i + static_cast<size_t>(j) * m.rows] = v; });
  return all;
}

// ELLPACK: `width` elements of each row, the first of all rows first; column -1 where a row has fewer.
template <typename T>
struct Ell {
  int width = 0;
  std::vector<int> col;
  std::vector<T> val;
};
template <typename T>
Ell<T> ell(const Csr<T>& m) {
  Ell<T> e;
  for (int i = 0; i < m.rows; ++i) e.width = std::max(e.width, m.row_ptr[i + 1] - m.row_ptr[i]);
  e.col.assign(static_cast<size_t>(e.width) * m.rows, -1);
  e.val.resize(e.col.size());
  m.each([&](int i, int j, const T& v, int k) {
    const size_t at = i + static_cast<size_t>(k - (m.row_ptr[i] - m.base)) * m.rows;
    e.col[at] = j + m.base;
    e.val[at] = v;
  });
  return e;
}

// Compressed rows of blocks of `dim` by `dim` elements, which are stored row by row or column by column.
template <typename T>
struct Bsr {
  int block_rows = 0, block_cols = 0, dim = 0;
  std::vector<int> row_ptr{0}, col;
  std::vector<T> val;
  [[nodiscard]] int blocks() const { return static_cast<int>(col.size()); }
};
template <typename T>
Bsr<T> bsr(const Csr<T>& m, int dim, bool by_row) {
  Bsr<T> b{.block_rows = (m.rows + dim - 1) / dim, .block_cols = (m.cols + dim - 1) / dim, .dim = dim};
  const size_t size = static_cast<size_t>(dim) * dim;
  for (int bi = 0; bi < b.block_rows; ++bi) {
    std::map<int, std::vector<T>> line;
    for (int i = bi * dim; i < std::min(m.rows, bi * dim + dim); ++i) {
      for (int k = m.row_ptr[i] - m.base; k < m.row_ptr[i + 1] - m.base; ++k) {
        const int j = m.col[k] - m.base;
        std::vector<T>& block = line[j / dim];
        block.resize(size);
        const int r = i % dim, c = j % dim;
        block[by_row ? r * dim + c : c * dim + r] = m.val[k];
      }
    }
    for (const auto& [bj, block] : line) {
      b.col.push_back(bj + m.base);
      b.val.insert(b.val.end(), block.begin(), block.end());
    }
    b.row_ptr.push_back(b.blocks());
  }
  for (int& p : b.row_ptr) p += m.base;
  return b;
}

enum class Op { none, transpose, conjugate_transpose };
constexpr Op kOps[] = {Op::none, Op::transpose, Op::conjugate_transpose};

template <typename T>
Csr<T> with_operation(Op op, const Csr<T>& m) {
  return op == Op::none ? m : transposed(m, op == Op::conjugate_transpose);
}

// A sum of products, how many they were, and the sum of their magnitudes, from which the tolerance follows.
template <typename T>
struct Sum {
  Wide<T> value{};
  long double magnitude = 0;
  size_t terms = 0;

  void add(const T& a, const T& b) { add(widen(a), widen(b)); }
  void add(const Wide<T>& a, const Wide<T>& b) {
    value += a * b;
    magnitude += std::abs(a) * std::abs(b);
    ++terms;
  }
  // factor * this
  void scale(const T& factor) {
    value *= widen(factor);
    magnitude *= std::abs(widen(factor));
    ++terms;
  }
  [[nodiscard]] long double bound() const { return sum_bound<T>(terms, magnitude); }
};

// alpha * m * x + beta * y
template <typename T>
std::vector<Sum<T>> multiply(const Csr<T>& m, const T* x, T alpha, T beta, const T* y) {
  std::vector<Sum<T>> out(m.rows);
  m.each([&](int i, int j, const T& v, int) { out[i].add(v, x[j]); });
  for (int i = 0; i < m.rows; ++i) {
    out[i].scale(alpha);
    if (beta != T{}) out[i].add(beta, y[i]);
  }
  return out;
}

}  // namespace sparse_test
