#include "runtime/observers.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_set>
#include <vector>

#include "frontend/isa/decoder.h"
#include "frontend/isa/exceptions.h"
#include "frontend/isa/info.h"
#include "runtime/symbols.h"
#include "runtime/translation_cache.h"

namespace wavejit::runtime {
namespace {

using isa::Opcode;

bool observes(isa::Target target, std::span<const uint8_t> code, size_t offset) {
  isa::Instruction inst;
  return isa::decode(target, code.subspan(offset), reinterpret_cast<uint64_t>(code.data()) + offset, inst) ==
             isa::DecodeStatus::ok &&
         isa::observes_exceptions(inst);
}

// SOPK (bits 31:28) whose immediate names hardware register 1 or 3.
bool might_observe(uint32_t word) {
  return ((word >> 28) == 0xb) & ((word & 61) == 1);
}

}  // namespace

bool has_observers(const codeobject::CodeObject& object, isa::Target target) {
  constexpr size_t kBlock = 64;
  for (const std::span<const uint8_t> code : object.code()) {
    uint32_t words[kBlock];
    for (size_t at = 0; at < code.size(); at += sizeof words) {
      const size_t bytes = std::min(sizeof words, code.size() - at);
      std::memset(words, 0, sizeof words);
      std::memcpy(words, code.data() + at, bytes);
      unsigned any = 0;
      for (const uint32_t word : words) any |= might_observe(word) ? 1 : 0;
      if (any == 0) continue;
      for (size_t i = 0; i + 4 <= bytes; i += 4)
        if (might_observe(words[i / 4]) && observes(target, code, at + i)) return true;
    }
  }
  return false;
}

bool reaches_observer(const codeobject::CodeObject& object, isa::Target target, uint64_t entry) {
  std::vector<uint64_t> work{entry};
  std::unordered_set<uint64_t> seen;
  while (!work.empty()) {
    uint64_t pc = work.back();
    work.pop_back();
    while (seen.insert(pc).second) {
      const std::span<const uint8_t> code = code_region(object, pc);
      isa::Instruction inst;
      if (code.empty() || pc % 4 != 0 ||
          isa::decode(target, code.subspan(pc - reinterpret_cast<uint64_t>(code.data())), pc, inst) !=
              isa::DecodeStatus::ok)
        break;
      if (isa::observes_exceptions(inst)) return true;
      const isa::ControlFlow flow = isa::info(inst.opcode).control_flow;
      if (flow == isa::ControlFlow::jump || flow == isa::ControlFlow::fork || inst.opcode == Opcode::s_swappc_b64)
        return true;
      if (const auto target = isa::branch_target(inst)) work.push_back(*target);
      if (flow == isa::ControlFlow::branch || flow == isa::ControlFlow::end) break;
      pc = inst.next_pc();
    }
  }
  return false;
}

}  // namespace wavejit::runtime
