// Replays the saved inputs of the decoder fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "decoder_entry.h"

namespace wavejit::test {
namespace {

TEST(FuzzCorpus, Decoder) {
  unsigned files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WAVEJIT_DECODER_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    SCOPED_TRACE(entry.path().string());
    fuzz_decoder(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++files;
  }
  EXPECT_GT(files, 10u);
}

}  // namespace
}  // namespace wavejit::test
