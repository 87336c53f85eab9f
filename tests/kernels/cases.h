// The factories of every kernel case; defined in cases_*.cpp.
#pragma once

#include "kernel_case.h"

namespace wavejit::kernels {

#define WAVEJIT_KERNEL_CASE(name) KernelCase make_##name(Size size);
#include "cases.def"
#undef WAVEJIT_KERNEL_CASE

}  // namespace wavejit::kernels
