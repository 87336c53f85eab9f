// The C API: what instructions of kernels did.
#include <fmt/format.h>

#include <mutex>

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
    if (profile->kernel != kernel->kernel) {
      profile->rows = wavejit::runtime::profile_of(*kernel->module, *kernel->kernel, profile->counts);
      profile->kernel = kernel->kernel;
    }
    if (index >= profile->rows.size())
      return report({.code = ErrorCode::kNotFound,
                     .message = fmt::format("The profile of kernel '{}' has no entry {}.", kernel->kernel->name, index),
                     .kernel = kernel->kernel->name});
    const auto& [address, at] = profile->rows[index];
    return wavejit::runtime::write_info(entry, {.size = 0,
                                                .address = address,
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
                                                .lds_cycles = at.lds.cycles});
  });
}

wavejit_status wavejit_profile_write(const wavejit_profile* profile, const wavejit_kernel* kernel,
                                     wavejit_write_fn write, void* user) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!profile || !kernel || !write) return invalid("wavejit_profile_write: NULL argument.");
    const std::lock_guard lock(profile->mutex);
    const auto text = wavejit::runtime::profile_text(*kernel->module, *kernel->kernel, profile->counts);
    if (!text) return report(text.error());
    write(user, text->data(), text->size());
    return WAVEJIT_OK;
  });
}
