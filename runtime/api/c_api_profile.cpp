// The C API: what instructions of kernels did.
#include <fmt/format.h>

#include <mutex>

#include "frontend/isa/info.h"
#include "runtime/api/c_api_internal.h"
#include "runtime/api/profile_text.h"

using wavejit::ErrorCode;
using wavejit::runtime::guarded;
using wavejit::runtime::invalid;
using wavejit::runtime::report;

wavejit_profile* wavejit_profile_create(void) WAVEJIT_NOEXCEPT {
  return new (std::nothrow) wavejit_profile;
}
void wavejit_profile_destroy(wavejit_profile* profile) WAVEJIT_NOEXCEPT {
  delete profile;
}

wavejit_status wavejit_profile_get_entry(const wavejit_profile* profile, const wavejit_kernel* kernel, size_t index,
                                         wavejit_profile_entry* entry) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!profile || !kernel || !entry) return invalid("wavejit_profile_get_entry: NULL argument.");
    const std::lock_guard lock(profile->mutex);
    const auto its = profile->kernels.find(kernel->kernel);
    if (its != profile->kernels.end() && its->second.rows.empty())
      its->second.rows = wavejit::runtime::profile_of(*kernel->module, its->second.counts);
    if (its == profile->kernels.end() || index >= its->second.rows.size())
      return report({.code = ErrorCode::kNotFound,
                     .message = fmt::format("The profile of kernel '{}' has no entry {}.", kernel->kernel->name, index),
                     .kernel = kernel->kernel->name});
    const auto& [address, at] = its->second.rows[index];
    const char* const mnemonic = wavejit::isa::info(at.opcode).name.data();  // a literal
    return wavejit::runtime::write_info(entry, {.size = 0,
                                                .address = address,
                                                .mnemonic = mnemonic,
                                                .executed = at.executed,
                                                .lanes = at.lanes,
                                                .taken = at.taken,
                                                .accesses = at.memory.count,
                                                .access_lanes = at.memory.lanes,
                                                .consecutive = at.memory.consecutive,
                                                .same = at.memory.same,
                                                .strided = at.memory.strided,
                                                .stride = at.memory.stride,
                                                .lines = at.memory.lines,
                                                .access_bytes = at.memory.bytes,
                                                .lds_accesses = at.lds.count,
                                                .lds_halves = at.lds.halves,
                                                .lds_cycles = at.lds.cycles,
                                                .lds_least = at.lds.least});
  });
}

wavejit_status wavejit_profile_write(const wavejit_profile* profile, const wavejit_kernel* kernel,
                                     wavejit_write_fn write, void* user) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!profile || !kernel || !write) return invalid("wavejit_profile_write: NULL argument.");
    const std::lock_guard lock(profile->mutex);
    const auto its = profile->kernels.find(kernel->kernel);
    const auto text =
        wavejit::runtime::profile_text(*kernel->module, *kernel->kernel,
                                       its == profile->kernels.end() ? wavejit::interp::Profile() : its->second.counts);
    if (!text) return report(text.error());
    write(user, text->data(), text->size());
    return WAVEJIT_OK;
  });
}
