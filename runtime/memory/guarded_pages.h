// Private memory between inaccessible pages, for buffers of kernels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavejit::runtime {

inline constexpr size_t kHugePage = size_t{2} << 20;  // bytes

// Maps `guard`, `bytes` and one more page, all of them whole pages, and returns the address of `bytes`; 0: no memory.
// `bytes` are zero, readable and writable, the others inaccessible. From kHugePage on `bytes` begin at a multiple of it,
// and the system is asked for huge pages. The caller unmaps all of it.
[[nodiscard]] uint64_t map_guarded(size_t guard, size_t bytes);

}  // namespace wavejit::runtime
