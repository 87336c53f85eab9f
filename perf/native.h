// Plain C++ versions of some kernels: what a programmer would write for one CPU thread and leave to the compiler. They
// are the ceiling that the translated kernels are measured against, where such a loop is a fair one.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "kernel_case.h"

namespace wavejit::perf {

// Does the work of the case's launches on `buffers`; the result passes the case's check.
using NativeFunction = void (*)(const kernels::KernelCase& kernel_case, std::vector<kernels::Buffer>& buffers);

using Buffers = std::vector<kernels::Buffer>;

// The value of an argument of the case's first launch.
template <typename T>
T scalar(const kernels::KernelCase& kernel_case, size_t argument) {
  T value;
  std::memcpy(&value, kernel_case.launches[0].args[argument].scalar.data(), sizeof value);
  return value;
}

// Null for cases without one.
[[nodiscard]] NativeFunction native_function(std::string_view case_name);
// A loop with another algorithm, which only one thread can have: not a ceiling, but what a programmer may prefer. Null for most.
[[nodiscard]] NativeFunction native_serial_function(std::string_view case_name);

}  // namespace wavejit::perf
