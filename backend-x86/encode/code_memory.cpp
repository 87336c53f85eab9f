#include "backend-x86/encode/code_memory.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "internal/check.h"

namespace wavejit::backend {
namespace {

// Leaked on purpose: translations may outlive static destruction order. None at first in a child process, which makes
// another one: what its parent regards as free there is memory of both.
std::atomic<asmjit::JitAllocator*> g_allocator{nullptr};

asmjit::JitAllocator& allocator() {
  // Nothing is to be allocated while a process forks (runtime/hsa/alias.cpp).
  static const int forgotten_in_children = pthread_atfork(nullptr, nullptr, [] { g_allocator.store(nullptr); });
  (void)forgotten_in_children;
  asmjit::JitAllocator* known = g_allocator.load(std::memory_order_acquire);
  if (known) return *known;
  asmjit::JitAllocator::CreateParams params{};
  params.options = asmjit::JitAllocatorOptions::kUseDualMapping;
  auto created = std::make_unique<asmjit::JitAllocator>(&params);
  if (g_allocator.compare_exchange_strong(known, created.get(), std::memory_order_acq_rel)) known = created.release();
  return *known;
}

// The two mappings of one block; null pointers if there is no memory.
struct Mappings {
  void* run = nullptr;
  void* write = nullptr;
};

Mappings allocate(asmjit::JitAllocator& from, size_t bytes) {
#if ASMJIT_LIBRARY_VERSION >= 0x010b00
  asmjit::JitAllocator::Span span;
  if (from.alloc(span, bytes) != asmjit::kErrorOk) return {};
  return {.run = span.rx(), .write = span.rw()};
#else
  Mappings mappings;
  if (from.alloc(&mappings.run, &mappings.write, bytes) != asmjit::kErrorOk) return {};
  return mappings;
#endif
}

}  // namespace

Expected<CodeBlock> CodeBlock::create(asmjit::CodeHolder& code) {
  const auto failed = [](asmjit::Error error, ErrorCode kind = ErrorCode::kInternal) {
    return make_error(kind,
                      fmt::format("Placing translated code failed: {}.", asmjit::DebugUtils::errorAsString(error)));
  };
  if (const auto error = code.flatten()) return failed(error);
  if (const auto error = code.resolveUnresolvedLinks()) return failed(error);
  const size_t estimate = code.codeSize();
  asmjit::JitAllocator& from = allocator();
  const auto [run, write] = allocate(from, estimate);
  if (run == nullptr) return failed(asmjit::kErrorOutOfMemory, ErrorCode::kOutOfMemory);
  CodeBlock block(static_cast<const uint8_t*>(run), estimate, &from);
  if (const auto error = code.relocateToBase(reinterpret_cast<uint64_t>(run))) return failed(error);
  block.size_ = code.codeSize();
  if (const auto error = code.copyFlattenedData(write, estimate)) return failed(error);
  return block;
}

Expected<CodeBlock> CodeBlock::create(std::span<const uint8_t> code, std::span<const Patch> patches) {
  asmjit::JitAllocator& from = allocator();
  const auto [run, write] = allocate(from, code.size());
  if (run == nullptr) return make_error(ErrorCode::kOutOfMemory, "There is no memory for translated code.");
  std::memcpy(write, code.data(), code.size());
  for (const Patch& patch : patches) {
    WAVEJIT_CHECK(patch.offset <= code.size() && code.size() - patch.offset >= sizeof patch.value,
                  "a patch at {:#x} of {} bytes of code", patch.offset, code.size());
    std::memcpy(static_cast<uint8_t*>(write) + patch.offset, &patch.value, sizeof patch.value);
  }
  return CodeBlock(static_cast<const uint8_t*>(run), code.size(), &from);
}

CodeBlock::~CodeBlock() {
  if (begin_ != nullptr && allocator_ == g_allocator.load(std::memory_order_acquire))
    allocator_->release(const_cast<uint8_t*>(begin_));
}

}  // namespace wavejit::backend
