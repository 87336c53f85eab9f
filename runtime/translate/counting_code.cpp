#include "runtime/translate/counting_code.h"

#include <utility>

#include "runtime/translate/module.h"

namespace wavejit::runtime {

std::unique_ptr<CountingCode> IdleCountingCode::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  std::unique_ptr<CountingCode> code = std::move(idle_.back());
  idle_.pop_back();
  return code;
}

void IdleCountingCode::give_back(std::unique_ptr<CountingCode> code) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(code));
}

CountingLease::CountingLease(Module& module) : module_(module), code_(module.idle_counting_code().take()) {
  if (!code_) code_ = module.new_counting_code();
  code_->profile.reset();
}

CountingLease::~CountingLease() {
  module_.idle_counting_code().give_back(std::move(code_));
}

}  // namespace wavejit::runtime
