#include "backend-x86/lower/host_code.h"

#include <algorithm>
#include <string_view>

namespace wavejit::backend {

Mem DataPool::get(const void* bytes, uint32_t size) {
  const std::string_view key(static_cast<const char*>(bytes), size);
  auto it = entries_.lower_bound(key);
  if (it == entries_.end() || it->first != key) it = entries_.emplace_hint(it, key, cc_.new_label());
  return Mem(it->second, 0, size);
}

Mem DataPool::function(uintptr_t address) {
  const auto [it, inserted] = functions_.try_emplace(address);
  if (inserted) it->second = cc_.new_label();
  return Mem(it->second, 0, 8);
}

void DataPool::emit(x86::Assembler& assembler) const {
  for (const uint32_t size :
       {1024u, 512u, 256u, 128u, 64u, 32u, 16u, 8u, 4u}) {  // descending, so that each is aligned by what precedes it
    bool aligned = false;
    for (const auto& [bytes, label] : entries_) {
      if (bytes.size() != size) continue;
      if (!aligned) assembler.align(asmjit::AlignMode::kData, std::min(size, 64u));
      aligned = true;
      assembler.bind(label);
      assembler.embed(bytes.data(), bytes.size());
    }
  }
  if (!functions_.empty()) assembler.align(asmjit::AlignMode::kData, 8);
  for (const auto& [address, label] : functions_) {
    assembler.bind(label);
    assembler.embed(&address, sizeof address);
  }
}

void FaultLog::mark(const FaultRange& range) {
  ranges_.push_back(range);
  cc_.set_mark(static_cast<uint32_t>(ranges_.size()));
}

std::vector<FaultRange> FaultLog::placed(std::span<const MarkedCode> marked) const {
  std::vector<FaultRange> result;
  result.reserve(marked.size());
  for (const MarkedCode& code : marked) {
    if (code.begin == code.end) continue;
    FaultRange& range = result.emplace_back(ranges_[code.mark - 1]);
    range.begin = code.begin;
    range.end = code.end;
  }
  return result;
}

}  // namespace wavejit::backend
