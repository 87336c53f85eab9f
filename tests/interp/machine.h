// A wave with LDS and scratch on which tests run assembled snippets through the interpreter.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/interp/interpreter.h"
#include "frontend/isa/target.h"
#include "internal/wave_state.h"

namespace wavejit::test {

inline constexpr uint32_t kModeKeepDenormals = 0x3f0;   // GFX9 default of clang: IEEE, DX10_CLAMP, all denormals
inline constexpr uint32_t kModeFlushDenormals = 0x3c0;  // f32 denormals flushed
inline constexpr uint32_t kModeGraphics = 0x0f0;        // neither IEEE nor DX10_CLAMP

// Targets most tests run on, and all that have an interpreter.
[[nodiscard]] const std::vector<isa::Target>& compute_targets();

class Machine {
 public:
  static constexpr uint32_t kLdsBytes = 4096;
  static constexpr uint32_t kScratchBytesPerLane = 1024;

  explicit Machine(isa::Target target);

  // Assembles (cached per target and text) and runs `source` followed by s_endpgm from the current state. Returns the
  // exit reason; s[30:31] holds the address of that s_endpgm, so functions may be "called" by placing them at the
  // start.
  ExitReason run(std::string_view source);
  // The same from the byte offset that the code's `entry`-th dword holds.
  ExitReason run(std::string_view source, unsigned entry);
  // The typed error for the last run's exit.
  [[nodiscard]] Error error() const;

  WaveState& wave() { return *wave_; }
  [[nodiscard]] isa::Target target() const { return target_; }
  [[nodiscard]] uint64_t code_base() const { return base_; }
  void set_budget(uint64_t budget) { budget_ = budget; }

  uint32_t* v(unsigned reg) { return wave_->vgpr[reg]; }
  uint32_t* a(unsigned reg) { return wave_->agpr[reg]; }
  uint32_t& s(unsigned reg) { return wave_->sgpr[reg]; }
  [[nodiscard]] uint64_t v64(unsigned reg, unsigned lane) const {
    return static_cast<uint64_t>(wave_->vgpr[reg + 1][lane]) << 32 | wave_->vgpr[reg][lane];
  }
  void set_v64(unsigned reg, unsigned lane, uint64_t value) {
    wave_->vgpr[reg][lane] = static_cast<uint32_t>(value);
    wave_->vgpr[reg + 1][lane] = static_cast<uint32_t>(value >> 32);
  }
  std::vector<uint8_t>& lds() { return lds_; }
  uint8_t* scratch() { return scratch_.data(); }
  // A buffer descriptor for scratch as the HSA runtime makes it: ADD_TID, swizzled, index stride 64, element size 4.
  void set_scratch_descriptor(unsigned sgpr);

 private:
  ExitReason start(std::string_view source, int entry);

  isa::Target target_;
  std::unique_ptr<WaveState> wave_;
  std::vector<uint8_t> lds_;
  std::vector<uint8_t> scratch_;
  uint64_t base_ = 0;
  uint64_t budget_ = 1u << 24;
  interp::Interpreter* interpreter_ = nullptr;
};

inline float as_float(uint32_t v) {
  return std::bit_cast<float>(v);
}
inline uint32_t as_bits(float v) {
  return std::bit_cast<uint32_t>(v);
}
inline double as_double(uint64_t v) {
  return std::bit_cast<double>(v);
}
inline uint64_t as_bits(double v) {
  return std::bit_cast<uint64_t>(v);
}
float half_to_float(uint32_t h);
uint32_t float_to_half(float v);  // nearest-even

// Equal bits, or both NaN.
inline bool same(uint32_t a, uint32_t b) {
  return a == b || (as_float(a) != as_float(a) && as_float(b) != as_float(b));
}
inline bool same64(uint64_t a, uint64_t b) {
  return a == b || (as_double(a) != as_double(a) && as_double(b) != as_double(b));
}

// Random operand bits that favour corner cases. Seeds are printed by the tests that use them.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint32_t bits32();   // integers: uniform, small, near powers of two, all ones
  uint32_t float32();  // floats: uniform bits, special values, near one, integers
  uint64_t float64();
  uint32_t float16();  // in the low half; random upper half
  uint64_t bits64() { return engine_(); }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(engine_() % n); }
  std::mt19937_64 engine_;
};

}  // namespace wavejit::test
