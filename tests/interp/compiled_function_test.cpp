// C functions compiled by clang for each target, run on random arguments and compared with the host's result: division
// and conversion sequences, 64-bit and 16-bit arithmetic, selects, shifts, private arrays.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/interp/machine.h"

namespace wavejit::test {
namespace {

// The assembly that clang makes of OpenCL C source.
std::string compile(isa::Target target, const std::string& source, const std::string& options) {
  const std::string directory = std::filesystem::temp_directory_path() / "wavejit-cl-XXXXXX";
  std::string path = directory;
  if (mkdtemp(path.data()) == nullptr) return {};
  std::ofstream(path + "/in.cl") << "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
                                    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" +
                                        source;
  // LLVM 17 at -O0 reloads spilled registers before it restores EXEC (cmake/WavejitKernels.cmake).
  const bool wrong = WAVEJIT_TEST_LLVM == 17 && options.starts_with("-O0");
  const std::string command =
      std::string(wrong ? WAVEJIT_TEST_CLANG19 : WAVEJIT_TEST_CLANG) +
      " -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcode-object-version=4 -nogpulib -mcpu=" +
      std::string(isa::to_string(target)) + " " + options + " -S " + path + "/in.cl -o " + path + "/out.s 2>" + path +
      "/log";
  const bool ok = std::system(command.c_str()) == 0;
  std::ifstream file(path + (ok ? "/out.s" : "/log"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove_all(path);
  EXPECT_TRUE(ok) << text;
  // A directive of LLVM 19 that LLVM 17's assembler does not know.
  if (const size_t at = text.find("\t.amdhsa_code_object_version"); at != std::string::npos)
    text.erase(at, text.find('\n', at) - at);
  return ok ? text : "";
}

enum class Kind { i32, i64, f32, f64, f16 };
unsigned registers(Kind k) {
  return k == Kind::i64 || k == Kind::f64 ? 2 : 1;
}

struct Function {
  const char* name;
  const char* source;
  Kind result;
  std::vector<Kind> arguments;
  uint64_t (*model)(const uint64_t*);
};

float f(uint64_t v) {
  return as_float(static_cast<uint32_t>(v));
}
double d(uint64_t v) {
  return as_double(v);
}
float h(uint64_t v) {
  return half_to_float(static_cast<uint32_t>(v) & 0xffff);
}
int32_t i(uint64_t v) {
  return static_cast<int32_t>(v);
}
int64_t l(uint64_t v) {
  return static_cast<int64_t>(v);
}
uint32_t u(uint64_t v) {
  return static_cast<uint32_t>(v);
}
uint64_t half(float v) {
  return float_to_half(v);
}

const Function kFunctions[] = {
    {"div_f32",
     "float div_f32(float a, float b) { return a / b; }",
     Kind::f32,
     {Kind::f32, Kind::f32},
     [](const uint64_t* a) -> uint64_t { return as_bits(f(a[0]) / f(a[1])); }},
    {"div_f64",
     "double div_f64(double a, double b) { return a / b; }",
     Kind::f64,
     {Kind::f64, Kind::f64},
     [](const uint64_t* a) -> uint64_t { return as_bits(d(a[0]) / d(a[1])); }},
    {"div_f16",
     "half div_f16(half a, half b) { return a / b; }",
     Kind::f16,
     {Kind::f16, Kind::f16},
     [](const uint64_t* a) -> uint64_t { return half(h(a[0]) / h(a[1])); }},
    {"div_i32",
     "int div_i32(int a, int b) { return b == 0 || (a == (int)0x80000000 && b == -1) ? 7 : a / b; }",
     Kind::i32,
     {Kind::i32, Kind::i32},
     [](const uint64_t* a) -> uint64_t {
       return u(static_cast<uint64_t>(i(a[1]) == 0 || (i(a[0]) == INT32_MIN && i(a[1]) == -1) ? 7 : i(a[0]) / i(a[1])));
     }},
    {"rem_u32",
     "uint rem_u32(uint a, uint b) { return b == 0 ? 7 : a % b; }",
     Kind::i32,
     {Kind::i32, Kind::i32},
     [](const uint64_t* a) -> uint64_t { return u(a[1]) == 0 ? 7 : u(a[0]) % u(a[1]); }},
    {"div_i64",
     "long div_i64(long a, long b) { return b == 0 || b == -1 ? 7 : a / b; }",
     Kind::i64,
     {Kind::i64, Kind::i64},
     [](const uint64_t* a) -> uint64_t {
       return l(a[1]) == 0 || l(a[1]) == -1 ? 7 : static_cast<uint64_t>(l(a[0]) / l(a[1]));
     }},
    {"rem_u64",
     "ulong rem_u64(ulong a, ulong b) { return b == 0 ? 7 : a % b; }",
     Kind::i64,
     {Kind::i64, Kind::i64},
     [](const uint64_t* a) -> uint64_t { return a[1] == 0 ? 7 : a[0] % a[1]; }},
    {"mul_i64",
     "long mul_i64(long a, long b) { return a * b + (a >> 3); }",
     Kind::i64,
     {Kind::i64, Kind::i64},
     [](const uint64_t* a) -> uint64_t { return a[0] * a[1] + static_cast<uint64_t>(l(a[0]) >> 3); }},
    {"shift_i64",
     "ulong shift_i64(ulong a, uint b) { return (a << (b & 63)) ^ (a >> (b & 31)); }",
     Kind::i64,
     {Kind::i64, Kind::i32},
     [](const uint64_t* a) -> uint64_t { return (a[0] << (a[1] & 63)) ^ (a[0] >> (a[1] & 31)); }},
    {"f32_to_i32",
     "int f32_to_i32(float a) { return __builtin_fabsf(a) < 2e9f ? (int)a : 1; } ",
     Kind::i32,
     {Kind::f32},
     [](const uint64_t* a) -> uint64_t {
       return u(static_cast<uint64_t>(std::fabs(f(a[0])) < 2e9f ? static_cast<int>(f(a[0])) : 1));
     }},
    {"f64_to_i64",
     "long f64_to_i64(double a) { return a > -9e18 && a < 9e18 ? (long)a : 1; }",
     Kind::i64,
     {Kind::f64},
     [](const uint64_t* a) -> uint64_t {
       return static_cast<uint64_t>(d(a[0]) > -9e18 && d(a[0]) < 9e18 ? static_cast<int64_t>(d(a[0])) : 1);
     }},
    {"f32_to_i64",
     "long f32_to_i64(float a) { return a > -9e18f && a < 9e18f ? (long)a : 1; }",
     Kind::i64,
     {Kind::f32},
     [](const uint64_t* a) -> uint64_t {
       return static_cast<uint64_t>(f(a[0]) > -9e18f && f(a[0]) < 9e18f ? static_cast<int64_t>(f(a[0])) : 1);
     }},
    {"i64_to_f32",
     "float i64_to_f32(long a) { return (float)a; }",
     Kind::f32,
     {Kind::i64},
     [](const uint64_t* a) -> uint64_t { return as_bits(static_cast<float>(l(a[0]))); }},
    {"u64_to_f64",
     "double u64_to_f64(ulong a) { return (double)a; }",
     Kind::f64,
     {Kind::i64},
     [](const uint64_t* a) -> uint64_t { return as_bits(static_cast<double>(a[0])); }},
    {"u32_to_f32",
     "float u32_to_f32(uint a) { return (float)a; }",
     Kind::f32,
     {Kind::i32},
     [](const uint64_t* a) -> uint64_t { return as_bits(static_cast<float>(u(a[0]))); }},
    {"f64_to_f32",
     "float f64_to_f32(double a) { return (float)a; }",
     Kind::f32,
     {Kind::f64},
     [](const uint64_t* a) -> uint64_t { return as_bits(static_cast<float>(d(a[0]))); }},
    {"f32_to_f16",
     "half f32_to_f16(float a) { return (half)a; }",
     Kind::f16,
     {Kind::f32},
     [](const uint64_t* a) -> uint64_t { return half(f(a[0])); }},
    {"f16_arith",
     "half f16_arith(half a, half b, half c) { half p = a * b; half q = p + c; return q - a; }",
     Kind::f16,
     {Kind::f16, Kind::f16, Kind::f16},
     [](const uint64_t* a) -> uint64_t {
       const float p = half_to_float(float_to_half(h(a[0]) * h(a[1])));
       const float q = half_to_float(float_to_half(p + h(a[2])));
       return half(q - h(a[0]));
     }},
    {"fma_f64",
     "double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }",
     Kind::f64,
     {Kind::f64, Kind::f64, Kind::f64},
     [](const uint64_t* a) -> uint64_t { return as_bits(std::fma(d(a[0]), d(a[1]), d(a[2]))); }},
    {"fma_f32",
     "float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }",
     Kind::f32,
     {Kind::f32, Kind::f32, Kind::f32},
     [](const uint64_t* a) -> uint64_t { return as_bits(std::fmaf(f(a[0]), f(a[1]), f(a[2]))); }},
    {"floor_f64",
     "double floor_f64(double a) { return __builtin_floor(a) + __builtin_rint(a) - __builtin_ceil(a) + "
     "__builtin_trunc(a); }",
     Kind::f64,
     {Kind::f64},
     [](const uint64_t* a) -> uint64_t {
       const double x = d(a[0]);
       return as_bits(std::floor(x) + std::rint(x) - std::ceil(x) + std::trunc(x));
     }},
    {"minmax_f32",
     "float minmax_f32(float a, float b, float c) { float x = __builtin_fminf(a, b); return __builtin_fmaxf(x, c); }",
     Kind::f32,
     {Kind::f32, Kind::f32, Kind::f32},
     [](const uint64_t* a) -> uint64_t {
       // OpenCL's fmin and fmax return the number; clang quiets signalling NaNs first.
       const auto low = [](float x, float y) {
         return x != x ? y : y != y ? x : x < y || (x == y && std::signbit(x)) ? x : y;
       };
       const auto high = [](float x, float y) {
         return x != x ? y : y != y ? x : x > y || (x == y && !std::signbit(x)) ? x : y;
       };
       return as_bits(high(low(f(a[0]), f(a[1])), f(a[2])));
     }},
    {"bits",
     "uint bits(uint a, uint b) { return __builtin_popcount(a) + __builtin_bitreverse32(b) + (a ? __builtin_clz(a) : "
     "99) + (b ? __builtin_ctz(b) : 77); }",
     Kind::i32,
     {Kind::i32, Kind::i32},
     [](const uint64_t* a) -> uint64_t {
       uint32_t reversed = 0;
       for (int k = 0; k < 32; ++k) reversed |= (u(a[1]) >> k & 1) << (31 - k);
       return u(static_cast<uint64_t>(std::popcount(u(a[0]))) + reversed +
                (u(a[0]) != 0 ? static_cast<uint32_t>(std::countl_zero(u(a[0]))) : 99) +
                (u(a[1]) != 0 ? static_cast<uint32_t>(std::countr_zero(u(a[1]))) : 77));
     }},
    {"bytes",
     "uint bytes(uint a, uint b) { uchar x = a, y = a >> 8, z = b >> 16; short w = (short)b; return (uint)(uchar)(x * "
     "y + z) + (uint)(w >> 3) * (uchar)(b >> 24); }",
     Kind::i32,
     {Kind::i32, Kind::i32},
     [](const uint64_t* a) -> uint64_t {
       const auto x = static_cast<uint8_t>(a[0]), y = static_cast<uint8_t>(u(a[0]) >> 8),
                  z = static_cast<uint8_t>(u(a[1]) >> 16);
       const auto w = static_cast<int16_t>(a[1]);
       return u(static_cast<uint32_t>(static_cast<uint8_t>(x * y + z)) +
                static_cast<uint32_t>(w >> 3) * static_cast<uint8_t>(u(a[1]) >> 24));
     }},
    {"u8_to_f32",
     "float u8_to_f32(uint a) { uchar4 v = *(uchar4*)&a; return (float)v.x + (float)v.y * 3.0f - (float)v.z + "
     "(float)v.w * 0.5f; }",
     Kind::f32,
     {Kind::i32},
     [](const uint64_t* a) -> uint64_t {
       const auto byte = [&](int k) { return static_cast<float>(u(a[0]) >> (8 * k) & 255); };
       return as_bits(byte(0) + byte(1) * 3.0f - byte(2) + byte(3) * 0.5f);
     }},
    {"private_array",
     "uint private_array(uint a, uint b) { volatile uint t[12]; for (int k = 0; k < 12; ++k) t[k] = a * (k + 1); uint "
     "s = 0; for (int k = 0; k < 12; ++k) s += t[(b + k * 5) % 12] ^ k; return s; }",
     Kind::i32,
     {Kind::i32, Kind::i32},
     [](const uint64_t* a) -> uint64_t {
       uint32_t s = 0;
       for (uint32_t k = 0; k < 12; ++k) s += (u(a[0]) * ((u(a[1]) + k * 5) % 12 + 1)) ^ k;
       return s;
     }},
    {"dynamic_vector",
     "uint dynamic_vector(uint a, uint b) { uint t[8]; for (int k = 0; k < 8; ++k) t[k] = a + k * k; t[b & 7] = b; "
     "return t[(b >> 3) & 7] + t[a & 7]; }",
     Kind::i32,
     {Kind::i32, Kind::i32},
     [](const uint64_t* a) -> uint64_t {
       uint32_t t[8];
       for (uint32_t k = 0; k < 8; ++k) t[k] = u(a[0]) + k * k;
       t[u(a[1]) & 7] = u(a[1]);
       return u(t[u(a[1]) >> 3 & 7] + t[u(a[0]) & 7]);
     }},
    {"collatz",
     "uint collatz(uint a) { uint n = 0; a &= 0xfff; while (a > 1) { a = (a & 1) ? 3 * a + 1 : a >> 1; ++n; } return "
     "n; }",
     Kind::i32,
     {Kind::i32},
     [](const uint64_t* a) -> uint64_t {
       uint32_t n = 0;
       for (uint32_t x = u(a[0]) & 0xfff; x > 1; ++n) x = (x & 1) != 0 ? 3 * x + 1 : x >> 1;
       return n;
     }},
};

uint64_t random_value(Random& random, Kind kind) {
  switch (kind) {
    case Kind::i32:
      return random.bits32();
    case Kind::i64:
      return random.bits64() >> (random.bits32() % 60) ^ (random.bits32() % 3 == 0 ? ~0ull : 0);
    case Kind::f32:
      return random.float32();
    case Kind::f64:
      return random.float64();
    case Kind::f16:
      return random.float16();
  }
  return 0;
}

bool equal(Kind kind, uint64_t want, uint64_t got) {
  switch (kind) {
    case Kind::f32:
      return same(static_cast<uint32_t>(want), static_cast<uint32_t>(got));
    case Kind::f64:
      return same64(want, got);
    case Kind::f16: {
      const float a = half_to_float(want & 0xffff), b = half_to_float(got & 0xffff);
      return (want & 0xffff) == (got & 0xffff) || (a != a && b != b);
    }
    default:
      return want == got;
  }
}

// `text` is the assembly of all functions, behind a table of their offsets.
void check(isa::Target target, const Function& function, const std::string& text, unsigned index) {
  const uint64_t seed = 0x5eed0000 + static_cast<unsigned>(target);
  SCOPED_TRACE(std::string(function.name) + " " + std::string(isa::to_string(target)) + " seed " +
               std::to_string(seed));
  Random random(seed);
  Machine m(target);
  unsigned reported = 0;
  for (unsigned round = 0; round < 24; ++round) {
    std::vector<std::array<uint64_t, kWaveSize>> arguments;
    unsigned reg = 0;
    for (const Kind kind : function.arguments) {
      auto& values = arguments.emplace_back();
      for (unsigned lane = 0; lane < kWaveSize; ++lane) {
        values[lane] = random_value(random, kind);
        m.v(reg)[lane] = static_cast<uint32_t>(values[lane]);
        if (registers(kind) == 2) m.v(reg + 1)[lane] = static_cast<uint32_t>(values[lane] >> 32);
      }
      reg += registers(kind);
    }
    m.wave().set_exec(round % 4 == 3 ? random.bits64() | 1 : ~0ull);
    m.wave().mode = kModeKeepDenormals;
    m.set_scratch_descriptor(0);
    m.s(32) = 0;  // stack pointer
    m.s(33) = 0;
    // GFX8 code reads the apertures from amd_queue_t (offsets 0x40 and 0x44), whose address is in s[6:7].
    std::array<uint32_t, 32> queue{};
    queue[0x40 / 4] = kSharedApertureHi;
    queue[0x44 / 4] = kPrivateApertureHi;
    m.wave().set_sgpr64(6, reinterpret_cast<uint64_t>(queue.data()));
    ASSERT_EQ(m.run(text, index), ExitReason::kEnd) << m.error().message;
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      if ((m.wave().exec() >> lane & 1) == 0) continue;
      uint64_t values[4] = {};
      for (size_t k = 0; k < arguments.size(); ++k) values[k] = arguments[k][lane];
      const uint64_t want = function.model(values);
      const uint64_t got = registers(function.result) == 2 ? m.v64(0, lane) : m.v(0)[lane];
      if (!equal(function.result, want, got) && ++reported <= 4)
        ADD_FAILURE() << "lane " << lane << std::hex << " arguments " << values[0] << " " << values[1] << " "
                      << values[2] << ": want " << want << ", got " << got;
    }
  }
}

void check_all(isa::Target target, const std::string& optimisation) {
  std::string source, table = ".text\n.Ltable:\n";
  for (const Function& function : kFunctions) {
    source += function.source;
    source += '\n';
    table += std::string(".long ") + function.name + " - .Ltable\n";
  }
  const std::string text = compile(
      target, source,
      optimisation + " -ffp-contract=off -cl-fp32-correctly-rounded-divide-sqrt -Xclang -fdenormal-fp-math-f32=ieee");
  ASSERT_FALSE(text.empty());
  for (unsigned k = 0; k < std::size(kFunctions); ++k) check(target, kFunctions[k], table + text, k);
}

class CompiledFunction : public testing::TestWithParam<isa::Target> {};

TEST_P(CompiledFunction, O3) {
  check_all(GetParam(), "-O3");
}
TEST_P(CompiledFunction, O0) {
  check_all(GetParam(), "-O0");
}

INSTANTIATE_TEST_SUITE_P(Targets, CompiledFunction, testing::ValuesIn(compute_targets()),
                         [](const auto& info) { return std::string(isa::to_string(info.param)); });

}  // namespace
}  // namespace wavejit::test
