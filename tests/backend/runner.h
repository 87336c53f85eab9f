// Builds small IR functions, compiles them for a tier and runs them on a wave.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend-x86/compiler.h"
#include "internal/wave_state.h"
#include "ir/builder.h"
#include "ir/function.h"
#include "ir/signature.h"
#include "ir/text.h"

namespace wavejit::backend {

inline constexpr Tier kTiers[] = {Tier::avx2, Tier::avx512};

// A wave with work-group memory and scratch attached.
class TestWave {
 public:
  static constexpr uint32_t kLdsBytes = 4096, kScratchBytes = 1024;
  TestWave();
  WaveState& operator*() { return *state_; }
  WaveState* operator->() { return state_.get(); }
  [[nodiscard]] uint8_t* lds() { return lds_.data(); }
  [[nodiscard]] uint8_t* scratch() { return scratch_.data(); }
  // Registers and memory from a generator; words of special interest are frequent.
  void randomise(std::mt19937_64& random);
  TestWave(const TestWave& other);

 private:
  std::unique_ptr<WaveState> state_;
  std::vector<uint8_t> lds_, scratch_;
};

// Integers and floats at the edges of their ranges, else random bits.
[[nodiscard]] uint32_t interesting32(std::mt19937_64& random);
[[nodiscard]] uint64_t interesting64(std::mt19937_64& random);
[[nodiscard]] uint32_t interesting16(std::mt19937_64& random);  // f16 corner cases with a random upper half

[[nodiscard]] std::shared_ptr<const CompiledCode> compile_or_fail(const ir::Function& function, Tier tier,
                                                                  bool listing = false,
                                                                  const HostChoices& choices = host().choices);
// Verifies, compiles and runs entry 0. The tier must be supported by the CPU.
ExitReason run(const ir::Function& function, Tier tier, TestWave& wave, unsigned entry = 0,
               const HostChoices& choices = host().choices);

// Lanes at any addresses are accessed one by one.
inline constexpr HostChoices kLaneByLane{.gather8 = false, .gather16 = false, .scatter16 = false};

// A function with one block, its builder, and the end written for it.
struct Straight {
  Straight() : function("test"), block(function.add_block()), b(function, block) {
    function.entries.push_back({0, block});
    b.set_guest_pc(0x1000);
  }
  void end() { b.exit(ExitReason::kEnd, 0x2000); }
  ir::Function function;
  ir::Block* block;
  ir::Builder b;
};

}  // namespace wavejit::backend
