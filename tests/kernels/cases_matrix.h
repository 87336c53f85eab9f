// Products of matrices by matrix instructions: for the processors that have them only, so apart from the other cases.
#pragma once

#include "kernel_case.h"

namespace wavejit::kernels {

struct MatrixCase {
  std::string_view name;
  KernelCase (*make)(Size size);
  std::vector<std::string_view> targets;
};

[[nodiscard]] const std::vector<MatrixCase>& matrix_cases();

}  // namespace wavejit::kernels
