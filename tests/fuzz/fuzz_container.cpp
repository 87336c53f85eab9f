#include <cstddef>

#include "codeobject_entries.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wavejit::fuzz::fuzz_container({data, size});
  return 0;
}
