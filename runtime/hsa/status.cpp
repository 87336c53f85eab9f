#include "runtime/hsa/status.h"

#include <fmt/format.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "runtime/hsa/newer_api.h"

namespace wavejit::hsa {

namespace {
std::atomic<bool> forked{false}, said_forked{false};
}  // namespace

bool is_forked_quietly() {
  return forked.load(std::memory_order_relaxed);
}

bool is_forked() {
  if (!is_forked_quietly()) return false;
  // Not by say(): a thread that is not here may have locked the stream.
  constexpr std::string_view kText =
      "wavejit: This process is a child of fork() by a process that has called hsa_init. It cannot use the device.\n";
  if (!said_forked.exchange(true)) (void)!write(STDERR_FILENO, kText.data(), kText.size());
  return true;
}

void watch_forks() {
  static const int once = pthread_atfork(nullptr, nullptr, [] {
    forked.store(true, std::memory_order_relaxed);
    references.store(0, std::memory_order_relaxed);
  });
  (void)once;
}

void say(std::string_view text) {
  static const bool quiet = [] {
    const char* value = std::getenv("WAVEJIT_HSA_QUIET");
    return value && *value && *value != '0';
  }();
  if (!quiet) std::fprintf(stderr, "wavejit: %.*s\n", static_cast<int>(text.size()), text.data());
}

hsa_status_t not_implemented(const char* function, hsa_status_t status) {
  static std::mutex mutex;
  static std::set<std::string>& said = *new std::set<std::string>;  // HIP's own destructors may still call
  const std::lock_guard lock(mutex);
  if (said.insert(function).second) say(fmt::format("{} is not implemented.", function));
  return status;
}

hsa_status_t to_status(const Error& error) {
  switch (error.code) {
    case ErrorCode::kOk:
      return HSA_STATUS_SUCCESS;
    case ErrorCode::kInvalidArgument:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    case ErrorCode::kBadCodeObject:
      return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    case ErrorCode::kNotFound:
      return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    case ErrorCode::kTargetMismatch:
      return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    case ErrorCode::kIllegalInstruction:
    case ErrorCode::kUnsupported:
      return static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
    case ErrorCode::kGuestFault:
      // A misaligned atomic sets TRAPSTS.MEM_VIOL without XNACK_ERROR, which belongs to pages. ROCr's trap handler makes
      // EC_QUEUE_WAVE_APERTURE_VIOLATION of MEM_VIOL alone; EC_QUEUE_WAVE_MEMORY_VIOLATION needs XNACK_ERROR.
      return static_cast<hsa_status_t>(error.misaligned ? HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION
                                                        : HSA_STATUS_ERROR_MEMORY_FAULT);
    case ErrorCode::kGuestTrap:
      return HSA_STATUS_ERROR_EXCEPTION;
    case ErrorCode::kOutOfMemory:
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    default:
      return HSA_STATUS_ERROR;
  }
}

hsa_status_t give_text(void* value, std::string_view text, size_t bytes) {
  std::memset(value, 0, bytes);
  std::memcpy(value, text.data(), std::min(text.size(), bytes - 1));
  return HSA_STATUS_SUCCESS;
}

namespace {

struct Text {
  int status;
  const char* text;
};
constexpr Text kTexts[] = {
    {HSA_STATUS_SUCCESS, "The function has been executed successfully."},
    {HSA_STATUS_INFO_BREAK, "A traversal over a list of elements has been interrupted by the application."},
    {HSA_STATUS_ERROR, "A generic error has occurred."},
    {HSA_STATUS_ERROR_INVALID_ARGUMENT, "One of the actual arguments does not meet a precondition."},
    {HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, "The requested queue creation is not valid."},
    {HSA_STATUS_ERROR_INVALID_ALLOCATION, "The requested allocation is not valid."},
    {HSA_STATUS_ERROR_INVALID_AGENT, "The agent is invalid."},
    {HSA_STATUS_ERROR_INVALID_REGION, "The memory region is invalid."},
    {HSA_STATUS_ERROR_INVALID_SIGNAL, "The signal is invalid."},
    {HSA_STATUS_ERROR_INVALID_QUEUE, "The queue is invalid."},
    {HSA_STATUS_ERROR_OUT_OF_RESOURCES, "The necessary resources could not be allocated."},
    {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "The AQL packet is malformed."},
    {HSA_STATUS_ERROR_RESOURCE_FREE, "An error has been detected while releasing a resource."},
    {HSA_STATUS_ERROR_NOT_INITIALIZED, "The HSA runtime has not been initialized."},
    {HSA_STATUS_ERROR_REFCOUNT_OVERFLOW, "The maximum reference count has been reached."},
    {HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "The arguments are not compatible with each other."},
    {HSA_STATUS_ERROR_INVALID_INDEX, "The index is invalid."},
    {HSA_STATUS_ERROR_INVALID_ISA, "The instruction set architecture is invalid."},
    {HSA_STATUS_ERROR_INVALID_ISA_NAME, "The name of the instruction set architecture is invalid."},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "The code object is invalid."},
    {HSA_STATUS_ERROR_INVALID_EXECUTABLE, "The executable is invalid."},
    {HSA_STATUS_ERROR_FROZEN_EXECUTABLE, "The executable is frozen."},
    {HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, "There is no symbol with the given name."},
    {HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED, "The variable is already defined."},
    {HSA_STATUS_ERROR_VARIABLE_UNDEFINED, "The variable is undefined."},
    {HSA_STATUS_ERROR_EXCEPTION, "A kernel has raised an exception (trap)."},
    {HSA_STATUS_ERROR_INVALID_CODE_SYMBOL, "The code symbol is invalid."},
    {HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL, "The executable symbol is invalid."},
    {HSA_STATUS_ERROR_INVALID_FILE, "The file descriptor is invalid."},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, "The code object reader is invalid."},
    {HSA_STATUS_ERROR_INVALID_CACHE, "The cache is invalid."},
    {HSA_STATUS_ERROR_INVALID_WAVEFRONT, "The wavefront is invalid."},
    {HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP, "The signal group is invalid."},
    {HSA_STATUS_ERROR_INVALID_RUNTIME_STATE, "The HSA runtime is not in the configuration state."},
    {HSA_STATUS_ERROR_FATAL, "The queue received an error that may require process termination."},
    {HSA_STATUS_ERROR_INVALID_MEMORY_POOL, "The memory pool is invalid."},
    {HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION,
     "The kernel accessed memory beyond the maximum address, or an atomic was misaligned."},
    {HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION, "The kernel executed an invalid instruction."},
    {HSA_STATUS_ERROR_MEMORY_FAULT, "The kernel accessed memory that it may not access."},
    {HSA_STATUS_ERROR_OUT_OF_REGISTERS, "The kernel needs more registers than a wavefront can have."},
    {HSA_STATUS_ERROR_RESOURCE_BUSY, "The resource is busy."},
    {HSA_STATUS_ERROR_NOT_SUPPORTED, "The request is not supported."},
    {HSA_EXT_STATUS_ERROR_INVALID_PROGRAM, "The program is invalid."},
    {HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED, "The image format is not supported."},
    {HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED, "The image size is not supported."},
    {HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED, "The image pitch is not supported or invalid."},
    {HSA_STATUS_CU_MASK_REDUCED, "The mask of compute units was reduced."},
};

}  // namespace
}  // namespace wavejit::hsa

using namespace wavejit::hsa;

WAVEJIT_HSA_API hsa_status_t hsa_status_string(hsa_status_t status, const char** text) {
  if (!text) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const Text& t : kTexts) {
    if (t.status != static_cast<int>(status)) continue;
    *text = t.text;
    return HSA_STATUS_SUCCESS;
  }
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}
