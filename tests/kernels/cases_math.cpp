// Conversions and the math library.
#include <cstring>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

template <typename T>
T saturate(double v) {
  double low = static_cast<double>(std::numeric_limits<T>::min()),
         high = static_cast<double>(std::numeric_limits<T>::max());
  return v <= low ? std::numeric_limits<T>::min() : v >= high ? std::numeric_limits<T>::max() : static_cast<T>(v);
}

int32_t bits_of(float v) {
  int32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}

// One column of results of a math kernel: its name, accuracy in ulps, and reference.
template <typename T>
struct MathColumn {
  const char* name;
  double max_ulps;
  std::function<double(T, T)> reference;
};

template <typename T>
bool check_math(const Buffer& x, const Buffer& y, const Buffer& out, const std::vector<MathColumn<T>>& columns,
                std::string* why) {
  for (size_t i = 0; i < x.as<T>().size(); ++i) {
    for (size_t k = 0; k < columns.size(); ++k) {
      T a = x.as<T>()[i], b = y.as<T>()[i];
      double want = columns[k].reference(a, b);
      T got = out.as<T>()[i * columns.size() + k];
      double error = ulps(got, want);
      if (!(error <= columns[k].max_ulps))
        return fail(
            why, fmt::format("{} of x = {:.17g}, y = {:.17g} is {:.17g}, expected {:.17g}: {:.1f} ulps off, {} allowed",
                             columns[k].name, static_cast<double>(a), static_cast<double>(b), static_cast<double>(got),
                             want, error, columns[k].max_ulps));
    }
  }
  return true;
}

}  // namespace

