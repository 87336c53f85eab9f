#include "backend-x86/host_code.h"

#include <algorithm>
#include <charconv>

namespace wavejit::backend {

Mem DataPool::get(const void* bytes, uint32_t size) {
  const std::string key(static_cast<const char*>(bytes), size);
  const auto [it, inserted] = entries_.try_emplace(key);
  if (inserted) it->second = cc_.newLabel();
  return Mem(it->second, 0, size);
}

Mem DataPool::function(uintptr_t address) {
  const auto [it, inserted] = functions_.try_emplace(address);
  if (inserted) it->second = cc_.newLabel();
  return Mem(it->second, 0, 8);
}

void DataPool::flush() {
  for (const uint32_t size :
       {1024u, 512u, 256u, 128u, 64u, 32u, 16u, 8u, 4u}) {  // descending, so that each is aligned by what precedes it
    bool aligned = false;
    for (const auto& [bytes, label] : entries_) {
      if (bytes.size() != size) continue;
      if (!aligned) cc_.align(asmjit::AlignMode::kData, std::min(size, 64u));
      aligned = true;
      cc_.bind(label);
      cc_.embed(bytes.data(), bytes.size());
    }
  }
  if (!functions_.empty()) cc_.align(asmjit::AlignMode::kData, 8);
  for (const auto& [address, label] : functions_) {
    cc_.bind(label);
    cc_.embed(&address, sizeof address);
  }
}

void FaultLog::mark(const FaultRange& range) {
  char text[16] = {kMarker};
  *std::to_chars(text + 1, text + sizeof text - 1, ranges_.size()).ptr = '\0';
  ranges_.push_back(range);
  // The compiler copies the comment into its node when the instruction is emitted, which must be the next thing to
  // happen.
  pending_ = text;
  cc_.setInlineComment(pending_.c_str());
}

FaultRange* FaultLog::find(const char* comment) {
  if (comment == nullptr) return nullptr;
  const char* marker = std::strchr(comment, kMarker);
  if (marker == nullptr) return nullptr;
  size_t index = 0;
  std::from_chars(marker + 1, marker + std::strlen(marker), index);
  return index < ranges_.size() ? &ranges_[index] : nullptr;
}

}  // namespace wavejit::backend
