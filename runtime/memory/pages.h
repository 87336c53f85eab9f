// Copying whole pages of the program.
#pragma once

#include <cstddef>

namespace wavejit::runtime {

// Without memcpy(): sanitizers see its accesses, and know neither that nobody can write to the pages meanwhile nor that
// what is freed in them moves along.
inline void copy_pages(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

}  // namespace wavejit::runtime
