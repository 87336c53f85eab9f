// half and half2: conversions and arithmetic, compared with the same in float, rounded once.
#include <hip/hip_fp16.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kN = 1 << 14;

struct Results {
  __half add, mul, fma, div, root, maximum;
  __half2 add2, fma2, swapped;
  unsigned char less, equal, unordered, less2;
  short integer;
  __half narrowed;
  float back;
};

__global__ void compute(const unsigned short* bits, Results* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half a = __ushort_as_half(bits[i]), b = __ushort_as_half(bits[(i * 7 + 1) % n]),
               c = __ushort_as_half(bits[(i * 13 + 5) % n]);
  Results r;
  r.add = __hadd(a, b);
  r.mul = __hmul(a, b);
  r.fma = __hfma(a, b, c);
  r.div = __hdiv(a, b);
  r.root = hsqrt(__habs(a));
  r.maximum = __hgt(a, b) ? a : b;
  const __half2 ab = __halves2half2(a, b), bc = __halves2half2(b, c);
  r.add2 = __hadd2(ab, bc);
  r.fma2 = __hfma2(ab, bc, ab);
  r.swapped = __lowhigh2highlow(ab);
  r.less = __hlt(a, b);
  r.equal = __heq(a, a);
  r.unordered = __hisnan(a);
  r.less2 = __hblt2(ab, bc);
  r.integer = __half2short_rz(a);
  r.narrowed = __float2half_rn(__half2float(a) / 3);
  r.back = __half2float(a);
  out[i] = r;
}

// Conversions of the host's own: no instruction of the device, no header of HIP.
double value_of(unsigned short h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const double sign = h >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}
// The half nearest to `x`, ties to even, as a value.
double rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), -14) - 10;
  const double r = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
  return std::fabs(r) > 65504 ? std::copysign(INFINITY, x) : r;
}
unsigned short bits_of(__half h) {
  unsigned short bits;
  std::memcpy(&bits, &h, sizeof bits);
  return bits;
}
double value_of(__half h) {
  return value_of(bits_of(h));
}
double value_of(__half2 pair, int which) {
  unsigned short bits[2];
  std::memcpy(bits, &pair, sizeof bits);
  return value_of(bits[which]);
}
bool same(double got, double expected) {
  return got == expected || (std::isnan(got) && std::isnan(expected));
}

int main() {
  std::vector<unsigned short> bits(kN);
  unsigned seed = 12345;
  for (int i = 0; i < kN; ++i) {
    seed = seed * 1664525 + 1013904223;
    bits[i] = static_cast<unsigned short>(seed >> 16);
    if (i % 4 == 0) bits[i] = static_cast<unsigned short>((bits[i] & 0x83ff) | (12 + i / 4 % 6) << 10);  // near 1
  }
  const unsigned short special[] = {0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3c00};
  std::memcpy(bits.data(), special, sizeof special);
  unsigned short* in;
  Results* out;
  HIP(hipMalloc(&in, kN * sizeof *in));
  HIP(hipHostMalloc(&out, kN * sizeof *out));
  HIP(hipMemcpy(in, bits.data(), kN * sizeof *in, hipMemcpyHostToDevice));
  compute<<<(kN + 255) / 256, 256>>>(in, out, kN);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < kN; ++i) {
    const double a = value_of(bits[i]), b = value_of(bits[(i * 7 + 1) % kN]), c = value_of(bits[(i * 13 + 5) % kN]);
    const Results& r = out[i];
    // Exact in double, so rounded once. a*b+c may have more than 53 bits: then long double's 64, and it is close enough
    // to decide all ties of this set.
    const auto fma = [](double x, double y, double z) {
      const long double sum = static_cast<long double>(x) * y + z;
      return rounded(static_cast<double>(sum));
    };
    CHECK(same(value_of(r.add), rounded(a + b)));
    CHECK(same(value_of(r.mul), rounded(a * b)));
    CHECK(same(value_of(r.fma), fma(a, b, c)));
    CHECK(same(value_of(r.maximum), a > b ? a : b));
    const double quotient = rounded(a / b), root = rounded(std::sqrt(std::fabs(a)));
    // Division and root may be one unit in the last place off.
    const auto near = [](double got, double expected) {
      return same(got, expected) ||
             std::fabs(got - expected) <= std::ldexp(1, std::max(std::ilogb(expected), -14) - 10) ||
             (std::isinf(expected) && std::fabs(got) == 65504);
    };
    CHECK(near(value_of(r.div), quotient));
    CHECK(near(value_of(r.root), root));
    CHECK(same(value_of(r.add2, 0), rounded(a + b)) && same(value_of(r.add2, 1), rounded(b + c)));
    CHECK(same(value_of(r.fma2, 0), fma(a, b, a)) && same(value_of(r.fma2, 1), fma(b, c, b)));
    CHECK(same(value_of(r.swapped, 0), b) && same(value_of(r.swapped, 1), a));
    CHECK(r.less == (a < b) && r.equal == (a == a) && r.unordered == std::isnan(a) && r.less2 == (a < b && b < c));
    if (std::fabs(a) < 32000) CHECK(r.integer == std::trunc(a));
    CHECK(same(r.back, a));
    CHECK(same(value_of(r.narrowed), rounded(static_cast<float>(a) / 3.f)));
  }
}
