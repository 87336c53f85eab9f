// Random legal instructions and wave states for comparing engines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/isa/instruction.h"
#include "frontend/isa/target.h"
#include "internal/wave_state.h"

namespace wavejit::test {

// splitmix64 (Steele, Lea and Flood, 2014). A test seeds a generator for every few instructions; seeding a large state takes
// longer than the numbers.
class Rng {
 public:
  using result_type = uint64_t;
  explicit Rng(uint64_t seed) : state_(seed) {}
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

 private:
  uint64_t state_;
};

// Which encodings of a row to generate.
enum class Form : uint8_t { base, e64, sdwa, dpp };

// One way to encode an instruction that all engines claim to support and whose effects stay within registers and
// memory.
struct Candidate {
  isa::Opcode opcode;
  Form form;
};
[[nodiscard]] std::vector<Candidate> candidates(isa::Target target);

// Why no candidate has this opcode, although engines may execute it; empty for others.
[[nodiscard]] std::string_view unfit_reason(isa::Opcode opcode);

// Instructions that may stand only where M0 is small, or only together with one that ends their effect: what they do
// otherwise would write the registers of addresses, or skip everything (random_sequence.h has both).
[[nodiscard]] bool needs_region(isa::Opcode opcode);

// Random operand fields for `candidate`, retried until the decoder accepts them. Empty if no try was legal. Registers
// are drawn from small sets so that instructions of a sequence meet each other's results: s0..s19, vcc, exec (as a
// source), m0, v0..v15. Never touches the runner's return pair.
[[nodiscard]] std::vector<uint32_t> random_words(const Candidate& candidate, isa::Target target, Rng& rng);

// Values weighted to corners: zeros, ones, denormals, infinities, NaNs, powers of two, small integers, random bits.
[[nodiscard]] uint32_t corner_value(Rng& rng);

// A buffer data format (bits 3:0) and a number format that goes with it (bits 6:4).
[[nodiscard]] uint32_t random_format(Rng& rng);

// Fills registers, EXEC, VCC, SCC, M0 and MODE. LDS addresses for DS instructions are in v0..v2.
void randomise(WaveState& wave, Rng& rng, uint32_t mode);

// Difference of two states as text, empty if equal. NaNs of the same width with different payload or sign count as
// equal.
[[nodiscard]] std::string compare(const WaveState& expected, const WaveState& actual);

}  // namespace wavejit::test
