// The bytes of a code object, unchanged for as long as the object is loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "frontend/codeobject/bytes.h"

namespace wavejit::codeobject {

// Small objects are copied. A large one that the caller has mapped from a file, read-only, is mapped from that file once
// more, so that it costs what is read of it; any other large one is copied to a file in memory. As with the libraries
// of a process, nobody may change the file in place meanwhile.
class ObjectBytes {
 public:
  static constexpr uint64_t kLarge = uint64_t{4} << 20;

  [[nodiscard]] static Expected<ObjectBytes> hold(std::span<const uint8_t> bytes);

  ObjectBytes() = default;
  ObjectBytes(ObjectBytes&& other) noexcept;
  ObjectBytes& operator=(ObjectBytes&& other) noexcept;
  ObjectBytes(const ObjectBytes&) = delete;
  ObjectBytes& operator=(const ObjectBytes&) = delete;
  ~ObjectBytes();

  [[nodiscard]] ByteView view() const { return view_; }
  // Returns true if map_at() can map the byte at `offset` to an address that is `address` modulo the size of a page.
  [[nodiscard]] bool can_map(uint64_t offset, uint64_t address) const;
  // Replaces the pages at `page` by a private, writable mapping of the bytes from `offset` on. `page` is the start of a
  // page, and can_map(offset, 0) holds.
  [[nodiscard]] bool map_at(void* page, uint64_t offset, uint64_t bytes) const;
  // Ends map_at(). The view stays.
  void close_file();

 private:
  void release();
  [[nodiscard]] bool map_view(uint64_t bytes);

  ByteView view_;
  int file_ = -1;
  uint64_t offset_in_file_ = 0;  // of the first byte
  void* mapping_ = nullptr;      // whole pages that hold the view; null for a copy
  uint64_t mapped_ = 0;
  std::unique_ptr<uint8_t[]> copy_;
};

}  // namespace wavejit::codeobject
