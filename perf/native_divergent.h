// Plain C++ versions of the kernels whose lanes go ways of their own (native.h), for native.cpp's table.
#pragma once

#include "native.h"

namespace wavejit::perf {

// native_search.cpp
void nqueens(const kernels::KernelCase& kernel_case, Buffers& buffers);
void tree_lookup(const kernels::KernelCase& kernel_case, Buffers& buffers);
void hash_lookup(const kernels::KernelCase& kernel_case, Buffers& buffers);
void string_match(const kernels::KernelCase& kernel_case, Buffers& buffers);
void union_find(const kernels::KernelCase& kernel_case, Buffers& buffers);
void bvh_trace(const kernels::KernelCase& kernel_case, Buffers& buffers);
void lds_tile(const kernels::KernelCase& kernel_case, Buffers& buffers);

// native_streams.cpp
void lz_decode(const kernels::KernelCase& kernel_case, Buffers& buffers);
void row_hash(const kernels::KernelCase& kernel_case, Buffers& buffers);
void sptrsv(const kernels::KernelCase& kernel_case, Buffers& buffers);
void byte_code(const kernels::KernelCase& kernel_case, Buffers& buffers);
void quadrature(const kernels::KernelCase& kernel_case, Buffers& buffers);
void rejection(const kernels::KernelCase& kernel_case, Buffers& buffers);
void edit_distance(const kernels::KernelCase& kernel_case, Buffers& buffers);

}  // namespace wavejit::perf
