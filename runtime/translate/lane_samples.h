// What is known of a module's waves from samples in the interpreter (runtime/launch/sampler.h), for its translations.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "frontend/interp/profile.h"
#include "ir/profile.h"

namespace wavejit::runtime {

// At one guest instruction: what translations choose by, and what listings show besides.
struct InstructionSample {
  ir::LaneSample lanes;
  uint64_t taken = 0;     // of a branch: how often the wave did not go on behind it
  uint64_t accesses = 0;  // to memory
  uint64_t strided = 0;   // of these: the same distance between all lanes, which is neither 0 nor an element
  int64_t stride = 0;     // bytes; of the last one of these

  void add(const InstructionSample& other);
};

// By the instruction's address.
using SampledCode = std::unordered_map<uint64_t, InstructionSample>;

[[nodiscard]] InstructionSample sampled(const interp::InstructionProfile& at);
[[nodiscard]] ir::Profile profile_of(const SampledCode& code);

// Thread-safe.
class LaneSamples {
 public:
  void add(const interp::Profile& profile);
  // Adds what an earlier process has kept of the unit at `root`. Later calls for the same root add nothing.
  void add_kept(uint64_t root, const SampledCode& kept);
  // If code that is made by `later` would be another one, it takes the place of what is known of its instructions. Returns
  // whether it does.
  [[nodiscard]] bool replace_if_other(const SampledCode& later);
  // Returns true if the unit's kept samples have not been added, so that it is worth looking for them.
  [[nodiscard]] bool lacks_kept(uint64_t root) const;
  // Null if nothing is known.
  [[nodiscard]] std::shared_ptr<const ir::Profile> all() const;
  // What this process has sampled, and what it was given; empty if it has sampled nothing.
  [[nodiscard]] SampledCode worth_keeping() const;

 private:
  mutable std::mutex mutex_;
  SampledCode sum_;
  std::set<uint64_t> kept_roots_;
  bool is_sampled_ = false;
};

}  // namespace wavejit::runtime
