// What every entry point of the HSA library shares: results, diagnostics, the check that the runtime is open.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "internal/error.h"
#include "runtime/hsa/implementation_names.h"

// An implementation that the library exports, under the name that implementation_names.h gives it.
#define WAVEJIT_HSA_API extern "C"

namespace wavejit::hsa {

// One line on stderr, "wavejit: ...". WAVEJIT_HSA_QUIET=1 turns it off.
void say(std::string_view text);

// The error of a function that is exported for completeness; says so once for each name.
hsa_status_t not_implemented(const char* function, hsa_status_t status = HSA_STATUS_ERROR);

[[nodiscard]] hsa_status_t to_status(const Error& error);

// Calls of hsa_init less calls of hsa_shut_down.
extern constinit std::atomic<uint32_t> references;
// Between the first hsa_init and the last hsa_shut_down.
[[nodiscard]] inline bool is_open() {
  return references.load(std::memory_order_acquire) != 0;
}

// In a child of fork() by a process that has called hsa_init: neither the threads of the runtime nor what they hold locked
// are of any use there, and the driver refuses it on hardware. Nothing is open, nor can be. Says so once if it is asked.
[[nodiscard]] bool is_forked();
// The same, without a message.
[[nodiscard]] bool is_forked_quietly();
// From the first hsa_init on, so that children know.
void watch_forks();

// Runs an entry point's body: HSA_STATUS_ERROR_NOT_INITIALIZED outside hsa_init ... hsa_shut_down and in forked children,
// and no exception gets out.
template <typename Body>
hsa_status_t entry(Body&& body) noexcept {
  if (!is_open()) {
    (void)is_forked();
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  }
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  } catch (const std::system_error& e) {  // no thread
    say(e.what());
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  } catch (const std::exception& e) {
    say(e.what());
    return HSA_STATUS_ERROR;
  }
}

// Stores an attribute of type T; `value` is the caller's buffer.
template <typename T>
hsa_status_t give(void* value, const T& what) {
  __builtin_memcpy(value, &what, sizeof what);
  return HSA_STATUS_SUCCESS;
}
// Text of a fixed size, padded with zeros.
hsa_status_t give_text(void* value, std::string_view text, size_t bytes);

}  // namespace wavejit::hsa
