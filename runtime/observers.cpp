#include "runtime/observers.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_set>
#include <vector>

#include "frontend/isa/decoder.h"
#include "frontend/isa/exceptions.h"
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
      const auto branch = inst.next_pc() + static_cast<uint64_t>(int64_t{static_cast<int16_t>(inst.words[0])} * 4);
      bool goes_on = true;
      switch (inst.opcode) {
        case Opcode::s_setpc_b64:
        case Opcode::s_swappc_b64:
        case Opcode::s_cbranch_g_fork:
        case Opcode::s_cbranch_i_fork:
        case Opcode::s_cbranch_join:
          return true;
        case Opcode::s_branch:
          work.push_back(branch);
          goes_on = false;
          break;
        case Opcode::s_cbranch_scc0:
        case Opcode::s_cbranch_scc1:
        case Opcode::s_cbranch_vccz:
        case Opcode::s_cbranch_vccnz:
        case Opcode::s_cbranch_execz:
        case Opcode::s_cbranch_execnz:
        case Opcode::s_call_b64:
          work.push_back(branch);
          break;
        case Opcode::s_endpgm:
        case Opcode::s_endpgm_saved:
        case Opcode::s_endpgm_ordered_ps_done:
        case Opcode::s_sendmsghalt:
          goes_on = false;
          break;
        default:
          break;
      }
      if (!goes_on) break;
      pc = inst.next_pc();
    }
  }
  return false;
}

}  // namespace wavejit::runtime
