// libFuzzer target for the instruction decoder and the disassembler.
#include "decoder_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wavejit::test::fuzz_decoder(data, size);
  return 0;
}
