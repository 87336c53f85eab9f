// rocSPARSE by type: `csrmv<T>(...)` is rocsparse_scsrmv, _dcsrmv, _ccsrmv or _zcsrmv. Handles that free themselves.
#pragma once

#include <rocsparse/rocsparse.h>

#include <memory>
#include <type_traits>

#include "tests/rocsparse/device.h"
#include "tests/rocsparse/matrix.h"

namespace sparse_test {

// rocSPARSE's complex types have the layout of std::complex.
template <typename P>
auto native(const P& value) {
  using V = std::remove_const_t<std::remove_pointer_t<P>>;
  if constexpr (std::is_pointer_v<P> && std::is_same_v<V, std::complex<float>>) {
    using Out = std::conditional_t<std::is_const_v<std::remove_pointer_t<P>>, const rocsparse_float_complex*,
                                   rocsparse_float_complex*>;
    return reinterpret_cast<Out>(value);
  } else if constexpr (std::is_pointer_v<P> && std::is_same_v<V, std::complex<double>>) {
    using Out = std::conditional_t<std::is_const_v<std::remove_pointer_t<P>>, const rocsparse_double_complex*,
                                   rocsparse_double_complex*>;
    return reinterpret_cast<Out>(value);
  } else if constexpr (requires { typename P::Handle; }) {
    return static_cast<typename P::Handle>(value);
  } else {
    return value;
  }
}

#define ROUTINE(name)                             \
  template <typename T, typename... Args>         \
  rocsparse_status name(const Args&... args) {    \
    if constexpr (Scalar<T>::kLetter == 's')      \
      return rocsparse_s##name(native(args)...);  \
    else if constexpr (Scalar<T>::kLetter == 'd') \
      return rocsparse_d##name(native(args)...);  \
    else if constexpr (Scalar<T>::kLetter == 'c') \
      return rocsparse_c##name(native(args)...);  \
    else                                          \
      return rocsparse_z##name(native(args)...);  \
  }

// An object that one function makes and another destroys.
template <typename Raw, rocsparse_status (*Create)(Raw*), rocsparse_status (*Destroy)(Raw)>
class Owned {
 public:
  using Handle = Raw;
  Owned() { OK(Create(&raw_)); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Destroy(raw_); }
  operator Raw() const { return raw_; }  // NOLINT: it stands for what it owns

 private:
  Raw raw_ = nullptr;
};
using Info = Owned<rocsparse_mat_info, rocsparse_create_mat_info, rocsparse_destroy_mat_info>;
using Hybrid = Owned<rocsparse_hyb_mat, rocsparse_create_hyb_mat, rocsparse_destroy_hyb_mat>;
using ColorInfo = Owned<rocsparse_color_info, rocsparse_create_color_info, rocsparse_destroy_color_info>;

class Descr : public Owned<rocsparse_mat_descr, rocsparse_create_mat_descr, rocsparse_destroy_mat_descr> {
 public:
  explicit Descr(int base = 0) {
    OK(rocsparse_set_mat_index_base(*this, base == 0 ? rocsparse_index_base_zero : rocsparse_index_base_one));
  }
  Descr(rocsparse_fill_mode fill, rocsparse_diag_type diag) : Descr() {
    OK(rocsparse_set_mat_fill_mode(*this, fill));
    OK(rocsparse_set_mat_diag_type(*this, diag));
  }
};

// The process's.
inline rocsparse_handle handle() {
  static const Owned<rocsparse_handle, rocsparse_create_handle, rocsparse_destroy_handle>* const instance =
      new Owned<rocsparse_handle, rocsparse_create_handle, rocsparse_destroy_handle>;
  return *instance;
}

inline rocsparse_operation operation(Op op) {
  return op == Op::none        ? rocsparse_operation_none
         : op == Op::transpose ? rocsparse_operation_transpose
                               : rocsparse_operation_conjugate_transpose;
}
inline rocsparse_index_base index_base(int base) {
  return base == 0 ? rocsparse_index_base_zero : rocsparse_index_base_one;
}

template <typename T>
constexpr rocsparse_datatype kDatatype = Scalar<T>::kLetter == 's'   ? rocsparse_datatype_f32_r
                                         : Scalar<T>::kLetter == 'd' ? rocsparse_datatype_f64_r
                                         : Scalar<T>::kLetter == 'c' ? rocsparse_datatype_f32_c
                                                                     : rocsparse_datatype_f64_c;

// A matrix on the device.
template <typename T>
struct DeviceCsr {
  explicit DeviceCsr(const Csr<T>& m)
      : rows(m.rows), cols(m.cols), nnz(m.nnz()), base(m.base), row_ptr(m.row_ptr), col(m.col), val(m.val) {}
  // To be written.
  DeviceCsr(int rows, int cols, int nnz, int base = 0)
      : rows(rows), cols(cols), nnz(nnz), base(base), row_ptr(rows + 1), col(nnz), val(nnz) {}
  [[nodiscard]] Csr<T> host() const {
    return {.rows = rows, .cols = cols, .base = base, .row_ptr = row_ptr.host(), .col = col.host(), .val = val.host()};
  }
  int rows, cols, nnz, base;
  Device<int> row_ptr, col;
  Device<T> val;
};

// Descriptors of the generic API.
template <auto Destroy, typename Raw>
struct Generic {
  Raw raw = nullptr;
  Generic() = default;
  Generic(const Generic&) = delete;
  Generic& operator=(const Generic&) = delete;
  ~Generic() { Destroy(raw); }
  operator Raw() const { return raw; }  // NOLINT: it stands for what it owns
};
using SparseMatrix = Generic<rocsparse_destroy_spmat_descr, rocsparse_spmat_descr>;
using SparseVector = Generic<rocsparse_destroy_spvec_descr, rocsparse_spvec_descr>;
using DenseVector = Generic<rocsparse_destroy_dnvec_descr, rocsparse_dnvec_descr>;
using DenseMatrix = Generic<rocsparse_destroy_dnmat_descr, rocsparse_dnmat_descr>;

template <typename T>
void describe(DenseVector& out, const Device<T>& v, size_t size) {
  OK(rocsparse_create_dnvec_descr(&out.raw, static_cast<int64_t>(size), v.data(), kDatatype<T>));
}
template <typename T>
void describe(DenseMatrix& out, const Device<T>& v, int rows, int cols, rocsparse_order order, int ld) {
  OK(rocsparse_create_dnmat_descr(&out.raw, rows, cols, ld, v.data(), kDatatype<T>, order));
}
template <typename T>
void describe(SparseMatrix& out, const DeviceCsr<T>& m) {
  OK(rocsparse_create_csr_descr(&out.raw, m.rows, m.cols, m.nnz, m.row_ptr.data(), m.col.data(), m.val.data(),
                                rocsparse_indextype_i32, rocsparse_indextype_i32, index_base(m.base), kDatatype<T>));
}

}  // namespace sparse_test
