// What a profile says of a kernel as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/interp/profile.h"
#include "frontend/isa/fidelity.h"
#include "frontend/isa/instruction.h"

namespace wavejit::runtime {

// As a fraction; 0 of nothing.
[[nodiscard]] double part(uint64_t of, uint64_t all);

class ProfileSummary {
 public:
  // `load_bias`: what addresses are printed without.
  explicit ProfileSummary(uint64_t load_bias) : load_bias_(load_bias) {}

  // An instruction that was executed, in the order of addresses. `line`: "file:line" of the source, or empty.
  void add(const isa::Instruction& inst, const interp::InstructionProfile& at, std::string_view line);
  // An instruction of another module's code.
  void add_elsewhere(const interp::InstructionProfile& at) { elsewhere_ += at.executed; }

  // Some lines: instructions by kind, mean of active lanes, patterns of accesses, the innermost loop and the lines of the
  // source with the most instructions.
  [[nodiscard]] std::string text() const;

 private:
  struct Executed {
    uint64_t pc = 0, count = 0;
  };
  struct Loop {
    uint64_t first = 0, last = 0;  // addresses of its first instruction and of the branch back
    uint64_t back = 0;             // how often it was taken
    uint64_t instructions = 0;     // executed between these
  };
  [[nodiscard]] uint64_t instructions() const;
  [[nodiscard]] std::optional<Loop> hottest_loop() const;

  const uint64_t load_bias_;
  std::array<uint64_t, isa::kNumUnits> by_unit_{};
  uint64_t vector_ = 0, vector_lanes_ = 0, elsewhere_ = 0;
  interp::InstructionProfile sum_;
  std::vector<Executed> executed_;
  std::vector<Loop> loops_;  // without `instructions`
  std::map<std::string, uint64_t, std::less<>> lines_;
};

}  // namespace wavejit::runtime
