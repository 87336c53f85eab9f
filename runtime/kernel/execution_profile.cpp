#include "runtime/kernel/execution_profile.h"

#include <utility>

namespace wavejit::runtime {

uint64_t* ExecutionProfile::add_block(std::vector<isa::Opcode> instructions) {
  const std::lock_guard lock(mutex_);
  return &blocks_.emplace_back(Block{.instructions = std::move(instructions)}).executed;
}

void ExecutionProfile::add(const OpcodeCounts& interpreted) {
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < interpreted.size(); ++i) interpreted_[i] += interpreted[i];
}

void ExecutionProfile::reset() {
  const std::lock_guard lock(mutex_);
  for (Block& block : blocks_) block.executed = 0;
  interpreted_ = {};
}

OpcodeCounts ExecutionProfile::total() const {
  const std::lock_guard lock(mutex_);
  OpcodeCounts counts = interpreted_;
  for (const Block& block : blocks_)
    for (const isa::Opcode opcode : block.instructions) counts[static_cast<unsigned>(opcode)] += block.executed;
  return counts;
}

}  // namespace wavejit::runtime
