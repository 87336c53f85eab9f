// What programs say of ranges of memory by hsa_amd_svm_attributes_set (hipMemAdvise). Every agent reaches all memory where it
// is, so the engine does nothing about it; it is kept for those who ask (hipMemRangeGetAttribute). Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavejit::hsa {

// A pool takes memory back: where its pages were prefetched to is no longer true.
void forget_attributes(const void* memory, size_t bytes);

}  // namespace wavejit::hsa