KernelCase make_convert(Size size) {
  const uint32_t n = size == Size::kTest ? 300 : 1u << 17;
  std::vector<float> in = random_floats(n, -300, 300, 60);
  const float inf = std::numeric_limits<float>::infinity();
  const float special[] = {0.0f,         -0.0f,        0.5f,          -0.5f,        1.5f,         2.5f,     -2.5f,
                           127.5f,       128.0f,       -128.5f,       255.5f,       254.5f,       32767.5f, -32768.0f,
                           2147483520.f, 2147483648.f, -2147483648.f, 4294967040.f, 4294967296.f, 1e20f,    -1e20f,
                           inf,          -inf,         65504.0f,      65519.0f,     65520.0f,     6.0e-8f,  2.0e-8f,
                           3.1e-5f,      -6.2e-5f,     1e-30f,        16777217.0f};
  for (size_t i = 0; i < std::size(special); ++i) in[i] = special[i];
  for (size_t i = 64; i < in.size(); i += 5) in[i] *= 1.0e7f;
  KernelCase c{.name = "convert", .object = "convert"};
  c.buffers = {make_buffer("in", in), filled_buffer("ints", size_t{n} * 10, 0),
               filled_buffer("doubles", size_t{n} * 3, 0.0), filled_buffer("halves", size_t{n} * 2, uint16_t{0})};
  c.launches = {{.kernel = "convert",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), scalar_arg(n)}}};
  c.check = [n](std::span<const Buffer> buffers, std::string* why) {
    std::vector<int32_t> ints(size_t{n} * 10);
    std::vector<double> doubles(size_t{n} * 3);
    std::vector<uint16_t> halves(size_t{n} * 2);
    for (uint32_t i = 0; i < n; ++i) {
      float f = buffers[0].as<float>()[i];
      double v = static_cast<double>(f);
      int32_t* r = &ints[size_t{i} * 10];
      r[0] = saturate<int32_t>(std::trunc(v));
      r[1] = saturate<int32_t>(std::nearbyint(v));
      r[2] = static_cast<int32_t>(saturate<uint32_t>(std::trunc(v)));
      r[3] = saturate<uint8_t>(std::nearbyint(v));
      r[4] = saturate<int16_t>(std::trunc(v));
      r[5] = saturate<int8_t>(std::ceil(v));
      r[6] = saturate<int32_t>(std::trunc(v * 3.0));
      r[7] = bits_of(static_cast<float>(r[0] ^ 0x5555));
      r[8] = bits_of(static_cast<float>(static_cast<uint32_t>(r[0]) * 3u));
      r[9] = bits_of(static_cast<float>(v * 1.0000001));
      doubles[3 * i] = v;
      doubles[3 * i + 1] = static_cast<double>(r[0]) + static_cast<double>(static_cast<uint32_t>(r[2]));
      doubles[3 * i + 2] = std::nearbyint(v * 0.5) + std::floor(v) + std::trunc(v) + std::ceil(v);
      halves[2 * i] = float_to_half(f);
      halves[2 * i + 1] = float_to_half(half_to_float(halves[2 * i]) * 0.5f);
    }
    return equal(buffers[1], ints, why) && equal(buffers[2], doubles, why) && equal(buffers[3], halves, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_math_f32(Size size) {
  const uint32_t n = size == Size::kTest ? 128 : 32768;
  std::vector<float> x = random_floats(n, -20, 20, 61), y = random_floats(n, -20, 20, 62);
  for (size_t i = 0; i < n; i += 17) x[i] *= 1.0e6f;  // sin and cos with a long argument reduction
  for (size_t i = 5; i < n; i += 31) x[i] *= 1.0e-6f;
  KernelCase c{.name = "math_f32", .object = "math_f32"};
  c.buffers = {make_buffer("in", x), make_buffer("in2", y), filled_buffer("out", size_t{n} * 16, 0.0f)};
  c.launches = {{.kernel = "math_f32",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(n)}}};
  c.check = [](std::span<const Buffer> buffers, std::string* why) {
    // Bounds: OpenCL C specification, section 7.4 (full profile).
    auto positive = [](float v) { return std::abs(v) + 1.0e-3f; };
    auto d = [](float v) { return static_cast<double>(v); };
    const std::vector<MathColumn<float>> columns = {
        {"sin", 4, [=](float a, float) { return std::sin(d(a)); }},
        {"cos", 4, [=](float a, float) { return std::cos(d(a)); }},
        {"exp", 3, [=](float a, float) { return std::exp(d(a) * 0.25); }},
        {"log", 3, [=](float a, float) { return std::log(d(positive(a))); }},
        {"pow", 16, [=](float a, float b) { return std::pow(d(positive(a)), d(b) * 0.125); }},
        {"sqrt", 3, [=](float a, float) { return std::sqrt(d(positive(a))); }},
        {"rsqrt", 2, [=](float a, float) { return 1 / std::sqrt(d(positive(a))); }},
        {"atan2", 6, [=](float a, float b) { return std::atan2(d(a), d(b)); }},
        {"fmod", 0, [=](float a, float b) { return std::fmod(d(a), d(positive(a) * 0.37f + std::abs(b))); }},
        {"divide", 2.5, [=](float a, float b) { return d(a) / d(b); }},
        {"frexp", 0,
         [=](float a, float) {
           int e;
           return std::frexp(d(a), &e);
         }},
        {"ldexp", 0,
         [=](float a, float b) {
           int e;
           std::frexp(d(a), &e);
           return std::ldexp(d(b), e - 3);
         }},
        {"fma", 0, [=](float a, float b) { return d(std::fma(a, b, positive(a))); }},
        {"tanh", 5, [=](float a, float) { return std::tanh(d(a * 0.1f)); }},
        {"cbrt", 2, [=](float a, float) { return std::cbrt(d(a)); }},
        {"hypot", 4, [=](float a, float b) { return std::hypot(d(a), d(b)); }},
    };
    return check_math(buffers[0], buffers[1], buffers[2], columns, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_math_f64(Size size) {
  const uint32_t n = size == Size::kTest ? 128 : 32768;
  KernelCase c{.name = "math_f64", .object = "math_f64"};
  c.buffers = {make_buffer("in", random_doubles(n, -30, 30, 63)), make_buffer("in2", random_doubles(n, -30, 30, 64)),
               filled_buffer("out", size_t{n} * 8, 0.0)};
  c.launches = {{.kernel = "math_f64",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(n)}}};
  c.check = [](std::span<const Buffer> buffers, std::string* why) {
    // glibc's own last-place error comes on top of the OpenCL bounds where they are not 0.
    auto positive = [](double v) { return std::abs(v) + 1.0e-3; };
    const std::vector<MathColumn<double>> columns = {
        {"exp", 4, [=](double a, double) { return std::exp(a * 0.25); }},
        {"log", 4, [=](double a, double) { return std::log(positive(a)); }},
        {"sqrt", 0, [=](double a, double) { return std::sqrt(positive(a)); }},
        {"divide", 0, [=](double a, double b) { return a / b; }},
        {"fma", 0, [=](double a, double b) { return std::fma(a, b, positive(a)); }},
        {"sin", 5, [=](double a, double) { return std::sin(a); }},
        {"min and max", 0, [=](double a, double b) { return std::fmin(a, b) + std::fmax(a, b) * 0.5; }},
        {"ldexp and rint", 0,
         [=](double a, double b) { return std::ldexp(a, static_cast<int>(b)) + std::nearbyint(b * 4.0); }},
    };
    return check_math(buffers[0], buffers[1], buffers[2], columns, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

}  // namespace wavejit::kernels
