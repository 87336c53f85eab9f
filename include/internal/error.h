// Typed errors for everything a guest or a user can cause. Broken internal invariants use check.h instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace wavejit {

// Mirrored one to one by wavejit_status in include/wavejit/wavejit.h (static_assert'ed in runtime/api/c_api.cpp).
enum class ErrorCode : uint32_t {
  kOk = 0,
  kInvalidArgument = 1,  // a caller passed something that makes no sense (sizes, handles, missing argument)
  kBadCodeObject = 2,    // malformed ELF, metadata, bundle or compressed container
  kNotFound = 3,         // no such kernel, symbol, file or container entry
  kTargetMismatch = 4,   // no code object for the wanted target, or an unknown target
  kUnsupported = 5,      // instruction or feature that wavejit does not execute; the message has mnemonic and encoding
  kIllegalInstruction = 6,  // bytes that no instruction of the target decodes to
  kGuestFault = 7,  // memory access to an address that is not mapped, not permitted, or misaligned for an atomic
  kGuestTrap = 8,   // s_trap 2 (abort, assert)
  kTimeout = 9,     // the launch ran longer than its time limit
  kOutOfMemory = 10,
  kIo = 11,        // reading or writing a file failed
  kInternal = 12,  // a wavejit defect that was caught
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;                   // complete sentence(s) without trailing newline
  std::string kernel = {};               // kernel symbol, if one was involved
  std::optional<uint64_t> pc = {};       // guest program counter: byte offset as loaded (host address of the code)
  std::optional<uint32_t> lane = {};     // 0..63
  std::optional<uint64_t> address = {};  // faulting address
  bool misaligned = false;               // kGuestFault: the address is misaligned for an atomic operation
};

template <typename T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> make_error(ErrorCode code, std::string message) {
  return tl::make_unexpected(Error{.code = code, .message = std::move(message)});
}

}  // namespace wavejit
