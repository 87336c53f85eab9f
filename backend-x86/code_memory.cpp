#include "backend-x86/code_memory.h"

#include <fmt/format.h>

namespace wavejit::backend {
namespace {

// Leaked on purpose: translations may outlive static destruction order.
asmjit::JitAllocator& allocator() {
  static auto* instance = [] {
    asmjit::JitAllocator::CreateParams params{};
    params.options = asmjit::JitAllocatorOptions::kUseDualMapping;
    return new asmjit::JitAllocator(&params);
  }();
  return *instance;
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
  void *run = nullptr, *write = nullptr;
  if (allocator().alloc(&run, &write, estimate) != asmjit::kErrorOk) {
    return failed(asmjit::kErrorOutOfMemory, ErrorCode::kOutOfMemory);
  }
  CodeBlock block(static_cast<const uint8_t*>(run), estimate);
  if (const auto error = code.relocateToBase(reinterpret_cast<uint64_t>(run))) return failed(error);
  block.size_ = code.codeSize();
  if (const auto error = code.copyFlattenedData(write, estimate)) return failed(error);
  return block;
}

CodeBlock::~CodeBlock() {
  if (begin_ != nullptr) allocator().release(const_cast<uint8_t*>(begin_));
}

}  // namespace wavejit::backend
