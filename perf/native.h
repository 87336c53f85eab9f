// Plain C++ versions of some kernels: what a programmer would write for one CPU thread and leave to the compiler. They
// are the ceiling that the translated kernels are measured against, where such a loop is a fair one.
#pragma once

#include <string_view>
#include <vector>

#include "kernel_case.h"

namespace wavejit::perf {

// Does the work of the case's launches on `buffers`; the result passes the case's check.
using NativeFunction = void (*)(const kernels::KernelCase& kernel_case, std::vector<kernels::Buffer>& buffers);

// Null for cases without one.
[[nodiscard]] NativeFunction native_function(std::string_view case_name);

}  // namespace wavejit::perf
