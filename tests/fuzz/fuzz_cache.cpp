#include <cstddef>

#include "cache_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wavejit::fuzz::fuzz_cache_unit({data, size});
  wavejit::fuzz::fuzz_kept_profile({data, size});
  return 0;
}
