// Plain C++ versions of the kernels with images (native.h), for native.cpp's table.
#pragma once

#include "native.h"

namespace wavejit::perf {

void image_warp(const kernels::KernelCase& kernel_case, Buffers& buffers);
void image_sharpen(const kernels::KernelCase& kernel_case, Buffers& buffers);
void image_shadow(const kernels::KernelCase& kernel_case, Buffers& buffers);
void image_gradient(const kernels::KernelCase& kernel_case, Buffers& buffers);

}  // namespace wavejit::perf
