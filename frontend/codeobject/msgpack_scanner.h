// Walks over a MsgPack document without making anything of it (https://github.com/msgpack/msgpack, spec.md).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "frontend/codeobject/bytes.h"

namespace wavejit::codeobject {

class MsgpackScanner {
 public:
  enum class Kind : uint8_t { text, list, map, null, other };
  struct Item {
    Kind kind = Kind::other;
    uint64_t count = 0;     // of a list's elements or of a map's pairs, which follow
    std::string_view text;  // of text
  };
  static constexpr unsigned kMaxDepth = 16;

  explicit MsgpackScanner(ByteView bytes) : bytes_(bytes) {}

  // Reads an item; of a list or map its header. Each function returns false where the document is malformed.
  [[nodiscard]] bool read(Item& item);
  // Passes over what is in an item that read() has returned, which is in `depth` lists and maps.
  [[nodiscard]] bool skip_contents(const Item& item, unsigned depth);

  [[nodiscard]] uint64_t position() const { return at_; }
  // Why a function returned false.
  [[nodiscard]] std::string_view problem() const { return problem_; }

 private:
  bool fail(std::string_view problem) {
    problem_ = problem;
    return false;
  }
  // A big-endian number of 1, 2 or 4 bytes.
  [[nodiscard]] bool read_length(unsigned bytes, uint64_t& length);

  ByteView bytes_;
  uint64_t at_ = 0;
  std::string_view problem_;
};

}  // namespace wavejit::codeobject
