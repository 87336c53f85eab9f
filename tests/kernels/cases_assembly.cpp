// Hand-written machine code: what compilers do not emit.
#include <bit>
#include <cstring>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

constexpr const char* kInAssembly = "written in assembly";

// The twelve results of one wave of asm_wave_ops.s, computed lane by lane from the ISA manual's definitions.
void wave_ops_reference(std::span<const uint32_t> v, std::span<uint32_t> out) {
  uint64_t odd = 0;
  for (uint32_t l = 0; l < 64; ++l) odd |= uint64_t{v[l] & 1} << l;
  uint32_t odd_lo = static_cast<uint32_t>(odd), odd_hi = static_cast<uint32_t>(odd >> 32);
  for (uint32_t l = 0; l < 64; ++l) {
    uint32_t* r = &out[size_t{l} * 12];
    r[0] = 0;
    for (uint32_t k = l & 48; k <= l; ++k) r[0] += v[k];
    r[1] = v[l ^ 3];
    r[2] = (l / 16) % 2 == 0 ? v[(l & 48) + 15 - (l & 15)] : static_cast<uint32_t>(-7);
    r[3] = v[(l & 32) | (l & 2) | (~l & 1)];
    r[4] = v[(3 * l + 1) % 64];
    r[5] = static_cast<uint32_t>(std::popcount(odd & ((uint64_t{1} << l) - 1)));
    // s_ff1 counts from the least, s_flbit from the most significant bit; both give -1 for zero.
    uint32_t first = odd != 0 ? static_cast<uint32_t>(std::countr_zero(odd)) : ~0u;
    uint32_t last = odd != 0 ? static_cast<uint32_t>(std::countl_zero(odd)) : ~0u;
    r[6] = first + (last << 8) + (static_cast<uint32_t>(std::popcount(odd)) << 16);
    uint32_t picked = l >= 8 && l < 12 ? v[5] : 0;
    r[7] = (l == 9 ? v[40] : picked) ^ v[0];
    r[8] = ((v[l] >> 8) & 0xff) * (v[l] >> 16);
    float scaled = static_cast<float>(static_cast<int32_t>(v[l])) * 0x1p-10f;
    float clamped = std::min(std::max(1.0f - std::abs(scaled), 0.0f), 1.0f);
    float product = clamped * -scaled * 2.0f;
    if (product == 0.0f) product = 0.0f;  // "output modifiers ... -0 is flushed to +0" (GCN3 ISA manual, 6.2.2)
    std::memcpy(&r[9], &product, sizeof product);
    uint64_t triple = (odd * 3) >> 7;
    r[10] = static_cast<uint32_t>(triple) ^ static_cast<uint32_t>(triple >> 32);
    uint32_t reversed = 0;
    for (int b = 0; b < 32; ++b) reversed |= ((odd_lo >> b) & 1) << (31 - b);
    uint32_t chosen = ((odd_lo >> 3) & 1) != 0 ? reversed : odd_hi;
    chosen += (odd_lo >> 4) & 0xff;
    chosen ^= static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(odd_lo)));
    r[11] = ~chosen;
  }
}

}  // namespace

KernelCase make_asm_saxpy(Size size) {
  const uint32_t n = size == Size::kTest ? 1000 : (1u << 20) - 5, blocks = size == Size::kTest ? 3 : 16;
  const float a = 1.75f;
  KernelCase c{.name = "asm_saxpy", .object = "asm_saxpy", .language = Language::kAssembly};
  c.opencl_exclusion = kInAssembly;
  c.buffers = {make_buffer("xs", random_floats(n, -10, 10, 90)), make_buffer("ys", random_floats(n, -10, 10, 91))};
  c.launches = {{.kernel = "asm_saxpy",
                 .global = {round_up(n, 64 * blocks) / blocks, 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(a), scalar_arg(n), scalar_arg(blocks)}}};
  c.check = [n, a, initial = c.buffers[1]](std::span<const Buffer> buffers, std::string* why) {
    std::vector<float> want(n);
    for (uint32_t i = 0; i < n; ++i) want[i] = std::fma(a, buffers[0].as<float>()[i], initial.as<float>()[i]);
    return equal(buffers[1], want, why);
  };
  c.unit = "GB";
  c.work = 12e-9 * n;
  return c;
}

KernelCase make_asm_wave_ops(Size size) {
  const uint32_t waves = size == Size::kTest ? 5 : 2048, n = waves * 64;
  std::vector<uint32_t> in = random_integers<uint32_t>(n, 92);
  for (uint32_t i = 64; i < n; i += 2) in[i] = static_cast<uint32_t>(static_cast<int32_t>(in[i]) >> 21);  // around 1024
  for (uint32_t i = 0; i < 64; ++i) in[i] &= ~1u;  // no odd value in the first wave
  KernelCase c{.name = "asm_wave_ops", .object = "asm_wave_ops", .language = Language::kAssembly};
  c.opencl_exclusion = kInAssembly;
  c.buffers = {make_buffer("in", in), filled_buffer("out", size_t{n} * 12, 0u)};
  c.launches = {
      {.kernel = "asm_wave_ops", .global = {n, 1, 1}, .local = {64, 1, 1}, .args = {buffer_arg(0), buffer_arg(1)}}};
  c.check = [waves, n, in](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want(size_t{n} * 12);
    for (uint32_t w = 0; w < waves; ++w)
      wave_ops_reference(std::span(in).subspan(size_t{w} * 64, 64),
                         std::span(want).subspan(size_t{w} * 64 * 12, 64 * 12));
    return equal(buffers[1], want, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_asm_calls(Size size) {
  const uint32_t waves = size == Size::kTest ? 8 : 4096, n = waves * 64;
  KernelCase c{.name = "asm_calls", .object = "asm_calls", .language = Language::kAssembly};
  c.opencl_exclusion = kInAssembly;
  c.buffers = {make_buffer("in", random_integers<uint32_t>(n, 93)), filled_buffer("out", n, 0u)};
  c.launches = {
      {.kernel = "asm_calls", .global = {n, 1, 1}, .local = {64, 1, 1}, .args = {buffer_arg(0), buffer_arg(1)}}};
  c.check = [n](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want(n);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t v = buffers[0].as<uint32_t>()[i];
      switch ((i / 64) & 3) {
        case 0:
          want[i] = v * 3 + 1;
          break;
        case 1:
          want[i] = (v * 3 + 1) * 3 + 1;
          break;
        case 2:
          for (; v >= 10; v >>= 1) ++want[i];
          break;
        default:
          want[i] = (v & 15) * ((v & 15) + 1) / 2;
          break;
      }
    }
    return equal(buffers[1], want, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

}  // namespace wavejit::kernels
