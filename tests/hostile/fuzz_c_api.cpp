#include "calls.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wavejit::hostile::call_c_api({data, size});
  return 0;
}
