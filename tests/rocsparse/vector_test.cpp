// Sparse vectors with dense ones.
#include "tests/rocsparse/expect.h"
#include "tests/rocsparse/rocsparse_api.h"
#include "tests/rocsparse/sizes.h"

namespace sparse_test {
namespace {

ROUTINE(axpyi)
ROUTINE(doti)
ROUTINE(gthr)
ROUTINE(gthrz)
ROUTINE(sctr)

template <typename T>
class Vector : public ::testing::Test {};
TYPED_TEST_SUITE(Vector, Types, TypeNames);

template <typename T>
struct Problem {
  int size, base;
  std::vector<int> at, indices;  // from 0, from the base
  std::vector<T> x, y;

  Problem(int size, int base) : size(size), base(base) {
    Random random(11);
    at = some_columns(random, size, (size + 2) / 3);
    for (const int i : at) indices.push_back(i + base);
    x = random.vector<T>(at.size());
    y = random.vector<T>(size);
  }
  [[nodiscard]] int count() const { return static_cast<int>(at.size()); }
};

template <typename T>
std::vector<Problem<T>> problems() {
  std::vector<Problem<T>> all;
  for (const int size : full() ? std::vector<int>{1, 63, 1000, 100000} : std::vector<int>{1, 63, 5000})
    for (const int base : {0, 1}) all.emplace_back(size, base);
  return all;
}

template <typename T>
const T kAlpha = make<T>(1.5, -0.5);
template <typename T>
const T kBeta = make<T>(-0.75, 0.25);

// Everything exact but the product.
template <typename T>
std::vector<Sum<T>> plain(const std::vector<T>& v) {
  std::vector<Sum<T>> out(v.size());
  for (size_t i = 0; i < v.size(); ++i) out[i].value = widen(v[i]);
  return out;
}

TYPED_TEST(Vector, GatherAndScatter) {
  using T = TypeParam;
  for (const Problem<T>& p : problems<T>()) {
    const std::string what = fmt::format("of {}, base {}", p.size, p.base);
    const Device<int> indices(p.indices);
    std::vector<T> gathered, zeroed = p.y, scattered = p.y;
    for (int k = 0; k < p.count(); ++k) {
      gathered.push_back(p.y[p.at[k]]);
      zeroed[p.at[k]] = T{};
      scattered[p.at[k]] = p.x[k];
    }
    const Device<T> y(p.y), x(p.x.size()), given(p.x), y2(p.y), x2(p.x.size());
    OK(gthr<T>(handle(), p.count(), y.data(), x.data(), indices.data(), index_base(p.base)));
    expect_equal(x.host(), gathered, "gthr " + what);
    OK(gthrz<T>(handle(), p.count(), y2.data(), x2.data(), indices.data(), index_base(p.base)));
    expect_equal(x2.host(), gathered, "gthrz " + what);
    expect_equal(y2.host(), zeroed, "gthrz, the rest " + what);
    OK(sctr<T>(handle(), p.count(), given.data(), indices.data(), y.data(), index_base(p.base)));
    expect_equal(y.host(), scattered, "sctr " + what);

    const Device<T> y3(p.y), x3(p.x.size());
    SparseVector vx, vgiven;
    DenseVector vy;
    const auto sparse = [&](SparseVector& out, const Device<T>& values) {
      OK(rocsparse_create_spvec_descr(&out.raw, p.size, p.count(), indices.data(), values.data(),
                                      rocsparse_indextype_i32, index_base(p.base), kDatatype<T>));
    };
    sparse(vx, x3);
    sparse(vgiven, given);
    describe(vy, y3, p.y.size());
    OK(rocsparse_gather(handle(), vy, vx));
    expect_equal(x3.host(), gathered, "gather " + what);
    OK(rocsparse_scatter(handle(), vgiven, vy));
    expect_equal(y3.host(), scattered, "scatter " + what);
  }
}

TYPED_TEST(Vector, Axpy) {
  using T = TypeParam;
  for (const Problem<T>& p : problems<T>()) {
    const std::string what = fmt::format("of {}, base {}", p.size, p.base);
    const Device<int> indices(p.indices);
    const Device<T> x(p.x), y(p.y), y2(p.y);
    std::vector<Sum<T>> wanted = plain(p.y), wanted2(p.y.size());
    for (int i = 0; i < p.size; ++i) wanted2[i].add(kBeta<T>, p.y[i]);
    for (int k = 0; k < p.count(); ++k) {
      Sum<T>& sum = wanted[p.at[k]];
      sum.magnitude = std::abs(sum.value);
      sum.add(kAlpha<T>, p.x[k]);
      wanted2[p.at[k]].add(kAlpha<T>, p.x[k]);
    }
    OK(axpyi<T>(handle(), p.count(), &kAlpha<T>, x.data(), indices.data(), y.data(), index_base(p.base)));
    expect_sums(y.host(), wanted, "axpyi " + what);
    SparseVector vx;
    DenseVector vy;
    OK(rocsparse_create_spvec_descr(&vx.raw, p.size, p.count(), indices.data(), x.data(), rocsparse_indextype_i32,
                                    index_base(p.base), kDatatype<T>));
    describe(vy, y2, p.y.size());
    OK(rocsparse_axpby(handle(), &kAlpha<T>, vx, &kBeta<T>, vy));
    expect_sums(y2.host(), wanted2, "axpby " + what);
  }
}

TYPED_TEST(Vector, Dot) {
  using T = TypeParam;
  for (const Problem<T>& p : problems<T>()) {
    const std::string what = fmt::format("of {}, base {}", p.size, p.base);
    const Device<int> indices(p.indices);
    const Device<T> x(p.x), y(p.y);
    Sum<T> sum, conjugated;
    for (int k = 0; k < p.count(); ++k) {
      sum.add(p.x[k], p.y[p.at[k]]);
      conjugated.add(conjugate(p.x[k]), p.y[p.at[k]]);
    }
    // Results stay on the device.
    OK(rocsparse_set_pointer_mode(handle(), rocsparse_pointer_mode_device));
    const Device<T> result(1);
    OK(doti<T>(handle(), p.count(), x.data(), indices.data(), y.data(), result.data(), index_base(p.base)));
    expect_sums(result.host(), {sum}, "doti " + what);
    for (const bool conjugate_x : {false, true}) {
      const Device<T> result2(1);
      SparseVector vx;
      DenseVector vy;
      OK(rocsparse_create_spvec_descr(&vx.raw, p.size, p.count(), indices.data(), x.data(), rocsparse_indextype_i32,
                                      index_base(p.base), kDatatype<T>));
      describe(vy, y, p.y.size());
      size_t bytes = 0;
      const auto call = [&](size_t* size, void* buffer) {
        OK(rocsparse_spvv(handle(), conjugate_x ? rocsparse_operation_conjugate_transpose : rocsparse_operation_none,
                          vx, vy, result2.data(), kDatatype<T>, size, buffer));
      };
      call(&bytes, nullptr);
      const Buffer buffer(std::max<size_t>(bytes, 4));
      call(&bytes, buffer.data());
      expect_sums(result2.host(), {conjugate_x ? conjugated : sum}, "spvv " + what);
    }
    OK(rocsparse_set_pointer_mode(handle(), rocsparse_pointer_mode_host));
  }
}

TYPED_TEST(Vector, Rotation) {
  using T = TypeParam;
  for (const Problem<T>& p : problems<T>()) {
    const Device<int> indices(p.indices);
    const Device<T> x(p.x), y(p.y);
    const T c = make<T>(0.6, 0), s = make<T>(0.8, 0);
    std::vector<Sum<T>> wanted_x(p.x.size()), wanted_y = plain(p.y);
    for (int k = 0; k < p.count(); ++k) {
      wanted_x[k].add(c, p.x[k]);
      wanted_x[k].add(s, p.y[p.at[k]]);
      Sum<T> sum;
      sum.add(c, p.y[p.at[k]]);
      sum.add(-s, p.x[k]);
      wanted_y[p.at[k]] = sum;
    }
    SparseVector vx;
    DenseVector vy;
    OK(rocsparse_create_spvec_descr(&vx.raw, p.size, p.count(), indices.data(), x.data(), rocsparse_indextype_i32,
                                    index_base(p.base), kDatatype<T>));
    describe(vy, y, p.y.size());
    OK(rocsparse_rot(handle(), &c, &s, vx, vy));
    expect_sums(x.host(), wanted_x, fmt::format("rot, x, of {}", p.size));
    expect_sums(y.host(), wanted_y, fmt::format("rot, y, of {}", p.size));
  }
}

}  // namespace
}  // namespace sparse_test
