// Translated code that counts what it executes, for launches that report it.
//
// The code holds the addresses of its counters, so that two launches at the same time need code of their own; launches one
// after the other use the same.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/isa/target.h"
#include "runtime/kernel/execution_profile.h"
#include "runtime/translate/translation_cache.h"

namespace wavejit::runtime {

// Code of one module, with its counters.
struct CountingCode {
  CountingCode(std::shared_ptr<const codeobject::CodeObject> object, isa::Target target)
      : translations(std::move(object), target) {}

  ExecutionProfile profile;  // outlives the code
  TranslationCache translations;
};

// The counting code of one module that no launch uses. Thread-safe.
class IdleCountingCode {
 public:
  // Returns null if all that there is is in use.
  [[nodiscard]] std::unique_ptr<CountingCode> take();
  void give_back(std::unique_ptr<CountingCode> code);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CountingCode>> idle_;
};

class Module;

// Counting code of a module, for one launch; all counters are zero at its begin. The module must outlive it.
class CountingLease {
 public:
  explicit CountingLease(Module& module);
  ~CountingLease();
  CountingLease(const CountingLease&) = delete;
  CountingLease& operator=(const CountingLease&) = delete;

  [[nodiscard]] ExecutionProfile& profile() const { return code_->profile; }
  [[nodiscard]] TranslationCache& translations() const { return code_->translations; }

 private:
  Module& module_;
  std::unique_ptr<CountingCode> code_;
};

}  // namespace wavejit::runtime
