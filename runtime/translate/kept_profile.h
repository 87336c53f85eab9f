// What samples of a unit's waves say, kept beside its translations (disk_cache.h) for processes that translate it anew: for
// another CPU, with other options, or by another build.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frontend/lift/lifter.h"
#include "runtime/translate/disk_cache.h"
#include "runtime/translate/lane_samples.h"
#include "runtime/translate/module.h"
#include "runtime/translate/stored_unit.h"

namespace wavejit::runtime {

// The guest code around a unit, as it is loaded.
struct ProfiledCode {
  isa::Target target{};
  uint64_t root = 0;  // the unit's first instruction
  std::span<const uint8_t> code;
  uint64_t base = 0;  // address of code[0]
};

// The serialised form: ranges of guest code with a hash of their bytes, and samples in the order of addresses. Addresses are
// relative to the code's begin. `ranges` lie in the code; samples outside of them are left out.
[[nodiscard]] std::vector<uint8_t> pack_profile(const ProfiledCode& of, const std::vector<lift::CodeRange>& ranges,
                                                const SampledCode& samples);
// Nothing if the bytes are no packed profile of this code: they may be anything.
[[nodiscard]] std::optional<SampledCode> unpack_profile(const ProfiledCode& of, std::span<const uint8_t> bytes);

// Stores what the samples have of the ranges, if anything. Errors are the cache's, which counts them.
void keep_profile(DiskCache& disk, const ProfiledCode& of, const std::vector<lift::CodeRange>& ranges,
                  const SampledCode& samples);
[[nodiscard]] std::optional<SampledCode> load_profile(DiskCache& disk, const ProfiledCode& of);
// Of a kernel, in the process's cache. Errors: kNotFound, saying how a profile comes to be.
[[nodiscard]] Expected<SampledCode> kept_profile_of(const Module& module, const codeobject::Kernel& kernel);

}  // namespace wavejit::runtime
