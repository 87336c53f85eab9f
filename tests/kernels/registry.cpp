#include <algorithm>
#include <array>
#include <cstring>

#include "case_util.h"
#include "cases.h"
#include "kernel_case.h"

namespace wavejit::kernels {

std::string KernelCase::source_path() const {
  switch (language) {
    case Language::kOpenCl:
      return "opencl/" + object + ".cl";
    case Language::kHip:
      return "hip/" + object + ".hip";
    case Language::kAssembly:
      return "asm/" + object + ".s";
  }
  return {};
}

bool KernelCase::is_for(std::string_view processor) const {
  const auto is_image = [](const Buffer& buffer) { return buffer.image.format != ImageFormat::kNone; };
  return processor != "gfx90a" || std::none_of(buffers.begin(), buffers.end(), is_image);
}

std::span<const KernelCaseFactory> all_cases() {
  static constexpr KernelCaseFactory kCases[] = {
#define WAVEJIT_KERNEL_CASE(name) {#name, make_##name},
#include "cases.def"
#undef WAVEJIT_KERNEL_CASE
  };
  return kCases;
}

const KernelCaseFactory* find_case(std::string_view name) {
  for (const KernelCaseFactory& factory : all_cases())
    if (factory.name == name) return &factory;
  return nullptr;
}

uint16_t float_to_half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {                        // below the smallest normal: a multiple of 2^-24
    float scaled = std::nearbyint(std::abs(value) * 0x1p24f);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(scaled));
  }
  uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float half_to_float(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  float fraction = static_cast<float>(bits & 0x3ff);
  float value;
  if (exponent == 31)
    value = fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(fraction + 1024.0f, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace wavejit::kernels
