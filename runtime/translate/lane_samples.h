// What is known of a module's waves from samples in the interpreter (runtime/launch/sampler.h), for its translations.
#pragma once

#include <memory>
#include <mutex>

#include "frontend/interp/profile.h"
#include "ir/profile.h"

namespace wavejit::runtime {

// Thread-safe.
class LaneSamples {
 public:
  void add(const interp::Profile& profile);
  // Null if nothing is known.
  [[nodiscard]] std::shared_ptr<const ir::Profile> all() const;

 private:
  mutable std::mutex mutex_;
  ir::Profile sum_;
};

}  // namespace wavejit::runtime
