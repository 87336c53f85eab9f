#include "runtime/launch/sampler.h"

namespace wavejit::runtime {

void Sampler::hand_over() {
  if (profile_.empty()) return;
  samples_.add(profile_);
  profile_.clear();
}

}  // namespace wavejit::runtime
