// Executable memory for translations. Each block is mapped twice: once writable, once executable. Children of fork()
// share both mappings, so a child does not write to its parent's blocks and takes new ones.
#pragma once

#include <asmjit/core.h>

#include <cstdint>
#include <memory>
#include <span>

#include "internal/error.h"

namespace wavejit::backend {

class CodeBlock {
 public:
  // Copies flattened and resolved code and relocates it to its final address. Thread-safe.
  static Expected<CodeBlock> create(asmjit::CodeHolder& code);
  // Writes `value` to the 8 bytes at `offset`.
  struct Patch {
    uint32_t offset;
    uint64_t value;
  };
  // Copies position-independent code and applies patches, which must lie inside. Thread-safe.
  static Expected<CodeBlock> create(std::span<const uint8_t> code, std::span<const Patch> patches);
  CodeBlock(CodeBlock&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), size_(other.size_), allocator_(other.allocator_) {}
  CodeBlock(const CodeBlock&) = delete;
  CodeBlock& operator=(const CodeBlock&) = delete;
  CodeBlock& operator=(CodeBlock&&) = delete;
  ~CodeBlock();

  [[nodiscard]] const uint8_t* begin() const { return begin_; }
  [[nodiscard]] std::span<const uint8_t> bytes() const { return {begin_, size_}; }

 private:
  CodeBlock(const uint8_t* begin, size_t size, asmjit::JitAllocator* allocator)
      : begin_(begin), size_(size), allocator_(allocator) {}
  const uint8_t* begin_;
  size_t size_;
  asmjit::JitAllocator* allocator_;
};

}  // namespace wavejit::backend
