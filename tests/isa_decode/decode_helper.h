#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "frontend/isa/decoder.h"

namespace wavejit::isa::test {

inline DecodeStatus decode_words(Target target, std::initializer_list<uint32_t> words, Instruction& inst,
                                 uint64_t pc = 0) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), std::data(words), bytes.size());
  return decode(target, bytes, pc, inst);
}

// A decoding that must succeed.
inline Instruction decoded(Target target, std::initializer_list<uint32_t> words, uint64_t pc = 0) {
  Instruction inst;
  EXPECT_EQ(decode_words(target, words, inst, pc), DecodeStatus::ok);
  return inst;
}

}  // namespace wavejit::isa::test
