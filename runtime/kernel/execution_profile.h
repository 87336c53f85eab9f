// Which instructions waves have executed, by opcode.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "frontend/isa/opcode.h"

namespace wavejit::runtime {

using OpcodeCounts = std::array<uint64_t, isa::kNumOpcodes>;

// Counters of translated code, and what the interpreter has counted. Thread-safe. Code that counts holds
// addresses of the counters, so the profile must outlive it.
class ExecutionProfile {
 public:
  // A counter that translated code increments whenever it executes these instructions.
  [[nodiscard]] uint64_t* add_block(std::vector<isa::Opcode> instructions);
  void add(const OpcodeCounts& interpreted);
  // What has been counted; to be called when no code runs.
  [[nodiscard]] OpcodeCounts total() const;
  // Sets all that has been counted to zero; to be called when no code runs.
  void reset();

 private:
  struct Block {
    std::vector<isa::Opcode> instructions;
    alignas(8) uint64_t executed = 0;
  };
  mutable std::mutex mutex_;
  std::deque<Block> blocks_;  // addresses stay
  OpcodeCounts interpreted_{};
};

}  // namespace wavejit::runtime
