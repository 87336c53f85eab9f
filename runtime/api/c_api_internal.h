// Shared by the files that implement include/wavejit/wavejit.h.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "frontend/codeobject/containers.h"
#include "frontend/interp/profile.h"
#include "internal/error.h"
#include "runtime/kernel/execution_profile.h"
#include "runtime/launch/device.h"
#include "runtime/translate/module.h"
#include "wavejit/wavejit.h"

struct wavejit_error {
  wavejit::Error error;
};

struct wavejit_container {
  std::shared_ptr<const wavejit::codeobject::Container> container;
  std::string kind;
  std::vector<std::string> targets;  // of the entries, as text
};

struct wavejit_module {
  std::shared_ptr<wavejit::runtime::Module> module;
};

struct wavejit_kernel {
  struct Value {
    std::vector<uint8_t> bytes;  // empty: not set
    uint32_t lds_bytes = 0;
    bool is_set = false;
  };
  std::shared_ptr<wavejit::runtime::Module> module;
  const wavejit::codeobject::Kernel* kernel = nullptr;
  std::vector<const wavejit::codeobject::KernelArg*> args;  // explicit ones
  std::vector<const wavejit::codeobject::KernelArg*> hidden;
  std::vector<std::string> kind_names, space_names;  // of args, then hidden
  std::vector<Value> values;                         // of args
  std::optional<std::vector<uint8_t>> kernarg;       // set as a whole
};

struct wavejit_device {
  explicit wavejit_device(uint32_t waves) : device(waves) {}
  wavejit::runtime::Device device;
};

struct wavejit_report {
  mutable std::mutex mutex;
  wavejit::runtime::OpcodeCounts counts{};
};

struct wavejit_profile {
  mutable std::mutex mutex;
  struct OfKernel {
    std::shared_ptr<const wavejit::runtime::Module> module;  // the kernel lives as long
    wavejit::interp::Profile counts;
    mutable std::vector<std::pair<uint64_t, wavejit::interp::InstructionProfile>> rows;  // profile_of() if any
  };
  std::map<const wavejit::codeobject::Kernel*, OfKernel> kernels;
};

namespace wavejit::runtime {

// Records the error for the calling thread and returns its code.
wavejit_status report(Error error);

inline wavejit_status invalid(std::string message) {
  return report({.code = ErrorCode::kInvalidArgument, .message = std::move(message)});
}

// The same for the exception that is being handled.
wavejit_status report_exception() noexcept;

// Runs `body`, which returns a wavejit_status; no exception leaves the library.
template <typename Body>
wavejit_status guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return report_exception();
  }
}

// The caller's options with defaults for what its version of the struct lacks.
template <typename Options>
Options read_options(const Options* options) {
  Options result{};
  if (options) std::memcpy(&result, options, std::min(options->size, sizeof(Options)));
  result.size = sizeof(Options);
  return result;
}

// Fills in as much of the caller's struct as its version has.
template <typename Info>
wavejit_status write_info(Info* out, Info value) {
  if (!out || out->size < sizeof(size_t)) return invalid("The `size` of an output struct is not set.");
  value.size = out->size;
  std::memcpy(out, &value, std::min(out->size, sizeof(Info)));
  return WAVEJIT_OK;
}

// Comma-separated names.
std::vector<std::string> split(const char* list);

// The tier for `isa`; kUnsupported when the CPU lacks it.
Expected<backend::Tier> tier_for(wavejit_isa isa);

}  // namespace wavejit::runtime
